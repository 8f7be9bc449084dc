// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// everything prints all that phases write, bytewise but for lists of inlinks, which may be coded in several ways. What
// the store itself says of its creation is left out.
func (w *world) everything() string {
	w.t.Helper()
	var b strings.Builder
	for _, r := range []storage.Range{
		storage.Meta(), storage.Crawldb(), storage.HostCountsRange(), storage.Due(), storage.Linkdb(),
		storage.WithheldRange(), storage.LoweredRange(), storage.Signatures(), storage.NearPages(),
		storage.NearChanged(), storage.Marks(), storage.Stale(),
	} {
		sc := w.store.Scan(r, nil, nil)
		for sc.Next() {
			if r == storage.Meta() && string(sc.Key()) == "created" {
				continue
			}
			if r != storage.Linkdb() {
				fmt.Fprintf(&b, "%s %q %x\n", r, sc.Key(), sc.Value())
				continue
			}
			err := storage.VisitInlinks(sc.Value(), func(from, anchor []byte) bool {
				fmt.Fprintf(&b, "%s %q from %s %s\n", r, sc.Key(), from, anchor)
				return true
			})
			if err != nil {
				w.t.Fatal(err)
			}
		}
		if err := sc.Close(); err != nil {
			w.t.Fatal(err)
		}
	}
	return b.String()
}

// TestShared: updatedb and invertlinks write and count the same whether one goroutine does all or several share it,
// over random webs with pages that are fetched again, redirects, sitemaps, copies, and links that are refused for now.
func TestShared(t *testing.T) {
	checkFew(t, func(t *rapid.T) {
		o := admission.Options{Scope: rapid.SampledFrom(policy.Scopes()).Draw(t, "scope"), MaxDepth: 3}
		marked := rapid.Bool().Draw(t, "refreshed")
		scorer := rapid.SampledFrom([]policy.Scorer{policy.VoteScorer{}, policy.BreadthScorer{}}).Draw(t, "scorer")
		var worlds []*world
		for _, processors := range []int{1, 2, 7} {
			w := newWorld(t, o)
			defer func() { w.close() }()
			w.processors, w.scorer = processors, scorer
			w.restart()
			w.inject("https://a1.test/", "https://b.a2.test/", "https://a3.test/x/1")
			worlds = append(worlds, w)
		}
		name := rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf("https://%sa%d.test/%s%d", rapid.SampledFrom([]string{"", "b."}).Draw(t, "sub"),
				rapid.IntRange(1, 5).Draw(t, "host"), rapid.SampledFrom([]string{"", "x/"}).Draw(t, "dir"),
				rapid.IntRange(1, 9).Draw(t, "page"))
		})
		for round := range rapid.IntRange(1, 3).Draw(t, "segments") {
			pages, sitemap := drawPages(t, name), name.Draw(t, "sitemap")
			var first string
			for i, w := range worlds {
				if marked && round == 1 {
					w.markRefreshed()
				}
				w.now += 1000
				w.sitemaps = append(w.sitemaps, w.key(sitemap))
				counts := fmt.Sprintf("%+v", w.update(pages...))
				inverted, err := w.p.InvertLinks(context.Background(), w.segment)
				if err != nil {
					t.Fatal(err)
				}
				got := fmt.Sprintf("%s\n%+v\n%s", counts, inverted, w.everything())
				switch {
				case i == 0:
					first = got
				case got != first:
					t.Fatalf("at most %d goroutines: %s", w.processors, firstDifference(first, got))
				}
				w.check()
			}
		}
	})
}

