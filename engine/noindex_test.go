// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seine-crawler/seine/engine"
)

// TestNoIndexHidesNoCopy: a page that must not be indexed takes the place of none that may be, however much better it
// is known, and whether the two are equal or nearly so. When such a page is one that was found until now, its copy is.
// Of the pages that must not be indexed the copies are duplicates as ever.
func TestNoIndexHidesNoCopy(t *testing.T) {
	prose := strings.Repeat("The keeper wrote which ships had passed. ", 20)
	var denied atomic.Pointer[string] // path of a page that is denied besides
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == *denied.Load() {
			w.Header().Set("X-Robots-Tag", "seine: none")
		}
		article := "<title>Log</title><article><h1>Log</h1><p>" + prose
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w, `<a href="/print">1</a> <a href="/a/story">2</a> <a href="/a/story/again">3</a>
				<a href="/near">4</a> <a href="/far/away">5</a> <a href="/p1">6</a> <a href="/p2">7</a>`)
		case "/print":
			w.Header().Set("X-Robots-Tag", "noindex")
			fmt.Fprint(w, article)
		case "/a/story", "/a/story/again":
			fmt.Fprint(w, article)
		case "/near":
			w.Header().Set("Content-Signal", "search=no")
			fmt.Fprint(w, strings.ReplaceAll(article, "ships", "boats"))
		case "/far/away":
			fmt.Fprint(w, strings.ReplaceAll(article, "ships", "boats")+"And once not.")
		case "/p1", "/p2":
			fmt.Fprint(w, "<title>Private</title><meta name=robots content=noindex><p>"+strings.ToUpper(prose))
		default:
			http.NotFound(w, r)
		}
	}))
	defer s.Close()
	for _, how := range []string{"in a crawl", "in phases", "in a crawl that marks what is nearly equal"} {
		denied.Store(new(string))
		o := siteOptions(t)
		o.NoIndex = false
		if strings.Contains(how, "marks") {
			o.NearDuplicates = "mark"
		}
		e := open(t, o)
		run := func() {
			t.Helper()
			if how == "in phases" {
				batch(t, e, seeds(s.URL+"/"), 100)
			} else if _, err := e.Crawl(context.Background(), crawlFrom(s.URL+"/")); err != nil {
				t.Fatal(err)
			}
		}
		run()
		found := func(want ...string) {
			t.Helper()
			hits, err := e.Search(context.Background(), "keeper", engine.SearchOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, h := range hits.Hits {
				got = append(got, strings.TrimPrefix(h.URL, s.URL))
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("%s: found %q, want %q", how, got, want)
			}
		}
		found("/a/story", "/far/away")
		if got := byStatus(t, e)["db_duplicate"]; len(got) != 2 || !got[s.URL+"/p2"] || !got[s.URL+"/a/story/again"] {
			t.Errorf("%s: duplicates %v", how, got)
		}
		path := "/a/story"
		denied.Store(&path)
		if _, err := e.Recrawl(context.Background(), s.URL+path); err != nil {
			t.Fatal(err)
		}
		run()
		found("/a/story/again", "/far/away")
		verify(t, e)
		mustClose(t, e)
	}
}
