// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"slices"
	"sync"
	"time"
)

// What a search finds worth holding is made behind it, by one goroutine of the index: making a word takes several times
// as long as one search saves by it, and who searches need not wait for what later searches gain from. In a fresh
// process with 10^6 documents this was every eighth part of the first searches' processor time, and most of it was in
// the slowest of them. The goroutine gives way to searches, as a merge does (pace.go).

// holdTask is something to hold in a part.
type holdTask struct {
	part int
	make func(*execution, *part) // in an execution of its own
	drop func()                  // in place of make: it is not made now
}

// holdTasks are those of one search, whose goroutines add to it.
type holdTasks struct {
	mu   sync.Mutex
	list []holdTask
}

// holdLater leaves something to be made behind the search, and reports whether it did: else the caller makes it.
func (x *execution) holdLater(p *part, make func(*execution, *part), drop func()) bool {
	if x.later == nil {
		return false
	}
	x.later.mu.Lock()
	x.later.list = append(x.later.list, holdTask{p.number, make, drop})
	x.later.mu.Unlock()
	return true
}

// holder makes what searches left. Its goroutine ends when there is no more.
type holder struct {
	mu    sync.Mutex
	queue []heldBehind
	busy  bool
	way   *Pace // of its goroutine
}

// heldBehind is what one search left, of a state that it holds.
type heldBehind struct {
	st    *state
	tasks []holdTask
}

const (
	// holdQueue is how many searches may wait for what they left to be made. What further ones leave is dropped: it is
	// worth holding again when it is used again.
	holdQueue = 64
	// holdWithin is what a search has time for by default; see making.
	holdWithin = defaultDeadline
)

// holdBehind makes what a search left. The caller holds the state.
func (x *Index) holdBehind(st *state, t *holdTasks) {
	if len(t.list) == 0 {
		return
	}
	h := &x.holder
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.queue) >= holdQueue {
		dropTasks(t.list)
		return
	}
	st.refs.Add(1)
	x.held.Add(1)
	if h.queue = append(h.queue, heldBehind{st, t.list}); !h.busy {
		h.busy = true
		go x.hold()
	}
}

func dropTasks(list []holdTask) {
	for _, t := range list {
		t.drop()
	}
}

// hold makes what searches left until there is no more.
func (x *Index) hold() {
	h := &x.holder
	if h.way == nil {
		h.way = x.NewPace()
	}
	for {
		h.mu.Lock()
		if h.busy = len(h.queue) > 0; !h.busy {
			h.mu.Unlock()
			return
		}
		next := h.queue[0]
		h.queue = h.queue[1:]
		h.mu.Unlock()
		for i := range next.tasks {
			if t := &next.tasks[i]; x.holds(next.st.segments[t.part]) {
				next.st.holdOne(t, h.way)
			} else {
				t.drop()
			}
		}
		_ = x.release(next.st) // closing a snapshot that was only read loses nothing
	}
}

// holds reports whether searches that begin now use what is held of a segment.
func (x *Index) holds(seg *segment) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.state != nil && slices.ContainsFunc(x.state.segments, func(s *segment) bool { return s.held == seg.held })
}

// holdOne makes one thing. What cannot be read is not held: searches read it from the store, which reports the error.
func (st *state) holdOne(t *holdTask, way *Pace) {
	e := st.execution(newBudget(context.Background(), time.Now().Add(holdWithin)), SearchOptions{})
	e.work.way, e.work.since = way, way.x.clock.now()
	e.later = nil
	e.begin()
	t.make(e, e.parts[t.part])
	e.work.giveWay()
	e.release()
}
