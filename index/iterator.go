// SPDX-License-Identifier: Apache-2.0

package index

import (
	"math/bits"
	"sync"
)

// iterator walks the documents of one index segment that match a part of a query, in order, in two phases as Lucene
// does: seek finds candidates by document numbers alone, matches looks at fields and positions. It begins before the
// first document. Bounds let a search pass documents without decoding them.
type iterator interface {
	// seek moves to the first candidate that is at least doc, never back, and returns it, or end if there is none. A
	// document that is not a candidate does not match.
	seek(doc uint32) uint32
	// matches reports whether the candidate that seek returned last matches. It may be called again.
	matches() bool
	// score returns the part's share of the score of the current document; matches has returned true for it.
	score() points

	// shallow returns a document that no match from doc on precedes, and the last one up to which it is worth taking
	// one bound; both are end if there is no match any more. doc rises from call to call, apart from seek's.
	shallow(doc uint32) (from, upTo uint32)
	// bound returns an upper bound of score for the documents from lo to hi. It is called after shallow(lo).
	bound(lo, hi uint32) points
	// most returns an upper bound of score.
	most() points
	// cost estimates how many candidates there are.
	cost() uint64

	// mark sets the bits of the matches in a window. Windows come in order; seek is not called between.
	mark(w *window)
	// fill adds the scores of the matches in a window to its sums.
	fill(s *sums)
	// look adds its scores to those of the documents s.docs that match. It may have been filled or looked up up to the
	// first of them, not further.
	look(s *sums)
}

// seeker is what iterators and cursors have in common.
type seeker interface {
	seek(doc uint32) uint32
	shallow(doc uint32) (from, upTo uint32)
}

// seekAny moves those that are below doc, all if they have not begun, and returns the first document of any. at is
// where each stands.
func seekAny[S seeker](its []S, at []uint32, begun bool, doc uint32) uint32 {
	first := uint32(end)
	for i, it := range its {
		if !begun || at[i] < doc {
			at[i] = it.seek(doc)
		}
		first = min(first, at[i])
	}
	return first
}

// shallowAny is shallow for parts of which any may match.
func shallowAny[S seeker](its []S, doc uint32) (from, upTo uint32) {
	from, upTo = end, end
	for _, it := range its {
		f, u := it.shallow(doc)
		from, upTo = min(from, f), min(upTo, u)
	}
	return from, upTo
}

// window is an interval of documents with a bit for each: the documents from `from` on, as many as there are bits.
type window struct {
	from uint32
	bits []uint64
}

// last returns the last document of the window.
func (w *window) last() uint32 { return w.from + uint32(len(w.bits))*64 - 1 }

func (w *window) set(doc uint32) { w.bits[(doc-w.from)>>6] |= 1 << (doc & 63) }

// setRange sets the bits of the documents from lo to hi.
func (w *window) setRange(lo, hi uint32) {
	for doc := lo; doc <= hi; {
		if doc&63 == 0 && hi-doc >= 63 {
			w.bits[(doc-w.from)>>6] = ^uint64(0)
			doc += 64
			continue
		}
		w.set(doc)
		doc++
	}
}

// markEach is mark by seek and matches. from is a multiple of 64, so that bit d&63 belongs to document d.
func markEach(it iterator, w *window) {
	last := w.last()
	for doc := it.seek(w.from); doc <= last && doc != end; doc = it.seek(doc + 1) {
		if it.matches() {
			w.set(doc)
		}
	}
}

// sumDocs is the most documents whose scores are added up together. Frequent words end a window far before, with their
// blocks; for rare ones, which touch few of the sums, a window costs more than the documents in it.
const sumDocs = 1 << 14

// sums are scores of the documents from lo to hi, at most sumDocs. Between windows all but the bounds and what is
// scratch is 0.
type sums struct {
	lo, hi uint32
	least  points  // fill may leave out documents to which it adds less
	bits   sumBits // documents that have a score
	score  [sumDocs]points

	// docs are the documents that take left of these, ascending, and taken has their bits.
	docs  [sumDocs]uint32
	taken sumBits
	count int

	// tf are weighted frequencies of one word, which its forms add to, of the documents of touched.
	tf      [sumDocs]float64
	touched sumBits

	any, several, own sumBits   // scratch of heldFew
	found             heldFound // scratch of held words
}

