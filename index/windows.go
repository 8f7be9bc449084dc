// SPDX-License-Identifier: Apache-2.0

package index

import (
	"iter"
	"math/bits"
)

// Where all matches of words that must all match, perhaps as a phrase, are to be counted, they are ranked and counted
// together, window by window: the matches of a window are found as bits, counted as bits, and scored list by list, so
// that nothing is looked up by document. Alternatives do not gain by it: bounds pass more of these than scoring all of
// a window saves (10^6 passages: a word in some 8,000 documents took 339 µs in place of 287); see tally for them.

// putSums gives sums back, which are 0 unless the search ended within a window.
func (r *ranker) putSums(s *sums) {
	if !r.work.over {
		sumsPool.Put(s)
	}
}

// offerSums offers the documents of a window whose bits are set, and leaves no score.
func (r *ranker) offerSums(s *sums, of []uint64, need points) {
	for at, w := range of {
		for s.bits[at] = 0; w != 0; w &= w - 1 {
			i := at*64 + bits.TrailingZeros64(w)
			p := s.score[i]
			if s.score[i] = 0; p < need {
				continue
			}
			if doc := s.lo + uint32(i); r.part.alive(doc) {
				r.top.offer(doc, p)
				need = r.need()
			}
		}
	}
}

// met offers the documents that the meeting of an iterator finds in windows of meetDocs and none of not matches, and
// returns their number, deleted ones left out. words are what scores.
func (r *ranker) met(
	it iterator, m *meeting, words []wordIter, not []iterator, windows iter.Seq[int],
) (count uint64) {
	bounds := make([]points, len(words))
	s := sumsPool.Get().(*sums)
	defer r.putSums(s)
	first := uint32(0) // that may match
	for n := range windows {
		lo := uint32(n) * meetDocs
		if first < lo {
			first, _ = shallowAll(m.parts, lo)
		}
		if first-lo >= meetDocs {
			continue
		}
		if !r.work.spend(1) {
			break
		}
		m.load(lo)
		w := window{m.from, m.bits[:]}
		for _, n := range not {
			clear(m.more[:])
			n.mark(&window{m.from, m.more[:]})
			for i, b := range m.more {
				m.bits[i] &^= b
			}
		}
		if n := w.alive(r.part.dead); n > 0 && !r.work.over {
			count += n
			r.note(w.from, w.bits)
			s.lo, s.hi, s.least = w.from, w.last(), 0
			r.offerMet(it, s, &w, words, bounds)
		}
	}
	return count
}

// offerMet offers the documents of a window, and clears the bits of those that bounds pass. bounds is memory for those
// of words.
func (r *ranker) offerMet(it iterator, s *sums, w *window, words []wordIter, bounds []points) {
	need := r.need()
	if need > it.most() {
		return
	}
	clear(bounds)
	rest := points(0) // what the words that are not weighed yet can add
	if need > 0 {
		it.shallow(w.from)
		for i, word := range words { // now: above moves on
			bounds[i] = word.bound(w.from, w.last())
			rest += bounds[i]
		}
		if rest < need || !w.above(it, need) {
			return
		}
	}
	for i, word := range words {
		word.weighAt(s, w)
		s.addWeighed(word.points())
		if rest -= bounds[i]; need > rest && i+1 < len(words) && !s.drop(w, need-rest) {
			return
		}
	}
	r.offerSums(s, w.bits, need)
}

// drop clears the bits and the scores of a window's documents with less than need, and reports whether any are left:
// blocks in which none is left are not decoded for the words that follow.
func (s *sums) drop(w *window, need points) (any bool) {
	for at, some := range w.bits {
		left := some
		for ; some != 0; some &= some - 1 {
			if i := at*64 + bits.TrailingZeros64(some); s.score[i] < need {
				s.score[i] = 0
				left &^= some & -some
			}
		}
		w.bits[at] = left
		s.bits[at] = left
		any = any || left != 0
	}
	return any
}

// above clears the bits of the stretches of documents whose bounds are below need, and reports whether any others are.
func (w *window) above(it iterator, need points) (any bool) {
	for doc, last := w.from, w.last(); ; {
		from, upTo := it.shallow(doc)
		if from > last { // nothing matches
			w.clearRange(doc, last)
			return any
		}
		upTo = min(upTo, last)
		if it.bound(from, upTo) < need {
			w.clearRange(doc, upTo)
		} else {
			any = true
		}
		if upTo == last {
			return any
		}
		doc = upTo + 1
	}
}

// clearRange clears the bits of the documents from lo to hi.
func (w *window) clearRange(lo, hi uint32) {
	from, to := (lo-w.from)>>6, (hi-w.from)>>6
	first, last := ^uint64(0)<<(lo&63), ^uint64(0)>>(63-hi&63)
	if from == to {
		w.bits[from] &^= first & last
		return
	}
	w.bits[from] &^= first
	clear(w.bits[from+1 : to])
	w.bits[to] &^= last
}

// next returns the first document from doc on whose bit is set; ok is false if there is none.
func (w *window) next(doc uint32) (_ uint32, ok bool) {
	at := doc - w.from
	i := int(at >> 6)
	if i >= len(w.bits) {
		return 0, false
	}
	b := w.bits[i] &^ (1<<(at&63) - 1)
	for b == 0 {
		if i++; i == len(w.bits) {
			return 0, false
		}
		b = w.bits[i]
	}
	return w.from + uint32(i*64+bits.TrailingZeros64(b)), true
}

func (it *termIter) points() gain                { return it.gain }
func (it *termIter) weighAt(s *sums, of *window) { it.weighListAt(it.cursor, it.fields, 1, s, of) }
func (it *anyIter) points() gain                 { return it.gain }

// weighAt adds the forms in the order of score, so that both round the same way.
func (it *anyIter) weighAt(s *sums, of *window) {
	for i, c := range it.forms {
		it.weighListAt(c, it.fields, it.weights[i], s, of)
	}
}

// weighListAt adds the weighted frequencies of a list in the documents of a window, which s has, times a factor. Blocks
// without any of them are not decoded.
func (w *weigher) weighListAt(c *cursor, fields fieldMask, factor float64, s *sums, of *window) {
	var places [blockDocs]uint8
	size := uint32(len(of.bits)) * 64
	for doc, ok := of.next(s.lo); ok; doc, ok = of.next(c.docs[c.n-1] + 1) {
		if c.seek(doc) > s.hi {
			return
		}
		k := 0
		for i := c.i; i < c.n; i++ { // without a branch that nobody can foresee
			at := c.docs[i] - s.lo
			if at >= size {
				break
			}
			places[k] = uint8(i)
			k += int(of.bits[at>>6] >> (at & 63) & 1)
		}
		if k == 0 {
			continue
		}
		if !c.freqs() {
			return
		}
		for _, i := range places[:k] {
			c.i = int(i)
			s.weigh(c.docs[i], float64(factor*w.weight(c, fields)))
		}
		c.doc = c.docs[c.i]
	}
}
