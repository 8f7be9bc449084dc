// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// phaseCalls are calls of the methods that change a data directory in which all is indexed. page is one of its pages,
// list an open segment, part a directory that does not exist.
func phaseCalls(e *engine.Engine, page string, list uint32, part string) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Inject": func(ctx context.Context) error {
			_, err := e.Inject(ctx, seeds(page))
			return err
		},
		"Generate": func(ctx context.Context) error {
			_, err := e.Generate(ctx, engine.GenerateOptions{AddDays: 99})
			return err
		},
		"FreeGenerate": func(ctx context.Context) error {
			_, err := e.FreeGenerate(ctx, engine.FreeGenerateOptions{URLs: []string{page}})
			return err
		},
		"Fetch": func(ctx context.Context) error {
			_, err := e.Fetch(ctx, engine.FetchOptions{Segment: list})
			return err
		},
		"Seal":        func(ctx context.Context) error { _, err := e.Seal(ctx, list); return err },
		"UpdateDB":    func(ctx context.Context) error { _, err := e.UpdateDB(ctx, 1); return err },
		"InvertLinks": func(ctx context.Context) error { _, err := e.InvertLinks(ctx, 1); return err },
		"Dedup": func(ctx context.Context) error {
			_, err := e.Dedup(ctx, engine.DedupOptions{Order: "time"})
			return err
		},
		"Index": func(ctx context.Context) error { _, err := e.Index(ctx, engine.IndexOptions{}); return err },
		"Refresh": func(ctx context.Context) error {
			_, err := e.Index(ctx, engine.IndexOptions{Refresh: true})
			return err
		},
		"MergeOnly": func(ctx context.Context) error {
			_, err := e.Index(ctx, engine.IndexOptions{MergeOnly: true})
			return err
		},
		"Recover": e.Recover,
		"Recrawl": func(ctx context.Context) error { _, err := e.Recrawl(ctx, page); return err },
		"Delete":  func(ctx context.Context) error { _, err := e.Delete(ctx, page); return err },
		"Unknown": func(ctx context.Context) error { _, err := e.Delete(ctx, page+"/nowhere"); return err },
		"Purge":   func(ctx context.Context) error { _, err := e.Purge(ctx); return err },
		"Filter":  func(ctx context.Context) error { _, err := e.Filter(ctx); return err },
		"Rank": func(ctx context.Context) error {
			_, err := e.Linkdb().Rank(ctx, engine.LinkRankOptions{})
			return err
		},
		"Merge": func(ctx context.Context) error {
			_, err := e.Linkdb().Merge(ctx, engine.MergeLinksOptions{})
			return err
		},
		"MergeDB": func(ctx context.Context) error {
			_, err := e.MergeDB(ctx, engine.MergeDBOptions{})
			return err
		},
		"SplitDB": func(ctx context.Context) error {
			_, err := e.SplitDB(ctx, engine.SplitDBOptions{Dir: part, Part: 1, Parts: 2, Move: true})
			return err
		},
	}
}

// indexedPage returns a page that is indexed.
func indexedPage(t *testing.T, e *engine.Engine) string {
	t.Helper()
	pages := engine.RecordFilter{Statuses: []storage.Status{storage.StatusFetched}}
	for r, err := range e.Inspect().Records(ctx, pages) {
		if err != nil {
			t.Fatal(err)
		}
		return r.URL
	}
	t.Fatal("no page")
	return ""
}

// TestEndedContext: a phase whose context has ended returns the context's error and writes nothing, whether it had much
// to do or nothing.
func TestEndedContext(t *testing.T) {
	o, want := crawled(t, anyHostWeb(t, 4, 10))
	e := open(t, o)
	defer mustClose(t, e)
	page, part := indexedPage(t, e), dataDir(t)
	list, err := e.FreeGenerate(ctx, engine.FreeGenerateOptions{URLs: []string{page}})
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	calls := phaseCalls(e, page, list.Segment, part)
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		if err := calls[name](ended); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	sameDigest(t, digest(t, e), want)
	if _, err := os.Stat(part); err == nil {
		t.Error("SplitDB made a directory")
	}
}

