// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

func keepNothing(urlkey.URL, *fetch.Response) error { return nil }

// noWays are those of a robots.txt that nobody keeps and that is not redirected.
var noWays = robotsWays{keep: keepNothing}

const disallowNo = "User-agent: *\nDisallow: /no"

// TestNoteRobots: what an answer and an earlier copy mean by RFC 9309, for how long, and when it is requested again.
func TestNoteRobots(t *testing.T) {
	now := time.UnixMilli(2_000_000_000_000)
	day := 24 * time.Hour
	for _, v := range []struct {
		status   int
		earlier  int           // status of the earlier copy; 0: none
		age      time.Duration // of that
		failures uint16        // in a row before
		allows   string        // "all", "none" or "rules", of the earlier or the new copy
		wait     time.Duration // how long nothing may be fetched
		again    time.Duration // when it is requested again
	}{
		{200, 0, 0, 0, "rules", 0, day},
		{206, 0, 0, 0, "rules", 0, day},
		{200, 404, day, 0, "rules", 0, day},
		{404, 0, 0, 0, "all", 0, day},
		{404, 200, day, 0, "all", 0, day},
		{401, 0, 0, 0, "all", 0, day},
		{403, 200, day, 5, "all", 0, day},
		{429, 0, 0, 0, "none", 5 * time.Minute, 5 * time.Minute},
		{500, 0, 0, 0, "none", 5 * time.Minute, 5 * time.Minute},
		{503, 0, 0, 2, "none", 20 * time.Minute, 20 * time.Minute},
		{0, 0, 0, 0, "none", 5 * time.Minute, 5 * time.Minute},
		{0, 0, 0, 60_000, "none", day, day},
		{503, 200, day, 0, "rules", 0, 5 * time.Minute},
		{0, 200, 30*day - time.Millisecond, 3, "rules", 0, 40 * time.Minute},
		{0, 200, 30 * day, 3, "none", 40 * time.Minute, 40 * time.Minute},
		{429, 404, day, 0, "all", 0, 5 * time.Minute},
		{500, robotsStatusUnreachable, day, 1, "none", 10 * time.Minute, 10 * time.Minute},
	} {
		f := storage.HostFacts{RobotsFailures: v.failures}
		if v.earlier != 0 {
			f.RobotsStatus, f.RobotsFetched = uint16(v.earlier), now.Add(-v.age).UnixMilli()
			if v.earlier == 200 {
				f.Robots = []byte(disallowNo)
			}
		}
		wait := noteRobots(&f, &robotsAnswer{status: v.status, body: []byte(disallowNo)}, now)
		rules, reachable := RobotsRules(&f, "seine")
		allows := "none"
		switch yes, no := rules.Allowed("/yes"), rules.Allowed("/no"); {
		case yes && no:
			allows = "all"
		case yes:
			allows = "rules"
		}
		again := time.Duration(f.RobotsExpires-now.UnixMilli()) * time.Millisecond
		if allows != v.allows || wait != v.wait || again != v.again || reachable != (v.allows != "none") {
			t.Errorf("%+v: allows %s, waits %s, again after %s, reachable: %t", v, allows, wait, again, reachable)
		}
		if reachable := v.status >= 200 && v.status < 500 && v.status != 429; reachable != (f.RobotsFailures == 0) {
			t.Errorf("%+v: %d failures", v, f.RobotsFailures)
		}
	}
}

