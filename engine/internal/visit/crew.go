// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"
)

// fetcher is one goroutine of the pool.
type fetcher struct {
	flight flight
	// take is the context in which it waits for its next visit. dismiss ends it.
	take      context.Context
	dismiss   context.CancelFunc
	dismissed bool        // it ends with its visit; crewMu guards it
	idle      atomic.Bool // it waits for a visit
}

// SetFetchers changes the number of fetchers; a negative number counts as 0. Fetchers beyond it end with their visits,
// and none is started before enough have ended. It has no effect before Start and after Stop. Any goroutine may call it.
func (p *Pool) SetFetchers(n int) {
	p.crewMu.Lock()
	defer p.crewMu.Unlock()
	p.want = max(n, 0)
	p.resize()
}

// resize starts or dismisses fetchers until there are want and extra. Those with a visit end later, in stays. crewMu is
// held.
func (p *Pool) resize() {
	if p.ctx == nil || p.ctx.Err() != nil {
		return
	}
	target := p.want + p.extra
	for _, f := range p.crew {
		if p.staying > target && !f.dismissed && f.idle.Load() {
			p.dismiss(f)
		}
	}
	for p.staying < target {
		f := &fetcher{}
		f.take, f.dismiss = context.WithCancel(p.ctx)
		p.crew = append(p.crew, f)
		p.staying++
		p.wg.Add(1)
		go p.fetch(f)
	}
	p.surplus.Store(p.staying > target)
}

// dismiss ends a fetcher, with its visit if it has one. crewMu is held.
func (p *Pool) dismiss(f *fetcher) {
	f.dismissed = true
	f.dismiss()
	p.staying--
}

// stays reports whether a fetcher without a visit may take another.
func (p *Pool) stays(f *fetcher) bool {
	if !p.surplus.Load() {
		return true
	}
	p.crewMu.Lock()
	defer p.crewMu.Unlock()
	if !f.dismissed && p.staying > p.want+p.extra {
		p.dismiss(f)
	}
	p.surplus.Store(p.staying > p.want+p.extra)
	return !f.dismissed
}

func (p *Pool) leave(f *fetcher) {
	f.flight.stop()
	p.crewMu.Lock()
	defer p.crewMu.Unlock()
	if !f.dismissed {
		p.dismiss(f)
	}
	p.crew = slices.DeleteFunc(p.crew, func(other *fetcher) bool { return other == f })
}

// watcher looks for visits that have become slow, while fetchers run.
func (p *Pool) watcher() {
	defer p.wg.Done()
	tick := time.NewTicker(slowInterval)
	defer tick.Stop()
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-tick.C:
			p.watch(p.env.Now())
		}
	}
}

// watch tells the frontier of visits whose request lasts too long, and has an extra fetcher for each. When there are no
// more of these, and others wait for a fetcher, it cuts off those that have lasted longest.
func (p *Pool) watch(now time.Time) {
	p.crewMu.Lock()
	defer p.crewMu.Unlock()
	for _, f := range p.crew {
		f.flight.noteSlow(p.frontier, now)
	}
	extra, over := p.frontier.Extra()
	if over > 0 && p.frontier.Ready() && p.gate.isOpen() {
		p.cutLongest(over)
	}
	p.extra = extra
	p.resize()
}

// cutLongest cuts off n slow requests, those that were cut before and have not ended included. crewMu is held.
func (p *Pool) cutLongest(n int) {
	type slow struct {
		flight *flight
		since  time.Time
	}
	var late []slow
	for _, f := range p.crew {
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
