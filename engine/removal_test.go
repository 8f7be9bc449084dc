// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// removalWeb has pages on two hosts, of which two are equal, with words of their own.
func removalWeb(t testing.TB) *names {
	const same = `<title>same</title><p>These two pages are equal: lighthouse.`
	return newNames(t, map[string]string{
		"a.test/": `<title>a</title><p>harbour <a href="/secret">lantern</a> <a href="/docs/1">1</a>
			<a href="/same">same</a> <a href="HOST:b.test/same/too">same</a> <a href="HOST:b.test/">b</a>`,
		"a.test/secret":    `<title>s</title><p>albatross <a href="/docs/2">semaphore</a> <a href="/missing">m</a>`,
		"a.test/docs/1":    `<title>1</title><p>breakwater one <a href="/docs/2">two</a>`,
		"a.test/docs/2":    `<title>2</title><p>breakwater two <a href="/secret">pennant</a>`,
		"a.test/same":      same,
		"b.test/":          `<title>b</title><p>jetty <a href="HOST:a.test/docs/1">one</a>`,
		"b.test/same/too":  same,
		"b.test/other":     `<title>o</title><p>quay`,
		"a.test/unlinked/": `<title>u</title><p>nothing links here`,
	})
}

// removal is a data directory of that web.
type removal struct {
	t *testing.T
	n *names
	o engine.Options
	e *engine.Engine
}

func newRemoval(t *testing.T, o func(*engine.Options)) *removal {
	r := &removal{t: t, n: removalWeb(t)}
	r.o = r.n.options(dataDir(t))
	r.o.Scope = policy.ScopeAny
	if o != nil {
		o(&r.o)
	}
	r.e = open(t, r.o)
	return r
}

func (r *removal) url(page string) string { return r.n.seeds(page).URLs[0] }

// known reports which pages crawldb has.
func (r *removal) known(pages ...string) (list []bool) {
	for _, p := range pages {
		_, err := r.e.Inspect().Record(r.url(p))
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			r.t.Fatal(err)
		}
		list = append(list, err == nil)
	}
	return list
}

// finds checks how many documents have words.
func (r *removal) finds(words map[string]int) {
	r.t.Helper()
	for word, want := range words {
		hits, err := r.e.Search(context.Background(), word, engine.SearchOptions{Deadline: patient})
		if err != nil || hits.Total != want {
			r.t.Errorf("%q is found %d times, want %d, %v", word, hits.Total, want, err)
		}
	}
}

// archived reports whether a word is in a WARC file.
func (r *removal) archived(word string) bool {
	r.t.Helper()
	fs := warc.OS()
	if r.o.FS != nil {
		fs = storage.NewWARCFS(r.o.FS)
	}
	dir := filepath.Join(r.o.Dir, "warc")
	names, err := fs.List(dir)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		size, err := fs.Size(path)
		if err != nil {
			r.t.Fatal(err)
		}
		f, err := fs.Open(path)
		if err != nil {
			r.t.Fatal(err)
		}
		z, err := gzip.NewReader(io.NewSectionReader(f, 0, size))
		if err != nil {
			r.t.Fatal(err)
		}
		all, err := io.ReadAll(z)
		if err != nil {
			r.t.Fatal(err)
		}
		f.Close()
		if bytes.Contains(all, []byte(word)) {
			return true
		}
	}
	return false
}

func (r *removal) delete(targets ...string) engine.DeleteReport {
	r.t.Helper()
	report, err := r.e.Delete(context.Background(), targets...)
	if err != nil {
		r.t.Fatal(err)
	}
	verify(r.t, r.e)
	return report
}

func (r *removal) purge() engine.PurgeReport {
	r.t.Helper()
	report, err := r.e.Purge(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	verify(r.t, r.e)
	return report
}

// ways to fill a data directory.
func removalWays(t *testing.T, test func(t *testing.T, fill func(e *engine.Engine, in engine.InjectOptions))) {
	t.Run("crawl", func(t *testing.T) {
		test(t, func(e *engine.Engine, in engine.InjectOptions) {
			if _, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: in}); err != nil {
				t.Fatal(err)
			}
		})
	})
	t.Run("phases", func(t *testing.T) {
		test(t, func(e *engine.Engine, in engine.InjectOptions) { batch(t, e, in, 2) })
	})
}

