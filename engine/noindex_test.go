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
			hits, err := e.Search(context.Background(), "keeper", engine.SearchOptions{Deadline: patient})
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

// TestCheckPageAsStored: what a check of a page says of its signature, its fingerprint and the terms of its use is what
// a crawl stores of it, also where it must not be indexed or is cut off.
func TestCheckPageAsStored(t *testing.T) {
	prose := strings.Repeat("The keeper wrote which ships had passed. ", 20)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/tag":
			w.Header().Set("X-Robots-Tag", "noindex")
		case "/signal":
			w.Header().Set("Content-Signal", "search=no")
		case "/cut":
			w.Header().Set("Content-Length", "9000")
		}
		switch r.URL.Path {
		case "/robots.txt":
			fmt.Fprint(w, "User-agent: *\nContent-Signal: /file/ search=no\nAllow: /\n")
		case "/meta":
			fmt.Fprint(w, "<meta name=robots content=noindex>"+prose)
		default:
			fmt.Fprint(w, "<title>Log</title><article><p>"+prose)
		}
	}))
	defer s.Close()
	o := siteOptions(t)
	e := open(t, o)
	defer mustClose(t, e)
	var urls []string
	for _, path := range []string{"/plain", "/meta", "/tag", "/signal", "/cut", "/file/page"} {
		urls = append(urls, s.URL+path)
	}
	if _, err := e.Crawl(context.Background(), crawlFrom(urls...)); err != nil {
		t.Fatal(err)
	}
	equal := 0
	for _, u := range urls {
		check, err := engine.CheckPage(context.Background(), o, u)
		if err != nil {
			t.Fatal(err)
		}
		r, err := e.Inspect().Record(u)
		if err != nil || check.Signature != r.Signature || check.SimHash != r.SimHash {
			t.Errorf("%s: check %s %s, stored %s %s, %v", u, check.Signature, check.SimHash, r.Signature, r.SimHash,
				err)
		}
		for p, err := range e.Inspect().ParseRecords(context.Background(), 0, u) {
			if err != nil || !slices.Equal(p.Preferences, check.Preferences) {
				t.Errorf("%s: check %q, stored %q, %v", u, check.Preferences, p.Preferences, err)
			}
		}
		if plain, err := e.Inspect().Record(urls[0]); err != nil || r.Signature == plain.Signature {
			equal++
		}
	}
	if equal != 1 {
		t.Errorf("%d of the pages count as equal to the plain one", equal)
	}
}
