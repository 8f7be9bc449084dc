// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// visit is a frontier's visit on its way through a fetcher: its URLs are asked for one after the
// other, until one is not answered, the host asks for a pause, or the visit has taken long enough.
type visit struct {
	f      *fetching
	v      *frontier.Visit
	s      *scratch
	flight *flight
	began  time.Time
	robots robotsState // of the scheme asked last
	scheme string
	out    frontier.Outcome
	done   bool // given back to the frontier
}

// fetcher takes visits until the run ends.
func (f *fetching) fetcher(ctx context.Context, t *flight) {
	defer f.wg.Done()
	defer t.stop()
	var s scratch
	for {
		if !f.gate.wait(ctx) || !f.pages.take(ctx) {
			return
		}
		v, err := f.frontier.Next(ctx)
		if err != nil {
			f.pages.giveBack()
			f.fail(err)
			return
		}
		f.busy.Add(1)
		x := visit{f: f, v: v, s: &s, flight: t, began: time.Now(), out: frontier.Outcome{Kind: frontier.Skipped}}
		err = x.make(ctx)
		f.fail(err)
		if f.busy.Add(-1) == 0 || err != nil || f.reached() != "" {
			f.notify()
		}
	}
}

// make asks for the visit's URLs. The permit for the first has been taken.
func (x *visit) make(ctx context.Context) error {
	urls := x.v.URLs
	for i := range urls {
		if i > 0 && (time.Since(x.began) > visitTime || !x.f.gate.isOpen() || !x.f.pages.tryTake()) {
			x.giveBack(len(urls) - i)
			return nil
		}
		more, counted, err := x.one(ctx, &urls[i], len(urls)-i)
		if counted {
			x.f.pages.use()
		} else {
			x.f.pages.giveBack()
		}
		if err != nil || !more {
			x.giveBack(len(urls) - i - 1) // no effect if it was given back already
			return err
		}
	}
	x.giveBack(0)
	return nil
}

// giveBack ends the visit for the frontier; the last left URLs were not asked for.
func (x *visit) giveBack(left int) {
	if x.done {
		return
	}
	x.done = true
	x.out.Left = int32(left)
	x.f.frontier.Done(x.v, x.out)
}

// one asks for one URL, the first of the left ones that the visit still has. more reports whether the
// visit may go on, counted whether a page was fetched.
func (x *visit) one(ctx context.Context, c *frontier.Candidate, left int) (more, counted bool, err error) {
	f := x.f
	key := c.Key(x.v.Host)
	u, err := key.URL()
	if err != nil {
		return false, false, fmt.Errorf("%w: crawldb key %q: %w", storage.ErrCorrupt, key, err)
	}
	if c.Tag == tagErrand {
		more, err = x.errand(ctx, u, left)
		return more, false, err
	}
	// Filters may be narrower than when the URL was chosen. What is asked for is noted before they are asked,
	// so that a change is seen here or cuts it off.
	asking := x.flight.begin(ctx, u)
	if f.e.mayChange(u) != "" {
		x.flight.end()
		f.source.release(x.v.Host, []frontier.Candidate{*c})
		return true, false, nil
	}
	ok, err := x.allowed(asking, u, left)
	if err != nil || !ok {
		return false, false, err
	}
	if !x.robots.rules.Allowed(u.RequestTarget()) {
		if left == 1 {
			x.giveBack(0)
		}
		return true, false, f.store(&exchange{url: u, at: f.e.o.Now(), failure: failureRobots}, x.s)
	}
	resp := f.e.client.Fetch(asking, f.request(u, x.v, c.Tag))
	defer resp.Release()
	cut := x.flight.end()
	if ctx.Err() != nil && resp.Failure != "" { // cut off by our own end: the URL stays due
		x.giveBack(left)
		return false, false, nil
	}
	if cut && resp.Failure != "" { // the operator does not want it any more; the host may rest as after any request
		x.out.Kind, x.out.End = frontier.Fetched, resp.End
		x.giveBack(left - 1)
		f.source.release(x.v.Host, []frontier.Candidate{*c})
		return false, false, nil
	}
	x.note(resp)
	if x.out.Local && f.frontier.Outage() { // our own network failed, not the URL
		x.giveBack(left)
		return false, false, nil
	}
	more = x.out.Kind == frontier.Fetched
	if !more || left == 1 {
		x.giveBack(left - 1) // the host may have its next visit while this page is parsed
	}
	ex := &exchange{url: u, at: resp.Start, failure: resp.Failure, took: resp.End.Sub(resp.Start), preferences: x.robots.rules.Preferences(u.RequestTarget())}
	if resp.Failure == "" {
		ex.resp = resp
	}
	err = f.store(ex, x.s)
	return more, x.s.outcome.Status == storage.FetchSuccess, err
}

