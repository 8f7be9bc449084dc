// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/engine/internal/visit"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// conductor runs the table of phases behind the fetchers of one crawl. One lane seals, updates and links segments, the
// next indexes them. The goroutine that called Crawl conducts: it looks, decides (decide.go) and acts.
type conductor struct {
	w       *work
	o       CrawlOptions
	ctx     context.Context // of the crawl
	stop    func()          // ends ctx
	abort   context.Context // cuts phases short; ends with CrawlOptions.Abort
	sending context.Context // of index writers; ends with abort and with Close
	started time.Time
	cpu     time.Duration // of the process, at the start
	stages  stageTimes    // at the start
	deliver *delivery
	stopped StopReason // set by the conducting goroutine at the end
	failed  error      // that Crawl returns; set as stopped is
	phase   atomic.Pointer[string]

	// w.live.mu is held to change these. limits and live may be read without it, earlier by the conducting goroutine,
	// which alone changes it.
	limits  atomic.Pointer[Limits]
	live    atomic.Pointer[fetching] // nil while nothing is fetched
	earlier segment.Counts           // of fetchlists that were fetched first

	// toUpdate and toIndex carry segments to the lanes. The first lane is never held up by the second: see
	// state.behind.
	toUpdate chan *segment.Writer
	toIndex  chan uint32
	tasks    *tasks
	calms    calms
	updating atomic.Int64 // segments handed to the first lane that it has not brought into crawldb
	unfound  atomic.Int64 // segments handed to the first lane whose pages are not searchable yet
	brake    brake
	lanes    sync.WaitGroup

	discovered, segments, duplicates, restored, denied atomic.Uint64

	sends   sends
	merging merges
	indexed atomic.Int64 // documents added, less those that left the index
	refused tally        // links, by reason
}

func newConductor(w *work, o CrawlOptions) *conductor {
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	if o.ProgressEvery == 0 {
		o.ProgressEvery = time.Second
	}
	c := &conductor{
		w: w, o: o, abort: o.Abort, started: w.now(), cpu: processCPU(), stages: w.stages.times(w.store),
		tasks: newTasks(), brake: brake{yield: w.index.Yield},
	}
	if c.abort == nil {
		c.abort = context.Background()
	}
	c.limits.Store(&o.Limits)
	c.enters(phasePreparing)
	return c
}

// begin opens the frontier and the first segment, and starts fetchers and lanes.
func (c *conductor) begin(ctx context.Context) (*fetching, error) {
	w := c.w
	before, err := w.store.SegmentList()
	if err != nil {
		return nil, err
	}
	seg, err := c.createSegment()
	if err != nil {
		return nil, err
	}
	f, err := w.startFetching(ctx, w.crawldbSupply(), seg, nil, Limits{}, len(before) > 0, c.watchFetching)
	if err != nil {
		return nil, err
	}
	c.toUpdate, c.toIndex = make(chan *segment.Writer, backlogMax), make(chan uint32, indexQueueMax)
	c.sends.start(w, c.sending)
	c.merging.start(c.abort, mergeWork{
		w.mergeAll, settler{w, c.noteIndexed}.beside, w.o.settleEvery(), f.pool.Fail,
	})
	if !w.o.NoIndex {
		c.merging.begin() // with what the end of the crawl before left
	}
	w.live.storing.Store(true)
	c.lanes.Add(2)
	go c.update(f)
	go c.index(f)
	return f, nil
}

// watchFetching makes a run of fetchers the one that is looked at and controlled. startFetching calls it.
func (c *conductor) watchFetching(f *fetching) {
	c.live.Store(f)
	rest, _ := c.left(f.began)
	f.pool.SetLimits(visit.Limits(rest))
	if c.w.live.paused.Load() {
		f.pool.Hold(visit.HeldByPause)
	}
}

// left returns the limits less what earlier fetchlists used of them, for a run of fetchers that began at a time. Of
// a limit that is reached -1 is left; reason names it.
func (c *conductor) left(began time.Time) (l Limits, reason StopReason) {
	l = *c.limits.Load()
	if l.MaxTime > 0 {
		if l.MaxTime -= began.Sub(c.started); l.MaxTime <= 0 {
			l.MaxTime, reason = -1, StopMaxTime
		}
	}
	if l.MaxBytes > 0 {
		if l.MaxBytes -= int64(c.earlier.Bytes); l.MaxBytes <= 0 {
			l.MaxBytes, reason = -1, StopMaxBytes
		}
	}
	if l.MaxPages > 0 {
		if l.MaxPages -= int64(c.earlier.Fetched); l.MaxPages <= 0 {
			l.MaxPages, reason = -1, StopMaxPages
		}
	}
	return l, reason
}