// TestDelete: what is deleted is gone from every range and from the index, and what depended on it is as if it had
// never been; a page that links to it makes it new. A purge takes it out of the WARC files.
func TestDelete(t *testing.T) {
	removalWays(t, func(t *testing.T, fill func(*engine.Engine, engine.InjectOptions)) {
		r := newRemoval(t, nil)
		defer func() { mustClose(t, r.e) }()
		fill(r.e, r.n.seeds("a.test/"))
		verify(t, r.e)
		r.finds(map[string]int{"albatross": 1, "lantern": 2, "semaphore": 2, "lighthouse": 1, "breakwater": 2})
		d := r.delete(r.url("a.test/secret"))
		if d.Took = 0; !reflect.DeepEqual(d, engine.DeleteReport{
			Records: 1, Documents: 1, Inlinks: 4, Captures: 1, Parsed: 1, Refreshed: 1,
		}) {
			t.Errorf("%+v", d)
		}
		r.finds(map[string]int{"albatross": 0, "lantern": 1, "semaphore": 0, "breakwater": 2})
		for _, page := range []string{"a.test/secret", "a.test/docs/2", "a.test/missing"} {
			for l, err := range r.e.Inspect().Inlinks(context.Background(), r.url(page), 10) {
				if err != nil && !errors.Is(err, engine.ErrNotFound) {
					t.Error(err)
				}
				if strings.HasSuffix(l.From, "/secret") || page == "a.test/secret" {
					t.Errorf("%s has an inlink from %s", page, l.From)
				}
			}
		}
		if again := r.delete(r.url("a.test/secret")); again.Records != 0 || again.Inlinks != 0 {
			t.Errorf("again: %+v", again)
		}
		if !r.archived("albatross") {
			t.Error("it is not in the WARC files any more")
		}
		p := r.purge()
		if p.Captures != 1 || p.Rewritten == 0 || p.Bytes <= 0 ||
			!strings.Contains(p.String(), ", 1 responses and failures, 0 WARC files removed and 1 rewritten (") {
			t.Errorf("%s", p)
		}
		if r.archived("albatross") || r.archived("a.test/secret\r\n") || !r.archived("harbour") {
			t.Error("the WARC files hold what was deleted, or not what was kept")
		}
		if p := r.purge(); p.Captures+p.Removed+p.Rewritten+p.Parsed != 0 {
			t.Errorf("a second purge: %+v", p)
		}

		// A page of a group of equal pages.
		survivor, other := "a.test/same", "b.test/same/too"
		if rec, err := r.e.Inspect().Record(r.url(survivor)); err != nil || rec.Status == storage.StatusDuplicate {
			survivor, other = other, survivor
		}
		if d := r.delete(r.url(survivor)); d.Restored != 1 {
			t.Errorf("%+v", d)
		}
		r.finds(map[string]int{"lighthouse": 1})
		if rec, err := r.e.Inspect().Record(r.url(other)); err != nil || rec.Status != storage.StatusFetched {
			t.Errorf("the duplicate is %s, %v", rec.Status, err)
		}

		// A prefix, then a host.
		if d := r.delete(r.url("a.test/docs/") + "*"); d.Records != 2 {
			t.Errorf("%+v", d)
		}
		if got := r.known("a.test/docs/1", "a.test/docs/2", "a.test/"); got[0] || got[1] || !got[2] {
			t.Errorf("known: %v", got)
		}
		r.finds(map[string]int{"breakwater": 0, "harbour": 1})
		_, port, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(r.url("a.test/"), "http://"), "/"), ":")
		r.delete("a.test:"+port, "b.test:"+port)
		if s, err := r.e.Inspect().IndexStats(); err != nil || s.Documents != 0 {
			t.Errorf("%+v, %v", s, err)
		}
		if p := r.purge(); p.Removed == 0 {
			t.Errorf("%+v", p)
		}
		if files, err := os.ReadDir(filepath.Join(r.o.Dir, "warc")); err != nil || len(files) != 0 {
			t.Errorf("WARC files: %v, %v", files, err)
		}
		mustClose(t, r.e)
		r.e = open(t, r.o)

		// The seed and what it links to are found again.
		fill(r.e, r.n.seeds("a.test/"))
		verify(t, r.e)
		r.finds(map[string]int{"albatross": 1, "lantern": 2, "lighthouse": 1, "breakwater": 2})
	})
}

