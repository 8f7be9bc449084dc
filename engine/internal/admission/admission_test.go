// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage/urlkey"
)

func denied(t testing.TB, hosts ...string) *policy.HostsFilter {
	t.Helper()
	f, err := policy.DenyHosts(hosts...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// refusing refuses URLs that contain a word, for a reason of the same name, and explains nothing.
func refusing(word string) policy.URLFilter {
	return policy.URLFilterFunc(func(u urlkey.URL) string {
		if strings.Contains(u.String(), word) {
			return word
		}
		return ""
	})
}

// TestVerdict: each source of refusal has its reason, only some may end, and the order among them is fixed. A URL
// spells what refuses it.
func TestVerdict(t *testing.T) {
	w := newWorld(t)
	a := w.process(admission.Options{
		Filters:  policy.URLFilters{refusing("value"), denied(t, "bad.example")},
		Live:     []policy.LiveFilter{live("edited"), live("other")},
		MaxDepth: 3, MaxRedirects: 2, TrapPercent: 90,
	})
	w.seed(a, false, "http://a.example/", "http://bad.example/")
	c := a.NewChanges()
	c.Close(string(w.host("http://a.example/")) + "/trap/")
	c.Close(string(w.host("http://b.example/")) + "/trap/")
	w.apply(c, false)

	deep := admission.Facts{Depth: 4}
	chain := admission.Facts{Hops: 3}
	no := admission.Facts{Robots: admission.RobotsDenied}
	for _, v := range []struct {
		url    string
		facts  admission.Facts
		reason string
		later  bool
		rule   string
	}{
		{"http://a.example/", admission.Facts{}, "", false, "+all"},
		{"http://a.example/", admission.Facts{Depth: 3, Hops: 2, Robots: admission.RobotsAllowed}, "", false, "+all"},
		{"http://a.example/value", admission.Facts{}, "value", false, ""},
		{"http://bad.example/", admission.Facts{Seed: true}, "host_denied", false, "bad.example"},
		{"http://a.example/edited", admission.Facts{}, "listed", true, "-edited"},
		{"http://a.example/other", admission.Facts{}, "listed", true, "-other"},
		{"http://a.example/trap/1", admission.Facts{}, "duplicates", false, "closed: a.example/trap/"},
		{"http://b.example/", admission.Facts{}, "scope", true, ""},
		{"http://b.example/", admission.Facts{Seed: true}, "", false, "+all"},
		{"http://a.example/", deep, "depth", false, ""},
		{"http://a.example/", chain, "redirect_chain", false, ""},
		{"http://a.example/", no, "robots_denied", false, ""},

		// Each against the next in the order.
		{"http://a.example/value-edited", admission.Facts{}, "value", false, ""},
		{"http://a.example/trap/edited", admission.Facts{}, "listed", true, "-edited"},
		{"http://b.example/trap/1", admission.Facts{}, "duplicates", false, "closed: b.example/trap/"},
		{"http://a.example/trap/1", deep, "duplicates", false, "closed: a.example/trap/"},
		{"http://a.example/", admission.Facts{Depth: 4, Hops: 3, Robots: admission.RobotsDenied}, "depth", false, ""},
		{"http://a.example/", admission.Facts{Hops: 3, Robots: admission.RobotsDenied}, "redirect_chain", false, ""},

		// What is withheld must be admitted by all else.
		{"http://a.example/edited", deep, "depth", false, ""},
		{"http://b.example/", chain, "redirect_chain", false, ""},
		{"http://b.example/", no, "robots_denied", false, ""},
	} {
		got := a.Verdict(w.url(v.url), v.facts)
		if got != (admission.Verdict{Reason: v.reason, Later: v.later}) || got.OK() != (v.reason == "") {
			t.Errorf("%s with %+v: %+v, want %q, later %t", v.url, v.facts, got, v.reason, v.later)
		}
		if byKey := a.VerdictKey(w.url(v.url).Key(), v.facts); byKey != got {
			t.Errorf("%s by its key: %+v, not %+v", v.url, byKey, got)
		}
		explained := a.Explain(w.url(v.url), v.facts)
		if explained != (admission.Verdict{Reason: v.reason, Later: v.later, Rule: v.rule}) {
			t.Errorf("%s with %+v explained: %+v, want %q by %q", v.url, v.facts, explained, v.reason, v.rule)
		}
	}
	if v := a.VerdictKey("no key", admission.Facts{}); v.Reason != "malformed" || v.Later {
		t.Errorf("no key: %+v", v)
	}
	for url, reason := range map[string]string{
		"http://a.example/edited": "listed", "http://a.example/trap/1": "duplicates", "http://b.example/value": "",
	} {
		if v := a.Recheck(w.url(url)); v.Reason != reason {
			t.Errorf("%s again: %+v, want %q", url, v, reason)
		}
	}
}

// TestExplainPermits: the rule of the last live filter that has one is named, also where a later filter has none.
func TestExplainPermits(t *testing.T) {
	w := newWorld(t)
	second := live("z")
	second.silent = true
	a := w.process(admission.Options{Scope: policy.ScopeAny, Live: []policy.LiveFilter{live("y"), second}})
	if v := a.Explain(w.url("http://a.example/"), admission.Facts{}); v != (admission.Verdict{Rule: "+all"}) {
		t.Errorf("%+v", v)
	}
}

// TestScopes: what each scope admits around a seed, for all hosts and for those that a policy gives a scope of
// their own.
func TestScopes(t *testing.T) {
	seed := "http://www.a.example/dir/page.html"
	urls := []string{
		seed, "https://www.a.example/dir/page.html", "http://www.a.example/dir/other?q=1",
		"http://www.a.example/", "http://blog.a.example/", "http://www.a.example:8080/", "http://b.example/",
	}
	for s, want := range map[policy.Scope]string{
		policy.ScopePage:   "1000000",
		policy.ScopePrefix: "1010000",
		policy.ScopeHost:   "1111000",
		policy.ScopeDomain: "1111110",
		policy.ScopeAny:    "1111111",
	} {
		for _, reopened := range []bool{false, true} {
			for name, o := range map[string]admission.Options{
				"crawl": {Scope: s},
				"hosts": {Scope: policy.ScopePage, Hosts: scopes{"example": {Scope: scope(s)}}},
			} {
				w := newWorld(t)
				a := w.process(o)
				w.seed(a, false, seed)
				if reopened {
					a = w.process(o)
				}
				got := ""
				for _, u := range urls {
					if v := a.Verdict(w.url(u), admission.Facts{}); v.OK() {
						got += "1"
					} else {
						got += "0"
					}
				}
				if got != want {
					t.Errorf("scope %s of %s, reopened %t: %s, want %s", s, name, reopened, got, want)
				}
				if has := a.HasHost(w.host("http://b.example/")); has != (s == policy.ScopeAny) {
					t.Errorf("scope %s of %s has b.example: %t", s, name, has)
				}
				if !a.HasHost(w.host(seed)) {
					t.Errorf("scope %s of %s has not the seed's host", s, name)
				}
			}
		}
	}
}

// TestScopeOfOneHost: a host's scope holds for URLs of that host only.
func TestScopeOfOneHost(t *testing.T) {
	w := newWorld(t)
	a := w.process(admission.Options{Hosts: scopes{
		"open": {Scope: scope(policy.ScopeAny)},
		"docs": {Scope: scope(policy.ScopePrefix)},
		"odd":  {Scope: scope(policy.Scope(99))},
	}})
	w.seed(a, false, "http://a.example/x/", "http://docs.example/en/", "http://odd.example/")
	for url, ok := range map[string]bool{
		"http://a.example/":          true,
		"http://b.example/":          false,
		"http://open.example/any":    true,
		"http://docs.example/en/1":   true,
		"http://docs.example/fr/1":   false,
		"http://odd.example/1":       true, // a scope that does not exist is the crawl's
		"http://sub.odd.example/":    false,
		"http://sub.open.example/":   true,
		"http://other.a.example/x/1": false,
	} {
		if v := a.Verdict(w.url(url), admission.Facts{}); v.OK() != ok {
			t.Errorf("%s: %+v, want %t", url, v, ok)
		}
	}
}

// TestRefusesHost: denied hosts, of live lists and of values, are refused whatever the URL. Rules about URLs refuse
// no host.
func TestRefusesHost(t *testing.T) {
	w := newWorld(t)
	hosts := live("bad")
	hosts.host = true
	a := w.process(admission.Options{
		Live:    []policy.LiveFilter{live("a.example"), hosts},
		Filters: policy.URLFilters{refusing("a.example"), denied(t, "worse.example")},
	})
	for host, refused := range map[string]bool{"a.example": false, "bad.example": true, "www.worse.example": true} {
		if got := a.RefusesHost(w.host("http://" + host + "/")); got != refused {
			t.Errorf("%s: %t", host, got)
		}
	}
}

// TestRefresh: a change of a live filter takes effect at Refresh and makes everything pending; one that cannot be
// read is reported.
func TestRefresh(t *testing.T) {
	w := newWorld(t)
	l := live("x")
	a := w.process(admission.Options{Scope: policy.ScopeAny, Live: []policy.LiveFilter{l}})
	u := w.url("http://a.example/x")
	if a.Refresh() || a.Verdict(u, admission.Facts{}).OK() {
		t.Error("nothing changed, but the answer did")
	}
	w.pends(a)
	l.next = []string{"y"}
	if !a.Refresh() || !a.Verdict(u, admission.Facts{}).OK() {
		t.Error("the new list does not hold")
	}
	w.pends(a, "")
	l.err = errors.New("list: line 1: what is this?")
	if a.Refresh() || !slices.Equal(w.warns, []string{l.err.Error()}) {
		t.Errorf("warnings: %q", w.warns)
	}
}

// TestVerdictAllocations: a URL that is admitted costs no memory but what the scope needs to find its host (the key) or
// its domain.
func TestVerdictAllocations(t *testing.T) {
	w := newWorld(t)
	for name, v := range map[string]struct {
		o    admission.Options
		most float64
	}{
		"any":    {admission.Options{Scope: policy.ScopeAny, MaxDepth: 9, Live: []policy.LiveFilter{live("zzz")}}, 0},
		"host":   {admission.Options{Scope: policy.ScopeHost}, 1},
		"domain": {admission.Options{Scope: policy.ScopeDomain}, 4},
	} {
		v.o.TrapPercent, v.o.Filters = 90, policy.URLFilters{refusing("zzz")}
		a := w.process(v.o)
		w.seed(a, false, "http://www.a-rather-long-name-of-a-host.example.org/")
		c := a.NewChanges()
		c.Close(string(w.host("http://b.example/")) + "/")
		w.apply(c, false)
		u := w.url("http://www.a-rather-long-name-of-a-host.example.org/folder/page.html?q=1")
		if n := testing.AllocsPerRun(100, func() {
			if !a.Verdict(u, admission.Facts{Depth: 1}).OK() {
				t.Fatal("refused")
			}
		}); n > v.most {
			t.Errorf("scope %s: %v allocations", name, n)
		}
	}
}