// createSegment makes the next segment and opens its WARC.
func (c *conductor) createSegment() (*segment.Writer, error) {
	seg, err := c.w.segments.Create()
	if err == nil {
		c.w.reached(seg.Number(), storage.SegmentOpen)
	}
	return seg, err
}

// conduct looks at the state of the crawl, at most every 50 ms or so, and does what decide says until it says to end.
func (c *conductor) conduct(ctx context.Context, f *fetching) (StopReason, error) {
	pool, w := f.pool, c.w
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	defer c.brake.release()
	lastProgress := w.now()
	var seen watch
	c.enters(phaseCrawling)
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
			c.tasks.readmit()
			f.frontier.WakeAll() // pages of hosts that were refused until now may be due
		}
		if now.Sub(lastProgress) >= c.o.ProgressEvery {
			lastProgress = now
			c.show(c.progress(phaseCrawling))
		}
		if err := c.tend(f); err != nil {
			return StopFailed, err
		}
		s := c.look(ctx, f)
		q, t := seen.look(now, s)
		act, reason := decide(s, q, t, c.o.Patience)
		if act != actHold && act != actBrake {
			pool.Let(visit.HeldByBacklog)
		}
		switch act {
		case actHold, actBrake:
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
// The order matters. Work goes from callbacks and tasks to the first lane, from there to the frontier, to a fetcher,
// and into the open segment. Each place counts it before the one before forgets it, so a look in this order misses
// none. In another order a crawl now and then ends with half of its work undone.
func (c *conductor) look(ctx context.Context, f *fetching) (s state) {
	pool := f.pool
	s.more = c.deliver.pending() > 0 || c.tasks.pending() || c.calms.first() != nil
	s.updating = c.updating.Load()
	s.frontier = f.frontier.Stats()
	s.busy, s.storing = pool.Busy(), pool.Storing()
	s.refused = c.w.net.hosts.RefusedHere()
	seg := pool.Segment()
	now := c.w.now()
	size, age := seg.Size(), now.Sub(seg.Created())
	fill := c.fill(size)
	s.pages = size.Pages
	c.w.live.held.Store(c.brake.unfound(int(c.unfound.Load())) + size.Held)
	waits := age >= segmentAgeMax || pool.Held()&visit.HeldByDisk != 0 // what is stored needs no more space
	s.full = fill >= 1 || size.Pages > 0 && waits
	s.old = age >= thinAge
	s.backlog = len(c.toUpdate) == cap(c.toUpdate)
	in := lanes{segments: int(s.updating) + len(c.toIndex), unfound: int(c.unfound.Load()), open: fill}
	s.behind = in.segments > 2*backlogMax
	s.braked = c.brake.look(in, now)
	s.turn = float64(now.UnixNano()%int64(brakeTurn)) / float64(brakeTurn)
	s.failed = pool.Err() != nil
	s.interrupted = ctx.Err() != nil
	s.limit = pool.Reached()
	s.paused = c.w.live.paused.Load()
	s.fetchers = int(c.w.live.fetchers.Load())
	return s
}

// fill returns how full a segment is; at 1 it is to be sealed.
func (c *conductor) fill(size segment.Size) float64 {
	return max(float64(size.Pages)/segmentPagesMax, float64(size.Bytes)/segmentBytesMax,
		float64(size.Held)/float64(c.w.o.shares().segment))
}

// rotate opens a new segment and hands the full one to the first lane, which has room for it.
func (c *conductor) rotate(pool *visit.Pool) error {
	next, err := c.createSegment()
	if err != nil {
		return err
	}
	full := pool.Rotate(next)
	c.updating.Add(1)
	c.unfound.Add(1)
	c.segments.Add(1)
	size := full.Size()
	c.brake.hand(handed{c.fill(size), int(size.Pages), c.w.now(), size.Held})
	c.toUpdate <- full
	return nil
}

// tend takes the first deletion a step on. The conducting goroutine calls it at each look.
func (c *conductor) tend(f *fetching) error {
	q := c.calms.first()
	switch {
	case q == nil:
		return nil
	case q.d == nil:
		q.d = f.pool.Deleting(q.has)
	case q.done:
		select {
		case <-q.over:
			f.pool.EndDeleting(q.d)
			f.pool.Notify()
			c.calms.drop()
		default:
		}
	case !q.rotated:
		return c.replaceFor(f, q)
	case c.updating.Load() == 0:
		seg := f.pool.Segment().Number()
		err := c.w.requireLinked(seg)
		if err == nil {
			q.open, q.done = seg, true
			close(q.reached)
		} else if !errors.Is(err, ErrWrongState) {
			return err
		}
	}
	return nil
}

// replaceFor replaces the open segment when nothing of a deletion is on its way into it.
func (c *conductor) replaceFor(f *fetching, q *calm) error {
	switch {
	case f.pool.Requested(q.d):
		return nil
	case f.pool.Segment().Size().Pages == 0:
	case len(c.toUpdate) == cap(c.toUpdate):
		return nil // the lane catches up
	default:
		if err := c.rotate(f.pool); err != nil {
			return err
		}
	}
	q.rotated = true
	return nil
}

// update is the first lane: it seals, updates and links segments, one after another, and does the tasks between them.
// Fetchers have what a segment brings before its links are inverted. A deletion waits until they are.
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
			pool.Notify()
			if err == nil {
				err = c.w.advance(c.abort, laneLink, &hooks{}, []uint32{seg.Number()})
			}
			if pool.Fail(err); err == nil {
				c.toIndex <- seg.Number()
			}
		case <-c.tasks.ready:
			pool.Fail(c.doTasks())
		}
		pool.Notify()
	}
}

