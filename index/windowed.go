// SPDX-License-Identifier: Apache-2.0

package index

import (
	"iter"
	"maps"
	"sync"
	"sync/atomic"
)

// A long query of one large index segment has its windows searched side by side too: all ways to rank go window by
// window, or can. Lucene's IndexSearcher cuts segments for its threads as well. Each
// goroutine has an execution with lists of its own and takes windows in order, a few at a time, so that none ends long
// after the others. The result is the same for the reasons that together.go gives.

const (
	// unevenPart is the part of all documents from which on the windows of the largest segment are searched side by
	// side, not the segments: four fifths. Then the others take no longer than what is gained.
	unevenPart = 0.8
	// windowTurns is how often a goroutine takes windows, about.
	windowTurns = 8
)

// uneven reports whether one segment has most documents.
func (x *execution) uneven() bool {
	most, sum := 0.0, 0.0
	for _, p := range x.parts {
		most, sum = max(most, float64(p.docs)), sum+float64(p.docs)
	}
	return most >= unevenPart*sum
}

// run is a stretch of windows, from inclusive, to exclusive.
type run struct{ from, to int }

// inWindows is inRuns, window by window.
func (x *execution) inWindows(
	r *ranker, size uint32, fn func(x *execution, r *ranker, windows iter.Seq[int]) uint64,
) (count uint64) {
	return x.inRuns(r, size, func(x *execution, r *ranker, runs iter.Seq[run]) uint64 {
		return fn(x, r, windowsOf(runs))
	})
}

// windowsOf are the windows of runs.
func windowsOf(runs iter.Seq[run]) iter.Seq[int] {
	return func(yield func(int) bool) {
		for r := range runs {
			for n := r.from; n < r.to; n++ {
				if !yield(n) {
					return
				}
			}
		}
	}
}

// inRuns has fn rank the windows of a ranker's segment, of a number of documents each, and returns the sum of what
// it returns: how many match. Side by side, fn is called with an execution for each goroutine, in which it has to open
// what it reads.
func (x *execution) inRuns(
	r *ranker, size uint32, fn func(x *execution, r *ranker, runs iter.Seq[run]) uint64,
) (count uint64) {
	windows := int((r.part.docs + size - 1) / size)
	workers := min(x.side, windows)
	if workers < 2 || !x.uneven() || !x.long() {
		return fn(x, r, func(yield func(run) bool) { yield(run{0, windows}) })
	}
	var next atomic.Int64
	turn := int64(max(1, windows/(workers*windowTurns)))
	take := func(yield func(run) bool) {
		for to := next.Add(turn); to-turn < int64(windows); to = next.Add(turn) {
			if !yield(run{int(to - turn), int(min(to, int64(windows)))}) {
				return
			}
		}
	}
	f := &floor{}
	if worst := x.top.worst(); worst != nil {
		f.raise(worst.score)
	}
	var running sync.WaitGroup
	all := make([]*execution, workers)
	for i := range all {
		w := x.beside(f)
		w.lists, w.ranges = make([]map[string]list, len(x.parts)), make([]map[*node]bitset, len(x.parts))
		w.blocks = make([]map[*node]filterBlocks, len(x.parts))
		w.blocks[r.part.number] = map[*node]filterBlocks{}
		w.lists[r.part.number], w.ranges[r.part.number] = map[string]list{}, maps.Clone(x.ranges[r.part.number])
		all[i] = w
		running.Go(func() {
			w.top.begin(r.part)
			own := *r
			own.top, own.work = &w.top, w.work
			w.total = fn(w, &own, take)
		})
	}
	running.Wait()
	for _, w := range all {
		count += w.total
		w.total = 0
		x.join(w)
		x.lists = append(x.lists, w.lists[r.part.number]) // behind those of the parts, for release
	}
	return count
}
