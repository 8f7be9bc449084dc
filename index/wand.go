// SPDX-License-Identifier: Apache-2.0

package index

// ranker finds the best documents of one segment. There are two ways through a query:
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
}

// need is what a document must score, 0 without pruning.
func (r *ranker) need() points {
	if r.exhaustive {
		return 0
	}
	return r.top.need()
}

// disjunction offers the documents that match any of parts, all of filters, which score nothing, and none of not.
func (r *ranker) disjunction(parts, filters, not []iterator) {
	d := disjunction{ranker: r, parts: parts, filters: filters, not: not, order: make([]partBound, len(parts))}
	for lo := uint32(0); !r.work.over; {
		need := r.need()
		if mostSum(parts) < need {
			return
		}
		first, hi := d.next(lo)
		if first == end || !r.work.spend(1+int(hi-first)/sumUnit) {
			return
		}
		d.window(first, hi, need)
		lo = hi + 1
	}
}

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
	parts, filters, not []iterator
	order               []partBound
	sums                sums
}

// next returns the next window that begins at lo or later: it ends where the first part's block does, so that bounds
// are tight.
func (d *disjunction) next(lo uint32) (first, hi uint32) {
	first, hi = end, end
	for _, p := range d.parts {
		from, upTo := p.shallow(lo)
		first, hi = min(first, from), min(hi, upTo)
	}
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
	return first, min(max(hi, first), first+sumDocs-1)
}

// window offers the documents from lo to hi.
func (d *disjunction) window(lo, hi uint32, need points) {
	for i, p := range d.parts {
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
	switch walked := d.order[least:]; {
	case len(walked) == 0:
	case len(walked) == 1 && !inForms(walked[0].it):
		it := walked[0].it
		for doc := it.seek(lo); doc <= hi; doc = it.seek(doc + 1) {
			if it.matches() {
				d.complete(doc, it.score(), least)
			}
		}
	default:
		d.sums.begin(lo, hi)
		for _, b := range walked {
			b.it.fill(&d.sums)
		}
		for doc := d.sums.next(lo); doc != end; doc = d.sums.next(doc + 1) {
			d.complete(doc, d.sums.score[doc-lo], least)
		}
	}
}

// inForms reports whether an iterator has forms, which it adds up faster one after the other than document by document.
func inForms(it iterator) bool {
	_, ok := it.(*anyIter)
	return ok
}

// complete adds what the least parts give to a document, the largest first, and offers it; it stops when the rest
// cannot suffice.
func (d *disjunction) complete(doc uint32, p points, least int) {
	need := d.need()
	for i := least - 1; i >= 0; i-- {
		b := &d.order[i]
		if p+b.below < need {
			return
		}
		if b.it.seek(doc) == doc && b.it.matches() {
			p += b.it.score()
		}
	}
	if p >= need && d.part.alive(doc) && allAt(d.filters, doc) && !anyAt(d.not, doc) {
		d.top.offer(doc, p)
	}
}

// walk offers the documents that an iterator finds. It counts them, deleted ones left out, as long as count is less
// than enough; then it passes those that cannot be among the best.
func (r *ranker) walk(it iterator, count, enough uint64) uint64 {
	upTo, bound, known := uint32(0), points(0), false
	for doc := it.seek(0); doc != end && !r.work.over; {
		need := r.need()
		if !known || doc > upTo {
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
			if bound >= need {
				if p := it.score(); p >= need {
					r.top.offer(doc, p)
				}
			}
		}
		doc = it.seek(doc + 1)
	}
	return count
}
