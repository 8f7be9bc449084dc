// SPDX-License-Identifier: Apache-2.0

package index

import (
	"math/bits"
	"slices"
)

// anyIter walks the documents that have any form of a word and scores the forms as one term: their weighted frequencies
// are multiplied by the forms' weights and added before saturation.
type anyIter struct {
	forms   []*cursor
	weights []float64
	at      []uint32 // document of each form
	doc     uint32
	begun   bool
	fields  fieldMask
	gain    gain
	weigher
	best             points
	total            uint64    // of documents of the forms
	pos              []uint32  // scratch of positions
	bounds           []float64 // of the forms, from boundLo to boundHi: what bound computed last
	boundLo, boundHi uint32
}

func newAnyIter(forms []*cursor, weights []float64, fields fieldMask, g gain, w weigher) *anyIter {
	it := &anyIter{
		forms: forms, weights: weights, at: make([]uint32, len(forms)), fields: fields, gain: g, weigher: w,
		bounds: make([]float64, len(forms)), boundLo: end,
	}
	tf := 0.0
	for i, c := range forms {
		it.total += c.l.df()
		code := uint16(0)
		for _, v := range c.codes {
			code = max(code, v)
		}
		tf += weights[i] * w.bound(c, code)
	}
	it.best = g.points(tf)
	return it
}

func (it *anyIter) seek(doc uint32) uint32 {
	if it.begun && it.doc >= doc {
		return it.doc
	}
	it.doc = seekAny(it.forms, it.at, it.begun, doc)
	it.begun = true
	return it.doc
}

func (it *anyIter) matches() bool {
	if it.fields == 0 {
		return true
	}
	for i, c := range it.forms {
		if it.at[i] == it.doc && c.freqs() && it.fields.allows(c.freq.mask[c.i]) {
			return true
		}
	}
	return false
}

func (it *anyIter) score() points {
	tf := 0.0
	for i, c := range it.forms {
		if it.at[i] == it.doc && c.freqs() {
			tf += float64(it.weights[i] * it.weight(c, it.fields))
		}
	}
	return it.gain.points(tf)
}

func (it *anyIter) shallow(doc uint32) (from, upTo uint32) {
	return shallowAny(it.forms, doc)
}

func (it *anyIter) bound(lo, hi uint32) points {
	tf := 0.0
	it.boundLo, it.boundHi = lo, hi
	for i, c := range it.forms {
		it.bounds[i] = 0
		if code, ok := c.code(lo, hi); ok {
			it.bounds[i] = it.weights[i] * it.weigher.bound(c, code)
		}
		tf += it.bounds[i]
	}
	return it.gain.points(tf)
}

func (it *anyIter) most() points { return it.best }
func (it *anyIter) cost() uint64 { return it.total }

func (it *anyIter) mark(w *window) {
	for i, c := range it.forms {
		(&termIter{cursor: c, fields: it.fields}).mark(w)
		it.at[i] = c.doc
	}
	it.settle()
}

// settle takes over where the cursors stand after a window.
func (it *anyIter) settle() {
	it.begun, it.doc = true, end
	for i, c := range it.forms {
		it.at[i] = c.doc
		it.doc = min(it.doc, c.doc)
	}
}

// fill adds up the weighted frequencies form by form, in the order of score, so that both round the same way. Forms
// that alone cannot bring a document among the best are looked up for the documents of the others.
func (it *anyIter) fill(s *sums) {
	switch from, to, rest := it.essential(s); {
	case to-from == len(it.forms):
		it.weighForms(s, from, to)
		s.addWeighed(it.gain)
	case to-from == 1:
		it.fillBy(s, from, rest)
	default:
		it.weighForms(s, from, to)
		it.addOthers(s, to, rest)
	}
	it.settle()
}

// essential chooses forms such that a document without any of them is less than s.least, and which have the fewest
// documents: one, or the first few, so that the others' frequencies can be added to theirs in the order of score. rest
// bounds the sum of those of the others.
func (it *anyIter) essential(s *sums) (from, to int, rest float64) {
	n := len(it.forms)
	least := it.gain.frequency(s.least)
	if n == 1 || least == 0 || it.boundLo != s.lo || it.boundHi != s.hi {
		return 0, n, 0
	}
	from, to = 0, n
	cost, first, others := it.total, uint64(0), 0.0
	for _, b := range it.bounds {
		others += b
	}
	sum := others
	for i, c := range it.forms {
		df := c.l.df()
		first, others = first+df, others-it.bounds[i]
		if one := sum - it.bounds[i]; df < cost && one*(1+boundSlack) <= least {
			from, to, rest, cost = i, i+1, one, df
		}
		if first < cost && others*(1+boundSlack) <= least {
			from, to, rest, cost = 0, i+1, others, first
		}
	}
	return from, to, rest * (1 + boundSlack)
}

