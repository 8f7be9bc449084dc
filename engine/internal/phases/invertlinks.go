// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Inverted counts what invertlinks wrote.
type Inverted struct {
	Segment uint32
	Targets uint64
	Inlinks uint64
}

// InvertLinks inverts the outlinks of an updated segment: linkdb gains, for each target, the
// list of this segment's pages that link to it, with their anchor texts. When a page is fetched
// again, its links come once more under the later segment, and readers take the newest of a source;
// storage.Inlinks leaves out links that the newest version of their page no longer has (Nutch never
// removes a link).
//
// Links within a host and links that leave the scope are kept too: they are what the page said. The reader decides what
// to do with them. Links that Env.Links does not count are left out, and as in Nutch those that must not be followed,
// and all links of pages that say so of theirs; Env.NoFollowLinks keeps these.
//
// It may run at the same time as any other phase, and as itself for another segment.
func (p *Phases) InvertLinks(ctx context.Context, segment uint32) (Inverted, error) {
	result := Inverted{Segment: segment}
	seg, err := SegmentIn(p.env.Store, segment, "invertlinks", storage.SegmentUpdated)
	if err != nil {
		return result, err
	}
	ing := p.env.Store.NewIngestion()
	defer ing.Abort()
	if err = p.invert(ctx, segment, ing, &result); err == nil {
		seg.State = storage.SegmentLinked
		err = ing.PutSegment(seg)
	}
	if err == nil {
		err = ing.Commit()
	}
	if err != nil {
		return result, fmt.Errorf("invertlinks of segment %d: %w", segment, err)
	}
	return result, nil
}

// invert gathers the links by target and writes one linkdb value per target, its inlinks in the order
// of their sources, so that they front-code well.
func (p *Phases) invert(ctx context.Context, segment uint32, ing *storage.Ingestion, result *Inverted) error {
	v, ok := p.inversions.take().(*inversion)
	if !ok {
		v = new(inversion)
	}
	v.values, v.memory, v.env = p.env.Sorter(foldInlinks(p.env.MaxInlinks)), p.env.TableBytes, &p.env
	defer func() {
		v.values.Close()
		v.values = nil
		v.reset()
		p.inversions.put(v)
	}()
	if err := v.collect(ctx, p.env.Store, segment); err != nil {
		return err
	}
	run, err := v.values.Sort()
	if err != nil {
		return fmt.Errorf("sorting links by target: %w", err)
	}
	defer run.Close()
	w := ing.Table(storage.Linkdb())
	var key []byte
	for n := 0; run.Next(); n++ {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		result.Targets++
		result.Inlinks += uint64(readCount(run.Value()))
		key = storage.AppendLinkdbKey(key[:0], run.Key(), segment)
		if err := w.Set(key, run.Value()[inlinkCountBytes:]); err != nil {
			return err
		}
	}
	return run.Err()
}

// inversion is one run of invert: the links of as many pages as fit into memory, in a list for each
// target, newest first; when memory is full, they go to the sorter as encoded inlinks.
type inversion struct {
	env    *Env
	memory int64           // bytes of targets and all that is kept beside them
	values *storage.Sorter // target → count, inlinks

	targets KeyTable
	last    []int32 // of each target's links, by target's number
	links   []inverted
	sources KeyTable // numbers are in key order, as pages are
	anchors []byte

	list  []inverted
	value []byte
}

// inverted is a link seen from its target. It holds no pointers.
type inverted struct {
	before   int32 // of the same target, index in links plus one
	source   uint32
	from, to uint32 // anchor
}

const invertedBytes = 16

// collect reads the segment's parse records.
func (v *inversion) collect(ctx context.Context, store *storage.Store, segment uint32) error {
	sc := store.Scan(storage.ParseLinks(segment), nil, nil)
	defer sc.Close()
	var page storage.FetchOutcome
	var links storage.OutlinkReader
	for n := 0; sc.Next(); n++ {
		if n%ctxCheckPages == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		err := storage.ReadFetchOutcome(sc.Value(), &page, &links)
		source, known := 0, false
		for err == nil && links.Next() {
			if bytes.Equal(links.Key(), sc.Key()) || !v.counts(&page, &links, sc.Key()) {
				continue
			}
			if !known {
				source, _ = v.sources.Number(xxh3.Hash(sc.Key()), sc.Key())
				known = true
			}
			v.add(links.Key(), links.Anchor(), uint32(source))
		}
		if err = errors.Join(err, links.Err()); err != nil {
			return fmt.Errorf("parse record %s: %w", sc.Key(), err)
		}
		used := v.sources.Bytes() + int64(len(v.anchors)) + invertedBytes*int64(len(v.links)) + 4*int64(len(v.last))
		if v.targets.Full(v.memory-used) || len(v.anchors) >= keyTableFull {
			if err := v.flush(); err != nil {
				return err
			}
		}
	}
	if err := sc.Err(); err != nil {
		return err
	}
	return v.flush()
}

