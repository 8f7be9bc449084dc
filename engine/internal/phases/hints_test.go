// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestHintBounds: whatever a hint says, and however often, a page is due between a fourth and twice of its interval
// after the last fetch, within the bounds of its host; what is due stays due; two hints count the same in any order.
func TestHintBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) hint {
			return hint{
				modified: rapid.Int64Range(0, 3*firstMS).Draw(t, name+" modified"),
				at:       rapid.Int64Range(firstMS, 2*firstMS).Draw(t, name+" at"),
				every:    rapid.Uint32().Draw(t, name+" every"),
			}
		}
		interval := rapid.Uint32Range(1, 400*86400).Draw(t, "interval")
		maxInterval := rapid.Uint32Range(1, 400*86400).Draw(t, "max")
		bounds := policy.Bounds{Min: rapid.Uint32Range(0, interval).Draw(t, "shortest")}
		r := storage.Record{
			Status: storage.StatusFetched, LastFetch: firstMS, Interval: interval,
			FetchTime: firstMS + int64(interval)*1000,
		}
		now := firstMS + rapid.Int64Range(0, 2*int64(interval)*1000).Draw(t, "now")
		due := r.FetchTime <= now
		for range rapid.IntRange(1, 5).Draw(t, "times") {
			a, b := draw("a"), draw("b")
			if a.plus(b) != b.plus(a) {
				t.Fatalf("%+v and %+v", a, b)
			}
			before := r.FetchTime
			a.plus(b).apply(&r, bounds, maxInterval, now)
			wait := r.FetchTime - firstMS
			if due && r.FetchTime != before {
				t.Fatal("what is due was put off")
			}
			if !due && (wait < int64(max(interval/4, bounds.Min))*1000 || wait > 2*int64(interval)*1000) {
				t.Fatalf("due after %d ms, the interval is %d s", wait, interval)
			}
		}
	})
}

// TestHints: sitemaps and feeds move the next fetches of pages of their own host, and of no other; without the option
// they move none.
func TestHints(t *testing.T) {
	const day, interval = 86400, policy.DefaultInterval
	said := []struct {
		url  string
		hint storage.LinkHint
		want int64 // seconds from the last fetch to the next
	}{
		{"http://a.example/changed", storage.LinkHint{Modified: firstMS/1000 + day}, interval / 4},
		{"http://a.example/ahead", storage.LinkHint{Modified: firstMS/1000 + 2*day + 3600}, interval / 4},
		{"http://a.example/future", storage.LinkHint{Modified: firstMS/1000 + 400*day}, interval},
		{"http://a.example/weekly", storage.LinkHint{Every: 10 * day}, 10 * day},
		{"http://a.example/always", storage.LinkHint{Every: 1}, interval / 4},
		{"http://a.example/never", storage.LinkHint{Every: 3650 * day}, 2 * interval},
		{"http://a.example/same", storage.LinkHint{Modified: firstMS/1000 - day}, interval + 2*day},
		{"http://a.example/before", storage.LinkHint{Modified: -day}, interval},
		{"http://a.example/beyond", storage.LinkHint{Modified: math.MaxInt64 / 500}, interval},
		{"http://a.example/part", storage.LinkHint{Every: 10 * day}, day}, // the whole is wanted soon
		{"http://b.example/changed", storage.LinkHint{Modified: firstMS/1000 + day}, interval},
	}
	for _, on := range []bool{true, false} {
		w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
		defer w.close()
		var pages []page
		sitemap := page{url: "http://a.example/sitemap.xml", at: 2 * day * 1000}
		for i, s := range said {
			w.inject(s.url)
			p := page{url: s.url, content: byte(i + 1)}
			if s.url == "http://a.example/part" {
				p = page{url: s.url, outcome: &storage.FetchOutcome{Status: storage.FetchSuccess, Truncated: "time"}}
			}
			pages = append(pages, p)
			sitemap.links = append(sitemap.links, s.url)
			s.hint.Link = uint32(i)
			sitemap.hints = append(sitemap.hints, s.hint)
		}
		w.p.env.Hints = on
		w.update(pages...)
		w.update(sitemap)
		for _, s := range said {
			r := w.records()[w.key(s.url)]
			want := s.want
			if !on && want != day {
				want = interval
			}
			if got := (r.FetchTime - firstMS) / 1000; got != want || r.Interval != interval {
				t.Errorf("%s, hints %t: due after %d s, want %d", s.url, on, got, want)
			}
		}
	}
}

