// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/admission"
)

// TestPageLimit: a limit of pages is exact however many fetchers there are, and can be raised. What is no page does not
// count.
func TestPageLimit(t *testing.T) {
	w := newWorld(t, admission.Options{})
	urls := w.site(10, 10)
	for i := range 50 {
		urls = append(urls, fmt.Sprintf("http://h%d.example/none%d", i%10, i))
	}
	r := w.start(NewHosts(w.env), newList(w, urls...), 16, Limits{MaxPages: 37})
	w.until("the limit", func() bool { return r.Reached() == LimitPages && r.Busy() == 0 })
	w.until("the sync", func() bool { return r.Counts().Fetched == 37 })
	r.SetLimits(Limits{MaxPages: 60})
	w.until("the next limit", func() bool { return r.Reached() == LimitPages && r.Busy() == 0 })
	w.until("the sync", func() bool { return r.Counts().Fetched == 60 })
	r.SetLimits(Limits{})
	if r.Reached() != NoLimit {
		t.Errorf("limit %d", r.Reached())
	}
	if c := r.finished(); c.Fetched != 100 || c.Gone != 50 {
		t.Errorf("%+v", c)
	}
}

// TestOtherLimits: bytes and time end a run too; a negative limit is reached at once.
func TestOtherLimits(t *testing.T) {
	w := newWorld(t, admission.Options{})
	urls := w.site(2, 50)
	for want, limits := range map[Limit]Limits{
		LimitBytes: {MaxBytes: 100},
		LimitTime:  {MaxTime: time.Nanosecond},
		LimitPages: {MaxPages: -1, MaxBytes: 1 << 40, MaxTime: time.Hour},
	} {
		r := w.start(NewHosts(w.env), newList(w, urls...), 4, limits)
		w.until("the limit", func() bool { return r.Reached() != NoLimit })
		if r.Reached() != want {
			t.Errorf("limit %d, want %d", r.Reached(), want)
		}
		r.end()
	}
	r := w.start(NewHosts(w.env), newList(w), 1, Limits{MaxTime: time.Hour})
	w.pass(time.Hour)
	if r.Reached() != LimitTime {
		t.Errorf("limit %d after the time", r.Reached())
	}
	r.end()
}

// TestNothingBeyondLimit: once a limit of bytes or of time is reached no request begins, neither in the visit under way
// nor in another, until the limit is raised. Here robots.txt reaches that of bytes, and the first page that of time.
func TestNothingBeyondLimit(t *testing.T) {
	for name, limits := range map[string]Limits{"bytes": {MaxBytes: 1}, "time": {MaxTime: time.Second}} {
		w := newWorld(t, admission.Options{})
		urls := w.site(3, 20)
		for _, u := range urls {
			w.web.set(u, func(ctx context.Context, r *fetch.Request) *fetch.Response {
				if name == "time" {
					w.pass(time.Second)
				}
				return html("a page")(ctx, r)
			})
		}
		r := w.start(NewHosts(w.env), newList(w, urls...), 1, limits)
		w.until("the limit", func() bool {
			return r.gate.holders() != 0 && r.Busy() == 0 || len(w.web.requests()) > 2
		})
		if n := len(w.web.requests()); n != map[string]int{"bytes": 1, "time": 2}[name] {
			t.Errorf("%s: %d requests", name, n)
		}
		r.SetLimits(Limits{})
		if c := r.finished(); c.Fetched != uint64(len(urls)) {
			t.Errorf("%s: %+v after the limit was raised", name, c)
		}
	}
}

