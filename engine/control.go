// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"time"

	"github.com/seine-crawler/seine/engine/internal/visit"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// What a program may do to a crawl while it runs, from any goroutine: OnPage callbacks too.

// Enqueue hands URLs to the crawl that is running, as seeds: they are injected within about a second, many at a time,
// and the crawl does not end before they were. A line is as in InjectOptions; malformed ones are reported as warnings.
// Enqueue neither waits nor makes anything durable; Inject does. Without a crawl the error is ErrNotCrawling.
func (e *Engine) Enqueue(urls ...string) error {
	leave, err := e.enter()
	if err != nil {
		return err
	}
	defer leave()
	c := e.crawl.Load()
	if c == nil {
		return wrapf(ErrNotCrawling, "enqueuing %d URLs", len(urls))
	}
	c.enqueue(urls)
	return nil
}

// Pause keeps the fetchers from beginning requests until Resume; those under way end, and what was fetched goes through
// its phases. It holds for crawls that begin later too. A paused crawl does not end by itself.
func (e *Engine) Pause() error { return e.setPaused(true) }

// Resume ends a Pause.
func (e *Engine) Resume() error { return e.setPaused(false) }

func (e *Engine) setPaused(paused bool) error {
	leave, err := e.enter()
	if err != nil {
		return err
	}
	defer leave()
	e.paused.Store(paused)
	f := e.crawl.Load().fetching()
	switch {
	case f == nil:
	case paused:
		f.pool.Hold(visit.HeldByPause)
	default:
		f.pool.Let(visit.HeldByPause)
		f.pool.Notify()
	}
	return nil
}

// SetDelay changes Options.Delay, for the running crawl from each host's next request on, and for later ones.
func (e *Engine) SetDelay(d time.Duration) error {
	leave, err := e.enter()
	if err != nil {
		return err
	}
	defer leave()
	if d == 0 {
		d = defaultDelay
	}
	e.w.net.delay.Store(int64(d))
	if f := e.crawl.Load().fetching(); f != nil {
		f.frontier.SetDelay(d)
	}
	return nil
}

// SetConcurrency changes Options.Concurrency, for the running crawl at once (fetchers beyond it end with their
// visits) and for later ones.
func (e *Engine) SetConcurrency(fetchers int) error {
	leave, err := e.enter()
	if err != nil {
		return err
	}
	defer leave()
	if fetchers < 1 || fetchers > concurrencyMax {
		return fmt.Errorf("concurrency %d: want 1 to %d", fetchers, concurrencyMax)
	}
	e.w.net.fetchers.Store(int64(fetchers))
	if f := e.crawl.Load().fetching(); f != nil {
		f.frontier.SetFetchers(fetchers)
		f.pool.SetFetchers(fetchers)
	}
	return nil
}

// SetLimits replaces the limits of the running crawl; they count from its start. Without one the error is
// ErrNotCrawling.
func (e *Engine) SetLimits(l Limits) error {
	leave, err := e.enter()
	if err != nil {
		return err
	}
	defer leave()
	if err := l.validate(); err != nil {
		return err
	}
	c := e.crawl.Load()
	if c == nil {
		return wrapf(ErrNotCrawling, "changing limits")
	}
	c.limits.Store(&l)
	if f := c.fetching(); f != nil {
		rest, _ := c.left()
		f.pool.SetLimits(visit.Limits(rest))
	}
	return nil
}

// fetching is the run of fetchers under way, nil if there is none. A nil conductor has none.
func (c *conductor) fetching() *fetching {
	if c == nil {
		return nil
	}
	return c.live.Load()
}

// enqueue has the first lane inject URLs.
func (c *conductor) enqueue(urls []string) {
	c.queueMu.Lock()
	c.queue = append(c.queue, urls...)
	c.queueMu.Unlock()
	c.wantTask()
}

// readmit has the first lane bring in withheld links.
func (c *conductor) readmit() {
	c.queueMu.Lock()
	c.widened = true
	c.queueMu.Unlock()
	c.wantTask()
}

func (c *conductor) wantTask() {
	c.pendings.Store(1)
	select {
	case c.tasks <- struct{}{}:
	default: // one is waiting: it finds all that is queued
	}
}

// doTasks injects what was enqueued and brings in withheld links. It runs in the first lane, and at the end.
func (c *conductor) doTasks(f *fetching) error {
	c.queueMu.Lock()
	urls, widened := c.queue, c.widened
	c.queue, c.widened = nil, false
	c.queueMu.Unlock()
	defer func() {
		c.queueMu.Lock()
		if len(c.queue) == 0 && !c.widened {
			c.pendings.Store(0)
		}
		c.queueMu.Unlock()
	}()
	w := c.e.w
	if len(urls) > 0 {
		r, woken, err := w.inject(c.abort, InjectOptions{URLs: urls})
		if err != nil {
			return err
		}
		if r.Malformed > 0 {
			w.warn(fmt.Errorf("of %d URLs that were enqueued %d are malformed: %v", r.Lines, r.Malformed, r.Examples))
		}
		c.injected(r, woken)
	}
	if widened {
		woken, found, err := w.readmit(c.abort)
		if err != nil {
			return err
		}
		c.discovered.Add(found)
		f.frontier.Wake(woken...)
	}
	return nil
}

// injected tells the frontier of hosts that gained seeds.
func (c *conductor) injected(r InjectReport, woken []urlkey.HostKey) {
	c.discovered.Add(r.New)
	if f := c.live.Load(); f != nil {
		f.frontier.Wake(woken...)
	}
}
