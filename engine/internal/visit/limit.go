// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"context"
	"sync"
	"time"
)

// pageLimit lets fetchers begin only as many visits as could still count: with a limit of N, the
// pages counted and the visits under way are never more than N together, so the limit is exact.
// The zero value has no limit.
type pageLimit struct {
	mu    sync.Mutex
	wake  chan struct{} // closed and replaced when a permit comes back
	max   int64         // 0: none; negative: reached
	taken int64         // visits under way
	used  int64         // pages counted
	ended bool
}

// take waits for a permit; false means that the run is over.
func (l *pageLimit) take(ctx context.Context) bool {
	for {
		l.mu.Lock()
		if l.ended {
			l.mu.Unlock()
			return false
		}
		if l.permits() {
			l.taken++
			l.mu.Unlock()
			return true
		}
		if l.wake == nil {
			l.wake = make(chan struct{})
		}
		wake := l.wake
		l.mu.Unlock()
		select {
		case <-ctx.Done():
			return false
		case <-wake:
		}
	}
}

// tryTake is take for one who goes on without: it never waits.
func (l *pageLimit) tryTake() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended || !l.permits() {
		return false
	}
	l.taken++
	return true
}

// use turns a permit into a counted page.
func (l *pageLimit) use() { l.put(1) }

// giveBack returns a permit that came to nothing.
func (l *pageLimit) giveBack() { l.put(0) }

func (l *pageLimit) put(used int64) {
	l.mu.Lock()
	l.taken--
	l.used += used
	l.wakeAll()
	l.mu.Unlock()
}

// reached reports whether the limit is used up.
func (l *pageLimit) reached() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.max < 0 || l.max > 0 && l.used >= l.max
}

// permits reports whether another visit may begin. l.mu is held.
func (l *pageLimit) permits() bool { return l.max == 0 || l.used+l.taken < l.max }

// setMax changes the limit; 0: none.
func (l *pageLimit) setMax(pages int64) {
	l.mu.Lock()
	l.max = pages
	l.wakeAll()
	l.mu.Unlock()
}

func (l *pageLimit) close() {
	l.mu.Lock()
	l.ended = true
	l.wakeAll()
	l.mu.Unlock()
}

func (l *pageLimit) wakeAll() {
	if l.wake != nil {
		close(l.wake)
		l.wake = nil
	}
}

// Limits end a run early; what else is due stays so. 0 means no bound, a negative number one that is reached already.
type Limits struct {
	MaxPages int64 // fetched pages; exact
	// MaxBytes is the number of bytes received, MaxTime the time from the start. Fetches under way when one of
	// them is reached are cut off or may go beyond it.
	MaxBytes int64
	MaxTime  time.Duration
}

// Limit names a limit.
type Limit uint8

// The limits. NoLimit: none is reached.
const (
	NoLimit Limit = iota
	LimitPages
	LimitBytes
	LimitTime
)

// Reached returns the limit that ends the run.
func (p *Pool) Reached() Limit {
	limits := p.limits.Load()
	switch {
	case p.pages.reached():
		return LimitPages
	case limits.MaxBytes != 0 && p.received.Load() >= limits.MaxBytes:
		return LimitBytes
	case limits.MaxTime != 0 && p.env.Now().Sub(p.began) >= limits.MaxTime:
		return LimitTime
	}
	return NoLimit
}

// SetLimits replaces the limits of the run. What was counted stays counted.
func (p *Pool) SetLimits(l Limits) {
	p.limits.Store(&l)
	p.pages.setMax(l.MaxPages)
	p.notify()
}
