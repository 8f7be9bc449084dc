// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestQueuePatience: a burst may wait, a queue that was never empty for standingTime makes newcomers wait for a few
// searches at most, and when that has made it empty it stays so until nobody was refused for calmTime. Whoever would
// wait for longer is refused at once.
func TestQueuePatience(t *testing.T) {
	q := newQueue(2)
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
			q.part(aSearch)
		case "refuse":
			q.refuse(at)
		case "join":
			if got, ok := q.join(at, aSearch, false); got != c.expect || !ok {
				t.Errorf("at %v: may wait %v (%v), want %v", c, got, ok, c.expect)
			}
		}
	}
	for range 200 {
		q.note(aSearch, 100*time.Millisecond) // slow searches: others wait for some of them
	}
	at = at.Add(standingTime)
	waiting := q.waiting[aSearch]
	for {
		got, ok := q.join(at, aSearch, false)
		if !ok {
			break
		}
		if waiting++; got < (standingSearches-1)*100*time.Millisecond || got > slotTime {
			t.Fatalf("behind slow searches: may wait %v", got)
		}
	}
	if least := (standingSearches - 1) * cap(q.slots); waiting < least || waiting > 2*least {
		t.Errorf("behind slow searches %d wait", waiting)
	}
	if _, ok := q.join(at, aSearch, true); !ok {
		t.Error("who is patient is refused")
	}
	for q.waiting[aSearch] > 0 {
		q.part(aSearch)
	}
	if got, ok := q.join(at.Add(calmTime-1), aSearch, false); got == slotTime || !ok {
		t.Errorf("soon after one was refused at once: may wait %v (%v)", got, ok)
	}
	for range 200 {
		q.note(aSearch, time.Minute)
	}
	for q.waiting[aSearch] > 0 {
		q.part(aSearch)
	}
	if got, ok := q.join(at.Add(standingTime), aSearch, false); got != slotTime || !ok {
		t.Errorf("behind endless searches: may wait %v (%v)", got, ok)
	}
}

// TestQueueOverload sends requests to a queue in virtual time, as clients with any number of connections do, at shares
// of what it can answer. More than it can answer costs those that are answered little time, and the others none; what
// it can answer is answered; and when the rush is over, nobody is refused.
func TestQueueOverload(t *testing.T) {
	const took, span = 4 * time.Millisecond, 2 * time.Second
	for _, load := range []float64{0.6, 1.5, 5} {
		synctest.Test(t, func(t *testing.T) {
			q := newQueue(2)
			perSecond := float64(cap(q.slots)) / took.Seconds()
			rng := rand.New(rand.NewPCG(1, 2))
			var mu sync.Mutex
			var answered, refused, late, asked int
			var longest, vain time.Duration // waited by those that were answered, and by those that were not
			var done sync.WaitGroup
			ask := func(after time.Duration) {
				began := time.Now()
				leave, ok := q.enter(t.Context(), aSearch, false)
				waited := time.Since(began)
				if ok {
					time.Sleep(took)
					leave()
				}
				mu.Lock()
				defer mu.Unlock()
				switch {
				case ok:
					answered, longest = answered+1, max(longest, waited)
				case after > span:
					late++
				default:
					refused, vain = refused+1, vain+waited
				}
			}
			start, due := time.Now(), 0.
			for due < span.Seconds() {
				asked++
				due += rng.ExpFloat64() / (load * perSecond)
				time.Sleep(time.Until(start.Add(time.Duration(due * float64(time.Second)))))
				done.Go(func() { ask(0) })
			}
			time.Sleep(time.Second)
			for range 2 * cap(q.slots) { // a few at once
				done.Go(func() { ask(time.Since(start)) })
			}
			done.Wait()
			if longest > standingTime+2*took || late > 0 {
				t.Errorf("%v of what can be answered: waited up to %v; %d refused after it", load, longest, late)
			}
			if can := min(float64(asked), span.Seconds()*perSecond); float64(answered) < 0.95*can {
				t.Errorf("%v of what can be answered: %d of %d are answered, %.0f can be", load, answered, asked, can)
			}
			if load < 1 && refused > 0 {
				t.Errorf("%v of what can be answered: %d are refused", load, refused)
			}
			if refused > 0 && vain/time.Duration(refused) > standingWait/10 {
				t.Errorf("%v of what can be answered: %d refused waited %v in all", load, refused, vain)
			}
		})
	}
}

