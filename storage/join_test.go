// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestJoin: MergeJoin and a Finder find what a map has, however near or far the keys of a run are from each other and
// wherever it changes from one to the other: by steps, by seeks, and beyond the end. An empty value is one.
func TestJoin(t *testing.T) {
	s := openTest(t)
	const stored = 4000 // every second number
	want := map[string]string{}
	in := s.NewIngestion()
	defer in.Abort()
	for _, r := range []Range{Crawldb(), Linkdb()} { // what follows is not found
		for i := range stored {
			key, value := fmt.Sprintf("%05d", 2*i), ""
			if i%5 > 0 {
				value = fmt.Sprint(i)
			}
			want[key] = value
			if err := in.Table(r).Set([]byte(key), []byte(value)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := in.Commit(); err != nil {
		t.Fatal(err)
	}
	written := func(b *Batch) error { return b.Set(Crawldb(), fmt.Appendf(nil, "%05d", 2*5), nil) } // in no table yet
	if err := s.Apply(written); err != nil {
		t.Fatal(err)
	}
	found := func(t *rapid.T, how string, key, value []byte) {
		if is, ok := want[string(key)]; ok != (value != nil) || string(value) != is {
			t.Fatalf("%s: %s has %q, want %q, %t", how, key, value, is, ok)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		var pairs []Pair
		at := rapid.IntRange(0, 50).Draw(t, "first")
		for range rapid.IntRange(1, 6).Draw(t, "stretches") {
			gap := rapid.SampledFrom([]int{0, 1, 2, 2, 7, 40, 90}).Draw(t, "gap")
			for range rapid.SampledFrom([]int{1, 3, 3 * joinProbeEvery}).Draw(t, "keys") {
				pairs = append(pairs, Pair{fmt.Appendf(nil, "%05d", at), []byte{byte(len(pairs))}})
				at += gap
			}
		}
		f := NewFinder(s, Crawldb())
		defer f.Close()
		for range 2 {
			for _, p := range pairs {
				value, err := f.Find(p.Key)
				if err != nil {
					t.Fatal(err)
				}
				found(t, "Finder", p.Key, value)
			}
			f.Restart()
		}
		next := 0
		err := MergeJoin(context.Background(), s, Crawldb(), NewSliceRun(pairs),
			func(key []byte, values [][]byte, old []byte) error {
				found(t, "MergeJoin", key, old)
				for _, v := range values {
					if p := pairs[next]; !bytes.Equal(key, p.Key) || !bytes.Equal(v, p.Value) {
						t.Fatalf("pair %d is %q, %v, want %q, %v", next, key, v, p.Key, p.Value)
					}
					next++
				}
				if next < len(pairs) && bytes.Equal(pairs[next].Key, key) {
					t.Fatalf("%s comes without all of its values", key)
				}
				return nil
			})
		if err != nil || next != len(pairs) {
			t.Fatalf("%d of %d pairs, %v", next, len(pairs), err)
		}
	})
}
