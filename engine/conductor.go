// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seine-crawler/seine/engine/internal/phases"
	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/engine/internal/visit"
	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// conductor runs the table of phases behind the fetchers: one lane takes sealed segments through updatedb, the next
// links and indexes them. The goroutine that called Crawl conducts: it looks, decides (decide.go) and acts.
type conductor struct {
	e       *Engine
	o       CrawlOptions
	abort   context.Context // ends phases under way
	started time.Time
	cpu     time.Duration
	stages  stageTimes
	limits  atomic.Pointer[Limits]
	deliver *delivery

	live    atomic.Pointer[fetching] // nil while nothing is fetched
	earlier segment.Counts           // of fetchlists that were fetched first

	// toUpdate and toIndex carry segments to the lanes; their capacity is the backlog. tasks are what the first
	// lane does besides: seeds to inject, withheld links to bring in.
	toUpdate, toIndex chan *segment.Writer
	tasks             chan struct{}
	updating          atomic.Int64 // segments handed to the first lane that it is not done with
	ending            atomic.Bool  // fetching is over: only end dedups and indexes what is left
	lanes             sync.WaitGroup

	queueMu  sync.Mutex
	queue    []string     // URLs that were enqueued and are not injected yet
	widened  bool         // live filters changed: withheld links may be admitted
	pendings atomic.Int64 // tasks queued or under way

	discovered, indexed, segments, duplicates, restored atomic.Uint64
	phaseName                                           atomic.Pointer[string]
	stopped                                             StopReason
}

// fetching is a run of fetchers: those of a crawl over crawldb, or of a fetch over a fetchlist.
type fetching struct {
	pool     *visit.Pool
	frontier *frontier.Frontier
	source   *visit.Source
}

func newConductor(e *Engine, o CrawlOptions) *conductor {
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	if o.ProgressEvery == 0 {
		o.ProgressEvery = time.Second
	}
	c := &conductor{e: e, o: o, abort: o.Abort, started: e.w.now(), cpu: processCPU(), stages: e.w.stageTimes(),
		tasks: make(chan struct{}, 1)}
	if c.abort == nil {
		c.abort = context.Background()
	}
	c.limits.Store(&o.Limits)
	return c
}

// begin opens the frontier and the first segment, and starts fetchers and lanes.
func (c *conductor) begin(ctx context.Context) (*fetching, error) {
	w := c.e.w
	before, err := w.store.SegmentList()
	if err != nil {
		return nil, err
	}
	seg, err := w.createSegment()
	if err != nil {
		return nil, err
	}
	limits, _ := c.left()
	f, err := w.newFetching(w.crawldbSupply(), seg, limits, len(before) > 0)
	if err != nil {
		return nil, errors.Join(err, seg.Abandon())
	}
	c.watchFetching(f)
	f.start(ctx, w)
	c.toUpdate, c.toIndex = make(chan *segment.Writer, backlogMax), make(chan *segment.Writer, backlogMax)
	c.lanes.Add(2)
	go c.update(f)
	go c.index(f)
	return f, nil
}

// watchFetching makes a run of fetchers the one that is looked at and controlled.
func (c *conductor) watchFetching(f *fetching) {
	c.live.Store(f)
	if c.e.paused.Load() {
		f.pool.Hold(visit.HeldByPause)
	}
}

// newFetching opens a frontier over a supply, with fetchers that do not run yet. resume says that an earlier process,
// or an earlier phase of this one, may just have asked the same hosts.
func (w *work) newFetching(supply visit.Supply, seg *segment.Writer, l Limits, resume bool) (*fetching, error) {
	f := &fetching{source: visit.NewSource(w.net.hosts, supply)}
	var err error
	f.frontier, err = frontier.New(frontier.Options{
		Source: f.source, Delay: time.Duration(w.net.delay.Load()), Fetchers: int(w.net.fetchers.Load()), PerHost: w.o.PerHost,
		Refillers: frontierRefillers, Resume: resume, MaxHosts: w.o.frontierHosts(), MaxQueued: w.o.frontierURLs(),
		OnDrop: f.source.Release, OnHost: w.rememberHost, OnError: w.refillFailed,
	})
	if err != nil {
		return nil, err
	}
	f.pool = visit.NewPool(w.net.hosts, f.frontier, f.source, seg, visit.Limits(l))
	return f, nil
}

// start begins to fetch.
func (f *fetching) start(ctx context.Context, w *work) {
	f.frontier.WakeAll()
	f.pool.Start(ctx, int(w.net.fetchers.Load()))
}

