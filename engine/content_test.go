// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine"
)

// TestMainContent: people find an article by what it says and not by the menus around it, and its snippet is of its
// own words.
func TestMainContent(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		menu := strings.Repeat(`<li class="menu-item"><a href="/">Marzipan</a></li>`, 12)
		fmt.Fprintf(w, `<title>Low tide</title><body><nav class="navbar"><ul class="menu">%s</ul></nav><main><article class="post"><h1>Crossing at low tide</h1>`, menu)
		for range 8 {
			fmt.Fprint(w, "<p>The ferry leaves the northern harbour at dawn, and nobody who has seen the tide there would take it any later. Lanterns are lit on the quay.</p>")
		}
		fmt.Fprintf(w, `</article></main><footer class="site-footer"><ul class="footer-menu">%s</ul></footer>`, menu)
	}))
	defer s.Close()
	e := open(t, engine.Options{Dir: t.TempDir(), Memory: 64 << 20, Delay: -1, AllowPrivate: true})
	defer mustClose(t, e)
	if _, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: engine.InjectOptions{URLs: []string{s.URL + "/"}}}); err != nil {
		t.Fatal(err)
	}
	for query, hits := range map[string]int{"lanterns quay": 1, "marzipan": 0} {
		found, err := e.Search(context.Background(), query, engine.SearchOptions{})
		if err != nil || len(found.Hits) != hits {
			t.Errorf("%q: %d hits, %v", query, len(found.Hits), err)
		}
		for _, h := range found.Hits {
			if !strings.Contains(h.Snippet, "Lanterns") || strings.Contains(h.Snippet, "Marzipan") {
				t.Errorf("snippet %q", h.Snippet)
			}
		}
	}
}
