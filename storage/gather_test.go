// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"fmt"
	"testing"
)

// TestGather: small ingestions make no tables and meet in one flush, whatever range they write; a large one makes
// tables of everything that it was given, from the first key on.
func TestGather(t *testing.T) {
	s := openTest(t)
	const small = 20
	put := func(n int, value []byte, keys int) {
		t.Helper()
		in := s.NewIngestion()
		defer in.Abort()
		for _, r := range []Range{Crawldb(), Linkdb()} {
			for k := range keys {
				if err := in.Table(r).Set(fmt.Appendf(nil, "%02d-%05d", n, k), value); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := in.PutSegment(Segment{Number: uint32(n + 1), State: SegmentOpen}); err != nil {
			t.Fatal(err)
		}
		if err := in.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	for n := range small {
		put(n, []byte("v"), 10)
	}
	m, err := s.Counters()
	if err != nil || m.Ingestions != small || m.Tables != 0 {
		t.Errorf("%d small ingestions made %d tables in %d ingestions, %v", small, m.Tables, m.Ingestions, err)
	}
	s.flush()
	if m, err = s.Counters(); err != nil || m.Tables != 4 {
		t.Errorf("flushed, they are %d tables of meta and three ranges, %v", m.Tables, err)
	}
	value := bytes.Repeat([]byte("value "), 200)
	keys := int(s.gatherBytes())/len(value)/2 + 1 // in two ranges
	put(small, value, keys)
	if m, err = s.Counters(); err != nil || m.Ingestions != small+1 || s.gathered.Load() != small {
		t.Errorf("%d of %d ingestions made no table, %v", s.gathered.Load(), m.Ingestions, err)
	}
	for _, r := range []Range{Crawldb(), Linkdb()} {
		found := 0
		sc := s.Scan(r, nil, nil)
		for sc.Next() {
			found++
		}
		if err := sc.Close(); err != nil || found != small*10+keys {
			t.Errorf("%s has %d keys, %v; want %d", r, found, err, small*10+keys)
		}
	}
	if list, err := s.SegmentList(); err != nil || len(list) != small+1 {
		t.Errorf("%d segments, %v", len(list), err)
	}
}
