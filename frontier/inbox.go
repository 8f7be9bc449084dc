// SPDX-License-Identifier: Apache-2.0

package frontier

import "sync/atomic"

// event is something that happens to a visit state, on its way to the shard that owns it. Events that come with
// every visit are embedded in the visit, so that sending one allocates nothing.
type event struct {
	next   *event
	kind   eventKind
	state  *visitState
	visit  *Visit
	out    Outcome
	refill *Refill
}

type eventKind uint8

const (
	woken    eventKind = iota
	refilled           // Source.Refill returned refill
	returned           // Done: visit came back with out
	moved              // the state comes from another shard
	asked              // Ask: refill has URLs that come next
	forgiven           // the local network caused its last failure
	slowed             // Slow: a visit to it lasts too long
)

// inbox is a lock-free queue of many senders and one receiver: a stack (Treiber, 1986) that the receiver takes
// whole and reverses. On two cores the stack, a mutex and a channel all wait for the same cache line (BenchmarkInbox;
// the figures are in BENCHMARKS.md). It is a stack because then a sender never waits for a shard at work.
type inbox struct {
	top atomic.Pointer[event]
}

// push adds an event and reports whether the inbox was empty.
func (b *inbox) push(e *event) bool {
	for {
		top := b.top.Load()
		e.next = top
		if b.top.CompareAndSwap(top, e) {
			return top == nil
		}
	}
}

// take returns all events, oldest first, linked by next.
func (b *inbox) take() *event {
	if b.top.Load() == nil {
		return nil
	}
	var first *event
	for e := b.top.Swap(nil); e != nil; {
		next := e.next
		e.next = first
		first, e = e, next
	}
	return first
}