// createSegment makes the next segment and opens its WARC.
func (w *work) createSegment() (*segment.Writer, error) {
	seg, err := w.segments.Create()
	if err == nil {
		w.reached(seg.Number(), storage.SegmentOpen)
	}
	return seg, err
}

// refillFailed reports a host whose URLs could not be chosen. The host rests until something wakes it.
func (w *work) refillFailed(host urlkey.HostKey, err error) {
	if !errors.Is(err, context.Canceled) {
		w.warn(wrapf(err, "choosing URLs of %s", host))
	}
}

// rememberHost keeps what the frontier learned of a host.
func (w *work) rememberHost(host urlkey.HostKey, s frontier.HostState) {
	w.net.hosts.Remember(host, s)
	if s.Asleep && w.o.Events.HostAsleep != nil {
		w.o.Events.HostAsleep(host, s.NotBefore)
	}
}

// crawldbSupply offers what is due in crawldb.
func (w *work) crawldbSupply() visit.Supply {
	return visit.Supply{
		Choose: func(rd storage.Reader, host urlkey.HostKey, limit int, taken func([]byte) bool) (visit.Chosen, error) {
			best := phases.NewBest(limit)
			sel, err := w.phases.SelectHost(rd, host, w.now().UnixMilli(), taken, best)
			return chosen(sel, best), err
		},
		Hosts: func(ctx context.Context, from urlkey.HostKey, limit int) ([]urlkey.HostKey, error) {
			return w.dueHosts(ctx, from, limit)
		},
	}
}

// dueHosts lists hosts that may have something due, in key order, from a key on.
func (w *work) dueHosts(ctx context.Context, from urlkey.HostKey, limit int) (hosts []urlkey.HostKey, err error) {
	err = w.phases.DueHosts(ctx, w.store, from, w.now().UnixMilli(), limit, func(h urlkey.HostKey) error {
		hosts = append(hosts, h)
		return nil
	})
	return hosts, err
}

// chosen turns a selection into what a source takes.
func chosen(sel phases.Selection, best *phases.Best) visit.Chosen {
	list := best.Sorted()
	out := visit.Chosen{URLs: make([]visit.Choice, len(list)), More: sel.Due > uint64(len(list)), NextDue: sel.NextDue}
	for i, c := range list {
		out.URLs[i] = visit.Choice{Key: c.Key, Score: c.Score, Depth: c.Depth, Known: c.Known}
	}
	return out
}

// conduct looks at the fetchers again and again, and does what decide says, until the crawl is to end.
func (c *conductor) conduct(ctx context.Context, f *fetching) (StopReason, error) {
	pool, w := f.pool, c.e.w
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	lastProgress := w.now()
	var seen watch
	for {
		select {
		case <-ctx.Done():
		case <-c.abort.Done():
			return StopAborted, c.abort.Err()
		case <-f.frontier.Dry():
		case <-pool.Changed():
		case <-tick.C:
		}
		now := w.now()
		widened, err := pool.Tick(now, c.o.Patience)
		if err != nil {
			return StopFailed, err
		}
		if widened {
			c.readmit()
		}
		if c.o.Progress != nil && now.Sub(lastProgress) >= c.o.ProgressEvery {
			lastProgress = now
			c.o.Progress(c.progress("crawling"))
		}
		s := c.look(ctx, f)
		q, t := seen.look(now, s)
		act, reason := decide(s, q, t, c.o.Patience)
		if act != actHold {
			pool.Let(visit.HeldByBacklog)
		}
		switch act {
		case actHold:
			pool.Hold(visit.HeldByBacklog)
		case actSeal:
			if err := c.rotate(pool); err != nil {
				return StopFailed, err
			}
			seen = watch{}
		case actEnd:
			return reason, pool.Err()
		}
	}
}

// look collects what decide needs.
//
// The order matters. Work goes from the first lane to the frontier, from there to a fetcher, and then into the open
// segment; each place counts it before the one it comes from forgets it. So whoever looks in this order overlooks
// none. In another order a crawl ends now and then with half of its work still to do.
func (c *conductor) look(ctx context.Context, f *fetching) (s state) {
	pool := f.pool
	s.more = c.deliver.pending() > 0 || c.pendings.Load() > 0
	s.updating = c.updating.Load()
	s.frontier = f.frontier.Stats()
	s.busy = pool.Busy()
	seg := pool.Segment()
	size := seg.Size()
	s.pages = size.Pages
	s.full = size.Pages >= segmentPagesMax || size.Bytes >= segmentBytesMax || size.Held >= c.e.w.o.shares().segment ||
		size.Pages > 0 && c.e.w.now().Sub(seg.Created()) >= segmentAgeMax
	s.backlog = len(c.toUpdate) == cap(c.toUpdate)
	s.failed = pool.Err() != nil
	s.interrupted = ctx.Err() != nil
	s.limit = pool.Reached()
	s.paused = c.e.paused.Load()
	s.fetchers = int(c.e.w.net.fetchers.Load())
	return s
}

