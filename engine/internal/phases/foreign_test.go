// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// TestForeignLinksGo: a link that another store had of a page goes when the page is fetched here, which has its own
// version then, at the end of a crawl as without a bound, and when the page is deleted.
func TestForeignLinksGo(t *testing.T) {
	there := newWorld(t, admission.Options{Scope: policy.ScopeAny})
	defer there.close()
	const one, two = "https://from.test/1", "https://from.test/2"
	u := there.update(page{url: one, links: []string{hostA, hostB}}, page{url: two, links: []string{hostA}})
	if _, err := there.p.InvertLinks(t.Context(), u.Segment); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
	defer w.close()
	if _, err := w.p.ImportLinks(t.Context(), there.store, ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	w.inject(one, two)
	has := func(when string, want ...string) {
		t.Helper()
		links, _ := w.linkdb()
		var got []string
		for l := range maps.Keys(links) {
			got = append(got, fmt.Sprintf("%s from %s of %d", l.to, l.from, l.segment))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	u = w.update(page{url: one, links: []string{hostA}})
	if _, err := w.p.InvertLinks(t.Context(), u.Segment); err != nil {
		t.Fatal(err)
	}
	if r, err := w.p.MergeLinks(t.Context(), 1000, nil); err != nil || r.Dropped != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	has("one page was fetched", "test,a,)/ https from test,from,)/1 https of 1",
		"test,a,)/ https from test,from,)/2 https of 0")
	if r := w.remove(two); r.Inlinks != 1 {
		t.Errorf("%+v", r)
	}
	has("the other was deleted", "test,a,)/ https from test,from,)/1 https of 1")
	w.check()
}

// TestOrphanOfForeign: a page that only links of another store lead to is an orphan once their pages are gone here, or
// have moved, and no other; one that was not fetched here has its links.
func TestOrphanOfForeign(t *testing.T) {
	there, w := newWorld(t, admission.Options{Scope: policy.ScopeAny}), newWorld(t, admission.Options{
		Scope: policy.ScopeAny,
	})
	defer there.close()
	defer w.close()
	const gone, moved, stays = "https://from.test/gone", "https://from.test/moved", "https://from.test/stays"
	const one, two, kept, own = hostA + "one", hostA + "two", hostA + "kept", hostA + "own"
	u := there.update(page{url: gone, links: []string{one, kept}}, page{url: moved, links: []string{one, two, own}},
		page{url: stays, links: []string{kept}})
	if _, err := there.p.InvertLinks(t.Context(), u.Segment); err != nil {
		t.Fatal(err)
	}
	if _, err := w.p.ImportLinks(t.Context(), there.store, ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	w.inject(hostB, gone, moved, stays)
	for at, links := range [][]string{{one, two, kept, own}, {own}} {
		u := w.update(page{url: hostB, links: links, at: int64(at)})
		if _, err := w.p.InvertLinks(t.Context(), u.Segment); err != nil {
			t.Fatal(err)
		}
	}
	w.update(page{url: moved, redirect: hostB},
		page{url: gone, outcome: &storage.FetchOutcome{Status: storage.FetchGone, HTTPStatus: 404}})
	for range 2 {
		if _, err := w.p.MergeLinks(t.Context(), 0, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := w.p.MarkOrphans(t.Context(), OrphanOptions{OrphanAfter: time.Hour}); err != nil {
			t.Fatal(err)
		}
		w.now += 2 * time.Hour.Milliseconds()
	}
	for url, want := range map[string]storage.Status{
		one: storage.StatusOrphan, two: storage.StatusOrphan, kept: storage.StatusUnfetched,
		own: storage.StatusUnfetched,
	} {
		if r := w.records()[w.key(url)]; r.Status != want {
			t.Errorf("%s is %s, want %s", url, r.Status, want)
		}
	}
	w.check()
}

// TestForeignLinksOfMoved: a page that redirects here gives its rank to the target alone, whatever links another store
// had of it.
func TestForeignLinksOfMoved(t *testing.T) {
	there, w := newWorld(t, admission.Options{Scope: policy.ScopeAny}), newWorld(t, admission.Options{
		Scope: policy.ScopeAny,
	})
	defer there.close()
	defer w.close()
	const moved = "https://from.test/"
	u := there.update(page{url: moved, links: []string{hostA}})
	if _, err := there.p.InvertLinks(t.Context(), u.Segment); err != nil {
		t.Fatal(err)
	}
	if _, err := w.p.ImportLinks(t.Context(), there.store, ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	w.inject(moved, hostA, hostB)
	w.update(page{url: moved, redirect: hostB})
	ranks, r := w.ranks(rankOptions())
	if r.Edges != 1 || ranks[string(w.key(hostB))] <= ranks[string(w.key(hostA))] {
		t.Errorf("%+v: %v", r, ranks)
	}
}
