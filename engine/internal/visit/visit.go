// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// visit is a visit of the frontier in a fetcher. Its URLs are requested one after the other until one is not answered,
// the host demands a pause, or the visit has lasted visitTime.
type visit struct {
	*desk
	v      *frontier.Visit
	flight *flight
	began  time.Time
	robots robotsState // of the scheme requested last
	scheme string
	out    frontier.Outcome
	done   bool           // given back to the frontier
	stored bool           // the request under way has an outcome
	cost   int64          // what it costs of a budget of pages
	addr   netip.Addr     // of the last answer that was noted
	host   urlkey.HostKey // that of v, which must not be used once it is given back
}

// progress is the result of one URL of a visit.
type progress struct {
	more    bool // the visit may go on
	counted bool // a page was fetched
}

// make requests the visit's URLs. The caller has taken the permit for the first.
func (x *visit) make(ctx context.Context) error {
	urls := x.v.URLs
	for i := range urls {
		if i > 0 && (!x.mayGoOn() || !x.pages.tryTake()) {
			x.giveBack(len(urls) - i)
			return nil
		}
		done, err := x.countedRequest(ctx, &urls[i], len(urls)-i)
		if done.counted {
			x.pages.use()
		} else {
			x.pages.giveBack()
		}
		if err != nil || !done.more {
			x.giveBack(len(urls) - i - 1) // no effect if it was given back already
			return err
		}
	}
	x.giveBack(0)
	return nil
}

// mayGoOn reports whether a visit of several URLs may request the next one. Its host had no delay when it was made. The
// robots.txt of a URL's scheme may have one.
func (x *visit) mayGoOn() bool {
	return x.env.Now().Sub(x.began) <= visitTime && x.gate.isOpen() && x.Reached() == NoLimit &&
		x.hosts.delayOf(x.v.Host) < 0 && x.out.CrawlDelay <= 0
}

// giveBack ends the visit for the frontier. The last left URLs were not requested. A second call does nothing.
func (x *visit) giveBack(left int) {
	if x.done {
		return
	}
	x.done = true
	x.flight.leave()
	x.out.Left = int32(left)
	x.frontier.Done(x.v, x.out)
}

// countedRequest is request, counted for the budgets of the host and its domain.
func (x *visit) countedRequest(ctx context.Context, c *frontier.Candidate, left int) (progress, error) {
	defer x.flight.over()
	if c.Tag == tagRobots {
		return x.request(ctx, c, left)
	}
	x.host, x.stored, x.cost = x.v.Host, false, 1
	if c.Counted {
		x.cost = 0
	}
	x.source.unseen.begin(x.host, x.cost)
	defer func() {
		if !x.stored {
			x.source.unseen.end(x.host, x.cost)
		}
	}()
	return x.request(ctx, c, left)
}

// store is desk.store for an outcome of the visit.
func (x *visit) store(a *segment.Attempt) (fetched bool, err error) {
	x.stored = true
	return x.desk.store(a, x.host, x.cost, x.flight)
}

// request requests one URL, the first of the last left URLs of the visit.
func (x *visit) request(ctx context.Context, c *frontier.Candidate, left int) (progress, error) {
	key := c.Key(x.v.Host)
	u, err := key.URL()
	if err != nil {
		return progress{}, fmt.Errorf("%w: crawldb key %q: %w", storage.ErrCorrupt, key, err)
	}
	if c.Tag == tagRobots {
		return progress{more: x.fetchDeferred(ctx, u, left)}, nil
	}
	// Live filters may be narrower than when the URL was chosen, and it may be deleted. The request is noted before
	// that is looked at, so that a change is either seen here or cuts the request off.
	asking := x.flight.begin(ctx, u, x.v)
	deleted, err := x.source.deletions.deleted(x.env.Store, key)
	if err != nil {
		return progress{}, err
	}
	if deleted || !x.env.Admission.Recheck(u).OK() {
		x.flight.end()
		x.source.Release(x.v.Host, []frontier.Candidate{*c})
		return progress{more: true}, nil
	}
	ok, err := x.allowed(asking, u, left)
	if err != nil || !ok {
		return progress{}, err
	}
	if denied := Denied(x.robots.rules, u, x.env.MaxCrawlDelay); denied != "" {
		if left == 1 {
			x.giveBack(0)
		}
		_, err := x.store(&segment.Attempt{URL: u, At: x.env.Now(), Failure: denied})
		return progress{more: true}, err
	}
	req, of, err := x.conditional(u, c.Tag)
	if err != nil {
		return progress{}, err
	}
	resp := x.ask(asking, req, false)
	defer resp.Release()
	if x.cutOff(ctx, c, resp, left) {
		return progress{}, nil
	}
	if resp.Failure != "" {
		x.elsewhere(ctx, req.Addr, resp.Failure)
		if instead := x.instead(u, resp.Failure); !instead.IsZero() {
			return progress{}, x.redirectTo(instead, u, resp.Failure, left)
		}
	}
	more := x.out.Kind == frontier.Fetched
	if !more || left == 1 {
		x.giveBack(left - 1) // the host may have its next visit while this page is parsed
	}
	a := &segment.Attempt{URL: u, At: resp.Start, Failure: resp.Failure, Took: resp.End.Sub(resp.Start),
		Received: resp.Received, Preferences: x.robots.rules.Preferences(u.RequestTarget()), Validators: of}
	if resp.Failure == "" {
		a.Response = resp
	}
	counted, err := x.store(a)
	return progress{more, counted}, err
}