// TestUnavailableStaysDue: neither what a sitemap says nor a fetch that brings only a part moves the next fetch of a
// page behind the time from which on it must not be found.
func TestUnavailableStaysDue(t *testing.T) {
	const url, day = "http://a.example/page", 24 * 3600 * 1000
	date := time.UnixMilli(firstMS + 10*day).UTC().Format(time.RFC3339)
	for name, after := range map[string]page{
		"hint": {url: "http://a.example/sitemap.xml", at: 2 * day, links: []string{url},
			hints: []storage.LinkHint{{Every: 20 * day / 1000}}},
		"part": {url: url, at: 2 * day, outcome: &storage.FetchOutcome{
			Status: storage.FetchSuccess, Truncated: truncatedByLength}},
	} {
		w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
		w.p.env.Hints = true
		w.inject(url)
		w.update(page{url: url, content: 1, outcome: &storage.FetchOutcome{
			Status: storage.FetchSuccess, Preferences: storage.PreferenceUnavailable + date}})
		w.update(after)
		if r := w.records()[w.key(url)]; r.FetchTime != firstMS+10*day+1 {
			t.Errorf("%s: due after %d ms, the date is after %d", name, r.FetchTime-firstMS, 10*day)
		}
		w.close()
	}
}

// TestScheduleBounds: an adaptive schedule stays within the bounds of a page's media type, which a 304 does not name,
// and of its host, which come last. An interval of the host decides alone, whatever a hint says.
func TestScheduleBounds(t *testing.T) {
	const hour, day = 3600, 86400
	settings := map[urlkey.HostKey]*policy.HostSettings{
		"example,b,)": {MinInterval: time.Hour, MaxInterval: 2 * time.Hour},
		"example,c,)": {MinInterval: 50 * 24 * time.Hour},
		"example,d,)": {MaxInterval: time.Hour},
		"example,e,)": {Interval: 3 * time.Hour},
		"example,f,)": {MaxPages: 5},
	}
	hosts := policy.HostPolicyFunc(func(h urlkey.HostKey) *policy.HostSettings { return settings[h] })
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny, Hosts: hosts})
	defer w.close()
	w.schedule = policy.AdaptiveSchedule{MaxInterval: policy.DefaultMaxInterval}
	w.restart()
	w.p.env.Hints = true
	w.p.env.TypeRules = policy.TypeRules{
		{Type: "text/*", Bounds: policy.Bounds{Min: 3000, Max: day}},
		{Type: "image/*", Bounds: policy.Bounds{Min: policy.DefaultMaxInterval + 1}},
	}
	for i, c := range []struct {
		url, mediaType              string
		first, second, often, never uint32 // of a success, a 304, and hints that it changes every second, or never
	}{
		{"http://a.example/page", "text/html", day, day, day / 4, day},
		{"http://a.example/pdf", "application/pdf", 30 * day, 42 * day, 42 * day / 4, 84 * day},
		{"http://a.example/image", "image/png", 90 * day, 90 * day, 90 * day, 90 * day},
		{"http://b.example/page", "text/html", 2 * hour, 2 * hour, hour, 2 * hour},
		{"http://b.example/pdf", "application/pdf", 2 * hour, 2 * hour, hour, 2 * hour},
		{"http://c.example/page", "text/html", 50 * day, 50 * day, 50 * day, 50 * day},
		{"http://c.example/pdf", "application/pdf", 50 * day, 70 * day, 50 * day, 90 * day},
		{"http://d.example/page", "text/html", hour, hour, 3000, hour},
		{"http://e.example/page", "text/html", 3 * hour, 3 * hour, 3 * hour, 3 * hour},
		{"http://f.example/page", "text/html", day, day, day / 4, day},
	} {
		w.inject(c.url)
		w.update(page{url: c.url, content: 1, mediaType: c.mediaType})
		r := w.records()[w.key(c.url)]
		if r.Status != storage.StatusFetched || r.Interval != c.first || r.FetchTime != firstMS+int64(c.first)*1000 {
			t.Errorf("%s: interval %d, due after %d, want %d", c.url, r.Interval, r.FetchTime-firstMS, c.first)
		}
		w.update(page{url: c.url, status: storage.FetchNotModified, at: 1000})
		if r = w.records()[w.key(c.url)]; r.Interval != c.second {
			t.Errorf("%s: interval %d after a 304, want %d", c.url, r.Interval, c.second)
		}
		for n, hinted := range []struct{ every, want uint32 }{{1, c.often}, {3650 * day, c.never}} {
			w.update(page{
				url: fmt.Sprintf("%ssitemap%d.xml", c.url, 2*i+n), links: []string{c.url}, at: 2000,
				hints: []storage.LinkHint{{Every: hinted.every}},
			})
			r = w.records()[w.key(c.url)]
			if got := (r.FetchTime - firstMS - 1000) / 1000; got != int64(hinted.want) {
				t.Errorf("%s: due after %d with a hint of %d, want %d", c.url, got, hinted.every, hinted.want)
			}
		}
	}
}

