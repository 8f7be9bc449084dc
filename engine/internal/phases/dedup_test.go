// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

func drawMember(t *rapid.T) *member {
	dates := []string{"", "Tue, 15 Nov 1994 12:45:26 GMT", "Tue, 15 Nov 1994 12:45:27 GMT"}
	return &member{
		key: urlkey.Key(rapid.StringMatching(`com,[ab],\)/[xy]{0,2} https?`).Draw(t, "key")),
		r: storage.Record{
			Score:        rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "score"),
			LastFetch:    rapid.Int64Range(0, 2).Draw(t, "fetched"),
			LastModified: rapid.SampledFrom(dates).Draw(t, "modified"),
		},
	}
}

var (
	dedupKeys = []DedupKey{DedupScore, DedupTime, DedupLength, DedupHTTPS}
	orders    = rapid.SliceOfDistinct(rapid.SampledFrom(dedupKeys), rapid.ID[DedupKey])
	members   = rapid.SliceOfNDistinct(rapid.Custom(drawMember), 2, 8, func(m *member) urlkey.Key { return m.key })
)

// TestDedupOrderTotal: the order is total, whatever its keys, so that the first of a group does not depend on the
// order in which its pages come.
func TestDedupOrderTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		order := orders.Draw(t, "order")
		group := members.Draw(t, "group")
		first := func(group []*member) urlkey.Key {
			best := group[0]
			for _, m := range group[1:] {
				if compareMembers(order, m, best) < 0 {
					best = m
				}
			}
			return best.key
		}
		if a, b := first(group), first(rapid.Permutation(group).Draw(t, "permuted")); a != b {
			t.Fatalf("%v: %s and %s", order, a, b)
		}
		for _, a := range group {
			for _, b := range group {
				ab := compareMembers(order, a, b)
				if ab != -compareMembers(order, b, a) || (ab == 0) != (a == b) {
					t.Fatalf("%v: %s and %s: %d", order, a.key, b.key, ab)
				}
				for _, c := range group {
					if ab < 0 && compareMembers(order, b, c) < 0 && compareMembers(order, a, c) >= 0 {
						t.Fatalf("%v: %s before %s before %s, but not before it", order, a.key, b.key, c.key)
					}
				}
			}
		}
	})
}

func TestParseDedupOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		order := orders.Draw(t, "order")
		if len(order) == 0 {
			return
		}
		var words []string
		for _, k := range order {
			words = append(words, k.String())
		}
		if got, err := ParseDedupOrder(strings.Join(words, ",")); err != nil || !slices.Equal(got, order) {
			t.Fatalf("%v, want %v: %v", got, order, err)
		}
	})
	for text, want := range map[string]string{
		"score,newest": `"newest": choose from score, time, length, https`,
		"":             `unknown key ""`,
		"time,time":    `"time" is there twice`,
	} {
		if _, err := ParseDedupOrder(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestSurvivor: which page of a group survives depends neither on when pages were fetched nor on the cut of segments.
func TestSurvivor(t *testing.T) {
	checkFew(t, func(t *rapid.T) {
		urls := []string{hostA + "x", hostA + "y", hostA + "long", hostB + "x", "http://b.test/x"}
		links := map[string][]string{}
		for _, u := range urls {
			links[u] = rapid.SliceOfN(rapid.SampledFrom(urls), 0, 3).Draw(t, "links")
		}
		var first string
		for range 2 {
			w := newWorld(t, admission.Options{})
			w.inject(urls...)
			var pages []page
			for _, u := range urls {
				at := rapid.Int64Range(0, 1000).Draw(t, "at")
				pages = append(pages, page{url: u, content: 1, links: links[u], at: at})
			}
			for _, part := range segments(t, pages) {
				r := w.update(part...)
				if rapid.Bool().Draw(t, "dedup each") {
					w.dedup(DedupOptions{Segments: []uint32{r.Segment}})
				}
			}
			w.dedup(DedupOptions{})
			w.check()
			var survivors []string
			for k, r := range w.records() {
				if r.Status != storage.StatusDuplicate {
					survivors = append(survivors, string(k))
				}
			}
			w.close()
			if len(survivors) != 1 || first != "" && survivors[0] != first {
				t.Fatalf("survivors %q, before %q", survivors, first)
			}
			first = survivors[0]
		}
	})
}

// TestDedup: orders, deletions from the index, and pages that are restored.
func TestDedup(t *testing.T) {
	w := newWorld(t, admission.Options{})
	defer w.close()
	long, short, plain := hostA+"long", hostA+"s", "http://a.test/s"
	w.inject(long, short, plain)
	w.update(
		page{url: long, content: 1, at: 5},
		page{url: short, content: 1, at: 2},
		page{url: plain, content: 1, at: 1},
	)
	survivor := func(o DedupOptions) (Deduped, string) {
		w.deleted = nil
		r := w.dedup(o)
		if r.Deleted != uint64(len(w.deleted)) || r.Marked != r.Deleted {
			t.Errorf("%+v, deleted %q", r, w.deleted)
		}
		var all []string
		for k, rec := range w.records() {
			if rec.Status == storage.StatusFetched {
				u, _ := k.URL()
				all = append(all, u.String())
			}
		}
		return r, strings.Join(all, " ")
	}
	if r, url := survivor(DedupOptions{}); url != plain || r != (Deduped{Groups: 1, Marked: 2, Deleted: 2}) {
		t.Errorf("%+v %s", r, url)
	}
	if r, url := survivor(DedupOptions{Order: []DedupKey{DedupTime}}); url != long || r.Restored != 1 || r.Marked != 1 {
		t.Errorf("%+v %s", r, url)
	}
	if _, url := survivor(DedupOptions{Order: []DedupKey{DedupScore, DedupHTTPS, DedupLength}}); url != short {
		t.Error(url)
	}
	if _, url := survivor(DedupOptions{Order: []DedupKey{}}); url != long { // by key alone
		t.Error(url)
	}
	w.update(page{url: long, content: 2, at: 9})
	if r, url := survivor(DedupOptions{}); url != long+" "+plain && url != plain+" "+long || r.Restored != 1 {
		t.Errorf("%+v %s", r, url)
	}
	w.check()
}
