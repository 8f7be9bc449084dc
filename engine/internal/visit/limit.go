// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"context"
	"sync"
	"time"
)

// pageLimit gives out permits for requests. With a limit of N, the pages counted and the permits out are never more
// than N together, so the limit is exact. The zero value has no limit.
type pageLimit struct {
	mu    sync.Mutex
	wake  chan struct{} // closed and replaced when a permit comes back
	max   int64         // 0: none; negative: reached
	taken int64         // permits out
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

// tryTake is take that never waits; false: there is no permit now.
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

// giveBack returns a permit that led to no counted page.
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

// permits reports whether there is a permit. l.mu is held.
func (l *pageLimit) permits() bool { return l.max == 0 || l.used+l.taken < l.max }

// surplus reports whether more permits are out than a limit that was lowered has left.
func (l *pageLimit) surplus() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.max != 0 && l.used+l.taken > l.max
}

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

// Limits end a run early. URLs that were not requested stay due. 0 means no limit, a negative number one that is
// reached already.
type Limits struct {
	MaxPages int64 // fetched pages; exact
	// MaxBytes is of everything received, MaxTime from the start of the pool. Requests that are under way when one of
	// them is reached may exceed it, or are cut off.
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