// ask makes one request of the visit.
func (x *visit) ask(ctx context.Context, req *fetch.Request, robots bool) *fetch.Response {
	at := &x.flight.doing
	at.request(req, robots)
	defer at.set(DoingPrepare)
	return x.env.Client.Fetch(ctx, req)
}

// cutOff reports whether a response says nothing about its URL, which then stays due: the end of the run or a live
// filter cut the request off, the network here failed, no file could be opened, or the request must be sent again after
// the host's delay. A request that was cut off because it is slow says that the host is: its page is one that took too
// long.
func (x *visit) cutOff(ctx context.Context, c *frontier.Candidate, resp *fetch.Response, left int) bool {
	cut, slow := x.flight.end()
	if ctx.Err() != nil && incomplete(resp) {
		x.waste(resp)
		x.giveBack(left)
		return true
	}
	if slow && resp.Failure == fetch.FailCanceled {
		resp.Failure = fetch.FailTooSlow
		if len(resp.RequestHead) == 0 { // there was no connection yet, which may be the fault of the network here
			resp.Failure = fetch.FailDialTimeout
		}
	}
	if slow && resp.Failure == "" && resp.Truncated == "time" && len(resp.Body) == 0 { // a head alone is no page
		resp.Failure = fetch.FailTooSlow
	}
	if cut && !slow && incomplete(resp) { // refused by now; the host rests as after any request
		x.waste(resp)
		x.out.Kind, x.out.End = frontier.Fetched, resp.End
		x.source.Release(x.host, []frontier.Candidate{*c}) // before c is given back with the visit
		x.giveBack(left - 1)
		return true
	}
	if resp.Failure == fetch.FailFiles {
		x.lackFiles(resp.Err)
		x.giveBack(left)
		return true
	}
	if resp.Failure == fetch.FailStale && x.source.mayReplay(c.Key(x.v.Host)) {
		x.replay(resp.End)
		x.waste(resp)
		x.giveBack(left)
		return true
	}
	x.note(resp)
	if x.excuses(resp.Failure) {
		x.source.unseen.addLoose(x.v.Host, resp.Received)
		x.giveBack(left)
		return true
	}
	return false
}

// replay says that the last request must be sent again, since its kept connection was closed before there was an
// answer. The host had the request, so it rests as after any other.
func (x *visit) replay(end time.Time) {
	x.out.Kind, x.out.End = frontier.Repeat, end
	x.replayed.Add(1)
}

// lackFiles says that nothing was requested, because this process has as many files open as it may.
func (x *visit) lackFiles(err error) {
	x.out.Wait = filesWait
	x.filesLacked.Do(func() {
		x.env.Warn(fmt.Errorf("some requests wait, because no more files can be opened: %w", err))
	})
}

// incomplete reports whether a response ended before its body did. One that is too long was cut on purpose.
func incomplete(resp *fetch.Response) bool {
	return resp.Failure != "" || resp.Truncated != "" && resp.Truncated != "length"
}