// counts reports whether a page's current link belongs into linkdb.
func (v *inversion) counts(page *storage.FetchOutcome, links *storage.OutlinkReader, source []byte) bool {
	if !v.env.NoFollowLinks && (links.NoFollow() || page.Flags&storage.FlagNoFollow != 0) {
		return false
	}
	r := v.env.Links
	return !r.IgnoreExternal && !r.IgnoreInternal ||
		r.Refuses(urlkey.HostKey(urlkey.HostKeyOf(source)), urlkey.HostKey(urlkey.HostKeyOf(links.Key()))) == ""
}

func (v *inversion) add(target, anchor []byte, source uint32) {
	anchor = cutAnchor(anchor, v.env.AnchorLength)
	n, fresh := v.targets.Number(xxh3.Hash(target), target)
	if fresh {
		v.last = append(v.last, 0)
	}
	from := len(v.anchors)
	v.anchors = append(v.anchors, anchor...)
	v.links = append(v.links, inverted{v.last[n], source, uint32(from), uint32(len(v.anchors))})
	v.last[n] = int32(len(v.links))
}

// flush gives all links to the sorter and forgets them.
func (v *inversion) flush() error {
	for n := range v.last {
		if err := v.values.Add(v.targets.Key(n), v.encode(v.last[n])); err != nil {
			return fmt.Errorf("sorting links by target: %w", err)
		}
	}
	v.reset()
	return nil
}

func (v *inversion) reset() {
	v.targets.Reset()
	v.sources.Reset()
	v.last, v.links, v.anchors = v.last[:0], v.links[:0], v.anchors[:0]
}

// encode encodes the inlinks of one target: by source, then by anchor, each pair once.
func (v *inversion) encode(last int32) []byte {
	v.list = v.list[:0]
	for at := last; at != 0; at = v.links[at-1].before {
		v.list = append(v.list, v.links[at-1])
	}
	slices.Reverse(v.list)
	for i := 1; i < len(v.list); i++ { // sources are in order already, and few link twice
		for j := i; j > 0 && v.before(j, j-1); j-- {
			v.list[j], v.list[j-1] = v.list[j-1], v.list[j]
		}
	}
	v.value = append(v.value[:0], make([]byte, inlinkCountBytes)...)
	count, shown := 0, []byte(nil)
	for i := range v.list {
		if i > 0 && v.list[i].source == v.list[i-1].source && bytes.Equal(v.anchor(i), v.anchor(i-1)) {
			continue
		}
		if count == v.env.MaxInlinks {
			break
		}
		source := v.sources.Key(int(v.list[i].source))
		if count == 0 {
			v.value = storage.AppendInlinks(v.value, nil)
		}
		v.value = storage.AppendInlink(v.value, shown, source, v.anchor(i))
		shown = source
		count++
	}
	binary.LittleEndian.PutUint32(v.value, uint32(count))
	return v.value
}

// before reports whether link i of the list belongs before link j, which has the same or an earlier source.
func (v *inversion) before(i, j int) bool {
	return v.list[i].source == v.list[j].source && bytes.Compare(v.anchor(i), v.anchor(j)) < 0
}

func (v *inversion) anchor(i int) []byte { return v.anchors[v.list[i].from:v.list[i].to] }

// cutAnchor cuts an anchor after a number of characters.
func cutAnchor(anchor []byte, most int) []byte {
	if len(anchor) <= most {
		return anchor
	}
	at := 0
	for n := 0; n < most && at < len(anchor); n++ {
		_, size := utf8.DecodeRune(anchor[at:])
		at += size
	}
	return anchor[:at]
}

// A value in the sorter begins with the number of its inlinks.
const inlinkCountBytes = 4

func readCount(value []byte) int { return int(binary.LittleEndian.Uint32(value)) }

// foldInlinks joins two lists of one target, the later one having the later sources. Past most inlinks the rest is left
// out.
func foldInlinks(most int) func(dst, a, b []byte) []byte {
	return func(dst, a, b []byte) []byte {
		n, m := readCount(a), readCount(b)
		at := len(dst)
		dst = append(dst, a...)
		if room := most - n; m > room {
			m = max(room, 0)
			b = append(b[:inlinkCountBytes:inlinkCountBytes], storage.FirstInlinks(b[inlinkCountBytes:], m)...)
		}
		dst = storage.JoinInlinks(dst, b[inlinkCountBytes:])
		binary.LittleEndian.PutUint32(dst[at:], uint32(n+m))
		return dst
	}
}