// TestRobots: a file is requested once a day, or when it was unreachable, for each scheme by itself; a failure falls
// back to the last copy for thirty days.
func TestRobots(t *testing.T) {
	w := newWorld(t, admission.Options{})
	h := NewHosts(w.env)
	u := w.url("http://a.example/x")
	ask := func(requests int, allowed string) robotsState {
		t.Helper()
		s, err := h.robots(context.Background(), u, noWays)
		w.must(err)
		got := ""
		for _, path := range []string{"/yes", "/no"} {
			if s.rules != nil && s.unreach == 0 && s.rules.Allowed(path) {
				got += path
			}
		}
		n := w.web.count("http://a.example/robots.txt")
		if got != allowed || n != requests || s.requested && s.end.Before(s.start) {
			t.Errorf("%q is allowed after %d requests, want %q after %d", got, n, allowed, requests)
		}
		return s
	}
	robots := "http://a.example/robots.txt"
	w.web.set(robots, robotsTxt(disallowNo))
	if s := ask(1, "/yes"); !s.requested {
		t.Error("it was not requested")
	}
	if s := ask(1, "/yes"); s.requested {
		t.Error("it was requested again")
	}
	w.pass(23*time.Hour + 59*time.Minute)
	ask(1, "/yes")
	w.must(h.Flush())
	w.reopen()
	h = NewHosts(w.env)
	ask(1, "/yes") // from hostdb
	w.pass(time.Minute)
	w.web.set(robots, status(503))
	ask(2, "/yes") // the copy stands in
	ask(2, "/yes")
	w.pass(5 * time.Minute)
	w.web.set(robots, broken(fetch.FailRefused))
	ask(3, "/yes")
	w.pass(31 * 24 * time.Hour)
	if s := ask(4, ""); s.unreach <= 0 {
		t.Errorf("%+v", s)
	}
	if s := ask(4, ""); s.unreach <= 0 || s.requested {
		t.Errorf("%+v", s)
	}
	w.pass(24 * time.Hour)
	w.web.set(robots, truncated("disconnect", disallowNo))
	ask(5, "") // half a file may lack the rule that matters
	w.pass(24 * time.Hour)
	w.web.set(robots, truncated("length", disallowNo))
	ask(6, "/yes")
	w.pass(24 * time.Hour)
	w.web.set(robots, status(404))
	ask(7, "/yes/no")

	u = w.url("https://a.example/x")
	w.web.set("https://a.example/robots.txt", robotsTxt("User-agent: seine\nDisallow: /yes"))
	s, err := h.robots(context.Background(), u, noWays)
	if err != nil || s.rules.Allowed("/yes") || !s.rules.Allowed("/no") {
		t.Errorf("https: %+v, %v", s, err)
	}
}

