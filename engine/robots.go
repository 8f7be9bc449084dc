// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/fetch/robots"
	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// robotsState is what the robots.txt of an authority allows for now.
type robotsState struct {
	rules      *robots.Rules // nil: nothing is decided yet
	requested  bool          // a request was made to find out
	pending    bool          // the answer is a redirect that an errand follows: come back in a moment
	unreach    time.Duration // > 0: nothing may be fetched; try again after this
	start, end time.Time     // of the request
}

// keepFunc puts an exchange that is no page into the WARC.
type keepFunc func(*warc.Exchange) error

// robotsFor decides which rules hold for a URL, requesting robots.txt when no decision of the last
// day is at hand (RFC 9309): 2xx is parsed, other 4xx and too many redirects allow everything;
// 429, 5xx and unreachable disallow everything, unless a copy of the last thirty days can stand in.
//
// Redirects are followed by follow, which sees to it that no host is asked out of its turn: it returns an
// errand, or nil if the redirect cannot be followed.
func (e *Engine) robotsFor(ctx context.Context, u urlkey.URL, keep keepFunc, follow func(to urlkey.URL) *errand) (robotsState, error) {
	a, err := e.hosts.get(authorityKey(u))
	if err != nil {
		return robotsState{}, err
	}
	for {
		state, wait := a.decided(e)
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
	state := robotsState{requested: true, start: e.o.Now()}
	answer := robotsAnswer{}
	if at, err := u.Resolve("/robots.txt"); err == nil {
		answer = e.askRobots(ctx, &fetch.Request{URL: at, MaxBody: robotsBodyMax}, keep)
	}
	state.end = e.o.Now()
	var errand *errand
	if !answer.next.IsZero() && ctx.Err() == nil {
		errand = follow(answer.next)
		answer = robotsAnswer{} // where it cannot be followed: unreachable
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.fetching)
	a.fetching = nil
	if ctx.Err() != nil {
		return state, ctx.Err()
	}
	if a.errand = errand; errand != nil {
		state.pending = true
		return state, nil
	}
	state.unreach = a.decide(e, answer, state.end)
	state.rules = a.rules
	return state, nil
}

// decided returns the decision at hand, or what to wait for until there is one. If neither, requested is
// set: the caller must make the request, as the only one.
func (a *authority) decided(e *Engine) (s robotsState, wait chan struct{}) {
	now := e.o.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	f := &a.facts
	if a.errand != nil {
		answer, done := a.errand.result(now)
		if !done {
			s.pending = true
			return s, nil
		}
		a.errand = nil
		s.unreach = a.decide(e, answer, now)
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
			a.rules = robotsRules(f, e.o.agentToken())
			e.noteSitemaps(f)
		}
		s.rules = a.rules
	}
	return s, nil
}

// decide takes an answer for the authority's robots.txt and returns how long nothing may be fetched, if it
// was unreachable. a.mu is held.
func (a *authority) decide(e *Engine, answer robotsAnswer, now time.Time) (unreach time.Duration) {
	a.dirty = true
	unreach = noteRobots(&a.facts, answer.status, answer.body, now)
	a.rules = robotsRules(&a.facts, e.o.agentToken())
	e.noteSitemaps(&a.facts)
	return unreach
}

// robotsStatusUnreachable stands in HostFacts.RobotsStatus for "no answer that means anything".
const robotsStatusUnreachable = 599

// noteRobots writes the outcome of a robots.txt fetch into the facts, and returns how long nothing
// may be fetched when the file was unreachable.
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

// robotsRules compiles the rules that facts imply.
func robotsRules(f *storage.HostFacts, agent string) *robots.Rules {
	switch {
	case f.RobotsStatus == robotsStatusUnreachable:
		return robots.DisallowAll
	case f.RobotsStatus >= 200 && f.RobotsStatus < 300:
		return robots.Parse(f.Robots).Rules(agent)
	}
	return robots.AllowAll
}

// robotsAnswer is what came of one request for a robots.txt. Status 0: no answer that means anything. A
// redirect that cannot be followed is a 404, as RFC 9309 has it for too many.
type robotsAnswer struct {
	status int
	body   []byte
	next   urlkey.URL // where a redirect leads; zero: it is none
}

// askRobots makes one request for a robots.txt. The exchange is kept in the WARC, marked so that it is not
// taken for a page.
func (e *Engine) askRobots(ctx context.Context, req *fetch.Request, keep keepFunc) robotsAnswer {
	resp := e.client.Fetch(ctx, req)
	defer resp.Release()
	return e.robotsAnswer(req.URL, resp, keep)
}

func (e *Engine) robotsAnswer(at urlkey.URL, resp *fetch.Response, keep keepFunc) (a robotsAnswer) {
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
	if err := keep(warcExchange(at, resp, warc.Field{Name: fieldRole, Value: roleRobots})); err != nil {
		e.warn(fmt.Errorf("keeping %s: %w", at, err))
	}
	return a
}