// allowed finds the rules of robots.txt; false means that the visit ends here. If robots.txt was just requested, and a
// limit was reached with it or the host has a delay, the page waits for the host's next visit.
func (x *visit) allowed(ctx context.Context, u urlkey.URL, left int) (bool, error) {
	if x.robots.rules != nil && x.scheme == u.Scheme() {
		return true, nil
	}
	r, err := x.hosts.robots(ctx, u, robotsWays{
		x.keepRobots, x.follow, x.flight.waits, &x.flight.doing, x.excuses, x.robotsAt, x.robotsMoves,
	})
	x.out.Bytes += r.received
	x.received.Add(r.received)
	x.source.unseen.addLoose(x.v.Host, r.received)
	if err != nil {
		if ctx.Err() != nil { // cut off, perhaps after the host got a request; it says nothing of the host
			x.out.Kind, x.out.End = frontier.Repeat, x.env.Now()
		}
		x.giveBack(left)
		return false, err
	}
	if x.undecided(&r) {
		x.giveBack(left)
		return false, nil
	}
	x.robots, x.scheme = r, u.Scheme()
	x.noteDelay(u, &r)
	switch {
	case r.pending && !r.requested:
		x.out.Wait = deferredPoll
		x.giveBack(left)
		return false, nil
	case r.pending:
		x.out.Wait = deferredPoll
	case r.news && x.out.CrawlDelay > max(x.hosts.delayOf(x.v.Host), 0):
		x.out.Kind, x.out.End = frontier.Repeat, x.env.Now() // the request before this visit did not know of it
		x.giveBack(left)
		return false, nil
	case r.waited && r.unreach == 0 && (x.hosts.delayOf(x.v.Host) >= 0 || x.out.CrawlDelay > 0):
		x.giveBack(left) // of several visits that waited, one may go on at a time
		return false, nil
	case !r.requested && r.unreach == 0:
		return true, nil
	}
	x.out.Kind, x.out.End, x.out.ResponseTime = frontier.Fetched, r.end, r.end.Sub(r.start)
	if r.requested {
		x.reached(r.addr)
		x.noteAnswer(r.end)
	}
	if r.unreach == 0 {
		x.hosts.rememberResponse(x.v.Host, x.out.ResponseTime)
		x.hosts.troubles.answered(x.v.Host)
	}
	switch {
	case r.unreach > 0:
		return false, x.unreachable(u, &r, left)
	case r.throttled:
		x.out.Kind, x.out.RetryAfter = frontier.Throttled, r.retryAfter
	case x.hosts.delayOf(x.v.Host) < 0 && x.out.CrawlDelay <= 0 && !r.pending && x.Reached() == NoLimit:
		return true, nil
	}
	x.giveBack(left)
	return false, nil
}

// unreachable ends a visit to a URL whose robots.txt cannot be had for now.
func (x *visit) unreachable(u urlkey.URL, r *robotsState, left int) error {
	x.blame(r.reason.failure)
	x.out.Unrequested = !r.requested || refusedHere(r.reason.failure)
	x.out.Local = x.out.Local && r.requested
	if r.reason.robots == 0 && !r.reason.redirected { // else there was a connection to this host
		if instead := x.instead(u, r.reason.failure); !instead.IsZero() {
			return x.redirectTo(instead, u, r.reason.failure, left)
		}
	}
	if _, err := x.hosts.get(storage.AuthorityKey(x.v.Host, otherScheme(u.Scheme()))); err != nil { // into memory
		return err
	}
	if scheme, _ := x.hosts.shut(x.v.Host); scheme == u.Scheme() {
		x.spare()
		x.source.Release(x.v.Host, x.v.URLs[len(x.v.URLs)-left:][:1]) // before it is given back with the visit
		x.giveBack(left - 1)
		return nil
	}
	x.hosts.troubles.note(x.v.Host, r.reason)
	x.out.RetryAfter = r.unreach
	x.giveBack(left)
	return nil
}

// undecided reports whether a request for robots.txt, made or not, has decided nothing: the visit ends then.
func (x *visit) undecided(r *robotsState) bool {
	switch {
	case r.noFiles != nil:
		x.lackFiles(r.noFiles)
	case r.broken:
		x.replay(r.end)
		x.out.Wait = r.rest
	case r.moved:
		x.out.Kind, x.out.End = frontier.Repeat, r.end
	case r.excused:
		x.out.End = r.end
		x.blame(r.reason.failure)
	default:
		return false
	}
	return true
}

// noteDelay notes the Crawl-delay of the robots.txt for a URL.
func (x *visit) noteDelay(u urlkey.URL, r *robotsState) {
	x.out.CrawlDelay = crawlDelay(r)
	if r.rules != nil && delayTooLong(r.rules, x.env.MaxCrawlDelay) {
		x.out.CrawlDelay = -1 // no page will be requested, so there is nothing to wait for
	}
	if (r.requested || r.news) && r.rules != nil && r.unreach == 0 {
		x.hosts.rememberDelay(u, max(x.out.CrawlDelay, 0))
	}
}