// TestSilentRobots: while a server keeps its robots.txt to itself, hosts are written to hostdb and other visits of the
// host wait for the one request.
func TestSilentRobots(t *testing.T) {
	w := newWorld(t, admission.Options{})
	let := make(chan struct{})
	w.web.set("http://a.example/robots.txt", stuck(let, robotsTxt(disallowNo)))
	h := NewHosts(w.env)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			s, err := h.robots(context.Background(), w.url("http://a.example/"), noWays)
			if err != nil || s.rules.Allowed("/no") || !s.rules.Allowed("/yes") {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
	w.until("the request", func() bool { return w.web.inFlight() == 1 })
	w.must(h.Flush()) // hung for as long as the server, once
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := h.robots(canceled, w.url("http://a.example/"), noWays); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled wait: %v", err)
	}
	close(let)
	wg.Wait()
	if n := w.web.count("http://a.example/robots.txt"); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// TestCutRobots: a request that is cut off decides nothing, and the next one asks again.
func TestCutRobots(t *testing.T) {
	w := newWorld(t, admission.Options{})
	w.web.set("http://a.example/robots.txt", stuck(nil, nil))
	h := NewHosts(w.env)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := h.robots(ctx, w.url("http://a.example/"), noWays); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
	w.until("the request", func() bool { return w.web.inFlight() == 1 })
	cancel()
	wg.Wait()
	w.web.set("http://a.example/robots.txt", robotsTxt(disallowNo))
	s, err := h.robots(context.Background(), w.url("http://a.example/"), noWays)
	if err != nil || s.unreach > 0 || s.rules.Allowed("/no") {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestDeferredPatience: a redirected robots.txt that takes too long counts as unreachable. One that cannot be followed
// does so at once.
func TestDeferredPatience(t *testing.T) {
	w := newWorld(t, admission.Options{})
	w.web.set("http://a.example/robots.txt", moved("http://www.example/"))
	h := NewHosts(w.env)
	state := func(follow func(urlkey.URL) *deferredRobots) robotsState {
		t.Helper()
		ways := robotsWays{keep: keepNothing, follow: follow}
		s, err := h.robots(context.Background(), w.url("http://a.example/"), ways)
		w.must(err)
		return s
	}
	first := state(func(to urlkey.URL) *deferredRobots {
		if to.String() != "http://www.example/" {
			t.Errorf("it is redirected to %s", to)
		}
		return &deferredRobots{until: w.now().Add(deferredPatience)}
	})
	if !first.pending || !first.requested {
		t.Errorf("%+v", first)
	}
	if s := state(nil); !s.pending || s.requested {
		t.Errorf("%+v", s)
	}
	w.pass(deferredPatience)
	if s := state(nil); s.pending || s.requested || s.unreach != robotsRetryMin {
		t.Errorf("%+v", s)
	}
	w.pass(robotsRetryMin)
	if s := state(func(urlkey.URL) *deferredRobots { return nil }); s.pending || s.unreach != 2*robotsRetryMin {
		t.Errorf("%+v", s)
	}
}

// TestKeepFails: a robots.txt that cannot be kept in the WARC is obeyed all the same, and the error is reported.
func TestKeepFails(t *testing.T) {
	w := newWorld(t, admission.Options{})
	w.web.set("http://a.example/robots.txt", robotsTxt(disallowNo))
	keep := func(urlkey.URL, *fetch.Response) error { return errors.New("no room") }
	s, err := NewHosts(w.env).robots(context.Background(), w.url("http://a.example/"), robotsWays{keep: keep})
	if err != nil || s.rules.Allowed("/no") {
		t.Errorf("%+v, %v", s, err)
	}
	if warnings := w.warnings(); len(warnings) != 1 || warnings[0] != "keeping http://a.example/robots.txt: no room" {
		t.Errorf("%q", warnings)
	}
}

// redirects is a web of redirected robots.txt files.
func redirects(w *world) (l *urlList) {
	to := map[string]string{
		"a.example/robots.txt": "www.example/robots.txt", "b.example/robots.txt": "www.example/robots.txt",
		"self.example/robots.txt": "self.example/r.txt", "long.example/robots.txt": "long.example/1",
		"long.example/1": "long.example/2", "long.example/2": "long.example/3", "long.example/3": "long.example/4",
		"long.example/4": "long.example/5", "long.example/5": "long.example/6",
		"lost.example/robots.txt":   "down.example/robots.txt",
		"denied.example/robots.txt": "bad.example/robots.txt", "bare.example/robots.txt": "none.example/robots.txt",
	}
	for from, target := range to {
		w.web.set("http://"+from, moved("http://"+target))
	}
	w.web.set("http://www.example/robots.txt", robotsTxt(disallowNo))
	w.web.set("http://self.example/r.txt", robotsTxt(disallowNo))
	w.web.set("http://down.example/robots.txt", broken(fetch.FailRefused))
	l = newList(w)
	for _, host := range []string{"a", "b", "www", "self", "long", "lost", "denied", "bare"} {
		for _, path := range []string{"", "yes", "no"} {
			u := "http://" + host + ".example/" + path
			w.web.set(u, html("This is "+u))
			l.add(Choice{Key: w.url(u).Key()})
		}
	}
	return l
}

// TestRobotsRedirects: a robots.txt that is redirected is requested in the turn of the host it was redirected to, also
// when that is the same host, one that many others share, or one with work of its own. Chains that are too long allow
// everything, and hosts that do not answer, or that an operator denies, nothing.
func TestRobotsRedirects(t *testing.T) {
	for _, fetchers := range []int{1, 8} {
		t.Run(fmt.Sprint(fetchers, " fetchers"), func(t *testing.T) {
			bad, err := policy.DenyHosts("bad.example")
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(t, admission.Options{Filters: policy.URLFilters{bad}})
			l := redirects(w)
			h := NewHosts(w.env)
			r := w.start(h, l, fetchers, Limits{})
			w.until("what may be fetched", func() bool {
				c := r.Counts()
				return c.Attempts() == 4*3+2*3
			})
			w.until("the request for lost.example", func() bool {
				return w.web.count("http://down.example/robots.txt") == 1
			})
			w.until("its own", func() bool {
				a := h.peek(storage.AuthorityKey(w.host("lost.example"), "http"))
				a.mu.Lock()
				defer a.mu.Unlock()
				return a.facts.RobotsStatus == robotsStatusUnreachable
			})
			c := r.end()
			if c.Fetched != 4*2+2*3 || c.RobotsDenied != 4 || c.Failed != 0 {
				t.Errorf("%+v", c)
			}
			if len(w.web.rude) > 0 {
				t.Errorf("at once with another: %q", w.web.rude)
			}
			for url, n := range map[string]int{
				"http://lost.example/": 0, "http://denied.example/": 0, "http://bad.example/robots.txt": 0,
				"http://a.example/yes": 1, "http://www.example/robots.txt": 1, "http://self.example/r.txt": 1,
				"http://long.example/no": 1, "http://long.example/5": 1, "http://long.example/6": 0,
				"http://bare.example/no": 1, "http://none.example/robots.txt": 1,
			} {
				// Names that share a file share a request, or each has one of its own if the first was over too soon.
				shared := strings.HasPrefix(url, "http://www.")
				if got := w.web.count(url); got != n && !(shared && got > n && got <= 3) {
					t.Errorf("%s was requested %d times, want %d", url, got, n)
				}
			}
			s, err := h.robots(context.Background(), w.url("http://lost.example/"), noWays)
			if err != nil || s.unreach <= 0 {
				t.Errorf("lost: %+v, %v", s, err)
			}
		})
	}
}

// TestDeferredOutlivesNoRun: a run that ends before a redirected robots.txt was requested, or while it is, leaves no
// verdict behind: the next run asks again.
func TestDeferredOutlivesNoRun(t *testing.T) {
	for name, under := range map[string]bool{"under way": true, "not begun": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, admission.Options{})
			w.web.set("http://a.example/robots.txt", moved("http://www.example/r.txt"))
			w.web.set("http://www.example/r.txt", stuck(nil, nil))
			w.web.set("http://www.example/", stuck(nil, nil))
			w.web.set("http://a.example/yes", html("yes"))
			h := NewHosts(w.env)
			l := newList(w)
			if !under {
				l.add(Choice{Key: w.url("http://www.example/").Key()})
			}
			r := w.start(h, l, 2, Limits{})
			if !under {
				w.until("www.example to be busy", func() bool { return w.web.count("http://www.example/") == 1 })
			}
			l.add(Choice{Key: w.url("http://a.example/yes").Key()})
			r.front.Wake(w.host("a.example"))
			if under {
				w.until("the request", func() bool { return w.web.count("http://www.example/r.txt") == 1 })
			} else {
				w.until("the redirect", func() bool {
					return w.web.count("http://a.example/robots.txt") == 1 && r.Busy() == 1
				})
			}
			r.end()
			w.web.set("http://www.example/r.txt", robotsTxt(disallowNo))
			c := w.start(h, newList(w, "http://a.example/yes"), 2, Limits{}).finished()
			if c.Fetched != 1 {
				t.Errorf("%+v", c)
			}
			a := h.peek(storage.HostStateKey(w.host("www.example")))
			if a != nil && a.facts.Failures > 0 {
				t.Errorf("the end of the run is a failure of the host: %+v", a.facts)
			}
		})
	}
}

