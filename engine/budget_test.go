// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
)

// bigSite has 100 pages of 10 KB, all linked from each.
func bigSite(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html")
	for i := range 100 {
		fmt.Fprintf(w, `<a href="/%d">%d</a> `, i, i)
	}
	fmt.Fprintf(w, "<p>This is %s. %s", r.URL.Path, strings.Repeat("More. ", 1500))
}

// siteOptions are those of a crawl of one loopback site, without an index.
func siteOptions(t testing.TB) engine.Options {
	return engine.Options{
		Dir: t.TempDir(), Memory: 64 << 20, Delay: -1, AllowPrivate: true, Concurrency: 4, NoIndex: true,
	}
}

// crawlSite crawls what is left of a site.
func crawlSite(
	t testing.TB, o engine.Options, root string, limits engine.Limits,
) (r engine.CrawlReport, check engine.URLCheck) {
	t.Helper()
	e := open(t, o)
	defer mustClose(t, e)
	r, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: seeds(root + "/"), Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	if check, err = e.Inspect().Check(root+"/99", policy.NormalizeInject); err != nil {
		t.Fatal(err)
	}
	return r, check
}

// TestByteBudgets: a host and a domain get no more than their bytes, except for fetches under way. Check says why, and
// a crawl with a larger budget goes on.
func TestByteBudgets(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(bigSite))
	defer s.Close()
	for _, c := range []struct {
		flag string
		set  func(*engine.Options, int64)
	}{
		{"host-bytes", func(o *engine.Options, n int64) { o.HostBytes = n }},
		{"domain-bytes", func(o *engine.Options, n int64) { o.DomainBytes = n }},
	} {
		o := siteOptions(t)
		c.set(&o, 200_000)
		r, check := crawlSite(t, o, s.URL, engine.Limits{})
		if r.Stopped != "done" || r.Bytes < 200_000 || r.Bytes > 600_000 || r.Fetched == 101 {
			t.Errorf("%s: stopped by %s after %d bytes", c.flag, r.Stopped, r.Bytes)
		}
		waits := strings.Join(check.Known.Waits, "\n")
		if !strings.Contains(waits, c.flag) || !strings.Contains(waits, "of 200000") {
			t.Errorf("%s: it waits for %q", c.flag, waits)
		}
		if again, _ := crawlSite(t, o, s.URL, engine.Limits{}); again.Fetched != 0 {
			t.Errorf("%s: %d more pages of the same budget", c.flag, again.Fetched)
		}
		c.set(&o, 0)
		if rest, _ := crawlSite(t, o, s.URL, engine.Limits{}); r.Fetched+rest.Fetched != 101 {
			t.Errorf("%s: %d pages and then %d", c.flag, r.Fetched, rest.Fetched)
		}
	}
}

// TestTimeBudgets: budgets of the time that fetchers spend bind in the same way.
func TestTimeBudgets(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/robots.txt" {
			time.Sleep(20 * time.Millisecond)
		}
		bigSite(w, r)
	}))
	defer s.Close()
	for flag, set := range map[string]func(*engine.Options){
		"host-time":   func(o *engine.Options) { o.HostTime = 500 * time.Millisecond },
		"domain-time": func(o *engine.Options) { o.DomainTime = 500 * time.Millisecond },
	} {
		o := siteOptions(t)
		set(&o)
		r, check := crawlSite(t, o, s.URL, engine.Limits{})
		waits := strings.Join(check.Known.Waits, "\n")
		if r.Stopped != "done" || r.Fetched == 0 || r.Fetched == 101 || !strings.Contains(waits, flag) {
			t.Errorf("%s: stopped by %s after %d pages, waits for %q", flag, r.Stopped, r.Fetched, check.Known.Waits)
		}
	}
}