// allowed finds out what robots.txt says; false means that the visit ends here. When robots.txt was
// just requested and a delay is asked for, the page is the host's next visit.
func (x *visit) allowed(ctx context.Context, u urlkey.URL, left int) (bool, error) {
	f := x.f
	if x.robots.rules != nil && x.scheme == u.Scheme() {
		return true, nil
	}
	r, err := f.e.robotsFor(ctx, u, f.keep, f.follow)
	if err != nil {
		if ctx.Err() != nil { // cut off: perhaps the host was just asked
			x.out.Kind, x.out.End = frontier.Fetched, f.e.o.Now()
		}
		x.giveBack(left)
		return false, err
	}
	x.robots, x.scheme = r, u.Scheme()
	x.out.CrawlDelay = crawlDelay(&r)
	switch {
	case r.pending && !r.requested:
		x.out.Wait = errandPoll
		x.giveBack(left)
		return false, nil
	case r.pending:
		x.out.Wait = errandPoll
	case !r.requested && r.unreach == 0:
		return true, nil
	}
	if x.out.CrawlDelay > 0 {
		f.e.rememberDelay(x.v.Host, x.out.CrawlDelay)
	}
	x.out.Kind, x.out.End, x.out.ResponseTime = frontier.Fetched, r.end, r.end.Sub(r.start)
	switch {
	case r.unreach > 0:
		x.out.Kind, x.out.RetryAfter = frontier.HostFailure, r.unreach
	case f.e.o.Delay < 0 && x.out.CrawlDelay <= 0 && !r.pending:
		return true, nil
	}
	x.giveBack(left)
	return false, nil
}

// crawlDelay is the delay that robots.txt asks for; negative: it was read and asks for none.
func crawlDelay(r *robotsState) time.Duration {
	if r.rules == nil {
		return 0
	}
	if d, ok := r.rules.CrawlDelay(); ok && d > 0 {
		return d
	}
	return -1
}

// note keeps what the frontier needs to know of a response.
func (x *visit) note(r *fetch.Response) {
	o := &x.out
	o.Kind, o.End, o.ResponseTime, o.Addr = frontier.Fetched, r.End, r.FirstByte, r.Addr
	o.Bytes += int64(len(r.Body))
	o.Took += r.End.Sub(r.Start)
	x.f.received.Add(int64(len(r.Body)))
	switch {
	case r.Failure != "" && r.Failure.Kind() != fetch.KindPermanent:
		o.Kind, o.Local = frontier.HostFailure, r.Failure.Local()
	case r.Failure == "" && (r.Status == 429 || r.Status == 503):
		o.Kind = frontier.Throttled
		o.RetryAfter, _ = r.RetryAfter(x.f.e.o.Now())
	}
}

// request is the fetch of a URL, conditional when an earlier version left validators.
func (f *fetching) request(u urlkey.URL, v *frontier.Visit, tag uint16) *fetch.Request {
	req := &fetch.Request{URL: u, Addr: v.Addr}
	if tag != tagKnown {
		return req
	}
	var r storage.Record
	if ok, err := f.e.store.Record(u.Key(), &r); err == nil && ok && r.Segment != 0 {
		req.IfNoneMatch, req.IfModifiedSince = r.ETag, r.LastModified
	}
	return req
}
