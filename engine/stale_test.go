// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// staleWeb is a web that changes: texts, of which some are equal, links and anchors, titles and what those of a host
// share, pages that come and go.
type staleWeb struct {
	*names
	rng   *rand.Rand
	paths []string
	sites map[string]string // what the titles of a host end with
}

func newStaleWeb(t *testing.T, rng *rand.Rand) *staleWeb {
	w := &staleWeb{rng: rng, sites: map[string]string{}}
	pages := map[string]string{}
	for host, n := range map[string]int{"a.test": 14, "b.test": 9, "www.b.test": 4} {
		for i := range n {
			pages[fmt.Sprintf("%s/%02d", host, i)] = ""
		}
	}
	w.names = newNames(t, pages)
	for _, host := range []string{"a.test", "b.test", "www.b.test"} {
		w.sites[host] = " | Site"
		for i := range 14 {
			if path := fmt.Sprintf("%s/%02d", host, i); w.has(path) {
				w.paths = append(w.paths, path)
			}
		}
	}
	for _, path := range w.paths {
		w.write(path)
	}
	return w
}

func (w *staleWeb) has(path string) bool { _, ok := w.pages[path]; return ok }

// write writes a page anew.
func (w *staleWeb) write(path string) {
	var b strings.Builder
	host, name, _ := strings.Cut(path, "/")
	if w.rng.IntN(3) == 0 {
		w.pages[path] = fmt.Sprintf("<title>same</title><p>one of the texts %d that several pages have", w.rng.IntN(3))
		return
	}
	fmt.Fprintf(&b, "<title>page %s%s</title><p>", name, w.sites[host])
	fmt.Fprintf(&b, "a text of its own for %s %d", path, w.rng.IntN(5))
	for range w.rng.IntN(6) {
		fmt.Fprintf(&b, ` <a href="HOST:%s">anchor %d</a>`, w.paths[w.rng.IntN(len(w.paths))], w.rng.IntN(4))
	}
	w.pages[path] = b.String()
}

// change changes a few pages and returns their URLs and others', at least one.
func (w *staleWeb) change() (urls []string) {
	for len(urls) == 0 {
		urls = w.tryChange()
	}
	return urls
}

func (w *staleWeb) tryChange() (urls []string) {
	host := ""
	if w.rng.IntN(4) == 0 {
		host = []string{"a.test", "b.test"}[w.rng.IntN(2)]
		w.sites[host] = []string{" | Site", " | Other", ""}[w.rng.IntN(3)]
	}
	for _, path := range w.paths {
		switch of, _, _ := strings.Cut(path, "/"); {
		case of == host || w.rng.IntN(12) == 0:
			w.write(path)
		case w.rng.IntN(30) == 0:
			delete(w.pages, path)
		case w.rng.IntN(12) != 0:
			continue
		}
		urls = append(urls, w.spell("HOST:"+path))
	}
	return urls
}

// TestStale changes a web, fetches some of it again, in a crawl or by the phases, whole or in part, deletes and injects
// pages. Whatever comes before it, the end of a crawl leaves the index that a refresh of all documents does; also if
// the power failed at any moment before it.
func TestStale(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 1))
			w := newStaleWeb(t, rng)
			fs := storage.NewCrashableFS()
			o := w.options("/data")
			o.FS, o.Scope, o.MaxInlinks, o.TrapDuplicates = fs, policy.ScopeAny, 4, -1
			o.Processors = 1 + int(seed) // so many parts of an indexing
			var losses []*storage.CrashableFS
			lossy := func(int) bool { return false }
			var mu sync.Mutex // two lanes of a crawl report
			o.Events.PhaseDone = func(engine.Report) {
				mu.Lock()
				defer mu.Unlock()
				if lossy(6) {
					losses = append(losses, fs.Crash([]int{0, 50, 100}[rng.IntN(3)], rng.Uint64()))
				}
			}
			e := open(t, o)
			defer func() { mustClose(t, e) }()
			crawl(t, e, w.seeds(w.paths[:len(w.paths)/2]...))
			lossy = func(n int) bool { return rng.IntN(n) == 0 }
			for range 12 {
				step(t, e, w)
				if rng.IntN(2) == 0 {
					crawl(t, e, engine.InjectOptions{})
					c := o
					c.FS, c.Events = fs.Crash(100, 1), engine.EventListener{}
					checkRefreshed(t, c)
				}
			}
			for i, loss := range losses {
				c := o
				c.FS, c.Events = loss, engine.EventListener{}
				l := open(t, c)
				crawl(t, l, engine.InjectOptions{})
				mustClose(t, l)
				checkRefreshed(t, c)
				if t.Failed() {
					t.Fatalf("power loss %d of %d", i, len(losses))
				}
			}
		})
	}
}

