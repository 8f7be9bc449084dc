// SPDX-License-Identifier: Apache-2.0

package index

import (
	"testing"

	"pgregory.net/rapid"
)

// TestRenumbering: numbers of any sources come back, in less than a byte of each document, plain ones in four.
func TestRenumbering(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sources := rapid.IntRange(1, mergeSourcesMost).Draw(t, "sources")
		runs := rapid.SliceOfN(rapid.IntRange(0, 1<<10), 1, 200).Draw(t, "runs")
		seed := rapid.IntRange(0, 1000).Draw(t, "seed")
		want := make([][]uint32, sources) // numbers by source
		deleted := make([][]bool, sources)
		most, written := uint32(0), make([]uint32, sources)
		for i, n := range runs { // long runs and single documents of each source
			s := (i*7 + seed) % sources
			for range n>>uint(i%10) + 1 {
				gone := (most+uint32(seed))%13 == 0
				if !gone {
					written[s] = most
				}
				want[s], deleted[s] = append(want[s], written[s]), append(deleted[s], gone)
				most++
			}
		}
		plain := rapid.Bool().Draw(t, "plain")
		took := 0
		for s, numbers := range want {
			r := newRenumbering(uint32(len(numbers)), most, plain)
			for _, n := range numbers {
				r.add(n)
			}
			for doc, n := range numbers {
				if got := r.of(uint32(doc)); got != n {
					t.Fatalf("document %d of source %d has number %d, want %d", doc, s, got, n)
				}
			}
			for i := range numbers {
				doc := (i*31 + seed) % len(numbers) // in any order
				if got := r.of(uint32(doc)); got != numbers[doc] {
					t.Fatalf("document %d of source %d has number %d, want %d", doc, s, got, numbers[doc])
				}
			}
			took += r.bytes()
		}
		bound := int(most)*renumberingBits/8 + sources*64
		if plain {
			bound = int(most) * plainBytes
		}
		if took > bound {
			t.Fatalf("%d documents of %d sources take %d bytes, more than %d", most, sources, took, bound)
		}
	})
}

// bytes returns the memory that it takes.
func (r *renumbering) bytes() int {
	return plainBytes*cap(r.plain) + 8*(cap(r.low)+cap(r.high)+cap(r.every))
}
