// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
)

// trapSite has 250 pages, each also below five other folders with the same text, and an endless calendar without
// entries.
func trapSite(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	month, _ := strconv.Atoi(r.URL.Query().Get("month"))
	name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	switch {
	case r.URL.Path == "/robots.txt":
		http.NotFound(w, r)
	case r.URL.Path == "/":
		for i := range 250 {
			fmt.Fprintf(w, `<p><a href="/man/en/%d.html">English</a> <a href="/man/fr/%[1]d.html">French</a>
				<a href="/man/de/%[1]d.html">German</a> <a href="/man/da/%[1]d.html">Danish</a>
				<a href="/man/ko/%[1]d.html">Korean</a> <a href="/man/tr/%[1]d.html">Turkish</a>`, i)
		}
		fmt.Fprint(w, `<a href="/tools/calendar?month=1">Calendar</a>`)
	case strings.HasPrefix(r.URL.Path, "/tools/"):
		fmt.Fprintf(w, `<p>There is nothing to be seen in this month, nor is there likely to be anything in any other.
			<a href="/tools/calendar?month=%d">next</a> <a href="/tools/calendar?month=%d">after</a>
			<a href="/tools/calendar?month=%d">later</a>`, 2*month, 2*month+1, month+1)
	default:
		fmt.Fprintf(w, "<title>%s</title><p>This is page %[1]s of the manual, of which only the English edition "+
			"was ever written by anybody.", name)
	}
}

// TestTrapWatch: an endless calendar is closed, the rest of the site is not, and the next crawl remembers.
func TestTrapWatch(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(trapSite))
	defer s.Close()
	var warnings []string
	o := engine.Options{
		Dir: t.TempDir(), Memory: 64 << 20, Delay: -1, AllowPrivate: true, Concurrency: 4,
		Events: engine.EventListener{Warning: func(err error) { warnings = append(warnings, err.Error()) }},
	}
	crawl := func() engine.CrawlReport {
		e := open(t, o)
		defer mustClose(t, e)
		c := engine.CrawlOptions{Inject: seeds(s.URL + "/"), Limits: engine.Limits{MaxPages: 20_000}}
		r, err := e.Crawl(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		check, err := e.Inspect().Check(s.URL+"/tools/calendar?month=77777", policy.NormalizeInject)
		if err != nil || check.Accepted || check.Reason != "duplicates" ||
			!strings.Contains(check.Rule, "/tools/calendar?") {
			t.Errorf("the calendar: %+v, %v", check, err)
		}
		for _, path := range []string{"/man/fr/3.html", "/man/new/", "/tools/other"} {
			if check, err := e.Inspect().Check(s.URL+path, policy.NormalizeInject); err != nil || !check.Accepted {
				t.Errorf("%s: %+v, %v", path, check, err)
			}
		}
		return r
	}
	if r := crawl(); r.Stopped != "done" || r.Fetched < 1501+200 || r.Fetched > 10_000 {
		t.Errorf("stopped by %s after %d pages", r.Stopped, r.Fetched)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "/tools/calendar?… is closed") {
		t.Errorf("warnings: %q", warnings)
	}
	if r := crawl(); r.Fetched != 0 {
		t.Errorf("%d more pages", r.Fetched)
	}
}

// TestTrapWatchInBatch: the phases one at a time close the calendar too.
func TestTrapWatchInBatch(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(trapSite))
	defer s.Close()
	e := open(t, engine.Options{Dir: t.TempDir(), Memory: 64 << 20, Delay: -1, AllowPrivate: true, Concurrency: 4})
	defer mustClose(t, e)
	ctx := context.Background()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := e.Inject(ctx, seeds(s.URL+"/"))
	check(err)
	for range 20 {
		g, err := e.Generate(ctx, engine.GenerateOptions{Top: 1000})
		if errors.Is(err, engine.ErrNothingDue) {
			break
		}
		check(err)
		_, err = e.Fetch(ctx, engine.FetchOptions{Segment: g.Segment})
		check(err)
		_, err = e.UpdateDB(ctx, g.Segment)
		check(err)
		_, err = e.InvertLinks(ctx, g.Segment)
		check(err)
		_, err = e.Dedup(ctx, engine.DedupOptions{})
		check(err)
		_, err = e.Index(ctx, engine.IndexOptions{Segments: []uint32{g.Segment}})
		check(err)
	}
	c, err := e.Inspect().Check(s.URL+"/tools/calendar?month=77777", policy.NormalizeInject)
	check(err)
	if c.Accepted || c.Reason != "duplicates" {
		t.Errorf("the calendar: %+v", c)
	}
	if _, err := e.Generate(ctx, engine.GenerateOptions{Top: 1000}); !errors.Is(err, engine.ErrNothingDue) {
		t.Errorf("the calendar goes on: %v", err)
	}
}
