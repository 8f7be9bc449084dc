// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

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
