// SPDX-License-Identifier: Apache-2.0

package index

import (
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestHeldDocs: documents that are held are found, numbered, marked and met as those of a sorted list are, in windows
// of few documents and of many.
func TestHeldDocs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, all := newHeldDocs(3*sumDocs), []uint32{}
		for n := range uint32(3) {
			var has sumBits
			counts := []int{0, 1, 60, heldSparse, heldSparse + 1, sumDocs / 2, sumDocs}
			count := rapid.SampledFrom(counts).Draw(t, "documents")
			step := rapid.SampledFrom([]uint32{1, 7, 15}).Draw(t, "step") // coprime with sumDocs
			first := rapid.Uint32Range(0, sumDocs-1).Draw(t, "first")
			for i := range uint32(count) {
				has.set((first + i*step) % sumDocs)
			}
			for place := range uint32(sumDocs) {
				if has[place>>6]>>(place&63)&1 != 0 {
					all = append(all, n*sumDocs+place)
				}
			}
			d.add(&has)
			if w := d.window(int(n)); (w.bits != nil) != (count > heldSparse) {
				t.Fatalf("%d documents: bits %v", count, w.bits != nil)
			}
		}
		d.clip()
		if d.len() != len(all) || d.windows() != 3 {
			t.Fatalf("%d documents in %d windows, want %d", d.len(), d.windows(), len(all))
		}
		for range 50 {
			doc := rapid.Uint32Range(0, 3*sumDocs-1).Draw(t, "document")
			at, ok := slices.BinarySearch(all, doc)
			if d.has(doc) != ok {
				t.Fatalf("has(%d) = %v", doc, !ok)
			}
			n := int(doc / sumDocs)
			w := d.window(n)
			number, place, ok := w.seek(doc % sumDocs)
			if want := at < int(w.to); ok != want || ok &&
				(int(number) != at || uint32(n)*sumDocs+place != all[at] || w.place(number) != place) {
				t.Fatalf("seek(%d) = %d at %d, %v; want %d", doc, number, place, ok, at)
			}
		}
		n := rapid.IntRange(0, 2).Draw(t, "window")
		w, of := d.window(n), sumBits{}
		for range rapid.SampledFrom([]int{0, 1, 20, 2000, 20_000}).Draw(t, "bits") {
			of.set(rapid.Uint32Range(0, sumDocs-1).Draw(t, "bit"))
		}
		some := 0
		for _, b := range of {
			some += bits.OnesCount64(b)
		}
		both, either, several, numbers, places := sumBits{}, of, sumBits{}, []uint32{}, []uint16{}
		for number := w.from; number < w.to; number++ {
			place := all[number] % sumDocs
			either.set(place)
			if of[place>>6]>>(place&63)&1 != 0 {
				both.set(place)
				numbers, places = append(numbers, number), append(places, uint16(place))
			}
		}
		f := &heldFound{}
		if k := w.find(&of, some, f); !slices.Equal(f.number[:k], numbers) || !slices.Equal(f.place[:k], places) {
			t.Fatalf("found %d of %d documents among %d bits, want %d", k, w.to-w.from, some, len(numbers))
		}
		got, any := of, of
		if w.meet(&got, some); got != both {
			t.Fatal("wrong documents are met")
		}
		if w.markSeveral(&any, &several); any != either || several != both {
			t.Fatal("wrong documents are marked")
		}
		if w.mark(&of); of != either {
			t.Fatal("wrong documents are marked")
		}
	})
}
