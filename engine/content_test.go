// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestParseLater: a fetch leaves its segment to be parsed, by Seal or by the next crawl, and a crawl parses what it
// needs. What is left is what is left when pages are parsed at once.
func TestParseLater(t *testing.T) {
	n := redirectingSeed(t)
	ctx := context.Background()
	want := ""
	for _, later := range []bool{false, true} {
		for way, run := range bothWays {
			o := n.options(dataDir(t))
			if o.ParseLater = later; way == "batch" && later {
				run = func(t *testing.T, o engine.Options, in engine.InjectOptions) {
					e := open(t, o)
					defer mustClose(t, e)
					parseLater(t, e, in)
				}
			}
			run(t, o, n.seeds("a.test/", "b.test/"))
			if got := digestOf(t, o); want == "" {
				want = got
			} else {
				sameDigest(t, got, want)
			}
		}
	}

	o := n.options(dataDir(t))
	o.ParseLater = true
	e := open(t, o)
	defer mustClose(t, e)
	if _, err := e.Inject(ctx, n.seeds("a.test/", "b.test/")); err != nil {
		t.Fatal(err)
	}
	g, err := e.Generate(ctx, engine.GenerateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if unparsed, err := e.Inspect().UnparsedSegments(); len(unparsed) != 0 || err != nil {
		t.Errorf("a fetchlist counts as fetched: %d, %v", unparsed, err)
	}
	r, err := e.Fetch(ctx, engine.FetchOptions{Segment: g.Segment})
	if err != nil {
		t.Fatal(err)
	}
	if r.Fetched != 1 || r.Redirected != 1 {
		t.Errorf("%s", r)
	}
	if unparsed, err := e.Inspect().UnparsedSegments(); !slices.Equal(unparsed, []uint32{g.Segment}) || err != nil {
		t.Errorf("segments %d wait to be parsed: %v; want %d", unparsed, err, g.Segment)
	}
	if _, err := e.UpdateDB(ctx, g.Segment); !errors.Is(err, engine.ErrWrongState) {
		t.Errorf("updatedb before parse: %v", err)
	}
	if _, err := e.Crawl(ctx, engine.CrawlOptions{}); err != nil {
		t.Fatal(err)
	}
	sameDigest(t, digest(t, e), want)
}

// parseLater is batch with a parse of its own between fetch and updatedb.
func parseLater(t *testing.T, e *engine.Engine, in engine.InjectOptions) {
	t.Helper()
	ctx := context.Background()
	if _, err := e.Inject(ctx, in); err != nil {
		t.Fatal(err)
	}
	for {
		g, err := e.Generate(ctx, engine.GenerateOptions{})
		if errors.Is(err, engine.ErrNothingDue) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Fetch(ctx, engine.FetchOptions{Segment: g.Segment}); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Seal(ctx, g.Segment); err != nil {
			t.Fatal(err)
		}
		finish(t, e, g.Segment)
	}
	if _, err := e.Index(ctx, engine.IndexOptions{Refresh: true}); err != nil {
		t.Fatal(err)
	}
}

// TestNoContent: without content all but the content is kept, the store verifies, and pages are not parsed again.
func TestNoContent(t *testing.T) {
	n := redirectingSeed(t)
	ctx := context.Background()
	want := ""
	for _, without := range []bool{false, true} {
		o := n.options(dataDir(t))
		o.NoContent = without
		crawlInTurns(t, o, n.seeds("a.test/", "b.test/"), 0)
		if got := digestOf(t, o); want == "" {
			want = got
		} else {
			sameDigest(t, got, want)
		}
		e := open(t, o)
		verify(t, e)
		mustClose(t, e)
	}
	o := n.options(dataDir(t))
	o.NoContent = true
	e := open(t, o)
	defer mustClose(t, e)
	if _, err := e.Inject(ctx, n.seeds("a.test/")); err != nil {
		t.Fatal(err)
	}
	g, err := e.Generate(ctx, engine.GenerateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Fetch(ctx, engine.FetchOptions{Segment: g.Segment}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Seal(ctx, g.Segment); !errors.Is(err, engine.ErrNoContent) {
		t.Errorf("parsing again: %v", err)
	}
	finish(t, e, g.Segment)
	if seg, err := e.Inspect().Segment(g.Segment); err != nil || seg.State != storage.SegmentIndexed {
		t.Errorf("%+v, %v", seg, err)
	}
	o.Dir, o.ParseLater = dataDir(t), true
	if _, err := engine.Open(o); err == nil {
		t.Error("both ParseLater and NoContent are accepted")
	}
}

// TestNoContentKilled: a crawl without content that is killed fetches the pages of its unfinished segment again, and
// what their first responses left in the WARC is no damage.
func TestNoContentKilled(t *testing.T) {
	n := redirectingSeed(t)
	o := n.options("/crawl")
	fs := storage.NewCrashableFS()
	var left *storage.CrashableFS
	var lost string
	var once sync.Once
	o.FS, o.NoContent = fs, true
	o.Events.PageStored = func(u urlkey.URL, a *storage.FetchOutcome) {
		if a.Status == storage.FetchSuccess {
			once.Do(func() { left, lost = fs.Crash(100, 1), u.String() })
		}
	}
	crawlInTurns(t, o, n.seeds("a.test/", "b.test/"), 0)
	want := digestOf(t, o)

	o.FS, o.Events.PageStored = left, nil
	n.again("", 0)
	crawlInTurns(t, o, n.seeds("a.test/", "b.test/"), 0)
	e := open(t, o)
	defer mustClose(t, e)
	verify(t, e)
	sameDigest(t, digest(t, e), want)
	for page := range n.pages {
		if got := n.count(page); n.spell("HOST:"+page) == lost && got != 1 {
			t.Errorf("%s was requested %d times after the crash, want once", page, got)
		}
	}
}
