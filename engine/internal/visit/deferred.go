// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"net/netip"
	"sync"
	"time"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// deferredRobots is a redirected robots.txt. A visit of the host that it was redirected to requests it, in that host's
// turn. Until then, visits of the host that needs it end at once and come back after deferredPoll. Several hosts may
// wait for one URL: many names of a site redirect to the same.
type deferredRobots struct {
	mu       sync.Mutex
	until    time.Time // after that it counts as unreachable
	answer   robotsAnswer
	done     bool
	canceled bool
}

// result returns the answer when there is one, or when it has taken too long.
func (d *deferredRobots) result(now time.Time) (_ robotsAnswer, done bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.answer, d.done || now.After(d.until)
}

// wait lengthens the time for an answer.
func (d *deferredRobots) wait(longer time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.until = d.until.Add(longer)
}

func (d *deferredRobots) end(a robotsAnswer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answer, d.done = a, true
}

// cancel says that there will be no answer, because the run ended. That decides nothing: the next visit requests
// robots.txt again.
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

// deferrals are the deferred robots.txt files of one run, by the keys of their URLs.
type deferrals struct {
	mu sync.Mutex
	by map[urlkey.Key][]*waitingRobots
}

// waitingRobots is a deferred robots.txt with the number of redirects that led to its current URL.
type waitingRobots struct {
	*deferredRobots
	hops   int
	broken bool // the request for it broke off with its kept connection
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

// take removes and returns all that wait for a URL.
func (ds *deferrals) take(k urlkey.Key) []*waitingRobots {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	waiting := ds.by[k]
	delete(ds.by, k)
	return waiting
}

// mayReplay reports whether the request for a robots.txt may be sent again because its kept connection was closed. It
// may once.
func mayReplay(waiting []*waitingRobots) bool {
	for _, w := range waiting {
		if w.broken {
			return false
		}
	}
	for _, w := range waiting {
		w.broken = true
	}
	return true
}

// putBack notes that those that were taken wait on, because the URL is requested again.
func (ds *deferrals) putBack(k urlkey.Key, waiting []*waitingRobots) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if ds.by == nil {
		ds.by = map[urlkey.Key][]*waitingRobots{}
	}
	ds.by[k] = append(waiting, ds.by[k]...)
}

// drop ends those that wait for a URL that the frontier gave up: the robots.txt counts as unreachable.
func (ds *deferrals) drop(k urlkey.Key) {
	for _, w := range ds.take(k) {
		w.end(robotsAnswer{})
	}
}

// cancel cancels all of them at the end of the run.
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

// robotsAnswer is the answer to one request for a robots.txt. Status 0 means that there was no usable one. A redirect
// without a usable target counts as 404, as RFC 9309 says of too many redirects.
type robotsAnswer struct {
	status     int
	body       []byte
	next       urlkey.URL    // target of a redirect; zero: it is none
	received   int64         // bytes
	addr       netip.Addr    // that answered; zero: none did
	throttled  bool          // the host wants a pause: status 429 or 503
	retryAfter time.Duration // of throttled: how long, as the host demands it; 0: it does not say
	broken     bool          // there was no answer because a kept connection was closed
	cutOff     bool          // it was cut off because other bodies needed its memory, so it says nothing
	noFiles    error         // there was no request because no more files can be opened; nil: there was
	moved      bool          // it is to be requested at another address of the host
	reason     reason        // why there is no usable answer
}
