// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// budget bounds the bytes of all bodies together: a body takes its bytes before it receives them.
//
// Bodies that all wait for more must not wait for one another for ever. So one body at a time may draw on a reserve
// that suffices for the largest, comes to its end, and gives everything back. And while a body waits, one that has been
// received for longer than budgetPatience, its own waits aside, is cut off: the one that has lasted longest.
type budget struct {
	size    int64 // without the reserve
	mu      sync.Mutex
	free    int64
	drawing *holding // the body that draws on the reserve; nil: none does
	waiting list.List
	bodies  list.List // of *holding: being received
}

// holding is the share of one body.
type holding struct {
	in      *budget
	at      *list.Element // in budget.bodies
	begun   time.Time     // later by the time that it has waited
	bytes   int64         // taken from budget.free
	drawing bool          // it has the reserve too
	waits   bool          // for bytes
	cutOff  atomic.Bool   // another body needs its bytes
	cut     func()        // called once, to end a read
}

// want is a body that waits.
type want struct {
	h     *holding
	bytes int64
	ready chan struct{} // closed when it has them
	done  bool
}

func newBudget(bytes, largest int64) *budget {
	return &budget{size: bytes - largest, free: bytes - largest}
}

// begin adds a body. cut is called when it must end; it must not wait.
func (b *budget) begin(cut func()) *holding {
	h := &holding{in: b, cut: cut, begun: time.Now()}
	b.mu.Lock()
	defer b.mu.Unlock()
	h.at = b.bodies.PushBack(h)
	return h
}

// take takes bytes, and waits for them if it must. It returns how long it waited; false: ctx has ended, or the body is
// cut off.
func (h *holding) take(ctx context.Context, n int64, req *Request) (waited time.Duration, ok bool) {
	b := h.in
	b.mu.Lock()
	switch {
	case h.drawing:
	case b.waiting.Len() == 0 && b.free >= n:
		b.free -= n
		h.bytes += n
	case b.drawing == nil:
		b.drawing, h.drawing = h, true
	default:
		w := &want{h: h, bytes: n, ready: make(chan struct{})}
		at := b.waiting.PushBack(w)
		h.waits = true
		b.mu.Unlock()
		req.waiting(StepMemory)
		defer req.goesOn(StepBody)
		return h.wait(ctx, w, at)
	}
	b.mu.Unlock()
	return 0, !h.cutOff.Load()
}

// takeFree takes bytes if there are some that nobody waits for. Bodies beyond Options.MaxBody take theirs in this way:
// the reserve is not for them, so one that waited might wait for ever.
func (h *holding) takeFree(n int64) bool {
	b := h.in
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting.Len() > 0 || b.free < n {
		return false
	}
	b.free -= n
	h.bytes += n
	return true
}

func (h *holding) wait(ctx context.Context, w *want, at *list.Element) (waited time.Duration, ok bool) {
	b, began := h.in, time.Now()
	look := time.NewTicker(budgetPatience / 4)
	defer look.Stop()
	for {
		select {
		case <-w.ready:
		case <-ctx.Done():
		case <-look.C:
			b.cutSlowest()
			continue
		}
		waited = time.Since(began)
		b.mu.Lock()
		defer b.mu.Unlock()
		h.waits, h.begun = false, h.begun.Add(waited)
		if !w.done {
			b.waiting.Remove(at)
			b.grant()
		}
		return waited, w.done
	}
}

// cutSlowest cuts off the body that has been received for longest, if that is longer than budgetPatience.
func (b *budget) cutSlowest() {
	b.mu.Lock()
	defer b.mu.Unlock()
	var slowest *holding
	for at := b.bodies.Front(); at != nil; at = at.Next() {
		h := at.Value.(*holding)
		if !h.waits && !h.cutOff.Load() && (slowest == nil || h.begun.Before(slowest.begun)) {
			slowest = h
		}
	}
	if slowest != nil && time.Since(slowest.begun) >= budgetPatience {
		slowest.cutOff.Store(true)
		slowest.cut()
	}
}

// grant gives those who wait what they wait for, first come, first served. b.mu is held.
func (b *budget) grant() {
	for at := b.waiting.Front(); at != nil; at = b.waiting.Front() {
		w := at.Value.(*want)
		switch {
		case b.free >= w.bytes:
			b.free -= w.bytes
			w.h.bytes += w.bytes
		case b.drawing == nil:
			b.drawing, w.h.drawing = w.h, true
		default:
			return
		}
		w.done = true
		b.waiting.Remove(at)
		close(w.ready)
	}
}

// received says that the body has come to its end: it is not cut off any more.
func (h *holding) received() {
	h.in.mu.Lock()
	defer h.in.mu.Unlock()
	h.in.bodies.Remove(h.at)
}

// release gives all bytes back.
func (h *holding) release() {
	b := h.in
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free += h.bytes
	h.bytes = 0
	if h.drawing {
		h.drawing, b.drawing = false, nil
	}
	b.grant()
}

// used returns the bytes that bodies have, the reserve aside.
func (b *budget) used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.size - b.free
}
