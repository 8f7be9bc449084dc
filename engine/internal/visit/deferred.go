// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// deferredRobots is a redirected robots.txt that is requested in the turn of the host it was redirected to, by a
// visit of that host, while visits of the host that needs it come back now and then. Several hosts may wait
// for one: many names of one site redirect to one.
type deferredRobots struct {
	until time.Time // after that it is given up

	mu       sync.Mutex
	answer   robotsAnswer
	done     bool
	canceled bool
}

// result returns the answer, once there is one or it has taken too long.
func (d *deferredRobots) result(now time.Time) (_ robotsAnswer, done bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.answer, d.done || now.After(d.until)
}

func (d *deferredRobots) end(a robotsAnswer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answer, d.done = a, true
}

// cancel says that there will be no answer because the run ended. That is no verdict: whoever needs one asks again.
func (d *deferredRobots) cancel() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.canceled = !d.done
}

// isCanceled reports whether the run ended before there was an answer. A nil deferredRobots is not canceled.
func (d *deferredRobots) isCanceled() bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.canceled
}

// deferrals are those that a frontier was asked to make, by the key of the URL.
type deferrals struct {
	mu sync.Mutex
	by map[urlkey.Key][]*waitingRobots
}

// waitingRobots is a deferred robots.txt with the redirects that led to where it is now.
type waitingRobots struct {
	*deferredRobots
	hops int
}

// add notes that w waits for a URL, and reports whether it is the first that does.
func (ds *deferrals) add(k urlkey.Key, w *waitingRobots) (first bool) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if ds.by == nil {
		ds.by = map[urlkey.Key][]*waitingRobots{}
	}
	ds.by[k] = append(ds.by[k], w)
	return len(ds.by[k]) == 1
}

// take returns all that wait for a URL and forgets them.
func (ds *deferrals) take(k urlkey.Key) []*waitingRobots {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	waiting := ds.by[k]
	delete(ds.by, k)
	return waiting
}

// drop ends those that the frontier gave up: the robots.txt counts as unreachable.
func (ds *deferrals) drop(k urlkey.Key) {
	for _, w := range ds.take(k) {
		w.end(robotsAnswer{})
	}
}

// cancel ends all of them with their run.
func (ds *deferrals) cancel() {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	for _, waiting := range ds.by {
		for _, w := range waiting {
			w.cancel()
		}
	}
	ds.by = nil
}

// follow is the way to follow a redirect of a robots.txt while a frontier is at work.
func (p *Pool) follow(to urlkey.URL) *deferredRobots {
	w := &waitingRobots{&deferredRobots{until: p.env.Now().Add(deferredPatience)}, 1}
	if !p.send(w, to) {
		return nil
	}
	return w.deferredRobots
}

// send has a robots.txt requested in its host's turn; false: that cannot be. hops counts the redirects that led
// there, this one included.
func (p *Pool) send(w *waitingRobots, to urlkey.URL) bool {
	if w.hops > robotsRedirectsMax {
		w.end(robotsAnswer{status: 404})
		return true
	}
	host := to.HostKey()
	if p.env.Admission.RefusesHost(host) {
		return false
	}
	k := to.Key()
	c := frontier.Candidate{Rest: string(k[len(host):]), Score: math.MaxFloat32, Tag: tagRobots}
	if p.source.deferred.add(k, w) && !p.frontier.Ask(host, c) {
		p.source.deferred.drop(k)
	}
	return true
}

// fetchDeferred requests a deferred robots.txt in the turn of its host.
func (x *visit) fetchDeferred(ctx context.Context, u urlkey.URL, left int) (more bool) {
	p := x.p
	waiting := p.source.deferred.take(u.Key())
	if len(waiting) == 0 {
		return true
	}
	asking := x.flight.begin(ctx, u)
	if p.env.Admission.RefusesHost(x.v.Host) { // it was not when the robots.txt was deferred
		x.flight.end()
		for _, w := range waiting {
			w.end(robotsAnswer{})
		}
		return true
	}
	req := p.hosts.request(x.v.Host, u, robotsBodyMax)
	req.Addr = x.v.Addr
	resp := p.env.Client.Fetch(asking, req)
	defer resp.Release()
	cut := x.flight.end()
	if ctx.Err() != nil && resp.Failure != "" { // cut off by the end of the run
		for _, w := range waiting {
			w.cancel()
		}
		x.giveBack(left - 1)
		return false
	}
	x.note(resp)
	if cut {
		x.out.Kind = frontier.Fetched // nobody's failure
	}
	more = x.out.Kind == frontier.Fetched && !cut
	if !more || left == 1 {
		x.giveBack(left - 1)
	}
	answer := p.hosts.answer(u, resp, p.keepRobots)
	for _, w := range waiting {
		w.hops++
		switch {
		case answer.next.IsZero():
			w.end(answer)
		case !p.send(w, answer.next):
			w.end(robotsAnswer{})
		}
	}
	return more
}
