// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"
	"sort"
)

// Held words are ranked and counted in one walk over arrays: a word alone, any of several, or all of several. Each
// different weighted frequency of a word is turned into points once, so that a document's are looked up in a table. So
// are phrases, if the words have their positions.

// heldPart is a held word of a query.
type heldPart struct {
	*heldWord
	gain   gain
	points []points // of codes
	reach  points   // bound of its points in the window that heldBounds saw last
}

// tabulate computes the points of all codes. The word keeps them: most queries have the word with the same gain.
func (h *heldPart) tabulate() {
	if t := h.table.Load(); t != nil && t.gain == h.gain {
		h.points = t.points
		return
	}
	h.points = make([]points, len(h.tfs))
	for i, tf := range h.tfs {
		h.points[i] = h.gain.points(tf)
	}
	h.table.Store(&heldTable{h.gain, h.points})
}

// isHeldKind reports whether a node is a word that can be held.
func (n *node) isHeldKind() bool { return (n.kind == nodeTerm || n.kind == nodeAny) && n.fields == 0 }

// held looks up words of a part, and holds those that were used before. Where one is not held, its heldWord is nil.
// least is the share of the words' documents that must be held; below it nothing is read, and ok is false.
func (x *execution) held(p *part, boost, least float64, nodes ...*node) (words []heldPart, ok bool) {
	words = make([]heldPart, len(nodes))
	keys, holds, all, have := make([]string, len(nodes)), make([]bool, len(nodes)), uint64(0), uint64(0)
	defer func() {
		for i, key := range keys {
			if holds[i] {
				p.held.made(key)
			}
		}
	}()
	for i, n := range nodes {
		df := x.frequency(n)
		words[i].gain = newGain(&x.all, df, boost*n.factor())
		keys[i] = n.heldKey()
		var u *heldUse
		if u, holds[i] = p.held.use(keys[i], 4*x.docsOf(p, n)); u != nil {
			words[i].heldWord = u.word
		}
		holds[i] = holds[i] && p.held.making(keys[i])
		if all += df + 1; holds[i] || words[i].heldWord != nil {
			have += df + 1
		}
	}
	if float64(have) < least*float64(all) {
		return nil, false
	}
	for i, n := range nodes {
		if !holds[i] {
			continue
		}
		if w, ok := x.newHeldWord(p, n); ok {
			words[i].heldWord = w
			p.held.hold(keys[i], w)
		} else {
			p.held.forget(keys[i])
		}
		if words[i].heldWord == nil && least == 1 {
			return nil, false
		}
	}
	known := make(map[string]*heldWord, len(words))
	for i := range words {
		if words[i].heldWord != nil {
			known[keys[i]] = words[i].heldWord
		}
	}
	x.walked[p.number] = known
	return words, true
}

// docsOf returns about how many documents of a part have a word.
func (x *execution) docsOf(p *part, n *node) int64 {
	return int64(float64(x.frequency(n)) * float64(p.docs) / float64(max(x.all.docs, uint64(p.docs))))
}

// heldLeast is the share of the documents of alternatives that must be held so that these are added up whole. What is
// not held costs more than where bounds pass it.
const heldLeast = 0.5

// rankHeld ranks and counts the documents of a part that match a query of held words. It reports false, and has done
// nothing, if it is not such.
func (x *execution) rankHeld(r *ranker, p *part, root *node) bool {
	holds := func(nodes []*node) bool {
		return !slices.ContainsFunc(nodes, func(n *node) bool { return !n.isHeldKind() })
	}
	if p.held == nil {
		return false
	}
	if root.isHeldKind() {
		words, ok := x.held(p, 1, 1, root)
		if ok {
			x.total += r.heldOne(&words[0])
		}
		return ok
	}
	if any, filters, not := x.disjunction(root); any != nil {
		boost := root.factor()
		if any != root {
			boost *= any.factor()
		}
		if len(filters) > 0 || !holds(any.should) {
			return false
		}
		words, ok := x.held(p, boost, heldLeast, any.should...)
		if !ok {
			return false
		}
		var others []*node
		for i := range words {
			if words[i].heldWord == nil {
				others = append(others, any.should[i])
			}
		}
		words = slices.DeleteFunc(words, func(w heldPart) bool { return w.heldWord == nil })
		if len(words) == 0 {
			return false
		}
		x.total += x.inWindows(r, sumDocs, func(x *execution, r *ranker, windows iter.Seq[int]) uint64 {
			return r.heldAny(slices.Clone(words), x.openAll(p, others, boost), x.openAll(p, not, 1), windows)
		})
		return true
	}
	if root.kind == nodePhrase && holds(root.children) {
		return x.rankHeldPhrase(r, p, root)
	}
	if root.kind != nodeBool || len(root.must) == 0 || !holds(root.must) || !holds(root.should) {
		return false
	}
	words, ok := x.held(p, root.factor(), 1, slices.Concat(root.must, root.should)...)
	if ok {
		must := len(root.must)
		x.total += x.inWindows(r, sumDocs, func(x *execution, r *ranker, windows iter.Seq[int]) uint64 {
			words := slices.Clone(words)
			return r.heldAll(words[:must:must], words[must:], x.openAll(p, root.not, 1), nil, windows)
		})
	}
	return ok
}