func crawl(t *testing.T, e *engine.Engine, in engine.InjectOptions) {
	t.Helper()
	if _, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: in}); err != nil {
		t.Fatal(err)
	}
}

// step does one thing that a refresh must see.
func step(t *testing.T, e *engine.Engine, w *staleWeb) {
	t.Helper()
	ctx := context.Background()
	var err error
	switch w.rng.IntN(6) {
	case 0:
		_, err = e.Delete(ctx, w.spell("HOST:"+w.paths[w.rng.IntN(len(w.paths))]))
		if errors.Is(err, engine.ErrWrongState) {
			err = nil
		}
	case 1:
		in := w.seeds(w.paths[w.rng.IntN(len(w.paths))])
		in.Overwrite = w.rng.IntN(2) == 0
		_, err = e.Inject(ctx, in)
	default:
		if _, err = e.Recrawl(ctx, w.change()...); err == nil && w.rng.IntN(2) == 0 {
			err = partly(ctx, e, w.rng.IntN(6))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// partly fetches some of what is due and runs so many phases.
func partly(ctx context.Context, e *engine.Engine, phases int) error {
	g, err := e.Generate(ctx, engine.GenerateOptions{Top: 8})
	if errors.Is(err, engine.ErrNothingDue) {
		return nil
	}
	if err == nil {
		_, err = e.Fetch(ctx, engine.FetchOptions{Segment: g.Segment})
	}
	for i, phase := range []func() error{
		func() error { _, err := e.UpdateDB(ctx, g.Segment); return err },
		func() error { _, err := e.InvertLinks(ctx, g.Segment); return err },
		func() error { _, err := e.Dedup(ctx, engine.DedupOptions{Segments: []uint32{g.Segment}}); return err },
		func() error { _, err := e.Index(ctx, engine.IndexOptions{Segments: []uint32{g.Segment}}); return err },
		func() error { _, err := e.Linkdb().Merge(ctx, engine.MergeLinksOptions{}); return err },
	} {
		if i < phases && err == nil {
			err = phase()
		}
	}
	return err
}

// checkRefreshed checks that a refresh of all documents changes nothing.
func checkRefreshed(t *testing.T, o engine.Options) {
	t.Helper()
	e := open(t, o)
	ctx := context.Background()
	before, err := e.Inspect().IndexDigest(ctx)
	var r engine.IndexReport
	if err == nil {
		r, err = e.Index(ctx, engine.IndexOptions{Refresh: true, EveryDocument: true})
	}
	after, err2 := e.Inspect().IndexDigest(ctx)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	if r.Added+r.Refreshed+r.Deleted != 0 || before != after {
		t.Errorf("the index was not up to date: %s", r)
	}
	mustClose(t, e)
	rules := titleRows(t, o)
	o.Processors = 1
	e = open(t, o)
	if _, err := e.Index(ctx, engine.IndexOptions{Refresh: true, EveryDocument: true}); err != nil {
		t.Fatal(err)
	}
	mustClose(t, e)
	if want := titleRows(t, o); !maps.Equal(rules, want) {
		t.Errorf("in parts, a refresh of all documents leaves the rules of titles %q, want %q", rules, want)
	}
}

// titleRows are what is stored of the titles of each host.
func titleRows(t *testing.T, o engine.Options) map[string]string {
	t.Helper()
	s, err := storage.Open(o.Dir+"/store", storage.Options{FS: o.FS, MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	sc := s.Scan(storage.Meta(), []byte("title/"), []byte("title0"))
	for sc.Next() {
		rows[string(sc.Key())] = string(sc.Value())
	}
	if err := errors.Join(sc.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	return rows
}
