// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"time"

	"github.com/seine-crawler/seine/engine/internal/visit"
)

// What a program may do to a running crawl, from any goroutine, callbacks of OnPage and Progress included.

// Enqueue hands URLs to the running crawl as seeds, and returns at once. The crawl injects them between two segments,
// usually within a second, many together, and does not end before that; while it fetches a waiting fetchlist, they wait
// until that is done. Each text is a seed line as in Engine.Inject; malformed ones are reported as a warning. Nothing
// is durable until it is injected: a crawl that fails or is aborted drops what still waits, with a warning.
//
// Errors: ErrNotCrawling when no crawl is running, or when it has begun to end; ErrQueueFull when more than a million
// URLs would wait. Then nothing is enqueued.
func (e *Engine) Enqueue(urls ...string) error {
	leave, err := e.enter()
	if err != nil {
		return err
	}
	defer leave()
	err = ErrNotCrawling
	if c := e.crawl.Load(); c != nil {
		err = c.tasks.enqueue(urls)
	}
	return wrapf(err, "enqueuing %d URLs", len(urls))
}

// Stop ends the running crawl cleanly, as if its context had ended: what was fetched is brought into crawldb, linkdb
// and index, and Crawl returns without an error, with StopInterrupted. It returns at once: Status says when the crawl
// has ended. Stopping again, or when the crawl ends for another reason, does nothing. A running Fetch is stopped the
// same way. Without either the error is ErrNotCrawling.
func (e *Engine) Stop() error {
	leave, err := e.enter()
	if err != nil {
		return err
	}
	defer leave()
	if c := e.crawl.Load(); c != nil {
		c.stop()
		return nil
	}
	if b := e.fetch.Load(); b != nil {
		b.stop()
		return nil
	}
	return wrapf(ErrNotCrawling, "stopping")
}

// Pause stops crawls from beginning requests until Resume is called: the running one and later ones. Requests in flight
// end, and what was fetched goes through its phases. A paused crawl ends only by a limit, an error or its context.
// Fetch is not affected. Pausing again does nothing.
func (e *Engine) Pause() error { return e.setPaused(true) }

// Resume ends a Pause. Without one it does nothing.
func (e *Engine) Resume() error { return e.setPaused(false) }

func (e *Engine) setPaused(paused bool) error {
	return e.change(func(live *settings, f *fetching) error {
		live.paused.Store(paused)
		switch {
		case f == nil:
		case paused:
			f.pool.Hold(visit.HeldByPause)
		default:
			f.pool.Let(visit.HeldByPause)
			f.pool.Notify()
		}
		return nil
	})
}

// SetDelay replaces Options.Delay: in the running crawl from each host's next request on, and in later crawls and
// fetches. 0 means 1 s, negative means none.
func (e *Engine) SetDelay(d time.Duration) error {
	if d == 0 {
		d = defaultDelay
	}
	return e.change(func(live *settings, f *fetching) error {
		live.delay.Store(int64(d))
		if f != nil {
			f.frontier.SetDelay(d)
		}
		return nil
	})
}

// SetConcurrency replaces Options.Concurrency: in the running crawl at once, where surplus fetchers end after their
// current visits and none begins before they have, and in later crawls and fetches. It must be from 1 to 100,000.
func (e *Engine) SetConcurrency(fetchers int) error {
	return e.change(func(live *settings, f *fetching) error {
		if fetchers < 1 || fetchers > concurrencyMax {
			return fmt.Errorf("fetchers %d: want 1 to %d", fetchers, concurrencyMax)
		}
		live.fetchers.Store(int64(fetchers))
		if f != nil {
			f.frontier.SetFetchers(fetchers)
			f.pool.SetFetchers(fetchers)
		}
		return nil
	})
}

// SetLimits replaces the limits of the running crawl. They count from the crawl's start, so a limit that is exceeded
// already ends it. Without a running crawl the error is ErrNotCrawling.
func (e *Engine) SetLimits(l Limits) error {
	return e.change(func(_ *settings, f *fetching) error {
		if err := l.validate(); err != nil {
			return err
		}
		c := e.crawl.Load()
		if c == nil {
			return wrapf(ErrNotCrawling, "changing limits")
		}
		c.limits.Store(&l)
		if f != nil {
			rest, _ := c.left(f.began)
			f.pool.SetLimits(visit.Limits(rest))
		}
		return nil
	})
}

// change runs a change of settings, with the fetchers of the running crawl or nil. A closed engine comes before
// whatever do finds wrong.
func (e *Engine) change(do func(live *settings, f *fetching) error) error {
	leave, err := e.enter()
	if err != nil {
		return err
	}
	defer leave()
	live := &e.w.live
	live.mu.Lock()
	defer live.mu.Unlock()
	var f *fetching
	if c := e.crawl.Load(); c != nil {
		f = c.live.Load()
	}
	return do(live, f)
}
