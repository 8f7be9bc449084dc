// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"testing"
	"time"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestFetchTimes: the times of all documents are those that they were indexed with, before, within and after a merge.
func TestFetchTimes(t *testing.T) {
	s := memoryStore(t)
	defer s.Close()
	x, err := Open(s, Options{FS: storage.NewMemFS()})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	want := map[string]time.Time{}
	for round := range 2 {
		ing := s.NewIngestion()
		b := x.NewBuilder(ing)
		for i := range 300 {
			u, err := urlkey.Parse(fmt.Sprintf("http://h.example/%04d", 2*i+round))
			if err != nil {
				t.Fatal(err)
			}
			d := Document{Key: u.Key(), URL: u.String(), Text: "net", Stamp: 1}
			if i%7 > 0 {
				d.Fetched = time.UnixMilli(1_700_000_000_000 + int64(i*i)*1000 + int64(round)).UTC()
			}
			want[string(d.Key)] = d.Fetched
			if err := b.Add(&d); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.Finish(); err != nil {
			t.Fatal(err)
		}
		if err := ing.Commit(); err != nil {
			t.Fatal(err)
		}
		b.Abort()
		ing.Abort()
		if err := x.Refresh(); err != nil {
			t.Fatal(err)
		}
	}
	steps := map[string]bool{}
	check := func(step string) error {
		steps[step] = true
		snap := s.Snapshot()
		defer snap.Close()
		times, err := NewFetchTimes(snap)
		if err != nil {
			return err
		}
		n := 0
		sc := snap.Scan(Located(), nil, nil)
		defer sc.Close()
		for ; sc.Next(); n++ {
			at, err := DecodeLocated(sc.Value())
			if err != nil {
				return err
			}
			if got, err := times.Of(sc.Key(), at); err != nil || !got.Equal(want[string(sc.Key())]) {
				t.Fatalf("%s: %s: %s, want %s: %v", step, sc.Key(), got, want[string(sc.Key())], err)
			}
		}
		if n != len(want) {
			t.Errorf("%s: %d documents, want %d", step, n, len(want))
		}
		return sc.Err()
	}
	x.onMerge = check
	if _, err := x.MergeTo(t.Context(), 1); err != nil || !steps["exchanged"] {
		t.Fatalf("%v, %v", steps, err)
	}
	if err := check("merged"); err != nil {
		t.Error(err)
	}
}
