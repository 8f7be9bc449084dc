// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/fetch/robots"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// robotsState is what the robots.txt of an authority allows for now.
type robotsState struct {
	rules      *robots.Rules // nil: nothing is decided yet
	requested  bool          // a request was made to find out
	pending    bool          // the answer is a redirect that is deferred: come back in a moment
	unreach    time.Duration // > 0: nothing may be fetched; try again after this
	start, end time.Time     // of the request
}

// keepFunc puts the response to a request for robots.txt into the WARC.
type keepFunc func(u urlkey.URL, r *fetch.Response) error

// robots decides which rules hold for a URL, requesting robots.txt when no decision of the last day is known
// (RFC 9309): 2xx is parsed, other 4xx and too many redirects allow everything; 429, 5xx and unreachable
// disallow everything, unless a copy of the last thirty days can stand in.
//
// Redirects are followed by follow, which sees to it that no host is asked out of its turn: it returns nil if
// the redirect cannot be followed.
func (h *Hosts) robots(ctx context.Context, u urlkey.URL, keep keepFunc, follow func(to urlkey.URL) *deferredRobots) (robotsState, error) {
	a, err := h.get(authorityKey(u))
	if err != nil {
		return robotsState{}, err
	}
	for {
		state, wait := h.decided(a)
		if wait == nil {
			if !state.requested {
				return state, nil
			}
			break
		}
		select { // another visit of the host is asking
		case <-wait:
		case <-ctx.Done():
			return robotsState{}, ctx.Err()
		}
	}
	state := robotsState{requested: true, start: h.env.Now()}
	answer := robotsAnswer{}
	if at, err := u.Resolve("/robots.txt"); err == nil {
		answer = h.ask(ctx, h.request(at.HostKey(), at, robotsBodyMax), keep)
	}
	state.end = h.env.Now()
	var deferred *deferredRobots
	if !answer.next.IsZero() && ctx.Err() == nil {
		deferred = follow(answer.next)
		answer = robotsAnswer{} // where it cannot be followed: unreachable
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.fetching)
	a.fetching = nil
	if ctx.Err() != nil {
		return state, ctx.Err()
	}
	if a.deferred = deferred; deferred != nil {
		state.pending = true
		return state, nil
	}
	state.unreach = h.decide(a, answer, state.end)
	state.rules = a.rules
	return state, nil
}

// decided returns the current decision, or what to wait for until there is one. If neither, requested is set: the
// caller must make the request, as the only one.
func (h *Hosts) decided(a *authority) (s robotsState, wait chan struct{}) {
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
		a.deferred = nil
		s.unreach = h.decide(a, answer, now)
		s.rules = a.rules
		return s, nil
	}
	switch {
	case f.RobotsFetched == 0 || now.UnixMilli() >= f.RobotsExpires:
		if a.fetching != nil {
			return s, a.fetching
		}
		a.fetching = make(chan struct{})
		s.requested = true
	case f.RobotsStatus == robotsStatusUnreachable:
		s.unreach = time.Duration(f.RobotsExpires-now.UnixMilli()) * time.Millisecond
	default:
		if a.rules == nil {
			a.rules, _ = RobotsRules(f, h.env.Agent)
			h.noteSitemaps(f)
		}
		s.rules = a.rules
	}
	return s, nil
}

// decide takes an answer for the authority's robots.txt and returns how long nothing may be fetched, if it was
// unreachable. a.mu is held.
func (h *Hosts) decide(a *authority, answer robotsAnswer, now time.Time) (unreach time.Duration) {
	a.dirty = true
	unreach = noteRobots(&a.facts, answer.status, answer.body, now)
	a.rules, _ = RobotsRules(&a.facts, h.env.Agent)
	h.noteSitemaps(&a.facts)
	return unreach
}

// robotsStatusUnreachable stands in HostFacts.RobotsStatus for "no answer that means anything".
const robotsStatusUnreachable = 599

// noteRobots writes the outcome of a robots.txt fetch into the facts, and returns how long nothing may be
// fetched when the file was unreachable.
func noteRobots(f *storage.HostFacts, status int, body []byte, now time.Time) time.Duration {
	ms := now.UnixMilli()
	if reachable := status >= 200 && status < 500 && status != 429; reachable {
		f.RobotsFetched, f.RobotsExpires, f.RobotsStatus = ms, ms+robotsMaxAge.Milliseconds(), uint16(status)
		f.Robots, f.RobotsFailures = nil, 0
		if status < 300 {
			f.Robots = append([]byte(nil), body...)
		}
		return 0
	}
	wait := min(robotsRetryMin<<min(f.RobotsFailures, 16), robotsMaxAge)
	f.RobotsFailures++
	f.RobotsExpires = ms + wait.Milliseconds()
	if f.RobotsStatus >= 200 && f.RobotsStatus < 500 && ms-f.RobotsFetched < robotsStaleMax.Milliseconds() {
		return 0 // the last good copy stands in until then
	}
	f.RobotsStatus, f.RobotsFetched = robotsStatusUnreachable, ms
	return wait
}

