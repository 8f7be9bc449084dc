// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/storage"
)

// TestTargets: for targets in any order, with links and without, read to the end or not, targets stands where a seek
// does.
func TestTargets(t *testing.T) {
	s, err := storage.Open(t.TempDir(), storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	in := s.NewIngestion()
	defer in.Abort()
	w := in.Table(storage.Linkdb())
	target := func(n int) []byte { return fmt.Appendf(nil, "example.target:%03d", n) }
	for n := range 40 {
		for part := range n % 4 { // one in four has no links
			if err := w.Set(storage.AppendLinkdbKey(nil, target(n), uint32(part)), []byte{0}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := in.Commit(); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.IntRange(0, 45), 1, 60).Draw(t, "targets")
		if rapid.Bool().Draw(t, "in order") {
			slices.Sort(list)
		}
		links, want := newTargets(s), s.Scan(storage.Linkdb(), nil, nil)
		defer links.Close()
		defer want.Close()
		for i, n := range list {
			ok := want.SeekGE(storage.AppendLinkdbKey(nil, target(n), 0))
			for got := links.seek(target(n)); ; got = links.next() {
				if got != ok || ok && string(links.Key()) != string(want.Key()) {
					t.Fatalf("target %d: %v, want %v", n, got, ok)
				}
				if !ok || (i+n)%3 == 0 {
					break
				}
				ok = want.Next()
			}
		}
	})
}
