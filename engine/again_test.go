// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestTroublesOfOneCrawl: a crawl does not name what only an earlier one of the same process met.
func TestTroublesOfOneCrawl(t *testing.T) {
	s := chain(t, 1)
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
			c.Close()
		}
	}))
	defer broken.Close()
	host := strings.TrimPrefix(broken.URL, "http://")
	e := open(t, siteOptions(t))
	defer mustClose(t, e)
	r, err := e.Crawl(t.Context(), crawlFrom(broken.URL+"/"))
	if err != nil || r.Failed != 1 || !strings.Contains(r.Cause.Text, host) {
		t.Fatalf("%s, %v", r, err)
	}
	r, err = e.Crawl(t.Context(), crawlFrom(s.URL+"/0"))
	if err != nil || r.Fetched != 2 || strings.Contains(r.Cause.Text, host) {
		t.Errorf("%s, %v", r, err)
	}
}
