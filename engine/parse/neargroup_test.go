// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestNearGroup: texts that differ in a word are mostly of one group, as often as their shingles say; other texts
// never, and short ones have none.
func TestNearGroup(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	words := make([]string, 400)
	const trials = 400
	same := map[int]int{} // by words changed
	for range trials {
		for i := range words {
			words[i] = fmt.Sprint("w", rng.IntN(5000))
		}
		group := NearGroup([]byte(strings.Join(words, " ")))
		if group == 0 || group >= 1<<48 {
			t.Fatalf("group %x", group)
		}
		for _, changed := range []int{0, 1, 4, 200} {
			other := append([]string(nil), words...)
			for i := range changed {
				other[(i*len(other)/max(changed, 1)+7)%len(other)] = "changed" // far from each other: 3 shingles each
			}
			if NearGroup([]byte(strings.Join(other, ",\n"))) == group {
				same[changed]++
			}
		}
	}
	for changed, n := range same {
		shared := 398 - 3*float64(changed)
		want := math.Pow(shared/(398+3*float64(changed)), nearBins)
		if got := float64(n) / trials; math.Abs(got-want) > 0.1 {
			t.Errorf("with %d words changed, %.2f are of one group, want %.2f", changed, got, want)
		}
	}
	if same[0] != trials || same[200] > 0 {
		t.Errorf("groups in common: %v", same)
	}
	if g := NearGroup([]byte(strings.Repeat("word ", 100))); g != 0 {
		t.Errorf("500 bytes have group %x", g)
	}
}

func BenchmarkNearGroup(b *testing.B) {
	text := []byte(strings.Repeat("Find the torn mesh and begin above it, with needle and twine; ", 200))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		NearGroup(text)
	}
}
