// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
)

// changing are pages whose title and content stay while something else changes, and a query for each before and after.
var changing = map[string]struct{ before, after, finds, findsThen string }{
	"date": {
		before: `<meta property=article:published_time content=2019-05-04>`,
		after:  `<meta property=article:published_time content=2024-05-04>`,
		finds:  "date:2019", findsThen: "date:2024",
	},
	"author": {
		before: `<meta name=author content="Ada Lighthouse">`, after: `<meta name=author content="Bo Breakwater">`,
	},
	"language": {before: "en", after: "de", finds: "lang:en", findsThen: "lang:de"},
	"type": {
		before: "text/html", after: "application/xhtml+xml",
		finds: "type:text/html", findsThen: "type:application/xhtml+xml",
	},
	"menu":    {before: "pelican", after: "cormorant", finds: "pelican", findsThen: "cormorant"},
	"heading": {before: "p", after: "h2"},
	"nothing": {},
}

// changingSite serves these pages, each as of before or after.
func changingSite(t *testing.T, after *atomic.Bool) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		p, ok := changing[name]
		if name != "" && !ok {
			http.NotFound(w, r)
			return
		}
		value := p.before
		if after.Load() {
			value = p.after
		}
		head, lang, kind, menu, tag := "", "en", "text/html", "gull", "p"
		switch name {
		case "date", "author":
			head = value
		case "language":
			lang = value
		case "type":
			kind = value
		case "menu":
			menu = value
		case "heading":
			tag = value
		case "":
			for _, name := range slices.Sorted(maps.Keys(changing)) {
				menu += fmt.Sprintf("<li><a href=/%s>%[1]s</a></li>", name)
			}
		}
		w.Header().Set("Content-Type", kind+"; charset=utf-8")
		fmt.Fprintf(w, `<html lang=%s><head><title>The keeper's %s book</title>%s</head><body>
			<nav><ul><li><a href="/">home</a></li><li>%s</li></ul></nav>
			<main><article><h1>The keeper's %[2]s book</h1>`,
			lang, name, head, menu)
		for i := range 4 {
			if name == "language" && i > 0 {
				break // with more text, its language would not be what it says
			}
			fmt.Fprintf(w, "<p>On evening %d the keeper of the lighthouse wrote into the %s book which ships had "+
				"passed, and every morning which had not come, for the harbour wanted to know.</p>", i, name)
			fmt.Fprintf(w, "<%s>Of storms %d</%[1]s>", tag, i)
		}
		fmt.Fprint(w, "</article></main></body></html>")
	}))
	t.Cleanup(s.Close)
	return s
}

// TestRefetched: a page that is fetched again, and of which anything changed that the index has, is indexed again: the
// index is one that is built anew. A page of which nothing changed is left as it is.
func TestRefetched(t *testing.T) {
	ctx := context.Background()
	var after atomic.Bool
	site := changingSite(t, &after)
	for _, signature := range []string{"content", "text", "bytes"} {
		t.Run(signature, func(t *testing.T) {
			options := func() engine.Options {
				return engine.Options{
					Dir: t.TempDir(), Memory: 64 << 20, Delay: -1, AllowPrivate: true, Scope: policy.ScopeHost,
					Signature: signature,
				}
			}
			after.Store(false)
			e := open(t, options())
			defer mustClose(t, e)
			if _, err := e.Crawl(ctx, crawlFrom(site.URL+"/")); err != nil {
				t.Fatal(err)
			}
			finds := func(query string, want int) {
				t.Helper()
				r, err := e.Search(ctx, query, engine.SearchOptions{Deadline: patient})
				if err != nil || (r.Total > 0) != (want > 0) {
					t.Errorf("%s: %d found, want %d, %v", query, r.Total, want, err)
				}
			}
			pages, targets := 0, []string{}
			for name, p := range changing {
				pages++
				targets = append(targets, site.URL+"/"+name)
				if p.findsThen != "" {
					finds(p.finds, 1)
					finds(p.findsThen, 0)
				}
			}
			old := indexDigest(t, e)

			after.Store(true)
			if r, err := e.Recrawl(ctx, targets...); err != nil || int(r.Due) != pages {
				t.Fatalf("%+v, %v", r, err)
			}
			g, err := e.Generate(ctx, engine.GenerateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := e.Fetch(ctx, engine.FetchOptions{Segment: g.Segment}); err != nil {
				t.Fatal(err)
			}
			if _, err := e.UpdateDB(ctx, g.Segment); err != nil {
				t.Fatal(err)
			}
			if _, err := e.InvertLinks(ctx, g.Segment); err != nil {
				t.Fatal(err)
			}
			x, err := e.Index(ctx, engine.IndexOptions{Segments: []uint32{g.Segment}})
			if err != nil {
				t.Fatal(err)
			}
			if int(x.Refreshed) != pages-1 || x.Added != 0 || x.Deleted != 0 { // but for the one that did not change
				t.Errorf("%+v", x)
			}
			for _, p := range changing {
				if p.findsThen != "" {
					finds(p.findsThen, 1)
				}
			}
			finds("pelican", 0)
			finds("date:2019", 0)

			anew := open(t, options())
			defer mustClose(t, anew)
			if _, err := anew.Crawl(ctx, crawlFrom(site.URL+"/")); err != nil {
				t.Fatal(err)
			}
			if got, want := indexDigest(t, e), indexDigest(t, anew); got != want || got == old {
				t.Errorf("digest %x, anew %x, before %x", got, want, old)
			}
			all := engine.IndexOptions{Refresh: true, EveryDocument: true}
			if x, err := e.Index(ctx, all); err != nil || x.Refreshed != 0 {
				t.Errorf("a refresh: %+v, %v", x, err)
			}
		})
	}
}

func indexDigest(t *testing.T, e *engine.Engine) uint64 {
	t.Helper()
	d, err := e.Inspect().IndexDigest(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return d
}