// TestSetFetchers: the number of fetchers changes while they run. A visit under way is not cut off.
func TestSetFetchers(t *testing.T) {
	w := newWorld(t, admission.Options{})
	let := make(chan struct{})
	l := newList(w)
	for i := range 20 {
		u := fmt.Sprintf("http://h%d.example/", i)
		w.web.set(u, stuck(let, html(u)))
		l.add(Choice{Key: w.url(u).Key()})
	}
	r := w.newRun(NewHosts(w.env), l, Limits{})
	r.SetFetchers(5) // nothing runs yet
	r.front.WakeAll()
	r.Start(context.Background(), 3)
	pages := func() (n int) {
		for _, req := range w.web.requests() {
			if req.URL.Path() == "/" {
				n++
			}
		}
		return n
	}
	for _, n := range []int{3, 7} {
		r.SetFetchers(n)
		w.until(fmt.Sprint(n, " fetchers"), func() bool { return pages() == n })
	}
	r.SetFetchers(-2)
	r.SetFetchers(1)
	r.SetFetchers(2)
	r.crew.mu.Lock()
	if r.crew.want != 2 || len(r.crew.all) != 7 { // those with a visit end after it, and until then no other begins
		t.Errorf("%d fetchers are wanted, %d run", r.crew.want, len(r.crew.all))
	}
	r.crew.mu.Unlock()
	r.SetFetchers(8)
	w.until("one more", func() bool { return pages() == 8 })
	r.SetFetchers(2)
	w.web.mu.Lock()
	w.web.most = 0
	w.web.mu.Unlock()
	close(let)
	if c := r.finished(); c.Fetched != 20 || c.Failed != 0 {
		t.Errorf("%+v", c)
	}
	r.SetFetchers(4) // after the end
	if len(r.crew.all) != 0 {
		t.Errorf("%d fetchers after the end", len(r.crew.all))
	}
}

// TestHold: fetchers begin no visit while any reason holds them back.
func TestHold(t *testing.T) {
	w := newWorld(t, admission.Options{})
	r := w.newRun(NewHosts(w.env), newList(w, w.site(4, 4)...), Limits{})
	r.Hold(HeldByBacklog)
	r.Hold(HeldByDisk)
	r.Hold(HeldByPause)
	r.front.WakeAll()
	r.Start(context.Background(), 4)
	for _, v := range []struct {
		let  Holder
		held Holder
	}{
		{HeldByDisk, HeldByBacklog | HeldByPause},
		{HeldByDisk, HeldByBacklog | HeldByPause},
		{HeldByPause, HeldByBacklog},
	} {
		r.Let(v.let)
		w.until("visits to be ready", func() bool { return r.front.Stats().Ready == 4 })
		if r.Held() != v.held || len(w.web.requests()) > 0 || r.Busy() > 0 {
			t.Errorf("held by %b, %d requests, %d visits", r.Held(), len(w.web.requests()), r.Busy())
		}
	}
	r.Let(HeldByBacklog)
	if c := r.finished(); c.Fetched != 16 || r.Held() != 0 {
		t.Errorf("%+v, held by %b", c, r.Held())
	}
}

// TestHoldWithinVisit: a visit of several URLs ends when fetchers are held back, and the rest comes later.
func TestHoldWithinVisit(t *testing.T) {
	w := newWorld(t, admission.Options{})
	urls := w.site(1, 10)
	let := make(chan struct{})
	w.web.set(urls[0], stuck(let, html("first")))
	r := w.start(NewHosts(w.env), newList(w, urls...), 1, Limits{})
	w.until("the first page", func() bool { return w.web.count(urls[0]) == 1 })
	r.Hold(HeldByPause)
	close(let)
	w.until("the end of the visit", func() bool { return r.Busy() == 0 })
	if n := len(w.web.requests()); n != 2 { // robots.txt and the first page
		t.Errorf("%d requests", n)
	}
	r.Let(HeldByPause)
	if c := r.finished(); c.Fetched != 10 {
		t.Errorf("%+v", c)
	}
}

