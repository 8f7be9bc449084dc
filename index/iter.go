// SPDX-License-Identifier: Apache-2.0

package index

import (
	"github.com/seine-crawler/seine/storage"
)

// iterator walks the documents of one index segment that match a part of a query, in order. It begins before the first
// document.
type iterator interface {
	// seek moves to the first matching document that is at least doc, never back, and returns it, or end if there is
	// none.
	seek(doc uint32) uint32
	// score returns the part's share of the current document's score.
	score() float64
}

// termIter walks one posting list.
type termIter struct {
	cursor
	doc    uint32
	begun  bool
	field  int
	scorer scorer
	seg    *segment
}

func (it *termIter) seek(doc uint32) uint32 {
	if it.begun && (it.doc >= doc || it.doc == end) {
		return it.doc
	}
	it.begun = true
	for {
		it.doc = it.cursor.seek(doc)
		if it.doc == end || it.field < 0 {
			return it.doc
		}
		if !it.load() {
			it.doc = end
			return end
		}
		if it.freqs.n[it.field][it.i] > 0 {
			return it.doc
		}
		doc = it.doc + 1
	}
}

func (it *termIter) score() float64 {
	if it.doc >= it.seg.info.Docs {
		return 0
	}
	freqs := it.frequencies()
	return it.scorer.score(&freqs, it.seg.normsOf(it.doc))
}

// phraseIter walks the documents that hold its terms one after the other in one field.
type phraseIter struct {
	terms []*termIter
	doc   uint32
	begun bool
	field int
	pos   [][fieldCount][]uint32
}

func (it *phraseIter) seek(doc uint32) uint32 {
	if it.begun && (it.doc >= doc || it.doc == end) {
		return it.doc
	}
	it.begun = true
	for {
		if doc = meet(it.terms, doc); doc == end || it.inRow() {
			it.doc = doc
			return doc
		}
		doc++
	}
}

// meet moves all iterators to the first document that is at least doc and that all of them match.
func meet[I iterator](its []I, doc uint32) uint32 {
	for i := 0; i < len(its); {
		at := its[i].seek(doc)
		if at == end {
			return end
		}
		if at > doc {
			doc, i = at, 0
			continue
		}
		i++
	}
	return doc
}

// inRow reports whether some field holds the terms one after the other.
func (it *phraseIter) inRow() bool {
	for i, t := range it.terms {
		if !t.readPositions(&it.pos[i]) {
			return false
		}
	}
	for f := range fieldCount {
		if it.field >= 0 && f != it.field {
			continue
		}
	starts:
		for _, start := range it.pos[0][f] {
			for i := 1; i < len(it.terms); i++ {
				if !contains(it.pos[i][f], start+uint32(i)) {
					continue starts
				}
			}
			return true
		}
	}
	return false
}

// contains searches a sorted slice.
func contains(sorted []uint32, v uint32) bool {
	lo, hi := 0, len(sorted)
	for lo < hi {
		mid := (lo + hi) / 2
		if sorted[mid] < v {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo < len(sorted) && sorted[lo] == v
}

func (it *phraseIter) score() (sum float64) {
	for _, t := range it.terms {
		sum += t.score()
	}
	return sum
}

// andIter walks the documents that match all parts and none of the excluded ones.
type andIter struct {
	parts    []iterator
	excluded []iterator
	doc      uint32
	begun    bool
}

func (it *andIter) seek(doc uint32) uint32 {
	if it.begun && (it.doc >= doc || it.doc == end) {
		return it.doc
	}
	it.begun = true
next:
	for {
		if doc = meet(it.parts, doc); doc == end {
			break
		}
		for _, x := range it.excluded {
			if x.seek(doc) == doc {
				doc++
				continue next
			}
		}
		break
	}
	it.doc = doc
	return doc
}

func (it *andIter) score() (sum float64) {
	for _, p := range it.parts {
		sum += p.score()
	}
	return sum
}

// orIter walks the documents that match any part.
type orIter struct {
	parts []iterator
	at    []uint32
	doc   uint32
	begun bool
}

func (it *orIter) seek(doc uint32) uint32 {
	if it.begun && (it.doc >= doc || it.doc == end) {
		return it.doc
	}
	it.begun = true
	it.doc = end
	for i, p := range it.parts {
		it.at[i] = p.seek(doc)
		it.doc = min(it.doc, it.at[i])
	}
	return it.doc
}

func (it *orIter) score() (sum float64) {
	for i, p := range it.parts {
		if it.at[i] == it.doc {
			sum += p.score()
		}
	}
	return sum
}

// rangeIter walks an interval of documents: a host, or all documents.
type rangeIter struct{ from, to uint32 }

func (it rangeIter) seek(doc uint32) uint32 {
	doc = max(doc, it.from)
	if doc >= it.to {
		return end
	}
	return doc
}

func (rangeIter) score() float64 { return 0 }

// opener makes the iterators of a query on one index segment.
type opener struct {
	rd      storage.Reader
	seg     *segment
	scorers map[string]scorer
	lists   []*termIter // for their errors, which close collects
	err     error
}

func (o *opener) close() error {
	for _, l := range o.lists {
		if l.err != nil && o.err == nil {
			o.err = l.err
		}
	}
	return o.err
}

func (o *opener) open(n *node) iterator {
	switch n.kind {
	case nodeTerm:
		return o.term(n)
	case nodePhrase:
		it := &phraseIter{field: n.field, pos: make([][fieldCount][]uint32, len(n.children))}
		for _, c := range n.children {
			it.terms = append(it.terms, o.term(c))
		}
		return it
	case nodeSite:
		from, to, err := siteRange(o.rd, o.seg, n.prefix)
		if err != nil {
			o.err = err
		}
		return rangeIter{from, to}
	case nodeOr:
		it := &orIter{at: make([]uint32, len(n.children))}
		for _, c := range n.children {
			it.parts = append(it.parts, o.open(c))
		}
		return it
	}
	it := &andIter{}
	for _, c := range n.children {
		if c.kind == nodeNot {
			it.excluded = append(it.excluded, o.open(c.children[0]))
		} else {
			it.parts = append(it.parts, o.open(c))
		}
	}
	if len(it.parts) == 0 { // only exclusions
		it.parts = []iterator{rangeIter{0, o.seg.info.Docs}}
	}
	return it
}

// term opens a posting list.
func (o *opener) term(n *node) *termIter {
	it := &termIter{field: n.field, scorer: o.scorers[n.term], seg: o.seg}
	l, err := o.seg.openList(o.rd, n.term)
	if err != nil {
		o.err = err
	}
	r, _ := l.(*listReader)
	it.reset(r)
	o.lists = append(o.lists, it)
	return it
}
