// SPDX-License-Identifier: Apache-2.0

package index

import (
	"iter"
	"math/bits"
	"slices"
)

// heldAny offers the documents of windows that have any of the words or match any of others, and pass the sieve, and
// returns their number. Where a window has few documents, those that may be among the best are found by bits, as in a
// tally (see heldFew), else all are scored.
func (r *ranker) heldAny(words []heldPart, others []iterator, v *sieve, windows iter.Seq[int]) (count uint64) {
	if !r.tabulate(words) {
		return 0
	}
	s := sumsPool.Get().(*sums)
	defer r.putSums(s)
	for w := range windows {
		if s.lo = uint32(w) * sumDocs; !v.passes(s.lo) {
			continue
		}
		most, docs := heldBounds(words, w)
		s.hi, s.least = s.lo+sumDocs-1, 0
		held := most
		for _, o := range others {
			if from, _ := o.shallow(s.lo); from <= s.hi {
				most, docs = most+o.bound(s.lo, s.hi), docs+1
			}
		}
		if docs == 0 {
			continue
		}
		if !r.work.spend(1 + docs/(heldUnit*heldBlock)) {
			return count
		}
		need := r.need()
		switch {
		case most < need && count >= r.enough:
		case most < need:
			clear(s.any[:])
			for i := range words {
				words[i].now.mark(&s.any)
			}
			for _, o := range others {
				o.mark(&window{s.lo, s.any[:]})
			}
			count += r.heldLeft(s.lo, &s.any, v)
		case need > 0 && docs <= heldDense:
			count += r.heldFew(words, others, v, s, held, need)
		default:
			count += r.heldFull(words, others, v, s, need)
		}
		if r.work.over {
			return count
		}
	}
	return count
}

// heldDense is the number of documents of the words in a window above which all are scored.
const heldDense = sumDocs / 2

// heldBounds bounds the score of the documents of a window, and returns how many documents the words have there.
func heldBounds(words []heldPart, window int) (most points, docs int) {
	for i := range words {
		h := &words[i]
		h.now, h.reach = h.window(window), 0
		if from, to := h.now.from, h.now.to; from < to {
			h.reach = h.points[h.bound(from, to)]
			most += h.reach
			docs += int(to - from)
		}
	}
	return most, docs
}

// heldFull scores all documents of a window and offers them.
func (r *ranker) heldFull(words []heldPart, others []iterator, v *sieve, s *sums, need points) (count uint64) {
	for i := range words {
		words[i].add(s)
	}
	for _, o := range others {
		o.fill(s)
	}
	if r.work.over {
		return 0
	}
	count = r.heldLeft(s.lo, &s.bits, v)
	if need > 0 && count > sumDocs/4 {
		r.offerAll(s, need)
		clear(s.bits[:])
		clear(s.score[:])
		return count
	}
	r.offerHeld(s, need, v.sifts() || len(others) > 0 && r.part.dead != nil)
	return count
}

// heldFew counts the documents of a window as bits, and sees which are in several lists. Words whose bounds together
// are below need cannot bring a document there alone, as in disjunction: several are documents that have another word
// as well. A document of one list is among the best only if its frequency alone is enough: blocks whose bound is not
// are passed. The scores of the others are added up from the word with the largest bound on, and those are left out
// that the bounds of the words to come cannot bring to need. held is the sum of the words' bounds.
func (r *ranker) heldFew(
	words []heldPart, others []iterator, v *sieve, s *sums, held, need points,
) (count uint64) {
	for i := 1; i < len(words); i++ { // they are nearly in order, that of the window before
		for j := i; j > 0 && words[j].reach < words[j-1].reach; j-- {
			words[j], words[j-1] = words[j-1], words[j]
		}
	}
	least := 0 // words before it cannot bring a document among the best alone
	for below := points(0); least < len(words); least++ {
		if below += words[least].reach; below >= need {
			break
		}
	}
	clear(s.any[:])
	clear(s.several[:])
	for i := range words[:least] {
		words[i].now.mark(&s.any)
	}
	for _, o := range others {
		o.fill(s)
	}
	if len(others) > 0 {
		if r.work.over {
			return 0
		}
		s.own = s.bits
		for i, b := range s.own {
			s.several[i] = s.any[i] & b
			s.any[i] |= b
		}
	}
	for i := range words[least:] {
		words[least+i].now.markSeveral(&s.any, &s.several)
	}
	count = r.heldLeft(s.lo, &s.any, v)
	n := 0
	for i, b := range s.any {
		s.several[i] &= b
		n += bits.OnesCount64(s.several[i])
	}
	s.bits = s.several
	for i := len(words) - 1; i >= 0 && n > 0; i-- {
		words[i].addSome(s, n)
		if held -= words[i].reach; held < need {
			n = s.leave(need - held)
		}
	}
	for i := range words[least:] {
		if h := &words[least+i]; h.reach >= need {
			h.addAlone(s, need)
		}
	}
	if len(others) > 0 {
		s.leaveOwn(need)
	}
	r.offerHeld(s, need, false)
	return count
}

