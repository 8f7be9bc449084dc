// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/engine/policy/policytest"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

func TestFilters(t *testing.T) {
	scope := policy.NewScopeFilter(policy.ScopeDomain)
	host, _ := urlkey.ParseHost("www.example.co.uk")
	scope.Admit(host)
	f := func(filter policy.URLFilter, url, want string) {
		t.Helper()
		if got := filter.Accept(parse(t, url)); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
	suffix := policy.NewSuffixFilter()
	f(suffix, "http://h/a.html", "")
	f(suffix, "http://h/a.PNG", "suffix")
	f(suffix, "http://h/a.png/b", "")
	f(suffix, "http://h/a?b=c.png", "")
	f(suffix, "http://h/archive.tar.gz", "suffix")
	f(suffix, "http://h/a.", "")
	f(suffix, "http://h/Sitemap.XML.GZ", "")
	f(suffix, "http://h/xml.gz", "suffix")
	f(policy.NewSuffixFilter("pdf"), "http://h/a.png", "")
	f(policy.TrapFilter{}, "http://h/a/b/a/b/a/b", "")
	f(policy.TrapFilter{}, "http://h/a/b/a/b/a/b/a/b", "path_repeat")
	f(policy.TrapFilter{}, "http://h/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/21", "path_depth")
	f(policy.TrapFilter{}, "http://h/?a&b&c&d&e&f&g&h&i&j&k&l&m&n&o&p&q", "query_parameters")
	f(policy.TrapFilter{}, "http://h/?a=1&a=2&a=3&a=4&b=a", "")
	f(policy.TrapFilter{}, "http://h/?a=1&a=2&a=3&a=4&a=5", "query_repeat")
	f(policy.TrapFilter{}, "http://h/list?page=10000", "")
	for target, trap := range map[string]bool{
		"/events/2031/12/": false, "/events/2032/1/": true, "/topic/2032/1/": false,
		"/a/2032-01-02.html": true, "/a/2032-1-2": false, "/2032/13/01": false,
		"/x?month=2032.07": true, "/x?a&year=2032": true, "/x?fiscalyear=2032": false,
		"/calendar?y=1&d=2032-12": true, "/calendar?d=2032-13": false,
		"/calendar/1400/01/01/": false, "/agenda/2050": false, "/agenda/2050/index": false,
		"/calendar/20501/07": false, "/calendar/2050-071": false, "/calendar/2050-": false,
		"/calendar/9999/12/31": true, "/1234-5/calendar": false,
	} {
		want := ""
		if trap {
			want = "calendar"
		}
		f(policy.TrapFilter{Year: 2026}, "http://h"+target, want)
	}
	f(policy.TrapFilter{}, "http://h/2026/11/", "")
	f(policy.LengthFilter(20), "http://h/90123456789", "")
	f(policy.LengthFilter(20), "http://h/901234567890", "length")
	f(policy.TrapFilter{}, "http://h/list?x=y&page=10001", "page_number")
	f(policy.TrapFilter{}, "http://h/?p=12345", "")
	f(policy.TrapFilter{}, "http://h/viewtopic.php?f=2&p=1234567", "")
	f(policy.TrapFilter{}, "http://h/list?start=900000", "")
	f(policy.TrapFilter{}, "http://h/list?start=1000001", "page_number")
	f(scope, "http://other.example.co.uk/", "")
	f(scope, "http://example.com/", "scope")
	f(scope, "http://other.co.uk/", "scope")
	f(policy.NewScopeFilter(policy.ScopeAny), "http://anything.example/", "")
	f(policy.URLFilters{suffix, scope}, "http://example.com/a.png", "suffix")
	urls := []string{"http://h/", "http://example.com/a.png", "http://h/a/a/a/a/a", "http://www.example.co.uk/?a&b"}
	chain := policy.DefaultFilters(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC))
	for _, filter := range []policy.URLFilter{suffix, policy.TrapFilter{}, scope, chain} {
		policytest.URLFilter(t, filter, urls)
	}
}

func TestLaws(t *testing.T) {
	policytest.Scorer(t, policy.VoteScorer{})
	policytest.Scorer(t, policy.OPICScorer{})
	policytest.Scorer(t, policy.OPICScorer{CountFiltered: true})
	policytest.Scorer(t, policy.DistinctOPICScorer{})
	policytest.Scorer(t, policy.BreadthScorer{})
	policytest.FetchSchedule(t, policy.FixedSchedule{})
	policytest.FetchSchedule(t, policy.AdaptiveSchedule{})
	policytest.FetchSchedule(t, policy.FreshnessSchedule{})
	policytest.FetchSchedule(t, policy.BoundedSchedule{
		FetchSchedule: policy.AdaptiveSchedule{}, Bounds: policy.Bounds{Min: 3600, Max: 86400},
	})
	policytest.FetchSchedule(t, policy.FreshnessSchedule{Price: 1e9})
	toRoot := policy.URLNormalizerFunc(func(u urlkey.URL) (urlkey.URL, error) { return u.Resolve("/") })
	policytest.URLNormalizer(t, policy.URLNormalizers{toRoot}, []string{"http://h/a?b", "https://h/"})
}

