// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"
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
	if m, err = s.Counters(); err != nil || m.Tables != 3 {
		t.Errorf("flushed, they are %d tables, %v; want crawldb, linkdb with meta, and segments", m.Tables, err)
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

// TestGatheredIsDurable: a power loss right after the Commit of a small ingestion takes nothing of it.
func TestGatheredIsDurable(t *testing.T) {
	fs := NewCrashableFS()
	s, err := Open("store", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	in := s.NewIngestion()
	defer in.Abort()
	err = errors.Join(
		in.Table(Crawldb()).Set([]byte("a"), []byte("v")), in.PutSegment(Segment{Number: 1, State: SegmentOpen}),
		in.Commit(),
	)
	if err != nil || s.gathered.Load() != 1 {
		t.Fatalf("%d ingestions without tables, %v", s.gathered.Load(), err)
	}
	left, err := Open("store", Options{FS: fs.Crash(0, 1), MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer left.Close()
	if value, _, err := left.Get(Crawldb(), []byte("a"), nil); string(value) != "v" {
		t.Errorf("the key has %q, %v", value, err)
	}
	if list, err := left.SegmentList(); len(list) != 1 {
		t.Errorf("segments are %v, %v", list, err)
	}
}

// TestCommitBy: whoever finishes the tables of a commit, and in which order, the store has the same; after an error of
// one it has nothing.
func TestCommitBy(t *testing.T) {
	t.Parallel()
	backwards := func(n int, finish func(int) error) error {
		for i := range n {
			if err := finish(n - 1 - i); err != nil {
				return err
			}
		}
		return nil
	}
	atOnce := func(n int, finish func(int) error) error {
		var group errgroup.Group
		for i := range n {
			group.Go(func() error { return finish(i) })
		}
		return group.Wait()
	}
	failed := errors.New("no processor")
	failing := func(n int, finish func(int) error) error { return errors.Join(finish(0), failed) }
	for name, together := range map[string]func(n int, finish func(int) error) error{
		"backwards": backwards, "at once": atOnce, "failing": failing,
	} {
		s := openTest(t)
		old := s.NewIngestion()
		if err := errors.Join(old.Table(Linkdb()).Set([]byte("old"), nil), old.Commit()); err != nil {
			t.Fatal(err)
		}
		in := s.NewIngestion()
		if err := in.DeleteRange(Linkdb()); err != nil {
			t.Fatal(err)
		}
		// More ranges than a commit has files open, most of which hold what they were given until then.
		want := map[Range]int{Linkdb(): 20, Crawldb(): 30, Signatures(): 0}
		for n := range uint32(2 * commitFiles) {
			want[ParseLinks(n+1)] = int(n % 3)
		}
		for r, keys := range want {
			for k := range keys {
				if err := in.Table(r).Set(fmt.Appendf(nil, "%05d", k), []byte(r.String())); err != nil {
					t.Fatal(err)
				}
			}
		}
		large := make([]byte, s.gatherBytes())
		err := errors.Join(in.Table(Crawldb()).Set([]byte("large"), large), in.CommitBy(together))
		if want[Crawldb()]++; name == "failing" {
			clear(want)
			want[Linkdb()] = 1
			if !errors.Is(err, failed) {
				t.Errorf("failing: %v", err)
			}
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for r := range map[Range]int{Linkdb(): 0, Crawldb(): 0, ParseLinks(2): 0, ParseLinks(2 * commitFiles): 0} {
			found := 0
			sc := s.Scan(r, nil, nil)
			for sc.Next() {
				found++
			}
			if err := sc.Close(); err != nil || found != want[r] {
				t.Errorf("%s: %s has %d keys, want %d: %v", name, r, found, want[r], err)
			}
		}
		if files, err := s.fs.List(s.fs.PathJoin(s.dir, ingestDir)); err != nil || len(files) > 0 {
			t.Errorf("%s: %q are left: %v", name, files, err)
		}
	}
}
