// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"testing"

	"github.com/seine-crawler/seine/index/analysis"
)

// TestWordCache: what the cache finds is the place that the word was put with last, a word that was just met is found,
// and the cache keeps within its bytes, however many words it meets.
func TestWordCache(t *testing.T) {
	const bytes = 1 << 18
	c := newWordCache(bytes)
	want, found := map[analysis.Word]uint32{}, 0
	var a analysis.Analyzer
	for i := range 30_000 {
		for _, n := range []int{i, i / 2, i % 7} { // new ones, some of before, frequent ones
			var w analysis.Word
			a.Walk(fmt.Appendf(nil, "word%dö", n), 0, func(t *analysis.Token) { w = t.Word })
			if place := c.sets[c.of(w)].find(w); place > 0 {
				if found++; place != want[w] {
					t.Fatalf("word %d: %d, want %d", n, place, want[w])
				}
			} else {
				want[w] = uint32(3*i + 1)
				c.sets[c.of(w)].put(w, want[w])
			}
			if c.sets[c.of(w)].find(w) != want[w] {
				t.Fatalf("word %d is not found after it was met", n)
			}
			c.grow(i)
		}
	}
	if size := len(c.sets) * wordSetBytes; size > bytes || size < bytes/2 || found < 20_000 {
		t.Errorf("%d bytes; %d words were found", size, found)
	}
	c.reset()
	for w := range want {
		if c.sets[c.of(w)].find(w) != 0 {
			t.Fatal("a word is found after reset")
		}
	}
}
