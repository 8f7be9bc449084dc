// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/storage"
)

// TestPauseSurvives: what makes a host's pause longer than the crawl's delay is in hostdb while the run goes on, so the
// first request of a process that comes after a crash waits for it.
func TestPauseSurvives(t *testing.T) {
	const root, page = "http://a.example/robots.txt", "http://a.example/yes"
	slowly := func(ctx context.Context, r *fetch.Request) *fetch.Response {
		resp := html("hi")(ctx, r)
		resp.FirstByte = 3 * time.Second
		return resp
	}
	for name, c := range map[string]struct {
		robots, page answer
		want         func(f *storage.HostFacts) bool
	}{
		"Crawl-delay": {
			robotsTxt("User-agent: *\nCrawl-delay: 30"), html("hi"),
			func(f *storage.HostFacts) bool { return f.CrawlDelayMS == 30_000 },
		},
		"response time": {
			robotsTxt(""), slowly, func(f *storage.HostFacts) bool { return f.ResponseMS == 3000 },
		},
	} {
		w := newWorld(t, admission.Options{})
		w.delay.Store(int64(time.Millisecond))
		w.web.set(root, c.robots)
		w.web.set(page, c.page)
		r := w.start(NewHosts(w.env), newList(w, page), 1, Limits{})
		w.until(name+" is in hostdb", func() bool {
			var f storage.HostFacts
			_, err := w.store.HostFacts(storage.HostStateKey(w.host("a.example")), &f)
			w.must(err)
			return c.want(&f)
		})
		refill, err := NewSource(NewHosts(w.env), newList(w, page).supply()).Refill(t.Context(), w.host("a.example"), 1)
		if err != nil || max(refill.CrawlDelay, refill.ResponseTime) < 3*time.Second {
			t.Errorf("%s: the next process has %+v, %v", name, refill, err)
		}
		r.end()
	}
}

// TestResponseIsForgotten: a host that was slow and is quick again does not count as slow in the next process.
func TestResponseIsForgotten(t *testing.T) {
	w := newWorld(t, admission.Options{})
	w.delay.Store(int64(time.Second))
	h, host := NewHosts(w.env), w.host("a.example")
	stored := func() (ms uint32) {
		w.must(h.Flush())
		var f storage.HostFacts
		_, err := w.store.HostFacts(storage.HostStateKey(host), &f)
		w.must(err)
		return f.ResponseMS
	}
	for i, step := range []struct {
		took time.Duration
		want uint32
	}{
		{500 * time.Millisecond, 0}, {4 * time.Second, 4000}, {3 * time.Second, 4000}, {5 * time.Second, 5000},
		{100 * time.Millisecond, 100}, {90 * time.Millisecond, 100},
	} {
		h.rememberResponse(host, step.took)
		if got := stored(); got != step.want {
			t.Errorf("step %d, after %s: %d ms", i, step.took, got)
		}
	}
	w.delay.Store(-1)
	if h.rememberResponse(host, time.Minute); stored() != 100 {
		t.Errorf("without a delay: %d ms", stored())
	}
}

// TestDelayWithinAVisit: a delay that is set while a visit of several URLs goes on holds from its next request on.
func TestDelayWithinAVisit(t *testing.T) {
	w := newWorld(t, admission.Options{})
	l := newList(w)
	var r *run
	for i := range 10 {
		u := fmt.Sprintf("http://a.example/%d", i)
		w.web.set(u, func(ctx context.Context, req *fetch.Request) *fetch.Response {
			w.delay.Store(int64(time.Hour))
			r.front.SetDelay(time.Hour)
			return html("hi")(ctx, req)
		})
		l.add(Choice{Key: w.url(u).Key()})
	}
	r = w.newRun(NewHosts(w.env), l, Limits{})
	r.front.WakeAll()
	r.Start(context.Background(), 1)
	w.until("the pause", func() bool {
		return time.Until(r.front.Host(w.host("a.example")).Next) > 50*time.Minute
	})
	if n := len(w.web.requests()); n != 2 { // robots.txt, and the page with which the delay came
		t.Errorf("%d requests", n)
	}
	r.end()
}

