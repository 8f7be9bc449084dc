// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/seine-crawler/seine/engine"
)

// TestSnippetsAllowed: search shows no more of a page than the page allows.
func TestSnippetsAllowed(t *testing.T) {
	pages := map[string]struct{ tag, body, want string }{
		"/all": {
			body: "<p>The lighthouse is white.<p>Its keeper is old.",
			want: "The lighthouse is white. Its keeper is old.",
		},
		"/meta": {body: "<meta name=robots content=nosnippet><p>The lighthouse is red."},
		"/head": {tag: "nosnippet", body: "<p>The lighthouse is blue."},
		"/short": {
			body: "<meta name=robots content=max-snippet:14><p>The lighthouse is green.",
			want: "The lighthouse",
		},
		"/part": {
			body: "<p>The lighthouse is <span data-nosnippet>secretly <i>very</i></span> tall.",
			want: "The lighthouse is tall.",
		},
		"/rest": {body: "<div data-nosnippet><p>The lighthouse is none.<p>Nor is it one.</div>"},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path == "/" {
			for path := range pages {
				_, _ = w.Write([]byte("<a href=" + path + ">x</a>"))
			}
			return
		}
		p, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if p.tag != "" {
			w.Header().Set("X-Robots-Tag", p.tag)
		}
		_, _ = w.Write([]byte("<title>" + r.URL.Path + "</title>" + p.body))
	}))
	defer server.Close()
	e := open(t, engine.Options{Dir: t.TempDir(), Memory: 64 << 20, Delay: -1, AllowPrivate: true})
	defer mustClose(t, e)
	if _, err := e.Inject(context.Background(), seeds(server.URL)); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Crawl(context.Background(), engine.CrawlOptions{}); err != nil {
		t.Fatal(err)
	}
	found, err := e.Search(context.Background(), "lighthouse", engine.SearchOptions{Deadline: patient})
	if err != nil || found.Total != len(pages) {
		t.Fatalf("%d pages, want %d: %v", found.Total, len(pages), err)
	}
	for _, h := range found.Hits {
		if want := pages[h.Title].want; h.Snippet != want {
			t.Errorf("%s: %q, want %q", h.Title, h.Snippet, want)
		}
	}
}