// RobotsRules compiles the rules that facts of an authority imply for an agent. reachable is false when robots.txt
// could not be had: then the rules disallow everything.
func RobotsRules(f *storage.HostFacts, agent string) (rules *robots.Rules, reachable bool) {
	switch {
	case f.RobotsStatus == robotsStatusUnreachable:
		return robots.DisallowAll, false
	case f.RobotsStatus >= 200 && f.RobotsStatus < 300:
		return robots.Parse(f.Robots).Rules(agent), true
	}
	return robots.AllowAll, true
}

// robotsAnswer is what came of one request for a robots.txt. Status 0: no answer that means anything. A redirect
// that cannot be followed is a 404, as RFC 9309 has it for too many.
type robotsAnswer struct {
	status int
	body   []byte
	next   urlkey.URL // where a redirect leads; zero: it is none
}

// ask makes one request for a robots.txt. The exchange is kept in the WARC.
func (h *Hosts) ask(ctx context.Context, req *fetch.Request, keep keepFunc) robotsAnswer {
	resp := h.env.Client.Fetch(ctx, req)
	defer resp.Release()
	return h.answer(req.URL, resp, keep)
}

func (h *Hosts) answer(at urlkey.URL, resp *fetch.Response, keep keepFunc) (a robotsAnswer) {
	if resp.Failure != "" {
		return a
	}
	a.status = resp.Status
	if resp.Truncated != "" && resp.Truncated != "length" {
		a.status = 0 // half a file may lack the rule that matters: it counts as unreachable
	}
	switch {
	case a.status >= 200 && a.status < 300:
		if content, _, err := resp.Content(); err == nil || len(content) > 0 {
			a.body = append([]byte(nil), content[:min(len(content), robotsBodyMax)]...)
		}
	case a.status >= 300 && a.status < 400:
		next, err := at.Resolve(resp.Location())
		if err != nil {
			a.status = 404
		}
		a.next = next
	}
	if err := keep(at, resp); err != nil {
		h.env.Warn(fmt.Errorf("keeping %s: %w", at, err))
	}
	return a
}

// ErrRobots is wrapped by the error of MayFetch: robots.txt does not allow the URL, or cannot be had.
var ErrRobots = errors.New("robots.txt does not allow it")

// MayFetch asks robots.txt about one URL when nothing else is requested by this process, and returns how long to
// wait before the URL may be requested. It follows redirects itself, as slowly as hosts may be asked.
func (h *Hosts) MayFetch(ctx context.Context, u urlkey.URL) (wait time.Duration, err error) {
	keep := func(urlkey.URL, *fetch.Response) error { return nil }
	follow := func(to urlkey.URL) *deferredRobots { return h.followAlone(ctx, to, keep) }
	state, err := h.robots(ctx, u, keep, follow)
	if err == nil && state.pending {
		state, err = h.robots(ctx, u, keep, follow)
	}
	switch {
	case err != nil:
		return 0, err
	case state.unreach > 0:
		return 0, fmt.Errorf("%s: %w: robots.txt is unreachable, so nothing of the host may be fetched", u, ErrRobots)
	case !state.rules.Allowed(u.RequestTarget()):
		return 0, fmt.Errorf("%s: %w", u, ErrRobots)
	}
	if d, ok := state.rules.CrawlDelay(); ok {
		wait = min(d, aloneDelayMax)
	}
	return max(wait, h.delayOf(u.HostKey()), 0), nil
}

// followAlone follows the redirects of a robots.txt one after the other.
func (h *Hosts) followAlone(ctx context.Context, to urlkey.URL, keep keepFunc) *deferredRobots {
	d := &deferredRobots{until: h.env.Now().Add(deferredPatience)}
	for range robotsRedirectsMax {
		host := to.HostKey()
		if h.env.Admission.RefusesHost(host) {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(max(h.delayOf(host), 0)):
		}
		answer := h.ask(ctx, h.request(host, to, robotsBodyMax), keep)
		if answer.next.IsZero() {
			d.end(answer)
			return d
		}
		to = answer.next
	}
	d.end(robotsAnswer{status: 404})
	return d
}
