// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// storySite is a site with pages that change, stay, disappear, and say hostile things.
type storySite struct {
	*names
	round atomic.Int32
}

func newStorySite(t *testing.T) *storySite {
	s := &storySite{names: &names{hosts: fetch.Hosts{"a.test": nil, "b.test": nil}, asked: map[string]int{}}}
	s.serveBy(t, s)
	return s
}

func (s *storySite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	round := s.round.Load()
	w.Header().Set("Content-Type", "text/html")
	page := strings.Split(r.Host, ":")[0] + r.URL.Path
	switch page {
	case "a.test/robots.txt", "b.test/robots.txt":
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, "User-agent: *\nDisallow: /denied\n# \x1b[1m\n")
	case "a.test/":
		fmt.Fprint(w, s.spell(`<title>home</title><p>home <a href="/same">same
			thing</a> <a href="/latin">l</a> <a href="/private">p</a> <a href="/denied">d</a>
			<a href="/leaves">x</a> <a href="/hop">hop</a> <a href="/odd">`+"o\x1b[31mdd"+`</a>
			<a href="/twin/1">1</a> <a href="/twin/2">2</a>`))
	case "a.test/same":
		w.Header().Set("ETag", `"1"`)
		if r.Header.Get("If-None-Match") == `"1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprintf(w, "<title>same</title><p>it stays as it is")
	case "a.test/latin":
		w.Header().Set("Content-Type", "text/html; charset=ISO-8859-1")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		fmt.Fprintf(z, "<title>latin</title><p>caf\xe9 of round %d, with words", round)
		z.Close()
	case "a.test/private":
		fmt.Fprint(w, `<title>private</title><meta name=robots content="noindex, noarchive"><p>not for archives`)
	case "a.test/leaves":
		if round > 0 {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, "<title>leaves</title><p>here for one round")
	case "a.test/hop":
		http.Redirect(w, r, s.spell("HOST:b.test/landed"), http.StatusFound)
	case "a.test/odd":
		w.Header().Set("X-Odd", "caf\xe9 \x1b]0;title\a")
		fmt.Fprint(w, "<title>o\x1b[31mdd\nline</title><p>odd")
	case "a.test/twin/1", "a.test/twin/2":
		fmt.Fprint(w, "<title>twin</title><p>Both say this, word for word.")
	case "b.test/landed":
		fmt.Fprint(w, "<title>landed</title><p>where the redirect leads")
	default:
		http.NotFound(w, r)
	}
}

func (s *storySite) url(page string) string { return s.spell("HOST:" + page) }

// crawlTwice returns an engine after two rounds.
func (s *storySite) crawlTwice(t *testing.T) *engine.Engine {
	t.Helper()
	o := s.options(dataDir(t))
	o.Scope = policy.ScopeAny
	e := open(t, o)
	t.Cleanup(func() { mustClose(t, e) })
	for round := range 2 {
		s.round.Store(int32(round))
		if round > 0 {
			if _, err := e.Recrawl(ctx, s.url("a.test/*"), s.url("b.test/*")); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := e.Crawl(ctx, engine.CrawlOptions{Inject: s.seeds("a.test/")}); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

// captures lists those of a URL.
func captures(t *testing.T, e *engine.Engine, url string) (list []engine.CaptureView) {
	t.Helper()
	for c, err := range e.Inspect().Captures(ctx, url) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	return list
}

// TestStoredCopy: what was received at each fetch can be read again, decoded; a 304 leads to what it confirmed.
func TestStoredCopy(t *testing.T) {
	t.Parallel()
	s := newStorySite(t)
	e := s.crawlTwice(t)
	in := e.Inspect()
	copyOf := func(page string, at time.Time) engine.StoredCopy {
		t.Helper()
		c, err := in.StoredCopy(ctx, s.url(page), at)
		if err != nil {
			t.Fatal(err)
		}
		roundTrip(t, c)
		return c
	}

	list := captures(t, e, s.url("a.test/latin"))
	if len(list) != 2 || !list[0].Time.After(list[1].Time) || list[0].Digest == list[1].Digest ||
		list[0].HTTPStatus != 200 || list[0].MediaType != "text/html" || list[0].Length <= 0 || list[0].WARC == "" {
		t.Fatalf("captures %v", list)
	}
	for i, c := range list {
		for _, off := range []time.Duration{0, time.Millisecond / 2} {
			got := copyOf("a.test/latin", c.Time.Add(off))
			if want := fmt.Sprintf("café of round %d,", 1-i); got.Capture != c || !strings.Contains(got.Text(), want) ||
				got.Charset != "windows-1252" || got.Field("content-encoding") != "gzip" || got.Truncated != "" {
				t.Errorf("%v: %+v\n%q", c, got, got.Text())
			}
		}
	}
	if got := copyOf("a.test/latin", time.Time{}); got.Capture != list[0] {
		t.Errorf("the newest is %v", got.Capture)
	}
	if got := copyOf("a.test/latin", list[0].Time.Add(time.Hour)); got.Capture != list[0] {
		t.Errorf("an hour later: %v", got.Capture)
	}

	same := captures(t, e, s.url("a.test/same"))
	if len(same) != 2 || same[0].HTTPStatus != 304 || !same[0].RevisitOf.Equal(same[1].Time) ||
		!same[1].RevisitOf.IsZero() {
		t.Fatalf("captures %v", same)
	}
	got := copyOf("a.test/same", time.Time{})
	if got.Capture != same[0] || got.Content != same[1] || !strings.Contains(got.Text(), "it stays as it is") {
		t.Errorf("a revisit: %+v", got)
	}
	if got := copyOf("a.test/private", time.Time{}); !got.NoArchive || len(got.Body) == 0 {
		t.Errorf("%+v", got)
	}
	if got := copyOf("a.test/leaves", time.Time{}); got.Capture.HTTPStatus != 200 ||
		!strings.Contains(got.Text(), "one round") { // the newest with content
		t.Errorf("%+v", got)
	}
	if got := copyOf("a.test/hop", time.Time{}); got.Capture.HTTPStatus != 302 ||
		got.Field("Location") != s.url("b.test/landed") {
		t.Errorf("%+v", got)
	}
	odd := copyOf("a.test/odd", time.Time{})
	if text := odd.String(); strings.ContainsAny(text, "\x1b\a") ||
		!strings.Contains(text, "X-Odd: caf\ufffd  ]0;title") {
		t.Errorf("%q", text)
	}
	for _, page := range []string{"a.test/unknown", "a.test/denied"} {
		if _, err := in.StoredCopy(ctx, s.url(page), time.Time{}); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("%s: %v", page, err)
		}
		if list := captures(t, e, s.url(page)); len(list) > 0 {
			t.Errorf("%s: %v", page, list)
		}
	}
	for _, err := range in.Captures(ctx, "mailto:x") {
		if err == nil {
			t.Error("captures of what is no URL")
		}
	}
}

// TestURLStory: a story says where a URL was found, what became of each fetch, and why it is not indexed.
func TestURLStory(t *testing.T) {
	t.Parallel()
	s := newStorySite(t)
	e := s.crawlTwice(t)
	story := func(page string) engine.URLStory {
		t.Helper()
		v, err := e.Inspect().URLStory(ctx, s.url(page))
		if err != nil {
			t.Fatal(err)
		}
		roundTrip(t, v)
		if text := v.String(); strings.Contains(text, "\x1b") || !strings.HasPrefix(text, s.url(page)+"\n") {
			t.Errorf("%q", text)
		}
		return v
	}
	fetches := func(v engine.URLStory) string {
		var parts []string
		for _, f := range v.Fetches {
			parts = append(parts, fmt.Sprint(f.Status, " ", f.HTTPStatus, f.Failure))
		}
		return strings.Join(parts, ", ")
	}
	for _, c := range []struct {
		page, fetches, hops, not string
		inlinks                  int
	}{
		{"a.test/", "fetch_success 200, fetch_success 200", "", "", 0},
		{"a.test/same", "fetch_notmodified 304, fetch_success 200", "L", "", 1},
		{"a.test/leaves", "fetch_gone 404, fetch_success 200", "L", "it is gone: http 404", 1},
		{"a.test/denied", "fetch_gone 0robots_denied, fetch_gone 0robots_denied", "L", "it is gone: robots_denied", 1},
		{"a.test/hop", "fetch_redir_temp 302, fetch_redir_temp 302", "L",
			"it redirects: http 302 -> " + s.url("b.test/landed"), 1},
		{"b.test/landed", "fetch_success 200, fetch_success 200", "LR", "", 0},
		{"a.test/private", "fetch_success 200, fetch_success 200", "L", "the page forbids it (noindex)", 1},
		{"a.test/unknown", "", "", "crawldb does not know the URL", 0},
	} {
		v := story(c.page)
		if got := fetches(v); got != c.fetches || v.HopPath != c.hops || v.NotIndexed != c.not ||
			v.Indexed != (c.not == "") || v.InlinkCount != c.inlinks || len(v.Inlinks) != c.inlinks {
			t.Errorf("%s: fetches %s\n%+v", c.page, got, v)
		}
		if v.Record == nil != (c.page == "a.test/unknown") || v.Record != nil && !v.NextDue.Equal(v.Record.FetchTime) {
			t.Errorf("%s: %+v", c.page, v)
		}
		if want, err := e.Inspect().Check(s.url(c.page), ""); err != nil || !reflect.DeepEqual(v.Check, want) {
			t.Errorf("%s: check %+v, want %+v, %v", c.page, v.Check, want, err)
		}
	}
	same := story("a.test/same")
	if f := same.Fetches; !f[0].RevisitOf.Equal(f[1].Time) || f[1].Digest == "" || f[1].Bytes == 0 || f[1].WARC == "" {
		t.Errorf("%+v", f)
	}
	if same.Inlinks[0].From != s.url("a.test/") ||
		!strings.Contains(same.String(), "1 link from a seed (L), first on ") {
		t.Errorf("%s", same)
	}
	home := story("a.test/")
	if home.OutlinkCount != 9 || len(home.Outlinks) != 9 || home.Title != "home" ||
		!strings.Contains(home.String(), "found      as a seed\n") {
		t.Errorf("%s", home)
	}
	one, two := story("a.test/twin/1"), story("a.test/twin/2")
	if one.Indexed == two.Indexed || one.SameContent[0] != s.url("a.test/twin/2") {
		t.Errorf("%s\n%s", one, two)
	}
	if _, err := e.Inspect().URLStory(ctx, "mailto:x"); err == nil {
		t.Error("a story of what is no URL")
	}
}

// TestHostStory: a story of a host has its robots.txt, its failures, its delay and its budgets.
func TestHostStory(t *testing.T) {
	t.Parallel()
	s := newStorySite(t)
	e := s.crawlTwice(t)
	host := "a.test:" + s.port
	v, err := e.Inspect().HostStory(ctx, host)
	if err != nil {
		t.Fatal(err)
	}
	roundTrip(t, v)
	if v.Host != host || v.Domain != "a.test" || v.URLs != 10 || v.Failures["robots_denied"] != 1 ||
		v.Failures["http_404"] != 1 || len(v.Failures) != 2 || len(v.LastFailures) != 2 || v.FailuresPartial ||
		v.LastFailures[0].LastFetch.Before(v.LastFailures[1].LastFetch) || v.ByStatus[storage.StatusGone] != 2 {
		t.Errorf("%+v", v)
	}
	if len(v.RobotsRules) != 1 || v.RobotsRules[0].Scheme != "http" || v.DelayBy != "crawl" || v.Delay != 0 ||
		!strings.Contains(v.RobotsRules[0].Text, "Disallow: /denied") {
		t.Errorf("%+v", v)
	}
	if len(v.Budgets) != 0 { // the seed's domain has none
		t.Errorf("%v", v.Budgets)
	}
	if text := v.String(); strings.Contains(text, "\x1b") || !strings.Contains(text, "failed     http_404 1\n") {
		t.Errorf("%q", text)
	}
	if err := e.SetDelay(3 * time.Second); err != nil {
		t.Fatal(err)
	}
	if v, err = e.Inspect().HostStory(ctx, host); err != nil || v.Delay != engine.Duration(3*time.Second) {
		t.Errorf("delay %v, %v", v.Delay, err)
	}
	if _, err := e.Inspect().HostStory(ctx, "c.test"); !errors.Is(err, engine.ErrNotFound) {
		t.Error(err)
	}
	if _, err := e.Inspect().HostStory(ctx, "not a host"); err == nil {
		t.Error("a story of what is no host")
	}
}

// roundTrip fails unless a view is the same after it was JSON.
func roundTrip[T any](t *testing.T, v T) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var back T
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(v, back) {
		t.Errorf("JSON changes\n%+v\ninto\n%+v", v, back)
	}
}
