// SPDX-License-Identifier: Apache-2.0

package index

import (
	"math"
	"sync"
	"sync/atomic"
)

// Index segments are searched side by side where a query has so much to read that this pays. Each goroutine has an
// execution of its own, with a budget and the best documents of the segments that it took; what they share is read
// only, but for the floor. The best of all are the same as those of one goroutine: a document that the floor leaves out
// has k better ones in some segments, and among what is left the order is total. So it is where hosts or groups have a
// limit: of k that the segments of one goroutine have, as many of each host are among the best of all segments, those
// or better ones.

// togetherPostings is the number of postings from which a search is worth more than one goroutine: some 100 µs of work.
const togetherPostings = 1 << 16

// goroutines returns how many goroutines a search that begins now may have: its share of the processors. Where other
// searches keep these busy, more would end none of them earlier.
func (x *Index) goroutines() int {
	return max(1, x.o.Processors/int(max(1, x.searching.Load())))
}

// workers returns how many goroutines search.
func (x *execution) workers() int {
	if len(x.parts) < 2 || !x.long() {
		return 1
	}
	return min(x.side, len(x.parts))
}

// long reports whether a query has so much to read that several goroutines pay.
func (x *execution) long() bool {
	if x.side < 2 {
		return false
	}
	postings := uint64(0)
	for _, df := range x.freqs {
		postings += df
	}
	return postings >= x.together
}

// each has fn see every part: in order, or with more than one worker side by side, each with an execution of its own.
func (x *execution) each(workers int, parts []*part, fn func(*execution, *part)) {
	if workers == 1 {
		for _, p := range parts {
			fn(x, p)
		}
		return
	}
	var next atomic.Int64
	var running sync.WaitGroup
	all := make([]*execution, workers)
	floor := &floor{}
	for i := range all {
		w := x.beside(floor)
		all[i] = w
		running.Go(func() {
			for n := int(next.Add(1)); n <= len(parts); n = int(next.Add(1)) {
				fn(w, parts[n-1])
			}
		})
	}
	running.Wait()
	for _, w := range all {
		x.join(w)
	}
}

// join takes in what another goroutine found.
func (x *execution) join(w *execution) {
	x.cursors = append(x.cursors, w.cursors...)
	if x.top.crowd == nil {
		for i := range w.top.best {
			x.top.take(&w.top.best[i])
		}
	} else {
		x.top.crowd.join(&x.top, w.top.crowd)
	}
	x.counting = joinFacets(x.counting, w.counting)
	x.total += w.total
	x.work.join(w.work)
}

// beside returns an execution of the same search for another goroutine. A part, with its lists, is for one of them at a
// time.
func (x *execution) beside(f *floor) *execution {
	w := &execution{
		parts: x.parts, all: x.all, table: x.table, work: x.work.beside(), enough: x.enough, exhaustive: x.exhaustive,
		lists: x.lists, ranges: x.ranges, blocks: x.blocks, freqs: x.freqs, known: x.known, few: x.few, order: x.order,
		walked: x.walked, matches: x.matches, later: x.later,
	}
	w.top = topK{k: x.top.k, work: w.work, fresh: x.top.fresh}
	if x.order == OrderScore {
		w.top.floor = f
	}
	if c := x.top.crowd; c != nil {
		w.top.crowd = newCrowd(c.limit, c.crowding)
	}
	return w
}

// rankAll ranks all parts and returns those whose matches were not counted on the way.
func (x *execution) rankAll(workers int, root *node) (uncounted []*part) {
	counted := make([]bool, len(x.parts))
	if x.uneven() {
		workers = 1
	}
	x.each(workers, x.parts, func(w *execution, p *part) { counted[p.number] = w.rank(p, root) })
	for _, p := range x.parts {
		if !counted[p.number] {
			uncounted = append(uncounted, p)
		}
	}
	return uncounted
}

// countAll counts the matches in parts, until there are enough. How many documents have a word is known: its score
// needed it.
func (x *execution) countAll(workers int, root *node, parts []*part) {
	if root.kind == nodeTerm && root.fields == 0 && len(parts) > 0 && !x.work.over {
		x.total = x.freqs[root.term]
		return
	}
	x.each(workers, parts, func(w *execution, p *part) {
		if w.work.over || w.total >= w.enough {
			return
		}
		if it := w.open(p, root, 1); it != nil {
			c := counter{work: w.work}
			w.total += c.count(it, p, w.enough-w.total)
		}
	})
}

// floor is a score that k documents of what was searched so far have at least. It rises only.
type floor struct{ bits atomic.Uint64 }

// score returns the floor; 0 for none.
func (f *floor) score() float64 {
	if f == nil {
		return 0
	}
	return math.Float64frombits(f.bits.Load())
}

// raise takes a score that k documents have at least. Scores are not negative, so their bits compare as they do.
func (f *floor) raise(score float64) {
	for v, now := math.Float64bits(score), f.bits.Load(); v > now; now = f.bits.Load() {
		if f.bits.CompareAndSwap(now, v) {
			return
		}
	}
}