// boundSlack covers the rounding of sums of bounds.
const boundSlack = 1e-9

// fillBy fills by the documents of one form.
func (it *anyIter) fillBy(s *sums, form int, rest float64) {
	c, weight, least := it.forms[form], it.weights[form], it.gain.frequency(s.least)
	next := func(doc uint32) uint32 { return it.seekAbove(c, doc, s.hi, weight, least-rest) }
	for doc := next(s.lo); doc <= s.hi; doc = next(c.doc + 1) {
		if !c.freqs() {
			break
		}
		n := c.within(s.hi)
		docs := c.docs[c.i:n]
		for j, tf := range it.weigher.weights(c, it.fields, n) {
			if tf = float64(weight * tf); tf+rest <= least {
				continue
			}
			if sum := it.sum(docs[j], form, form+1, tf); sum > least {
				s.add(docs[j], it.gain.points(sum))
			}
		}
		if !c.skip(n) {
			break
		}
	}
}

// sum adds the weighted frequencies of all forms in a document, where tf is the sum of those from `from` to `to`: one,
// or the first.
func (it *anyIter) sum(doc uint32, from, to int, tf float64) (sum float64) {
	for f, c := range it.forms {
		switch {
		case f == from:
			sum += tf
		case f > from && f < to: // in tf
		case c.seek(doc) == doc && c.freqs():
			sum += float64(it.weights[f] * it.weight(c, it.fields))
		}
	}
	return sum
}

// addOthers adds to the frequencies of the first forms those of the others, where that may be enough.
func (it *anyIter) addOthers(s *sums, first int, rest float64) {
	least := it.gain.frequency(s.least)
	for at, w := range s.touched[:(s.hi-s.lo)>>6+1] {
		for s.touched[at] = 0; w != 0; w &= w - 1 {
			i := at*64 + bits.TrailingZeros64(w)
			tf := s.tf[i]
			if s.tf[i] = 0; tf+rest <= least {
				continue
			}
			doc := s.lo + uint32(i)
			if sum := it.sum(doc, 0, first, tf); sum > least {
				s.add(doc, it.gain.points(sum))
			}
		}
	}
}

// weighForms adds the weighted frequencies of the forms from `from` to `to` in a window.
func (it *anyIter) weighForms(s *sums, from, to int) {
	for i := from; i < to; i++ {
		c := it.forms[i]
		for doc := c.seek(s.lo); doc <= s.hi; doc = c.leave() {
			if !c.freqs() {
				break
			}
			n := c.within(s.hi)
			docs := c.docs[c.i:n]
			for j, tf := range it.weigher.weights(c, it.fields, n) {
				s.weigh(docs[j], float64(it.weights[i]*tf))
			}
			if !c.skip(n) {
				break
			}
		}
	}
}

func (it *anyIter) look(s *sums) {
	if s.count == 0 {
		return
	}
	for i, c := range it.forms {
		it.lookUp(c, it.fields, it.weights[i], s)
	}
	s.lookedUp(it.gain)
	it.settle()
}

// occurrences returns the positions of all forms in a field, ascending, for phrases, valid until the next call.
func (it *anyIter) occurrences(field int) []uint32 {
	it.pos = it.pos[:0]
	sorted := 0 // positions of the first form that has any
	for i, c := range it.forms {
		if it.at[i] == it.doc && c.freqs() {
			if it.pos = c.positions(field, it.pos); sorted == 0 {
				sorted = len(it.pos)
			}
		}
	}
	if sorted < len(it.pos) {
		slices.Sort(it.pos)
	}
	return it.pos
}

func (it *anyIter) gaps(field int) (gaps []uint32, ok bool) {
	var only *cursor
	for i, c := range it.forms {
		if it.at[i] != it.doc || !c.freqs() || c.freq.n[field][c.i] == 0 {
			continue
		}
		if only != nil {
			return nil, false
		}
		only = c
	}
	if only == nil {
		return nil, true
	}
	return only.gaps(field), true
}

// has returns the fields of the current document that have any form.
func (it *anyIter) has() (mask uint8) {
	for i, c := range it.forms {
		if it.at[i] == it.doc && c.freqs() {
			mask |= c.freq.mask[c.i]
		}
	}
	return mask
}
