// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/binary"
	"math"

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
//
// The rows of a target are merged into one under segment 0, in which each link has its segment and whose head has the
// counts of them all, so that nobody needs to read the links to count them:
//
//	1 byte   version 2
//	uvarint  linking pages, uvarint their hosts, uvarint their registered domains
//	link …   as above, then varint segment less that of the link before
const (
	inlinksVersion = 1
	mergedVersion  = 2
)

// LinkCounts says how many link to a page.
type LinkCounts struct {
	Pages   uint64 // that have a link to it
	Hosts   uint64 // of these
	Domains uint64 // registered ones
}

// MergedSegment is the segment under which the merged row of a target is.
const MergedSegment = 0

// AppendMergedHead begins the encoding of a merged row.
func AppendMergedHead(dst []byte, c LinkCounts) []byte {
	dst = binary.AppendUvarint(append(dst, mergedVersion), c.Pages)
	return binary.AppendUvarint(binary.AppendUvarint(dst, c.Hosts), c.Domains)
}

// AppendMergedLink appends a link to the encoding of a merged row; last and lastSegment are those of the link before,
// nil and 0 for the first.
func AppendMergedLink(dst, last []byte, lastSegment uint32, from, anchor []byte, segment uint32) []byte {
	return binary.AppendVarint(AppendInlink(dst, last, from, anchor), int64(segment)-int64(lastSegment))
}

// MergedCounts returns the counts of a merged row; false if a row is not merged.
func MergedCounts(b []byte) (c LinkCounts, ok bool) {
	d := decoder{b: b}
	if d.byte() != mergedVersion {
		return c, false
	}
	c = LinkCounts{Pages: d.uvarint(), Hosts: d.uvarint(), Domains: d.uvarint()}
	return c, !d.bad
}

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
	return VisitLinks(b, 0, func(from, anchor []byte, _ uint32) bool { return fn(from, anchor) })
}

// VisitLinks is VisitInlinks that also passes the segment of each link; of says under which the row is.
func VisitLinks(b []byte, of uint32, fn func(from, anchor []byte, segment uint32) bool) error {
	var room [512]byte
	r := LinkReader{from: room[:0]}
	r.Reset(b, of)
	for r.Next() {
		if !fn(r.from, r.anchor, uint32(r.segment)) {
			return nil
		}
	}
	return r.Err()
}

// LinkReader reads the links of a row of linkdb one after the other. The zero LinkReader has none.
type LinkReader struct {
	d       decoder
	row     []byte
	merged  bool
	segment int64
	from    []byte
	anchor  []byte
	bad     bool
}

// Reset begins a row, which must not change while it is read; of says under which segment it is.
func (r *LinkReader) Reset(row []byte, of uint32) {
	*r = LinkReader{d: decoder{b: row}, row: row, segment: int64(of), from: r.from[:0]}
	version := r.d.byte()
	if r.merged = version == mergedVersion; r.merged {
		r.d.uvarint()
		r.d.uvarint()
		r.d.uvarint()
		r.segment = 0
	}
	r.bad = r.d.bad || !r.merged && version != inlinksVersion
}

// Next moves to the next link; false at the end, and if the row is damaged.
func (r *LinkReader) Next() bool {
	d := &r.d
	if r.bad || len(d.b) == 0 {
		return false
	}
	shared := d.uvarint()
	rest := d.bytes(d.uvarint())
	r.anchor = d.bytes(d.uvarint())
	if r.merged {
		r.segment += d.varint()
	}
	r.bad = d.bad || shared > uint64(len(r.from)) || int(shared)+len(rest) > KeyMaxBytes ||
		r.segment < 0 || r.segment > math.MaxUint32
	if r.bad {
		return false
	}
	r.from = append(r.from[:shared], rest...)
	return true
}

// From is the source of the current link, valid until the next call of Next.
func (r *LinkReader) From() []byte { return r.from }

// Anchor is the text of the current link, valid as long as the row is.
func (r *LinkReader) Anchor() []byte { return r.anchor }

// Segment is that in which the page of the current link was fetched.
func (r *LinkReader) Segment() uint32 { return uint32(r.segment) }

// Err returns ErrCorrupt if the row is damaged.
func (r *LinkReader) Err() error {
	if r.bad {
		return corrupt("inlinks of %d bytes: % .32x", len(r.row), r.row)
	}
	return nil
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