// TestDisk: fetchers pause while the disk is low, go on when there is room again, and the run ends when that lasts.
func TestDisk(t *testing.T) {
	w := newWorld(t, admission.Options{})
	const total = 100 << 30
	var free, pending uint64 = total, 0
	var err error
	storing := false
	w.env.DiskFree = func() (Disk, error) { return Disk{"data", free, total, pending, storing}, err }
	r := w.newRun(NewHosts(w.env), newList(w), Limits{})
	r.Start(context.Background(), 1)
	for i, v := range []struct {
		free    uint64
		pending uint64
		after   time.Duration
		held    bool
		fails   bool
		err     error // of reading what is free
	}{
		{diskLow, 0, 0, false, false, nil},
		{diskLow - 1, 0, 0, false, false, nil}, // looked at a moment ago
		{diskLow - 1, 0, diskInterval, true, false, nil},
		{diskResume - 1, 0, time.Hour, true, true, nil},
		{diskResume, 0, diskInterval, false, false, nil},
		{diskResume - 1, 0, time.Hour, false, false, nil},
		{1, 0, diskInterval, true, false, nil},
		{1, 0, 59 * time.Second, true, false, nil},
		{1, 0, time.Second, true, true, nil},
		{0, 0, time.Hour, true, true, os.ErrPermission},
		{diskResume, 0, diskInterval, false, false, nil},
		{0, 0, diskInterval, false, false, os.ErrPermission},
		{diskLow + 1<<20, 1 << 20, diskInterval, false, false, nil},
		{diskLow + 1<<20, 1<<20 + 1, diskInterval, true, false, nil}, // that much is needed besides
		{diskResume, 1, diskInterval, true, false, nil},
		{diskResume, 0, diskInterval, false, false, nil}, // it is stored
	} {
		free, pending, err = v.free, v.pending, v.err
		w.pass(v.after)
		_, err := r.Tick(w.now(), time.Minute)
		if held := r.Held() == HeldByDisk; held != v.held || errors.Is(err, ErrDiskLow) != v.fails {
			t.Errorf("step %d: held %t, %v", i, held, err)
		}
	}
	// While what is pending is stored there will be room; where there will not be, the run ends.
	storing = true
	for i, v := range []struct {
		free, pending uint64
		fails         bool
	}{{diskResume, 1 << 30, false}, {diskResume, 1 << 30, false}, {diskResume, 1 << 29, false}, {diskLow, 0, true}} {
		free, pending = v.free, v.pending
		w.pass(time.Hour)
		if _, err := r.Tick(w.now(), time.Minute); errors.Is(err, ErrDiskLow) != v.fails || r.Held() != HeldByDisk {
			t.Errorf("storing, step %d: held %t, %v", i, r.Held() == HeldByDisk, err)
		}
	}
	free, pending = diskResume, 0
	w.pass(diskInterval)
	if _, err := r.Tick(w.now(), time.Minute); err != nil || r.Held() != 0 {
		t.Errorf("stored: held %v, %v", r.Held(), err)
	}
	warnings := w.warnings()
	if len(warnings) != 4 || !strings.Contains(warnings[0], "disk is nearly full: 255 MiB free for data") {
		t.Errorf("%q", warnings)
	}
	r.end()

	// A small disk is low below a quarter of it. One that cannot tell is never low.
	for _, v := range []struct {
		free, total uint64
		err         error
		low         bool
	}{
		{24 << 20, 100 << 20, nil, true},
		{25 << 20, 100 << 20, nil, false},
		{0, 0, nil, false},
		{0, 1 << 40, os.ErrPermission, false},
	} {
		w.env.DiskFree = func() (Disk, error) { return Disk{"data", v.free, v.total, 0, false}, v.err }
		r := w.newRun(NewHosts(w.env), newList(w), Limits{})
		_, err := r.Tick(w.now(), time.Minute)
		if low := r.Held() == HeldByDisk; low != v.low || err != nil {
			t.Errorf("%+v: %t, %v", v, low, err)
		}
		r.Start(context.Background(), 0)
		r.end()
	}
}

// TestLoweredPageLimit: permits beyond a limit that was lowered are surplus. Given back, they are not given out again.
func TestLoweredPageLimit(t *testing.T) {
	var l pageLimit
	for range 3 {
		if !l.take(context.Background()) {
			t.Fatal("no permit without a limit")
		}
	}
	l.use()
	l.setMax(2)
	if !l.surplus() {
		t.Error("1 page and 2 permits of 2 are no surplus")
	}
	l.giveBack()
	if l.surplus() || l.tryTake() {
		t.Error("1 page and 1 permit of 2 are a surplus, or leave one more")
	}
}
