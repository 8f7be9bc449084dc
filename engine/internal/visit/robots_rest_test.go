// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/storage"
)

// TestRobotsRetryAfter: a host that answers the request for its robots.txt with 429 or 503 gets no request before it
// said, with an earlier copy and without one, and a day later at the latest.
func TestRobotsRetryAfter(t *testing.T) {
	const robots, page = "http://a.example/robots.txt", "http://a.example/yes"
	throttle := func(status int, wait string) answer {
		return reply(fmt.Sprintf("HTTP/1.1 %d No\nRetry-After: %s", status, wait), "")
	}
	f := func(copied bool, answer answer, want time.Duration) {
		t.Helper()
		w := newWorld(t, admission.Options{})
		h := NewHosts(w.env)
		if copied {
			w.web.set(robots, robotsTxt(disallowNo))
			_, err := h.robots(context.Background(), w.url(page), noWays)
			w.must(err)
			w.pass(25 * time.Hour)
		}
		w.web.set(robots, answer)
		w.web.set(page, html("hi"))
		before := len(w.web.requests())
		r := w.newRun(h, newList(w, page), Limits{})
		r.front.WakeAll()
		r.Start(context.Background(), 1)
		w.until("the rest of the host", func() bool {
			rest := time.Until(r.front.Host(w.host("a.example")).Next)
			return rest > want-time.Minute && rest < want+time.Minute
		})
		if n := len(w.web.requests()) - before; n != 1 {
			t.Errorf("copied %t: %d requests", copied, n)
		}
		r.end()
	}
	f(false, throttle(503, "7200"), 2*time.Hour)
	f(true, throttle(503, "7200"), 2*time.Hour)
	f(true, throttle(429, "7200"), 2*time.Hour)
	f(false, throttle(503, "99999999999"), 24*time.Hour)
	f(true, throttle(503, "99999999999"), 24*time.Hour)
}

// TestDemandSurvives: the rest that a host demands, for its robots.txt or for a page, is in hostdb while the run goes
// on, so a process that is killed then does not make the next one break it.
func TestDemandSurvives(t *testing.T) {
	const root, page = "http://a.example/robots.txt", "http://a.example/yes"
	for throttled, until := range map[string]func(w *world) int64{
		root: func(w *world) int64 {
			var f storage.HostFacts
			_, err := w.store.HostFacts(storage.AuthorityKey(w.host("a.example"), "http"), &f)
			w.must(err)
			return f.RobotsExpires
		},
		page: func(w *world) int64 {
			var f storage.HostFacts
			_, err := w.store.HostFacts(storage.HostStateKey(w.host("a.example")), &f)
			w.must(err)
			return f.NextFetch
		},
	} {
		w := newWorld(t, admission.Options{})
		w.web.set(throttled, reply("HTTP/1.1 503 No\nRetry-After: 7200", ""))
		r := w.start(NewHosts(w.env), newList(w, page), 1, Limits{})
		w.until(throttled+": the rest is in hostdb", func() bool {
			return time.UnixMilli(until(w)).Sub(w.now()) > time.Hour
		})
		r.end()
	}
}

// TestDeferredDelay: a robots.txt that is redirected to a host with a long Crawl-delay waits for the turn of that host,
// however long that is, and its time for an answer begins then.
func TestDeferredDelay(t *testing.T) {
	const delay = 5 * time.Minute
	w := newWorld(t, admission.Options{})
	text := fmt.Sprintf("User-agent: *\nCrawl-delay: %d", delay/time.Second)
	w.web.set("http://b.example/robots.txt", robotsTxt(text))
	r := w.start(NewHosts(w.env), newList(w, "http://b.example/1", "http://b.example/2"), 1, Limits{})
	w.until("the delay", func() bool { return r.front.Host(w.host("b.example")).Delay == delay })
	before := w.now()
	d := r.follow(w.url("http://b.example/robots.txt"))
	if _, done := d.result(before.Add(delay + deferredPatience)); done {
		t.Error("it counts as unreachable before it can have been requested")
	}
	if _, done := d.result(w.now().Add(delay + deferredPatience + time.Second)); !done {
		t.Error("it is waited for without end")
	}
	r.end()
}