// crawlDelay returns the delay that robots.txt demands; 0: not known, negative: it demands none.
func crawlDelay(r *robotsState) time.Duration {
	if r.rules == nil {
		return 0
	}
	if d, ok := r.rules.CrawlDelay(); ok && d > 0 {
		return d
	}
	return -1
}

// note collects what the frontier needs to know of a response.
func (x *visit) note(r *fetch.Response) {
	o := &x.out
	o.Kind, o.End, o.ResponseTime = frontier.Fetched, r.End, r.FirstByte
	x.reached(r.Addr)
	x.spend(r)
	x.noteAnswer(r.End)
	switch {
	case r.Failure != "" && r.Failure.Kind() != fetch.KindPermanent:
		x.blame(r.Failure)
		x.hosts.troubles.note(x.v.Host, reason{failure: r.Failure})
		return
	case r.Failure == "" && (r.Status == 429 || r.Status == 503):
		o.Kind = frontier.Throttled
		o.RetryAfter, _ = r.RetryAfter(x.env.Now())
	default:
		x.hosts.rememberResponse(x.v.Host, r.FirstByte)
	}
	x.hosts.troubles.answered(x.v.Host)
}

// blame says that the host failed, or the network here.
func (x *visit) blame(f fetch.Failure) {
	x.out.Kind, x.out.Local, x.out.NoDNS = frontier.HostFailure, f.Local(), noDNS(f)
}

// excuses reports whether a failure says nothing of the host now: see frontier.Excuses.
func (x *visit) excuses(f fetch.Failure) bool { return f.Local() && x.frontier.Excuses(noDNS(f)) }

// noDNS reports whether a name server gave no answer.
func noDNS(f fetch.Failure) bool { return f == fetch.FailDNS || f == fetch.FailDNSTimeout }

// pinned is the address for the visit's next request; zero: the client tries all.
func (x *visit) pinned() netip.Addr {
	if x.addr.IsValid() {
		return x.addr
	}
	return x.v.Addr
}

// reached notes the address of an answer.
func (x *visit) reached(addr netip.Addr) {
	x.out.Addr = addr
	if addr.IsValid() && addr != x.addr {
		x.addr = addr
		x.hosts.used(x.v.Host, addr)
	}
}

// elsewhere notes that an address of a host takes no connection, or must not be dialled. The host's next visit is to
// another one, if it has any; moves says that this one may be better.
func (x *visit) elsewhere(ctx context.Context, addr netip.Addr, f fetch.Failure) (moves bool) {
	switch f {
	case fetch.FailRefused, fetch.FailUnreachable, fetch.FailDialTimeout, fetch.FailAddress, fetch.FailContact:
	default:
		return false
	}
	addrs := x.source.addresses(ctx, x.v.Host)
	another := func(a netip.Addr) bool { return a != addr }
	if !addr.IsValid() || x.excuses(f) || !slices.ContainsFunc(addrs, another) {
		return false
	}
	now := x.env.Now()
	x.hosts.dead.note(x.v.Host, addr, now)
	next := x.hosts.dead.choose(x.v.Host, addrs, netip.Addr{}, now)
	x.out.Addr = next
	return next != addr && x.hosts.dead.alive(x.v.Host, next, now)
}

// robotsAt is robotsWays.at. A host of which its visits think that it is at an address may be at others by now: a
// request for robots.txt, once a day, is when that is noticed.
func (x *visit) robotsAt(ctx context.Context) (addr netip.Addr, here bool) {
	addr = x.pinned()
	if !addr.IsValid() {
		return addr, true
	}
	next := x.hosts.dead.choose(x.v.Host, x.source.addresses(ctx, x.v.Host), addr, x.env.Now())
	if !next.IsValid() || next == addr {
		return addr, true
	}
	x.out.Addr = next
	return addr, false
}

// robotsMoves is robotsWays.moves.
func (x *visit) robotsMoves(ctx context.Context, f fetch.Failure) bool {
	return x.elsewhere(ctx, x.pinned(), f)
}

// spend counts what an exchange cost.
func (x *visit) spend(r *fetch.Response) {
	x.out.Bytes += r.Received
	x.out.Took += r.End.Sub(r.Start).Truncate(time.Millisecond) // as it is stored
	x.received.Add(r.Received)
}

// waste counts what an exchange cost that has no outcome of its own.
func (x *visit) waste(r *fetch.Response) {
	x.spend(r)
	x.source.unseen.addLoose(x.v.Host, r.Received)
}

