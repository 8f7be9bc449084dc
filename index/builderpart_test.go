// SPDX-License-Identifier: Apache-2.0

package index

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/seine-crawler/seine/storage"
)

// TestBuilderParts: goroutines that add documents and deletions to parts of a Builder leave the index that one leaves,
// with the same counts, also where they replace what is there.
func TestBuilderParts(t *testing.T) {
	const n = 400
	document := func(round, i int) Document {
		d := numbered(t, i, fmt.Sprintf("text %d of round %d with word%d and word%d", i, round, i%7, i*round%31))
		d.Stamp = uint64(round*n + i)
		return d
	}
	deleted := func(round, i int) bool { return round > 0 && i%11 == round }
	build := func(s *storage.Store, x *Index, parts int) (counts []BuildReport) {
		for round := range 3 {
			ing := s.NewIngestion()
			defer ing.Abort()
			b := x.NewBuilder(ing)
			defer b.Abort()
			to, err := b.Parts(parts)
			if err != nil {
				t.Fatal(err)
			}
			errs := make([]error, len(to))
			var wg sync.WaitGroup
			for p := range to {
				wg.Go(func() {
					for i := n * p / len(to); i < n*(p+1)/len(to) && errs[p] == nil; i++ {
						d := document(round, i)
						if deleted(round, i) {
							errs[p] = to[p].Delete(d.Key)
						} else if round < 2 || i%3 == 0 {
							errs[p] = to[p].Add(&d)
						}
					}
					if errs[p] == nil {
						errs[p] = to[p].Finish()
					}
				})
			}
			wg.Wait()
			r, err := b.Finish()
			if err := errors.Join(errors.Join(errs...), err, ing.Commit(), x.Refresh()); err != nil {
				t.Fatal(err)
			}
			if r.Segments != len(to) {
				t.Errorf("%d parts make %d index segments", len(to), r.Segments)
			}
			r.Segments, r.CPU = 0, 0
			counts = append(counts, r)
		}
		return counts
	}
	s, x := openMemory(t, Options{})
	want := build(s, x, 9) // without Builders there is one part
	for _, parts := range []int{2, 3} {
		s, y := openMemory(t, Options{Builders: 3})
		if got := build(s, y, parts); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%d parts count %+v, want %+v", parts, got, want)
		}
		a, err1 := x.Digest(t.Context())
		b, err2 := y.Digest(t.Context())
		if err := errors.Join(err1, err2); err != nil || a != b {
			t.Errorf("%d parts: digests %x and %x: %v", parts, a, b, err)
		}
	}
	ing := s.NewIngestion()
	defer ing.Abort()
	b := x.NewBuilder(ing)
	defer b.Abort()
	to, err := b.Parts(1)
	if err != nil {
		t.Fatal(err)
	}
	d := document(0, 5)
	if err := to[0].Add(&d); err != nil {
		t.Fatal(err)
	}
	if err := to[0].Delete(document(0, 4).Key); err == nil {
		t.Error("a part takes keys in any order")
	}
	d.Boost = -1
	if err := to[0].Add(&d); !errors.Is(err, ErrDocument) {
		t.Errorf("a boost of -1: %v", err)
	}
}