// TestReadOnlyPhases: on an engine that is open for reading only each method that writes says so, sends no request and
// changes no file: not even what a purge that was cut short left.
func TestReadOnlyPhases(t *testing.T) {
	web := anyHostWeb(t, 4, 10)
	o, _ := crawled(t, web)
	e := open(t, o)
	page, part := indexedPage(t, e), dataDir(t)
	list, err := e.FreeGenerate(ctx, engine.FreeGenerateOptions{URLs: []string{page}})
	if err != nil {
		t.Fatal(err)
	}
	mustClose(t, e)
	left := filepath.Join(o.Dir, "warc", segment.FileName(1, 99))
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before := filesOf(t, o.Dir)
	o.ReadOnly = true
	o.OnPage = func(p *engine.Page) { t.Errorf("fetched %s", p.URL) }
	e = open(t, o)
	calls := phaseCalls(e, page, list.Segment, part)
	calls["Crawl"] = func(ctx context.Context) error { _, err := e.Crawl(ctx, engine.CrawlOptions{}); return err }
	calls["Remember"] = func(context.Context) error { return e.Remember(map[string]string{"a": "b"}) }
	calls["Block"] = func(context.Context) error { return e.Block("blocked.example") }
	calls["Unblock"] = func(context.Context) error { return e.Unblock("blocked.example") }
	says := map[string]string{
		"Inject": "injecting", "Generate": "generating", "FreeGenerate": "freegen", "Fetch": "fetching",
		"Seal": "parsing", "UpdateDB": "updatedb", "InvertLinks": "invertlinks", "Dedup": "dedup",
		"Index": "index", "Refresh": "index", "MergeOnly": "index", "Recover": "recovering", "Recrawl": "recrawl",
		"Delete": "delete", "Unknown": "delete", "Purge": "purging", "Filter": "filtering", "Rank": "ranking links",
		"Merge": "merging linkdb", "MergeDB": "mergedb", "SplitDB": "splitdb", "Crawl": "crawling",
		"Remember": "storing settings", "Block": "blocking hosts", "Unblock": "unblocking hosts",
	}
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		want := says[name] + ": store is open for reading only"
		if err := calls[name](ctx); !errors.Is(err, engine.ErrReadOnly) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	mustClose(t, e)
	if after := filesOf(t, o.Dir); !maps.Equal(before, after) {
		t.Errorf("files changed: %q, before %q", slices.Sorted(maps.Keys(after)), slices.Sorted(maps.Keys(before)))
	}
	if _, err := os.Stat(part); err == nil {
		t.Error("SplitDB made a directory")
	}
}

// endlessLines are lines of URLs without end. The first call of Read begins to close an engine.
type endlessLines struct {
	begin func()
	begun bool
}

func (r *endlessLines) Read(b []byte) (int, error) {
	if !r.begun {
		r.begun = true
		r.begin()
	}
	return copy(b, "http://endless.example/\n"), nil
}