// TestDeferredCrawlDelay: a Crawl-delay in a robots.txt that was redirected holds from the first page on, also where
// the crawl has no delay, and is in hostdb like any other.
func TestDeferredCrawlDelay(t *testing.T) {
	for _, delay := range []time.Duration{-1, time.Millisecond} {
		w := newWorld(t, admission.Options{})
		w.delay.Store(int64(delay))
		w.web.set("http://a.example/robots.txt", moved("http://a.example/r.txt"))
		w.web.set("http://a.example/r.txt", robotsTxt("User-agent: *\nCrawl-delay: 200"))
		l := newList(w)
		for i := range 20 {
			l.add(Choice{Key: w.url(fmt.Sprintf("http://a.example/%d", i)).Key()})
		}
		r := w.start(NewHosts(w.env), l, 2, Limits{})
		w.until("the pause", func() bool {
			return time.Until(r.front.Host(w.host("a.example")).Next) > 150*time.Second
		})
		if n := len(w.web.requests()); n != 2 {
			t.Errorf("delay %s: %d requests before the pause, want those for robots.txt", delay, n)
		}
		w.until("the delay is in hostdb", func() bool {
			var f storage.HostFacts
			_, err := w.store.HostFacts(storage.HostStateKey(w.host("a.example")), &f)
			w.must(err)
			return f.CrawlDelayMS == 200_000
		})
		r.end()
	}
}

// TestCrawlDelayOfOneScheme: in a crawl without a delay, a visit that comes to a URL whose scheme has a Crawl-delay
// requests nothing after it.
func TestCrawlDelayOfOneScheme(t *testing.T) {
	w := newWorld(t, admission.Options{})
	w.web.set("https://a.example/robots.txt", robotsTxt("User-agent: *\nCrawl-delay: 200"))
	h := NewHosts(w.env)
	for _, u := range []string{"http://a.example/", "https://a.example/"} { // known, though not to the frontier
		_, err := h.robots(t.Context(), w.url(u), noWays)
		w.must(err)
	}
	l := newList(w, "http://a.example/1", "https://a.example/2", "https://a.example/3", "https://a.example/4")
	r := w.start(h, l, 1, Limits{})
	w.until("the pause", func() bool {
		return time.Until(r.front.Host(w.host("a.example")).Next) > 150*time.Second
	})
	if n := len(w.web.requests()); n != 4 {
		t.Errorf("%d requests, want two for robots.txt and two for pages", n)
	}
	r.end()
}

// TestCrawlDelayIsForgotten: what a robots.txt does not demand any more slows down no later visit, unless that of the
// host's other scheme does.
func TestCrawlDelayIsForgotten(t *testing.T) {
	const demand = "User-agent: *\nCrawl-delay: 2"
	for both, want := range map[bool]time.Duration{false: 0, true: 2 * time.Second} {
		w := newWorld(t, admission.Options{})
		w.web.set("http://a.example/robots.txt", robotsTxt(demand))
		if both {
			w.web.set("https://a.example/robots.txt", robotsTxt(demand))
		}
		h := NewHosts(w.env)
		visit := func(u string, requests int) {
			t.Helper()
			l := newList(w, u)
			r := w.start(h, l, 1, Limits{})
			w.until("the visit", func() bool {
				return w.web.count("http://a.example/robots.txt") == requests && r.Busy() == 0
			})
			r.end()
		}
		visit("http://a.example/", 1)
		w.pass(25 * time.Hour)
		if both {
			_, err := h.robots(t.Context(), w.url("https://a.example/"), noWays)
			w.must(err)
		}
		w.web.set("http://a.example/robots.txt", robotsTxt(""))
		visit("http://a.example/", 2)
		refill, err := NewSource(h, newList(w).supply()).Refill(t.Context(), w.host("a.example"), 1)
		if err != nil || refill.CrawlDelay != want {
			t.Errorf("other scheme %t: a later visit waits %s, want %s; %v", both, refill.CrawlDelay, want, err)
		}
	}
}
