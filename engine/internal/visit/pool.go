// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/frontier"
)

// Pool is a number of fetchers. They take visits from a frontier, make one exchange for each URL, and store the result
// in the open segment. A fetchlist has one segment; a crawl replaces a full segment with Rotate.
type Pool struct {
	desk

	followed time.Time    // of the last refresh of live filters; belongs to Tick
	disk     diskWatch    // belongs to Tick
	busy     atomic.Int64 // visits taken and not yet stored
	changed  chan struct{}
	ctx      context.Context
	cancel   context.CancelFunc

	crew crew

	failMu sync.Mutex
	failed error // the first error that ends the whole run

	countMu sync.Mutex
	counts  segment.Counts // of outcomes that are synced
	rates   rates          // of the last minute

	reportMu sync.Mutex // held while outcomes are reported
}

// NewPool returns a pool that does not run yet. f is a frontier over s, and s is of h.
func NewPool(h *Hosts, f *frontier.Frontier, s *Source, seg *segment.Writer, l Limits) *Pool {
	p := &Pool{
		desk: desk{
			env: h.env, hosts: h, frontier: f, source: s, seg: seg, epoch: h.env.Now().Add(-time.Hour),
		},
		changed: make(chan struct{}, 1),
	}
	p.crew.frontier, p.crew.gate, p.crew.now, p.crew.life = f, &p.gate, h.env.Now, p.fetch
	p.limits.Store(&l)
	p.pages.max = l.MaxPages
	return p
}

// Start starts the fetchers, the syncer and the watcher. Stop ends them, and the end of ctx ends their work. It is
// called once.
func (p *Pool) Start(ctx context.Context, fetchers int) {
	p.ctx, p.cancel = context.WithCancel(ctx)
	p.crew.mu.Lock()
	p.crew.ctx = p.ctx
	p.crew.mu.Unlock()
	p.began = p.env.Now()
	p.SetFetchers(fetchers)
	p.crew.wg.Add(1)
	go p.syncer()
	if p.frontier.MaxExtra() > 0 {
		p.crew.wg.Add(1)
		go p.crew.watcher(p.ctx)
	}
}

// SetFetchers changes the number of fetchers; a negative number counts as 0. Fetchers beyond it end with their visits,
// and none is started before enough have ended. It has no effect before Start and after Stop. Any goroutine may call
// it.
func (p *Pool) SetFetchers(n int) { p.crew.set(n) }

// fetch takes visits until the run ends or the fetcher is dismissed.
func (p *Pool) fetch(f *fetcher) {
	defer p.crew.leave(f)
	for p.crew.stays(f) {
		f.idle.Store(true)
		if !p.gate.wait(f.take) || !p.pages.take(f.take) {
			return
		}
		v, err := p.frontier.Next(f.take)
		f.idle.Store(false)
		if err != nil {
			p.pages.giveBack()
			p.Fail(err)
			return
		}
		p.holdAtLimit()
		if !p.gate.isOpen() || p.pages.surplus() { // held back, or the limit was lowered, while it waited
			p.frontier.Done(v, frontier.Outcome{Kind: frontier.Skipped, Left: int32(len(v.URLs))})
			p.pages.giveBack()
			continue
		}
		if p.busy.Add(1) == 1 { // the time without visits is no silence
			p.noteAnswer(p.env.Now())
		}
		x := visit{desk: &p.desk, v: v, flight: &f.flight, began: p.env.Now()}
		x.out.Kind = frontier.Skipped
		f.flight.doing.set(DoingPrepare)
		err = x.make(p.ctx)
		p.Fail(err)
		if p.busy.Add(-1) == 0 || err != nil || p.Reached() != NoLimit {
			p.Notify()
		}
	}
}

// holdAtLimit holds fetchers back while a limit is reached: nothing more is to be requested, and until who ends the run
// has seen it, visits would be taken and given back over and over.
func (p *Pool) holdAtLimit() {
	if p.Reached() == NoLimit {
		return
	}
	p.gate.close(heldByLimit)
	p.Notify()
	if p.Reached() == NoLimit { // SetLimits came between, and has opened the gate
		p.gate.open(heldByLimit)
	}
}

// Stop ends the fetchers, the syncer and the watcher, and closes the frontier. Requests under way are cut off, and
// their URLs stay due. It is called once, after Start.
func (p *Pool) Stop() {
	p.crew.mu.Lock() // resize must not start one after Wait
	p.cancel()
	p.crew.mu.Unlock()
	p.pages.close()
	p.gate.open(heldByAny)
	p.frontier.Close()
	p.crew.wg.Wait()
	p.source.deferred.cancel()
}

// Fail ends the run with an error. nil, and errors that only say that the run ended, do nothing. Any goroutine may call
// it.
func (p *Pool) Fail(err error) {
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, frontier.ErrClosed):
		return
	}
	p.failMu.Lock()
	if p.failed == nil {
		p.failed = err
	}
	p.failMu.Unlock()
	p.cancel()
	p.Notify()
}

// Err returns the first error of Fail, nil if there is none.
func (p *Pool) Err() error {
	p.failMu.Lock()
	defer p.failMu.Unlock()
	return p.failed
}

