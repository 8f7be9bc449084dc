// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestPurgeThenDelete: the links of versions that were replaced are forgotten, so that a later deletion of their page
// leaves none of them, and no anchor.
func TestPurgeThenDelete(t *testing.T) {
	removalWays(t, func(t *testing.T, fill func(*engine.Engine, engine.InjectOptions)) {
		r := newRemoval(t, nil)
		defer func() { mustClose(t, r.e) }()
		fill(r.e, r.n.seeds("a.test/"))
		if _, err := r.e.Recrawl(context.Background(), r.url("a.test/secret")); err != nil {
			t.Fatal(err)
		}
		fill(r.e, engine.InjectOptions{})
		if p := r.purge(); p.Parsed != 1 || p.Inlinks != 0 || p.Refreshed != 0 {
			t.Errorf("one replaced version, whose links went when the crawl ended: %+v", p)
		}
		r.finds(map[string]int{"semaphore": 2})
		if d := r.delete(r.url("a.test/secret")); d.Refreshed != 1 {
			t.Errorf("%+v", d)
		}
		for l, err := range r.e.Inspect().Inlinks(context.Background(), r.url("a.test/docs/2"), 10) {
			if err != nil || strings.HasSuffix(l.From, "/secret") {
				t.Errorf("a deleted page links: %+v, %v", l, err)
			}
		}
		r.finds(map[string]int{"semaphore": 0})
	})
}

// versions is a web whose pages change their links.
type versions struct {
	mu    sync.Mutex
	links map[string]map[link]bool // by page
	asked []string                 // pages requested since the last look
	n     *names
}

// link is a link of a page, as the page says it.
type link struct{ to, anchor string }

func (v *versions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	host, _, _ := strings.Cut(r.Host, ":")
	page := host + r.URL.Path
	if v.links[page] == nil {
		http.NotFound(w, r)
		return
	}
	v.asked = append(v.asked, page)
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprintf(w, "<title>%s</title>", page)
	for l := range v.links[page] {
		fmt.Fprint(w, v.n.spell(fmt.Sprintf(`<p><a href="HOST:%s">%s</a>`, l.to, l.anchor)))
	}
}

// inlink is an inlink as linkdb has it.
type inlink struct {
	to, from, anchor string
	segment          uint32
}

// linkdbModel says what linkdb holds.
type linkdbModel struct {
	links  map[inlink]bool
	newest map[string]uint32 // segment of a page's newest version
}

func (m *linkdbModel) fetched(segment uint32, page string, links map[link]bool) {
	m.newest[page] = max(m.newest[page], segment)
	for l := range links {
		if l.to != page {
			m.links[inlink{l.to, page, l.anchor, segment}] = true
		}
	}
}

func (m *linkdbModel) deleted(page string) {
	delete(m.newest, page)
	maps.DeleteFunc(m.links, func(l inlink, _ bool) bool { return l.to == page || l.from == page })
}

func (m *linkdbModel) purged() {
	maps.DeleteFunc(m.links, func(l inlink, _ bool) bool { return l.segment < m.newest[l.from] })
}