// TestDeleteRefreshesSome: a deletion looks at the documents that depended on it, and at no others: at the duplicate
// that it restores, and at the page that a deleted one linked to.
func TestDeleteRefreshesSome(t *testing.T) {
	r := newRemoval(t, nil)
	defer func() { mustClose(t, r.e) }()
	if _, err := r.e.Inject(ctx, r.n.seeds("a.test/")); err != nil {
		t.Fatal(err)
	}
	for {
		g, err := r.e.Generate(ctx, engine.GenerateOptions{})
		if errors.Is(err, engine.ErrNothingDue) {
			break
		}
		if err == nil {
			_, err = r.e.Fetch(ctx, engine.FetchOptions{Segment: g.Segment})
		}
		if err != nil {
			t.Fatal(err)
		}
		finish(t, r.e, g.Segment)
	}
	survivor := "a.test/same"
	if rec, err := r.e.Inspect().Record(r.url(survivor)); err != nil || rec.Status == storage.StatusDuplicate {
		survivor = "b.test/same/too"
	}
	r.finds(map[string]int{"lighthouse": 1, "pennant": 1}) // the index does not know yet who links to a.test/secret
	if d := r.delete(r.url(survivor)); d.Restored != 1 || d.Refreshed != 0 {
		t.Errorf("%+v", d)
	}
	r.finds(map[string]int{"lighthouse": 1, "pennant": 1})
	if x, err := r.e.Index(ctx, engine.IndexOptions{Refresh: true}); err != nil || x.Refreshed == 0 {
		t.Errorf("nothing was stale, so nothing is shown: %+v, %v", x, err)
	}
	r.finds(map[string]int{"pennant": 2})
}

// TestRecrawl: targets are due at once and keep what they have, also while a crawl runs, which then fetches them.
func TestRecrawl(t *testing.T) {
	removalWays(t, func(t *testing.T, fill func(*engine.Engine, engine.InjectOptions)) {
		r := newRemoval(t, nil)
		defer func() { mustClose(t, r.e) }()
		fill(r.e, r.n.seeds("a.test/"))
		before, err := r.e.Inspect().Record(r.url("a.test/docs/1"))
		if err != nil {
			t.Fatal(err)
		}
		done, err := r.e.Recrawl(context.Background(), r.url("a.test/docs/")+"*", r.url("a.test/secret"))
		if err != nil || done.Records != 3 || done.Due != 3 {
			t.Errorf("%+v, %v", done, err)
		}
		verify(t, r.e)
		after, err := r.e.Inspect().Record(r.url("a.test/docs/1"))
		if err != nil || after.FetchTime.After(time.Now()) {
			t.Errorf("due %s, %v", after.FetchTime, err)
		}
		if after.FetchTime = before.FetchTime; after.String() != before.String() {
			t.Errorf("%s, was %s", after, before)
		}
		fill(r.e, r.n.seeds("a.test/"))
		verify(t, r.e)
		for page, want := range map[string]int{"a.test/docs/1": 2, "a.test/secret": 2, "a.test/": 1, "b.test/": 1} {
			if got := r.n.count(page); got != want {
				t.Errorf("%s was requested %d times, want %d", page, got, want)
			}
		}
		if p := r.purge(); p.Parsed != 3 {
			t.Errorf("what was replaced: %+v", p)
		}
		r.finds(map[string]int{"albatross": 1, "breakwater": 2})
		if _, err := r.e.Recrawl(context.Background(), "a.test/docs"); err == nil {
			t.Error("a path without a scheme is taken")
		}
	})
}