// rotate puts a new open segment in place of the full one and hands that to the first lane, which has room for it.
func (c *conductor) rotate(pool *visit.Pool) error {
	next, err := c.e.w.createSegment()
	if err != nil {
		return err
	}
	full := pool.Rotate(next)
	c.updating.Add(1)
	c.segments.Add(1)
	c.toUpdate <- full
	return nil
}

// update is the first lane: it seals and updates segments, one after the other, and does the tasks between them.
func (c *conductor) update(f *fetching) {
	defer c.lanes.Done()
	defer close(c.toIndex)
	pool := f.pool
	for {
		select {
		case seg, ok := <-c.toUpdate:
			if !ok {
				return
			}
			err := c.updateSegment(f, seg)
			c.updating.Add(-1)
			pool.Fail(err)
			if err == nil {
				c.toIndex <- seg
			}
		case <-c.tasks:
			pool.Fail(c.doTasks(f))
		}
		pool.Notify()
	}
}

// updateSegment takes a segment through the first lane. The fetchers' own context does not cut a phase short: a
// clean stop finishes what was begun.
func (c *conductor) updateSegment(f *fetching, seg *segment.Writer) error {
	w := c.e.w
	h := hooks{at: c.at,
		seal: func(ctx context.Context, _ uint32) error {
			start := w.now()
			sealed, err := f.pool.Finish(ctx, seg)
			_, err = w.sealed(sealed, start, err)
			return err
		},
		updated: func(_ uint32, r UpdateReport, woken []urlkey.HostKey) {
			c.discovered.Add(r.New)
			f.source.Forget(seg.Hashes())
			f.frontier.Wake(woken...)
		},
	}
	return w.advance(c.abort, laneUpdate, &h, []uint32{seg.Number()})
}

// index is the second lane: it takes updated segments, as many as wait, through invertlinks, dedup and index.
func (c *conductor) index(f *fetching) {
	defer c.lanes.Done()
	h := hooks{at: c.at, leaveLinked: c.ending.Load, indexed: c.noteIndexed}
	for seg := range c.toIndex {
		batch := []uint32{seg.Number()}
	more:
		for len(batch) < indexBatchMax {
			select {
			case next, ok := <-c.toIndex:
				if !ok {
					break more
				}
				batch = append(batch, next.Number())
			default:
				break more
			}
		}
		f.pool.Fail(c.e.w.advance(c.abort, laneIndex, &h, batch))
	}
}

func (c *conductor) at(phase string) { c.phaseName.Store(&phase) }

func (c *conductor) noteIndexed(d DedupReport, x IndexReport) {
	c.duplicates.Add(d.Marked)
	c.restored.Add(d.Restored)
	c.indexed.Add(x.Added)
}

// end stops the fetchers, drains the lanes and, after a crawl that went well, settles what only the whole can
// decide: duplicates by their final scores, anchors by the final linkdb.
func (c *conductor) end(f *fetching, reason StopReason) error {
	pool, w := f.pool, c.e.w
	pool.Stop()
	well := reason != StopFailed && reason != StopAborted
	if well {
		c.ending.Store(true)
		c.updating.Add(1)
		c.toUpdate <- pool.Segment()
	} else {
		pool.Fail(pool.Abandon()) // the next crawl reads it back
	}
	close(c.toUpdate)
	c.lanes.Wait()
	if !well {
		return nil // conduct's error says why
	}
	c.deliver.end() // callbacks may still enqueue
	if err := c.doTasks(f); err != nil {
		return err
	}
	if err := pool.Err(); err != nil {
		return err
	}
	if c.o.Progress != nil {
		c.o.Progress(c.progress("settling"))
	}
	d, err := w.dedup(c.abort, DedupOptions{})
	if err != nil {
		return err
	}
	var x IndexReport
	if !w.o.NoIndex {
		x, err = w.buildIndex(c.abort, IndexOptions{Refresh: true})
	}
	c.noteIndexed(d, x)
	return err
}
