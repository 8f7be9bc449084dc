// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
)

// TestShortCrawls: crawls so short that their pages are indexed at their end leave no index segment each for ever: the
// next crawl merges what they left.
func TestShortCrawls(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>Page %s</title><p>A net of page %s.", r.URL.Path, r.URL.Path)
	}))
	defer s.Close()
	o := siteOptions(t)
	o.Dir, o.NoIndex = filepath.Join(t.TempDir(), "data"), false
	e := open(t, o)
	defer mustClose(t, e)
	const crawls = 24
	for n := range crawls {
		if r, err := e.Crawl(t.Context(), crawlFrom(fmt.Sprintf("%s/%d", s.URL, n))); err != nil || r.Fetched != 1 {
			t.Fatalf("crawl %d: %+v, %v", n, r, err)
		}
	}
	stats, err := e.Inspect().IndexStats()
	if err != nil || stats.Documents != crawls || stats.Segments >= 12 {
		t.Errorf("%+v after %d crawls, want fewer than 12 segments: %v", stats, crawls, err)
	}
}
