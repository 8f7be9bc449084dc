// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"strings"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
)

// demo is a small site on loopback, and an empty data directory.
type demo struct {
	*httptest.Server
	Dir string
}

// demoPages are the pages of the site by path.
var demoPages = map[string]string{
	"/": `<title>Nets</title><p>A seine is a net that a crew draws round a shoal.
		<a href="/guide/mend.html">mend</a> <a href="/drafts/tar.html">draft</a>`,
	"/guide/mend.html": `<title>How to mend a net</title><p>Take the needle, find the torn mesh, and begin above it.
		<a href="knots.txt">knots</a> <a href="/news/2024-03-09.html">storm</a> <a href="/lost.html">lost</a>`,
	"/guide/knots.txt":      "Sheet bend\nThe knot of every mesh.",
	"/drafts/tar.html":      `<title>Draft</title><p>Tar & twine: not ready.`,
	"/news/2024-03-09.html": `<title>Storm &lt;9 March></title><p>The storm left no mesh & no float whole.`,
	"/shop/1":               `<title>Hemp twine</title><b class=price>12</b> <button data-next="/shop/2">more</button>`,
	"/shop/2":               `<title>Net needle</title><b class=price>5</b> <button data-next="/shop/3">more</button>`,
	"/shop/3":               `<title>Cork floats</title><b class=price>8</b>`,
	"/members/":             `<title>Members</title><p>Only for those who know the password.`,
}

func newDemo() *demo {
	dir, err := os.MkdirTemp("", "seine-example-")
	if err != nil {
		log.Fatal(err)
	}
	return &demo{httptest.NewServer(http.HandlerFunc(serveDemo)), dir}
}

// serveDemo serves demoPages; /members/ needs a password, and /log/N links to /log/N+1 without end.
func serveDemo(w http.ResponseWriter, r *http.Request) {
	page, ok := demoPages[r.URL.Path]
	var n int
	if _, err := fmt.Sscanf(r.URL.Path, "/log/%d", &n); err == nil {
		page, ok = fmt.Sprintf(`<title>Day %d</title><p>Log of day %[1]d. <a href="/log/%d">next</a>`, n, n+1), true
	}
	_, password, _ := r.BasicAuth()
	switch {
	case !ok:
		http.NotFound(w, r)
	case r.URL.Path == "/members/" && password != "herring":
		http.Error(w, "who are you?", http.StatusUnauthorized)
	default:
		if path.Ext(r.URL.Path) == ".txt" {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		}
		fmt.Fprint(w, page)
	}
}

// Close stops the server and removes the directory.
func (d *demo) Close() {
	d.Server.Close()
	os.RemoveAll(d.Dir)
}

// Crawl a site and search it. AllowPrivate and the negative Delay are for a test server on loopback. A crawl of other
// people's servers names a Contact instead, and keeps the default delay of a second.
func Example() {
	site := newDemo()
	defer site.Close()

	e, err := engine.Open(engine.Options{Dir: site.Dir, AllowPrivate: true, Delay: -1})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()

	seeds := engine.InjectOptions{URLs: []string{site.URL}}
	report, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: seeds})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Fetched, "pages fetched,", report.Gone, "gone")

	found, err := e.Search(context.Background(), "+torn +mesh", engine.SearchOptions{MarkStart: "[", MarkEnd: "]"})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range found.Hits {
		fmt.Println(hit.Title, "|", hit.Snippet)
	}
	// Output:
	// 5 pages fetched, 1 gone
	// How to mend a net | Take the needle, find the [torn] [mesh], and begin above it. knots storm lost
}

