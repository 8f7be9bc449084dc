// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"context"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// assume makes a URL a seed that was given without a scheme.
func (w *world) assume(u urlkey.URL) {
	w.Helper()
	record := storage.Record{Status: storage.StatusUnfetched}
	record.Meta = []storage.Field{{Name: storage.MetaScheme, Value: storage.SchemeAssumed}}
	w.must(w.store.Apply(func(b *storage.Batch) error {
		return b.Set(storage.Crawldb(), []byte(u.Key()), storage.AppendRecord(nil, &record))
	}))
}

// TestHTTPInstead: a URL whose scheme was assumed is tried with http when no https connection can be made, for
// robots.txt or for the page; any other URL, and any other failure, is left as it is. The WARC says the same.
func TestHTTPInstead(t *testing.T) {
	for _, c := range []struct {
		name         string
		url          string
		assumed      bool
		robots, page answer
		status       storage.FetchStatus // 0: there is no outcome
		redirect     string
	}{
		{"refused", "https://a.example/x?y", true, broken(fetch.FailRefused), nil,
			storage.FetchRedirTemp, "http://a.example/x?y"},
		{"no TLS", "https://a.example:8080/", true, broken(fetch.FailTLS), nil,
			storage.FetchRedirTemp, "http://a.example:8080/"},
		{"certificate", "https://a.example/", true, broken(fetch.FailTLSUntrusted), nil,
			storage.FetchRedirTemp, "http://a.example/"},
		{"only the page", "https://a.example/", true, status(404), broken(fetch.FailReset),
			storage.FetchRedirTemp, "http://a.example/"},
		{"answered", "https://a.example/", true, status(404), html("x"), storage.FetchSuccess, ""},
		{"robots.txt fails", "https://a.example/", true, status(503), nil, 0, ""},
		{"robots.txt is at a dead host", "https://a.example/", true, moved("https://dead.example/"), nil, 0, ""},
		{"no name", "https://a.example/", true, broken(fetch.FailDNSNotFound), nil, 0, ""},
		{"given with https", "https://a.example/", false, broken(fetch.FailRefused), nil, 0, ""},
		{"http", "http://a.example/", true, broken(fetch.FailRefused), nil, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, admission.Options{})
			u := w.url(c.url)
			if c.assumed {
				w.assume(u)
			}
			robots, err := u.Resolve("/robots.txt")
			w.must(err)
			w.web.set(robots.String(), c.robots)
			w.web.set("https://dead.example/", broken(fetch.FailRefused))
			if c.page != nil {
				w.web.set(c.url, c.page)
			}
			r := w.start(NewHosts(w.env), newList(w, c.url), 2, Limits{})
			r.finished()
			for _, again := range []bool{false, true} {
				if again { // from the WARC
					seg, _, err := w.store.Segment(1)
					w.must(err)
					_, err = w.segments.Seal(context.Background(), seg)
					w.must(err)
				}
				got := w.outcomes(1)[u.Key()]
				want := ""
				if c.redirect != "" {
					want = string(w.url(c.redirect).Key())
				}
				if got.Status != c.status || string(got.Redirect) != want || (got.Failure != "") != (want != "") {
					t.Errorf("again %t: %s, redirect %q, failure %q", again, got.Status, got.Redirect, got.Failure)
				}
			}
			if facts := (storage.HostFacts{}); c.redirect != "" {
				_, err := w.store.HostFacts(storage.HostStateKey(u.HostKey()), &facts)
				if w.must(err); facts.Failures+facts.Sleeps != 0 {
					t.Errorf("the host is blamed: %+v", facts)
				}
			}
		})
	}
}

// TestOneSchemeIsDown: where the robots.txt of https cannot be had, the host goes on with its URLs of http. Those of
// https are fetched when it can be had again. The other way round it is the same, and so it is in the next process, and
// where the host slept before.
func TestOneSchemeIsDown(t *testing.T) {
	for name, fails := range map[string]answer{
		"refused": broken(fetch.FailRefused), "certificate": broken(fetch.FailTLSName),
		"silent": broken(fetch.FailDialTimeout), "busy": status(503),
	} {
		for down, up := range map[string]string{"https": "http", "http": "https"} {
			t.Run(name+" "+down, func(t *testing.T) {
				w := newWorld(t, admission.Options{})
				urls := []string{up + "://a.example/1", down + "://a.example/2", up + "://a.example/3"}
				for _, u := range urls {
					w.web.set(u, html("page"))
				}
				w.delay.Store(int64(time.Millisecond))
				w.web.set(down+"://a.example/robots.txt", fails)
				for i, want := range []struct{ fetched, robots uint64 }{{2, 1}, {2, 1}, {2, 2}, {3, 3}} {
					switch i {
					case 2:
						w.pass(robotsRetryMin)
					case 3:
						w.web.set(down+"://a.example/robots.txt", status(404))
						w.pass(2 * robotsRetryMin)
					}
					h := NewHosts(w.env)
					if name != "silent" { // that may be the network here
						h.Remember(w.host("a.example"), frontier.HostState{NotBefore: time.Now(), Sleeps: 1})
					}
					r := w.start(h, newList(w, urls...), 2, Limits{})
					c := r.finished()
					urls[0], urls[1] = down+"://a.example/2", up+"://a.example/1" // now it comes first
					n := w.web.count(down + "://a.example/robots.txt")
					if c.Fetched != want.fetched || c.Failed > 0 || uint64(n) != want.robots {
						t.Errorf("run %d: %d requests for the robots.txt that cannot be had, %+v", i, n, c)
					}
				}
			})
		}
	}
}

