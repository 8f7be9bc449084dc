// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
)

// TestSettleBeside: a page that others link to while a crawl goes on is found by their texts, and ranked by them,
// before the crawl ends, and index writers have them.
func TestSettleBeside(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/harbour":
			fmt.Fprint(w, "<title>Harbour</title><p>Boats lie here in winter, and nets dry on the quay.")
		case "/letters":
			fmt.Fprint(w, `<title>Letters</title><p>Someone wrote about the <a href="/harbour">zebrafish</a> again.`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer site.Close()
	held := make(chan struct{}) // a crawl does not end before the last page is delivered
	o := siteOptions(t)
	o.PageWorkers, o.OnPage = 2, func(p *engine.Page) {
		if strings.HasSuffix(p.URL.String(), "/harbour") {
			<-held
		}
	}
	o.NoIndex, o.SettleEvery, o.LinkRank = false, 20*time.Millisecond, "page"
	writer := newRemote(t)
	o.IndexWriters = []policy.IndexWriter{writer}
	e := open(t, o)
	defer mustClose(t, e)
	found := func(query string) (urls []string) {
		r, err := e.Search(t.Context(), query, engine.SearchOptions{Deadline: patient})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range r.Hits {
			urls = append(urls, h.URL)
		}
		return urls
	}
	c := crawlBeside(t.Context(), t, e, engine.CrawlOptions{Inject: seeds(site.URL + "/harbour")})
	await(t, e, "the first page", func(engine.Status) bool { return len(found("quay")) == 1 })
	if urls := found("zebrafish"); len(urls) > 0 {
		t.Fatalf("before anything links to it: %q", urls)
	}
	before, err := e.Inspect().Record(site.URL + "/harbour")
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Enqueue(site.URL + "/letters"); err != nil {
		t.Fatal(err)
	}
	s := await(t, e, "the text of the link", func(engine.Status) bool { return len(found("anchor:zebrafish")) == 1 })
	if s.Progress.Phase != "crawling" {
		t.Error(s.Progress.Phase)
	}
	await(t, e, "the text of the link, in another engine", func(engine.Status) bool {
		writer.mu.Lock()
		defer writer.mu.Unlock()
		return slices.ContainsFunc(slices.Collect(maps.Values(writer.docs)), func(d policy.IndexDocument) bool {
			return slices.Contains(d.Anchors, "zebrafish")
		})
	})
	after, err := e.Inspect().Record(site.URL + "/harbour")
	if err != nil || after.Score <= before.Score {
		t.Errorf("score %v, before it had a link %v: %v", after.Score, before.Score, err)
	}
	close(held)
	c.wait()
	verify(t, e)
}

// TestSettleAgain: a crawl that settles again and again, beside all that it does, ends with what one that settles at
// its end has.
func TestSettleAgain(t *testing.T) {
	for _, every := range []time.Duration{time.Millisecond, -1} {
		w := newWorld(t, 10, 40)
		o := w.options(dataDir(t))
		o.SettleEvery = every
		e := open(t, o)
		c := crawlBeside(t.Context(), t, e, engine.CrawlOptions{Inject: w.seeds()})
		c.wait()
		w.checkTruth(e)
		verify(t, e)
		mustClose(t, e)
	}
}
