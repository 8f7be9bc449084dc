// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Page is the end of one fetch as Options.OnPage receives it: a page, a redirect, or the reason why there is none. It
// belongs to the callback, which may keep and change it.
type Page struct {
	URL     urlkey.URL
	Fetched time.Time     // when the request began
	Took    time.Duration // from then to the end of the response

	// Status is the outcome. HTTPStatus is 0 if there was no response; Failure then says why, and is "" otherwise.
	Status     storage.FetchStatus
	HTTPStatus int
	Failure    string
	Redirect   string // target of a redirect or of a page's refresh; "": none

	Head []byte // status line and header fields as received; nil without a response
	Body []byte // without content coding; nil without a response, or if it could not be decoded
	// Parsed is what the parser saw, with the links as they are in the page; nil if the page was not parsed.
	Parsed *parse.Page
	// Links are the page's links in page order, normalized. Links that filters or the scope refuse are among them.
	Links []PageLink
}

// PageLink is a link of a Page.
type PageLink struct {
	URL      string
	Anchor   string // its text, with white space folded; "": none
	NoFollow bool   // marked nofollow, ugc or sponsored
}

// deliveries pass pages to Options.OnPage, on a bounded pool of goroutines that runs while something is fetched.
type deliveries struct {
	on      func(*Page) // Options.OnPage; nil: pages are not delivered
	workers int
	room    *semaphore.Weighted      // bytes of pages that wait or that a callback has
	bytes   int64                    // of room
	current atomic.Pointer[delivery] // nil while nothing is fetched
}

// delivery is the pool of one crawl or fetch.
type delivery struct {
	d       *deliveries
	queue   chan delivered
	waiting atomic.Int64 // queued or with the callback
	wg      sync.WaitGroup
	once    sync.Once
}

// callback returns what fetchers call for each attempt that was stored, or nil without OnPage. It must be called before
// start.
func (d *deliveries) callback(on func(*Page), workers int, bytes int64) func(*segment.Attempt, *segment.Scratch) {
	if on == nil {
		return nil
	}
	d.on, d.workers, d.bytes = on, workers, bytes
	d.room = semaphore.NewWeighted(d.bytes)
	return func(a *segment.Attempt, s *segment.Scratch) {
		if c := d.current.Load(); c != nil {
			c.waiting.Add(1)
			n := min(weighPage(a, s), d.bytes) // a page that takes more has all of it
			_ = d.room.Acquire(context.Background(), n)
			c.queue <- delivered{newPage(a, s), n}
		}
	}
}

// weighPage is about what newPage takes.
func weighPage(a *segment.Attempt, s *segment.Scratch) int64 {
	n := 4<<10 + 200*len(s.Outcome().Outlinks) + len(s.Page().Text)
	if a.Response != nil {
		body, _, _ := a.Response.Content()
		n += len(a.Response.Head) + len(body)
	}
	return int64(n)
}

// delivered is a page with its part of deliveries.room.
type delivered struct {
	page  *Page
	bytes int64
}

// start begins a pool. The caller calls end when all fetchers have stopped. The queue has room for one page per worker,
// and for as many bytes as a share of memory; when it is full, fetchers wait.
func (d *deliveries) start() *delivery {
	c := &delivery{d: d}
	if d.on == nil {
		return c
	}
	c.queue = make(chan delivered, d.workers)
	d.current.Store(c)
	for range d.workers {
		c.wg.Add(1)
		go c.work()
	}
	return c
}

func (c *delivery) work() {
	defer c.wg.Done()
	for p := range c.queue {
		c.d.on(p.page)
		c.d.room.Release(p.bytes)
		c.waiting.Add(-1)
	}
}

// pending is the number of pages that wait or that a callback has.
func (c *delivery) pending() int64 { return c.waiting.Load() }

// end waits until every callback has returned. A second call does nothing.
func (c *delivery) end() {
	c.once.Do(func() {
		if c.queue == nil {
			return
		}
		c.d.current.Store(nil)
		close(c.queue)
		c.wg.Wait()
	})
}

// newPage copies what a fetcher has, because the fetcher reuses its memory for the next page.
func newPage(a *segment.Attempt, s *segment.Scratch) *Page {
	o := s.Outcome()
	p := &Page{
		URL: a.URL, Fetched: a.At, Took: a.Took, Status: o.Status, HTTPStatus: int(o.HTTPStatus), Failure: o.Failure,
		Redirect: spelled(o.Redirect), Links: make([]PageLink, 0, len(o.Outlinks)),
	}
	if a.Response != nil {
		p.Head = slices.Clone(a.Response.Head)
		if body, _, err := a.Response.Content(); err == nil || len(body) > 0 {
			p.Body = slices.Clone(body)
		}
	}
	if o.Status == storage.FetchSuccess && o.Flags&storage.FlagNotParsed == 0 {
		p.Parsed = s.Page().Clone()
	}
	for _, l := range o.Outlinks {
		p.Links = append(p.Links, PageLink{spelled(l.Key), l.Anchor, l.NoFollow})
	}
	return p
}