// Changed receives when the pool has become idle, failed or reached a limit, and after Notify. It has one receiver.
func (p *Pool) Changed() <-chan struct{} { return p.changed }

// Notify makes Changed receive, once for several calls. Any goroutine may call it.
func (p *Pool) Notify() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// Busy returns the number of visits under way.
func (p *Pool) Busy() int64 { return p.busy.Load() }

// Storing returns the number of responses, of visits under way, that will soon be in the open segment.
func (p *Pool) Storing() int64 { return p.storing.Load() }

// Syncing returns for how long the oldest sync has lasted that is under way; 0: none is. A long one is a disk that does
// not answer.
func (p *Pool) Syncing(now time.Time) time.Duration { return p.syncs.longest(now) }

// Silent returns for how long no request has ended while visits were under way; 0: none was made yet.
func (p *Pool) Silent(now time.Time) time.Duration {
	answered := time.Duration(p.answered.Load())
	if answered == 0 {
		return 0
	}
	return max(now.Sub(p.epoch)-answered, 0)
}

// Received returns the number of bytes received, whatever they were for.
func (p *Pool) Received() int64 { return p.received.Load() }

// Segment returns the open segment. Only the goroutine that calls Rotate may call it.
func (p *Pool) Segment() *segment.Writer { return p.seg }

// Rotate replaces the open segment and returns the old one, into which no fetcher stores any more: it has ended in its
// WARC file, and the next one goes on behind it. It waits for fetchers that are storing, and for a sync.
func (p *Pool) Rotate(next *segment.Writer) (full *segment.Writer) {
	p.segMu.Lock()
	defer p.segMu.Unlock()
	full, p.seg = p.seg, next
	full.End()
	return full
}

// syncer makes stored attempts durable, in groups, and the rests that hosts demand.
func (p *Pool) syncer() {
	defer p.crew.wg.Done()
	tick := time.NewTicker(syncInterval)
	defer tick.Stop()
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-tick.C:
		}
		p.segMu.RLock()
		err := p.Sync(p.seg)
		p.segMu.RUnlock()
		p.Fail(errors.Join(err, p.hosts.keepDemands()))
	}
}

// Sync makes a segment's outcomes durable, counts them and reports them to Env.Stored.
func (p *Pool) Sync(seg *segment.Writer) error {
	end := p.syncs.begin(p.env.Now())
	stored, err := seg.Sync()
	end()
	if err != nil || len(stored) == 0 {
		return err
	}
	p.countMu.Lock()
	for i := range stored {
		p.counts.Add(&stored[i].Outcome)
	}
	p.countMu.Unlock()
	p.rates.add(p.env.Now(), stored)
	if p.env.Stored != nil {
		p.reportMu.Lock()
		defer p.reportMu.Unlock()
		for i := range stored {
			p.env.Stored(stored[i].URL, &stored[i].Outcome)
		}
	}
	return nil
}

// Counts returns the counts of the outcomes that are durable. Bytes and Replayed are of everything so far.
func (p *Pool) Counts() segment.Counts {
	p.countMu.Lock()
	defer p.countMu.Unlock()
	c := p.counts.Plus(segment.Counts{})
	c.Bytes, c.Replayed = uint64(p.received.Load()), uint64(p.replayed.Load())
	return c
}

// Finish syncs, closes and seals a segment into which nobody stores any more, and saves what is known of hosts. After
// an error the segment is closed and not sealed.
func (p *Pool) Finish(ctx context.Context, seg *segment.Writer) (segment.Sealed, error) {
	defer seg.Close()
	err := p.Sync(seg)
	if err == nil {
		err = p.hosts.Flush()
	}
	if err != nil {
		return segment.Sealed{}, err
	}
	return seg.Finish(ctx)
}

// Leave closes a segment that is parsed or fetched on later: it stays open, with everything that was stored. whole says
// that of its fetchlist nothing is left that can be fetched now. It comes after Stop.
func (p *Pool) Leave(seg *segment.Writer, whole bool) error {
	err := errors.Join(p.Sync(seg), p.hosts.Flush())
	if err == nil && whole {
		err = seg.NoteFetched()
	}
	return errors.Join(err, seg.Abandon())
}

// Abandon syncs and closes the open segment without sealing it. It comes after Stop.
func (p *Pool) Abandon() error {
	return errors.Join(p.Sync(p.seg), p.seg.Abandon())
}

// SetLimits replaces the limits of the run. What was counted stays counted. Requests under way may exceed a lower
// MaxPages. Any goroutine may call it.
func (p *Pool) SetLimits(l Limits) {
	p.limits.Store(&l)
	p.pages.setMax(l.MaxPages)
	p.gate.open(heldByLimit)
	p.Notify()
}

// Hold keeps fetchers from beginning visits, and requests within visits, until Let is called for the same reason.
// Requests under way go on. Holding twice for one reason is the same as once. Any goroutine may call it, before Start
// too.
func (p *Pool) Hold(why Holder) { p.gate.close(why) }

// Let ends Hold for a reason. Fetchers go on when no reason is left. Any goroutine may call it.
func (p *Pool) Let(why Holder) { p.gate.open(why) }

// Held returns the current reasons; 0: fetchers are not held back.
func (p *Pool) Held() Holder { return p.gate.holders() }