// rankHeldPhrase is rankHeld of a phrase. Words are not held for it alone if there is no room for their positions.
func (x *execution) rankHeldPhrase(r *ranker, p *part, n *node) bool {
	if n.slop > 0 || n.fields != 0 || len(n.children) == 0 {
		return false
	}
	for _, c := range n.children {
		if !p.held.mayFind(c.heldKey(), x.docsOf(p, c)) {
			return false
		}
	}
	words, ok := x.held(p, n.factor(), 1, n.children...)
	for i, c := range n.children {
		if !ok {
			return false
		}
		words[i].heldWord = x.located(p, c)
		ok = words[i].heldWord != nil
	}
	if ok {
		x.total += x.inWindows(r, sumDocs, func(_ *execution, r *ranker, windows iter.Seq[int]) uint64 {
			return r.heldAll(slices.Clone(words), nil, nil, newHeldPhrase(words, n.at), windows)
		})
	}
	return ok
}

// heldOne offers the documents of a word and returns their number.
func (r *ranker) heldOne(h *heldPart) uint64 {
	need, least := points(-1), 0 // the code that is needed
	for w := range len(h.starts) - 1 {
		from, to := h.in(w)
		if from < to && !r.work.spend(1+int(to-from)/(heldUnit*heldBlock)) {
			return 0
		}
		for i := from; i < to; {
			block := i / heldBlock
			end := min((block+1)*heldBlock, to)
			if now := r.need(); now != need {
				need = now
				least = sort.Search(len(h.tfs), func(c int) bool { return h.gain.points(h.tfs[c]) >= need })
			}
			if int(h.most[block]) >= least {
				places := h.places[i:end]
				for j, code := range h.codes[i:end] {
					if int(code) >= least {
						r.top.offer(uint32(w)*sumDocs+uint32(places[j]), h.gain.points(h.tfs[code]))
					}
				}
			}
			i = end
		}
	}
	return uint64(len(h.places))
}

// heldUnit is how many blocks of held words cost as much as a block that is decoded.
const heldUnit = 8

// heldAll offers the documents of windows that have all of must, in a phrase if there is one, and match none of not,
// and returns their number; should only adds to the score.
func (r *ranker) heldAll(
	must, should []heldPart, not []iterator, phrase *heldPhrase, windows iter.Seq[int],
) (count uint64) {
	slices.SortStableFunc(must, func(a, b heldPart) int { return cmp.Compare(len(a.places), len(b.places)) })
	if len(must[0].places) == 0 {
		return 0
	}
	for _, list := range [][]heldPart{must, should} {
		for i := range list {
			list[i].tabulate()
		}
	}
	s := sumsPool.Get().(*sums)
	defer r.putSums(s)
	rarest := &must[0]
	for w := range windows {
		from, to := rarest.in(w)
		if from == to {
			continue
		}
		most, docs := heldBounds(must, w)
		more, others := heldBounds(should, w)
		if !r.work.spend(1 + (docs+others)/(heldUnit*heldBlock)) {
			return count
		}
		need := r.need()
		s.lo = uint32(w) * sumDocs
		for i := range must {
			if i == 0 {
				must[i].add(w, s)
			} else if !must[i].meet(w, s, to-from) {
				break
			}
		}
		if phrase != nil {
			phrase.keep(w, s, r.work)
		}
		n := r.heldLeft(s.lo, &s.bits, not)
		if count += n; n > 0 && most+more >= need {
			for i := range should {
				should[i].addMet(w, s, uint32(n))
			}
			r.offerHeld(s, need, false)
		}
		for _, i := range rarest.places[from:to] {
			s.score[i&(sumDocs-1)] = 0
		}
		clear(s.bits[:])
	}
	return count
}

// meet leaves the bits of those documents of a window that the word has too, and adds its points there. few bounds
// how many bits are set. It reports whether any are left.
func (h *heldPart) meet(window int, s *sums, few uint32) (any bool) {
	from, to := h.in(window)
	var met sumBits
	if few*heldSeekPrice < to-from {
		any = h.eachMet(window, s, func(i uint32, p points) {
			met.set(i)
			s.score[i&(sumDocs-1)] += p
		})
	} else {
		places, table := h.places[from:to], h.points
		have := uint64(0)
		for j, code := range h.codes[from:to] { // without a branch that nobody can foresee
			i := uint32(places[j]) & (sumDocs - 1)
			bit := s.bits[i>>6] >> (i & 63) & 1
			met[i>>6] |= bit << (i & 63)
			s.score[i] += table[code] & -points(bit)
			have |= bit
		}
		any = have != 0
	}
	s.bits = met
	return any
}

// heldSeekPrice is how many documents are walked in the time that finding one takes.
const heldSeekPrice = 12

// addMet adds the word's points to those documents of a window whose bits are set, as many as few.
func (h *heldPart) addMet(window int, s *sums, few uint32) {
	h.eachMet(window, s, func(i uint32, p points) { s.score[i&(sumDocs-1)] += p })
}

// eachMet calls fn with the documents of a window whose bits are set that the word has, and their points.
func (h *heldPart) eachMet(window int, s *sums, fn func(i uint32, p points)) (any bool) {
	from, to := h.in(window)
	places := h.places[from:to]
	for at, some := range &s.bits {
		for ; some != 0; some &= some - 1 {
			i := uint16(at*64 + bits.TrailingZeros64(some))
			n, ok := slices.BinarySearch(places, i)
			places = places[n:]
			if from += uint32(n); ok {
				fn(uint32(i), h.points[h.codes[from]])
				any = true
			}
			if len(places) == 0 {
				return any
			}
		}
	}
	return any
}