// TestByteBudgetOfInterruptedFetch: the fetch after one that was interrupted does not get the budget anew.
func TestByteBudgetOfInterruptedFetch(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var requests atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) == 5 { // after robots.txt and three pages
			cancel()
			<-r.Context().Done()
			return
		}
		bigSite(w, r)
	}))
	defer s.Close()
	o := siteOptions(t)
	o.Concurrency, o.HostBytes = 1, 50_000
	e := open(t, o)
	defer mustClose(t, e)
	injectPages(t, e, s.URL, 20)
	g, err := e.Generate(context.Background(), engine.GenerateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	first, err := e.Fetch(ctx, engine.FetchOptions{Segment: g.Segment})
	if err != nil || first.Fetched != 3 {
		t.Fatalf("%s, %v", first, err)
	}
	second, err := e.Fetch(context.Background(), engine.FetchOptions{Segment: g.Segment})
	if err != nil || second.Fetched != 2 {
		t.Errorf("3 pages of about 11 KB, then %d of a budget of 50 KB, %v", second.Fetched, err)
	}
}

// injectPages injects pages of a site.
func injectPages(t testing.TB, e *engine.Engine, root string, n int) {
	t.Helper()
	var urls []string
	for i := range n {
		urls = append(urls, fmt.Sprintf("%s/%d", root, i))
	}
	if _, err := e.Inject(context.Background(), engine.InjectOptions{URLs: urls}); err != nil {
		t.Fatal(err)
	}
}

// TestBudgetsOfSegmentsNotUpdated: what fetches have cost whose segments updatedb has not seen counts for budgets,
// whether these segments are sealed or wait for parse. Generate chooses no more than is left.
func TestBudgetsOfSegmentsNotUpdated(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(bigSite))
	defer s.Close()
	for name, c := range map[string]struct {
		set  func(*engine.Options)
		want uint64 // pages
	}{
		"host-pages":   {func(o *engine.Options) { o.HostPages = 5 }, 5},
		"domain-pages": {func(o *engine.Options) { o.DomainPages = 5 }, 5},
		"host-bytes":   {func(o *engine.Options) { o.HostBytes = 25_000 }, 3},
		"domain-bytes": {func(o *engine.Options) { o.DomainBytes = 25_000 }, 3},
		"parse later":  {func(o *engine.Options) { o.HostBytes, o.ParseLater = 25_000, true }, 3},
	} {
		t.Run(name, func(t *testing.T) {
			o := siteOptions(t)
			o.Concurrency = 1
			c.set(&o)
			e := open(t, o)
			defer mustClose(t, e)
			injectPages(t, e, s.URL, 20)
			var fetched uint64
			for range 3 {
				g, err := e.Generate(context.Background(), engine.GenerateOptions{Top: 3})
				if errors.Is(err, engine.ErrNothingDue) && strings.Contains(err.Error(), "updatedb") {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				r, err := e.Fetch(context.Background(), engine.FetchOptions{Segment: g.Segment})
				if err != nil {
					t.Fatal(err)
				}
				fetched += r.Fetched
			}
			if fetched != c.want {
				t.Errorf("%d pages were fetched, want %d", fetched, c.want)
			}
		})
	}
}

// TestCrawlLimits: a crawl ends at its limits, and the next one goes on.
func TestCrawlLimits(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(bigSite))
	defer s.Close()
	for stopped, limits := range map[engine.StopReason]engine.Limits{
		"max-bytes": {MaxBytes: 100_000},
		"max-time":  {MaxTime: 1},
		"max-pages": {MaxPages: 7, MaxBytes: 1 << 40, MaxTime: time.Hour},
	} {
		o := siteOptions(t)
		r, _ := crawlSite(t, o, s.URL, limits)
		if r.Stopped != stopped || r.Fetched == 101 {
			t.Errorf("%s: stopped by %s after %d pages", stopped, r.Stopped, r.Fetched)
		}
		if rest, _ := crawlSite(t, o, s.URL, engine.Limits{}); rest.Stopped != "done" || r.Fetched+rest.Fetched != 101 {
			t.Errorf("%s: %d pages, then %d", stopped, r.Fetched, rest.Fetched)
		}
	}
	e := open(t, siteOptions(t))
	defer mustClose(t, e)
	_, err := e.Crawl(context.Background(), engine.CrawlOptions{Limits: engine.Limits{MaxBytes: -1}})
	if err == nil || !strings.Contains(err.Error(), "MaxBytes -1") {
		t.Errorf("a negative limit: %v", err)
	}
}