// TestRemovalBesideCrawl: a crawl that runs fetches what Recrawl makes due.
func TestRemovalBesideCrawl(t *testing.T) {
	r := newRemoval(t, nil)
	defer func() { mustClose(t, r.e) }()
	ctx := context.Background()
	var once sync.Once
	_, err := r.e.Crawl(ctx, engine.CrawlOptions{
		Inject: r.n.seeds("a.test/"), ProgressEvery: 1,
		Progress: func(engine.Progress) {
			rec, err := r.e.Inspect().Record(r.url("a.test/"))
			if err != nil || rec.LastFetch.IsZero() {
				return
			}
			once.Do(func() {
				if _, err := r.e.Recrawl(ctx, r.url("a.test/")); err != nil {
					t.Errorf("recrawl: %v", err)
				}
			})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	verify(t, r.e)
	if got := r.n.count("a.test/"); got != 2 {
		t.Errorf("the page was requested %d times, want 2", got)
	}
}

// TestDenied: the pages of a host that a filter file denies leave the index with the next index, crawl or purge, and
// come back when it permits them.
func TestDenied(t *testing.T) {
	for _, how := range []string{"index", "crawl", "purge"} {
		t.Run(how, func(t *testing.T) {
			denied := filepath.Join(t.TempDir(), "denied")
			write := func(text string) {
				if err := os.WriteFile(denied, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			write("")
			r := newRemoval(t, func(o *engine.Options) { o.LiveFilters = watchedHosts(t, denied) })
			defer func() { mustClose(t, r.e) }()
			next := func() (left uint64) {
				mustClose(t, r.e)
				r.o.LiveFilters = watchedHosts(t, denied)
				r.e = open(t, r.o)
				var err error
				switch how {
				case "index":
					var x engine.IndexReport
					x, err = r.e.Index(context.Background(), engine.IndexOptions{Refresh: true})
					left = x.Denied
				case "crawl":
					var c engine.CrawlReport
					c, err = r.e.Crawl(context.Background(), crawlFrom(r.url("b.test/other")))
					left = c.Denied
				case "purge":
					var p engine.PurgeReport
					p, err = r.e.Purge(context.Background())
					left = p.Documents
				}
				if err != nil {
					t.Fatal(err)
				}
				verify(t, r.e)
				return left
			}
			before, err := r.e.Crawl(context.Background(), crawlFrom(r.url("a.test/")))
			if err != nil {
				t.Fatal(err)
			}
			write("a.test\n")
			left := next()
			after, err := r.e.Inspect().IndexStats()
			if err != nil || left == 0 || how != "crawl" && left != before.Documents-after.Documents {
				t.Errorf("%d documents left the index: %d, then %d, %v", left, before.Documents, after.Documents, err)
			}
			r.finds(map[string]int{"harbour": 0, "albatross": 0, "jetty": 1})
			write("")
			if left := next(); left != 0 {
				t.Errorf("%d documents left the index that are permitted", left)
			}
			r.finds(map[string]int{"harbour": 1, "albatross": 1, "jetty": 1})
		})
	}
}

// TestRemovalPowerLoss: whenever the power fails during a deletion and a purge, the store opens and verifies, the
// deletion is done or not begun, and doing both again ends as if nothing had happened.
func TestRemovalPowerLoss(t *testing.T) {
	fs := storage.NewCrashableFS()
	r := newRemoval(t, func(o *engine.Options) { o.Dir, o.FS = "/data", fs })
	batch(t, r.e, r.n.seeds("a.test/"), 2)
	gone := r.url("a.test/secret")
	remove := func(r *removal) {
		r.delete(gone, r.url("a.test/docs/")+"*")
		r.purge()
	}
	var losses []*storage.CrashableFS
	ended, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		for i := uint64(0); ; i++ {
			select {
			case <-ended:
				return
			default:
				losses = append(losses, fs.Crash([]int{0, 10, 50, 90, 100}[i%5], i))
				runtime.Gosched()
			}
		}
	}()
	remove(r)
	close(ended)
	<-watched
	want := digest(t, r.e)
	mustClose(t, r.e)
	if len(losses) < 5 {
		t.Fatalf("only %d moments", len(losses))
	}
	for i, step := 0, max(1, len(losses)/60); i < len(losses); i += step {
		l := &removal{t: t, n: r.n, o: r.o}
		l.o.FS = losses[i]
		l.e = open(t, l.o)
		verify(t, l.e)
		known := l.known("a.test/secret", "a.test/docs/1", "a.test/docs/2")
		if known[0] != known[1] || known[1] != known[2] {
			t.Errorf("moment %d: half of it is deleted: %v", i, known)
		}
		remove(l)
		if l.archived("albatross") || !l.archived("harbour") {
			t.Errorf("moment %d: what was deleted is in the WARC files, or not what was kept", i)
		}
		// The end of the next crawl does what the deletion could not finish.
		if _, err := l.e.Dedup(context.Background(), engine.DedupOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := l.e.Index(context.Background(), engine.IndexOptions{Refresh: true}); err != nil {
			t.Fatal(err)
		}
		sameDigest(t, digest(t, l.e), want)
		mustClose(t, l.e)
		if t.Failed() {
			t.Fatalf("moment %d of %d", i, len(losses))
		}
	}
}

// TestDeleteBetweenPhases: while the outcomes of a segment are on their way, a deletion is refused: they would come
// back. A fetchlist that waits loses what is deleted.
func TestDeleteBetweenPhases(t *testing.T) {
	r := newRemoval(t, nil)
	defer func() { mustClose(t, r.e) }()
	ctx := context.Background()
	fill := func(e *engine.Engine) uint32 {
		g, err := e.Generate(ctx, engine.GenerateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return g.Segment
	}
	if _, err := r.e.Inject(ctx, r.n.seeds("a.test/", "b.test/")); err != nil {
		t.Fatal(err)
	}
	first := fill(r.e)
	if d := r.delete(r.url("b.test/")); d.Records != 1 {
		t.Errorf("%+v", d)
	}
	if _, err := r.e.Fetch(ctx, engine.FetchOptions{Segment: first}); err != nil {
		t.Fatal(err)
	}
	if got := r.n.count("b.test/"); got != 0 {
		t.Errorf("what was deleted was requested %d times", got)
	}
	if _, err := r.e.Delete(ctx, r.url("a.test/")); !errors.Is(err, engine.ErrWrongState) {
		t.Errorf("a sealed segment: %v", err)
	}
	finish(t, r.e, first)
	if d := r.delete(r.url("a.test/secret")); d.Records != 1 || d.Inlinks != 1 {
		t.Errorf("%+v", d)
	}
	if _, err := r.e.Recrawl(ctx, r.url("a.test/")); err != nil {
		t.Fatal(err)
	}
	batch(t, r.e, engine.InjectOptions{}, 0)
	verify(t, r.e)
	if got := r.known("a.test/secret"); !got[0] {
		t.Error("a page that was fetched later links to it, and it is not known")
	}
}

// TestPortHint: who names a host without its port is told under which ports it is known, by the report, which others
// get who ask through the engine.
func TestPortHint(t *testing.T) {
	r := newRemoval(t, nil)
	defer func() { mustClose(t, r.e) }()
	batch(t, r.e, r.n.seeds("a.test/"), 0)
	known := strings.TrimSuffix(strings.TrimPrefix(r.url("a.test/"), "http://"), "/")
	want := []string{"a.test is not known without a port; known is " + known}
	if x, err := r.e.Recrawl(context.Background(), "a.test"); err != nil || x.Records != 0 ||
		!slices.Equal(x.Hints, want) {
		t.Errorf("%s, %q, %v", x, x.Hints, err)
	}
	if x, err := r.e.Delete(context.Background(), "a.test"); err != nil || x.Records != 0 ||
		!slices.Equal(x.Hints, want) {
		t.Errorf("%s, %q, %v", x, x.Hints, err)
	}
	if x, err := r.e.Recrawl(context.Background(), "a.test", r.url("a.test/")); err != nil || x.Hints != nil {
		t.Errorf("%s, %q, %v", x, x.Hints, err)
	}
	for _, err := range r.e.Inspect().Hosts(context.Background(), engine.HostFilter{Host: "a.test"}) {
		if !errors.Is(err, engine.ErrNotFound) || !strings.HasSuffix(err.Error(), "known is "+known) {
			t.Error(err)
		}
	}
}

// TestRepairAfterDelete: a repair brings back neither links to deleted URLs nor those URLs, and withholds
// none of them where its scope is another.
func TestRepairAfterDelete(t *testing.T) {
	for _, scope := range []policy.Scope{policy.ScopeAny, policy.ScopeHost} {
		r := newRemoval(t, nil)
		if _, err := r.e.Crawl(ctx, engine.CrawlOptions{Inject: r.n.seeds("a.test/")}); err != nil {
			t.Fatal(err)
		}
		deleted := []string{"b.test/", "b.test/same/too", "a.test/secret", "a.test/missing"}
		for _, page := range deleted {
			r.delete(r.url(page))
		}
		mustClose(t, r.e)
		spoil(t, rand.New(rand.NewPCG(1, 1)), r.o.Dir, "request", "", false)
		o := r.o
		o.Scope = scope
		if rep, err := engine.Repair(ctx, o); err != nil || rep.Gaps > 0 || rep.Left.Problems > 0 {
			t.Fatalf("%v: %s\n%s", err, rep, rep.Left)
		}
		store, err := storage.Open(filepath.Join(r.o.Dir, "store"), storage.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, of := range []storage.Range{storage.Crawldb(), storage.Linkdb(), storage.WithheldRange()} {
			sc := store.Scan(of, nil, nil)
			for sc.Next() {
				for _, page := range deleted {
					u, err := urlkey.Parse(r.url(page))
					if err != nil {
						t.Fatal(err)
					}
					if target, _, _ := bytes.Cut(sc.Key(), []byte{0}); string(target) == string(u.Key()) {
						t.Errorf("scope %s: %q is back: % x", scope, target, of)
					}
				}
			}
			if err := sc.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
