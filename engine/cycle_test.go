// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
)

// TestCrawl: a crawl fetches every page once, and obeys robots.txt.
func TestCrawl(t *testing.T) {
	w := newWorld(t, 12, 40)
	dir := dataDir(t)
	r := w.crawl(w.options(dir), engine.CrawlOptions{Inject: w.seeds()})
	e := open(t, w.options(dir))
	defer mustClose(t, e)
	w.checkTruth(e)
	verify(t, e)
	truth := w.Web.Truth([]int{0}, nil)
	got := [...]int{int(r.Fetched), int(r.Redirected), int(r.Gone), int(r.RobotsDenied)}
	want := [...]int{len(truth.Fetched), len(truth.Redirected), len(truth.Gone), len(truth.Denied)}
	if got != want {
		t.Errorf("%d fetched, redirected, gone and denied, want %d: %s", got, want, r)
	}
	if p := w.Report(); p.Twice > 0 || p.Peak > 1 || p.Violations > 0 {
		t.Errorf("%s", p)
	}
	if r.Draining <= 0 || r.Draining > r.Took {
		t.Errorf("it drained for %v of %v", r.Draining, r.Took)
	}
	if r.Duplicates == 0 {
		t.Error("no duplicate was found")
	}
	for _, q := range []string{"harbour net", "港口", "гавань"} {
		found, err := e.Search(context.Background(), q, engine.SearchOptions{Deadline: patient})
		if err != nil || found.Total == 0 || len(found.Hits) == 0 || found.Hits[0].Snippet == "" {
			t.Errorf("search %q: %d found, %v", q, found.Total, err)
		}
	}
}

// TestResume: a crawl that ends at MaxPages goes on when it is run again, requests nothing twice, and ends with the
// same crawldb and linkdb.
func TestResume(t *testing.T) {
	w := newWorld(t, 8, 25)
	whole := dataDir(t)
	w.crawl(w.options(whole), engine.CrawlOptions{Inject: w.seeds()})
	e := open(t, w.options(whole))
	want := digest(t, e)
	mustClose(t, e)

	v := newWorld(t, 8, 25) // another server of the same web, on another port
	dir := dataDir(t)
	total := uint64(0)
	for i := range 100 {
		c := engine.CrawlOptions{Limits: engine.Limits{MaxPages: 23}}
		if i == 0 {
			c.Inject = v.seeds()
		}
		r := v.crawl(v.options(dir), c)
		if r.Fetched > 23 {
			t.Fatalf("run %d fetched %d pages, over the limit of 23", i, r.Fetched)
		}
		if total += r.Fetched; r.Stopped == "done" {
			break
		}
	}
	e = open(t, v.options(dir))
	defer mustClose(t, e)
	v.checkTruth(e)
	sameDigest(t, strings.ReplaceAll(digestWithoutIndex(t, e), port(v), port(w)), withoutIndex(want))
	if p := v.Report(); p.Twice > 0 {
		t.Errorf("%s", p)
	}
}

func port(w *world) string { return fmt.Sprintf(":%d/", w.Port()) }

func withoutIndex(d string) string { return d[:strings.LastIndex(d, "index ")] }

// digestWithoutIndex leaves out the index, whose terms include the port.
func digestWithoutIndex(t testing.TB, e *engine.Engine) string { return withoutIndex(digest(t, e)) }

// TestInterrupted: a canceled context stops a crawl cleanly, and nothing is lost.
func TestInterrupted(t *testing.T) {
	w := newWorld(t, 8, 40)
	dir := dataDir(t)
	ctx, cancel := context.WithCancel(context.Background())
	e := open(t, w.options(dir))
	c := engine.CrawlOptions{Inject: w.seeds(), ProgressEvery: 1}
	c.Progress = func(p engine.Progress) {
		if p.Fetched > 20 {
			cancel()
		}
	}
	r, err := e.Crawl(ctx, c)
	cancel()
	if err != nil {
		t.Fatal(err)
	}
	verify(t, e)
	if got := byStatus(t, e); len(got["db_fetched"])+len(got["db_duplicate"]) != int(r.Fetched) {
		t.Errorf("report says %d fetched, crawldb has %d", r.Fetched, len(got["db_fetched"])+len(got["db_duplicate"]))
	}
	mustClose(t, e)
	w.crawl(w.options(dir), engine.CrawlOptions{})
	e = open(t, w.options(dir))
	defer mustClose(t, e)
	w.checkTruth(e)
}

