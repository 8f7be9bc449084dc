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
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
)

// TestIndexFilterText: a filter may replace Text and leave Content alone, although Content has offsets in the old text.
func TestIndexFilterText(t *testing.T) {
	const sentence = "The keeper wrote every evening which ships had passed the lighthouse and which had not come. "
	story := strings.Repeat(sentence, 6)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<title>Log</title><nav><ul><li><a href=/>Home</a><li>Contact</ul></nav>")
		fmt.Fprintf(w, "<main><article><h1>Log</h1><p>%s</p><p>%[1]s</p></article></main>", story)
	}))
	defer server.Close()
	sawContent := false
	other := policy.IndexFilterFunc(func(d *index.Document, _ *storage.Record, _ *storage.ParseText) string {
		sawContent = sawContent || len(d.Content) > 0
		d.Text = "another word"
		return ""
	})
	e := open(t, engine.Options{
		Dir: t.TempDir(), Memory: 64 << 20, Delay: -1, AllowPrivate: true,
		IndexFilters: []policy.IndexFilter{other},
	})
	defer mustClose(t, e)
	if _, err := e.Crawl(context.Background(), crawlFrom(server.URL)); err != nil {
		t.Fatal(err)
	}
	for words, want := range map[string]int{"another word": 1, "keeper": 0} {
		hits, err := e.Search(context.Background(), words, engine.SearchOptions{Deadline: patient})
		if err != nil || hits.Total != want {
			t.Errorf("%q: %d found, %v", words, hits.Total, err)
		}
	}
	if !sawContent {
		t.Error("the filter did not see what is content")
	}
}

// TestIndexFilterTakesAway: of what a filter takes out of a document hits show nothing.
func TestIndexFilterTakesAway(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<title>Log of the keeper</title><p>The keeper wrote the secret word herring.")
	}))
	defer server.Close()
	for _, field := range []string{"title", "text"} {
		o := siteOptions(t)
		o.NoIndex = false
		o.IndexFilters = []policy.IndexFilter{policy.IndexFilterFunc(
			func(d *index.Document, _ *storage.Record, _ *storage.ParseText) string {
				if field == "text" {
					d.Text = ""
				} else {
					d.Title = ""
				}
				return ""
			},
		)}
		e := open(t, o)
		if _, err := e.Crawl(t.Context(), crawlFrom(server.URL)); err != nil {
			t.Fatal(err)
		}
		title, snippet := "Log of the keeper", ""
		if field == "title" {
			title, snippet = server.URL+"/", "The keeper wrote the secret word herring."
		}
		r, err := e.Search(t.Context(), "keeper", engine.SearchOptions{Deadline: patient})
		if err != nil || len(r.Hits) != 1 || r.Hits[0].Title != title || r.Hits[0].Snippet != snippet {
			t.Errorf("without %s: %+v, %v", field, r.Hits, err)
		}
		mustClose(t, e)
	}
}

// TestIndexFilterKey: which page a document is, and whether it is up to date, is nothing that a filter can change.
func TestIndexFilterKey(t *testing.T) {
	t.Parallel()
	s := chain(t, 5)
	o := siteOptions(t)
	o.NoIndex = false
	o.IndexFilters = []policy.IndexFilter{policy.IndexFilterFunc(
		func(d *index.Document, _ *storage.Record, _ *storage.ParseText) string {
			d.Key, d.Stamp = "test.other,)/ http", 0
			return ""
		},
	)}
	e := open(t, o)
	defer mustClose(t, e)
	ctx := context.Background()
	if _, err := e.Crawl(ctx, crawlFrom(s.URL+"/0")); err != nil {
		t.Fatal(err)
	}
	r, err := e.Index(ctx, engine.IndexOptions{Refresh: true, EveryDocument: true})
	if err != nil || r.Refreshed != 0 {
		t.Errorf("a refresh after which nothing changed: %v, %v", r, err)
	}
	found, err := e.Search(ctx, "chain", engine.SearchOptions{Deadline: patient})
	if err != nil || found.Total != 6 {
		t.Errorf("%d found, %v", found.Total, err)
	}
}

// TestRefusedDocuments: documents that the index refuses are left out, and the warnings that name them are bounded.
func TestRefusedDocuments(t *testing.T) {
	t.Parallel()
	s := chain(t, 40)
	o := siteOptions(t)
	o.NoIndex = false
	o.IndexFilters = []policy.IndexFilter{policy.IndexFilterFunc(
		func(d *index.Document, _ *storage.Record, _ *storage.ParseText) string {
			d.Author = strings.Repeat("x", index.AuthorMax+1)
			return ""
		},
	)}
	var mu sync.Mutex
	var warned []string
	o.Events.Warning = func(err error) {
		mu.Lock()
		defer mu.Unlock()
		warned = append(warned, err.Error())
	}
	e := open(t, o)
	defer mustClose(t, e)
	if _, err := e.Crawl(context.Background(), crawlFrom(s.URL+"/0")); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	last := "are not named"
	if n := len(warned); n != 20 || !strings.Contains(warned[0], "/") || !strings.HasSuffix(warned[n-1], last) {
		t.Errorf("%d warnings: %q", n, warned)
	}
}
