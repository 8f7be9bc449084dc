// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// TestDeleteRangeOfTable deletes parts of a range and writes others in one ingestion, over what a small or a large one
// has left.
func TestDeleteRangeOfTable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, err := Open("store", Options{FS: NewMemFS()})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		key := func(n int) []byte { return fmt.Appendf(nil, "k%02d", n) }
		r, want := Crawldb(), map[string]string{}
		commit := func(fill func(w *TableWriter) error) {
			in := s.NewIngestion()
			defer in.Abort()
			w := in.Table(r)
			if err := errors.Join(fill(w), in.Commit()); err != nil {
				t.Fatal(err)
			}
		}
		large := rapid.Bool().Draw(t, "large")
		commit(func(w *TableWriter) error {
			if large {
				w.in.large.Store(true)
			}
			for n := range 20 {
				want[string(key(n))] = "old"
				if err := w.Set(key(n), []byte("old")); err != nil {
					return err
				}
			}
			return nil
		})
		commit(func(w *TableWriter) error {
			for n := 0; n < 20; n++ {
				what := []string{"leave", "set", "delete", "delete range", "delete rest"}
				switch rapid.SampledFrom(what).Draw(t, "do") {
				case "set":
					want[string(key(n))] = "new"
					if err := w.Set(key(n), []byte("new")); err != nil {
						return err
					}
				case "delete":
					delete(want, string(key(n)))
					if err := w.Delete(key(n)); err != nil {
						return err
					}
				case "delete range":
					until := rapid.IntRange(n+1, 20).Draw(t, "until")
					for i := n; i < until; i++ {
						delete(want, string(key(i)))
					}
					if err := w.DeleteRange(key(n), key(until)); err != nil {
						return err
					}
					n = until // what follows must be above
				case "delete rest":
					for i := n; i < 20; i++ {
						delete(want, string(key(i)))
					}
					return w.DeleteRange(key(n), nil)
				}
			}
			return nil
		})
		got := map[string]string{}
		sc := s.Scan(r, nil, nil)
		for sc.Next() {
			got[string(sc.Key())] = string(sc.Value())
		}
		if err := sc.Close(); err != nil || !maps.Equal(got, want) {
			t.Fatalf("%v, want %v, %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)), err)
		}
	})
}

// TestDeleteRangeOrder: what follows a deleted part is above it.
func TestDeleteRangeOrder(t *testing.T) {
	s, err := Open("store", Options{FS: NewMemFS()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for name, fill := range map[string]func(w *TableWriter) error{
		"a key within": func(w *TableWriter) error {
			return errors.Join(w.DeleteRange([]byte("b"), []byte("d")), w.Set([]byte("c"), nil))
		},
		"the rest": func(w *TableWriter) error {
			return errors.Join(w.DeleteRange([]byte("b"), nil), w.Set([]byte("c"), nil))
		},
		"backwards": func(w *TableWriter) error { return w.DeleteRange([]byte("b"), []byte("a")) },
		"after its key": func(w *TableWriter) error {
			return errors.Join(w.Set([]byte("c"), nil), w.DeleteRange([]byte("b"), []byte("d")))
		},
		"a whole one's": func(w *TableWriter) error {
			return errors.Join(w.in.DeleteRange(w.r), w.DeleteRange([]byte("b"), []byte("d")))
		},
		"nothing at all": func(w *TableWriter) error { return w.DeleteRange([]byte("b"), []byte("b")) },
	} {
		in := s.NewIngestion()
		if err := fill(in.Table(Crawldb())); err == nil {
			t.Errorf("%s is no error", name)
		}
		in.Abort()
	}
}

// TestDeleteParsed deletes some keys of the parse records of two of three segments.
func TestDeleteParsed(t *testing.T) {
	s, err := Open("store", Options{FS: NewMemFS()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	in := s.NewIngestion()
	defer in.Abort()
	for _, n := range []uint32{1, 2, 3} {
		for _, r := range []Range{ParseLinks(n), ParseTextRange(n)} {
			for _, key := range []string{"a", "b", "c"} {
				err = errors.Join(err, in.Table(r).Set([]byte(key), []byte{1}))
			}
		}
	}
	if err := errors.Join(err, in.Commit()); err != nil {
		t.Fatal(err)
	}
	gone := s.NewIngestion()
	defer gone.Abort()
	if err := errors.Join(gone.DeleteParsed(1, []byte("b"), []byte("c")), gone.DeleteParsed(3, nil, []byte("b")),
		gone.Commit()); err != nil {
		t.Fatal(err)
	}
	for n, want := range map[uint32]string{1: "ac", 2: "abc", 3: "bc"} {
		for _, r := range []Range{ParseLinks(n), ParseTextRange(n)} {
			var got bytes.Buffer
			sc := s.Scan(r, nil, nil)
			for sc.Next() {
				got.Write(sc.Key())
			}
			if err := sc.Close(); err != nil || got.String() != want {
				t.Errorf("%s: %q, want %q, %v", r, &got, want, err)
			}
		}
	}
}

// TestDeleteRangeBesideOthers: one goroutine deletes parts of a range while another deletes other ranges.
func TestDeleteRangeBesideOthers(t *testing.T) {
	t.Parallel()
	s, err := Open("store", Options{FS: NewMemFS()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	in := s.NewIngestion()
	defer in.Abort()
	w := in.Table(CDXRange())
	var done atomic.Bool // looked at without waiting, so that the race detector sees both sides as they come
	others := make(chan error, 1)
	go func() {
		var err error
		for n := uint32(1); err == nil && !done.Load(); n++ {
			err = in.DeleteRange(Fetchlist(n))
		}
		others <- err
	}()
	for n := range 3000 {
		if err := w.DeleteRange(fmt.Appendf(nil, "%09d", n), fmt.Appendf(nil, "%09da", n)); err != nil {
			t.Error(err)
		}
	}
	done.Store(true)
	if err := <-others; err != nil {
		t.Error(err)
	}
}
