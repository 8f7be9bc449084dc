// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/fetch/robots"
	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// robotsState is what the robots.txt of an authority allows for now.
type robotsState struct {
	rules      *robots.Rules // nil: nothing is decided yet
	requested  bool          // a request was made to find out
	waited     bool          // it was another visit's, which this one waited for
	news       bool          // a deferred answer has come since the host's last visit
	pending    bool          // the answer is a redirect that is deferred: try again after deferredPoll
	broken     bool          // a kept connection was closed, or memory was short: it must be sent again
	unreach    time.Duration // > 0: nothing may be fetched for this time
	reason     reason        // of unreach; zero: it was found by an earlier process
	start, end time.Time     // of the request
	received   int64         // bytes, by the request
	addr       netip.Addr    // that answered; zero: none did
	rest       time.Duration // of broken: the least time until then
	throttled  bool          // the request was answered with 429 or 503
	retryAfter time.Duration // of throttled: how long the host wants to rest; 0: it does not say
	excused    bool          // there was no answer, which says nothing of the host: see robotsWays.excuses
	noFiles    error         // nothing was requested because no more files can be opened; nil: it was
	moved      bool          // it is to be requested at another address: see robotsWays.at and moves
}

// keepFunc puts the response to a request for robots.txt into the WARC.
type keepFunc func(u urlkey.URL, r *fetch.Response) error

// followFunc follows the redirect of a robots.txt without requesting it out of its host's turn; nil: it cannot be
// followed.
type followFunc func(to urlkey.URL) *deferredRobots

// robotsWays are how a request for robots.txt is made. waits is that of fetch.Request; it may be nil. excuses reports
// whether a failure says nothing of the host now: then it decides nothing, and what one decided before is asked again.
// at returns the address whose turn it is; here is false if the host is to be visited at another one by now. moves
// reports whether that is so after a failure. Then the request, made or not, decides nothing either. Without both the
// client tries all addresses of the host, whoever else is visited there.
type robotsWays struct {
	keep    keepFunc
	follow  followFunc
	waits   func(waiting bool)
	doing   *doing                   // of the fetcher; nil: there is none
	excuses func(fetch.Failure) bool // nil: it always says something
	at      func(ctx context.Context) (addr netip.Addr, here bool)
	moves   func(ctx context.Context, f fetch.Failure) bool
}

func (w *robotsWays) excused(f fetch.Failure) bool { return w.excuses != nil && w.excuses(f) }

// robots decides which rules hold for a URL. It requests robots.txt if there is no decision of the last day (RFC 9309):
// 2xx is parsed; 429, 5xx and unreachable disallow everything, unless there is a copy of the last thirty days; other
// 4xx and too many redirects allow everything. A host that answers with 429 or 503 rests as after a page in any case.
func (h *Hosts) robots(ctx context.Context, u urlkey.URL, ways robotsWays) (robotsState, error) {
	var a *authority
	for waited := false; ; waited = true {
		var err error
		if a, err = h.get(authorityKey(u)); err != nil {
			return robotsState{}, err
		}
		state, wait := h.decided(a, &ways)
		if wait == nil {
			if !state.requested {
				state.waited = waited
				return state, nil
			}
			if h.keeps(a) {
				break
			}
			a.mu.Lock()
			wait, a.fetching = a.fetching, nil
			a.mu.Unlock()
			close(wait)
		}
		ways.doing.set(DoingRobots)
		select { // another visit of the host is requesting it
		case <-wait:
		case <-ctx.Done():
			return robotsState{}, ctx.Err()
		}
		ways.doing.set(DoingPrepare)
	}
	state := robotsState{requested: true, start: h.env.Now()}
	answer := robotsAnswer{}
	if at, err := u.Resolve("/robots.txt"); err == nil {
		answer = h.askInTurn(ctx, a, at, &ways)
	}
	state.end, state.received, state.addr = h.env.Now(), answer.received, answer.addr
	state.throttled, state.retryAfter = answer.throttled, answer.retryAfter
	var deferred *deferredRobots
	if !answer.next.IsZero() && ctx.Err() == nil {
		deferred = ways.follow(answer.next)
		answer = robotsAnswer{} // unreachable if it cannot be followed
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.fetching)
	a.fetching = nil
	if ctx.Err() != nil {
		return state, ctx.Err()
	}
	h.conclude(a, &state, &answer, deferred, &ways)
	return state, nil
}