// A crawl ends at its limits, or cleanly when its context is canceled. The next one goes on where it ended.
func ExampleEngine_Crawl() {
	site := newDemo()
	defer site.Close()
	e, err := engine.Open(engine.Options{Dir: site.Dir, AllowPrivate: true, Delay: -1})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()

	o := engine.CrawlOptions{
		Inject: engine.InjectOptions{URLs: []string{site.URL}},
		Limits: engine.Limits{MaxPages: 2},
	}
	for {
		report, err := e.Crawl(context.Background(), o)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(report.Fetched, "pages fetched, stopped:", report.Stopped)
		if report.Stopped == engine.StopDone {
			break
		}
		o.Inject = engine.InjectOptions{} // the rest is in the data directory
	}
	// Output:
	// 2 pages fetched, stopped: max-pages
	// 2 pages fetched, stopped: max-pages
	// 1 pages fetched, stopped: done
}

// The phases of a crawl one at a time, as in Nutch, until nothing is due.
func ExampleEngine_Generate() {
	site := newDemo()
	defer site.Close()
	e, err := engine.Open(engine.Options{Dir: site.Dir, AllowPrivate: true, Delay: -1})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()

	ctx := context.Background()
	if _, err := e.Inject(ctx, engine.InjectOptions{URLs: []string{site.URL}}); err != nil {
		log.Fatal(err)
	}
	for {
		list, err := e.Generate(ctx, engine.GenerateOptions{Top: 10})
		if err != nil {
			fmt.Println(errors.Is(err, engine.ErrNothingDue), "that nothing is due")
			break
		}
		fetched, err := e.Fetch(ctx, engine.FetchOptions{Segment: list.Segment})
		if err != nil {
			log.Fatal(err)
		}
		updated, err := e.UpdateDB(ctx, list.Segment)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(fetched.Fetched, "fetched,", updated.New, "new URLs")
	}
	// Output:
	// 1 fetched, 2 new URLs
	// 2 fetched, 3 new URLs
	// 2 fetched, 0 new URLs
	// true that nothing is due
}

// A program may pause a running crawl, resume it, and change its limits, delay and number of fetchers. All of these
// methods may be called from any goroutine, and from OnPage.
func ExampleEngine_Pause() {
	site := newDemo()
	defer site.Close()

	var e *engine.Engine
	paused := make(chan bool, 1)
	onPage := func(p *engine.Page) {
		if p.URL.Path() == "/log/1" {
			e.Pause() // from now on no request begins
			paused <- true
		}
	}
	e, err := engine.Open(engine.Options{Dir: site.Dir, AllowPrivate: true, Delay: -1, OnPage: onPage})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()

	go func() {
		<-paused
		e.SetLimits(engine.Limits{MaxPages: 5}) // counted from the start of the crawl
		e.SetConcurrency(2)
		e.Resume()
	}()
	seeds := engine.InjectOptions{URLs: []string{site.URL + "/log/1"}} // pages without end
	report, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: seeds})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Fetched, "pages fetched, stopped:", report.Stopped)
	// Output:
	// 5 pages fetched, stopped: max-pages
}

// A report of broken links. Views of the data are iterators: they read while they are ranged over, also beside a
// crawl.
func ExampleEngine_Inspect() {
	site := newDemo()
	defer site.Close()
	e, err := engine.Open(engine.Options{Dir: site.Dir, AllowPrivate: true, Delay: -1})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	ctx := context.Background()
	seeds := engine.InjectOptions{URLs: []string{site.URL}}
	if _, err := e.Crawl(ctx, engine.CrawlOptions{Inject: seeds}); err != nil {
		log.Fatal(err)
	}

	view := e.Inspect()
	for record, err := range view.Records(ctx, engine.RecordFilter{Statuses: []storage.Status{storage.StatusGone}}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(strings.TrimPrefix(record.URL, site.URL), record.Status, record.HTTPStatus)
		for link, err := range view.Inlinks(ctx, record.URL, 10) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Printf("  %q on %s\n", link.Anchor, strings.TrimPrefix(link.From, site.URL))
		}
	}
	// Output:
	// /lost.html db_gone 404
	//   "lost" on /guide/mend.html
}
