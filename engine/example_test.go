// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// site is a web server of four pages, so that the examples run anywhere.
func site() *httptest.Server {
	pages := map[string]string{
		"/":              `<title>Seines</title><p>A net that a crew draws round a shoal.<p><a href="/mend.html">How to mend a net</a> <a href="/drafts/x.html">draft</a>`,
		"/mend.html":     `<title>Mending</title><p>Take the needle, find the torn mesh, and begin above it. <a href="/knots.txt">knots</a>`,
		"/drafts/x.html": `<title>Draft</title><p>Not ready.`,
		"/knots.txt":     "Sheet bend\nThe knot of every net.",
	}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if strings.HasSuffix(r.URL.Path, ".txt") {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		}
		fmt.Fprint(w, body)
	}))
}

// directory makes a data directory that is thrown away.
func directory() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "seine-example-")
	if err != nil {
		log.Fatal(err)
	}
	return dir, func() { os.RemoveAll(dir) }
}

// A crawl and a search.
func Example() {
	server := site()
	defer server.Close()
	dir, remove := directory()
	defer remove()

	e, err := engine.Open(engine.Options{Dir: dir, AllowPrivate: true, Delay: -1})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	report, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: engine.InjectOptions{URLs: []string{server.URL}}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Fetched, "pages")
	found, err := e.Search(context.Background(), "torn mesh", engine.SearchOptions{MarkStart: "<", MarkEnd: ">"})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range found.Hits {
		fmt.Println(hit.Title, "|", hit.Snippet)
	}
	// Output:
	// 4 pages
	// Mending | Take the needle, find the <torn> <mesh>, and begin above it. knots
}

// The phases one at a time, with a filter of one's own.
func ExampleEngine_Generate() {
	server := site()
	defer server.Close()
	dir, remove := directory()
	defer remove()
	noDrafts := policy.URLFilterFunc(func(u urlkey.URL) string {
		if strings.HasPrefix(u.Path(), "/drafts/") {
			return "draft"
		}
		return ""
	})
	e, err := engine.Open(engine.Options{Dir: dir, AllowPrivate: true, Delay: -1, Filters: policy.URLFilters{noDrafts}})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	ctx := context.Background()
	if _, err := e.Inject(ctx, engine.InjectOptions{URLs: []string{server.URL}}); err != nil {
		log.Fatal(err)
	}
	for {
		g, err := e.Generate(ctx, engine.GenerateOptions{})
		if err != nil {
			fmt.Println(err)
			break
		}
		f, err := e.Fetch(ctx, engine.FetchOptions{Segment: g.Segment})
		if err != nil {
			log.Fatal(err)
		}
		u, err := e.UpdateDB(ctx, g.Segment)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("fetched", f.Fetched, "new", u.New, "drafts refused", u.Filtered["draft"])
	}
	// Output:
	// fetched 1 new 1 drafts refused 1
	// fetched 1 new 1 drafts refused 0
	// fetched 1 new 0 drafts refused 0
	// generating: nothing is due
}

// A parser for another kind of file, and a say in what is indexed.
func ExampleOptions() {
	server := site()
	defer server.Close()
	dir, remove := directory()
	defer remove()
	shout := parse.ParserFunc(func(in *parse.Input, page *parse.Page) error {
		page.Title = strings.ToUpper(strings.SplitN(string(in.Body), "\n", 2)[0])
		page.Text = append(page.Text[:0], in.Body...)
		return nil
	})
	short := policy.IndexFilterFunc(func(d *index.Document, _ *storage.Record, _ *storage.ParseText) string {
		if len(d.Text) < 20 {
			return "too short"
		}
		return ""
	})
	e, err := engine.Open(engine.Options{Dir: dir, AllowPrivate: true, Delay: -1,
		Parsers: parse.Options{Parsers: map[string]parse.Parser{"text/plain": shout}}, IndexFilters: []policy.IndexFilter{short}})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	ctx := context.Background()
	if _, err := e.Crawl(ctx, engine.CrawlOptions{Inject: engine.InjectOptions{URLs: []string{server.URL}}}); err != nil {
		log.Fatal(err)
	}
	found, err := e.Search(ctx, "sheet OR ready", engine.SearchOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range found.Hits {
		fmt.Println(hit.Title)
	}
	// Output:
	// SHEET BEND
}
