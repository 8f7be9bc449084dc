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

// TestMainContent: a page is found by all of its words. Its snippet comes from its main content if the words are there.
func TestMainContent(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		menu := strings.Repeat(`<li class="menu-item"><a href="/">Marzipan</a></li>`, 12)
		fmt.Fprintf(w, `<title>Low tide</title><body><nav class="navbar"><ul class="menu">%s</ul></nav>`, menu)
		fmt.Fprint(w, `<main><article class="post"><h1>Crossing at low tide</h1>`)
		for range 8 {
			fmt.Fprint(w, "<p>The ferry leaves the northern harbour at dawn, and nobody who has seen the tide there "+
				"would take it any later. Lanterns are lit on the quay.</p>")
		}
		fmt.Fprintf(w, `</article></main><footer class="site-footer"><ul class="footer-menu">%s</ul></footer>`, menu)
	}))
	defer s.Close()
	e := open(t, engine.Options{Dir: t.TempDir(), Memory: 64 << 20, Delay: -1, AllowPrivate: true})
	defer mustClose(t, e)
	if _, err := e.Crawl(context.Background(), crawlFrom(s.URL+"/")); err != nil {
		t.Fatal(err)
	}
	for query, shown := range map[string]string{
		"lanterns quay": "Lanterns", "marzipan": "Marzipan", "low tide ferry": "ferry",
	} {
		found, err := e.Search(context.Background(), query, engine.SearchOptions{})
		if err != nil || len(found.Hits) != 1 {
			t.Fatalf("%q: %d hits, %v", query, len(found.Hits), err)
		}
		s := found.Hits[0].Snippet
		if !strings.Contains(s, shown) || strings.Contains(s, "Marzipan") != (query == "marzipan") {
			t.Errorf("%q: snippet %q", query, s)
		}
	}
}
