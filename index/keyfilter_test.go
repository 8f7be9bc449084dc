// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestKeyFilter: whatever was built, merged and given other anchors, the filter of an index segment passes each of its
// terms and forms, and its forms are of languages that its documents have: so searches find what they would without.
func TestKeyFilter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := memoryStore(t)
		x, err := Open(s, Options{FS: storage.NewMemFS()})
		if err != nil {
			t.Fatal(err)
		}
		r := &randomIndex{s: s, x: x, live: map[urlkey.Key]Document{}}
		defer r.close(t)
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			if r.step(t); rapid.IntRange(0, 2).Draw(t, "reanchor") == 0 {
				r.reanchor(t)
			}
		}
		if err := x.Refresh(); err != nil {
			t.Fatal(err)
		}
		checkFilters(t, x)
	})
}

// checkFilters looks at the filters of all index segments.
func checkFilters(t fataler, x *Index) {
	st, err := x.acquire()
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer x.release(st)
	for _, seg := range st.segments {
		if len(seg.filter) == 0 {
			t.Fatalf("index segment %d has no filter", seg.number)
		}
		for _, kind := range []byte{kindTerms, kindForms} {
			sc := st.snap.Scan(storage.IndexSegmentRange(seg.number, kind), nil, nil)
			for sc.Next() {
				if !seg.filter.mayHave(kind, sc.Key()) {
					t.Fatalf("index segment %d: the filter lacks %c%q", seg.number, kind, sc.Key())
				}
				if kind == kindForms && seg.spoken>>sc.Key()[0]&1 == 0 {
					t.Fatalf("index segment %d has forms of a language that no document has: %q", seg.number, sc.Key())
				}
			}
			if err := sc.Close(); err != nil {
				t.Fatalf("%v", err)
			}
		}
	}
}

// TestKeyFilterLanguages: words are found in their forms in documents of several languages, whichever way pages write
// these, in index segments of one language each and merged.
func TestKeyFilterLanguages(t *testing.T) {
	s, x := openMemory(t, Options{})
	for i, of := range [][2]string{{"en-GB", "mended nets"}, {"DE_ch", "die Häuser"}, {"fra", "nationales nationaux"}} {
		d := numbered(t, i, of[1])
		d.Language = of[0]
		addDocuments(t, s, x, []Document{d})
	}
	for range 2 {
		if err := x.Refresh(); err != nil {
			t.Fatal(err)
		}
		checkFilters(t, x)
		for query, want := range map[string]int{"mend": 1, "Haus": 1, "national": 1, "mending": 1, "unknown": 0} {
			r, err := x.Search(context.Background(), query, SearchOptions{})
			if err != nil || r.Total != want {
				t.Errorf("%q: %d found, want %d: %v", query, r.Total, want, err)
			}
		}
		if _, err := x.MergeTo(context.Background(), 1); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKeyFilterPasses: few rows that are not there are looked for, and an index segment with too many keys has none.
func TestKeyFilterPasses(t *testing.T) {
	s := memoryStore(t)
	defer s.Close()
	for _, keys := range []int{1, 100, 50_000, filterKeys, filterKeys + 1} {
		in := s.NewIngestion()
		w := newDocWriter(in, uint32(keys))
		for i := range keys {
			w.filter.add([]byte{kindTerms, kindForms}[i%2], fmt.Append(nil, "key", i))
		}
		if err := errors.Join(w.writeFilter(), in.Commit()); err != nil {
			t.Fatal(err)
		}
		seg := segment{number: uint32(keys)}
		if err := seg.loadFilter(s); err != nil {
			t.Fatal(err)
		}
		if keys > filterKeys {
			if seg.filter != nil {
				t.Errorf("%d keys have a filter of %d bytes", keys, len(seg.filter))
			}
			continue
		}
		passed, others := 0, 20_000
		for i := range others {
			kind := []byte{kindForms, kindTerms}[i%2] // the other one, for numbers below keys
			if seg.filter.mayHave(kind, fmt.Append(nil, "key", i)) {
				passed++
			}
		}
		if passed > others/40 {
			t.Errorf("of %d keys that are not among %d, %d pass", others, keys, passed)
		}
		if !seg.filter.mayHave(kindDocs, []byte("any")) {
			t.Error("a key of other rows does not pass")
		}
	}
}

// TestKeyFilterDamaged: Open says that a filter is damaged.
func TestKeyFilterDamaged(t *testing.T) {
	s, x := openMemory(t, Options{})
	addDocuments(t, s, x, []Document{numbered(t, 1, "net")})
	st, err := x.acquire()
	if err != nil {
		t.Fatal(err)
	}
	numbers := []uint32{}
	for _, seg := range st.segments {
		numbers = append(numbers, seg.number)
	}
	if err := x.release(st); err != nil || len(numbers) != 1 {
		t.Fatal(numbers, err)
	}
	in := s.NewIngestion()
	table := in.Table(storage.IndexSegmentRange(slices.Max(numbers), kindFilter))
	if err := errors.Join(table.Set(nil, make([]byte, filterBlock+1)), in.Commit()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(s, Options{FS: storage.NewMemFS()}); !errors.Is(err, storage.ErrCorrupt) {
		t.Errorf("opening it: %v", err)
	}
}