// TestLinkdbModel: whatever the order of refetches, purges, deletions and phases, linkdb holds the links of the
// versions that were neither deleted nor replaced before a purge, and a purge leaves nothing in the index to refresh.
func TestLinkdbModel(t *testing.T) {
	checks := flag.Lookup("rapid.checks")
	if was := checks.Value.String(); was == checks.DefValue {
		if err := checks.Value.Set("15"); err != nil {
			t.Fatal(err)
		}
		defer checks.Value.Set(was)
	}
	pages := []string{"a.test/", "a.test/1", "a.test/2", "b.test/", "b.test/1"}
	n := newNames(t, map[string]string{"a.test/": "", "b.test/": ""})
	v := &versions{n: n}
	n.serveBy(t, v)
	rapid.Check(t, func(rt *rapid.T) {
		v.links = map[string]map[link]bool{}
		change := func(page string) {
			v.links[page] = map[link]bool{}
			for range rapid.IntRange(0, 4).Draw(rt, "links") {
				to := rapid.SampledFrom(pages).Draw(rt, "to")
				v.links[page][link{to, rapid.SampledFrom([]string{"one", "two"}).Draw(rt, "anchor")}] = true
			}
		}
		for _, p := range pages {
			change(p)
		}
		x := linkdbRun{t: rt, n: n, v: v, model: linkdbModel{map[inlink]bool{}, map[string]uint32{}}}
		x.o = n.options("/data")
		x.o.FS, x.o.Scope = storage.NewMemFS(), policy.ScopeAny
		x.open()
		defer func() { x.e.Close() }()
		_, err := x.e.Inject(ctx, n.seeds(pages...))
		x.must(err)
		x.fetch()
		for range rapid.IntRange(3, 8).Draw(rt, "steps") {
			page := rapid.SampledFrom(pages).Draw(rt, "page")
			switch rapid.SampledFrom([]string{"fetch", "fetch", "phases", "purge", "delete"}).Draw(rt, "step") {
			case "fetch":
				change(page)
				_, err := x.e.Recrawl(ctx, n.seeds(page).URLs...)
				x.must(err)
				x.fetch()
			case "phases":
				x.phases()
			case "purge":
				x.purge()
			case "delete":
				x.delete(page)
			}
			x.check()
		}
		x.phases()
		x.purge()
		x.check()
	})
}

// linkdbRun is one run of TestLinkdbModel.
type linkdbRun struct {
	t       *rapid.T
	n       *names
	v       *versions
	o       engine.Options
	e       *engine.Engine
	model   linkdbModel
	pending []sealedFetch
}

// sealedFetch is a segment that no phase after fetch has seen, and what it fetched.
type sealedFetch struct {
	segment uint32
	pages   map[string]map[link]bool
}

func (x *linkdbRun) must(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
}

func (x *linkdbRun) open() {
	e, err := engine.Open(x.o)
	x.must(err)
	x.e = e
}

// fetch fetches what is due into a segment, which waits for its phases.
func (x *linkdbRun) fetch() {
	x.t.Helper()
	g, err := x.e.Generate(ctx, engine.GenerateOptions{})
	if errors.Is(err, engine.ErrNothingDue) {
		return
	}
	x.must(err)
	x.v.asked = nil
	_, err = x.e.Fetch(ctx, engine.FetchOptions{Segment: g.Segment})
	x.must(err)
	s := sealedFetch{g.Segment, map[string]map[link]bool{}}
	for _, p := range x.v.asked {
		s.pages[p] = maps.Clone(x.v.links[p])
	}
	x.pending = append(x.pending, s)
}

// phases takes the segments that wait through all phases.
func (x *linkdbRun) phases() {
	x.t.Helper()
	for _, s := range x.pending {
		_, err := x.e.UpdateDB(ctx, s.segment)
		x.must(err)
		_, err = x.e.InvertLinks(ctx, s.segment)
		x.must(err)
		_, err = x.e.Dedup(ctx, engine.DedupOptions{Segments: []uint32{s.segment}})
		x.must(err)
		_, err = x.e.Index(ctx, engine.IndexOptions{Segments: []uint32{s.segment}})
		x.must(err)
		for page, links := range s.pages {
			x.model.fetched(s.segment, page, links)
		}
	}
	x.pending = nil
}

func (x *linkdbRun) purge() {
	x.t.Helper()
	_, err := x.e.Purge(ctx)
	x.must(err)
	x.model.purged()
	if len(x.pending) > 0 {
		return
	}
	r, err := x.e.Index(ctx, engine.IndexOptions{Refresh: true, EveryDocument: true})
	x.must(err)
	if r.Refreshed+r.Added+r.Deleted > 0 {
		x.t.Fatalf("after the purge the index is not up to date: %+v", r)
	}
}

func (x *linkdbRun) delete(page string) {
	x.t.Helper()
	_, err := x.e.Delete(ctx, x.n.seeds(page).URLs...)
	if errors.Is(err, engine.ErrWrongState) && len(x.pending) > 0 {
		return
	}
	x.must(err)
	x.model.deleted(page)
}

