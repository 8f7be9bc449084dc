// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// pageLimit lets fetchers begin only as many visits as could still count: with a limit of N, the
// pages counted and the visits under way are never more than N together, so the limit is exact.
// The zero value has no limit.
type pageLimit struct {
	mu    sync.Mutex
	wake  chan struct{} // closed and replaced when a permit comes back
	max   int64         // 0: none
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
		if l.max == 0 || l.used+l.taken < l.max {
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
	if l.ended || l.max > 0 && l.used+l.taken >= l.max {
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
	return l.max > 0 && l.used >= l.max
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

// Limits end a crawl or a fetch early; what else is due stays so. 0 means no bound.
type Limits struct {
	// MaxPages is the number of fetched pages. It is exact.
	MaxPages int64
	// MaxBytes is the number of bytes received, MaxTime the time from the start. Fetches under way when
	// the one or the other is reached are cut off or may go beyond it.
	MaxBytes int64
	MaxTime  time.Duration
}

func (l Limits) validate() error {
	if l.MaxPages < 0 || l.MaxBytes < 0 || l.MaxTime < 0 {
		return fmt.Errorf("MaxPages %d, MaxBytes %d, MaxTime %s: want 0 (no bound) or more", l.MaxPages, l.MaxBytes, l.MaxTime)
	}
	return nil
}

// reached names the limit that ends the run, "" if none does.
func (f *fetching) reached() string {
	switch {
	case f.pages.reached():
		return "max-pages"
	case f.limits.MaxBytes > 0 && f.received.Load() >= f.limits.MaxBytes:
		return "max-bytes"
	case f.limits.MaxTime > 0 && time.Since(f.began) >= f.limits.MaxTime:
		return "max-time"
	}
	return ""
}

// gate stops fetchers from beginning visits while somebody holds it shut. The zero value is open.
type gate struct {
	mu   sync.Mutex
	held holder
	shut chan struct{} // nil: open; closed when it opens
}

// holder is a set of reasons to hold the gate shut.
type holder uint8

const (
	heldByBacklog holder = 1 << iota // sealed segments pile up
	heldByDisk                       // the disk is nearly full
	heldByAny     = heldByBacklog | heldByDisk
)

// wait returns when the gate is open, or false when ctx ends first.
func (g *gate) wait(ctx context.Context) bool {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	if shut == nil {
		return ctx.Err() == nil
	}
	select {
	case <-ctx.Done():
		return false
	case <-shut:
		return ctx.Err() == nil
	}
}

func (g *gate) close(by holder) {
	g.mu.Lock()
	g.held |= by
	if g.shut == nil {
		g.shut = make(chan struct{})
	}
	g.mu.Unlock()
}

func (g *gate) open(by holder) {
	g.mu.Lock()
	g.held &^= by
	if g.held == 0 && g.shut != nil {
		close(g.shut)
		g.shut = nil
	}
	g.mu.Unlock()
}
