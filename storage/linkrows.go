// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// RemoveInlinks takes links out of linkdb. gone has keys of linkdb in order, a target with the segment of the links,
// each with the sources whose links go; an empty source stands for the whole row under that key. The links go wherever
// they are, in the row of their segment or in the merged one. changed, if not nil, is called once with each target that
// lost links, in order. It returns the number of links removed. The ingestion's table of linkdb must hold nothing yet.
func (in *Ingestion) RemoveInlinks(
	ctx context.Context, gone *Run, changed func(target []byte) error,
) (removed uint64, err error) {
	rows := in.s.Scan(Linkdb(), nil, nil)
	defer func() { err = errors.Join(err, rows.Close()) }()
	r := linkRemoval{table: in.Table(Linkdb()), rows: rows, changed: changed, whole: map[uint32]bool{}}
	for n := 0; gone.Next(); n++ {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return r.removed, ctx.Err()
		}
		target, segment, err := SplitLinkdbKey(gone.Key())
		if err == nil && !bytes.Equal(target, r.target) {
			err = r.finish()
			r.target = append(r.target[:0], target...)
		}
		if err != nil {
			return r.removed, err
		}
		if len(gone.Value()) == 0 {
			r.whole[segment] = true
		} else {
			r.gone = append(r.gone, r.link(segment, gone.Value()))
		}
	}
	if err := gone.Err(); err != nil {
		return r.removed, err
	}
	return r.removed, r.finish()
}

// linkRemoval is one run of RemoveInlinks. It holds what goes of one target, which much of the web may link to: 16
// bytes of each link.
type linkRemoval struct {
	table   *TableWriter
	rows    *Scanner
	changed func(target []byte) error
	target  []byte
	whole   map[uint32]bool // segments whose rows go
	gone    []xxh3.Uint128  // links that go, sorted by finish
	removed uint64
	row     LinkRow
	value   []byte
}

// link stands for a link by its segment and source. Of 2^40 links no two have the same but in one of 2^48 cases.
func (r *linkRemoval) link(segment uint32, from []byte) xxh3.Uint128 {
	r.value = append(binary.BigEndian.AppendUint32(r.value[:0], segment), from...)
	return xxh3.Hash128(r.value)
}

// compareLinks is the order in which linkRemoval holds links.
func compareLinks(a, b xxh3.Uint128) int {
	return cmp.Or(cmp.Compare(a.Hi, b.Hi), cmp.Compare(a.Lo, b.Lo))
}

// goes reports whether a link goes whose row stays.
func (r *linkRemoval) goes(segment uint32, from []byte) bool {
	if len(r.gone) == 0 {
		return false
	}
	_, ok := slices.BinarySearchFunc(r.gone, r.link(segment, from), compareLinks)
	return ok
}

// finish removes what is known of the current target, and forgets it.
func (r *linkRemoval) finish() error {
	if len(r.whole)+len(r.gone) == 0 {
		return nil
	}
	slices.SortFunc(r.gone, compareLinks)
	before := r.removed
	for ok := r.rows.SeekGE(AppendLinkdbKey(nil, r.target, 0)); ok; ok = r.rows.Next() {
		target, segment, err := SplitLinkdbKey(r.rows.Key())
		if err != nil {
			return err
		}
		if !bytes.Equal(target, r.target) {
			break
		}
		if err := r.filter(segment); err != nil {
			return fmt.Errorf("inlinks at %q: %w", r.rows.Key(), err)
		}
	}
	if err := r.rows.Err(); err != nil {
		return err
	}
	clear(r.whole)
	r.gone = r.gone[:0]
	if r.changed == nil || r.removed == before {
		return nil
	}
	return r.changed(r.target)
}

// filter writes the current row again without what goes.
func (r *linkRemoval) filter(segment uint32) error {
	row, whole := r.rows.Value(), r.whole[segment]
	_, merged := MergedCounts(row)
	removed := uint64(0)
	r.row.Reset(merged)
	err := VisitLinks(row, segment, func(from, anchor []byte, of uint32) bool {
		if whole || r.goes(of, from) {
			removed++
		} else {
			r.row.Add(from, anchor, of)
		}
		return true
	})
	if err != nil || removed == 0 && !(whole && r.row.Empty()) {
		return err
	}
	r.removed += removed
	if r.row.Empty() {
		return r.table.Delete(r.rows.Key())
	}
	r.value = r.row.Append(r.value[:0])
	return r.table.Set(r.rows.Key(), r.value)
}

// LinkRow gathers the links of one row, in the order of their sources. The zero LinkRow is an empty one of a segment.
type LinkRow struct {
	merged  bool
	counts  LinkCounts
	links   []byte
	last    []byte
	segment uint32
	host    []byte
	domains urlkey.DomainWalk
	runs    uint64 // of neighbouring hosts of one domain
	domain  int    // of the last host
}

// Reset empties the row; merged says which kind it is.
func (r *LinkRow) Reset(merged bool) {
	*r = LinkRow{merged: merged, links: r.links[:0], last: r.last[:0], host: r.host[:0], domains: r.domains}
	r.domains.Reset()
}

