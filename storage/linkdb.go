// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/cockroachdb/pebble/v2"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// MetaLinkRank is the key of the row of Meta which says that scores of crawldb are ranks of the link graph. It has no
// value.
const MetaLinkRank = "linkrank"

// Inlink is a link to a page, seen from the page.
type Inlink struct {
	From   urlkey.Key
	Anchor string // at most AnchorMaxBytes
}

// Layout of inlinks, the value of linkdb for one (target, segment): the links that pages fetched in
// that segment have to the target. Sources are sorted, so each shares much with the one before.
//
//	1 byte   version 1
//	link …   uvarint bytes of the source shared with the one before
//	         text rest of the source
//	         text anchor
//
// Example: from "com,a,)/x https" with "home", from "com,a,)/y https" without text
//
//	01   00 0f "com,a,)/x https" 04 "home"   08 07 "y https" 00
const inlinksVersion = 1

// AppendInlinks appends the encoding of links, anchors cut at AnchorMaxBytes. Sorted by source they
// take least room; any order is kept.
func AppendInlinks(dst []byte, links []Inlink) []byte {
	dst = append(dst, inlinksVersion)
	var last urlkey.Key
	for i := range links {
		dst = appendInlink(dst, string(last), string(links[i].From), links[i].Anchor)
		last = links[i].From
	}
	return dst
}

// AppendInlink appends one more link to an encoding that AppendInlinks began; last is the source of
// the link before, nil for the first.
func AppendInlink(dst, last, from, anchor []byte) []byte {
	return appendInlink(dst, stringOf(last), stringOf(from), stringOf(anchor))
}

func appendInlink(dst []byte, last, from, anchor string) []byte {
	shared := sharedPrefix(last, from)
	dst = binary.AppendUvarint(dst, uint64(shared))
	dst = appendText(dst, from[shared:])
	return appendText(dst, cutText(anchor, AnchorMaxBytes))
}

// JoinInlinks appends the links of one encoding to another, which dst ends with.
func JoinInlinks(dst, b []byte) []byte {
	if len(b) <= 1 {
		return dst
	}
	return append(dst, b[1:]...) // the first link of an encoding shares nothing
}

// FirstInlinks returns the encoding of the first n links of b, in b's memory.
func FirstInlinks(b []byte, n int) []byte {
	d := decoder{b: b}
	d.byte()
	for ; n > 0 && len(d.b) > 0 && !d.bad; n-- {
		d.uvarint()
		d.bytes(d.uvarint())
		d.bytes(d.uvarint())
	}
	return b[:len(b)-len(d.b)]
}

// VisitInlinks calls fn for each link until it returns false. from is valid until fn returns, anchor
// as long as b is.
func VisitInlinks(b []byte, fn func(from, anchor []byte) bool) error {
	d := decoder{b: b}
	bad := d.byte() != inlinksVersion
	var room [512]byte
	from := room[:0]
	for !bad && len(d.b) > 0 {
		shared := d.uvarint()
		rest := d.bytes(d.uvarint())
		anchor := d.bytes(d.uvarint())
		if bad = d.bad || shared > uint64(len(from)) || int(shared)+len(rest) > KeyMaxBytes; bad {
			break
		}
		from = append(from[:shared], rest...)
		if !fn(from, anchor) {
			return nil
		}
	}
	if bad {
		return corrupt("inlinks of %d bytes: % .32x", len(b), b)
	}
	return nil
}

// DecodeInlinks appends the links of b to dst.
func DecodeInlinks(b []byte, dst []Inlink) ([]Inlink, error) {
	err := VisitInlinks(b, func(from, anchor []byte) bool {
		dst = append(dst, Inlink{From: urlkey.Key(from), Anchor: string(anchor)})
		return true
	})
	return dst, err
}

// RemoveInlinks takes links out of linkdb. gone has keys of linkdb in order, each with the sources whose links go; an
// empty source stands for all. changed, if not nil, is called once with each target that lost links, in order. It
// returns the number of links removed. The ingestion's table of linkdb must hold nothing yet.
func (in *Ingestion) RemoveInlinks(
	ctx context.Context, gone *Run, changed func(target []byte) error,
) (removed uint64, err error) {
	table := in.Table(Linkdb())
	var last, value []byte
	err = MergeJoin(ctx, in.s, Linkdb(), gone, func(key []byte, sources [][]byte, old []byte) error {
		if old == nil { // a link that does not count
			return nil
		}
		left, n, err := withoutSources(value[:0], old, sources)
		if err != nil {
			return fmt.Errorf("inlinks at %q: %w", key, err)
		}
		value = left
		if n == 0 {
			return nil
		}
		removed += n
		target, _, err := SplitLinkdbKey(key)
		if err == nil && changed != nil && !bytes.Equal(target, last) {
			last = append(last[:0], target...)
			err = changed(target)
		}
		if err != nil {
			return err
		}
		if len(left) == 0 {
			return table.Delete(key)
		}
		return table.Set(key, left)
	})
	return removed, err
}

// withoutSources appends the inlinks of a row that do not come from some sources, nothing if there are none left.
func withoutSources(dst, row []byte, gone [][]byte) (left []byte, removed uint64, err error) {
	sources := make(map[string]bool, len(gone))
	for _, source := range gone {
		sources[string(source)] = true
	}
	all := sources[""]
	var last []byte
	err = VisitInlinks(row, func(from, anchor []byte) bool {
		if all || sources[string(from)] {
			removed++
			return true
		}
		if len(dst) == 0 {
			dst = AppendInlinks(dst, nil)
		}
		dst = AppendInlink(dst, last, from, anchor)
		last = append(last[:0], from...)
		return true
	})
	return dst, removed, err
}

