// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seine-crawler/seine/frontier"
)

// fetcher is one goroutine of the pool.
type fetcher struct {
	flight flight
	// take is the context in which it waits for its next visit. dismiss ends it.
	take      context.Context
	dismiss   context.CancelFunc
	dismissed bool        // it ends with its visit; crew.mu guards it
	place     int         // in crew.all; crew.mu guards it
	idle      atomic.Bool // it waits for a visit
}

// crew is the fetchers of a pool, and the watch over slow visits.
type crew struct {
	frontier *frontier.Frontier
	gate     *gate
	now      func() time.Time
	life     func(*fetcher) // what a fetcher does; it calls leave at the end
	wg       sync.WaitGroup // fetchers, and the pool's other goroutines

	surplus atomic.Bool // staying is more than want and extra

	mu      sync.Mutex // guards all below
	ctx     context.Context
	all     []*fetcher // those that run, dismissed ones included
	want    int        // how many should run, as set says
	extra   int        // and how many beyond, for slow visits
	staying int        // of all, those that are not dismissed
}

// set changes the number of fetchers. It has no effect before start and after the end of the pool's context.
func (c *crew) set(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.want = max(n, 0)
	c.resize()
}

// resize starts or dismisses fetchers until there are want and extra. Those with a visit end later, in stays. c.mu is
// held.
func (c *crew) resize() {
	if c.ctx == nil || c.ctx.Err() != nil {
		return
	}
	target := c.want + c.extra
	for _, f := range c.all {
		if c.staying > target && !f.dismissed && f.idle.Load() {
			c.dismiss(f)
		}
	}
	for c.staying < target {
		f := &fetcher{flight: flight{now: c.now}}
		f.take, f.dismiss = context.WithCancel(c.ctx)
		f.place = len(c.all)
		c.all = append(c.all, f)
		c.staying++
		c.wg.Add(1)
		go c.life(f)
	}
	c.surplus.Store(c.staying > target)
}

// dismiss ends a fetcher, with its visit if it has one. c.mu is held.
func (c *crew) dismiss(f *fetcher) {
	f.dismissed = true
	f.dismiss()
	c.staying--
}

// stays reports whether a fetcher without a visit may take another.
func (c *crew) stays(f *fetcher) bool {
	if !c.surplus.Load() {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !f.dismissed && c.staying > c.want+c.extra {
		c.dismiss(f)
	}
	c.surplus.Store(c.staying > c.want+c.extra)
	return !f.dismissed
}

// leave is the end of a fetcher. The last of all takes its place: at the end of a crawl all of them leave, and there
// may be 100,000.
func (c *crew) leave(f *fetcher) {
	defer c.wg.Done()
	f.flight.stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !f.dismissed {
		c.dismiss(f)
	}
	last := len(c.all) - 1
	moved := c.all[last]
	moved.place, c.all[f.place], c.all[last] = f.place, moved, nil
	c.all = c.all[:last]
}

// each calls do with the flight of every fetcher.
func (c *crew) each(do func(*flight)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.all {
		do(&f.flight)
	}
}

// watcher looks for visits that have become slow, until ctx ends.
func (c *crew) watcher(ctx context.Context) {
	defer c.wg.Done()
	tick := time.NewTicker(slowInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			c.watch(c.now())
		}
	}
}

// watch tells the frontier of visits whose request lasts too long, and has an extra fetcher for each. When there are no
// more of these, and others wait for a fetcher, it cuts off those that have lasted longest.
func (c *crew) watch(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.all {
		f.flight.noteSlow(c.frontier, now)
	}
	extra, over := c.frontier.Extra()
	if over > 0 && c.frontier.Ready() && c.gate.isOpen() {
		c.cutLongest(over)
	}
	c.extra = extra
	c.resize()
}

// cutLongest cuts off n slow requests, those that were cut before and have not ended included. c.mu is
// held.
func (c *crew) cutLongest(n int) {
	type slow struct {
		flight *flight
		since  time.Time
	}
	var late []slow
	for _, f := range c.all {
		switch since, isLate, cut := f.flight.slowSince(); {
		case cut:
			n--
		case isLate:
			late = append(late, slow{&f.flight, since})
		}
	}
	slices.SortFunc(late, func(a, b slow) int { return cmp.Compare(a.since.UnixNano(), b.since.UnixNano()) })
	for _, s := range late[:min(max(n, 0), len(late))] {
		s.flight.cutSlow(s.since)
	}
}
