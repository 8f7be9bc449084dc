// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// TestInspectBesideCrawl: every view can be had while a crawl runs, and none finds damage in what the crawl is about to
// write.
func TestInspectBesideCrawl(t *testing.T) {
	w := newWorld(t, 6, 60)
	o := w.options(dataDir(t))
	e := open(t, o)
	defer mustClose(t, e)
	c := crawlBeside(t.Context(), t, e, engine.CrawlOptions{Inject: w.seeds()})
	await(t, e, "the first pages", func(s engine.Status) bool {
		return s.Store.URLs[storage.StatusFetched] > 0
	})
	rounds := 0
	for running := true; running; rounds++ {
		inspectAll(t, e, w.Web.Root(0))
		s, err := e.Inspect().Status()
		if err != nil {
			t.Fatal(err)
		}
		throughJSON(t, s)
		running = s.Running && !t.Failed()
	}
	t.Logf("%d rounds", rounds)
	c.wait()
	w.checkTruth(e)
}

// inspectAll calls everything that an Inspector has.
func inspectAll(t *testing.T, e *engine.Engine, url string) {
	t.Helper()
	ctx := context.Background()
	in := e.Inspect()
	counts := map[string]int{
		"records":  drain(t, in.Records(ctx, engine.RecordFilter{})),
		"hosts":    drain(t, in.Hosts(ctx, engine.HostFilter{})),
		"top":      drain(t, in.Hosts(ctx, engine.HostFilter{Top: 3})),
		"links":    drain(t, in.Links(ctx)),
		"inlinks":  drain(t, in.Inlinks(ctx, url, 10)),
		"segments": drain(t, in.Segments(ctx)),
		"parsed":   drain(t, in.ParseRecords(ctx, 0, "")),
	}
	for what, n := range counts {
		switch what {
		case "links", "inlinks", "parsed": // no segment may be linked yet, and the last one of a crawl may be empty
			continue
		}
		if n == 0 {
			t.Errorf("no %s", what)
		}
	}
	_, err := in.Record(url)
	fail(t, "record", err)
	_, err = in.TopRecords(ctx, 5)
	fail(t, "top records", err)
	_, err = in.Stats(ctx, true)
	fail(t, "stats", err)
	_, err = in.Segment(1)
	fail(t, "segment", err)
	_, err = in.Check(url, policy.NormalizeOutlink)
	fail(t, "check", err)
	fail(t, "cdxj", in.ExportCDXJ(ctx, new(bytes.Buffer)))
	v, err := in.Verify(ctx)
	fail(t, "verify", err)
	if v.Problems > 0 {
		t.Error(v)
	}
	_, err = e.Search(ctx, "harbour", engine.SearchOptions{Deadline: patient})
	fail(t, "search", err)
	_, err = e.Inspect().History(0)
	fail(t, "history", err)
	_, err = e.Inspect().HostNow("localhost")
	fail(t, "host", err)
	tellAll(t, in, url)
}

// tellAll calls what an Inspector tells of one URL, of its host, and of all.
func tellAll(t *testing.T, in *engine.Inspector, url string) {
	t.Helper()
	ctx := context.Background()
	s, err := in.URLStory(ctx, url)
	fail(t, "story", err)
	if s.Record == nil {
		t.Errorf("the story of %s has no record", url)
	}
	captures := drain(t, in.Captures(ctx, url))
	copied, err := in.StoredCopy(ctx, url, time.Time{})
	switch {
	case errors.Is(err, engine.ErrNotFound) && captures == 0: // no segment is sealed yet
	case err != nil:
		t.Errorf("stored copy: %v", err)
	case len(copied.Body) == 0:
		t.Error("the stored copy has no body")
	}
	h, err := in.HostStory(ctx, strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/"))
	fail(t, "host story", err)
	if h.Host == "" {
		t.Error("the story of a host has no host")
	}
	for _, kind := range engine.ReportKinds() {
		drain(t, in.Report(ctx, kind, 10))
	}
	_, err = in.IndexStats()
	fail(t, "index", err)
	fail(t, "documents", in.Documents(ctx, func(*policy.IndexChange) error { return nil }))
}

func fail(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// drain counts what a stream has.
func drain[T any](t *testing.T, seq iter.Seq2[T, error]) (n int) {
	t.Helper()
	for _, err := range seq {
		if err != nil {
			if !errors.Is(err, engine.ErrNotFound) {
				t.Error(err)
			}
			return n
		}
		n++
	}
	return n
}

// TestSearchableBeforeSettled: the pages of each segment of a crawl can be found before the crawl settles what only the
// whole of it can decide, which looks at much more. That index run takes no segments.
func TestSearchableBeforeSettled(t *testing.T) {
	w := newWorld(t, 3, 20)
	o := w.options(dataDir(t))
	var mu sync.Mutex // two lanes report
	var runs [][]uint32
	o.Events.PhaseDone = func(r engine.Report) {
		if x, ok := r.(engine.IndexReport); ok {
			mu.Lock()
			defer mu.Unlock()
			runs = append(runs, x.Segments)
		}
	}
	e := open(t, o)
	defer mustClose(t, e)
	r, err := e.Crawl(t.Context(), engine.CrawlOptions{Inject: w.seeds()})
	fail(t, "crawl", err)
	last := len(runs) - 1
	if last < 1 || len(runs[last]) != 0 {
		t.Fatalf("index runs of segments %v; want the last one to settle, without segments", runs)
	}
	if n := len(slices.Concat(runs...)); n < int(r.Segments) {
		t.Errorf("index runs of segments %v; the crawl filled %d", runs, r.Segments)
	}
}