// conclude makes of an answer what the caller of robots is told. a.mu is held.
func (h *Hosts) conclude(
	a *authority, state *robotsState, answer *robotsAnswer, deferred *deferredRobots, ways *robotsWays,
) {
	if state.noFiles, state.moved = answer.noFiles, answer.moved; state.noFiles != nil || state.moved {
		return
	}
	if state.excused = ways.excused(answer.reason.failure); state.excused {
		state.reason = answer.reason
		return
	}
	if state.broken = answer.cutOff || answer.broken && !a.broken; state.broken {
		if a.broken {
			state.rest = cutOffRest
		}
		a.broken = true
		return
	}
	a.broken, a.followed = false, false
	if a.deferred = deferred; deferred != nil {
		state.pending = true
		return
	}
	state.unreach = h.decide(a, *answer, state.end)
	state.rules, state.reason = a.rules, a.reason
}

// decided returns the current decision, or a channel that is closed when there may be one. Without either, requested is
// set: the caller must make the request, and nobody else does.
func (h *Hosts) decided(a *authority, ways *robotsWays) (s robotsState, wait chan struct{}) {
	now := h.env.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	f := &a.facts
	if a.deferred.isCanceled() {
		a.deferred = nil
	}
	if a.deferred != nil {
		answer, done := a.deferred.result(now)
		if !done {
			s.pending = true
			return s, nil
		}
		a.deferred, s.news, answer.reason.redirected = nil, true, true
		s.unreach = h.decide(a, answer, now)
		s.rules, s.reason = a.rules, a.reason
		return s, nil
	}
	again := f.RobotsStatus == robotsStatusUnreachable && ways.excused(a.reason.failure)
	switch {
	case a.refusals > 0 && now.Before(a.askedAgain):
		s.unreach, s.reason = a.askedAgain.Sub(now), a.reason
	case f.RobotsFetched == 0 || again || robotsExpired(f, now.UnixMilli()):
		if a.fetching != nil {
			return s, a.fetching
		}
		a.fetching = make(chan struct{})
		s.requested = true
	case f.RobotsStatus == robotsStatusUnreachable:
		s.unreach, s.reason = time.Duration(f.RobotsExpires-now.UnixMilli())*time.Millisecond, a.reason
	default:
		if a.rules == nil {
			a.rules, _ = RobotsRules(f, h.agentOf(a.key))
			h.sitemaps.note(a.key, f, h.env.Links)
		}
		s.rules = a.rules
	}
	return s, nil
}

// Forgive has a host's robots.txt requested again at its next visit if it is held to be unreachable for a failure that
// the local network seems to have caused: the frontier's Options.OnForgive. Else a host would wait for minutes after an
// outage although its failure is taken back. It looks at what is in memory only: the failures are of the last seconds.
func (h *Hosts) Forgive(host urlkey.HostKey) {
	for _, scheme := range []string{"http", "https"} {
		a := h.peek(storage.AuthorityKey(host, scheme))
		if a == nil {
			continue
		}
		a.mu.Lock()
		if f := &a.facts; f.RobotsStatus == robotsStatusUnreachable && a.reason.failure.Local() {
			f.RobotsExpires, f.RobotsFailures = f.RobotsFetched, max(f.RobotsFailures, 1)-1
			a.dirty = true
		}
		a.mu.Unlock()
	}
}