// TestQueueKinds: quick completions neither hide how long searches take nor wait as if they were searches.
func TestQueueKinds(t *testing.T) {
	q, at := newQueue(2), time.Now()
	for range 200 {
		q.note(aSearch, 100*time.Millisecond)
		for range 20 {
			q.note(aCompletion, time.Millisecond)
		}
	}
	joined := func(kind taskKind) (n int) {
		for ; n < 100_000; n++ {
			if _, ok := q.join(at, kind, false); !ok {
				break
			}
		}
		return n
	}
	fill := int(standingTime/(100*time.Millisecond)) * cap(q.slots)
	if n := joined(aSearch); n < fill || n > fill+2 {
		t.Errorf("%d searches wait, want %d", n, fill)
	}
	if n := joined(aCompletion); n != 0 {
		t.Errorf("%d completions wait behind as many searches as may", n)
	}
	for range fill {
		q.part(aSearch)
	}
	if n := joined(aCompletion); n < 50*fill {
		t.Errorf("%d completions wait behind hardly a search", n)
	}
}

// TestQueueSlots: no more searches run than there are slots, and whoever leaves lets another in.
func TestQueueSlots(t *testing.T) {
	q := newQueue(2)
	var leave []func()
	for range cap(q.slots) {
		l, ok := q.enter(t.Context(), aSearch, false)
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
			l, ok := q.enter(t.Context(), aSearch, true)
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
		waits = q.waiting[aSearch]
		q.mu.Unlock()
	}
	if len(entered) != 0 {
		t.Error("more run than there are slots")
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, ok := q.enter(canceled, aSearch, true); ok {
		t.Error("who waits no longer got a slot")
	}
	for _, l := range leave {
		l()
	}
	done.Wait()
	if q.waiting != [taskKinds]int{} || len(q.slots) != 0 || len(entered) != others {
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
	h.queue.join(time.Now().Add(-standingTime), aSearch, false) // somebody has waited for as long
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

// TestQueueHoldsThePage: a page of hits is made, its HTML too, while its search has a slot. Who is refused makes
// nothing: it costs a small part of a page.
func TestQueueHoldsThePage(t *testing.T) {
	h := New(opened(t, t.TempDir()), Options{})
	shown := templates["search"]
	number := functions["number"]
	defer func() { functions["number"], templates["search"] = number, shown }()
	made, outside := 0, 0
	functions["number"] = func(n any) string {
		if made++; len(h.queue.slots) == 0 {
			outside++
		}
		return numberText(n)
	}
	templates["search"] = parseTemplates()["search"]
	ask := func(path string, status int) {
		if answer := answered(h, request("GET", path, "", nil)); answer.StatusCode != status {
			t.Fatal(path, answer.Status)
		}
	}
	n := 0
	page := testing.AllocsPerRun(20, func() { n++; ask("/?q=a"+strconv.Itoa(n), http.StatusOK) })
	if made < n || outside > 0 {
		t.Errorf("%d pages: %d numbers are written, %d of them without a slot", n, made, outside)
	}
	for range cap(h.queue.slots) {
		h.queue.slots <- struct{}{}
	}
	h.queue.note(aSearch, time.Hour)
	h.queue.join(time.Now(), aSearch, true) // all others would wait for too long
	before := made
	refusal := testing.AllocsPerRun(20, func() { n++; ask("/?q=a"+strconv.Itoa(n), http.StatusServiceUnavailable) })
	if made != before || refusal > page/3 {
		t.Errorf("a refusal writes %d numbers and makes %v objects, a page %v", made-before, refusal, page)
	}
}
