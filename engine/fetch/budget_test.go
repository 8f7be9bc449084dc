// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// body is received in steps, each of which it must have from the budget, with a pause after each.
type body struct {
	steps int
	pause time.Duration
	stuck bool // its server sends no more after the first step
}

// receive plays a body and returns whether it came whole.
func (b body) receive(ctx context.Context, from *budget, step int64, most *meter) bool {
	cut, end := context.WithCancel(ctx)
	defer end()
	h := from.begin(end)
	defer h.release()
	held := int64(0)
	defer func() { most.add(-held) }()
	for n := range b.steps {
		if _, ok := h.take(ctx, step, nil); !ok {
			h.received()
			return false
		}
		held += step
		most.add(step)
		pause := b.pause
		if b.stuck && n > 0 {
			pause = time.Hour
		}
		select {
		case <-time.After(pause):
		case <-cut.Done():
			h.received()
			return false
		}
	}
	h.received()
	time.Sleep(100 * time.Millisecond) // it is parsed
	return true
}

// meter adds up what is held.
type meter struct {
	mu        sync.Mutex
	now, most int64
}

func (m *meter) add(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now += n
	m.most = max(m.most, m.now)
}

// TestBudget: bodies that all need more than is left come to their ends, whole, within the budget, and those of servers
// that send no more give way to them.
func TestBudget(t *testing.T) {
	const step, largest = 10, 100
	for _, v := range []struct {
		name   string
		bytes  int64
		bodies []body
		whole  int
		within time.Duration
	}{
		{"all at once", 150, repeat(50, body{steps: 10, pause: time.Millisecond}), 50, time.Minute},
		{"one fits", largest, repeat(5, body{steps: 10, pause: time.Millisecond}), 5, time.Minute},
		{"plenty", 10_000, repeat(50, body{steps: 10, pause: time.Millisecond}), 50, 200 * time.Millisecond},
		{
			"behind servers that stall", 200,
			append(repeat(30, body{steps: 3, stuck: true}), repeat(50, body{steps: 10, pause: time.Millisecond})...),
			50, 5 * time.Minute,
		},
		{"slow, nobody waits", 1000, repeat(3, body{steps: 10, pause: 3 * budgetPatience}), 3, 10 * time.Minute},
	} {
		t.Run(v.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
				defer cancel()
				b := newBudget(v.bytes, largest)
				began := time.Now()
				var most, whole meter
				var wg sync.WaitGroup
				for _, body := range v.bodies {
					wg.Go(func() {
						if body.receive(ctx, b, step, &most) {
							whole.add(1)
						}
					})
				}
				var last time.Duration
				for range int(v.within / time.Millisecond) {
					if whole.mu.Lock(); whole.now == int64(v.whole) && last == 0 {
						last = time.Since(began)
					}
					whole.mu.Unlock()
					if last > 0 {
						break
					}
					time.Sleep(time.Millisecond)
				}
				cancel()
				wg.Wait()
				if last == 0 || whole.now != int64(v.whole) {
					t.Errorf("%d bodies came whole within %s, want %d", whole.now, v.within, v.whole)
				}
				if most.most > v.bytes {
					t.Errorf("%d bytes were held, of %d", most.most, v.bytes)
				}
				if b.free != v.bytes-largest || b.drawing != nil || b.waiting.Len()+b.bodies.Len() > 0 {
					t.Errorf("%d bytes are left of %d, %d bodies wait", b.free, v.bytes-largest, b.waiting.Len())
				}
				t.Logf("%s, %d bytes at most", last, most.most)
			})
		})
	}
}

func repeat(n int, b body) (out []body) {
	for range n {
		out = append(out, b)
	}
	return out
}