// robotsExpired reports whether robots.txt is to be requested again. A stored time further ahead than a file is ever
// kept was written by a wrong clock.
func robotsExpired(f *storage.HostFacts, now int64) bool {
	return now >= f.RobotsExpires || f.RobotsExpires-now > robotsMaxAge.Milliseconds()
}

// decide stores an answer to the request for the authority's robots.txt. It returns how long nothing may be fetched.
// a.mu is held.
func (h *Hosts) decide(a *authority, answer robotsAnswer, now time.Time) (unreach time.Duration) {
	a.reason = answer.reason
	if refusedHere(answer.reason.failure) { // nothing is learned that holds for the next process
		a.rules = robots.DisallowAll
		if !answer.reason.redirected { // nothing was requested
			return robotsRetryMin
		}
		unreach = min(robotsRetryMin<<min(a.refusals, 16), robotsMaxAge)
		a.refusals++
		a.askedAgain = now.Add(unreach)
		return unreach
	}
	a.dirty, a.refusals = true, 0
	unreach = noteRobots(&a.facts, &answer, now)
	if answer.throttled {
		h.demands(a)
	}
	h.weigh(a)
	a.rules, _ = RobotsRules(&a.facts, h.agentOf(a.key))
	h.sitemaps.note(a.key, &a.facts, h.env.Links)
	return unreach
}

// robotsStatusUnreachable in HostFacts.RobotsStatus means that there was no usable answer.
const robotsStatusUnreachable = 599

// noteRobots writes an answer into the facts; status 0 means that there was none. It returns how long nothing may be
// fetched: 0 unless the file was unreachable and there is no copy to use. What the host demands with Retry-After is the
// least time until it is asked again.
func noteRobots(f *storage.HostFacts, answer *robotsAnswer, now time.Time) time.Duration {
	ms, status := now.UnixMilli(), answer.status
	if reachable := status >= 200 && status < 500 && status != 429; reachable {
		f.RobotsFetched, f.RobotsExpires, f.RobotsStatus = ms, ms+robotsMaxAge.Milliseconds(), uint16(status)
		f.Robots, f.RobotsFailures = nil, 0
		if status < 300 {
			f.Robots = append([]byte(nil), answer.body...)
		}
		return 0
	}
	wait := min(max(robotsRetryMin<<min(f.RobotsFailures, 16), answer.retryAfter), robotsMaxAge)
	f.RobotsFailures++
	f.RobotsExpires = ms + wait.Milliseconds()
	if f.RobotsStatus >= 200 && f.RobotsStatus < 500 && ms-f.RobotsFetched < robotsStaleMax.Milliseconds() {
		return 0 // the copy is used until then
	}
	f.RobotsStatus, f.RobotsFetched = robotsStatusUnreachable, ms
	return wait
}

// RobotsRules compiles the rules for an agent from the facts of an authority. reachable is false if robots.txt was
// unreachable: then the rules disallow everything.
func RobotsRules(f *storage.HostFacts, agent string) (rules *robots.Rules, reachable bool) {
	switch {
	case f.RobotsStatus == robotsStatusUnreachable:
		return robots.DisallowAll, false
	case f.RobotsStatus >= 200 && f.RobotsStatus < 300:
		return robots.Parse(f.Robots).Rules(agent), true
	}
	return robots.AllowAll, true
}

// Denied returns why robots.txt does not let a URL be requested: segment.FailureRobots, or segment.FailureCrawlDelay if
// the host demands a longer delay than maxDelay (0: any); "" if it does.
func Denied(rules *robots.Rules, u urlkey.URL, maxDelay time.Duration) fetch.Failure {
	switch {
	case !rules.Allowed(u.RequestTarget()):
		return segment.FailureRobots
	case delayTooLong(rules, maxDelay):
		return segment.FailureCrawlDelay
	}
	return ""
}

func delayTooLong(rules *robots.Rules, most time.Duration) bool {
	d, _ := rules.CrawlDelay()
	return most > 0 && d > most
}

