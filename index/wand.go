// SPDX-License-Identifier: Apache-2.0

package index

import "iter"

// ranker finds the best documents of one segment. There are two ways through a query, and those of windows.go and
// tally.go:
//
// disjunction, for words of which any may occur: block-max MAXSCORE (Turtle and Flood 1995; Ding and Suel 2011, "Faster
// top-k document retrieval using block-max indexes") in windows, as in Lucene's MaxScoreBulkScorer. Parts are ordered
// by the bounds of their scores in a window; the least ones, whose bounds together stay below what a document needs,
// cannot bring one among the best alone. Only the others are walked, and the least ones looked up for what those find.
//
// walk, for all else: document by document, which is a block-max conjunction: where the bound of a stretch of documents
// is too low, they are passed, or only counted.
type ranker struct {
	part *part
	top  *topK
	work *budget
	// exhaustive turns pruning off: every match is scored. For tests, whose results must be the same.
	exhaustive bool
	// enough is the count from which on matches that cannot be among the best need not be counted.
	enough uint64
	// matched takes the documents that are counted; nil: they are not wanted.
	matched bitset
}

// need is what a document must score, 0 without pruning.
func (r *ranker) need() points {
	if r.exhaustive {
		return 0
	}
	return r.top.need()
}

// disjunction offers the documents in runs of sumDocs that match any of a's words, all of its filters, which score
// nothing, and none of its not.
func (r *ranker) disjunction(a *alternatives, runs iter.Seq[run]) {
	d := disjunction{ranker: r, alternatives: a, order: make([]partBound, len(a.words))}
	for _, p := range a.words {
		d.lists += listsOf(p)
	}
	d.sums = sumsPool.Get().(*sums)
	defer func() {
		if !r.work.over {
			sumsPool.Put(d.sums)
		}
	}()
	for run := range runs {
		last := uint32(min(uint64(run.to)*sumDocs, uint64(r.part.docs))) - 1
		for lo := uint32(run.from) * sumDocs; !r.work.over && lo <= last; {
			need := r.need()
			if mostSum(a.words) < need {
				return
			}
			first, hi := d.next(lo)
			if first > last {
				break
			}
			hi = min(hi, last)
			if !r.work.spend(1 + int(hi-first)/sumUnit) {
				return
			}
			d.window(first, hi, need)
			lo = hi + 1
		}
	}
}

// alternatives are words of which any may occur, with what else decides on documents. One goroutine walks them.
type alternatives struct{ words, filters, not []iterator }

// sumUnit is how many documents of a window cost as much as a decoded block.
const sumUnit = 256

// partBound is a part with the bound of its scores in a window.
type partBound struct {
	it    iterator
	bound points
	below points // sum of the bounds up to this one, in ascending order
}

type disjunction struct {
	*ranker
	*alternatives
	order []partBound
	lists int // of all words
	sums  *sums
}

// leastWindow is the least number of documents of a window of several lists: below, bounds would be tighter, and take
// longer to compute than what they save.
const leastWindow = 1024

// next returns the next window that begins at lo or later: it ends where the first part's block does, so that bounds
// are tight.
func (d *disjunction) next(lo uint32) (first, hi uint32) {
	first, hi = shallowAny(d.words, lo)
	if first == end {
		return end, end
	}
	if len(d.filters) > 0 {
		from, _ := shallowAll(d.filters, first)
		if from == end {
			return end, end
		}
		first = max(first, from)
	}
	if d.lists > 1 {
		hi = max(hi, first+leastWindow-1)
	}
	return first, min(max(hi, first), first+sumDocs-1)
}

// window offers the documents from lo to hi.
func (d *disjunction) window(lo, hi uint32, need points) {
	for i, p := range d.words {
		b := partBound{it: p, bound: p.bound(lo, hi)}
		for ; i > 0 && d.order[i-1].bound > b.bound; i-- {
			d.order[i] = d.order[i-1]
		}
		d.order[i] = b
	}
	below, least := points(0), 0 // parts before least cannot bring a document among the best alone
	for i := range d.order {
		below += d.order[i].bound
		if d.order[i].below = below; below < need {
			least = i + 1
		}
	}
	if least == len(d.order) {
		return
	}
	s, rest := d.sums, points(0)
	s.lo, s.hi, s.least = lo, hi, 0
	if least > 0 {
		rest = d.order[least-1].below
	}
	if least == len(d.order)-1 {
		s.least = need - rest
	}
	for _, b := range d.order[least:] {
		b.it.fill(s)
	}
	s.take(need - rest)
	for i := least - 1; i >= 0 && s.count > 0; i-- {
		if i < least-1 {
			s.keep(need - d.order[i].below)
		}
		d.order[i].it.look(s)
	}
	for _, doc := range s.docs[:s.count] {
		p := s.score[doc-lo]
		s.score[doc-lo] = 0
		if p >= d.need() && d.part.alive(doc) && allAt(d.filters, doc) && !anyAt(d.not, doc) {
			d.top.offer(doc, p)
		}
	}
	s.count = 0
}

// listsOf returns how many lists an iterator walks, about.
func listsOf(it iterator) int {
	if it, ok := it.(*anyIter); ok {
		return len(it.forms)
	}
	return 1
}

// stretched is an iterator of several parts that must match, whose scores may be added up only as far as they can reach
// what is needed.
type stretched interface {
	// scoreAbove returns score, or less than need if score is less. bound was called last for a stretch that has the
	// current document.
	scoreAbove(need points) points
}

func scoreAbove(it iterator, need points) points {
	if it, ok := it.(stretched); ok {
		return it.scoreAbove(need)
	}
	return it.score()
}

// scoresAbove adds the scores of parts at a document, the first ones first, until it is known that what their bounds
// and beside leave cannot bring the sum to need. With seek, parts may stand before the document, and not match it.
func scoresAbove[I iterator](parts []I, bounds []points, beside, need points, seek bool, doc uint32) (sum points) {
	rest := beside
	for _, b := range bounds {
		rest += b
	}
	for i, p := range parts {
		if !seek || p.seek(doc) == doc && p.matches() {
			sum += p.score()
		}
		if rest -= bounds[i]; sum+rest < need {
			break
		}
	}
	return sum
}

// walk offers the documents from lo to hi that an iterator finds, which stands before them, among them, or at what
// follows. It counts them, deleted ones left out, as long as count is less than enough; then it passes those that
// cannot be among the best.
func (r *ranker) walk(it iterator, lo, hi uint32, count, enough uint64) uint64 {
	upTo, bound, known := uint32(0), points(0), false
	need := r.need()
	for doc := it.seek(lo); doc <= hi && !r.work.over; {
		if !known || doc > upTo {
			need = r.need()
			if _, upTo = it.shallow(doc); upTo == end {
				upTo = doc
			}
			bound, known = it.bound(doc, upTo), true
		}
		counting := count < enough
		if !counting && it.most() < need {
			break
		}
		switch {
		case bound < need && !counting:
			doc = upTo // the rest of the stretch is too low
		case r.part.alive(doc) && it.matches():
			count++
			if r.matched != nil {
				r.matched[doc>>6] |= 1 << (doc & 63)
			}
			if bound >= need {
				if p := scoreAbove(it, need); p >= need {
					r.top.offer(doc, p)
					need = r.need()
				}
			}
		}
		doc = it.seek(doc + 1)
	}
	return count
}
