// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestTogether: goroutines that search segments side by side find what one finds, in the same order, and count the same
// numbers: of matches, of values, of further matches of hosts.
func TestTogether(t *testing.T) {
	side := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		w := newValuedWorld(rapid.Uint64Range(0, 5000).Draw(t, "world"))
		root := drawTree(t, 3)
		k := rapid.SampledFrom([]int{0, 1, 3, 10, 1000}).Draw(t, "k")
		onePhase := rapid.Bool().Draw(t, "one phase")
		enough := rapid.SampledFrom([]uint64{1, 20, math.MaxUint64}).Draw(t, "enough")
		few := rapid.SampledFrom([]uint64{0, fewCandidates}).Draw(t, "few")
		order := rapid.SampledFrom([]Order{OrderScore, OrderScore, OrderNewest, OrderSmallest}).Draw(t, "order")
		limits := crowding{
			perHost:  rapid.SampledFrom([]int{0, 0, 1, 2, 5}).Draw(t, "per host"),
			collapse: rapid.Bool().Draw(t, "collapse"),
		}
		facets := rapid.Bool().Draw(t, "facets")
		run := func(goroutines int) (*execution, []candidate) {
			x := w.execution(k)
			x.onePhase, x.enough, x.side, x.few = onePhase, enough, goroutines, few
			x.order, x.crowding = order, limits
			if facets {
				x.enough = math.MaxUint64
				x.facets = newFacets(SearchOptions{Facets: []string{FacetLanguage, FacetYear, FacetHost}})
			}
			best := x.run(root)
			x.countMore(root, best)
			return x, best
		}
		alone, want := run(1)
		beside, got := run(rapid.IntRange(2, 4).Draw(t, "goroutines"))
		sameCandidates(t, got, want)
		for i := range got {
			if got[i].more != want[i].more || got[i].same != want[i].same {
				t.Fatalf("hit %d: %d more and %d duplicates side by side, %d and %d alone",
					i, got[i].more, got[i].same, want[i].more, want[i].same)
			}
		}
		if beside.workers() > 1 {
			side["words"]++
			for name, on := range map[string]bool{
				"order": order != OrderScore, "hosts": limits.perHost > 0, "groups": limits.collapse, "facets": facets,
			} {
				if on {
					side[name]++
				}
			}
		}
		if facets && fmt.Sprint(beside.facets.result) != fmt.Sprint(alone.facets.result) {
			t.Fatalf("%v counted side by side, %v alone", beside.facets.result, alone.facets.result)
		}
		if alone.total < enough && beside.total != alone.total || alone.total >= enough && beside.total < enough {
			t.Fatalf("%d matches counted side by side, %d alone, enough are %d", beside.total, alone.total, enough)
		}
	})
	for _, name := range []string{"words", "order", "hosts", "groups", "facets"} {
		if side[name] == 0 {
			t.Errorf("no search for %s ran side by side", name)
		}
	}
}

// TestGoroutines: searches share the processors.
func TestGoroutines(t *testing.T) {
	x := &Index{o: Options{Processors: 4}}
	for searches, want := range map[int64]int{0: 4, 1: 4, 2: 2, 3: 1, 4: 1, 100: 1} {
		x.searching.Store(searches)
		if got := x.goroutines(); got != want {
			t.Errorf("%d goroutines for each of %d searches, want %d", got, searches, want)
		}
	}
}
