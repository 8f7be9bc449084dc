// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// CrawlOptions say what a crawl starts from and when it ends.
type CrawlOptions struct {
	// Inject names seeds to inject first; empty means go on with what crawldb holds.
	Inject InjectOptions
	Limits
	// Patience is how long a crawl with nothing else to do waits for hosts that sleep after
	// failures; 0 means 10 s. What they still have is due in the next crawl.
	Patience time.Duration
	// Progress, if not nil, is called about every ProgressEvery (0: one second) and at the end.
	Progress      func(Progress)
	ProgressEvery time.Duration
}

// Crawl fetches until nothing is due, a limit is reached or ctx ends, running every phase over
// many small segments: while segment N is being filled, N-1 is in updatedb and N-2 on its way into
// the index. A canceled crawl stops cleanly, everything fetched so far is brought into crawldb,
// linkdb and index, and Crawl returns no error; cancel a second context, Hard, to leave at once.
//
// Whatever an earlier process left behind is finished first, so a crawl that was killed goes on
// when it is started again.
func (e *Engine) Crawl(ctx context.Context, o CrawlOptions) (CrawlReport, error) {
	if !e.fetchMu.TryLock() {
		return CrawlReport{}, errors.New("crawling: a crawl or fetch is already running on this engine")
	}
	defer e.fetchMu.Unlock()
	if err := o.Limits.validate(); err != nil {
		return CrawlReport{}, fmt.Errorf("crawling: %w", err)
	}
	c := &conductor{e: e, o: o, started: time.Now(), cpu: cpuSeconds(), stages: e.stageTimes()}
	if c.o.Patience == 0 {
		c.o.Patience = defaultPatience
	}
	if c.o.ProgressEvery == 0 {
		c.o.ProgressEvery = time.Second
	}
	err := c.run(ctx)
	report := c.report()
	if o.Progress != nil {
		o.Progress(c.progress("done"))
	}
	if err != nil {
		return report, fmt.Errorf("crawling: %w%s", err, advice(err))
	}
	e.done(report)
	return report, nil
}

// conductor runs the table of phases behind the fetchers.
type conductor struct {
	e       *Engine
	o       CrawlOptions
	started time.Time
	cpu     float64
	stages  [stages]time.Duration

	f      *fetching
	source *source

	// toUpdate and toIndex carry sealed and updated segments to the two workers. Their capacity is
	// the backlog after which the conductor shuts the fetchers' gate.
	toUpdate, toIndex chan *openSegment
	working           atomic.Int64 // segments handed to a worker that updatedb is not done with
	ending            atomic.Bool  // fetching is over: only end indexes what is left
	workers           sync.WaitGroup

	discovered, indexed, segments, duplicates, restored atomic.Uint64
	phaseName                                           atomic.Value // of the worker, for progress
	stopped                                             string
}

// run is the life of a crawl: recover, inject, fetch behind a pipeline, drain it, settle.
func (c *conductor) run(ctx context.Context) error {
	e := c.e
	if err := e.network(); err != nil {
		return err
	}
	if err := e.Recover(ctx); err != nil {
		return fmt.Errorf("taking up where an earlier crawl ended: %w", err)
	}
	if err := c.inject(ctx); err != nil {
		return err
	}
	if err := c.begin(ctx); err != nil {
		return err
	}
	err := c.conduct(ctx)
	return errors.Join(err, c.end(ctx, err == nil))
}

func (c *conductor) inject(ctx context.Context) error {
	if in := c.o.Inject; len(in.URLs)+len(in.Files)+len(in.Readers) > 0 {
		r, err := c.e.Inject(ctx, in)
		if err != nil {
			return err
		}
		c.discovered.Add(r.New)
		if r.New+r.Known+r.Changed == 0 {
			return fmt.Errorf("no usable seed: %s", r)
		}
	}
	return nil
}