// TestDeferredToDenied: a host that is denied after a robots.txt was redirected to it is not asked.
func TestDeferredToDenied(t *testing.T) {
	deny := &liveHosts{}
	w := newWorld(t, admission.Options{Live: []policy.LiveFilter{deny}})
	let := make(chan struct{})
	w.web.set("http://www.example/robots.txt", status(404))
	w.web.set("http://www.example/", stuck(let, html("busy")))
	w.web.set("http://a.example/robots.txt", moved("http://www.example/r.txt"))
	h := NewHosts(w.env)
	l := newList(w, "http://www.example/")
	r := w.start(h, l, 2, Limits{})
	w.until("www.example to be busy", func() bool { return w.web.count("http://www.example/") == 1 })
	l.add(Choice{Key: w.url("http://a.example/").Key()})
	r.front.Wake(w.host("a.example"))
	w.until("the redirect", func() bool { return w.web.count("http://a.example/robots.txt") == 1 && r.Busy() < 2 })
	deny.set("www.example")
	w.env.Admission.Refresh()
	close(let)
	w.until("the verdict", func() bool {
		s, err := h.robots(context.Background(), w.url("http://a.example/"), noWays)
		return err == nil && s.unreach > 0
	})
	r.end()
	if n := w.web.count("http://www.example/r.txt"); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// TestMayFetch: one URL by itself: allowed or not, after which wait, with redirects followed in place.
func TestMayFetch(t *testing.T) {
	bad, err := policy.DenyHosts("bad.example")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, admission.Options{
		Filters: policy.URLFilters{bad},
		Hosts:   settings{"own.example": {Delay: 9 * time.Millisecond}, "fast.example": {Delay: -1}},
	})
	redirects(w)
	for host, text := range map[string]string{
		"slow.example":   "User-agent: *\nCrawl-delay: 3",
		"slower.example": "User-agent: *\nCrawl-delay: 300",
		"plain.example":  "",
	} {
		w.web.set("http://"+host+"/robots.txt", robotsTxt(text))
	}
	w.web.set("http://own.example/robots.txt", status(404))
	w.web.set("http://closed.example/robots.txt", status(500))
	w.delay.Store(int64(2 * time.Millisecond))
	for _, v := range []struct {
		url  string
		wait time.Duration
		says string // of the error; "": there is none
	}{
		{"http://plain.example/", 2 * time.Millisecond, ""},
		{"http://own.example/", 9 * time.Millisecond, ""},
		{"http://fast.example/", 0, ""},
		{"http://slow.example/", 3 * time.Second, ""},
		{"http://slower.example/", 30 * time.Second, ""},
		{"http://a.example/yes", 2 * time.Millisecond, ""},
		{"http://a.example/no", 0, "http://a.example/no: robots.txt does not allow it"},
		{"http://long.example/no", 2 * time.Millisecond, ""},
		{"http://lost.example/", 0, "unreachable"},
		{"http://closed.example/", 0, "unreachable"},
		{"http://denied.example/", 0, "unreachable"},
	} {
		leave, err := NewHosts(w.env).MayFetch(context.Background(), w.url(v.url))
		if leave.Wait != v.wait || (err == nil) != (v.says == "") {
			t.Errorf("%s: wait %s, %v", v.url, leave.Wait, err)
		}
		if err != nil && (!errors.Is(err, ErrRobots) || !strings.Contains(err.Error(), v.says)) {
			t.Errorf("%s: %v, want %q", v.url, err, v.says)
		}
	}
	if n := w.web.count("http://bad.example/robots.txt"); n != 0 {
		t.Errorf("a denied host got %d requests", n)
	}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := NewHosts(w.env).MayFetch(canceled, w.url("http://a.example/")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestRobotsRedirectToItself: a redirect without a Location, or to where it comes from, leads nowhere. It is no reason
// to ask the host again.
func TestRobotsRedirectToItself(t *testing.T) {
	w := newWorld(t, admission.Options{})
	for _, location := range []string{"", "/robots.txt", "#rules"} {
		w.web.set("http://a.example/robots.txt", moved(location))
		before := w.web.count("http://a.example/robots.txt")
		if _, err := NewHosts(w.env).MayFetch(context.Background(), w.url("http://a.example/x")); err != nil {
			t.Errorf("%q: %v", location, err)
		}
		if n := w.web.count("http://a.example/robots.txt") - before; n != 1 {
			t.Errorf("%q: %d requests", location, n)
		}
	}
}

// TestRobotsCutOff: a robots.txt that was cut off because other bodies needed its memory says nothing, however often.
// It is requested again, from the second time on after a rest.
func TestRobotsCutOff(t *testing.T) {
	w := newWorld(t, admission.Options{})
	h := NewHosts(w.env)
	u := w.url("http://a.example/x")
	w.web.set("http://a.example/robots.txt", func(ctx context.Context, r *fetch.Request) *fetch.Response {
		resp := robotsTxt(disallowNo)(ctx, r)
		resp.Truncated, resp.CutOff = "time", true
		return resp
	})
	for i := range 3 {
		s, err := h.robots(context.Background(), u, noWays)
		w.must(err)
		if !s.broken || s.unreach != 0 || (s.rest > 0) != (i > 0) {
			t.Errorf("time %d: %+v", i, s)
		}
	}
	if _, err := h.MayFetch(context.Background(), u); err == nil || errors.Is(err, ErrRobots) {
		t.Errorf("MayFetch: %v", err)
	}
	w.web.set("http://a.example/robots.txt", robotsTxt(disallowNo))
	s, err := h.robots(context.Background(), u, noWays)
	w.must(err)
	if s.broken || s.unreach != 0 || !s.rules.Allowed("/yes") || s.rules.Allowed("/no") {
		t.Errorf("in full: %+v", s)
	}
}

// TestDeferredCutOff is the same for a robots.txt that was redirected.
func TestDeferredCutOff(t *testing.T) {
	w := newWorld(t, admission.Options{})
	w.web.set("http://a.example/robots.txt", moved("http://b.example/rules"))
	w.web.set("http://a.example/yes", html("page"))
	cuts := 0
	w.web.set("http://b.example/robots.txt", robotsTxt(""))
	w.web.set("http://b.example/rules", func(ctx context.Context, r *fetch.Request) *fetch.Response {
		resp := robotsTxt(disallowNo)(ctx, r)
		if cuts++; cuts < 3 {
			resp.Truncated, resp.CutOff = "time", true
		}
		return resp
	})
	r := w.start(NewHosts(w.env), newList(w, "http://a.example/yes", "http://a.example/no"), 1, Limits{})
	if c := r.finished(); c.Fetched != 1 || c.RobotsDenied != 1 || cuts != 3 {
		t.Errorf("%+v after %d requests", c, cuts)
	}
}

// TestFactsInUse: robots.txt files under way that take all the memory for facts do not make others be requested at each
// visit, and what is counted is what is in memory.
func TestFactsInUse(t *testing.T) {
	w := newWorld(t, admission.Options{})
	w.env.FactsBytes = 1 << 16
	h := NewHosts(w.env)
	big := disallowNo + strings.Repeat("# what nobody reads\n", 5_000)
	let := make(chan struct{})
	var wg sync.WaitGroup
	for _, host := range []string{"b", "c"} {
		u := w.url("http://" + host + ".example/")
		w.web.set(u.String()+"robots.txt", robotsTxt(big))
		_, err := h.robots(context.Background(), u, noWays)
		w.must(err)
		a, err := h.get(authorityKey(u))
		w.must(err)
		a.mu.Lock()
		a.facts.RobotsExpires = 0 // it is requested again, and its old copy stays in memory meanwhile
		a.mu.Unlock()
		w.web.set(u.String()+"robots.txt", stuck(let, robotsTxt(big)))
		wg.Go(func() {
			if _, err := h.robots(context.Background(), u, noWays); err != nil {
				t.Error(err)
			}
		})
		w.until("the request", func() bool { return w.web.inFlight() > 0 })
	}
	w.until("the requests", func() bool { return w.web.inFlight() == 2 })
	w.web.set("http://a.example/robots.txt", robotsTxt(disallowNo))
	for i := range 3 {
		s, err := h.robots(context.Background(), w.url("http://a.example/"), noWays)
		w.must(err)
		if s.requested != (i == 0) || s.rules.Allowed("/no") {
			t.Errorf("visit %d: %+v", i, s)
		}
	}
	close(let)
	wg.Wait()
	sum := int64(0)
	for el := h.lru.Front(); el != nil; el = el.Next() {
		sum += el.Value.(*authority).weight
	}
	if sum != h.bytes.Load() {
		t.Errorf("%d bytes in memory, %d are counted", sum, h.bytes.Load())
	}
}