// TestCutOffPage: a page that was half received when its crawl was canceled or aborted stays due, and the next crawl
// fetches all of it.
func TestCutOffPage(t *testing.T) {
	for _, aborted := range []bool{false, true} {
		half := make(chan bool, 1)
		var whole atomic.Bool
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/" {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<title>Half</title>")
			if !whole.Load() {
				w.(http.Flusher).Flush()
				half <- true
				<-r.Context().Done()
				return
			}
			fmt.Fprint(w, "<p>and half")
		}))
		defer s.Close()
		e := open(t, siteOptions(t))
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			<-half
			time.Sleep(50 * time.Millisecond) // until the half is received
			cancel()
		}()
		c := crawlFrom(s.URL)
		var err error
		if aborted {
			c.Abort = ctx
			_, err = e.Crawl(context.Background(), c)
		} else {
			_, err = e.Crawl(ctx, c)
		}
		if aborted != (err != nil) {
			t.Errorf("aborted %t: %v", aborted, err)
		}
		whole.Store(true)
		if r, err := e.Crawl(context.Background(), crawlFrom(s.URL)); err != nil || r.Fetched != 1 {
			t.Errorf("aborted %t: the next crawl: %v, %v", aborted, r, err)
		}
		for p, err := range e.Inspect().ParseRecords(context.Background(), 0, s.URL) {
			if err != nil || p.Text != "and half" || p.Truncated != "" {
				t.Errorf("aborted %t: %q, truncated by %q, %v", aborted, p.Text, p.Truncated, err)
			}
		}
		mustClose(t, e)
	}
}

// TestPhaseOrder: a phase refuses a segment in the wrong state, and says which state it needs.
func TestPhaseOrder(t *testing.T) {
	w := newWorld(t, 2, 5)
	e := open(t, w.options(dataDir(t)))
	defer mustClose(t, e)
	ctx := context.Background()
	if _, err := e.Inject(ctx, w.seeds()); err != nil {
		t.Fatal(err)
	}
	g, err := e.Generate(ctx, engine.GenerateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.UpdateDB(ctx, g.Segment); err == nil || !strings.Contains(err.Error(), "is open, want sealed") {
		t.Errorf("updatedb of an open segment: %v", err)
	}
	if _, err := e.UpdateDB(ctx, 99); err == nil || !strings.Contains(err.Error(), "no segment 99") {
		t.Errorf("updatedb of no segment: %v", err)
	}
	_, err = e.Inspect().NewestSegment(storage.SegmentSealed)
	if err == nil || !strings.Contains(err.Error(), `run "seine fetch" first`) {
		t.Errorf("newest sealed segment: %v", err)
	}
	if _, err := e.Generate(ctx, engine.GenerateOptions{}); !errors.Is(err, engine.ErrNothingDue) {
		t.Errorf("generating what is already in a fetchlist: %v", err)
	}
}

// TestNoIndex: a crawl without an index leaves the same crawldb and linkdb, and an index made afterwards is the same.
func TestNoIndex(t *testing.T) {
	w := newWorld(t, 6, 25)
	whole := dataDir(t)
	w.crawl(w.options(whole), engine.CrawlOptions{Inject: w.seeds()})
	want := open(t, w.options(whole))
	defer mustClose(t, want)

	o := w.options(dataDir(t))
	o.NoIndex = true
	if r := w.crawl(o, engine.CrawlOptions{Inject: w.seeds()}); r.Indexed != 0 {
		t.Errorf("%d indexed", r.Indexed)
	}
	got := open(t, o)
	defer mustClose(t, got)
	sameDigest(t, digestWithoutIndex(t, got), digestWithoutIndex(t, want))
	if s, err := got.Inspect().IndexStats(); err != nil || s.Documents != 0 {
		t.Errorf("%d documents in the index, %v", s.Documents, err)
	}
	if _, err := got.Index(context.Background(), engine.IndexOptions{Refresh: true}); err != nil {
		t.Fatal(err)
	}
	sameDigest(t, digest(t, got), digest(t, want))
}

// TestStageCPU: processor time by stage adds up to that of the process, and every stage has some.
func TestStageCPU(t *testing.T) {
	w := newWorld(t, 6, 25)
	r := w.crawl(w.options(dataDir(t)), engine.CrawlOptions{Inject: w.seeds()})
	var sum float64
	by := map[string]float64{}
	for _, s := range r.CPUByStage {
		if s.Seconds < 0 {
			t.Errorf("%s took %v s", s.Stage, s.Seconds)
		}
		sum += s.Seconds
		by[s.Stage] = s.Seconds
	}
	// The clocks of threads and of the process tick apart.
	if sum < r.CPUSeconds-0.02 || by["fetch"] > 0 && sum > r.CPUSeconds+0.02 {
		t.Errorf("stages add up to %.3f s, the process took %.3f: %s", sum, r.CPUSeconds, r.CPUByStage)
	}
	for _, s := range []string{"fetch", "warc", "parse", "seal", "updatedb", "invertlinks", "index"} {
		if by[s] == 0 {
			t.Errorf("%s took no time: %s", s, r.CPUByStage)
		}
	}
}
