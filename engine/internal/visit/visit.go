// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"context"
	"fmt"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// visit is a frontier's visit on its way through a fetcher: its URLs are requested one after the other, until
// one is not answered, the host asks for a pause, or the visit has taken long enough.
type visit struct {
	p      *Pool
	v      *frontier.Visit
	s      *segment.Scratch
	flight *flight
	began  time.Time
	robots robotsState // of the scheme requested last
	scheme string
	out    frontier.Outcome
	done   bool // given back to the frontier
}

// progress is what became of one URL of a visit.
type progress struct {
	more    bool // the visit may go on
	counted bool // a page was fetched
}

// make requests the visit's URLs. The permit for the first has been taken.
func (x *visit) make(ctx context.Context) error {
	urls := x.v.URLs
	for i := range urls {
		if i > 0 && (x.p.env.Now().Sub(x.began) > visitTime || !x.p.gate.isOpen() || !x.p.pages.tryTake()) {
			x.giveBack(len(urls) - i)
			return nil
		}
		done, err := x.request(ctx, &urls[i], len(urls)-i)
		if done.counted {
			x.p.pages.use()
		} else {
			x.p.pages.giveBack()
		}
		if err != nil || !done.more {
			x.giveBack(len(urls) - i - 1) // no effect if it was given back already
			return err
		}
	}
	x.giveBack(0)
	return nil
}

// giveBack ends the visit for the frontier; the last left URLs were not requested.
func (x *visit) giveBack(left int) {
	if x.done {
		return
	}
	x.done = true
	x.out.Left = int32(left)
	x.p.frontier.Done(x.v, x.out)
}

// request requests one URL, the first of the left ones that the visit still has.
func (x *visit) request(ctx context.Context, c *frontier.Candidate, left int) (progress, error) {
	p := x.p
	key := c.Key(x.v.Host)
	u, err := key.URL()
	if err != nil {
		return progress{}, fmt.Errorf("%w: crawldb key %q: %w", storage.ErrCorrupt, key, err)
	}
	if c.Tag == tagRobots {
		return progress{more: x.fetchDeferred(ctx, u, left)}, nil
	}
	// Live filters may be narrower than when the URL was chosen. What is requested is noted before they are
	// asked, so that a change is either seen here or cuts the request off.
	asking := x.flight.begin(ctx, u)
	if !p.env.Admission.Recheck(u).OK() {
		x.flight.end()
		p.source.Release(x.v.Host, []frontier.Candidate{*c})
		return progress{more: true}, nil
	}
	ok, err := x.allowed(asking, u, left)
	if err != nil || !ok {
		return progress{}, err
	}
	if !x.robots.rules.Allowed(u.RequestTarget()) {
		if left == 1 {
			x.giveBack(0)
		}
		_, err := p.store(&segment.Attempt{URL: u, At: p.env.Now(), Failure: admission.ReasonRobots}, x.s)
		return progress{more: true}, err
	}
	req, err := x.conditional(u, c.Tag)
	if err != nil {
		return progress{}, err
	}
	resp := p.env.Client.Fetch(asking, req)
	defer resp.Release()
	if x.cutOff(ctx, c, resp, left) {
		return progress{}, nil
	}
	more := x.out.Kind == frontier.Fetched
	if !more || left == 1 {
		x.giveBack(left - 1) // the host may have its next visit while this page is parsed
	}
	a := &segment.Attempt{URL: u, At: resp.Start, Failure: resp.Failure, Took: resp.End.Sub(resp.Start),
		Preferences: x.robots.rules.Preferences(u.RequestTarget())}
	if resp.Failure == "" {
		a.Response = resp
	}
	counted, err := p.store(a, x.s)
	return progress{more, counted}, err
}

// cutOff reports whether a response says nothing about its URL, which then stays due: the request was cut off by
// the end of the run or by the operator, or the network here failed.
func (x *visit) cutOff(ctx context.Context, c *frontier.Candidate, resp *fetch.Response, left int) bool {
	cut := x.flight.end()
	if ctx.Err() != nil && resp.Failure != "" {
		x.giveBack(left)
		return true
	}
	if cut && resp.Failure != "" { // refused by now; the host may rest as after any request
		x.out.Kind, x.out.End = frontier.Fetched, resp.End
		x.giveBack(left - 1)
		x.p.source.Release(x.v.Host, []frontier.Candidate{*c})
		return true
	}
	x.note(resp)
	if x.out.Local && x.p.frontier.Outage() {
		x.giveBack(left)
		return true
	}
	return false
}

// allowed finds out what robots.txt says; false means that the visit ends here. When robots.txt was just
// requested and there is a delay, the page is the host's next visit.
func (x *visit) allowed(ctx context.Context, u urlkey.URL, left int) (bool, error) {
	p := x.p
	if x.robots.rules != nil && x.scheme == u.Scheme() {
		return true, nil
	}
	r, err := p.hosts.robots(ctx, u, p.keepRobots, p.follow)
	if err != nil {
		if ctx.Err() != nil { // cut off: perhaps the host was just asked
			x.out.Kind, x.out.End = frontier.Fetched, p.env.Now()
		}
		x.giveBack(left)
		return false, err
	}
	x.robots, x.scheme = r, u.Scheme()
	x.out.CrawlDelay = crawlDelay(&r)
	switch {
	case r.pending && !r.requested:
		x.out.Wait = deferredPoll
		x.giveBack(left)
		return false, nil
	case r.pending:
		x.out.Wait = deferredPoll
	case !r.requested && r.unreach == 0:
		return true, nil
	}
	if x.out.CrawlDelay > 0 {
		p.hosts.rememberDelay(x.v.Host, x.out.CrawlDelay)
	}
	x.out.Kind, x.out.End, x.out.ResponseTime = frontier.Fetched, r.end, r.end.Sub(r.start)
	switch {
	case r.unreach > 0:
		x.out.Kind, x.out.RetryAfter = frontier.HostFailure, r.unreach
	case p.hosts.delayOf(x.v.Host) < 0 && x.out.CrawlDelay <= 0 && !r.pending:
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
	x.p.received.Add(int64(len(r.Body)))
	switch {
	case r.Failure != "" && r.Failure.Kind() != fetch.KindPermanent:
		o.Kind, o.Local = frontier.HostFailure, r.Failure.Local()
	case r.Failure == "" && (r.Status == 429 || r.Status == 503):
		o.Kind = frontier.Throttled
		o.RetryAfter, _ = r.RetryAfter(x.p.env.Now())
	}
}

// conditional is the request for a URL, with the validators that an earlier version left.
func (x *visit) conditional(u urlkey.URL, tag uint16) (*fetch.Request, error) {
	req := x.p.hosts.request(x.v.Host, u, 0)
	req.Addr = x.v.Addr
	if tag != tagKnown {
		return req, nil
	}
	var r storage.Record
	ok, err := x.p.env.Store.Record(u.Key(), &r)
	if err != nil {
		return nil, fmt.Errorf("validators of %s: %w", u, err)
	}
	if ok && r.Segment != 0 {
		req.IfNoneMatch, req.IfModifiedSince = r.ETag, r.LastModified
	}
	return req, nil
}
