// SPDX-License-Identifier: Apache-2.0

package frontier

import "sync/atomic"

// ring is a bounded lock-free queue of many senders and many receivers (Vyukov, 2010): each cell carries the turn in
// which it may be written or read. Shards put visits in, fetchers take them out, and none waits for another.
//
// In BenchmarkReady's tight loop a mutex is cheapest, because the goroutine that holds it keeps it for many rounds
// while the other sleeps; fetchers that come one at a time contend for neither. The ring promises what a mutex cannot:
// a preempted fetcher holds up nobody.
type ring struct {
	mask  uint64
	cells []cell
	_     [64]byte // head and tail on cache lines of their own
	tail  atomic.Uint64
	_     [56]byte
	head  atomic.Uint64
	_     [56]byte
}

type cell struct {
	turn  atomic.Uint64
	visit *Visit
}

// newRing makes a ring for at least n visits.
func newRing(n int) *ring {
	size := 1
	for size < n {
		size *= 2
	}
	r := &ring{mask: uint64(size - 1), cells: make([]cell, size)}
	for i := range r.cells {
		r.cells[i].turn.Store(uint64(i))
	}
	return r
}

// push puts a visit in. It returns false if the ring is full.
func (r *ring) push(v *Visit) bool {
	for {
		tail := r.tail.Load()
		c := &r.cells[tail&r.mask]
		switch turn := c.turn.Load(); {
		case turn == tail:
			if r.tail.CompareAndSwap(tail, tail+1) {
				c.visit = v
				c.turn.Store(tail + 1)
				return true
			}
		case turn < tail:
			return false
		}
	}
}

// pop takes a visit out. It returns nil if the ring is empty.
func (r *ring) pop() *Visit {
	for {
		head := r.head.Load()
		c := &r.cells[head&r.mask]
		switch turn := c.turn.Load(); {
		case turn == head+1:
			if r.head.CompareAndSwap(head, head+1) {
				v := c.visit
				c.visit = nil
				c.turn.Store(head + r.mask + 1)
				return v
			}
		case turn <= head:
			return nil
		}
	}
}

// len returns about how many visits are in the ring.
func (r *ring) len() int { return int(max(int64(r.tail.Load()-r.head.Load()), 0)) }

// readyQueue holds a shard's visits for which the ring has no room yet, earliest key first: a 4-ary heap with the
// keys beside the pointers, so that sifting reads only the heap.
type readyQueue []readyEntry

type readyEntry struct {
	key   moment
	visit *Visit
}

func (q *readyQueue) push(key moment, v *Visit) {
	h := append(*q, readyEntry{})
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 4
		if h[up].key <= key {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = readyEntry{key, v}
	*q = h
}

func (q *readyQueue) pop() *Visit {
	h := *q
	v := h[0].visit
	last := h[len(h)-1]
	h[len(h)-1] = readyEntry{}
	h = h[:len(h)-1]
	for i := 0; len(h) > 0; {
		least, end := -1, min(4*i+5, len(h))
		for c := 4*i + 1; c < end; c++ {
			if least < 0 || h[c].key < h[least].key {
				least = c
			}
		}
		if least < 0 || last.key <= h[least].key {
			h[i] = last
			break
		}
		h[i] = h[least]
		i = least
	}
	*q = h
	return v
}
