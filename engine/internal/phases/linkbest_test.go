// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestBestNodes: they are those of all nodes in order, whatever was sorted meanwhile.
func TestBestNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(0, 5).Draw(t, "most")
		best := newBestNodes(most)
		var all []RankedNode
		for i, rank := range rapid.SliceOfN(rapid.IntRange(0, 4), 0, 40).Draw(t, "ranks") {
			n := RankedNode{fmt.Sprintf("%02d", i), float64(rank)}
			all = append(all, n)
			best.add(n.Rank, func() []byte { return []byte(n.Name) })
			if most > 0 && len(best.list) >= 2*most {
				t.Fatalf("%d nodes are held for the best %d", len(best.list), most)
			}
		}
		slices.SortStableFunc(all, func(a, b RankedNode) int { return cmp.Compare(b.Rank, a.Rank) })
		if got := best.sorted(); !slices.Equal(got, all[:min(most, len(all))]) {
			t.Fatalf("best %d of %v: %v", most, all, got)
		}
	})
}
