// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"iter"
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
	points []points   // of codes
	now    heldWindow // that heldBounds saw last
	reach  points     // bound of its points there
}

// tabulate computes the points of the codes of words; false means that the search is to end.
func (r *ranker) tabulate(words []heldPart) bool {
	for i := range words {
		if !r.work.spend(1 + len(words[i].tfs)/heldBlock) {
			return false
		}
		words[i].tabulate()
	}
	return true
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
func (n *node) isHeldKind() bool { return n.isWord() && n.fields == 0 }

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
		if u, holds[i] = p.held.use(keys[i], heldSize(x.docsOf(p, n), int64(p.docs))); u != nil {
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
		if x.holdWordLater(p, n, keys[i]) {
			holds[i] = false
			have -= x.frequency(n) + 1
			continue
		}
		if !x.work.spend(1) { // each word that is made may end a little late
			return nil, false
		}
		if words[i].heldWord = x.hold(p, n, keys[i]); words[i].heldWord == nil && least == 1 {
			return nil, false
		}
	}
	if float64(have) < least*float64(all) {
		return nil, false
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

// holdWordLater has a word made behind the search, which holds it.
func (x *execution) holdWordLater(p *part, n *node, key string) bool {
	return x.holdLater(p, func(x *execution, p *part) {
		x.hold(p, n, key)
		p.held.made(key)
	}, func() {
		p.held.forget(key)
		p.held.made(key)
	})
}

// hold makes a word and holds it; nil if it cannot be made, or not in time.
func (x *execution) hold(p *part, n *node, key string) *heldWord {
	w, ok := x.newHeldWord(p, n)
	if !ok {
		p.held.forget(key)
		return nil
	}
	p.held.hold(key, w)
	return w
}

// docsOf returns about how many documents of a part have a word.
func (x *execution) docsOf(p *part, n *node) int64 {
	return int64(float64(x.frequency(n)) * float64(p.docs) / float64(max(x.all.docs, uint64(p.docs))))
}

// heldLeast is the share of the documents of alternatives that must be held so that these are added up whole. What is
// not held costs more than where bounds pass it.
const heldLeast = 0.5

// heldQuery is a query of words that can be held: any of should, or all of must, to whose scores should only adds, or a
// phrase. filters and not are no words, and score nothing.
type heldQuery struct {
	must, should, filters, not []*node
	phrase                     *node // nil: it is not one
	boost                      float64
}

// heldQuery takes a tree apart if it is such a query.
func (x *execution) heldQuery(root *node) (q heldQuery, ok bool) {
	if root.kind == nodePhrase {
		return heldQuery{phrase: root, boost: 1}, true
	}
	q.boost = root.factor()
	any, filters, not := x.disjunction(root)
	switch {
	case any != nil:
		if any != root {
			q.boost *= any.factor()
		}
		q.should, q.filters, q.not = any.should, filters, not
	case root.kind == nodeBool:
		q.should, q.not = root.should, root.not
		for _, n := range root.must {
			if n.kind == nodeKeys || n.kind == nodeValue {
				q.filters = append(q.filters, n)
			} else {
				q.must = append(q.must, n)
			}
		}
		if len(q.must) == 1 && len(q.should) == 0 && q.must[0].kind == nodePhrase {
			q.phrase = q.must[0]
			return q, true
		}
	}
	other := slices.ContainsFunc(slices.Concat(q.must, q.should), func(n *node) bool { return !n.isHeldKind() })
	return q, !other && (any != nil || len(q.must) > 0)
}

// rankHeld ranks and counts the documents of a part that match a query of held words. It reports false, and has done
// nothing, if it is not such.
func (x *execution) rankHeld(r *ranker, p *part, root *node) bool {
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
	q, ok := x.heldQuery(root)
	switch {
	case !ok:
		return false
	case q.phrase != nil:
		return x.rankHeldPhrase(r, p, &q)
	case len(q.must) > 0:
		return x.rankHeldAll(r, p, &q)
	}
	return x.rankHeldAny(r, p, &q)
}

// rankHeldAny is rankHeld of alternatives, of which some need not be held.
func (x *execution) rankHeldAny(r *ranker, p *part, q *heldQuery) bool {
	words, ok := x.held(p, q.boost, heldLeast, q.should...)
	if !ok {
		return false
	}
	var others []*node
	for i := range words {
		if words[i].heldWord == nil {
			others = append(others, q.should[i])
		}
	}
	words = slices.DeleteFunc(words, func(w heldPart) bool { return w.heldWord == nil })
	if len(words) == 0 {
		return false
	}
	if !x.mayPass(p, q) {
		return true
	}
	x.total += x.inWindows(r, sumDocs, func(x *execution, r *ranker, windows iter.Seq[int]) uint64 {
		sieve := x.sieve(p, q)
		return r.heldAny(slices.Clone(words), x.openAll(p, others, q.boost), sieve, windows)
	})
	return true
}

// rankHeldAll is rankHeld of words that must all match.
func (x *execution) rankHeldAll(r *ranker, p *part, q *heldQuery) bool {
	words, ok := x.held(p, q.boost, 1, slices.Concat(q.must, q.should)...)
	if !ok {
		return false
	}
	if !x.mayPass(p, q) {
		return true
	}
	x.total += x.inWindows(r, sumDocs, func(x *execution, r *ranker, windows iter.Seq[int]) uint64 {
		sieve := x.sieve(p, q)
		words, must := slices.Clone(words), len(q.must)
		return r.heldAll(words[:must], words[must:], sieve, nil, windows)
	})
	return true
}

// rankHeldPhrase is rankHeld of a phrase. Words are not held for it alone if there is no room for their positions.
func (x *execution) rankHeldPhrase(r *ranker, p *part, q *heldQuery) bool {
	n := q.phrase
	if n.slop > 0 || n.fields != 0 || len(n.children) == 0 {
		return false
	}
	for _, c := range n.children {
		if !c.isHeldKind() || !p.held.mayFind(c.heldKey(), x.docsOf(p, c)) {
			return false
		}
	}
	words, ok := x.held(p, q.boost*n.factor(), 1, n.children...)
	for i, c := range n.children {
		if !ok {
			return false
		}
		words[i].heldWord = x.located(p, c)
		ok = words[i].heldWord != nil
	}
	if ok && x.mayPass(p, q) {
		x.total += x.inWindows(r, sumDocs, func(x *execution, r *ranker, windows iter.Seq[int]) uint64 {
			return r.heldAll(slices.Clone(words), nil, x.sieve(p, q), newHeldPhrase(words, n.at), windows)
		})
	}
	return ok
}

// heldOne offers the documents of a word and returns their number.
func (r *ranker) heldOne(h *heldPart) uint64 {
	need, least := points(-1), 0 // the code that is needed
	for n := range h.windows() {
		w := h.window(n)
		if r.matched != nil {
			w.mark((*sumBits)(r.matched[n*sumDocs/64:]))
		}
		if w.from < w.to && !r.work.spend(1+int(w.to-w.from)/(heldUnit*heldBlock)) {
			return 0
		}
		for from := w.from; from < w.to; {
			block := from / heldBlock
			to := min((block+1)*heldBlock, w.to)
			if now := r.need(); now != need {
				need = now
				least = sort.Search(len(h.tfs), func(c int) bool { return h.gain.points(h.tfs[c]) >= need })
			}
			if int(h.most[block]) >= least {
				for j, code := range h.codes[from:to] {
					if int(code) >= least {
						doc := uint32(n)*sumDocs + w.place(from+uint32(j))
						r.top.offer(doc, h.gain.points(h.tfs[code]))
					}
				}
			}
			from = to
		}
	}
	return uint64(h.len())
}

// heldUnit is how many blocks of held words cost as much as a block that is decoded.
const heldUnit = 8

// heldAll offers the documents of windows that have all of must, in a phrase if there is one, and pass the sieve, and
// returns their number; should only adds to the score. Documents are met as bits; only those of windows whose
// bounds are enough are scored, word by word, and those are left out that the bounds of the words to come cannot bring
// to what is needed.
func (r *ranker) heldAll(
	must, should []heldPart, v *sieve, phrase phraseKeeper, windows iter.Seq[int],
) (count uint64) {
	slices.SortStableFunc(must, func(a, b heldPart) int { return cmp.Compare(a.len(), b.len()) })
	if must[0].len() == 0 {
		return 0
	}
	if !r.tabulate(must) || !r.tabulate(should) {
		return 0
	}
	s := sumsPool.Get().(*sums)
	defer r.putSums(s)
	for n := range windows {
		rarest := must[0].window(n)
		if rarest.from == rarest.to || !v.passes(uint32(n)*sumDocs) {
			continue
		}
		most, docs := heldBounds(must, n)
		more, others := heldBounds(should, n)
		if !r.work.spend(1 + (docs+others)/(heldUnit*heldBlock)) {
			return count
		}
		need := r.need()
		if count >= r.enough && most+more < need {
			continue
		}
		s.lo = uint32(n) * sumDocs
		rarest.mark(&s.bits)
		some, found := int(rarest.to-rarest.from), -1
		for i := range must[1:] {
			if w := &must[1+i].now; phrase != nil || i < len(must)-2 || !w.findsAsFast(some) {
				w.meet(&s.bits, some)
			} else {
				found = w.find(&s.bits, some, &s.found)
				s.found.mark(found, &s.bits)
			}
		}
		left := r.heldLeft(s.lo, &s.bits, v)
		if phrase != nil && left > 0 {
			phrase.keep(n, s, r.work)
			left = (&window{s.lo, s.bits[:]}).alive(nil)
			r.note(s.lo, s.bits[:])
		}
		count += left
		switch {
		case left == 0 || most+more < need:
		case len(should) == 0:
			r.offerMust(must, s, int(left), most, need, found == int(left))
		default:
			r.offerShould(must, should, s, int(left), most+more, need)
		}
		clear(s.bits[:])
	}
	return count
}

// offerMust offers the documents of a window whose bits are set, as many as some, which have all of must. most bounds
// their scores. It leaves no score, and any bits. Scores are side by side, in the order of the documents: after each
// word those stay that the others can bring to what is needed. The last word comes first if s.found has these documents
// of it.
func (r *ranker) offerMust(must []heldPart, s *sums, some int, most, need points, found bool) {
	f := &s.found
	scores := s.score[:some]
	n := some
	for i := range must {
		w := &must[i]
		if found {
			w = &must[(i+len(must)-1)%len(must)]
		}
		if n < some {
			f.mark(n, &s.bits)
		}
		if !found || i > 0 {
			some = w.now.find(&s.bits, n, f)
		}
		most -= w.reach
		least := need - most
		n = 0
		codes, points, places := w.codes, w.points, f.place[:some] // read once
		for j, number := range f.number[:some] {                   // without a branch that nobody can foresee
			p := scores[j] + points[codes[number]]
			scores[n], places[n] = p, places[j]
			n += int(uint64(least-p-1) >> 63)
		}
		if n == 0 {
			break
		}
	}
	for j, place := range f.place[:n] {
		if p := scores[j]; p >= need {
			r.top.offer(s.lo+uint32(place), p)
			need = r.need()
		}
	}
	clear(scores)
}

// offerShould is offerMust where other words add to the scores.
func (r *ranker) offerShould(must, should []heldPart, s *sums, some int, most, need points) {
	for _, list := range [][]heldPart{must, should} {
		for i := range list {
			list[i].addSome(s, some)
			if most -= list[i].reach; most < need {
				if some = s.leave(need - most); some == 0 {
					return
				}
			}
		}
	}
	r.offerHeld(s, need, false)
}

// addSome adds the word's points to those documents of the window that heldBounds saw last whose bits are set, as many
// as some.
func (h *heldPart) addSome(s *sums, some int) {
	n := h.now.find(&s.bits, some, &s.found)
	numbers := s.found.number[:n]
	for j, place := range s.found.place[:n] {
		s.score[place&(sumDocs-1)] += h.points[h.codes[numbers[j]]]
	}
}