// begin opens the frontier and the first segment, and starts fetchers and workers.
func (c *conductor) begin(ctx context.Context) error {
	e := c.e
	if !e.o.hasContact() {
		err := e.dueHosts(ctx, e.store, e.nowMS(), func(group []urlkey.HostKey) error { return e.requireContact(ctx, group) }, false)
		if err != nil {
			return err
		}
	}
	before, err := e.store.SegmentList()
	if err != nil {
		return err
	}
	c.source = newSource(e, 0)
	front, err := e.newFrontier(c.source, len(before) > 0)
	if err != nil {
		return err
	}
	seg, err := e.newOpenSegment()
	if err != nil {
		front.Close()
		return err
	}
	c.f = &fetching{e: e, frontier: front, source: c.source, seg: seg, limits: c.o.Limits}
	c.toUpdate, c.toIndex = make(chan *openSegment, backlogMax), make(chan *openSegment, backlogMax)
	front.WakeAll()
	c.f.start(ctx)
	c.workers.Add(2)
	go c.updater()
	go c.indexer()
	return nil
}

// newFrontier opens a frontier with the engine's politeness. resume says that an earlier process, or an
// earlier phase of this one, may just have asked the same hosts.
func (e *Engine) newFrontier(s *source, resume bool) (*frontier.Frontier, error) {
	return frontier.New(frontier.Options{Source: s, Delay: e.o.Delay, Fetchers: e.o.Concurrency, PerHost: e.o.PerHost, Refillers: frontierRefillers, Resume: resume,
		MaxHosts:  int(min(max(e.o.Memory/frontierHostShare, frontierHostsMin), frontierHostsMax)),
		MaxQueued: int(e.o.Memory / frontierURLShare),
		OnDrop:    s.release,
		OnHost:    e.remember})
}

// newOpenSegment makes the next segment known to the store and opens its WARC.
func (e *Engine) newOpenSegment() (*openSegment, error) {
	number, err := e.store.NextSegmentNumber()
	if err != nil {
		return nil, err
	}
	seg := storage.Segment{Number: number, State: storage.SegmentOpen, Created: e.o.Now()}
	if err := e.store.PutSegment(seg); err != nil {
		return nil, err
	}
	e.reached(number, storage.SegmentOpen)
	return e.openSegment(seg)
}

// conduct watches the fetchers and seals the open segment when it is full, when the frontier would run
// dry, or when it gets thin: a quarter of the hosts that were at work have run out of URLs, more of which
// are perhaps in the open segment, and most fetchers have nothing to do. (Waiting for all would leave them
// idle while some hosts, slow ones most likely, still have something; while they are busy, larger segments
// are cheaper.) It ends when there is nothing more to do.
func (c *conductor) conduct(ctx context.Context) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	lastProgress := time.Now()
	var quiet quietness
	var thin thinness
	for {
		select {
		case <-ctx.Done():
			c.stopped = "interrupted"
			return nil
		case <-c.f.frontier.Dry():
		case <-c.f.changed:
		case <-tick.C:
		}
		if err := c.f.err(); err != nil {
			return err
		}
		if err := c.f.disk.tick(c.f, time.Now(), c.o.Patience); err != nil {
			return err
		}
		c.f.followFilters()
		if c.stopped = c.f.reached(); c.stopped != "" {
			return nil
		}
		if c.o.Progress != nil && time.Since(lastProgress) >= c.o.ProgressEvery {
			lastProgress = time.Now()
			c.o.Progress(c.progress("crawling"))
		}
		// The order matters. Work goes from updatedb to the frontier, from there to a fetcher, and then into the
		// open segment; each place counts it before the one it comes from forgets it. So whoever looks in this
		// order overlooks none. In another, a crawl ends now and then with half of its work still to do.
		working := c.working.Load()
		stats := c.f.frontier.Stats()
		busy := c.f.busy.Load()
		full, pages := c.full()
		quiet.note(time.Now(), stats, busy, working)
		thin.note(quiet.now, stats, 2*busy < int64(c.e.o.Concurrency))
		switch {
		case full || pages >= thinPages && thin.long(quiet.now) && c.working.Load() == 0 || pages > 0 && quiet.hungry():
			if err := c.rotate(ctx); err != nil {
				return err
			}
			quiet, thin = quietness{}, thinness{}
		case pages == 0 && quiet.over(c.o.Patience):
			c.stopped = "done"
			return nil
		}
	}
}

