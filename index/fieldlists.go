// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"container/heap"

	"github.com/seine-crawler/seine/storage"
)

// A field may have as many values as there are documents. So what looks at all of them, or at those of a range, walks
// the dictionary and the lists in it row by row, in the memory of one row.

// rowLists walks the terms of an interval in an index segment, with their lists. Close it.
type rowLists struct {
	terms  *termScanner
	list   listReader // of the current term
	cursor cursor
	docs   uint32
	work   *budget
	read   int
}

// lists returns the terms from from (inclusive) to to (exclusive).
func (seg *segment) lists(rd storage.Reader, from, to string, work *budget) *rowLists {
	r := &rowLists{terms: seg.vocabulary(rd, []byte(from), []byte(to)), docs: seg.info.Docs, work: work}
	r.list.from = storedChunks{rd, seg.number, nil}
	return r
}

// next moves to the next term; false after the last, on errors, and when the budget is over.
func (r *rowLists) next() bool {
	if r.read++; r.read%termUnit == 0 && !r.work.spend(1) || r.work.over || !r.terms.Next() {
		return false
	}
	if err := r.list.reset(r.terms.Row()); err != nil {
		r.work.fail(err)
		return false
	}
	if last := r.list.last; last[len(last)-1] >= r.docs {
		r.work.fail(corruptPostings("document of a row"))
		return false
	}
	return true
}

// mark sets the bits of the term's documents in those of a segment.
func (r *rowLists) mark(all *window) {
	if r.list.head.kind == rowTiny {
		for _, doc := range r.list.tinyDocs[:r.list.head.df] {
			all.bits[doc/64] |= 1 << (doc % 64)
		}
		return
	}
	r.cursor.reset(&r.list, r.work)
	(&termIter{cursor: &r.cursor}).mark(all)
}

// count returns how many of the term's documents have a bit.
func (r *rowLists) count(of []uint64) (n int) {
	if r.list.head.kind == rowTiny {
		for _, doc := range r.list.tinyDocs[:r.list.head.df] {
			n += int(of[doc/64] >> (doc % 64) & 1)
		}
		return n
	}
	r.cursor.reset(&r.list, r.work)
	for doc := r.cursor.seek(0); doc != end; doc = r.cursor.seek(doc + 1) {
		n += int(of[doc/64] >> (doc % 64) & 1)
	}
	return n
}

// close ends the walk; an error of it ends the search.
func (r *rowLists) close() {
	if err := r.terms.Close(); err != nil {
		r.work.fail(err)
	}
}

// fieldFacet counts the whole values of a stored field: the documents that the lists of each have in common with the
// matches. It walks the values of all parts at once, so that each is counted when it comes, and keeps the most frequent
// ones only.
type fieldFacet struct {
	part    *part
	name    string           // "": no field can have it
	matches map[*part]bitset // of the parts that have any
}

// bitset has a bit per document.
type bitset []uint64

func (f *fieldFacet) begin(_ *execution, p *part) error {
	f.part = p
	return nil
}

func (f *fieldFacet) count(w *window) error {
	if f.name == "" || nextBit(w.bits, 0) < 0 {
		return nil
	}
	all := f.matches[f.part]
	if all == nil {
		all = make(bitset, (f.part.docs+63)/64)
		f.matches[f.part] = all
	}
	copy(all[w.from/64:], w.bits)
	return nil
}

func (f *fieldFacet) join(other facet) {
	for p, matches := range other.(*fieldFacet).matches {
		f.matches[p] = matches
	}
}

func (f *fieldFacet) values(x *execution, most int) ([]FacetValue, int, error) {
	best := bestValues{most: most}
	from, to := fieldTerm(f.name, fieldTermValue), fieldTerm(f.name, fieldTermValue+1)
	var walks fieldWalks
	defer func() {
		for _, w := range walks {
			w.close()
		}
	}()
	for _, p := range x.parts {
		if of := f.matches[p]; of != nil {
			w := fieldWalk{p.lists(from, to, x.work), of}
			if !w.next() {
				w.close()
				continue
			}
			walks = append(walks, w)
		}
	}
	heap.Init(&walks)
	var value []byte
	for n := 0; len(walks) > 0; {
		first := walks[0]
		value = append(value[:0], first.terms.Term()...)
		n += first.count(first.of)
		if first.next() {
			heap.Fix(&walks, 0)
		} else {
			first.close()
			heap.Pop(&walks)
		}
		if len(walks) == 0 || !bytes.Equal(walks[0].terms.Term(), value) {
			best.add(value[len(from):], n)
			n = 0
		}
	}
	return best.list, best.distinct, nil
}

// fieldWalk walks the values of a part.
type fieldWalk struct {
	*rowLists
	of bitset // matches
}

// fieldWalks is a heap of walks, the one at the least value first.
type fieldWalks []fieldWalk

func (h fieldWalks) Len() int { return len(h) }
func (h fieldWalks) Less(i, j int) bool {
	return bytes.Compare(h[i].terms.Term(), h[j].terms.Term()) < 0
}
func (h fieldWalks) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *fieldWalks) Push(w any)   { *h = append(*h, w.(fieldWalk)) }
func (h *fieldWalks) Pop() any {
	last := len(*h) - 1
	w := (*h)[last]
	*h = (*h)[:last]
	return w
}

// bestValues keeps the most frequent of the values that come, which come in their order.
type bestValues struct {
	most, distinct int
	list           []FacetValue
	least          int // count that is too small
}

func (b *bestValues) add(value []byte, n int) {
	if n == 0 {
		return
	}
	if b.distinct++; n <= b.least {
		return // equal in number, and later in the order of values
	}
	if b.list = append(b.list, FacetValue{string(value), n}); len(b.list)/2 >= b.most {
		sortValues(b.list)
		b.list = b.list[:b.most]
		b.least = b.list[b.most-1].Count
	}
}
