// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestQueuePatience: a burst may wait, a queue that was never empty for standingTime makes newcomers wait for a few
// searches at most, and when that has made it empty it stays so until nobody was refused for calmTime.
func TestQueuePatience(t *testing.T) {
	q := newQueue()
	at := time.Now()
	for _, c := range []struct {
		after  time.Duration
		do     string // join, part or refuse
		expect time.Duration
	}{
		{0, "join", slotTime},
		{standingTime - 1, "join", slotTime},
		{1, "join", standingWait}, // one has waited for standingTime, or others one after the other
		{0, "part", 0}, {0, "part", 0}, {0, "part", 0},
		{1, "join", slotTime}, // the queue was worked off
		{standingTime, "join", standingWait},
		{standingWait, "refuse", 0}, {0, "part", 0}, {0, "part", 0},
		{calmTime - 1, "join", standingWait}, // it was emptied
		{0, "part", 0},
		{1, "join", slotTime},
	} {
		at = at.Add(c.after)
		switch c.do {
		case "part":
			q.part()
		case "refuse":
			q.refuse(at)
		case "join":
			if got := q.join(at); got != c.expect {
				t.Errorf("at %v: may wait %v, want %v", c, got, c.expect)
			}
		}
	}
	for range 200 {
		q.note(100 * time.Millisecond) // slow searches: others wait for some of them
	}
	if got := q.join(at.Add(standingTime)); got < 3*100*time.Millisecond || got > slotTime {
		t.Errorf("behind slow searches: may wait %v", got)
	}
	for range 200 {
		q.note(time.Minute)
	}
	if got := q.join(at.Add(standingTime)); got != slotTime {
		t.Errorf("behind endless searches: may wait %v", got)
	}
}

// TestQueueSlots: no more searches run than there are slots, and whoever leaves lets another in.
func TestQueueSlots(t *testing.T) {
	q := newQueue()
	var leave []func()
	for range cap(q.slots) {
		l, ok := q.enter(t.Context(), false)
		if !ok {
			t.Fatal("a free slot is refused")
		}
		leave = append(leave, l)
	}
	const others = 8
	entered := make(chan int, others)
	var done sync.WaitGroup
	for i := range others {
		done.Go(func() {
			l, ok := q.enter(t.Context(), true)
			if !ok {
				t.Error("refused, although it is patient")
				return
			}
			entered <- i
			l()
		})
	}
	for waits := 0; waits < others; time.Sleep(time.Millisecond) {
		q.mu.Lock()
		waits = q.waiting
		q.mu.Unlock()
	}
	if len(entered) != 0 {
		t.Error("more run than there are slots")
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, ok := q.enter(canceled, true); ok {
		t.Error("who waits no longer got a slot")
	}
	for _, l := range leave {
		l()
	}
	done.Wait()
	if q.waiting != 0 || len(q.slots) != 0 || len(entered) != others {
		t.Errorf("at the end %d wait, %d run, and %d have run", q.waiting, len(q.slots), len(entered))
	}
}

// TestQueueRefusal: while more comes than can be answered, pages and calls that search are refused soon and told when
// to try again; what was asked before and what does not search is answered.
func TestQueueRefusal(t *testing.T) {
	h := New(opened(t, t.TempDir()), Options{})
	const api, page = apiPath + "/search?q=a", "/?q=a"
	for _, path := range []string{api, page} {
		if answer := answered(h, request("GET", path, "", nil)); answer.StatusCode != http.StatusOK {
			t.Fatal(path, answer.Status)
		}
	}
	for range cap(h.queue.slots) {
		h.queue.slots <- struct{}{}
	}
	h.queue.join(time.Now().Add(-standingTime)) // somebody has waited for as long
	for _, path := range []string{
		apiPath + "/search?q=b", "/?q=b", "/", "/complete?q=b", "/atom.xml?q=b", apiPath + "/suggest?q=b",
		apiPath + "/complete?q=b",
	} {
		answer := answered(h, request("GET", path, "", map[string]string{"Accept": "text/html"}))
		if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %s, %v", path, answer.Status, answer.Header)
		}
		html := strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html")
		if html == strings.HasPrefix(path, apiPath) {
			t.Errorf("%s: %s", path, answer.Header.Get("Content-Type"))
		}
	}
	for _, path := range []string{api, page, "/hosts", "/healthz"} {
		if answer := answered(h, request("GET", path, "", nil)); answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, answer.Status)
		}
	}
}