// full reports whether the open segment should be sealed for its size or age, and how many pages it has.
func (c *conductor) full() (bool, uint64) {
	seg := c.f.seg
	pages := seg.builder.pages()
	bytes, held := seg.builder.sizes()
	return pages >= segmentPagesMax || bytes >= segmentBytesMax || held >= c.e.o.Memory/segmentMemoryShare ||
		pages > 0 && c.e.o.Now().Sub(seg.created) >= segmentAgeMax, pages
}

// thinness tells how long fetchers have been idle for want of hosts that still have URLs.
type thinness struct {
	peak  int       // of hosts at work, since the open segment began
	since time.Time // zero: it is not thin
}

func (t *thinness) note(now time.Time, s frontier.Stats, idle bool) {
	atWork := s.Ready + s.InFlight + s.Refilling + s.Waiting - s.Far
	t.peak = max(t.peak, atWork)
	if !idle || s.Ready > 0 || 4*atWork >= 3*t.peak {
		t.since = time.Time{}
	} else if t.since.IsZero() {
		t.since = now
	}
}

func (t *thinness) long(now time.Time) bool { return !t.since.IsZero() && now.Sub(t.since) >= thinTime }

// quietness tells how long the fetchers have had nothing to do, and why.
type quietness struct {
	now          time.Time
	dry, idle    time.Time // since when; zero: not
	asleep       bool
	throttled    bool
	noneInFlight bool
}

func (q *quietness) note(now time.Time, s frontier.Stats, busy, working int64) {
	q.now = now
	q.asleep, q.throttled = s.Asleep > 0, s.Throttled > 0
	// A visit is the frontier's until it is done, and the fetcher's until it is stored; between the two
	// both count it, so that it is never overlooked.
	busy += int64(s.InFlight + s.Ready)
	q.noneInFlight = busy == 0
	if s.Soon() {
		*q = quietness{now: now}
		return
	}
	// A host that has to be waited for long does not keep the rest from being updated.
	if q.dry.IsZero() {
		q.dry = now
	}
	if busy > 0 || working > 0 || s.Queued > s.Punished {
		q.idle = time.Time{}
	} else if q.idle.IsZero() {
		q.idle = now
	}
}

// hungry: the frontier is dry, so the links of the open segment are wanted now. Visits still in
// flight get a moment to end, so that a small site is not cut into a segment per page.
func (q *quietness) hungry() bool {
	return !q.dry.IsZero() && (q.noneInFlight || q.now.Sub(q.dry) >= sealQuiet)
}

// over: nothing is queued, in flight or in the pipeline. Hosts that sleep after failures are waited
// for as long as patience lasts, and those that asked to be left alone (429, 503) somewhat longer.
func (q *quietness) over(patience time.Duration) bool {
	quiet := q.now.Sub(q.idle)
	switch {
	case q.idle.IsZero():
		return false
	case q.throttled:
		return quiet >= throttledPatience*patience
	case q.asleep:
		return quiet >= patience
	}
	return true
}

// rotate puts a new open segment in place of the full one and hands that to the pipeline. While
// the pipeline is behind, fetchers wait at the gate.
func (c *conductor) rotate(ctx context.Context) error {
	next, err := c.e.newOpenSegment()
	if err != nil {
		return err
	}
	c.f.segMu.Lock()
	sealed := c.f.seg
	c.f.seg = next
	c.f.segMu.Unlock()
	c.working.Add(1)
	c.segments.Add(1)
	select {
	case c.toUpdate <- sealed:
		return nil
	default:
	}
	c.f.gate.close(heldByBacklog)
	defer c.f.gate.open(heldByBacklog)
	select {
	case c.toUpdate <- sealed:
		return nil
	case <-ctx.Done():
		c.toUpdate <- sealed // the updater always gets there
		return nil
	}
}

// updater seals and updates segments, one after the other, and wakes the hosts that gained URLs.
func (c *conductor) updater() {
	defer c.workers.Done()
	defer close(c.toIndex)
	for seg := range c.toUpdate {
		// The fetchers' own context must not cut a phase short: a clean stop finishes what was begun.
		err := c.update(context.Background(), seg)
		c.working.Add(-1)
		c.f.fail(err)
		c.f.notify()
		if err == nil {
			c.toIndex <- seg
		}
	}
}