// TestNoHTTPInstead: a host that demanded a rest with the answer to the request for its robots.txt gets no request for
// http instead, from the process after a crash either.
func TestNoHTTPInstead(t *testing.T) {
	w := newWorld(t, admission.Options{})
	const page = "https://a.example/"
	u := w.url(page)
	w.assume(u)
	w.web.set(page+"robots.txt", reply("HTTP/1.1 429 No\nRetry-After: 7200", ""))
	h := NewHosts(w.env)
	s, err := h.robots(t.Context(), u, noWays)
	if w.must(err); s.unreach < time.Hour {
		t.Fatalf("%+v", s)
	}
	w.must(h.keepDemands()) // and nothing else: the process is killed
	r := w.start(NewHosts(w.env), newList(w, page), 1, Limits{})
	w.until("the rest", func() bool { return time.Until(r.front.Host(u.HostKey()).Next) > time.Hour })
	r.end()
	if got, n := w.outcomes(1)[u.Key()], len(w.web.requests()); got.Status != 0 || n != 1 {
		t.Errorf("%d requests, and the page is %s to %q", n, got.Status, got.Redirect)
	}
}

// TestTroubles: why hosts give nothing is known until they answer.
func TestTroubles(t *testing.T) {
	w := newWorld(t, admission.Options{})
	w.web.set("http://a.example/robots.txt", broken(fetch.FailDNSNotFound))
	w.web.set("http://b.example/robots.txt", broken(fetch.FailDNSNotFound))
	w.web.set("http://c.example/robots.txt", status(503))
	w.web.set("http://d.example/", broken(fetch.FailRefused))
	w.web.set("http://e.example/", html("fine"))
	h := NewHosts(w.env)
	list := newList(w, "http://a.example/", "http://b.example/", "http://c.example/", "http://d.example/",
		"http://e.example/")
	r := w.start(h, list, 2, Limits{})
	w.until("all hosts", func() bool {
		hosts := 0
		for _, x := range h.Troubles() {
			hosts += x.Hosts
		}
		return hosts == 4 && w.web.count("http://e.example/") > 0
	})
	r.Stop()
	got := h.Troubles()
	want := []Trouble{
		{Failure: fetch.FailDNSNotFound, Hosts: 2, Example: w.host("a.example")},
		{Robots: 503, Hosts: 1, Example: w.host("c.example")},
		{Failure: fetch.FailRefused, Hosts: 1, Example: w.host("d.example")},
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("trouble %d: %+v, want %+v", i, got[i], want[i])
		}
	}
	if x := h.TroubleOf(w.host("c.example")); x.Robots != 503 || x.Hosts != 1 {
		t.Errorf("%+v", x)
	}
	if x := h.TroubleOf(w.host("e.example")); x.Hosts != 0 {
		t.Errorf("%+v", x)
	}
	h.troubles.answered(w.host("c.example"))
	if n := len(h.Troubles()); n != 2 {
		t.Errorf("%d troubles", n)
	}
}

// TestRefusedHere: what only the crawl's settings refuse is not held against the host by the next process, and the next
// run does not count it before it comes to the host.
func TestRefusedHere(t *testing.T) {
	w := newWorld(t, admission.Options{})
	const page = "http://10.0.0.1/"
	w.web.set(page+"robots.txt", broken(fetch.FailAddress))
	w.web.set(page, html("fine"))
	h := NewHosts(w.env)
	r := w.start(h, newList(w, page), 2, Limits{})
	w.until("the refusal", func() bool { return r.front.Stats().Asleep == 1 })
	r.finished()
	w.must(h.Flush())
	if n := h.RefusedHere(); n != 1 {
		t.Errorf("%d hosts are refused", n)
	}
	if h.ForgetRefused(); h.RefusedHere() != 0 || len(h.Troubles()) != 0 {
		t.Errorf("a run begins with %d refused hosts: %v", h.RefusedHere(), h.Troubles())
	}

	w.web.set(page+"robots.txt", status(404)) // with --allow-private
	r = w.start(NewHosts(w.env), newList(w, page), 2, Limits{})
	if counts := r.finished(); counts.Fetched != 1 {
		t.Errorf("%+v", counts)
	}
}
