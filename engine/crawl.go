// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// run is the life of a crawl: recover, inject, fetch waiting fetchlists, fetch from crawldb with the lanes behind,
// drain them, settle.
func (c *conductor) run(ctx context.Context) error {
	w := c.w
	net, err := w.network()
	if err != nil {
		return err
	}
	net.hosts.Begin()
	c.deliver = w.pages.start()
	defer c.deliver.end()
	over, err := c.prepare(ctx)
	if err != nil {
		return err
	}
	if over {
		if err := c.lastTasks(); err != nil || c.segments.Load() == 0 {
			return err
		}
		return c.settleWhole(func() {})
	}
	f, err := c.begin(ctx)
	if err != nil {
		return err
	}
	c.stopped, err = c.conduct(ctx, f)
	return errors.Join(err, c.end(f, c.stopped))
}

// prepare does what comes before the first fetch from crawldb. over says that the crawl ends here, because a limit is
// reached or ctx has ended.
func (c *conductor) prepare(ctx context.Context) (over bool, err error) {
	w := c.w
	both, cancel := either(ctx, c.abort)
	defer cancel()
	steps := []func() error{
		func() error { return wrapf(w.settle(both, &hooks{}), "finishing what an earlier process left") },
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
			if ctx.Err() != nil && c.abort.Err() == nil && errors.Is(err, ctx.Err()) {
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
	r, _, err := c.w.inject(ctx, in)
	if err != nil {
		return err
	}
	c.discovered.Add(r.New)
	if r.New+r.Known+r.Changed == 0 && r.Lines > 0 {
		return fmt.Errorf("%w: %s", ErrNoSeed, strings.Join(r.Examples, "; "))
	}
	for _, x := range r.Examples {
		c.w.warn(fmt.Errorf("seed not injected: %s", x))
	}
	if more := r.Filtered + r.Malformed - uint64(len(r.Examples)); more > 0 {
		c.w.warn(fmt.Errorf("%d more seeds were not injected: \"seine check url -\" says why", more))
	}
	return nil
}

// fetchWaiting fetches the fetchlists that Generate made and nobody has begun to fetch, and takes their segments
// through all phases. over is as in prepare.
func (c *conductor) fetchWaiting(ctx context.Context) (over bool, err error) {
	w := c.w
	list, err := w.store.SegmentList()
	if err != nil {
		return false, err
	}
	h := hooks{
		updated: func(_ uint32, r UpdateReport, _ []urlkey.HostKey) {
			c.discovered.Add(r.New)
			c.refused.add(r.Filtered)
		},
		indexed: c.noteIndexed,
	}
	for _, s := range list {
		waits, err := w.waitsForFetch(s)
		if err != nil {
			return false, err
		}
		if !waits {
			continue
		}
		limits, reason := c.left(w.now())
		if ctx.Err() != nil {
			reason = StopInterrupted
		}
		if reason != "" {
			c.stopped = reason
			return true, nil
		}
		o := FetchOptions{Segment: s.Number, Limits: limits, Patience: c.o.Patience, parse: true}
		if c.o.Progress != nil {
			o.Progress = func(Progress) { c.show(c.progress(phaseFetching)) }
		}
		c.enters(phaseFetching)
		counts, err := w.fetchSegment(ctx, c.abort, o, c.watchFetching)
		w.live.mu.Lock()
		c.live.Store(nil)
		c.earlier = c.earlier.Plus(counts)
		w.live.mu.Unlock()
		if err == nil {
			c.segments.Add(1)
			err = w.settle(c.abort, &h)
		}
		if err != nil {
			return false, fmt.Errorf("fetching the fetchlist of segment %d: %w", s.Number, err)
		}
	}
	return false, nil
}

// report sums up a crawl that has ended, for a cause.
func (c *conductor) report(cause Cause) CrawlReport {
	w := c.w
	r := CrawlReport{
		Stopped: c.stopped, Discovered: c.discovered.Load(), Indexed: uint64(max(c.indexed.Load(), 0)),
		Segments: c.segments.Load(), Denied: c.denied.Load(), Writers: c.sends.all(),
	}
	if marked, restored := c.duplicates.Load(), c.restored.Load(); marked > restored {
		r.Duplicates = marked - restored
	}
	counts := c.earlier
	if f := c.live.Load(); f != nil {
		counts = counts.Plus(f.pool.Counts())
		r.HostsAsleep = uint64(f.frontier.Stats().Asleep)
		r.Draining = Duration(f.pool.Silent(w.now()))
	}
	r.FetchReport = fetchReport(0, counts)
	r.Documents = w.index.Stats().Documents
	r.Cause = cause
	r.Took = w.took(c.started)
	r.CPUSeconds = (processCPU() - c.cpu).Seconds()
	r.CPUByStage = w.stages.times(w.store).since(c.stages)
	if r.Took > 0 {
		r.PagesPerSecond = float64(r.Fetched) / r.Took.Seconds()
	}
	return r
}
