// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestTogether: goroutines that search segments side by side find what one finds, in the same order, and count the same
// numbers: of matches, of values, of further matches of hosts. Each thing that searches may ask for is drawn at random,
// and each has draws of its own, in worlds of two parts or more, which all run side by side.
func TestTogether(t *testing.T) {
	for _, always := range []string{"words", "order", "hosts", "groups", "facets"} {
		t.Run(always, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { searchTogether(t, always) })
		})
	}
}

func searchTogether(t *rapid.T, always string) {
	seed := rapid.Uint64Range(0, 5000).Draw(t, "world")
	w := newValuedWorld(seed)
	for len(w.parts) < 2 {
		seed++
		w = newValuedWorld(seed)
	}
	root := drawTree(t, 3)
	k := rapid.SampledFrom([]int{0, 1, 3, 10, 1000}).Draw(t, "k")
	onePhase := rapid.Bool().Draw(t, "one phase")
	enough := rapid.SampledFrom([]uint64{1, 20, math.MaxUint64}).Draw(t, "enough")
	few := rapid.SampledFrom([]uint64{0, fewCandidates}).Draw(t, "few")
	orders, hosts := []Order{OrderScore, OrderScore, OrderNewest, OrderSmallest}, []int{0, 0, 1, 2, 5}
	if always == "order" {
		orders = orders[2:]
	}
	if always == "hosts" {
		hosts = hosts[2:]
	}
	order := rapid.SampledFrom(orders).Draw(t, "order")
	limits := crowding{
		perHost:  rapid.SampledFrom(hosts).Draw(t, "per host"),
		collapse: rapid.Bool().Draw(t, "collapse") || always == "groups",
	}
	facets := rapid.Bool().Draw(t, "facets") || always == "facets"
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
	if alone.workers() != 1 || beside.workers() < 2 {
		t.Fatalf("%d goroutines searched alone and %d side by side", alone.workers(), beside.workers())
	}
	sameCandidates(t, got, want)
	for i := range got {
		if got[i].more != want[i].more || got[i].same != want[i].same {
			t.Fatalf("hit %d: %d more and %d duplicates side by side, %d and %d alone",
				i, got[i].more, got[i].same, want[i].more, want[i].same)
		}
	}
	if facets && fmt.Sprint(beside.facets.result) != fmt.Sprint(alone.facets.result) {
		t.Fatalf("%v counted side by side, %v alone", beside.facets.result, alone.facets.result)
	}
	if alone.total < enough && beside.total != alone.total || alone.total >= enough && beside.total < enough {
		t.Fatalf("%d matches counted side by side, %d alone, enough are %d", beside.total, alone.total, enough)
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
