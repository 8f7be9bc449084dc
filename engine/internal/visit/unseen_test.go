// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage"
)

// sized answers with a number of bytes on the wire.
func sized(received int64, then answer) answer {
	return func(ctx context.Context, r *fetch.Request) *fetch.Response {
		resp := then(ctx, r)
		resp.Received = received
		return resp
	}
}

// forgotten waits until the frontier has no hosts in memory.
func (r *run) forgotten() {
	r.w.Helper()
	r.quiet()
	r.w.until("the hosts are forgotten", func() bool { return r.front.Stats().Hosts == 0 })
}

// TestBudgetOfForgottenHost: a host and its domain get no more pages than their budgets allow, although the frontier
// has forgotten the host meanwhile and crawldb does not know what was fetched.
func TestBudgetOfForgottenHost(t *testing.T) {
	const limit, batch = 7, 3
	for name, o := range map[string]admission.Options{
		"host":   {Host: admission.Cost{URLs: limit}},
		"domain": {Domain: admission.Cost{URLs: limit}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, o)
			l := newList(w)
			r := w.start(NewHosts(w.env), l, 2, Limits{})
			for round := range 4 {
				for i := range batch {
					u := fmt.Sprintf("http://h.example/%d", round*batch+i)
					w.web.set(u, html("page"))
					l.add(Choice{Key: w.url(u).Key(), Score: 1})
				}
				r.front.Wake(w.host("h.example"))
				if (round+1)*batch < limit {
					r.forgotten()
				}
			}
			r.quiet()
			if c := r.end(); c.Fetched != limit {
				t.Errorf("%d pages were fetched, the budget is %d", c.Fetched, limit)
			}
		})
	}
}

// spent writes how many pages of a host crawldb knows.
func (w *world) spent(host string, pages uint32) {
	w.Helper()
	var c storage.HostCounts
	c.ByStatus[storage.StatusFetched] = pages
	w.must(w.store.Apply(func(b *storage.Batch) error {
		return b.Set(storage.HostCountsRange(), []byte(w.host(host)), storage.AppendHostCounts(nil, &c))
	}))
}

// TestBudgetOfCountedPages: pages that crawldb counts are fetched again when nothing is left of a budget, and cost
// nothing of it; new ones are not.
func TestBudgetOfCountedPages(t *testing.T) {
	const limit, pages = 3, 6
	for name, o := range map[string]admission.Options{
		"host":   {Host: admission.Cost{URLs: limit}},
		"domain": {Domain: admission.Cost{URLs: limit}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, o)
			w.spent("h.example", limit)
			l := newList(w)
			for i := range pages {
				u := fmt.Sprintf("http://h.example/%d", i)
				w.web.set(u, html("page"))
				l.add(Choice{Key: w.url(u).Key(), Score: 1, Counted: i >= limit})
			}
			r := w.start(NewHosts(w.env), l, 2, Limits{})
			r.quiet()
			after, err := r.source.Refill(context.Background(), w.host("h.example"), 10)
			w.must(err)
			if used := max(after.HostUsed.URLs, after.DomainUsed.URLs); used != limit || !after.Spent {
				t.Errorf("%d pages are used, want %d; something is left out: %t", used, limit, after.Spent)
			}
			if c := r.end(); c.Fetched != pages-limit {
				t.Errorf("%d pages were fetched, want those that were before", c.Fetched)
			}
		})
	}
}

// TestBudgetBesideSleepingHost: a host that sleeps, known from an earlier process, does not lift the budget of its
// domain, whichever of the domain's hosts is refilled first.
func TestBudgetBesideSleepingHost(t *testing.T) {
	const limit, used, pages = 4, 3, 6
	for _, sleeper := range []string{"a.example.com", "z.example.com"} {
		t.Run(sleeper, func(t *testing.T) {
			w := newWorld(t, admission.Options{Domain: admission.Cost{URLs: limit}})
			w.spent("m.example.com", used)
			h := NewHosts(w.env)
			h.Remember(w.host(sleeper), frontier.HostState{NotBefore: w.now().Add(time.Hour), Failures: 9, Sleeps: 1})
			l := newList(w, "http://"+sleeper+"/")
			for i := range pages {
				u := fmt.Sprintf("http://m.example.com/%d", i)
				w.web.set(u, html("page"))
				l.add(Choice{Key: w.url(u).Key(), Score: 1})
			}
			r := w.newRun(h, l, Limits{})
			wait := func(host string) {
				r.front.Wake(w.host(host))
				w.until(host+" is refilled", func() bool {
					s := r.front.Stats()
					return s.Pending+s.Refilling == 0
				})
			}
			if sleeper < "m" {
				wait(sleeper)
			}
			wait("m.example.com")
			wait(sleeper)
			r.Start(context.Background(), 2)
			r.front.Wake(w.host("m.example.com"))
			r.quiet()
			if c := r.end(); c.Fetched != limit-used {
				t.Errorf("%d pages were fetched, the budget has %d left", c.Fetched, limit-used)
			}
		})
	}
}

