// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestReanchoringBytes: the lists of a copy with other anchors are those of an index built at once of the same
// documents, byte for byte, whether their blocks are copied or written anew: with and without deleted documents, with
// anchors of rare words, of words of the page, and of none.
func TestReanchoringBytes(t *testing.T) {
	const n = 2000
	for _, c := range []struct {
		name    string
		deleted func(i int) bool
		anchors func(i int, random *rand.Rand) []string
	}{
		{"rare words", func(i int) bool { return false }, func(i int, _ *rand.Rand) []string {
			return []string{fmt.Sprintf("rare%d", i%700)}
		}},
		{"words of the page", func(i int) bool { return false }, func(i int, _ *rand.Rand) []string {
			return []string{"everywhere", "word3"}
		}},
		{"few of a common word", func(i int) bool { return i == 77 }, func(i int, random *rand.Rand) []string {
			if random.IntN(100) > 0 {
				return nil
			}
			return []string{"common word1"}
		}},
		{"the last deleted", func(i int) bool { return i >= n-150 }, func(i int, random *rand.Rand) []string {
			return []string{fmt.Sprintf("word%d", random.IntN(40))}
		}},
		{"some deleted", func(i int) bool { return i%190 == 3 }, func(i int, random *rand.Rand) []string {
			if i%3 > 0 {
				return []string{"last anchors"} // as before
			}
			return []string{fmt.Sprintf("word%d everywhere", random.IntN(300)), "new"}
		}},
		{"at ends", func(i int) bool { return false }, func(i int, _ *rand.Rand) []string {
			switch {
			case i == n-100:
				return []string{"early"}
			case i%blockDocs == blockDocs-1:
				return []string{"everywhere"}
			}
			return nil
		}},
		{"none", func(i int) bool { return i%1000 == 0 }, func(int, *rand.Rand) []string { return nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			var before, after []Document
			for i := range n {
				var text strings.Builder
				for range 20 + random.IntN(30) {
					fmt.Fprintf(&text, "word%d ", int(random.ExpFloat64()*30))
				}
				text.WriteString("everywhere ")
				if i < 200 {
					text.WriteString("early ")
				}
				if i%5 > 0 {
					text.WriteString("common common ")
				}
				d := numbered(t, i, text.String())
				d.Anchors = []string{"last anchors"}
				before = append(before, d)
				d.Anchors, d.Stamp = c.anchors(i, random), uint64(i)+1e6
				if !c.deleted(i) {
					after = append(after, d)
				}
			}
			s, x := openMemory(t, Options{})
			addDocuments(t, s, x, before)
			deleteDocuments(t, s, x, before, c.deleted)
			want, other := openMemory(t, Options{})
			addDocuments(t, want, other, after)
			reanchorAll(t, s, x, after)
			for _, kind := range []byte{kindTerms, kindPostings, kindPositions} {
				sameRange(t, kind, s.Scan(storage.IndexSegmentRange(onlySegment(t, x), kind), nil, nil),
					want.Scan(storage.IndexSegmentRange(onlySegment(t, other), kind), nil, nil))
			}
		})
	}
}

func deleteDocuments(t *testing.T, s *storage.Store, x *Index, docs []Document, deleted func(i int) bool) {
	t.Helper()
	ing := s.NewIngestion()
	defer ing.Abort()
	b := x.NewBuilder(ing)
	defer b.Abort()
	for i := range docs {
		if deleted(i) {
			if err := b.Delete(docs[i].Key); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, err := b.Finish()
	if err = errors.Join(err, ing.Commit(), x.Refresh()); err != nil {
		t.Fatal(err)
	}
}

// reanchorAll gives documents their anchors by a copy.
func reanchorAll(t *testing.T, s *storage.Store, x *Index, docs []Document) {
	t.Helper()
	r, ok, err := x.NewReanchoring(t.Context())
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	defer r.Abort()
	for i := range docs {
		d := &docs[i]
		value, _, err := s.Get(Located(), []byte(d.Key), nil)
		at, err2 := DecodeLocated(value)
		if err = errors.Join(err, err2); err == nil {
			err = r.Add(at, &Anchors{d.Anchors, d.Boost, d.Stamp})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	report, err := r.Finish(t.Context(), func(key urlkey.Key) error { return fmt.Errorf("%q is left", key) })
	if err != nil || int(report.Changed) != len(docs) {
		t.Fatal(report, err)
	}
}

// onlySegment is the number of the only index segment.
func onlySegment(t *testing.T, x *Index) uint32 {
	t.Helper()
	st, err := x.acquire()
	if err != nil || len(st.segments) != 1 {
		t.Fatalf("%v: %d index segments", err, len(st.segments))
	}
	defer x.release(st)
	return st.segments[0].number
}

func sameRange(t *testing.T, kind byte, got, want *storage.Scanner) {
	t.Helper()
	defer got.Close()
	defer want.Close()
	n := 0
	for want.Next() {
		n++
		if !got.Next() || !bytes.Equal(got.Key(), want.Key()) || !bytes.Equal(got.Value(), want.Value()) {
			t.Fatalf("range %c has %q → % .40x, want %q → % .40x",
				kind, got.Key(), got.Value(), want.Key(), want.Value())
		}
	}
	if got.Next() || n == 0 {
		t.Fatalf("range %c has more than %d keys: %q", kind, n, got.Key())
	}
	if err := errors.Join(got.Err(), want.Err()); err != nil {
		t.Fatal(err)
	}
}