// errand is a redirected robots.txt that is asked for in the turn of the host that it was redirected to, by
// a visit of that host, while the visits of the host that needs it come back now and then. Several hosts
// may wait for one errand: many names of one site redirect to one.
type errand struct {
	until time.Time // after that it is given up

	mu     sync.Mutex
	answer robotsAnswer
	done   bool
}

// result returns the answer, once there is one or it has taken too long.
func (r *errand) result(now time.Time) (robotsAnswer, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.answer, r.done || now.After(r.until)
}

func (r *errand) end(a robotsAnswer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer, r.done = a, true
}

// errands are those that a frontier was asked to make, by the key of the URL.
type errands struct {
	mu sync.Mutex
	by map[urlkey.Key][]*waitingErrand
}

// waitingErrand is an errand with the redirects that led to where it is now.
type waitingErrand struct {
	*errand
	hops int
}

// add notes that w waits for a URL, and reports whether it is the first that does.
func (es *errands) add(k urlkey.Key, w *waitingErrand) (first bool) {
	es.mu.Lock()
	defer es.mu.Unlock()
	if es.by == nil {
		es.by = map[urlkey.Key][]*waitingErrand{}
	}
	es.by[k] = append(es.by[k], w)
	return len(es.by[k]) == 1
}

// take returns all that wait for a URL and forgets them.
func (es *errands) take(k urlkey.Key) []*waitingErrand {
	es.mu.Lock()
	defer es.mu.Unlock()
	waiting := es.by[k]
	delete(es.by, k)
	return waiting
}

// send has a robots.txt asked for in its host's turn; false: that cannot be. hops counts the redirects that
// led there, this one included.
func (f *fetching) send(w *waitingErrand, to urlkey.URL) bool {
	if w.hops > robotsRedirectsMax {
		w.end(robotsAnswer{status: 404})
		return true
	}
	if f.e.files.refuseHost(to) {
		return false
	}
	k := to.Key()
	if f.source.errands.add(k, w) && !f.frontier.Ask(to.HostKey(), frontier.Candidate{Rest: string(k[len(to.HostKey()):]), Score: math.MaxFloat32, Tag: tagErrand}) {
		f.source.dropErrands(k)
	}
	return true
}

// follow is robotsFor's way to follow a redirect while a frontier is at work.
func (f *fetching) follow(to urlkey.URL) *errand {
	w := &waitingErrand{&errand{until: f.e.o.Now().Add(errandPatience)}, 1}
	if !f.send(w, to) {
		return nil
	}
	return w.errand
}

// robotsAlone is robotsFor when nothing else is asked for by this process: it follows redirects itself, as
// slowly as hosts may be asked.
func (e *Engine) robotsAlone(ctx context.Context, u urlkey.URL) (robotsState, error) {
	keep := func(*warc.Exchange) error { return nil }
	follow := func(to urlkey.URL) *errand {
		w := &errand{until: e.o.Now().Add(errandPatience)}
		for range robotsRedirectsMax {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(max(e.o.Delay, 0)):
			}
			answer := e.askRobots(ctx, &fetch.Request{URL: to, MaxBody: robotsBodyMax}, keep)
			if answer.next.IsZero() {
				w.end(answer)
				return w
			}
			to = answer.next
		}
		w.end(robotsAnswer{status: 404})
		return w
	}
	state, err := e.robotsFor(ctx, u, keep, follow)
	if err == nil && state.pending {
		state, err = e.robotsFor(ctx, u, keep, follow)
	}
	return state, err
}

// dropErrands ends errands that the frontier gave up: the robots.txt counts as unreachable.
func (s *source) dropErrands(k urlkey.Key) {
	for _, w := range s.errands.take(k) {
		w.end(robotsAnswer{})
	}
}

// errand makes an errand in the turn of its host.
func (x *visit) errand(ctx context.Context, u urlkey.URL, left int) (more bool, err error) {
	f := x.f
	waiting := f.source.errands.take(u.Key())
	if len(waiting) == 0 {
		return true, nil
	}
	resp := f.e.client.Fetch(x.flight.begin(ctx, u), &fetch.Request{URL: u, Addr: x.v.Addr, MaxBody: robotsBodyMax})
	defer resp.Release()
	cut := x.flight.end()
	x.note(resp)
	if cut {
		x.out.Kind = frontier.Fetched // nobody's failure
	}
	more = x.out.Kind == frontier.Fetched && !cut
	if !more || left == 1 {
		x.giveBack(left - 1)
	}
	answer := f.e.robotsAnswer(u, resp, f.keep)
	for _, w := range waiting {
		w.hops++
		switch {
		case answer.next.IsZero():
			w.end(answer)
		case !f.send(w, answer.next):
			w.end(robotsAnswer{})
		}
	}
	return more, nil
}
