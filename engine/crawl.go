// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// CrawlOptions say what a crawl starts from and when it ends. The zero value crawls what crawldb holds until nothing is
// due.
type CrawlOptions struct {
	// Inject names seeds to inject first; empty means go on with what crawldb holds.
	Inject InjectOptions
	Limits
	// Patience is how long a crawl with nothing else to do waits for hosts that sleep after failures; 0 means 10 s.
	// What they still have is due in the next crawl.
	Patience time.Duration
	// Abort, when it is canceled, ends the crawl at once: phases under way are cut short and nothing is settled.
	// What was synced is kept, and the next crawl takes it up. nil: only ctx ends a crawl, cleanly.
	Abort context.Context
	// Progress, if not nil, is called about every ProgressEvery (0: one second) and at the end, on the goroutine that
	// called Crawl. It must be quick: while it runs no segment is sealed.
	Progress      func(Progress)
	ProgressEvery time.Duration
}

// StopReason says why a crawl ended.
type StopReason string

// The reasons.
const (
	StopDone        StopReason = "done"      // nothing is due any more
	StopMaxPages    StopReason = "max-pages" // Limits.MaxPages was reached, and so on
	StopMaxBytes    StopReason = "max-bytes"
	StopMaxTime     StopReason = "max-time"
	StopInterrupted StopReason = "interrupted" // the context was canceled, or the engine closed
	StopAborted     StopReason = "aborted"     // CrawlOptions.Abort was canceled
	StopFailed      StopReason = "failed"      // the error says of what
)

// Crawl fetches until nothing is due, a limit is reached or ctx ends, running every phase over many small segments:
// while segment N is being filled, N-1 is in updatedb and N-2 on its way into the index.
//
// Whatever an earlier process left behind is finished first, and fetchlists that Generate made are fetched first, so
// a crawl that was killed goes on when it is started again.
//
// A canceled context stops the crawl cleanly: everything fetched so far is brought into crawldb, linkdb and index, and
// Crawl returns no error and StopInterrupted. CrawlOptions.Abort ends it at once.
//
// Errors: ErrBusy, ErrNoContact, ErrDiskLow, and those of disk and store. The report counts what was done either way.
func (e *Engine) Crawl(ctx context.Context, o CrawlOptions) (CrawlReport, error) {
	leave, err := e.enter()
	if err != nil {
		return CrawlReport{}, err
	}
	defer leave()
	if !e.running.TryLock() {
		return CrawlReport{}, wrapf(ErrBusy, "crawling")
	}
	defer e.running.Unlock()
	if err := o.Limits.validate(); err != nil {
		return CrawlReport{}, fmt.Errorf("crawling: %w", err)
	}
	ctx, cancel := e.within(ctx)
	defer cancel()
	c := newConductor(e, o)
	e.crawl.Store(c)
	defer e.crawl.Store(nil)
	err = c.run(ctx)
	switch {
	case err != nil && c.abort.Err() != nil:
		c.stopped = StopAborted
	case err != nil:
		c.stopped = StopFailed
	}
	report := c.report()
	if o.Progress != nil {
		o.Progress(c.progress("done"))
	}
	if err != nil {
		return report, fmt.Errorf("crawling: %w%s", err, advice(err))
	}
	e.w.done(report)
	return report, nil
}

// run is the life of a crawl: recover, inject, fetch what waits, fetch behind a pipeline, drain it, settle.
func (c *conductor) run(ctx context.Context) error {
	w := c.e.w
	if _, err := w.network(); err != nil {
		return err
	}
	c.deliver = w.pages.start()
	defer c.deliver.end()
	if over, err := c.prepare(ctx); err != nil || over {
		return err
	}
	f, err := c.begin(ctx)
	if err != nil {
		return err
	}
	c.stopped, err = c.conduct(ctx, f)
	return errors.Join(err, c.end(f, c.stopped))
}

// prepare does what comes before the first fetch from crawldb. over says that there is nothing left to crawl for: a
// limit is reached, or ctx has ended.
func (c *conductor) prepare(ctx context.Context) (over bool, err error) {
	w := c.e.w
	both, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.abort, cancel)()
	steps := []func() error{
		func() error { return wrapf(w.settle(both), "taking up where an earlier crawl ended") },
		func() error { return c.injectSeeds(both) },
		func() error {
			_, found, err := w.readmit(both)
			c.discovered.Add(found)
			return err
		},
		func() error { return w.requireContactDue(both) },
		func() error {
			over, err = c.fetchWaiting(ctx)
			return err
		},
	}
	for _, step := range steps {
		if err := step(); err != nil {
			if ctx.Err() != nil && c.abort.Err() == nil && errors.Is(err, context.Canceled) {
				c.stopped = StopInterrupted
				return true, nil
			}
			return true, err
		}
	}
	return over, nil
}

func (c *conductor) injectSeeds(ctx context.Context) error {
	in := c.o.Inject
	if in.empty() {
		return nil
	}
	r, _, err := c.e.w.inject(ctx, in)
	if err != nil {
		return err
	}
	c.discovered.Add(r.New)
	if r.New+r.Known+r.Changed == 0 {
		return fmt.Errorf("no usable seed: %s", r)
	}
	return nil
}

// fetchWaiting fetches the fetchlists that Generate made and nobody has begun to fetch, and takes their segments through
// all phases. over says that a limit or the end of ctx leaves nothing to crawl for.
func (c *conductor) fetchWaiting(ctx context.Context) (over bool, err error) {
	w := c.e.w
	list, err := w.store.SegmentList()
	if err != nil {
		return false, err
	}
	for _, s := range list {
		waits, err := w.waitsForFetch(s)
		if err != nil {
			return false, err
		}
		if !waits {
			continue
		}
		limits, reason := c.left()
		if ctx.Err() != nil {
			reason = StopInterrupted
		}
		if reason != "" {
			c.stopped = reason
			return true, nil
		}
		o := FetchOptions{Segment: s.Number, Limits: limits, Patience: c.o.Patience}
		if c.o.Progress != nil {
			o.Progress = func(FetchReport) { c.o.Progress(c.progress("fetching")) }
		}
		counts, err := w.fetchSegment(ctx, o, c.watchFetching)
		c.live.Store(nil)
		c.earlier = c.earlier.Plus(counts)
		c.segments.Add(1)
		if err == nil {
			err = w.settle(c.abort)
		}
		if err != nil {
			return false, fmt.Errorf("fetching the fetchlist of segment %d: %w", s.Number, err)
		}
	}
	return false, nil
}

// left returns what fetchlists that were fetched first left of the limits, and the one that is reached, which is
// negative.
func (c *conductor) left() (l Limits, reason StopReason) {
	l = *c.limits.Load()
	if l.MaxTime > 0 {
		if l.MaxTime -= c.e.w.now().Sub(c.started); l.MaxTime <= 0 {
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