// leave clears the bits and scores of the documents whose score is below least, and returns how many are left.
func (s *sums) leave(least points) (n int) {
	for at, some := range &s.bits {
		left := some
		for ; some != 0; some &= some - 1 { // without a branch that nobody can foresee
			p := &s.score[at*64+bits.TrailingZeros64(some)]
			low := (*p - least) >> 63 // all ones if it is below
			*p &^= low
			left &^= some & -some & uint64(low)
		}
		s.bits[at] = left
		n += bits.OnesCount64(left)
	}
	return n
}

// leaveOwn sets the bits of the documents of own that score need and are not several, and clears the scores of those
// without a bit.
func (s *sums) leaveOwn(need points) {
	for at, some := range &s.own {
		alone := s.any[at] &^ s.several[at]
		for ; some != 0; some &= some - 1 {
			bit := some & -some
			if i := at*64 + bits.TrailingZeros64(some); alone&bit != 0 && s.score[i] >= need {
				s.bits[at] |= bit
			} else if s.bits[at]&bit == 0 {
				s.score[i] = 0
			}
		}
	}
}

// add adds the points of the documents of the window that heldBounds saw last.
func (h *heldPart) add(s *sums) {
	w, table, codes := &h.now, h.points, h.codes[h.now.from:h.now.to]
	if w.bits == nil {
		for j, code := range codes {
			i := uint32(w.places[j])
			s.bits.set(i)
			s.score[i&(sumDocs-1)] += table[code]
		}
		return
	}
	for at, some := range &w.bits.has {
		s.bits[at] |= some
		for ; some != 0; some &= some - 1 {
			s.score[at*64+bits.TrailingZeros64(some)] += table[codes[0]]
			codes = codes[1:]
		}
	}
}

// addAlone gives documents of the window that heldBounds saw last that are in no other list their bit and their points,
// if these are what is needed.
func (h *heldPart) addAlone(s *sums, need points) {
	code, _ := slices.BinarySearch(h.points, need)
	for from := h.now.from; from < h.now.to; {
		block := from / heldBlock
		to := min((block+1)*heldBlock, h.now.to)
		if int(h.most[block]) >= code {
			for j, c := range h.codes[from:to] {
				if int(c) < code {
					continue
				}
				i := h.now.place(from + uint32(j))
				if bit := uint64(1) << (i & 63); s.any[i>>6]&^s.several[i>>6]&bit != 0 {
					s.bits[i>>6] |= bit
					s.score[i] = h.points[c]
				}
			}
		}
		from = to
	}
}

// offerAll offers the documents of a window that score what is needed.
func (r *ranker) offerAll(s *sums, need points) {
	for i, p := range &s.score {
		if p >= need && s.bits[i>>6]>>(i&63)&1 != 0 {
			r.top.offer(s.lo+uint32(i), p)
			need = r.need()
		}
	}
}

// offerHeld offers the documents of a window whose bits are set, and leaves no score and no bits. others says that
// documents without a bit may have a score.
func (r *ranker) offerHeld(s *sums, need points, others bool) {
	for at, some := range s.bits {
		for s.bits[at] = 0; some != 0; some &= some - 1 {
			i := at*64 + bits.TrailingZeros64(some)
			p := s.score[i]
			if s.score[i] = 0; p >= need {
				r.top.offer(s.lo+uint32(i), p)
				need = r.need()
			}
		}
	}
	if others {
		clear(s.score[:])
	}
}