// check compares linkdb with the model, and verifies the store.
func (x *linkdbRun) check() {
	x.t.Helper()
	r, err := x.e.Inspect().Verify(ctx)
	x.must(err)
	if r.Problems > 0 {
		x.t.Fatalf("%s", r)
	}
	x.must(x.e.Close())
	defer x.open()
	s, err := storage.Open("/data/store", storage.Options{FS: x.o.FS})
	x.must(err)
	defer s.Close()
	page := func(key []byte) string {
		u, err := urlkey.Key(key).URL()
		x.must(err)
		return strings.Replace(strings.TrimPrefix(u.String(), "http://"), ":"+x.n.port, "", 1)
	}
	got := map[inlink]bool{}
	sc := s.Scan(storage.Linkdb(), nil, nil)
	defer sc.Close()
	for sc.Next() {
		target, segment, err := storage.SplitLinkdbKey(sc.Key())
		x.must(err)
		x.must(storage.VisitLinks(sc.Value(), segment, func(from, anchor []byte, of uint32) bool {
			got[inlink{page(target), page(from), string(anchor), of}] = true
			return true
		}))
	}
	x.must(sc.Err())
	if !maps.Equal(got, x.model.links) {
		x.t.Fatalf("linkdb holds\n%s\nwant\n%s", lines(got), lines(x.model.links))
	}
}

func lines(links map[inlink]bool) string {
	var all []string
	for l := range links {
		all = append(all, fmt.Sprintf("%+v", l))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// TestPurgeBesideCrawl: a purge does beside a running crawl what it does alone, and takes nothing from it. Whenever the
// power fails meanwhile, the store opens and verifies, and the crawl and a purge end as if nothing had happened.
func TestPurgeBesideCrawl(t *testing.T) {
	fs := storage.NewCrashableFS()
	r := newRemoval(t, func(o *engine.Options) { o.Dir, o.FS = "/data", fs })
	ctx := context.Background()
	batch(t, r.e, r.n.seeds("a.test/"), 2)
	if d := r.delete(r.url("a.test/secret")); d.Captures == 0 {
		t.Fatalf("nothing to purge: %+v", d)
	}
	if err := r.e.Pause(); err != nil {
		t.Fatal(err)
	}
	c := crawlBeside(ctx, t, r.e, engine.CrawlOptions{Inject: r.n.seeds("b.test/")})
	await(t, r.e, "the crawl", func(s engine.Status) bool { return s.Running })
	var losses []*storage.CrashableFS
	var reports []engine.PurgeReport
	for running := true; running; {
		s, err := r.e.Inspect().Status()
		if err != nil {
			t.Fatal(err)
		}
		running = s.Running
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			reports = append(reports, r.purge())
		}()
		for i := uint64(len(losses)); ; i++ {
			losses = append(losses, fs.Crash([]int{0, 10, 50, 90, 100}[i%5], i))
			select {
			case <-ended:
			default:
				runtime.Gosched()
				continue
			}
			break
		}
		if err := r.e.Resume(); err != nil { // the first purge is beside a crawl in any case
			t.Fatal(err)
		}
	}
	c.wait()
	if p := reports[0]; p.Captures != 1 || p.Rewritten == 0 {
		t.Errorf("the first purge: %+v", p)
	}
	finish := func(r *removal) {
		if _, err := r.e.Crawl(ctx, engine.CrawlOptions{Inject: r.n.seeds("b.test/")}); err != nil {
			t.Fatal(err)
		}
		r.purge()
		verify(t, r.e)
		if r.archived("albatross") || !r.archived("harbour") {
			t.Error("what was deleted is in the WARC files, or not what was kept")
		}
	}
	finish(r)
	mustClose(t, r.e)
	for i, step := 0, max(1, len(losses)/30); i < len(losses); i += step {
		l := &removal{t: t, n: r.n, o: r.o}
		l.o.FS = losses[i]
		l.e = open(t, l.o)
		verify(t, l.e)
		finish(l)
		mustClose(t, l.e)
		if t.Failed() {
			t.Fatalf("moment %d of %d", i, len(losses))
		}
	}
}
