// SPDX-License-Identifier: Apache-2.0

package index

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestTogether: goroutines that search segments side by side find what one finds, in the same order, and count the same
// number.
func TestTogether(t *testing.T) {
	side := 0
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(rapid.Uint64Range(0, 5000).Draw(t, "world"))
		root := drawTree(t, 3)
		k := rapid.SampledFrom([]int{0, 1, 3, 10, 1000}).Draw(t, "k")
		onePhase := rapid.Bool().Draw(t, "one phase")
		enough := rapid.SampledFrom([]uint64{1, 20, math.MaxUint64}).Draw(t, "enough")
		few := rapid.SampledFrom([]uint64{0, fewCandidates}).Draw(t, "few")
		run := func(goroutines int) (*execution, []candidate) {
			x := w.execution(k)
			x.onePhase, x.enough, x.side, x.few = onePhase, enough, goroutines, few
			return x, x.run(root)
		}
		alone, want := run(1)
		beside, got := run(rapid.IntRange(2, 4).Draw(t, "goroutines"))
		sameCandidates(t, got, want)
		if beside.workers() > 1 {
			side++
		}
		if alone.total < enough && beside.total != alone.total || alone.total >= enough && beside.total < enough {
			t.Fatalf("%d matches counted side by side, %d alone, enough are %d", beside.total, alone.total, enough)
		}
	})
	if side == 0 {
		t.Error("no search ran side by side")
	}
}
