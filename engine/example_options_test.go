// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// A focused crawl: a filter refuses what does not belong. It is appended to the default filters, which refuse endless
// calendars and files without text.
func ExampleOptions_filters() {
	site := newDemo()
	defer site.Close()

	guideOnly := policy.URLFilterFunc(func(u urlkey.URL) (reason string) {
		if u.Path() == "/" || strings.HasPrefix(u.Path(), "/guide/") {
			return "" // accepted
		}
		return "off topic"
	})
	e, err := engine.Open(engine.Options{
		Dir: site.Dir, AllowPrivate: true, Delay: -1,
		Filters: append(policy.DefaultFilters(time.Now()), guideOnly),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()

	ctx := context.Background()
	seeds := engine.InjectOptions{URLs: []string{site.URL}}
	if _, err := e.Crawl(ctx, engine.CrawlOptions{Inject: seeds}); err != nil {
		log.Fatal(err)
	}
	for record, err := range e.Inspect().Records(ctx, engine.RecordFilter{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(record.Status, strings.TrimPrefix(record.URL, site.URL))
	}
	// Output:
	// db_fetched /
	// db_fetched /guide/knots.txt
	// db_fetched /guide/mend.html
}

// A parser of your own for a media type: here the first line of a text file becomes its title.
func ExampleOptions_parsers() {
	site := newDemo()
	defer site.Close()

	firstLine := parse.ParserFunc(func(in *parse.Input, page *parse.Page) error {
		title, text, _ := strings.Cut(string(in.Body), "\n")
		page.Title = strings.ToUpper(title)
		page.Text = append(page.Text[:0], text...)
		return nil
	})
	e, err := engine.Open(engine.Options{
		Dir: site.Dir, AllowPrivate: true, Delay: -1,
		Parsers: parse.Options{Parsers: map[string]parse.Parser{"text/plain": firstLine}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()

	ctx := context.Background()
	seeds := engine.InjectOptions{URLs: []string{site.URL}}
	if _, err := e.Crawl(ctx, engine.CrawlOptions{Inject: seeds}); err != nil {
		log.Fatal(err)
	}
	found, err := e.Search(ctx, "sheet bend", engine.SearchOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range found.Hits {
		fmt.Println(hit.Title, "|", hit.Snippet)
	}
	// Output:
	// SHEET BEND | The knot of every mesh.
}

// An index filter adds a stored field, a date and a boost to documents, and keeps others out. Hits show the field and
// the date.
func ExampleOptions_indexFilters() {
	site := newDemo()
	defer site.Close()

	sections := func(d *index.Document, _ *storage.Record, _ *storage.ParseText) (reason string) {
		section, name, _ := strings.Cut(strings.TrimPrefix(d.URL, site.URL+"/"), "/")
		switch section {
		case "drafts":
			return "draft" // not indexed
		case "guide":
			d.Boost = 2
		case "news":
			d.Date, _ = time.Parse("2006-01-02.html", name)
		}
		d.Stored = append(d.Stored, storage.Field{Name: "section", Value: section})
		return ""
	}
	e, err := engine.Open(engine.Options{
		Dir: site.Dir, AllowPrivate: true, Delay: -1,
		IndexFilters: []policy.IndexFilter{policy.IndexFilterFunc(sections)},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()

	ctx := context.Background()
	seeds := engine.InjectOptions{URLs: []string{site.URL}}
	if _, err := e.Crawl(ctx, engine.CrawlOptions{Inject: seeds}); err != nil {
		log.Fatal(err)
	}
	found, err := e.Search(ctx, "mesh OR twine", engine.SearchOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range found.Hits {
		fmt.Println(hit.Stored[0].Value, "|", hit.Title)
		if !hit.Date.IsZero() {
			fmt.Println("  of", hit.Date.Format("2 January 2006"))
		}
	}
	// Output:
	// guide | Sheet bend
	// guide | How to mend a net
	// news | Storm <9 March>
	//   of 9 March 2024
}

// A scraper: OnPage sees every page as it is fetched, and hands URLs to the crawl that no link of the page names.
func ExampleOptions_onPage() {
	site := newDemo()
	defer site.Close()

	price := regexp.MustCompile(`class=price>(\d+)<`)
	next := regexp.MustCompile(`data-next="([^"]+)"`)
	var e *engine.Engine
	scrape := func(p *engine.Page) {
		if p.Parsed == nil {
			return // a redirect or a failure: see p.Status
		}
		if m := price.FindSubmatch(p.Body); m != nil {
			euros, _ := strconv.Atoi(string(m[1]))
			fmt.Printf("%s: %d €\n", p.Parsed.Title, euros)
		}
		if m := next.FindSubmatch(p.Body); m != nil {
			if err := e.Enqueue(site.URL + string(m[1])); err != nil {
				log.Print(err)
			}
		}
	}
	e, err := engine.Open(engine.Options{Dir: site.Dir, AllowPrivate: true, Delay: -1, OnPage: scrape, NoIndex: true})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()

	seeds := engine.InjectOptions{URLs: []string{site.URL + "/shop/1"}}
	if _, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: seeds}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// Hemp twine: 12 €
	// Net needle: 5 €
	// Cork floats: 8 €
}

// Settings for single hosts: here a login, a delay and a budget.
func ExampleOptions_hostPolicy() {
	site := newDemo()
	defer site.Close()

	hosts, err := policy.NewHostTable(map[string]policy.HostSettings{
		"127.0.0.1": {
			Delay:    10 * time.Millisecond,
			Username: "crew", Password: "herring", PlainAuth: true, // the site has no https
			MaxPages: 100,
		},
		"*.example.com": {Delay: 5 * time.Second, Header: []policy.HeaderField{{Name: "X-Crawl", Value: "weekly"}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	e, err := engine.Open(engine.Options{Dir: site.Dir, AllowPrivate: true, HostPolicy: hosts})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()

	ctx := context.Background()
	seeds := engine.InjectOptions{URLs: []string{site.URL + "/members/"}}
	if _, err := e.Crawl(ctx, engine.CrawlOptions{Inject: seeds}); err != nil {
		log.Fatal(err)
	}
	record, err := e.Inspect().Record(site.URL + "/members/")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(record.Status, record.HTTPStatus)
	// Output:
	// db_fetched 200
}

// transport fetches by net/http. It follows no redirects: the engine does.
type transport struct {
	http.RoundTripper
	agent string
}

func (t transport) Fetch(ctx context.Context, req *fetch.Request) *fetch.Response {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, req.URL.String(), nil)
	if err != nil {
		return &fetch.Response{Failure: fetch.FailHeader, Err: err}
	}
	r.Header.Set("User-Agent", t.agent)
	for _, h := range req.Header {
		r.Header.Add(h.Name, h.Value)
	}
	resp, err := t.RoundTrip(r)
	if err != nil {
		return &fetch.Response{Failure: fetch.FailReset, Err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	truncated := ""
	if err != nil {
		truncated = "disconnect"
	}
	var head bytes.Buffer
	fmt.Fprintf(&head, "HTTP/1.1 %s\r\n", resp.Status) // in this form, also of HTTP/2
	resp.Header.Write(&head)
	head.WriteString("\r\n")
	return &fetch.Response{Head: head.Bytes(), Body: body, Truncated: truncated}
}

// A transport of your own, here that of net/http. It makes every request, also those for robots.txt; the engine decides
// which, and when.
func ExampleOptions_protocol() {
	site := newDemo()
	defer site.Close()

	agent := "examplebot/1.0 (+https://your.site/crawler)" // for robots.txt, WARC files and the transport
	e, err := engine.Open(engine.Options{
		Dir: site.Dir, Delay: -1, UserAgent: agent, Protocol: transport{http.DefaultTransport, agent},
	})
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
	// Output:
	// 5 pages fetched, 1 gone
}
