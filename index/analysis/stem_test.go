// SPDX-License-Identifier: Apache-2.0

package analysis

import (
	"fmt"
	"strings"
	"testing"
)

// TestStemTable: words come out with their own stems and notes, however many there are, of every length.
func TestStemTable(t *testing.T) {
	var s stemmer
	word := func(w string) *Word { return s.stem(append(make([]byte, 0, 64), w...)) }
	for n := 1; n <= 40; n++ {
		w := strings.Repeat("walking", 6)[:n]
		if got := string(word(w).term); got != string(stemOf([]byte(w))) {
			t.Errorf("%q: %q", w, got)
		}
	}
	word("walking").Note = "noted"
	if w := word("walking"); w.Note != "noted" || string(w.term) != "walk" {
		t.Errorf("%v", w)
	}
	for i := range stemCacheMax + 1000 { // more than are kept
		w := fmt.Sprintf("w%dö", i)
		if got := string(word(w).term); got != w {
			t.Fatalf("%q: %q", w, got)
		}
	}
	if s.used > stemCacheMax || string(word("walking").term) != "walk" {
		t.Errorf("%d words are kept", s.used)
	}
}
