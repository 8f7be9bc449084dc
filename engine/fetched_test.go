// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/index"
)

// TestFetched: pages are found by when the text in the index was fetched, and ordered by it. A 304, and a fetch that
// finds the same, change no document, and so not its time; an index that is made anew takes the newest copies. What is
// exported has the times that hits have.
func TestFetched(t *testing.T) {
	var round atomic.Int32
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/":
			fmt.Fprintf(w, "<title>front</title><p>net %d <a href=/kept>a</a> <a href=/equal>b</a>", round.Load())
		case "/kept":
			w.Header().Set("ETag", `"1"`)
			if r.Header.Get("If-None-Match") == `"1"` {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			fmt.Fprint(w, "<title>kept</title><p>net that its server knows to be the same")
		case "/equal":
			fmt.Fprint(w, "<title>equal</title><p>net that is sent again")
		default:
			http.NotFound(w, r)
		}
	}))
	defer site.Close()
	start := time.Now()
	first := time.Date(2031, 5, 10, 12, 0, 0, 0, time.UTC)
	o := engine.Options{Dir: t.TempDir(), Delay: -1, AllowPrivate: true, Memory: 64 << 20}
	o.Now = func() time.Time { return first.AddDate(0, 0, 40*int(round.Load())).Add(time.Since(start)) }
	e := open(t, o)
	defer func() { mustClose(t, e) }()
	// finds compares the months and titles of hits, which must come with the latest fetch first, and their times with
	// those of the documents.
	finds := func(query string, want ...string) {
		t.Helper()
		times := map[string]time.Time{}
		if err := e.Inspect().Documents(ctx, func(c *policy.IndexChange) error {
			times[c.ID] = c.Document.FetchTime
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		r, err := e.Search(ctx, query, engine.SearchOptions{Deadline: patient, Order: index.OrderFetched, Strict: true})
		var got []string
		for i, h := range r.Hits {
			if i > 0 && h.Fetched.After(r.Hits[i-1].Fetched) {
				t.Errorf("%s: %s comes after %s", query, h.Fetched, r.Hits[i-1].Fetched)
			}
			if !times[h.URL].Equal(h.Fetched) {
				t.Errorf("%s: %s was fetched at %s, the document says %s", query, h.URL, h.Fetched, times[h.URL])
			}
			got = append(got, h.Fetched.Format("2006-01 ")+h.Title)
		}
		slices.Sort(got)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q: %v", query, got, want, err)
		}
	}
	if _, err := e.Crawl(ctx, crawlFrom(site.URL+"/")); err != nil {
		t.Fatal(err)
	}
	finds("fetched:2031-05-10", "2031-05 equal", "2031-05 front", "2031-05 kept")
	finds("net fetched:>2031-05-11")

	round.Store(1)
	if _, err := e.Recrawl(ctx, site.URL+"/*"); err != nil {
		t.Fatal(err)
	}
	if r, err := e.Crawl(ctx, engine.CrawlOptions{}); err != nil || r.Fetched != 2 || r.NotModified != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	finds("net", "2031-05 equal", "2031-05 kept", "2031-06 front")
	finds("net fetched:2031-06", "2031-06 front")
	finds("net -fetched:>=2031-06", "2031-05 equal", "2031-05 kept")

	mustClose(t, e)
	o.RebuildIndex = true
	e = open(t, o)
	if _, err := e.Index(ctx, engine.IndexOptions{Refresh: true}); err != nil {
		t.Fatal(err)
	}
	finds("net fetched:2031-05", "2031-05 kept")
	finds("net fetched:>=2031-06", "2031-06 equal", "2031-06 front")
}