// updateSegment takes a segment through the first lane. Its context is not that of the crawl: a clean stop finishes
// phases that have begun.
func (c *conductor) updateSegment(f *fetching, seg *segment.Writer) error {
	w := c.w
	h := hooks{
		seal: func(ctx context.Context, _ uint32) error {
			start := w.now()
			sealed, err := f.pool.Finish(ctx, seg)
			_, err = w.sealed(sealed, start, err)
			return err
		},
		updated: func(_ uint32, r UpdateReport, woken []urlkey.HostKey) {
			c.discovered.Add(r.New)
			c.refused.add(r.Filtered)
			f.source.Forget(seg.Number(), seg.Hashes())
			f.frontier.Wake(woken...)
		},
	}
	return w.advance(c.abort, laneUpdate, &h, []uint32{seg.Number()})
}

// index is the second lane.
func (c *conductor) index(f *fetching) {
	defer c.lanes.Done()
	l := indexLane{w: c.w, ctx: c.abort, fail: f.pool.Fail, done: func(n int) { c.unfound.Add(-int64(n)) }}
	l.hooks = &hooks{indexed: func(d DedupReport, x IndexReport) {
		c.noteIndexed(d, x)
		c.merging.begin()
	}}
	l.run(c.toIndex)
}

// doTasks injects what was enqueued and brings in withheld links. The first lane calls it, and the conducting
// goroutine when the lanes have ended.
func (c *conductor) doTasks() error {
	urls, widened := c.tasks.take()
	defer c.tasks.done()
	if len(urls) > 0 {
		r, woken, err := c.w.inject(c.abort, InjectOptions{URLs: urls})
		if err != nil {
			c.tasks.putBack(urls) // Crawl warns of them
			return err
		}
		if r.Malformed > 0 {
			c.w.warn(fmt.Errorf("of %d enqueued URLs %d are malformed: %s", r.Lines, r.Malformed,
				strings.Join(r.Examples, "; ")))
		}
		c.gained(r.New, woken)
	}
	if widened {
		woken, found, err := c.w.readmit(c.abort)
		if err != nil {
			return err
		}
		c.gained(found, woken)
	}
	return nil
}

// gained counts new URLs, and wakes the hosts that have something due by them.
func (c *conductor) gained(urls uint64, woken []urlkey.HostKey) {
	c.discovered.Add(urls)
	if f := c.live.Load(); f != nil {
		f.frontier.Wake(woken...)
	}
}

// lastTasks waits for the last callback and does what was enqueued until then. Later calls of Enqueue are refused.
func (c *conductor) lastTasks() error {
	c.deliver.end()
	c.tasks.close()
	return c.doTasks()
}

func (c *conductor) noteIndexed(d DedupReport, x IndexReport) {
	c.duplicates.Add(d.Marked)
	c.restored.Add(d.Restored)
	c.denied.Add(x.Denied)
	c.sends.offer(x.Segments)
	c.indexed.Add(int64(x.Added) - int64(x.Deleted) - int64(d.Deleted))
}

// end stops the fetchers and drains the lanes. After a crawl without an error it then settles the whole.
func (c *conductor) end(f *fetching, reason StopReason) error {
	pool, w := f.pool, c.w
	c.calms.close()
	pool.Stop()
	c.enters(phaseSettling)
	well := reason != StopFailed && reason != StopAborted
	if well {
		c.updating.Add(1)
		c.unfound.Add(1)
		if pool.Segment().Size().Pages > 0 {
			c.segments.Add(1)
		}
		c.toUpdate <- pool.Segment()
	} else {
		pool.Fail(pool.Abandon()) // the next crawl reads the segment back
	}
	close(c.toUpdate)
	c.lanes.Wait()
	c.brake.done()
	w.live.held.Store(0)
	w.live.storing.Store(false)
	c.sends.end()
	var merged sync.WaitGroup // beside what does not need it
	merged.Go(func() { c.merging.end(well, max(w.now().Sub(c.started)/lastMergeShare, lastMergeLeast)) })
	defer merged.Wait()
	if !well {
		return nil // conduct's error says why
	}
	if err := errors.Join(c.abort.Err(), pool.Err()); err != nil {
		return err
	}
	if err := c.lastTasks(); err != nil {
		return err
	}
	return c.settleWhole(merged.Wait)
}

