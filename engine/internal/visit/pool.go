// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Pool is the fetchers at work: they take visits from the frontier, make one exchange for each URL, and put
// what came of it into the open segment. A fetch of a fetchlist has one segment; a crawl puts a new one
// in its place again and again.
type Pool struct {
	env      Env
	hosts    *Hosts
	frontier *frontier.Frontier
	source   *Source

	// seg is the open segment. Fetchers hold segMu for reading while they store an attempt; Rotate holds it
	// for writing to put another segment in its place.
	segMu sync.RWMutex
	seg   *segment.Writer

	limits   atomic.Pointer[Limits]
	pages    pageLimit
	received atomic.Int64 // bytes
	began    time.Time
	followed time.Time // when the live filters were looked at; of Tick
	disk     diskWatch // of Tick
	gate     gate
	busy     atomic.Int64 // visits taken and not yet stored
	changed  chan struct{}
	ctx      context.Context
	cancel   context.CancelFunc
	wg       sync.WaitGroup

	crewMu sync.Mutex
	crew   []*fetcher // those that run, or run until their visit ends
	want   int        // fetchers that should run

	failMu sync.Mutex
	failed error // the first error that ends the whole run

	countMu sync.Mutex
	counts  segment.Counts // of outcomes that are synced

	reportMu sync.Mutex // held while outcomes are reported
}

// fetcher is one goroutine of the pool.
type fetcher struct {
	flight flight
	number int
	// take is the context in which it waits for its next visit; dismiss ends that, and the fetcher with its visit.
	take    context.Context
	dismiss context.CancelFunc
}

// NewPool returns a pool without fetchers. Start begins the work.
func NewPool(h *Hosts, f *frontier.Frontier, s *Source, seg *segment.Writer, l Limits) *Pool {
	p := &Pool{env: h.env, hosts: h, frontier: f, source: s, seg: seg, changed: make(chan struct{}, 1)}
	p.limits.Store(&l)
	p.pages.max = l.MaxPages
	return p
}

// Start begins the fetchers and the syncer; Stop ends them.
func (p *Pool) Start(ctx context.Context, fetchers int) {
	p.crewMu.Lock()
	p.ctx, p.cancel = context.WithCancel(ctx)
	p.crewMu.Unlock()
	p.began = p.env.Now()
	p.SetFetchers(fetchers)
	p.wg.Add(1)
	go p.syncer()
}

// SetFetchers changes the number of fetchers; a negative number counts as 0. Those beyond it end with their visits. It
// has no effect before Start and after Stop.
func (p *Pool) SetFetchers(n int) {
	p.crewMu.Lock()
	defer p.crewMu.Unlock()
	if p.ctx == nil {
		return
	}
	for p.want > max(n, 0) {
		p.want--
		for _, f := range p.crew {
			if f.number == p.want {
				f.dismiss()
			}
		}
	}
	for p.want < n && p.ctx.Err() == nil {
		f := &fetcher{number: p.want}
		f.take, f.dismiss = context.WithCancel(p.ctx)
		p.crew = append(p.crew, f)
		p.want++
		p.wg.Add(1)
		go p.fetch(f)
	}
}

// fetch takes visits until the run ends or the fetcher is dismissed.
func (p *Pool) fetch(f *fetcher) {
	defer p.wg.Done()
	defer p.leave(f)
	var s segment.Scratch
	for {
		if !p.gate.wait(f.take) || !p.pages.take(f.take) {
			return
		}
		v, err := p.frontier.Next(f.take)
		if err != nil {
			p.pages.giveBack()
			p.Fail(err)
			return
		}
		p.busy.Add(1)
		x := visit{p: p, v: v, s: &s, flight: &f.flight, began: p.env.Now(), out: frontier.Outcome{Kind: frontier.Skipped}}
		err = x.make(p.ctx)
		p.Fail(err)
		if p.busy.Add(-1) == 0 || err != nil || p.Reached() != NoLimit {
			p.notify()
		}
	}
}

func (p *Pool) leave(f *fetcher) {
	f.flight.stop()
	f.dismiss()
	p.crewMu.Lock()
	defer p.crewMu.Unlock()
	for i, other := range p.crew {
		if other == f {
			p.crew = append(p.crew[:i], p.crew[i+1:]...)
			return
		}
	}
}

