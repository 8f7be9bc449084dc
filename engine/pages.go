// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Page is one fetch as Options.OnPage sees it: a page, or a redirect, or the reason why there is none. It belongs to
// the callback, which may keep it.
type Page struct {
	URL     urlkey.URL
	Fetched time.Time     // when the request began
	Took    time.Duration // until the response ended

	// Status is the outcome; HTTPStatus is 0 when there was no response, and Failure then says why ("" for none).
	Status     storage.FetchStatus
	HTTPStatus int
	Failure    string
	Redirect   string // where a redirect, or a page that refreshes itself, leads; "" for nowhere

	Head []byte // status line and header fields as received; nil without a response
	Body []byte // decoded; nil without a response, or when it could not be decoded
	// Parsed is what the parser saw, links as the page has them; nil for what was not parsed.
	Parsed *parse.Page
	// Links are the page's links as crawldb knows them: normalised, refused ones included.
	Links []PageLink
}

// PageLink is a link of a Page.
type PageLink struct {
	URL      string
	Anchor   string // its text, white space folded
	NoFollow bool   // it does not count: nofollow, ugc or sponsored
}

// deliveries hands pages to Options.OnPage on a bounded pool of goroutines, which runs while something is fetched.
type deliveries struct {
	on      func(*Page)
	workers int
	current atomic.Pointer[delivery]
}

// delivery is the pool of one crawl or fetch.
type delivery struct {
	d       *deliveries
	queue   chan *Page
	waiting atomic.Int64 // queued or with the callback
	wg      sync.WaitGroup
	once    sync.Once
}

// callback is what fetchers call for each attempt that was stored; nil when nobody wants to know.
func (d *deliveries) callback(on func(*Page), workers int) func(*segment.Attempt, *segment.Scratch) {
	if on == nil {
		return nil
	}
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	d.on, d.workers = on, workers
	return func(a *segment.Attempt, s *segment.Scratch) {
		if c := d.current.Load(); c != nil {
			c.waiting.Add(1)
			c.queue <- newPage(a, s)
		}
	}
}

// start begins a pool; end must be called when nobody stores any more. The queue is as long as there are workers:
// when callbacks are slow, fetchers wait.
func (d *deliveries) start() *delivery {
	c := &delivery{d: d}
	if d.on == nil {
		return c
	}
	c.queue = make(chan *Page, d.workers)
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
		c.d.on(p)
		c.waiting.Add(-1)
	}
}

// pending is the number of pages that a callback has not returned for.
func (c *delivery) pending() int64 { return c.waiting.Load() }

// end waits until every callback has returned. Calling it again does nothing.
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

// newPage copies what a fetcher has, since its memory is used again at once.
func newPage(a *segment.Attempt, s *segment.Scratch) *Page {
	o := s.Outcome()
	p := &Page{URL: a.URL, Fetched: a.At, Took: a.Took, Status: o.Status, HTTPStatus: int(o.HTTPStatus), Failure: o.Failure,
		Redirect: spelled(o.Redirect)}
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
