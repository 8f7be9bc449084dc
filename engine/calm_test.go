// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
)

// TestDeleteBesideCrawl: a deletion beside a crawl cuts off what is under way of its targets and nothing else, deletes
// what was fetched just before, and the crawl goes on.
func TestDeleteBesideCrawl(t *testing.T) {
	site, let := gated(t)
	defer close(let)
	stays := make(chan struct{})
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		<-stays
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>other</title><p>A page that stays.")
	}))
	defer other.Close()
	o := siteOptions(t)
	o.NoIndex, o.PerHost, o.Scope = false, 2, policy.ScopeAny
	e := open(t, o)
	defer mustClose(t, e)
	c := crawlBeside(t.Context(), t, e, crawlFrom(site.URL+"/", other.URL+"/"))
	await(t, e, "two requests under way", func(s engine.Status) bool {
		n, _ := doing(s, engine.DoingFirstByte)
		return n == 2 && s.Progress.Fetched == 20
	})
	r, err := e.Delete(t.Context(), strings.TrimPrefix(site.URL, "http://"))
	if err != nil || r.Records != 22 || r.Captures != 21 {
		t.Errorf("%v, %v", r, err)
	}
	s, err := e.Inspect().Status()
	if n, _ := doing(s, engine.DoingFirstByte); err != nil || !s.Running || n != 1 {
		t.Errorf("the other request is not under way any more: %+v, %v", s.Fetchers, err)
	}
	if _, err := e.Inspect().Record(site.URL + "/5"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a deleted page: %v", err)
	}
	found, err := e.Search(t.Context(), "page", engine.SearchOptions{Deadline: patient})
	if err != nil || found.Total != 0 {
		t.Errorf("%d documents of deleted pages, %v", found.Total, err)
	}
	close(stays)
	c.wait()
	all := byStatus(t, e)
	if len(all) != 1 || len(all["db_fetched"]) != 1 || !all["db_fetched"][other.URL+"/"] {
		t.Errorf("crawldb has %v", all)
	}
	found, err = e.Search(t.Context(), "page", engine.SearchOptions{Deadline: patient})
	if err != nil || found.Total != 1 {
		t.Errorf("%d documents, %v", found.Total, err)
	}
	verify(t, e)
}

// TestDeleteQueued: URLs that wait in memory for their host's delay are not requested once they are deleted, but when
// they are found again.
func TestDeleteQueued(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	deleted, enqueued := make(chan struct{}), make(chan struct{})
	wait := func(r *http.Request, until chan struct{}) {
		select {
		case <-until:
		case <-r.Context().Done():
		}
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[r.URL.Path]++
		mu.Unlock()
		if strings.HasPrefix(r.URL.Path, "/old/") { // the first of them holds up the others until the deletion
			wait(r, deleted)
		}
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/":
			for n := range 40 {
				fmt.Fprintf(w, `<a href="/old/%d">page</a> `, n)
			}
		case "/robots.txt":
			http.NotFound(w, r)
		case "/again":
			fmt.Fprint(w, `<a href="/old/17">again</a>`)
		default:
			fmt.Fprintf(w, "<p>This is %s.", r.URL.Path)
		}
	}))
	defer site.Close()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		wait(r, enqueued) // so that the crawl does not end before
	}))
	defer other.Close()
	o := siteOptions(t)
	o.Delay = 20 * time.Millisecond
	e := open(t, o)
	defer mustClose(t, e)
	c := crawlBeside(t.Context(), t, e, crawlFrom(site.URL+"/", other.URL+"/"))
	await(t, e, "a queue", func(s engine.Status) bool { return s.Progress != nil && s.Progress.Queued > 30 })
	r, err := e.Delete(t.Context(), site.URL+"/old/*")
	if err != nil || r.Records != 40 {
		t.Errorf("%v, %v", r, err)
	}
	close(deleted)
	mu.Lock()
	before := len(seen)
	mu.Unlock()
	if err := e.Enqueue(site.URL + "/again"); err != nil {
		t.Fatal(err)
	}
	close(enqueued)
	c.wait()
	if len(seen) != before+2 && !(len(seen) == before+1 && seen["/old/17"] == 2) {
		t.Errorf("%d URLs were requested before the deletion, %d after: %v", before, len(seen), seen)
	}
	if seen["/old/17"] == 0 || seen["/again"] != 1 {
		t.Errorf("what was found again was not requested: %v", seen)
	}
	verify(t, e)
}

// TestDeleteOften: many deletions beside a crawl, also while it begins and ends, leave no loose end.
func TestDeleteOften(t *testing.T) {
	w := newWorld(t, 6, 40)
	o := w.options(dataDir(t))
	e := open(t, o)
	defer mustClose(t, e)
	c := crawlBeside(t.Context(), t, e, engine.CrawlOptions{Inject: w.seeds()})
	await(t, e, "a crawl", func(s engine.Status) bool { return s.Running })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var deleted, times uint64
	var several sync.WaitGroup
	// For ever, the crawl would find again what is deleted, and not end.
	for n := 0; n < 100 && (n < 10 || deleted == 0); n++ {
		u, err := url.Parse(w.Web.Root(n%5 + 1))
		if err != nil {
			t.Fatal(err)
		}
		several.Go(func() { // two at once
			if _, err := e.Delete(ctx, w.Web.Root(0)+"nothing/*"); err != nil {
				t.Error(err)
			}
		})
		r, err := e.Delete(ctx, u.Host)
		if err != nil {
			t.Error(err)
		}
		several.Wait()
		deleted += r.Records
		times++
		if s, err := e.Inspect().Status(); err != nil || !s.Running || t.Failed() {
			break
		}
	}
	c.wait()
	if deleted == 0 {
		t.Error("nothing was deleted")
	}
	t.Logf("%d records in %d deletions", deleted, times)
	verify(t, e)
	if _, err := e.Crawl(t.Context(), engine.CrawlOptions{}); err != nil {
		t.Fatal(err)
	}
	verify(t, e)
}