// askInTurn is ask for the robots.txt of an authority, at the address whose turn it is.
func (h *Hosts) askInTurn(ctx context.Context, a *authority, u urlkey.URL, ways *robotsWays) (answer robotsAnswer) {
	req := h.robotsRequest(u)
	req.Waits = ways.waits
	if ways.at != nil {
		addr, here := ways.at(ctx)
		if !here && a.follows() {
			return robotsAnswer{moved: true}
		}
		req.Addr = addr
	}
	ways.doing.request(req, true)
	defer ways.doing.set(DoingPrepare)
	answer = h.ask(ctx, req, ways.keep)
	answer.moved = ways.moves != nil && ways.moves(ctx, answer.reason.failure)
	return answer
}

// follows reports whether visits follow a host to another address. Of twice in a row they do so once: DNS may have a
// new address each time.
func (a *authority) follows() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.followed = !a.followed
	return a.followed
}

// ask makes one request for a robots.txt. keep gets the response.
func (h *Hosts) ask(ctx context.Context, req *fetch.Request, keep keepFunc) robotsAnswer {
	resp := h.env.Client.Fetch(ctx, req)
	defer resp.Release()
	return h.answer(req.URL, resp, keep)
}

func (h *Hosts) answer(at urlkey.URL, resp *fetch.Response, keep keepFunc) (a robotsAnswer) {
	a.reason = reason{failure: resp.Failure, robots: resp.Status, unanswered: unanswered(resp.Failure)}
	a.received, a.broken, a.cutOff = resp.Received, resp.Failure == fetch.FailStale, resp.CutOff
	a.addr = resp.Addr
	if resp.Failure == fetch.FailFiles {
		a.noFiles = resp.Err
	}
	s := h.slots.take()
	defer h.slots.put(s)
	defer resp.DropContent()
	if resp.Failure != "" {
		return a
	}
	a.status = resp.Status
	if a.throttled = a.status == 429 || a.status == 503; a.throttled {
		a.retryAfter, _ = resp.RetryAfter(h.env.Now())
	}
	if resp.Truncated != "" && resp.Truncated != "length" || a.status == 206 || a.status == 304 {
		a.status = 0 // the rule that matters may be missing, so it counts as unreachable
	}
	switch {
	case a.status >= 200 && a.status < 300:
		content, whole := robotsContent(resp)
		if !whole {
			a.status = 0
			break
		}
		a.body = append([]byte(nil), content...)
	case a.status >= 300 && a.status < 400:
		next, err := at.Resolve(resp.Location())
		if err != nil || next == at { // without a Location it leads to itself, too
			a.status = 404
			break
		}
		a.next = next
	}
	if err := keep(at, resp); err != nil {
		h.env.Warn(fmt.Errorf("keeping %s: %w", at, err))
	}
	return a
}

// robotsContent returns the decoded content of a robots.txt, at most robotsBodyMax bytes of it. whole is false if any
// of these is missing or cannot be decoded: the rule that matters may be there, so the file counts as unreachable. A
// body that is text under a wrong label was never coded.
func robotsContent(resp *fetch.Response) (content []byte, whole bool) {
	content, cut, err := resp.ExactContent()
	if errors.Is(err, fetch.ErrLabel) && isText(content) {
		err = nil
	}
	if len(content) >= robotsBodyMax && (err == nil || resp.Truncated == "length") {
		return content[:robotsBodyMax], true // the rest is not used
	}
	return content, err == nil && !cut
}

// isText reports whether b holds UTF-8 without control bytes other than white space.
func isText(b []byte) bool {
	return utf8.Valid(b) && !bytes.ContainsFunc(b, func(r rune) bool {
		return r < ' ' && !unicode.IsSpace(r) || r == 0x7f
	})
}

// ErrRobots is wrapped by the error of MayFetch: robots.txt does not allow the URL, or is unreachable.
var ErrRobots = errors.New("robots.txt does not allow it")

