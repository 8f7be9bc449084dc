// SPDX-License-Identifier: Apache-2.0

package index

import (
	"runtime"
	"testing"
	"time"
)

// OnLoad sets a function that Refresh calls at each index segment that it loads; its error ends the Refresh.
func (x *Index) OnLoad(fn func() error) { x.loading = fn }

// OnMerge sets a function that merges call between their steps; its error ends the merge.
func (x *Index) OnMerge(fn func(step string) error) { x.onMerge = fn }

// SetClock sets the clock by which work gives way to searches.
func (x *Index) SetClock(now func() time.Time, sleep func(time.Duration)) {
	x.clock = clock{now, sleep}
}

// GaveWay counts the steps of waits for searches.
func (x *Index) GaveWay() int64 { return x.gaveWay.Load() }

// Settle waits until what searches left to be held is made.
func (x *Index) Settle() {
	for {
		x.holder.mu.Lock()
		busy := x.holder.busy
		x.holder.mu.Unlock()
		if !busy {
			return
		}
		runtime.Gosched()
	}
}

// QueueHolds lets searches leave what to hold, and makes nothing of it, until the returned function is called.
func (x *Index) QueueHolds() (end func()) {
	x.holder.mu.Lock()
	x.holder.busy = true
	x.holder.mu.Unlock()
	return x.hold
}

// Held returns how many bytes the words that searches hold take.
func (x *Index) Held() (bytes int64) {
	x.Settle()
	return x.HeldNow()
}

// HeldNow is Held of this moment.
func (x *Index) HeldNow() (bytes int64) {
	for _, seg := range x.state.segments {
		bytes += seg.heldNow()
	}
	return bytes
}

// HeldBefore returns HeldNow of the first index segment before the next Refresh, also behind it.
func (x *Index) HeldBefore() func() int64 { return x.state.segments[0].heldNow }

func (seg *segment) heldNow() int64 {
	seg.held.mu.Lock()
	defer seg.held.mu.Unlock()
	return seg.held.size
}

// Closed reports whether Close was called.
func (x *Index) Closed() bool { return x.closed() }

// RedirectDocs makes redirections of merges proceed in pieces of n documents until the test ends.
func RedirectDocs(t testing.TB, n int) {
	before := redirectDocs
	redirectDocs = n
	t.Cleanup(func() { redirectDocs = before })
}

// LargestSegment returns the most documents that an index segment has.
func (x *Index) LargestSegment() (most uint32) {
	st, err := x.acquire()
	if err != nil {
		return 0
	}
	defer x.release(st)
	for _, seg := range st.segments {
		most = max(most, seg.info.Docs)
	}
	return most
}

// Size returns how many terms and filters a query has and how many groups are nested in it.
func (q Query) Size() (terms, depth int) {
	if q.root == nil {
		return 0, 0
	}
	return q.root.leaves(), q.root.height()
}

func (n *node) leaves() (sum int) {
	for _, list := range [][]*node{n.must, n.should, n.not, n.children} {
		for _, c := range list {
			sum += c.leaves()
		}
	}
	return max(sum, 1)
}

// NeedsValues reports whether a query filters by a value beside documents.
func (q Query) NeedsValues() bool { return q.root != nil && q.root.needsValues() }

func (n *node) needsValues() bool {
	for _, list := range [][]*node{n.must, n.should, n.not} {
		for _, c := range list {
			if c.needsValues() {
				return true
			}
		}
	}
	return n.kind == nodeValue
}
