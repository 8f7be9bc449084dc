// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
)

// TestPagesAgainBeyondBudget: once the pages of a host or domain are used up, those that were fetched are fetched again
// when they are due, by schedule or by Recrawl, in a crawl and in a loop of phases; new ones never are. Check names the
// budget for new ones only.
func TestPagesAgainBeyondBudget(t *testing.T) {
	var mu sync.Mutex
	requests := map[string]int{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		requests[r.URL.Path]++
		mu.Unlock()
		bigSite(w, r)
	}))
	defer s.Close()
	for name, set := range map[string]func(*engine.Options){
		"host-pages":             func(o *engine.Options) { o.HostPages = 3 },
		"domain-pages":           func(o *engine.Options) { o.DomainPages = 3 },
		"max-pages of a section": func(o *engine.Options) { o.HostPolicy = threePages{} },
		"both":                   func(o *engine.Options) { o.HostPages, o.DomainPages = 3, 4 },
	} {
		t.Run(name, func(t *testing.T) {
			clear(requests)
			var days atomic.Int32
			start, first := time.Now(), time.Date(2031, 5, 10, 12, 0, 0, 0, time.UTC)
			o := siteOptions(t)
			o.Now = func() time.Time { return first.AddDate(0, 0, int(days.Load())).Add(time.Since(start)) }
			set(&o)
			e := open(t, o)
			defer mustClose(t, e)
			crawl := func(inject engine.CrawlOptions) {
				t.Helper()
				if r, err := e.Crawl(t.Context(), inject); err != nil || r.Fetched != 3 {
					t.Fatalf("%s, %v", r, err)
				}
			}
			crawl(crawlFrom(s.URL + "/"))
			days.Add(40)
			crawl(engine.CrawlOptions{})
			if _, err := e.Recrawl(t.Context(), s.URL+"/*"); err != nil {
				t.Fatal(err)
			}
			crawl(engine.CrawlOptions{})
			days.Add(40)
			g, err := e.Generate(t.Context(), engine.GenerateOptions{})
			if err != nil || g.Selected != 3 {
				t.Fatalf("%+v, %v", g, err)
			}
			if r, err := e.Fetch(t.Context(), engine.FetchOptions{Segment: g.Segment}); err != nil || r.Fetched != 3 {
				t.Fatalf("%s, %v", r, err)
			}
			if _, err := e.UpdateDB(t.Context(), g.Segment); err != nil {
				t.Fatal(err)
			}
			if _, err := e.Generate(t.Context(), engine.GenerateOptions{}); !errors.Is(err, engine.ErrNothingDue) {
				t.Errorf("something is due: %v", err)
			}
			mu.Lock()
			delete(requests, "/robots.txt")
			times := slices.Collect(maps.Values(requests))
			mu.Unlock()
			if !slices.Equal(times, []int{4, 4, 4}) {
				t.Errorf("pages were requested %v times, want 3 pages 4 times each", times)
			}
			days.Add(40)
			for path, waits := range map[string]bool{"/": false, "/98": true} {
				c, err := e.Inspect().Check(s.URL+path, policy.NormalizeOutlink)
				if err != nil || (len(c.Known.Waits) > 0) != waits {
					t.Errorf("%s waits for %q, %v", path, c.Known.Waits, err)
				}
			}
			verify(t, e)
		})
	}
}
