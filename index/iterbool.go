// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"slices"
)

// bool opens the parts of a nodeBool.
func (o *opener) bool(n *node) iterator {
	it := &boolIter{at: make([]uint32, len(n.should))}
	for _, c := range n.must {
		it.must = append(it.must, o.open(c))
	}
	for _, c := range n.should {
		it.should = append(it.should, o.open(c))
	}
	for _, c := range n.not {
		it.not = append(it.not, o.open(c))
	}
	if len(it.must)+len(it.should) == 0 {
		it.must = []iterator{rangeIter{0, o.seg.info.Docs}}
	}
	return it
}

// boolIter walks the documents of a nodeBool.
type boolIter struct {
	must, should, not []iterator
	at                []uint32 // documents of should
	doc               uint32
	begun             bool
}

func (it *boolIter) seek(doc uint32) uint32 {
	if it.begun && (it.doc >= doc || it.doc == end) {
		return it.doc
	}
	it.begun = true
next:
	for {
		if doc = it.candidate(doc); doc == end {
			break
		}
		for _, x := range it.not {
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

// candidate finds the next document of must, else of should.
func (it *boolIter) candidate(doc uint32) uint32 {
	if len(it.must) > 0 {
		return meet(it.must, doc)
	}
	first := uint32(end)
	for i, p := range it.should {
		it.at[i] = p.seek(doc)
		first = min(first, it.at[i])
	}
	return first
}

func (it *boolIter) score() (sum float64) {
	for _, p := range it.must {
		sum += p.score()
	}
	for i, p := range it.should {
		if len(it.must) > 0 {
			it.at[i] = p.seek(it.doc)
		}
		if it.at[i] == it.doc {
			sum += p.score()
		}
	}
	return sum
}

// filter opens a filter on a value beside documents. Index segments of this format have no such values.
func (o *opener) filter(n *node) iterator {
	if o.err == nil {
		o.err = fmt.Errorf("the index has no values for %s", n)
	}
	return rangeIter{}
}

// scorer makes the scorer of a term, or of the forms of a word: these have the frequency of the most frequent one.
func (o *opener) scorer(n *node) scorer {
	df := o.dfs[n.term]
	for _, c := range n.children {
		df = max(df, o.dfs[c.term])
	}
	s := newScorer(o.all, df)
	s.boost = n.factor()
	return s
}

// any opens the forms of a word.
func (o *opener) any(n *node) *anyIter {
	it := &anyIter{scorer: o.scorer(n), at: make([]uint32, len(n.children))}
	for _, c := range n.children {
		it.forms = append(it.forms, o.term(c))
	}
	return it
}

// anyIter walks the documents that hold any form of a word.
type anyIter struct {
	forms  []*termIter
	at     []uint32
	scorer scorer
	doc    uint32
	begun  bool
	pos    [fieldCount][]uint32
}

func (it *anyIter) seek(doc uint32) uint32 {
	if it.begun && (it.doc >= doc || it.doc == end) {
		return it.doc
	}
	it.begun = true
	it.doc = end
	for i, f := range it.forms {
		it.at[i] = f.seek(doc)
		it.doc = min(it.doc, it.at[i])
	}
	return it.doc
}

func (it *anyIter) tf() (sum float64) {
	for i, f := range it.forms {
		if it.at[i] == it.doc {
			sum += f.weight * f.tf()
		}
	}
	return sum
}

func (it *anyIter) score() float64 { return it.scorer.of(it.tf()) }

func (it *anyIter) positions(into *[fieldCount][]uint32) bool {
	for f := range into {
		into[f] = into[f][:0]
	}
	for i, form := range it.forms {
		if it.at[i] != it.doc {
			continue
		}
		if !form.positions(&it.pos) {
			return false
		}
		for f := range into {
			into[f] = append(into[f], it.pos[f]...)
		}
	}
	for f := range into {
		slices.Sort(into[f])
		into[f] = slices.Compact(into[f])
	}
	return true
}

// phrase opens the parts of a phrase.
func (o *opener) phrase(n *node) *phraseIter {
	it := &phraseIter{
		at: n.at, slop: uint32(n.slop), fields: n.fields, boost: n.factor(),
		pos: make([][fieldCount][]uint32, len(n.children)), same: make([]int, len(n.children)),
	}
	for i, c := range n.children {
		if c.kind == nodeAny {
			it.parts = append(it.parts, o.any(c))
		} else {
			it.parts = append(it.parts, o.term(c))
		}
		it.same[i] = -1
		for j, before := range n.children[:i] {
			if c.kind == nodeTerm && before.kind == nodeTerm && before.term == c.term {
				it.same[i] = j
			}
		}
	}
	return it
}

// phraseIter walks the documents that hold its parts in a row, in one field.
type phraseIter struct {
	parts  []placed
	at     []int // places in the row
	same   []int // the last part before that is the same word, or -1: two words need two places
	slop   uint32
	fields fieldMask
	boost  float64
	doc    uint32
	begun  bool
	pos    [][fieldCount][]uint32
	taken  []uint32
}

func (it *phraseIter) seek(doc uint32) uint32 {
	if it.begun && (it.doc >= doc || it.doc == end) {
		return it.doc
	}
	it.begun = true
	for {
		if doc = meet(it.parts, doc); doc == end || it.inRow() {
			it.doc = doc
			return doc
		}
		doc++
	}
}

// inRow reports whether some field holds the parts in a row. Moved back by their places in the row, the positions of
// the parts must lie within slop of each other: with slop 0 they are equal, and words in another order or with others
// between them are as far apart as they are out of place (Lucene's sloppy phrase).
func (it *phraseIter) inRow() bool {
	for i, t := range it.parts {
		if !t.positions(&it.pos[i]) {
			return false
		}
	}
	for f := range fieldCount {
		if !it.fields.has(f) {
			continue
		}
		first := len(it.parts) // parts that a row may begin with
		if it.slop == 0 {
			first = 1
		}
		for i := range first {
			for _, p := range it.pos[i][f] {
				if it.within(f, int64(p)-int64(it.at[i])) {
					return true
				}
			}
		}
	}
	return false
}

// within reports whether each part has a position of its own from low to low+slop, moved back by its place. Of parts
// that are the same word, each takes the first place that is left; since their windows are equally long, no other
// choice leaves more.
func (it *phraseIter) within(f int, low int64) bool {
	if len(it.taken) < len(it.parts) {
		it.taken = make([]uint32, len(it.parts))
	}
	for i := range it.parts {
		from := max(low+int64(it.at[i]), 0)
		if b := it.same[i]; b >= 0 {
			from = max(from, int64(it.taken[b])+1)
		}
		at, _ := slices.BinarySearch(it.pos[i][f], uint32(from))
		if at == len(it.pos[i][f]) || int64(it.pos[i][f][at]) > low+int64(it.at[i])+int64(it.slop) {
			return false
		}
		it.taken[i] = it.pos[i][f][at]
	}
	return true
}

func (it *phraseIter) score() (sum float64) {
	for _, t := range it.parts {
		sum += t.score()
	}
	return it.boost * sum
}
