// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"container/heap"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// The gain of the lock-free parts: the same work with a mutex and with a channel. BENCHMARKS.md has the figures, of a
// machine with two cores.

// BenchmarkInbox: events from many senders to one receiver.
func BenchmarkInbox(b *testing.B) {
	b.Run("lock-free", func(b *testing.B) {
		var in inbox
		bell := make(chan struct{}, 1)
		benchInbox(b, func(e *event) {
			if in.push(e) {
				signal(bell)
			}
		}, func() (n int) {
			<-bell
			for e := in.take(); e != nil; e = e.next {
				n++
			}
			return n
		})
	})
	b.Run("mutex", func(b *testing.B) {
		var mu sync.Mutex
		var list, spare []*event
		bell := make(chan struct{}, 1)
		benchInbox(b, func(e *event) {
			mu.Lock()
			list = append(list, e)
			first := len(list) == 1
			mu.Unlock()
			if first {
				signal(bell)
			}
		}, func() int {
			<-bell
			mu.Lock()
			list, spare = spare[:0], list
			mu.Unlock()
			return len(spare)
		})
	})
	b.Run("channel", func(b *testing.B) {
		ch := make(chan *event, 1024)
		benchInbox(b, func(e *event) { ch <- e }, func() int { <-ch; return 1 })
	})
}

func benchInbox(b *testing.B, send func(*event), receive func() int) {
	done := make(chan struct{})
	go func() {
		for n := 0; n < b.N; {
			n += receive()
		}
		close(done)
	}()
	var wg sync.WaitGroup
	const senders = 8
	for s := range senders {
		wg.Go(func() {
			var events []event
			states := make([]visitState, 64)
			for i := s; i < b.N; i += senders {
				if i/senders%1024 == 0 {
					events = make([]event, 1024)
					for i := range events {
						events[i].state = &states[i%64]
					}
				}
				e := &events[i/senders%1024]
				e.kind, e.out.End = returned, time.Time{} // the sender has just filled it in
				send(e)
			}
		})
	}
	wg.Wait()
	<-done
}

// BenchmarkReady: visits from two shards to many fetchers.
func BenchmarkReady(b *testing.B) {
	b.Run("lock-free", func(b *testing.B) {
		r := newRing(128)
		benchReady(b, r.push, r.pop)
	})
	b.Run("mutex", func(b *testing.B) {
		var mu sync.Mutex
		var list []*Visit
		benchReady(b, func(v *Visit) bool {
			mu.Lock()
			defer mu.Unlock()
			if len(list) == 128 {
				return false
			}
			list = append(list, v)
			return true
		}, func() *Visit {
			mu.Lock()
			defer mu.Unlock()
			if len(list) == 0 {
				return nil
			}
			v := list[0]
			list = append(list[:0], list[1:]...)
			return v
		})
	})
	b.Run("channel", func(b *testing.B) {
		ch := make(chan *Visit, 128)
		benchReady(b, func(v *Visit) bool {
			select {
			case ch <- v:
				return true
			default:
				return false
			}
		}, func() *Visit {
			select {
			case v := <-ch:
				return v
			default:
				return nil
			}
		})
	})
}

// benchReady: each of a few goroutines alternately puts one in and takes one out, as shards and fetchers do.
func benchReady(b *testing.B, push func(*Visit) bool, pop func() *Visit) {
	v := &Visit{}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			for !push(v) {
			}
			for pop() == nil {
			}
		}
	})
}

// BenchmarkTimers: a million hosts wait; one timer fires and is set again, a second later.
func BenchmarkTimers(b *testing.B) {
	const hosts = 1_000_000
	step := moment(time.Second) / hosts
	b.Run("wheel", func(b *testing.B) {
		var w wheel
		now := moment(time.Hour)
		w.now = uint64(now) >> tickBits
		states := make([]visitState, hosts)
		for i := range states {
			w.set(&states[i], now+moment(i)*step)
		}
		b.ResetTimer()
		for n := 0; n < b.N; now += moment(time.Millisecond) {
			w.advance(now, func(v *visitState) {
				n++
				w.set(v, now.add(time.Second))
			})
		}
	})
	b.Run("heap", func(b *testing.B) {
		now := moment(time.Hour)
		h := make(flights, hosts)
		for i := range h {
			h[i] = flight{now + moment(i)*step, nil}
		}
		rand.Shuffle(len(h), h.Swap)
		heap.Init(&h)
		b.ResetTimer()
		for range b.N {
			h[0].end += moment(time.Second)
			heap.Fix(&h, 0)
		}
	})
}
