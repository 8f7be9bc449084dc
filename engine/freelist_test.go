// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
)

// TestFreeListLeft: what a crawl or a fetch that reaches a limit leaves of a list of URLs that crawldb does not know is
// due again, also where links make no new records. What is deleted meanwhile is not.
func TestFreeListLeft(t *testing.T) {
	for _, batch := range []bool{false, true} {
		t.Run(fmt.Sprintf("batch=%v", batch), func(t *testing.T) {
			ctx := context.Background()
			var mu sync.Mutex
			got := map[string]int{}
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				got[r.URL.Path]++
				fmt.Fprintf(w, "page %s", r.URL.Path)
			}))
			defer s.Close()
			o := siteOptions(t)
			o.Concurrency, o.NoAdditions = 1, true
			e := open(t, o)
			defer mustClose(t, e)
			if _, err := e.Inject(ctx, engine.InjectOptions{URLs: []string{s.URL + "/seed"}}); err != nil {
				t.Fatal(err)
			}
			urls := []string{s.URL + "/1", s.URL + "/2", s.URL + "/3", s.URL + "/4"}
			list, err := e.FreeGenerate(ctx, engine.FreeGenerateOptions{URLs: urls})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := e.Delete(ctx, s.URL+"/4"); err != nil {
				t.Fatal(err)
			}
			one := engine.Limits{MaxPages: 1}
			if batch {
				_, err = e.Fetch(ctx, engine.FetchOptions{Segment: list.Segment, Limits: one})
				if err == nil {
					_, err = e.UpdateDB(ctx, list.Segment)
				}
			} else {
				_, err = e.Crawl(ctx, engine.CrawlOptions{Limits: one})
			}
			if err != nil {
				t.Fatal(err)
			}
			due := 0
			for r, err := range e.Inspect().Records(ctx, engine.RecordFilter{}) {
				if err != nil {
					t.Fatal(err)
				}
				if r.Status == storage.StatusUnfetched {
					due++
				}
			}
			if due != 3 { // the seed, and two of the list
				t.Errorf("%d URLs are due, want 3: %v", due, got)
			}
			story, err := e.Inspect().URLStory(ctx, s.URL+"/1")
			if text := story.String(); err != nil || story.HopPath != "" ||
				!strings.Contains(text, "found      without a link, as in a list of freegen\n") {
				t.Errorf("hop path %q, %v\n%s", story.HopPath, err, text)
			}
			if _, err := e.Crawl(ctx, engine.CrawlOptions{}); err != nil {
				t.Fatal(err)
			}
			for path, want := range map[string]int{"/seed": 1, "/1": 1, "/2": 1, "/3": 1, "/4": 0} {
				if got[path] != want {
					t.Errorf("%s was requested %d times, want %d", path, got[path], want)
				}
			}
			verify(t, e)
		})
	}
}

// TestKnownListLeft: so is what is left of a list of pages that are known and not due, but for what was fetched since.
func TestKnownListLeft(t *testing.T) {
	for _, batch := range []bool{false, true} {
		t.Run(fmt.Sprintf("batch=%v", batch), func(t *testing.T) {
			s := chain(t, 5)
			var now time.Duration
			o := siteOptions(t)
			o.Concurrency = 1
			o.Now = func() time.Time { return time.UnixMilli(1_800_000_000_000).Add(now) }
			e := open(t, o)
			defer mustClose(t, e)
			if _, err := e.Crawl(t.Context(), crawlFrom(s.URL+"/0")); err != nil {
				t.Fatal(err)
			}
			now = time.Hour
			list := func(pages ...int) uint32 {
				var urls []string
				for _, n := range pages {
					urls = append(urls, fmt.Sprint(s.URL, "/", n))
				}
				r, err := e.FreeGenerate(t.Context(), engine.FreeGenerateOptions{URLs: urls})
				if err != nil {
					t.Fatal(err)
				}
				return r.Segment
			}
			some := list(0, 1, 2, 3)
			now += time.Minute
			other := list(3)
			run := func(segment uint32, l engine.Limits) {
				_, err := e.Fetch(t.Context(), engine.FetchOptions{Segment: segment, Limits: l})
				if err == nil {
					_, err = e.UpdateDB(t.Context(), segment)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			now += time.Minute
			run(other, engine.Limits{})
			now += time.Minute
			if one := (engine.Limits{MaxPages: 1}); batch {
				run(some, one)
			} else if _, err := e.Crawl(t.Context(), engine.CrawlOptions{Limits: one}); err != nil {
				t.Fatal(err)
			}
			var due []string
			for r, err := range e.Inspect().Records(t.Context(), engine.RecordFilter{}) {
				if err != nil {
					t.Fatal(err)
				}
				if !r.FetchTime.After(o.Now()) {
					due = append(due, strings.TrimPrefix(r.URL, s.URL))
				}
			}
			if len(due) != 2 || slices.Contains(due, "/3") || slices.Contains(due, "/4") {
				t.Errorf("due are %q, want two of /0, /1 and /2", due)
			}
			r, err := e.Crawl(t.Context(), engine.CrawlOptions{})
			if err != nil || r.Fetched+r.NotModified != 2 {
				t.Errorf("%v, %v; want 2 pages", r, err)
			}
			verify(t, e)
		})
	}
}
