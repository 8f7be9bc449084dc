// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestPauseIdleFetchers: fetchers that wait for a host's turn when Pause is called request nothing either.
func TestPauseIdleFetchers(t *testing.T) {
	var requests atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		requests.Add(1)
		w.Header().Set("Content-Type", "text/html")
		for i := range 40 {
			fmt.Fprintf(w, `<a href="/%d">page %d</a> `, i, i)
		}
	}))
	defer s.Close()
	o := siteOptions(t)
	o.Delay, o.Concurrency = 100*time.Millisecond, 32
	e := open(t, o)
	defer mustClose(t, e)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if _, err := e.Crawl(ctx, crawlFrom(s.URL+"/0")); err != nil {
			t.Error(err)
		}
	}()
	for requests.Load() < 2 {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(20 * time.Millisecond)
	if err := e.Pause(); err != nil {
		t.Error(err)
	}
	before := requests.Load()
	time.Sleep(700 * time.Millisecond)
	if n := requests.Load() - before; n > 1 {
		t.Errorf("%d requests began after Pause", n)
	}
	if err := e.Resume(); err != nil {
		t.Error(err)
	}
	for before = requests.Load(); requests.Load() < before+1; time.Sleep(time.Millisecond) {
	}
	cancel()
	<-ended
}

// TestReportAfterFetchlist: the report of a crawl that began with fetchlists counts what they brought.
func TestReportAfterFetchlist(t *testing.T) {
	s := chain(t, 9)
	o := siteOptions(t)
	o.NoIndex = false
	e := open(t, o)
	defer mustClose(t, e)
	generated(t, e, s.URL+"/0", s.URL+"/5")
	r, err := e.Crawl(context.Background(), engine.CrawlOptions{})
	if err != nil || r.Fetched != 10 || r.Discovered != 8 || r.Indexed != 10 || r.Stopped != engine.StopDone {
		t.Errorf("%v, %v", r, err)
	}
}

