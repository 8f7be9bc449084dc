// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestCombined: under random builders, deletes and merges, every combination of order, limits of hosts and groups,
// freshness and facets gives, page after page, the hits of the plain search sorted and thinned by the plain rules, and
// counts all of its matches.
func TestCombined(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRandomIndex(t)
		defer r.close(t)
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			r.step(t)
			if err := r.x.Refresh(); err != nil {
				t.Fatal(err)
			}
			r.shown = r.live
			for range 2 {
				r.checkCombined(t, drawText(t, 0))
			}
		}
	})
}

func (r *randomIndex) checkCombined(t *rapid.T, text string) {
	o := SearchOptions{Limit: HitsMax, Deadline: time.Hour, Now: time.Date(2023, 9, 1, 0, 0, 0, 0, time.UTC)}
	o.Freshness = rapid.SampledFrom([]time.Duration{0, 0, 240 * time.Hour, 10_000 * time.Hour}).Draw(t, "fresh")
	o.Order = Order(rapid.IntRange(0, len(orderNames)-1).Draw(t, "order"))
	all := r.find(t, text, o)
	if all.Total != len(all.Hits) {
		t.Fatalf("%q: %d hits of %d", text, len(all.Hits), all.Total)
	}
	if sorted := r.sorted(all.Hits, o.Order); fmt.Sprint(sorted) != fmt.Sprint(all.Hits) {
		t.Fatalf("%q by %v: %v, want %v", text, o.Order, all.Hits, sorted)
	}
	o.PerHost = rapid.SampledFrom([]int{0, 1, 2, 5}).Draw(t, "per host")
	o.Collapse = rapid.Bool().Draw(t, "collapse")
	if rapid.Bool().Draw(t, "facets") {
		o.Facets, o.FacetValues = []string{FacetYear, FacetHost}, 200
	}
	want := r.thinned(all.Hits, o)
	o.Limit = rapid.SampledFrom([]int{1, 3, 10, 50}).Draw(t, "limit")
	for o.Offset = 0; o.Offset < len(want)+5; o.Offset += max(o.Limit, len(want)/4) {
		got := r.find(t, text, o)
		page := want[min(o.Offset, len(want)):min(o.Offset+o.Limit, len(want))]
		for i := range got.Hits {
			got.Hits[i].Duplicates = 0 // a lower bound
		}
		if fmt.Sprint(got.Hits) != fmt.Sprint(page) || got.Total != all.Total || got.Relaxed != all.Relaxed {
			t.Fatalf("%q %+v: %d hits of %d %v, want %d of %d %v",
				text, o, len(got.Hits), got.Total, got.Hits, len(page), all.Total, page)
		}
		r.checkFacets(t, got.Facets, all.Hits)
	}
}

func (r *randomIndex) find(t *rapid.T, text string, o SearchOptions) Result {
	got, err := r.x.Search(context.Background(), text, o)
	if err != nil || got.Partial {
		t.Fatalf("%q: partial %v: %v", text, got.Partial, errors.Join(err))
	}
	return got
}

// sorted orders hits by value, score and key.
func (r *randomIndex) sorted(hits []Hit, o Order) []Hit {
	value := func(h *Hit) int64 {
		d, v := r.live[h.Key], int64(0)
		switch o {
		case OrderScore:
			return 0
		case OrderNewest, OrderOldest:
			if v = d.Date.UnixMilli(); d.Date.IsZero() {
				return math.MinInt64
			}
		case OrderFetched:
			if v = d.Fetched.UnixMilli(); d.Fetched.IsZero() {
				return math.MinInt64
			}
		default:
			if v = d.Size; v == 0 {
				return math.MinInt64
			}
		}
		if o == OrderOldest || o == OrderSmallest {
			v = -v
		}
		return v
	}
	hits = slices.Clone(hits)
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(value(&b), value(&a)), cmp.Compare(b.Score, a.Score), cmp.Compare(a.Key, b.Key))
	})
	return hits
}

// thinned leaves out the hits that crowd, and counts the further matches of hosts.
func (r *randomIndex) thinned(hits []Hit, o SearchOptions) (kept []Hit) {
	hosts, matches, groups := map[urlkey.HostKey]int{}, map[urlkey.HostKey]int{}, map[uint64]bool{}
	for _, h := range hits {
		matches[h.Key.HostKey()]++
	}
	for _, h := range hits {
		host, group := h.Key.HostKey(), r.live[h.Key].Group
		if o.PerHost > 0 && hosts[host] >= o.PerHost || o.Collapse && groups[group] {
			continue
		}
		hosts[host]++
		groups[group] = group != 0
		if o.PerHost > 0 {
			h.More = max(0, matches[host]-o.PerHost)
		}
		kept = append(kept, h)
	}
	return kept
}

func (r *randomIndex) checkFacets(t *rapid.T, facets []Facet, hits []Hit) {
	counts := map[string]map[string]int{FacetYear: {}, FacetHost: {}}
	for _, h := range hits {
		if d := r.live[h.Key]; !d.Date.IsZero() {
			counts[FacetYear][strconv.Itoa(d.Date.Year())]++
		}
		counts[FacetHost][h.Key.HostKey().String()]++
	}
	for _, f := range facets {
		got := map[string]int{}
		for _, v := range f.Values {
			got[v.Value] = v.Count
		}
		if fmt.Sprint(got) != fmt.Sprint(counts[f.Name]) || f.Distinct != len(got) {
			t.Fatalf("%s: %v, want %v", f.Name, got, counts[f.Name])
		}
	}
}