// Leave is what MayFetch says of a URL that may be fetched.
type Leave struct {
	Wait        time.Duration // before it is requested
	Preferences string        // lines of robots.txt about uses of it
}

// MayFetch decides by robots.txt about one URL, outside any run. It follows redirects itself, each after the delay of
// its host. The error wraps ErrRobots, or is of ctx or of the store. Where robots.txt is unreachable, TroubleOf says
// why.
func (h *Hosts) MayFetch(ctx context.Context, u urlkey.URL) (leave Leave, err error) {
	keep := func(urlkey.URL, *fetch.Response) error { return nil }
	follow := func(to urlkey.URL) *deferredRobots { return h.followAlone(ctx, to, keep) }
	ways := robotsWays{keep: keep, follow: follow}
	state, err := h.robots(ctx, u, ways)
	if err == nil && state.broken && rest(ctx, h.delayOf(u.HostKey())) {
		state, err = h.robots(ctx, u, ways)
	}
	if err == nil && state.pending {
		state, err = h.robots(ctx, u, ways)
	}
	switch {
	case err != nil:
		return leave, err
	case state.broken:
		return leave, fmt.Errorf("robots.txt of %s was cut off for lack of memory: try again", u)
	case state.noFiles != nil:
		return leave, fmt.Errorf("robots.txt of %s: %w", u, state.noFiles)
	case ctx.Err() != nil:
		return leave, ctx.Err()
	case state.unreach > 0:
		h.troubles.note(u.HostKey(), state.reason)
		return leave, fmt.Errorf("%s: %w: robots.txt is unreachable, so nothing of the host may be fetched", u,
			ErrRobots)
	}
	switch Denied(state.rules, u, h.env.MaxCrawlDelay) {
	case segment.FailureRobots:
		return leave, fmt.Errorf("%s: %w", u, ErrRobots)
	case segment.FailureCrawlDelay:
		d, _ := state.rules.CrawlDelay()
		return leave, fmt.Errorf("%s: %w: the host demands a Crawl-delay of %s, and the longest accepted is %s",
			u, ErrRobots, d, h.env.MaxCrawlDelay)
	}
	if d, ok := state.rules.CrawlDelay(); ok {
		leave.Wait = min(d, aloneDelayMax)
	}
	leave.Wait = max(leave.Wait, h.delayOf(u.HostKey()), 0)
	leave.Preferences = state.rules.Preferences(u.RequestTarget())
	return leave, nil
}

// FetchAlone makes the one exchange that MayFetch permitted. If its kept connection was closed, it makes another after
// the wait that MayFetch returned. The caller must release the response.
func (h *Hosts) FetchAlone(ctx context.Context, u urlkey.URL, wait time.Duration) *fetch.Response {
	r := h.env.Client.Fetch(ctx, h.Request(u))
	if r.Failure == fetch.FailStale && rest(ctx, wait) {
		r.Release()
		r = h.env.Client.Fetch(ctx, h.Request(u))
	}
	return r
}

// rest waits; false: ctx ended first.
func rest(ctx context.Context, wait time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(max(wait, 0)):
		return true
	}
}

// followAlone follows the redirects of a robots.txt at once, one after the other; nil: it cannot.
func (h *Hosts) followAlone(ctx context.Context, to urlkey.URL, keep keepFunc) *deferredRobots {
	d := &deferredRobots{until: h.env.Now().Add(deferredPatience)}
	for range robotsRedirectsMax {
		host := to.HostKey()
		if h.env.Admission.RefusesHost(host) {
			return nil
		}
		if !rest(ctx, h.delayOf(host)) {
			return nil
		}
		answer := h.ask(ctx, h.robotsRequest(to), keep)
		if (answer.broken || answer.cutOff) && rest(ctx, h.delayOf(host)) {
			answer = h.ask(ctx, h.robotsRequest(to), keep)
		}
		if answer.next.IsZero() {
			d.end(answer)
			return d
		}
		to = answer.next
	}
	d.end(robotsAnswer{status: 404})
	return d
}