// TestBudgetOfDomainWithManyHosts: a domain whose sum is held, because it has many hosts, does not get its budget again
// when a segment with its costs is updated: the sum may be older than the update, and the source forgets the segment.
func TestBudgetOfDomainWithManyHosts(t *testing.T) {
	const limit, fetched = 5, 5
	w := newWorld(t, admission.Options{Domain: admission.Cost{URLs: limit}})
	for i := range 150 {
		w.spent(fmt.Sprintf("h%d.example.com", i), 0)
	}
	s := NewSource(NewHosts(w.env), newList(w).supply())
	used := func(when string, want int64) {
		t.Helper()
		r, err := s.Refill(context.Background(), w.host("h1.example.com"), 10)
		w.must(err)
		if r.DomainUsed.URLs != want {
			t.Errorf("%s: %d pages are used, want %d", when, r.DomainUsed.URLs, want)
		}
	}
	used("before", 0)
	for i := range fetched {
		key := w.url(fmt.Sprintf("http://h0.example.com/%d", i)).Key()
		w.must(s.Spent([]byte(key), 1, frontier.Cost{URLs: 1}))
	}
	used("fetched", fetched)
	for _, state := range []storage.SegmentState{storage.SegmentOpen, storage.SegmentSealed, storage.SegmentUpdated} {
		w.must(w.store.PutSegment(storage.Segment{Number: 1, State: state, Created: w.now()}))
	}
	w.spent("h0.example.com", fetched)
	used("updated", fetched)
	w.spent("h1.example.com", 1)
	s.Forget(1, nil)
	used("forgotten", fetched+1)
}

// TestBytesWithoutPage: what the robots.txt of a host and requests that are sent again have cost is in the host's next
// outcome, and so counts for its budget after a restart too.
func TestBytesWithoutPage(t *testing.T) {
	w := newWorld(t, admission.Options{Host: admission.Cost{Bytes: 1 << 20}})
	w.web.set("http://h.example/robots.txt", sized(5000, robotsTxt("")))
	stale := true
	w.web.set("http://h.example/1", func(ctx context.Context, r *fetch.Request) *fetch.Response {
		if stale {
			stale = false
			return sized(300, broken(fetch.FailStale))(ctx, r)
		}
		return sized(70, html("page"))(ctx, r)
	})
	w.web.set("http://h.example/2", sized(70, html("page")))
	r := w.start(NewHosts(w.env), newList(w, "http://h.example/1", "http://h.example/2"), 1, Limits{})
	c := r.finished()
	var sum int64
	for _, o := range w.outcomes(1) {
		sum += int64(o.Bytes)
	}
	if want := int64(5000 + 300 + 70 + 70); sum != want || int64(c.Bytes) != want {
		t.Errorf("the outcomes have %d bytes, the run %d, want %d", sum, c.Bytes, want)
	}
}

// TestBudgetWithinVisit: a visit of several URLs ends with the one that used up a budget of bytes.
func TestBudgetWithinVisit(t *testing.T) {
	const each = 1000
	for name, o := range map[string]admission.Options{
		"bytes of a host":   {Host: admission.Cost{Bytes: 2*each + 1}},
		"bytes of a domain": {Domain: admission.Cost{Bytes: 2*each + 1}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, o)
			l := newList(w)
			w.web.set("http://h.example/robots.txt", sized(0, status(404)))
			for i := range 20 {
				u := fmt.Sprintf("http://h.example/%d", i)
				w.web.set(u, sized(each, html("page")))
				l.add(Choice{Key: w.url(u).Key(), Score: 1})
			}
			r := w.start(NewHosts(w.env), l, 2, Limits{})
			r.quiet()
			if c := r.end(); c.Fetched != 3 {
				t.Errorf("%d pages were fetched, the budget is reached with 3", c.Fetched)
			}
		})
	}
}
