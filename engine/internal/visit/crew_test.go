// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/storage"
)

// trickle adds pages of as many hosts that do not come before let is closed.
func (w *world) trickle(l *urlList, hosts int, let <-chan struct{}) (urls []string) {
	for i := range hosts {
		u := fmt.Sprintf("http://slow%d.example/", i)
		w.web.set(u, stuck(let, html(u)))
		l.add(Choice{Key: w.url(u).Key()})
		urls = append(urls, u)
	}
	return urls
}

// started reports how many of some URLs were requested.
func (w *world) started(urls []string) (n int) {
	for _, u := range urls {
		n += min(w.web.count(u), 1)
	}
	return n
}

// TestSlowVisits: visits that last long do not keep other hosts from fetchers. As many extra fetchers as there may be
// stand in for them, and end with them.
func TestSlowVisits(t *testing.T) {
	w := newWorld(t, admission.Options{})
	w.extra = 32
	let := make(chan struct{})
	l := newList(w, w.site(5, 40)...)
	slow := w.trickle(l, 20, let)
	r := w.start(NewHosts(w.env), l, 4, Limits{})
	w.until("the pages of quick hosts, and requests for all of the slow ones", func() bool {
		w.pass(slowRequest / 8)
		return r.Counts().Fetched == 200 && w.started(slow) == 20
	})
	if n := w.web.inFlight(); n != 20 {
		t.Errorf("%d slow requests are left of 20", n)
	}
	close(let)
	w.until("the end of the extra fetchers", func() bool {
		r.crew.mu.Lock()
		defer r.crew.mu.Unlock()
		return len(r.crew.all) == 4
	})
	if c := r.finished(); c.Fetched != 220 || c.Failed != 0 {
		t.Errorf("%+v", c)
	}
	if w.web.most > 4+32 || len(w.web.rude) > 0 {
		t.Errorf("%d requests at once, at once to one host: %q", w.web.most, w.web.rude)
	}
}

// TestTooManySlowVisits: beyond the extra fetchers, the slow visits that have lasted longest are cut off while others
// wait, and count as pages that took too long.
func TestTooManySlowVisits(t *testing.T) {
	w := newWorld(t, admission.Options{})
	w.extra = 3
	let := make(chan struct{})
	l := newList(w, w.site(5, 40)...)
	slow := w.trickle(l, 20, let)
	r := w.start(NewHosts(w.env), l, 4, Limits{})
	w.until("the pages of quick hosts", func() bool {
		w.pass(slowRequest / 8)
		return r.Counts().Fetched == 200 && w.started(slow) == 20
	})
	w.until("the end of all but as many as there are fetchers for", func() bool { return w.web.inFlight() <= 3+4 })
	if n := w.web.inFlight(); n < 3 {
		t.Errorf("%d slow requests are left; nobody waited for the fetchers of 3", n)
	}
	close(let)
	c := r.finished()
	if c.Fetched < 203 || c.Fetched+c.Failed != 220 || c.Failures["too_slow"] != c.Failed {
		t.Errorf("%+v", c)
	}
	if w.web.most > 4+3 || len(w.web.rude) > 0 {
		t.Errorf("%d requests at once, at once to one host: %q", w.web.most, w.web.rude)
	}
	for _, u := range slow {
		if o := w.outcomes(1)[w.url(u).Key()]; o.Status != storage.FetchSuccess && o.Failure != "too_slow" {
			t.Errorf("%s: %+v", u, o)
		}
	}
}

// TestSlowVisitsAndLimits: extra fetchers keep to a page limit, and to Hold.
func TestSlowVisitsAndLimits(t *testing.T) {
	w := newWorld(t, admission.Options{})
	w.extra = 32
	let := make(chan struct{})
	l := newList(w, w.site(5, 40)...)
	slow := w.trickle(l, 20, let)
	r := w.newRun(NewHosts(w.env), l, Limits{MaxPages: 50})
	r.front.WakeAll()
	r.Start(context.Background(), 4)
	w.until("as many pages as slow ones leave", func() bool {
		w.pass(slowRequest / 8)
		return r.Counts().Fetched+uint64(w.started(slow)) == 50
	})
	r.Hold(HeldByPause)
	r.SetLimits(Limits{MaxPages: 60})
	before := len(w.web.requests())
	for range 50 {
		w.pass(slowRequest)
		r.crew.watch(w.now())
		time.Sleep(time.Millisecond)
	}
	if n := len(w.web.requests()); n != before {
		t.Errorf("%d requests while paused", n-before)
	}
	close(let)
	r.Let(HeldByPause)
	w.until("the limit", func() bool { return r.Reached() == LimitPages && r.Busy() == 0 })
	if c := r.end(); c.Fetched != 60 {
		t.Errorf("%+v", c)
	}
}

// TestCrewLeaves: a fetcher that leaves moves one other at most, whoever it is, so that the end of many takes no work
// in proportion to their square.
func TestCrewLeaves(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := crew{now: time.Now, life: func(*fetcher) {}, ctx: ctx}
	c.set(60)
	for n, left := len(c.all), 0; n > 0; n, left = n-1, left+7 {
		before := slices.Clone(c.all)
		gone := before[left%n]
		c.leave(gone)
		moved := 0
		for i, f := range c.all {
			if f == gone {
				t.Fatal("it is still there")
			}
			if f != before[i] {
				moved++
			}
		}
		if moved > 1 || len(c.all) != n-1 {
			t.Fatalf("%d of %d moved, %d are left", moved, n, len(c.all))
		}
	}
	c.wg.Wait()
	if c.staying != 0 {
		t.Errorf("%d stay", c.staying)
	}
}
