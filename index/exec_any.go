// SPDX-License-Identifier: Apache-2.0

package index

import "slices"

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
	best  points
	total uint64   // of documents of the forms
	pos   []uint32 // scratch of positions
}

func newAnyIter(forms []*cursor, weights []float64, fields fieldMask, g gain, w weigher) *anyIter {
	it := &anyIter{
		forms: forms, weights: weights, at: make([]uint32, len(forms)), fields: fields, gain: g, weigher: w,
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
	for i, c := range it.forms {
		if code, ok := c.code(lo, hi); ok {
			tf += it.weights[i] * it.weigher.bound(c, code)
		}
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

// fill adds up the weighted frequencies form by form, in the order of score, so that both round the same way.
func (it *anyIter) fill(s *sums) {
	for i, c := range it.forms {
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
	s.addWeighed(it.gain)
	it.settle()
}

func (it *anyIter) look(s *sums) {
	if s.count == 0 {
		return
	}
	for i, c := range it.forms {
		for _, doc := range s.docs[:s.count] {
			if c.seek(doc) == doc && c.freqs() {
				s.tf[doc-s.lo] += float64(it.weights[i] * it.weight(c, it.fields))
			}
		}
	}
	for _, doc := range s.docs[:s.count] {
		i := doc - s.lo
		s.score[i] += it.gain.points(s.tf[i])
		s.tf[i] = 0
	}
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