// Stop ends the fetchers: visits in flight are cut off and count as not made. It also closes the frontier. It comes after
// Start, once.
func (p *Pool) Stop() {
	p.crewMu.Lock() // so that SetFetchers starts none behind Wait
	p.cancel()
	p.crewMu.Unlock()
	p.pages.close()
	p.gate.open(heldByAny)
	p.frontier.Close()
	p.wg.Wait()
	p.source.deferred.cancel()
}

// Fail ends the run with an error that concerns more than one URL. What merely says that the run ended is no error.
func (p *Pool) Fail(err error) {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, frontier.ErrClosed) {
		return
	}
	p.failMu.Lock()
	if p.failed == nil {
		p.failed = err
	}
	p.failMu.Unlock()
	p.cancel()
	p.notify()
}

// Err returns the error that ended the run, nil if none did.
func (p *Pool) Err() error {
	p.failMu.Lock()
	defer p.failMu.Unlock()
	return p.failed
}

// Changed receives when the state may have changed in a way that matters to whoever watches.
func (p *Pool) Changed() <-chan struct{} { return p.changed }

// notify tells whoever watches that something changed.
func (p *Pool) notify() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// Notify makes Changed receive.
func (p *Pool) Notify() { p.notify() }

// Tick looks at the disk and at the live filters, both of them now and then. The error says that the disk has been
// short of space for longer than patience. One goroutine at a time.
func (p *Pool) Tick(now time.Time, patience time.Duration) (filtersChanged bool, err error) {
	if err := p.disk.tick(p, now, patience); err != nil {
		return false, err
	}
	return p.followFilters(now), nil
}

// Busy is the number of visits under way.
func (p *Pool) Busy() int64 { return p.busy.Load() }

// Received is the number of bytes of bodies received.
func (p *Pool) Received() int64 { return p.received.Load() }

// Segment returns the open segment. Only whoever calls Rotate may ask.
func (p *Pool) Segment() *segment.Writer { return p.seg }

// Rotate puts another open segment in place of the current one, into which nobody stores any more when it returns.
func (p *Pool) Rotate(next *segment.Writer) (full *segment.Writer) {
	p.segMu.Lock()
	defer p.segMu.Unlock()
	full, p.seg = p.seg, next
	return full
}

// store appends an attempt to the open segment.
func (p *Pool) store(a *segment.Attempt, s *segment.Scratch) (fetched bool, err error) {
	p.segMu.RLock()
	status, err := p.seg.Store(a, s)
	p.segMu.RUnlock()
	if err == nil && p.env.Page != nil {
		p.env.Page(a, s)
	}
	return status == storage.FetchSuccess, err
}

// keepRobots appends a response to a request for robots.txt to the open segment's WARC.
func (p *Pool) keepRobots(u urlkey.URL, r *fetch.Response) error {
	p.segMu.RLock()
	defer p.segMu.RUnlock()
	return p.seg.KeepRobots(u, r)
}

// syncer makes what was stored durable, in groups, and counts it.
func (p *Pool) syncer() {
	defer p.wg.Done()
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
		p.Fail(err)
	}
}

// Sync makes a segment's pages durable and counts them.
func (p *Pool) Sync(seg *segment.Writer) error {
	stored, err := seg.Sync()
	if err != nil || len(stored) == 0 {
		return err
	}
	p.countMu.Lock()
	for i := range stored {
		p.counts.Add(&stored[i].Outcome)
	}
	p.countMu.Unlock()
	if p.env.Stored != nil {
		p.reportMu.Lock()
		defer p.reportMu.Unlock()
		for i := range stored {
			p.env.Stored(stored[i].URL, &stored[i].Outcome)
		}
	}
	return nil
}

// Counts returns what was fetched and synced so far.
func (p *Pool) Counts() segment.Counts {
	p.countMu.Lock()
	defer p.countMu.Unlock()
	return p.counts.Plus(segment.Counts{})
}

// Finish syncs, closes and seals a segment that nobody stores into any more. After an error it is closed and not sealed.
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

// Abandon syncs and closes the open segment without sealing it.
func (p *Pool) Abandon() error {
	return errors.Join(p.Sync(p.seg), p.seg.Abandon())
}
