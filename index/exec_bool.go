// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"slices"
)

// boolIter walks the documents that match all parts of must and none of not; should only adds to the score.
type boolIter struct {
	must, should, not []iterator // must is never empty; the rarest first
	doc               uint32
	begun             bool
	scratch           []uint64 // bits of a part, for mark
	rarest, others    uint64   // costs of must
	meet              *meeting // finds what must matches, if it is not nil
	bounds            []points // of must and, their sum, of should, in the stretch that bound was last called for
}

func newBoolIter(must, should, not []iterator) *boolIter {
	slices.SortStableFunc(must, func(a, b iterator) int { return cmp.Compare(a.cost(), b.cost()) })
	it := &boolIter{must: must, should: should, not: not, rarest: must[0].cost()}
	for _, m := range must[1:] {
		it.others += m.cost()
	}
	return it
}

func (it *boolIter) seek(doc uint32) uint32 {
	if it.begun && it.doc >= doc {
		return it.doc
	}
	it.begun = true
	it.doc = meetAt(it.meet, it.must, doc)
	return it.doc
}

func (it *boolIter) matches() bool {
	if it.meet != nil {
		return !anyAt(it.not, it.doc)
	}
	for _, m := range it.must {
		if !m.matches() {
			return false
		}
	}
	return !anyAt(it.not, it.doc)
}

// anyAt reports whether any of the iterators, which are not beyond doc, matches it.
func anyAt(its []iterator, doc uint32) bool {
	for _, x := range its {
		if x.seek(doc) == doc && x.matches() {
			return true
		}
	}
	return false
}

// allAt reports whether all of the iterators, which are not beyond doc, match it.
func allAt(its []iterator, doc uint32) bool {
	for _, x := range its {
		if x.seek(doc) != doc || !x.matches() {
			return false
		}
	}
	return true
}

func (it *boolIter) score() (sum points) {
	if it.meet != nil {
		return scoreAt(it.must, it.doc) + scoreAt(it.should, it.doc)
	}
	for _, m := range it.must {
		sum += m.score()
	}
	return sum + scoreAt(it.should, it.doc)
}

func (it *boolIter) scoreAbove(need points) points {
	most := it.bounds[len(it.must)]
	sum := scoresAbove(it.must, it.bounds[:len(it.must)], most, need, it.meet != nil, it.doc)
	if most == 0 || sum+most < need {
		return sum
	}
	return sum + scoreAt(it.should, it.doc)
}

// scoreAt adds the scores of the iterators that match doc and are not beyond it.
func scoreAt(its []iterator, doc uint32) (sum points) {
	for _, s := range its {
		if s.seek(doc) == doc && s.matches() {
			sum += s.score()
		}
	}
	return sum
}

func (it *boolIter) shallow(doc uint32) (from, upTo uint32) {
	if from, upTo = shallowAll(it.must, doc); from == end {
		return end, end
	}
	for _, s := range it.should {
		if f, u := s.shallow(doc); f != end {
			upTo = min(upTo, u)
		}
	}
	return from, max(from, upTo)
}

func (it *boolIter) bound(lo, hi uint32) (sum points) {
	it.bounds = it.bounds[:0]
	for _, m := range it.must {
		b := m.bound(lo, hi)
		it.bounds = append(it.bounds, b)
		sum += b
	}
	should := boundSum(it.should, lo, hi)
	it.bounds = append(it.bounds, should)
	return sum + should
}

func boundSum[I iterator](its []I, lo, hi uint32) (sum points) {
	for _, p := range its {
		sum += p.bound(lo, hi)
	}
	return sum
}

func mostSum(its []iterator) (sum points) {
	for _, p := range its {
		sum += p.most()
	}
	return sum
}

func (it *boolIter) most() points { return mostSum(it.must) + mostSum(it.should) }
func (it *boolIter) cost() uint64 { return it.rarest }
func (it *boolIter) fill(s *sums) { fillEach(it, s) }
func (it *boolIter) look(s *sums) { lookEach(it, s) }

// seekPrice is how many documents can be decoded and marked in the time of one seek, about.
const seekPrice = 8

// mark combines the windows of all parts if they are of about one length; a rare part is better met document by
// document, since then most blocks of the others are passed unread.
func (it *boolIter) mark(w *window) {
	if it.rarest*seekPrice < it.others {
		markEach(it, w)
		return
	}
	own := window{w.from, it.bits(len(w.bits))}
	it.must[0].mark(&own)
	for _, m := range it.must[1:] {
		it.combine(m, own, func(a, b uint64) uint64 { return a & b })
	}
	for _, n := range it.not {
		it.combine(n, own, func(a, b uint64) uint64 { return a &^ b })
	}
	for i, b := range own.bits {
		w.bits[i] |= b
	}
}

// bits returns n empty words of the scratch memory, which has room for two windows.
func (it *boolIter) bits(n int) []uint64 {
	if len(it.scratch) < 2*n {
		it.scratch = make([]uint64, 2*n)
	}
	clear(it.scratch[:n])
	return it.scratch[:n]
}

func (it *boolIter) combine(part iterator, own window, with func(a, b uint64) uint64) {
	other := window{own.from, it.scratch[len(own.bits) : 2*len(own.bits)]}
	clear(other.bits)
	part.mark(&other)
	for i, b := range other.bits {
		own.bits[i] = with(own.bits[i], b)
	}
}

// orIter walks the documents that match any part. Its score is the sum of the parts that match.
type orIter struct {
	parts []iterator
	at    []uint32 // document of each part
	doc   uint32
	begun bool
	total uint64
}

func newOrIter(parts []iterator) *orIter {
	it := &orIter{parts: parts, at: make([]uint32, len(parts))}
	for _, p := range parts {
		it.total += p.cost()
	}
	return it
}

func (it *orIter) seek(doc uint32) uint32 {
	if it.begun && it.doc >= doc {
		return it.doc
	}
	it.doc = seekAny(it.parts, it.at, it.begun, doc)
	it.begun = true
	return it.doc
}

func (it *orIter) matches() bool {
	for i, p := range it.parts {
		if it.at[i] == it.doc && p.matches() {
			return true
		}
	}
	return false
}

func (it *orIter) score() (sum points) {
	for i, p := range it.parts {
		if it.at[i] == it.doc && p.matches() {
			sum += p.score()
		}
	}
	return sum
}

func (it *orIter) shallow(doc uint32) (from, upTo uint32) {
	return shallowAny(it.parts, doc)
}

func (it *orIter) bound(lo, hi uint32) points { return boundSum(it.parts, lo, hi) }
func (it *orIter) most() points               { return mostSum(it.parts) }
func (it *orIter) cost() uint64               { return it.total }
func (it *orIter) fill(s *sums)               { fillEach(it, s) }
func (it *orIter) look(s *sums)               { lookEach(it, s) }

func (it *orIter) mark(w *window) {
	for _, p := range it.parts {
		p.mark(w)
	}
}

// words returns what scores as words, nil if there is something else.
func (it *boolIter) words() (words []wordIter) {
	for _, list := range [][]iterator{it.must, it.should} {
		for _, p := range list {
			w, ok := p.(wordIter)
			if !ok {
				return nil
			}
			words = append(words, w)
		}
	}
	return words
}