// sumBits has a bit for each document of sums.
type sumBits [sumDocs / 64]uint64

func (b *sumBits) set(i uint32) { b[i>>6&(sumDocs/64-1)] |= 1 << (i & 63) }

// sumsPool keeps sums, which are large, between searches. Only those go back that are 0.
var sumsPool = sync.Pool{New: func() any { return new(sums) }}

func (s *sums) add(doc uint32, p points) {
	i := (doc - s.lo) & (sumDocs - 1)
	s.bits.set(i)
	s.score[i] += p
}

// weigh adds to a document's weighted frequency.
func (s *sums) weigh(doc uint32, tf float64) {
	i := (doc - s.lo) & (sumDocs - 1)
	s.touched.set(i)
	s.tf[i] += tf
}

// addWeighed adds the points of the weighted frequencies to the scores and leaves no frequency.
func (s *sums) addWeighed(g gain) {
	least := g.frequency(s.least)
	for at, w := range s.touched[:(s.hi-s.lo)>>6+1] {
		for s.touched[at] = 0; w != 0; w &= w - 1 {
			i := at*64 + bits.TrailingZeros64(w)
			if tf := s.tf[i]; tf > least {
				s.add(s.lo+uint32(i), g.points(tf))
			}
			s.tf[i] = 0
		}
	}
}

// take makes docs of the documents whose score is at least need.
func (s *sums) take(need points) {
	s.count = 0
	for at, w := range s.bits[:(s.hi-s.lo)>>6+1] {
		s.taken[at] = w
		for s.bits[at] = 0; w != 0; w &= w - 1 {
			i := uint32(at*64 + bits.TrailingZeros64(w))
			if s.score[i] < need {
				s.score[i] = 0
				s.taken[at] &^= w & -w
				continue
			}
			s.docs[s.count] = s.lo + i
			s.count++
		}
	}
}

// keep leaves those of docs whose score is at least need.
func (s *sums) keep(need points) {
	n := 0
	for _, doc := range s.docs[:s.count] {
		if i := doc - s.lo; s.score[i] < need {
			s.score[i] = 0
			s.taken[i>>6] &^= 1 << (i & 63)
			continue
		}
		s.docs[n] = doc
		n++
	}
	s.count = n
}

// lookEach is look by seek, matches and score.
func lookEach(it iterator, s *sums) {
	for _, doc := range s.docs[:s.count] {
		if it.seek(doc) == doc && it.matches() {
			s.score[doc-s.lo] += it.score()
		}
	}
}

// fillEach is fill by seek, matches and score.
func fillEach(it iterator, s *sums) {
	for doc := it.seek(s.lo); doc <= s.hi; doc = it.seek(doc + 1) {
		if it.matches() {
			s.add(doc, it.score())
		}
	}
}

// rangeIter walks an interval of documents, from inclusive, to exclusive: a host, or all documents. It scores 0.
type rangeIter struct {
	from, to uint32
	work     *budget
	steps    int
}

// rangeUnit is how many documents of an interval cost as much as a decoded block.
const rangeUnit = 64

func (it *rangeIter) seek(doc uint32) uint32 {
	if it.steps++; it.steps%rangeUnit == 0 && !it.work.spend(1) {
		return end
	}
	return it.at(doc)
}

// at returns the first document that is at least doc, or end.
func (it *rangeIter) at(doc uint32) uint32 {
	if doc = max(doc, it.from); doc >= it.to {
		return end
	}
	return doc
}

func (*rangeIter) matches() bool            { return true }
func (*rangeIter) score() points            { return 0 }
func (*rangeIter) bound(_, _ uint32) points { return 0 }
func (*rangeIter) most() points             { return 0 }
func (it *rangeIter) cost() uint64          { return uint64(it.to - min(it.from, it.to)) }
func (it *rangeIter) fill(s *sums)          { fillEach(it, s) }
func (*rangeIter) look(*sums)               {}

func (it *rangeIter) shallow(doc uint32) (from, upTo uint32) {
	if from = it.at(doc); from == end {
		return end, end
	}
	return from, it.to - 1
}

func (it *rangeIter) mark(w *window) {
	if lo, hi := max(it.from, w.from), min(it.to, w.last()+1); lo < hi {
		w.setRange(lo, hi-1)
	}
}