// TestCloseEndsDedupURLs: Close ends a call that reads lines, with ErrClosed: the context of the caller has not ended.
func TestCloseEndsDedupURLs(t *testing.T) {
	e := open(t, engine.Options{Dir: dataDir(t)})
	closed := make(chan error, 1)
	lines := &endlessLines{begin: func() { go func() { closed <- e.Close() }() }}
	_, err := e.DedupURLs(ctx, engine.DedupURLsOptions{Readers: []io.Reader{lines}})
	if !errors.Is(err, engine.ErrClosed) || errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// TestCloseEndsFilter: Close ends a filtering, with ErrClosed, and what it has not deleted stays.
func TestCloseEndsFilter(t *testing.T) {
	o, want := crawled(t, anyHostWeb(t, 4, 10))
	var e *engine.Engine
	var armed atomic.Bool
	closed := make(chan error, 1)
	o.Filters = policy.URLFilters{policy.URLFilterFunc(func(urlkey.URL) string {
		if !armed.CompareAndSwap(true, false) {
			return ""
		}
		go func() { closed <- e.Close() }()
		for err := error(nil); !errors.Is(err, engine.ErrClosed); _, err = e.Inspect().Status() {
			runtime.Gosched()
		}
		return "other"
	})}
	e = open(t, o)
	armed.Store(true)
	if _, err := e.Filter(ctx); !errors.Is(err, engine.ErrClosed) || errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	e = open(t, o)
	defer mustClose(t, e)
	sameDigest(t, digest(t, e), want)
}

// TestSealBesideUpdateDB: where updatedb is quicker than a second parse of a segment, the error of that is the one that
// Seal promises, and what updatedb read stays.
func TestSealBesideUpdateDB(t *testing.T) {
	web := anyHostWeb(t, 2, 5)
	o := web.options(dataDir(t))
	var again atomic.Bool
	update := func() error { return errors.New("it was not called") }
	o.Parsers.Filters = []parse.Filter{parse.FilterFunc(func(*parse.Input, *parse.Page) error {
		if again.CompareAndSwap(true, false) {
			if err := update(); err != nil {
				t.Error(err)
			}
		}
		return nil
	})}
	e := open(t, o)
	defer mustClose(t, e)
	segment := fetchOnce(t, e, web.seeds)
	update = func() error { _, err := e.UpdateDB(ctx, segment); return err }
	again.Store(true)
	if _, err := e.Seal(ctx, segment); !errors.Is(err, engine.ErrWrongState) {
		t.Error(err)
	}
	if s, err := e.Inspect().Segment(segment); err != nil || s.State != storage.SegmentUpdated {
		t.Errorf("%+v, %v", s, err)
	}
}

// fetchOnce injects seeds and fetches them. It returns the segment, which is sealed.
func fetchOnce(t *testing.T, e *engine.Engine, o engine.InjectOptions) uint32 {
	t.Helper()
	if _, err := e.Inject(ctx, o); err != nil {
		t.Fatal(err)
	}
	list, err := e.Generate(ctx, engine.GenerateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Fetch(ctx, engine.FetchOptions{Segment: list.Segment}); err != nil {
		t.Fatal(err)
	}
	return list.Segment
}

// TestUpdateDBBesideSeal: a parse of a segment that ends while updatedb reads it changes nothing: linkdb gets the links
// that crawldb got.
func TestUpdateDBBesideSeal(t *testing.T) {
	web := anyHostWeb(t, 2, 5)
	o := web.options(dataDir(t))
	var again, reads atomic.Bool
	sealed := make(chan error, 1)
	o.Parsers.Filters = []parse.Filter{parse.FilterFunc(func(_ *parse.Input, p *parse.Page) error {
		if again.Load() {
			p.Outlinks = nil
		}
		return nil
	})}
	seal := func() error { return errors.New("it was not called") }
	o.Filters = policy.URLFilters{policy.URLFilterFunc(func(urlkey.URL) string {
		if reads.CompareAndSwap(true, false) {
			go func() { sealed <- seal() }()
			for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end) && len(sealed) == 0; {
				time.Sleep(time.Millisecond)
			}
		}
		return ""
	})}
	e := open(t, o)
	defer mustClose(t, e)
	segment := fetchOnce(t, e, web.seeds)
	seal = func() error { _, err := e.Seal(ctx, segment); return err }
	again.Store(true)
	reads.Store(true)
	r, err := e.UpdateDB(ctx, segment)
	if err != nil || r.New == 0 {
		t.Fatalf("%s, %v", r, err)
	}
	if err := <-sealed; !errors.Is(err, engine.ErrWrongState) {
		t.Errorf("the parse beside updatedb: %v, want %v", err, engine.ErrWrongState)
	}
	links, err := e.InvertLinks(ctx, segment)
	if err != nil || links.Inlinks == 0 {
		t.Errorf("%s, %v: crawldb has %d URLs of links", links, err, r.New)
	}
}