// TestFixedInterval: an interval that a seed line fixes stays, whatever the schedule, the settings of the host and
// hints say, until the seed line says another. A page that is gone when it is fetched first, and has an interval of its
// own, is fetched again after one and a half of that.
func TestFixedInterval(t *testing.T) {
	const (
		hour, day, fixed = 3600, 86400, "\tnutch.fetchInterval.fixed="
		url, gone, plain = "http://a.example/page", "http://a.example/gone", "http://a.example/plain"
	)
	settings := policy.HostPolicyFunc(func(urlkey.HostKey) *policy.HostSettings {
		return &policy.HostSettings{Interval: 6 * time.Hour}
	})
	for want, hosts := range map[uint32]policy.HostPolicy{45 * day: nil, 9 * hour: settings} {
		w := newWorld(t, admission.Options{Scope: policy.ScopeAny, Hosts: hosts})
		defer w.close()
		w.schedule = policy.AdaptiveSchedule{}
		w.restart()
		w.p.env.Hints = true
		r := w.inject(url+fixed+"7200\tnutch.fetchInterval=60", gone+fixed+"7200", plain,
			plain+"1"+fixed+"0", plain+"2"+fixed+"1.5")
		if r.New != 3 || r.Malformed != 2 {
			t.Errorf("%+v", r)
		}
		due := func(of string, interval uint32, at int64) {
			t.Helper()
			r := w.records()[w.key(of)]
			if r.Interval != interval || r.FetchTime != firstMS+at+int64(interval)*1000 {
				t.Errorf("%s: interval %d, due after %d ms, want %d", of, r.Interval, r.FetchTime-firstMS-at, interval)
			}
		}
		w.update(page{url: url, content: 1}, page{url: gone, status: storage.FetchGone},
			page{url: plain, status: storage.FetchGone})
		due(url, 2*hour, 0)
		due(gone, 3*hour, 0)
		due(plain, want, 0)
		w.update(page{url: url, content: 2, at: 1000})
		due(url, 2*hour, 1000)
		w.update(page{url: url, status: storage.FetchNotModified, at: 2000})
		due(url, 2*hour, 2000)
		w.update(page{url: "http://a.example/sitemap.xml", links: []string{url}, at: 3000,
			hints: []storage.LinkHint{{Every: 1}}})
		due(url, 2*hour, 2000)
		again := InjectOptions{URLs: []string{url + fixed + "10800"}, Update: true}
		if _, err := w.p.Inject(t.Context(), again); err != nil {
			t.Fatal(err)
		}
		w.update(page{url: url, content: 2, at: 4000})
		due(url, 3*hour, 4000)
		w.check()
	}
}

// TestHintBeforeFetch: how often a page changes, as a sitemap says while the page is to be fetched first, counts after
// the fetch that finds its content, and after no other; with the option off, after none.
func TestHintBeforeFetch(t *testing.T) {
	const (
		url, sitemap = "http://a.example/page", "http://a.example/sitemap.xml"
		day          = 86_400_000
	)
	for _, on := range []bool{true, false} {
		w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
		defer w.close()
		w.p.env.Hints = true
		says := page{url: sitemap, links: []string{url}, hints: []storage.LinkHint{{Every: 10 * 86400}}}
		fetch := func(at, want int64) {
			t.Helper()
			w.update(page{url: url, content: byte(at/day + 1), at: at})
			r := w.records()[w.key(url)]
			if r.FetchTime != firstMS+at+want || r.Interval != policy.DefaultInterval || len(r.Meta) != 0 {
				t.Errorf("hints %t: due %d days after day %d, want %d; %v",
					on, (r.FetchTime-firstMS-at)/day, at/day, want/day, r.Meta)
			}
		}
		w.update(says)
		w.update(page{url: url, status: storage.FetchRetry, at: 1})
		w.p.env.Hints = on
		if !on {
			fetch(2, 30*day)
			continue
		}
		fetch(2, 10*day)
		for _, at := range []int64{40 * day, 80 * day} { // it is due when its sitemap is read again
			w.now, says.at = firstMS+at, at
			w.update(says)
			fetch(at+1, 10*day)
		}
		w.now = firstMS + 120*day
		fetch(120*day, 30*day)
		w.check()
	}
}
