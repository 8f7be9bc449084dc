// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/invariants"
)

// TestManyValues: of fields with many values, rare ones and frequent ones, facets count exactly and ranges find exactly
// what the documents of several index segments have, deleted ones left out; and neither costs memory for each value.
func TestManyValues(t *testing.T) {
	s, x := newStore(t)
	rng := rand.New(rand.NewPCG(17, 17))
	var live []index.Document
	for part := range 3 {
		var docs []index.Document
		for i := range 1500 {
			d := doc(part*1000+i, "", "net") // the last 500 replace those of the part before
			n := 1000*part + i
			if rng.IntN(3) == 0 {
				n = rng.IntN(40)
			}
			price := strconv.Itoa(n)
			d.Stored = []storage.Field{{Name: "sku", Value: "sku" + price}, {Name: "price", Value: price}}
			docs = append(docs, d)
		}
		put(t, s, x, slices.Clone(docs)) // which sorts them
		live = append(live[:part*1000], docs...)
	}
	counts, over := map[string]int{}, 0
	for _, d := range live {
		counts[d.Stored[0].Value]++
		if n, _ := strconv.Atoi(d.Stored[1].Value); n >= 20 && n < 3000 {
			over++
		}
	}
	var want []index.FacetValue
	for value, n := range counts {
		want = append(want, index.FacetValue{Value: value, Count: n})
	}
	slices.SortFunc(want, func(a, b index.FacetValue) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
	})
	find := func(q string, o index.SearchOptions) index.Result {
		o.Deadline = time.Minute
		r, err := x.Search(context.Background(), q, o)
		if err != nil || r.Partial {
			t.Fatalf("%s: partial %v: %v", q, r.Partial, err)
		}
		return r
	}
	for _, most := range []int{1, 10, 100, 10_000} {
		r := find("net", index.SearchOptions{Facets: []string{"sku"}, FacetValues: most})
		if f := r.Facets[0]; f.Distinct != len(want) || !slices.Equal(f.Values, want[:min(most, len(want))]) {
			t.Errorf("%d values of %d, want %d of %d", len(f.Values), f.Distinct, min(most, len(want)), len(want))
		}
	}
	if r := find("price:20..2999.5", index.SearchOptions{}); r.Total != over {
		t.Errorf("%d in the range, want %d", r.Total, over)
	}
	if invariants.Enabled { // the race detector empties pools at random
		return
	}
	for q, o := range map[string]index.SearchOptions{"net": {Facets: []string{"sku"}}, "price:>=0": {}} {
		if n := testing.AllocsPerRun(3, func() { find(q, o) }); n > float64(len(want))/3 {
			t.Errorf("%s allocates %v times with %d values", q, n, len(want))
		}
	}
}
