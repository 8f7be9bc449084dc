// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestRecent: what is kept is what was added last under its key, no more than two generations, and what was used since
// the last generation began survives the next.
func TestRecent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.Int64Range(0, 200).Draw(t, "most")
		r := &recent[int]{}
		r.limit(most)
		added := map[string]int{}
		for i := range rapid.IntRange(1, 300).Draw(t, "steps") {
			key := fmt.Sprint(rapid.IntRange(0, 40).Draw(t, "key"))
			got, ok := r.get(key)
			if want, was := added[key]; ok && (!was || got != want) {
				t.Fatalf("%s is %d, want %d", key, got, want)
			}
			size := rapid.Int64Range(1, 20).Draw(t, "size")
			if rapid.Bool().Draw(t, "add") {
				if r.add(key, i, size); size <= most/recentPart {
					added[key] = i
					if got, ok := r.get(key); !ok || got != i {
						t.Fatalf("%s is %d, %v after %d was added", key, got, ok, i)
					}
				}
			}
			for _, kept := range []map[string]kept[int]{r.now, r.old} {
				sum := int64(0)
				for _, k := range kept {
					sum += k.size
				}
				if sum > most {
					t.Fatalf("a generation of %d has %d", most, sum)
				}
			}
			size = 0
			for _, k := range r.now {
				size += k.size
			}
			if r.size != size {
				t.Fatalf("the size of now is %d, not %d", size, r.size)
			}
		}
	})
	r := &recent[int]{most: 32}
	for i := range 1000 {
		r.add("used", 1, 1)
		r.add(fmt.Sprint(i), i, 1)
		if _, ok := r.get("used"); !ok {
			t.Fatalf("a value in use is gone after %d others", i)
		}
	}
}

// TestShare: segments share an eighth of the memory by their documents, for both generations.
func TestShare(t *testing.T) {
	st := &state{}
	for _, docs := range []uint32{100, 300} {
		st.segments = append(st.segments, &segment{info: segmentInfo{Docs: docs}, values: &recent[storedValue]{}})
	}
	st.share(8 << 20)
	small, large := st.segments[0].values.most, st.segments[1].values.most
	if sum := 2 * (small + large); sum > 1<<20 || sum < 1<<20-1<<12 || large < 2*small {
		t.Errorf("segments of 100 and 300 documents may keep %d and %d bytes of 1 MiB, twice", small, large)
	}
	st.forms.limit(formsBytes)
	// TestLexiconShares has the bound of the words for completions.
	if kept := 2*(small+large+st.forms.most) + (8<<20)/lexiconShare; kept > SearchBytes(8<<20) {
		t.Errorf("%d bytes are kept, more than %d", kept, SearchBytes(8<<20))
	}
	st.forms.limit(formsBytes)
	// TestLexicon has the bound of the words for completions.
	if kept := 2*(small+large+st.forms.most) + (8<<20)/lexiconShare; kept > SearchBytes(8<<20) {
		t.Errorf("%d bytes are kept, more than %d", kept, SearchBytes(8<<20))
	}
}