func (c *conductor) update(ctx context.Context, seg *openSegment) error {
	c.phaseName.Store("updatedb")
	defer c.phaseName.Store("")
	if _, err := c.f.finish(ctx, seg); err != nil {
		return err
	}
	woken, report, err := c.e.updateDB(ctx, seg.number)
	if err != nil {
		return err
	}
	c.discovered.Add(report.New)
	c.source.forget(seg.keys)
	c.f.frontier.Wake(woken...)
	return nil
}

// indexer takes updated segments, as many as wait, through invertlinks, dedup and index.
func (c *conductor) indexer() {
	defer c.workers.Done()
	for seg := range c.toIndex {
		batch := []uint32{seg.number}
	more:
		for len(batch) < indexBatchMax {
			select {
			case next, ok := <-c.toIndex:
				if !ok {
					break more
				}
				batch = append(batch, next.number)
			default:
				break more
			}
		}
		c.f.fail(c.link(context.Background(), batch))
	}
}

func (c *conductor) link(ctx context.Context, batch []uint32) error {
	for _, n := range batch {
		if _, err := c.e.InvertLinks(ctx, n); err != nil {
			return err
		}
	}
	if c.ending.Load() {
		return nil // end does the rest once, for all
	}
	d, err := c.e.Dedup(ctx, DedupOptions{Segments: batch})
	if err != nil {
		return err
	}
	c.duplicates.Add(d.Marked)
	c.restored.Add(d.Restored)
	if c.e.o.NoIndex {
		return nil
	}
	x, err := c.e.Index(ctx, IndexOptions{Segments: batch})
	c.indexed.Add(x.Added)
	return err
}

// end stops the fetchers, drains the pipeline and, after a crawl that went well, settles what only
// the whole can decide: duplicates by their final scores, anchors by the final linkdb.
func (c *conductor) end(ctx context.Context, ok bool) error {
	c.f.stop()
	if ok {
		c.ending.Store(true)
		c.working.Add(1)
		c.toUpdate <- c.f.seg
	} else if err := c.abandon(); err != nil {
		c.f.fail(err)
	}
	close(c.toUpdate)
	c.workers.Wait()
	if !ok {
		return nil // conduct's error says why
	}
	if err := c.f.err(); err != nil {
		return err
	}
	if c.o.Progress != nil {
		c.o.Progress(c.progress("settling"))
	}
	settle := context.WithoutCancel(ctx)
	d, err := c.e.Dedup(settle, DedupOptions{})
	if err != nil {
		return err
	}
	c.duplicates.Add(d.Marked)
	c.restored.Add(d.Restored)
	if c.e.o.NoIndex {
		return nil
	}
	x, err := c.e.Index(settle, IndexOptions{Refresh: true})
	c.indexed.Add(x.Added)
	return err
}

// abandon syncs and closes the open segment without sealing it: after a failure, of the disk perhaps,
// nothing more is written than must be. The next crawl reads it back.
func (c *conductor) abandon() error {
	seg := c.f.seg
	defer seg.builder.close()
	if err := c.f.sync(seg); err != nil {
		return err
	}
	_, err := seg.warc.Close()
	return err
}

// report is the sum of the crawl so far.
func (c *conductor) report() CrawlReport {
	r := CrawlReport{Stopped: c.stopped, Discovered: c.discovered.Load(), Indexed: c.indexed.Load(), Segments: c.segments.Load()}
	if marked, restored := c.duplicates.Load(), c.restored.Load(); marked > restored {
		r.Duplicates = marked - restored
	}
	if c.f != nil {
		r.FetchReport = c.f.counts()
		r.HostsAsleep = uint64(c.f.frontier.Stats().Asleep)
	}
	r.Seconds = since(c.started)
	r.CPUSeconds = cpuSeconds() - c.cpu
	r.CPUByStage = c.e.stagesSince(c.stages)
	if r.Seconds > 0 {
		r.PagesPerSecond = float64(r.Fetched) / float64(r.Seconds)
	}
	return r
}