// TestLimitInFetchlists: a crawl that a limit ends between two fetchlists leaves duplicates and index as one that ends
// later does, and indexes nothing twice.
func TestLimitInFetchlists(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<title>%[1]s</title><p>text of %[1]s. <a href="/first">an anchor of %[1]s</a>`, r.URL.Path)
	}))
	defer s.Close()
	o := siteOptions(t)
	o.NoIndex = false
	e := open(t, o)
	defer mustClose(t, e)
	ctx := context.Background()
	generated(t, e, s.URL+"/first")
	generated(t, e, s.URL+"/second")
	generated(t, e, s.URL+"/third")
	r, err := e.Crawl(ctx, engine.CrawlOptions{Limits: engine.Limits{MaxPages: 2}})
	if err != nil || r.Fetched != 2 || r.Indexed != 2 || r.Stopped != engine.StopMaxPages {
		t.Errorf("%v, %v", r, err)
	}
	// The second page's anchor is a word of the first page's document.
	found, err := e.Search(ctx, `"anchor of /second"`, engine.SearchOptions{Deadline: patient})
	if err != nil || found.Total != 2 {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestEnqueuedIsNotLostSilently: a warning counts the enqueued URLs that an abort drops while they are injected.
func TestEnqueuedIsNotLostSilently(t *testing.T) {
	s := chain(t, 3)
	o := siteOptions(t)
	abort, cancel := context.WithCancel(context.Background())
	defer cancel()
	var warned atomic.Bool
	o.Events.Warning = func(err error) {
		if strings.HasPrefix(err.Error(), "100000 enqueued URLs were not injected") {
			warned.Store(true)
		}
	}
	urls := make([]string, 100_000)
	for i := range urls {
		urls[i] = fmt.Sprintf("%s/?%d", s.URL, i)
	}
	var once sync.Once
	o.Normalizers = policy.URLNormalizers{policy.URLNormalizerFunc(func(u urlkey.URL) (urlkey.URL, error) {
		if strings.HasSuffix(u.String(), "?50000") {
			once.Do(cancel)
		}
		return u, nil
	})}
	var e *engine.Engine
	o.OnPage = func(p *engine.Page) {
		if strings.HasSuffix(p.URL.String(), "/0") {
			if err := e.Enqueue(urls...); err != nil {
				t.Error(err)
			}
		}
	}
	e = open(t, o)
	defer mustClose(t, e)
	c := crawlFrom(s.URL + "/0")
	c.Abort = abort
	_, err := e.Crawl(context.Background(), c)
	var n int
	for range e.Inspect().Records(context.Background(), engine.RecordFilter{}) {
		n++
	}
	if !errors.Is(err, context.Canceled) || n > 100 || !warned.Load() {
		t.Errorf("%v; %d records, warned: %t", err, n, warned.Load())
	}
}

// TestFetchlistRefused: a fetchlist ends although a live filter refuses its URLs by now.
func TestFetchlistRefused(t *testing.T) {
	s := chain(t, 3)
	o := siteOptions(t)
	o.Delay = time.Minute // the frontier takes few URLs of a host at once
	e := open(t, o)
	var urls []string
	for i := range 300 {
		urls = append(urls, fmt.Sprintf("%s/%d", s.URL, i))
	}
	generated(t, e, urls...)
	mustClose(t, e)
	o.LiveFilters = []policy.LiveFilter{refusing{s.URL}}
	e = open(t, o)
	defer mustClose(t, e)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	r, err := e.Crawl(ctx, engine.CrawlOptions{})
	if err != nil || r.Stopped != engine.StopDone || r.Fetched != 0 {
		t.Errorf("%v, %v", r, err)
	}
}

// refusing is a live filter that refuses URLs with a prefix.
type refusing struct{ prefix string }

func (f refusing) Accept(u urlkey.URL) string {
	if strings.HasPrefix(u.String(), f.prefix) {
		return "refused"
	}
	return ""
}
func (f refusing) Refresh() (bool, error)    { return false, nil }
func (f refusing) Fingerprint() uint64       { return uint64(len(f.prefix)) }
func (f refusing) Explain(urlkey.URL) string { return "" }

// TestIndexBesideCrawl: Index without options takes every linked segment, also of a running crawl, which goes on.
func TestIndexBesideCrawl(t *testing.T) {
	w := newWorld(t, 10, 40)
	e := open(t, w.options(dataDir(t)))
	defer mustClose(t, e)
	ctx := context.Background()
	var ended atomic.Bool
	var beside sync.WaitGroup
	beside.Go(func() {
		for !ended.Load() {
			if _, err := e.Index(ctx, engine.IndexOptions{}); err != nil {
				t.Error(err)
				return
			}
		}
	})
	r, err := e.Crawl(ctx, engine.CrawlOptions{Inject: w.seeds()})
	ended.Store(true)
	beside.Wait()
	if err != nil || r.Stopped != engine.StopDone {
		t.Errorf("%v, %v", r, err)
	}
	w.checkTruth(e)
	verify(t, e)
}

// TestFetchlistStays: a fetch that may request nothing leaves its fetchlist as it is, and the next one fetches it.
func TestFetchlistStays(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, "")
	}))
	defer s.Close()
	o := siteOptions(t)
	o.AllowPrivate = false
	ctx := context.Background()
	e := open(t, o)
	if _, err := e.Inject(ctx, engine.InjectOptions{URLs: []string{s.URL + "/"}}); err != nil {
		t.Fatal(err)
	}
	g, err := e.Generate(ctx, engine.GenerateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Fetch(ctx, engine.FetchOptions{Segment: g.Segment, Patience: time.Millisecond})
	if err != nil || r.Attempts() != 0 || r.Cause.Help != "--allow-private permits it" {
		t.Errorf("%s (%s), %v", r, r.Cause, err)
	}
	mustClose(t, e)
	o.AllowPrivate = true
	e = open(t, o)
	defer mustClose(t, e)
	r, err = e.Fetch(ctx, engine.FetchOptions{Segment: g.Segment})
	if err != nil || r.Fetched != 1 {
		t.Errorf("%s, %v", r, err)
	}
}