// Inlinks returns up to limit links to a page. Of a source that was fetched in several segments only
// the links of the newest count. Newest segments come first.
func (v *reads) Inlinks(target urlkey.Key, limit int) (_ []Inlink, err error) {
	if err := v.usable(); err != nil {
		return nil, err
	}
	linkdb := Linkdb()
	it, err := v.r.NewIter(&pebble.IterOptions{
		LowerBound: linkdb.appendKey(nil, AppendLinkdbKey(nil, []byte(target), 0)),
		UpperBound: linkdb.appendKey(nil, append([]byte(target), keySeparator+1)),
	})
	if err != nil {
		return nil, fmt.Errorf("linkdb at %q: %w", target, classified(err))
	}
	defer func() {
		if cerr := it.Close(); cerr != nil {
			err = errors.Join(err, fmt.Errorf("linkdb at %q: %w", target, classified(cerr)))
		}
	}()
	var links []Inlink
	newest := map[urlkey.Key]uint32{} // of the sources in links: at most limit
	for ok := it.Last(); ok && len(links) < limit; ok = it.Prev() {
		_, segment, err := SplitLinkdbKey(it.Key()[1:])
		if err != nil {
			return nil, err
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return nil, fmt.Errorf("linkdb at %q: %w", target, classified(err))
		}
		err = VisitInlinks(value, func(from, anchor []byte) bool {
			if s, ok := newest[urlkey.Key(from)]; ok && s != segment {
				return true
			}
			l := Inlink{From: urlkey.Key(from), Anchor: string(anchor)}
			newest[l.From] = segment
			links = append(links, l)
			return len(links) < limit
		})
		if err != nil {
			return nil, fmt.Errorf("linkdb at %q, segment %d: %w", target, segment, err)
		}
	}
	return links, nil
}

// Withheld is what the links of one segment say of a URL that is refused for now. When the refusal
// ends, the URL becomes what it would be if it had been admitted at once.
type Withheld struct {
	Reason WithheldReason
	Score  float64 // that its links gave it
	Depth  uint16  // the least, in links from a seed
	Hops   uint8   // redirects in a row that lead to it, the least
	// Link says that a page links or redirects to it, Sitemap that a robots.txt names it as a sitemap.
	// One of them holds.
	Link, Sitemap bool
	// Referrers are the bits of other registered domains that link to it, as the engine counts them; 0: none.
	Referrers uint64
}

// WithheldReason says why a URL was refused when it was withheld. The numbers are stored: never change one.
type WithheldReason uint8

// The reasons.
const (
	WithheldByScope  WithheldReason = iota + 1 // outside the scope
	WithheldByFilter                           // refused by a live filter
)

// Layout of Withheld:
//
//	1 byte   version 1 in the high half, the score's mode in the low half
//	1 byte   reason in the low half; 16 = link, 32 = sitemap, 64 = has referrers
//	…        score (codec.go)
//	uvarint  depth
//	uvarint  hops
//	8 bytes  referrers, if any, little-endian
//
// Example: outside the scope, score 0.5 from links, depth 2
//
//	11 11 80 80 04 02 00
const (
	withheldVersion   = 1
	withheldLink      = 16
	withheldSitemap   = 32
	withheldReferrers = 64
	withheldFlags     = withheldLink | withheldSitemap | withheldReferrers
)

// AppendWithheld appends the encoding of w.
func AppendWithheld(dst []byte, w *Withheld) []byte {
	mode := scoreMode(w.Score)
	flags := uint32(w.Reason) | flagIf(w.Link, withheldLink) | flagIf(w.Sitemap, withheldSitemap) |
		flagIf(w.Referrers != 0, withheldReferrers)
	dst = append(dst, withheldVersion<<4|byte(mode), byte(flags))
	dst = appendScore(dst, mode, w.Score)
	dst = binary.AppendUvarint(dst, uint64(w.Depth))
	dst = binary.AppendUvarint(dst, uint64(w.Hops))
	if w.Referrers != 0 {
		dst = binary.LittleEndian.AppendUint64(dst, w.Referrers)
	}
	return dst
}

// DecodeWithheld decodes into w.
func DecodeWithheld(b []byte, w *Withheld) error {
	d := decoder{b: b}
	head, flags := d.byte(), d.byte()
	*w = Withheld{
		Reason:  WithheldReason(flags &^ withheldFlags),
		Link:    flags&withheldLink != 0,
		Sitemap: flags&withheldSitemap != 0,
	}
	w.Score = d.score(uint32(head & 0x0f))
	w.Depth, w.Hops = d.uint16(), uint8(d.uint(math.MaxUint8))
	if flags&withheldReferrers != 0 {
		if p := d.bytes(8); p != nil {
			w.Referrers = binary.LittleEndian.Uint64(p)
		}
		d.bad = d.bad || w.Referrers == 0
	}
	known := w.Reason == WithheldByScope || w.Reason == WithheldByFilter
	if !d.done() || head>>4 != withheldVersion || !known || !w.Link && !w.Sitemap {
		*w = Withheld{}
		return corrupt("withheld links of %d bytes: % .32x", len(b), b)
	}
	return nil
}