// firstDifference shows the first line in which two texts differ.
func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("want\n%s\ngot\n%s", w[i], g[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

// drawPages draws the pages of a segment.
func drawPages(t *rapid.T, name *rapid.Generator[string]) (pages []page) {
	for _, url := range rapid.SliceOfNDistinct(name, 1, 20, rapid.ID).Draw(t, "pages") {
		p := page{url: url, bytes: 100, took: 5, at: int64(len(pages))}
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			p.redirect = name.Draw(t, "to")
		case 1:
			p.status = storage.FetchGone
		default:
			p.content, p.near = byte(rapid.IntRange(1, 3).Draw(t, "content")), drawSimHash(t)
			p.links = rapid.SliceOfN(name, 0, 12).Draw(t, "links")
		}
		pages = append(pages, p)
	}
	return pages
}

// drawSimHash draws one of eight fingerprints.
func drawSimHash(t *rapid.T) storage.SimHash {
	return storage.SimHash(rapid.Uint64Range(1, 8).Draw(t, "near") << 20)
}

// markRefreshed leaves the mark of a refresh, so that phases note what changes.
func (w *world) markRefreshed() {
	w.t.Helper()
	ing := w.store.NewIngestion()
	defer ing.Abort()
	ing.MarkRefreshed([]byte("mark"), w.store.Moment())
	if err := ing.Commit(); err != nil {
		w.t.Fatal(err)
	}
}

// TestSharedBusy: what goroutines of a phase do is measured, and the first error of one ends all.
func TestSharedBusy(t *testing.T) {
	w := newWorld(t, admission.Options{})
	defer w.close()
	var began, ended [3]atomic.Int64
	w.p.env.Busy = func(of Step) func() {
		began[of].Add(1)
		return func() { ended[of].Add(1) }
	}
	w.inject(hostA, hostB, hostW)
	links := []string{hostA + "1", hostA + "2"}
	w.update(page{url: hostA, links: links}, page{url: links[0]}, page{url: links[1]})
	if _, err := w.p.InvertLinks(context.Background(), w.segment); err != nil {
		t.Fatal(err)
	}
	for of := range began {
		if n := began[of].Load(); n < 2 || n != ended[of].Load() {
			t.Errorf("step %d: %d began, %d ended", of, n, ended[of].Load())
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	failed := errors.New("failed")
	err := w.p.together(ctx, StepUpdateDB, 3, func(ctx context.Context, i int) error {
		if i == 1 {
			return failed
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if err != failed {
		t.Errorf("%v, want that of the one that failed", err)
	}
}

// TestSpareMemory: what one goroutine leaves for the next run is taken again, but not by several that share the memory
// if it is more than their shares; and what is far beyond its own share is left to nobody.
func TestSpareMemory(t *testing.T) {
	w := newWorld(t, admission.Options{})
	defer w.close()
	target := []byte(w.key(hostA))
	key := func(i int) []byte { return fmt.Appendf(nil, "test,a,)/%06d https", i) }
	invert := func(of, links int) *inversion {
		t.Helper()
		v := w.p.newInversion(of)
		if room := v.room(); room > spareFactor*v.memory {
			t.Errorf("one of %d begins with %d bytes of %d", of, room, v.memory)
		}
		for i := range links {
			v.add(target, nil, uint32(v.source(key(i), 1)))
		}
		v.encode(v.last[0])
		v.close()
		return v
	}
	first := invert(1, 8000)
	if again := invert(1, 8000); again != first {
		t.Error("the memory of an inversion was not taken again")
	}
	if again := invert(3, 1); again == first {
		t.Error("a third of the memory has all of it")
	}
	if far := invert(1, 200_000); invert(1, 1) == far {
		t.Error("memory beyond all bounds is kept")
	}
	collect := func(of, targets int) *collector {
		t.Helper()
		c := w.p.newCollector(1, of)
		if room := c.room(); room > spareFactor*c.memory {
			t.Errorf("one of %d begins with %d bytes of %d", of, room, c.memory)
		}
		for i := range targets {
			c.link(key(i), 1)
		}
		if err := c.close(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	few := collect(1, 7000)
	if again := collect(1, 7000); again != few {
		t.Error("the memory of a collector was not taken again")
	}
	if again := collect(3, 1); again == few {
		t.Error("a third of the memory has all of it")
	}
}
