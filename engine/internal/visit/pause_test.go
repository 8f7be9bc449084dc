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
