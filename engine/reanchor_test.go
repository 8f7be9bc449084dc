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

// TestReanchored: pages that others are found to link to after they were indexed get their anchors without their texts
// being read, and are then those of an index that is made at once.
func TestReanchored(t *testing.T) {
	const pages = 40
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>page %s</title><p>a text of its own %s", r.URL.Path[1:], strings.Repeat("word ", 50))
		if strings.HasPrefix(r.URL.Path, "/late") {
			for i := range pages {
				fmt.Fprintf(w, `<a href="/p%d">sealing wax %d</a> `, i, i)
			}
		} else {
			for i := range pages {
				fmt.Fprintf(w, `<a href="/p%d">early</a> `, i)
			}
		}
	}))
	defer s.Close()
	o := siteOptions(t)
	o.NoIndex, o.TrapDuplicates = false, -1
	want := anchoredLate(t, o, s.URL, pages)
	o.RebuildIndex = true
	e := open(t, o)
	defer mustClose(t, e)
	if _, err := e.Index(context.Background(), engine.IndexOptions{Refresh: true}); err != nil {
		t.Fatal(err)
	}
	sameDigest(t, digest(t, e), want)
}

// anchoredLate indexes the site without the pages that link to all others, then with them, and returns what the index
// has then.
func anchoredLate(t *testing.T, o engine.Options, root string, pages uint64) string {
	e := open(t, o)
	defer mustClose(t, e)
	ctx := context.Background()
	batch(t, e, engine.InjectOptions{URLs: []string{root + "/p0"}}, 100)
	if _, err := e.Inject(ctx, seeds(root+"/late1", root+"/late2")); err != nil {
		t.Fatal(err)
	}
	g, err := e.Generate(ctx, engine.GenerateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Fetch(ctx, engine.FetchOptions{Segment: g.Segment}); err != nil {
		t.Fatal(err)
	}
	finish(t, e, g.Segment)
	r, err := e.Index(ctx, engine.IndexOptions{Refresh: true})
	if err != nil || r.Refreshed != pages || r.TextBytes != 0 {
		t.Errorf("%+v, want %d refreshed and no text read: %v", r, pages, err)
	}
	found, err := e.Search(ctx, "anchor:sealing", engine.SearchOptions{Deadline: patient})
	if err != nil || found.Total != int(pages) {
		t.Errorf("%d pages have the new anchors, want %d: %v", found.Total, pages, err)
	}
	again, err := e.Index(ctx, engine.IndexOptions{Refresh: true, EveryDocument: true})
	if err != nil || again.Refreshed+again.Added+again.Deleted != 0 {
		t.Errorf("%+v: %v", again, err)
	}
	return digest(t, e)
}