// TestVotesDoNotDependOnOrder: the property that the default scorer exists for.
func TestVotesDoNotDependOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := policy.VoteScorer{}
		var votes []float64
		for range rapid.IntRange(1, 200).Draw(t, "pages") {
			page := policy.Page{Links: rapid.IntRange(1, 2000).Draw(t, "links"), First: true}
			votes = append(votes, s.Distribute(page, policy.Link{Internal: rapid.Bool().Draw(t, "internal"), Times: 1}))
		}
		forward, backward := 1.0, 1.0
		for i := range votes {
			forward = s.Update(forward, votes[i])
			backward = s.Update(backward, votes[len(votes)-1-i])
		}
		half := 0.0
		for _, v := range votes[len(votes)/2:] {
			half += v
		}
		split := 1.0
		for _, v := range votes[:len(votes)/2] {
			split = s.Update(split, v)
		}
		if split = s.Update(split, half); forward != backward || forward != split {
			t.Fatalf("%v, backward %v, in two segments %v", forward, backward, split)
		}
		r := storage.Record{Status: storage.StatusUnfetched, Score: forward}
		var back storage.Record
		if err := storage.DecodeRecord(storage.AppendRecord(nil, &r), &back); err != nil || back.Score != forward {
			t.Fatalf("stored %v, read %v (%v)", forward, back.Score, err)
		}
	})
}

// TestAdaptive: the points that Nutch itself computed. Where Nutch limits the interval but not the time to the next
// fetch, that time is within the same bounds here.
func TestAdaptive(t *testing.T) {
	const now, day = 1_700_000_000_000, 86_400_000
	f := func(c policy.Change, daysAgo int64, interval uint32, next int64) {
		t.Helper()
		r := storage.Record{Interval: policy.DefaultInterval, ModifiedTime: now - daysAgo*day}
		policy.AdaptiveSchedule{}.Reschedule(&r, c, now)
		if delay := (r.FetchTime - now) / 1000; r.Interval != interval || delay < next-1 || delay > next+1 {
			t.Errorf("change %d, modified %d days ago: interval %d, next in %d s; want %d, %d",
				c, daysAgo, r.Interval, delay, interval, next)
		}
	}
	f(policy.ChangeNone, 10, 3_628_800, 3_369_600)
	f(policy.ChangeNone, 30, 3_628_800, 2_851_200)
	f(policy.ChangeNone, 100, 8_640_000, 6_048_000)
	f(policy.ChangeNone, 365, 31_536_000, 22_075_200)
	f(policy.ChangeNone, 1000, 31_536_000, 5_616_000)
	f(policy.ChangeModified, 10, 2_073_600, 2_073_600)
}

// TestFixed: no fetch time is further ahead than the maximum interval, and the record keeps its interval.
func TestFixed(t *testing.T) {
	const now, day = 1_700_000_000_000, 86_400
	for interval, next := range map[uint32]int64{
		0: 30 * day, 10 * day: 10 * day, 90 * day: 90 * day, 100 * day: 90 * day,
	} {
		r := storage.Record{Interval: interval}
		policy.FixedSchedule{}.Reschedule(&r, policy.ChangeModified, now)
		if r.FetchTime != now+next*1000 || interval != 0 && r.Interval != interval || r.ModifiedTime != now {
			t.Errorf("interval %d: next in %d s, want %d, %+v", interval, (r.FetchTime-now)/1000, next, r)
		}
	}
}

// TestDefaults: what a caller appends to one copy of the defaults is not in the next.
func TestDefaults(t *testing.T) {
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	mine := policy.URLFilterFunc(func(urlkey.URL) string { return "mine" })
	filters := append(policy.DefaultFilters(now), mine)
	for url, want := range map[string]string{
		"http://h/x.png": "suffix", "http://h/calendar/2032/1": "calendar", "http://h/": "mine",
	} {
		if got := filters.Accept(parse(t, url)); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
	filters[0] = mine
	if got := policy.DefaultFilters(now).Accept(parse(t, "http://h/")); got != "" {
		t.Errorf("the defaults refuse: %q", got)
	}
	policy.DefaultSuffixes()[0], policy.DefaultRefuseTypes()[0] = "", ""
	if policy.DefaultSuffixes()[0] == "" || policy.DefaultRefuseTypes()[0] != "image/*" {
		t.Error("a caller changed the defaults")
	}
	pdf := policy.NewSuffixFilter(append(policy.DefaultSuffixes(), ".PDF")...)
	if pdf.Accept(parse(t, "http://h/x.pdf")) != "suffix" || pdf.Accept(parse(t, "http://h/x.zip")) != "suffix" {
		t.Error("an ending was not added to the defaults")
	}
	u, err := policy.DefaultNormalizers().Normalize(parse(t, "http://h/x?utm_source=y"))
	if err != nil || u.String() != "http://h/x" {
		t.Errorf("%s, %v", u, err)
	}
}

// TestNarrowScopes: the seeds alone, and all in their folders.
func TestNarrowScopes(t *testing.T) {
	seed := parse(t, "http://a.example/docs/v2/index.html?x=/y/")
	for scope, in := range map[policy.Scope][]string{
		policy.ScopePage: {"http://a.example/docs/v2/index.html?x=/y/"},
		policy.ScopePrefix: {
			"http://a.example/docs/v2/", "http://a.example/docs/v2/b/c?d", "http://a.example/docs/v2/index.html",
		},
	} {
		f := policy.NewScopeFilter(scope)
		f.AdmitURL(seed)
		if !f.NeedsURLs() || !f.Has(seed.HostKey()) {
			t.Errorf("%s: the seed's host is not in it", scope)
		}
		for _, u := range in {
			if reason := f.Accept(parse(t, u)); reason != "" {
				t.Errorf("%s refuses %s: %s", scope, u, reason)
			}
		}
		for _, u := range []string{
			"http://a.example/docs/v22/", "http://a.example/docs/", "http://a.example/",
			"https://a.example/docs/v2/", "http://b.example/docs/v2/",
		} {
			if f.Accept(parse(t, u)) != "scope" {
				t.Errorf("%s accepts %s", scope, u)
			}
		}
	}
}