// conditional returns the request for a URL, with the validators of an earlier fetch if there are any: then of is the
// segment with the content that they are of.
func (x *visit) conditional(u urlkey.URL, tag uint8) (req *fetch.Request, of uint32, err error) {
	req = x.hosts.request(u, 0)
	req.Addr, req.Waits = x.pinned(), x.flight.waits
	if tag != tagKnown {
		return req, 0, nil
	}
	var r storage.Record
	ok, err := x.env.Store.Record(u.Key(), &r)
	if err != nil {
		return nil, 0, fmt.Errorf("validators of %s: %w", u, err)
	}
	if r.ETag == "*" { // not quoted, it would mean: if there is no page at all
		r.ETag = ""
	}
	if !ok || r.Segment == 0 || r.ETag == "" && r.LastModified == "" {
		return req, 0, nil
	}
	req.IfNoneMatch, req.IfModifiedSince = r.ETag, r.LastModified
	return req, r.Segment, nil
}

// fetchDeferred requests a deferred robots.txt in its host's turn. It reports whether the visit may go on.
func (x *visit) fetchDeferred(ctx context.Context, u urlkey.URL, left int) (more bool) {
	waiting := x.source.deferred.take(u.Key())
	if len(waiting) == 0 {
		return true
	}
	asking := x.flight.begin(ctx, u, x.v)
	if x.env.Admission.RefusesHost(x.v.Host) { // it was not when the robots.txt was deferred
		x.flight.end()
		for _, w := range waiting {
			w.end(robotsAnswer{})
		}
		return true
	}
	req := x.hosts.robotsRequest(u)
	req.Addr, req.Waits = x.pinned(), x.flight.waits
	resp := x.ask(asking, req, true)
	defer resp.Release()
	cut, slow := x.flight.end()
	if ctx.Err() != nil && incomplete(resp) { // cut off by the end of the run
		x.waste(resp)
		for _, w := range waiting {
			w.cancel()
		}
		x.giveBack(left - 1)
		return false
	}
	if resp.Failure == fetch.FailFiles {
		x.source.deferred.putBack(u.Key(), waiting)
		x.lackFiles(resp.Err)
		x.giveBack(left)
		return false
	}
	if slow && resp.Failure == fetch.FailCanceled || !cut && x.elsewhere(ctx, req.Addr, resp.Failure) {
		// To make room for others, or it is to be requested at another address: it says nothing of the host.
		x.source.deferred.putBack(u.Key(), waiting)
		x.out.Kind, x.out.End = frontier.Repeat, resp.End
		x.waste(resp)
		x.giveBack(left)
		return false
	}
	if !cut && (resp.CutOff || resp.Failure == fetch.FailStale && mayReplay(waiting)) {
		x.source.deferred.putBack(u.Key(), waiting)
		x.replay(resp.End)
		x.waste(resp)
		x.giveBack(left)
		return false
	}
	x.note(resp)
	x.source.unseen.addLoose(x.v.Host, resp.Received)
	if cut {
		x.out.Kind = frontier.Fetched // the host did not fail
	}
	more = x.out.Kind == frontier.Fetched && !cut
	if !more || left == 1 {
		x.giveBack(left - 1)
	}
	answer := x.hosts.answer(u, resp, x.keepRobots)
	for _, w := range waiting {
		w.hops++
		switch {
		case answer.next.IsZero():
			w.end(answer)
		case !x.send(w, answer.next):
			w.end(robotsAnswer{})
		}
	}
	return more
}

// instead is plainInstead for a URL of the visit. While the local network is cut, no failure says anything.
func (x *visit) instead(u urlkey.URL, f fetch.Failure) (none urlkey.URL) {
	if x.frontier.Outage() {
		return none
	}
	return plainInstead(x.env.Store, u, f)
}

// spare does not blame the host for a failure of one scheme: its next request comes after the usual delay. One that the
// network here may have caused stays a failure, by which an outage is seen.
func (x *visit) spare() {
	switch {
	case x.out.Unrequested:
		x.out.Kind = frontier.Skipped
	case !x.out.Local:
		x.out.Kind = frontier.Fetched
	}
}

// redirectTo stores a failed attempt at u as a redirect, and ends the visit.
func (x *visit) redirectTo(to, u urlkey.URL, f fetch.Failure, left int) error {
	x.hosts.troubles.answered(x.v.Host)
	end := x.out.End
	if end.IsZero() {
		end = x.env.Now()
	}
	x.spare()
	x.out.End, x.out.RetryAfter = end, 0
	_, err := x.store(&segment.Attempt{URL: u, At: end, Failure: f, Instead: to})
	x.giveBack(left - 1)
	return err
}