// Empty reports whether the row has no links.
func (r *LinkRow) Empty() bool { return r.counts.Pages == 0 }

// Add adds a link. Sources must not decrease.
func (r *LinkRow) Add(from, anchor []byte, segment uint32) {
	if r.Empty() || !bytes.Equal(from, r.last) {
		r.counts.Pages++
		if host := urlkey.HostKeyOf(from); !bytes.Equal(host, r.host) {
			r.host = append(r.host[:0], host...)
			r.counts.Hosts++
			r.addDomain()
		}
	}
	if r.merged {
		r.links = AppendMergedLink(r.links, r.last, r.segment, from, anchor, segment)
	} else {
		r.links = AppendInlink(r.links, r.last, from, anchor)
	}
	r.last, r.segment = append(r.last[:0], from...), segment
}

// addDomain counts the domain of the current host. What is no host is a domain of its own, before all hosts.
func (r *LinkRow) addDomain() {
	last, first := r.domain, true
	if r.domain = -1; len(r.host) > 0 {
		r.domain, first = r.domains.Next(urlkey.HostKey(r.host))
	}
	if first {
		r.counts.Domains++
	}
	if r.counts.Hosts == 1 || r.domain != last {
		r.runs++
	}
}

// describes reports whether counts are those of the links. Earlier versions counted a domain again after the domains of
// a public suffix below it; their rows stay as they are until they are merged again.
func (r *LinkRow) describes(counts LinkCounts) bool {
	runs := r.counts
	runs.Domains = r.runs
	return counts == r.counts || counts == runs
}

// Counts are those of the links.
func (r *LinkRow) Counts() LinkCounts { return r.counts }

// Size is how many bytes the links take in the encoding.
func (r *LinkRow) Size() int { return len(r.links) }

// Append appends the encoding of the row.
func (r *LinkRow) Append(dst []byte) []byte {
	if r.merged {
		return append(AppendMergedHead(dst, r.counts), r.links...)
	}
	return append(AppendInlinks(dst, nil), r.links...)
}

// LinkMerge passes the links of several rows in the order of their sources; of one source, older segments come first.
type LinkMerge struct{ heap linkHeap }

// linkHeap is ordered by the current link.
type linkHeap []*LinkReader

// Len, Less, Swap, Push and Pop are for package heap.
func (h linkHeap) Len() int { return len(h) }
func (h linkHeap) Less(i, j int) bool {
	if c := bytes.Compare(h[i].from, h[j].from); c != 0 {
		return c < 0
	}
	return h[i].segment < h[j].segment
}
func (h linkHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *linkHeap) Push(x any)   { *h = append(*h, x.(*LinkReader)) }
func (h *linkHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// Add adds a row, which must not change until the merge has ended; segment says under which it is.
func (m *LinkMerge) Add(row []byte, segment uint32) error {
	r := &LinkReader{}
	r.Reset(row, segment)
	if r.Next() {
		m.heap = append(m.heap, r)
	}
	return r.Err()
}

// Each calls fn for each link of the rows that were added, and forgets them. from is valid until fn returns.
func (m *LinkMerge) Each(fn func(from, anchor []byte, segment uint32) error) error {
	defer func() { m.heap = m.heap[:0] }()
	heap.Init(&m.heap)
	for len(m.heap) > 0 {
		r := m.heap[0]
		if err := fn(r.from, r.anchor, uint32(r.segment)); err != nil {
			return err
		}
		if r.Next() {
			heap.Fix(&m.heap, 0)
			continue
		}
		if err := r.Err(); err != nil {
			return err
		}
		heap.Pop(&m.heap)
	}
	return nil
}

// Inlinks returns up to limit links to a page. Of a source that was fetched in several segments only
// the links of the newest count. Newest rows come first, the merged one last.
func (v *reads) Inlinks(target urlkey.Key, limit int) (_ []Inlink, err error) {
	if err := v.usable(); err != nil {
		return nil, err
	}
	linkdb, opened := Linkdb(), v.s.closings.now()
	it, err := v.r.NewIter(&pebble.IterOptions{
		LowerBound: linkdb.appendKey(nil, AppendLinkdbKey(nil, []byte(target), 0)),
		UpperBound: linkdb.appendKey(nil, append([]byte(target), keySeparator+1)),
	})
	if err != nil {
		return nil, fmt.Errorf("linkdb at %q: %w", target, classified(err))
	}
	defer func() {
		if cerr := v.s.closings.close(it, opened); cerr != nil {
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
		err = VisitLinks(value, segment, func(from, anchor []byte, of uint32) bool {
			if s, ok := newest[urlkey.Key(from)]; ok && s != of {
				return true
			}
			l := Inlink{From: urlkey.Key(from), Anchor: string(anchor)}
			newest[l.From] = of
			links = append(links, l)
			return len(links) < limit
		})
		if err != nil {
			return nil, fmt.Errorf("linkdb at %q, segment %d: %w", target, segment, err)
		}
	}
	return links, nil
}
