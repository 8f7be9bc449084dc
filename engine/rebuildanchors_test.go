// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/seine-crawler/seine/engine"
)

// TestRebuildDropsAnchors: the index of a rebuilt store is that of the crawl, without the texts of links that their
// pages dropped before the crawl ended.
func TestRebuildDropsAnchors(t *testing.T) {
	var second atomic.Bool
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch {
		case r.URL.Path == "/robots.txt":
			http.NotFound(w, r)
		case r.URL.Path == "/to":
			fmt.Fprint(w, "<title>target</title><p>net")
		case r.URL.Path != "/":
			fmt.Fprint(w, "<title>page</title><p>mesh <a href=/to>harbour</a>")
		case second.Load():
			fmt.Fprint(w, "<title>front</title><p>mesh <a href=/page>page</a>")
		default:
			fmt.Fprint(w, "<title>front</title><p>mesh <a href=/page>page</a> <a href=/to>lighthouse</a>")
		}
	}))
	defer site.Close()
	o := engine.Options{Dir: t.TempDir(), Delay: -1, AllowPrivate: true, Memory: 64 << 20}
	e := open(t, o)
	for range 2 {
		if _, err := e.Crawl(ctx, crawlFrom(site.URL+"/")); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Recrawl(ctx, site.URL+"/"); err != nil {
			t.Fatal(err)
		}
		second.Store(true)
	}
	finds := func(when, query string, want int) {
		t.Helper()
		r, err := e.Search(ctx, query, engine.SearchOptions{Deadline: patient, Strict: true})
		if err != nil || int(r.Total) != want {
			t.Errorf("%s: %d found for %s, want %d: %v", when, r.Total, query, want, err)
		}
	}
	finds("after the crawl", "anchor:lighthouse", 0)
	finds("after the crawl", "anchor:harbour", 1)
	mustClose(t, e)
	if err := os.RemoveAll(filepath.Join(o.Dir, "store")); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Rebuild(ctx, o); err != nil {
		t.Fatal(err)
	}
	e = open(t, o)
	defer mustClose(t, e)
	finds("rebuilt", "anchor:lighthouse", 0)
	finds("rebuilt", "anchor:harbour", 1)
	verify(t, e)
}