// settleWhole settles what only the whole crawl can decide: ranks, if they are wanted, duplicates by their final
// scores, anchors by the final linkdb. If nothing changed since that was done last, nothing is read. merged waits
// for the last merges of the index, which the last step needs.
func (c *conductor) settleWhole(merged func()) error {
	w := c.w
	c.enters(phaseSettling)
	c.show(c.progress(phaseSettling))
	marked, purged, err := w.tidy(c.abort)
	c.indexed.Add(-int64(marked.Documents) - int64(purged.Documents))
	if err != nil {
		return err
	}
	if err := (settler{w, c.noteIndexed}).atEnd(c.abort, merged); err != nil {
		return err
	}
	return c.sendLast()
}

// sendLast brings index writers up to date at the end of a crawl. What they do not take, or not before Close, is a
// warning: the crawl itself is done, and the next run sends the rest.
func (c *conductor) sendLast() error {
	if c.w.o.NoIndex {
		return nil
	}
	var reports []SendReport
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		reports, err = c.w.sendAll(c.sending, nil, sendOptions{begins: c.sends.begins, longest: sendLongest})
	}()
	c.showUntil(done)
	c.sends.begins("", time.Time{})
	c.sends.note(reports)
	if err != nil && c.abort.Err() != nil {
		return err
	}
	c.w.warn(err)
	return nil
}

// showUntil shows the progress of settling every now and then, until a channel is closed.
func (c *conductor) showUntil(done <-chan struct{}) {
	tick := time.NewTicker(max(c.o.ProgressEvery, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			c.show(c.progress(phaseSettling))
		}
	}
}

// show calls CrawlOptions.Progress, if there is one.
func (c *conductor) show(p Progress) {
	if c.o.Progress != nil {
		c.o.Progress(p)
	}
}

// enters notes that a Progress.Phase begins.
func (c *conductor) enters(phase string) { c.phase.Store(&phase) }

// progress describes the crawl at one moment.
func (c *conductor) progress(phase string) Progress {
	s := c.situation(phase)
	s.Progress.Cause, s.Progress.Also = s.causes()
	return s.Progress
}

// counted returns the run of fetchers, nil if there is none, and the counts of the crawl so far.
func (c *conductor) counted() (*fetching, segment.Counts) {
	c.w.live.mu.Lock()
	defer c.w.live.mu.Unlock()
	f := c.live.Load()
	if f == nil {
		return nil, c.earlier
	}
	return f, c.earlier.Plus(f.pool.Counts())
}

// situation is what progress and cause are made of. The crawl has ended when c.stopped is set. It reads the disk, so no
// lock is held meanwhile that controlling the crawl takes.
func (c *conductor) situation(phase string) (s situation) {
	w := c.w
	limits := c.limits.Load()
	s.Progress = Progress{
		Phase: phase, Elapsed: w.now().Sub(c.started), Stages: w.stages.times(w.store).since(c.stages),
		MaxPages: limits.MaxPages, MaxBytes: limits.MaxBytes, MaxTime: limits.MaxTime, MemoryLimit: w.o.Memory,
		Discovered: c.discovered.Load(), Indexed: uint64(max(c.indexed.Load(), 0)), Backlog: c.updating.Load(),
		Fetchers: int(w.live.fetchers.Load()), Paused: w.live.paused.Load(),
	}
	p := &s.Progress
	f, r := c.counted()
	if f != nil {
		s.look(w, f)
	}
	if c.brake.slows() {
		s.holders |= visit.HeldByBacklog
	}
	p.Fetched, p.Failed, p.Bytes = r.Fetched, r.Failed, r.Bytes
	p.NotModified, p.Redirected, p.RobotsDenied = r.NotModified, r.Redirected, r.RobotsDenied
	p.Gone, p.Failures = r.Gone, r.Failures
	s.delays = r.CrawlDelay
	p.PagesPerSecond = float64(r.Fetched) / max(p.Elapsed.Seconds(), 1e-3)
	s.lookAtDisk(w)
	p.HeapBytes = heapBytes()
	s.refused = c.refused.all()
	s.sending = c.sends.waiting(w.now())
	if phase == phaseDone {
		s.err = c.failed
		s.ended(w, c.stopped)
	}
	return s
}
