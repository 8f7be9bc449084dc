// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// openTest opens a store in memory and closes it at the end of the test.
func openTest(t testing.TB) *Store {
	t.Helper()
	s, err := Open("store", Options{FS: NewMemFS(), Logger: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestSnapshot: a snapshot and an open scanner do not see later writes.
func TestSnapshot(t *testing.T) {
	s := openTest(t)
	set := func(v string) {
		in := s.NewIngestion()
		if err := errors.Join(in.Table(Crawldb()).Set([]byte("a"), []byte(v)), in.Commit()); err != nil {
			t.Fatal(err)
		}
	}
	set("1")
	snap := s.Snapshot()
	sc := s.Scan(Crawldb(), nil, nil)
	set("2")
	if v, _, err := snap.Get(Crawldb(), []byte("a"), nil); string(v) != "1" || err != nil {
		t.Errorf("snapshot: %q %v", v, err)
	}
	if !sc.Next() || string(sc.Value()) != "1" {
		t.Errorf("scanner: %q", sc.Value())
	}
	if err := errors.Join(sc.Close(), sc.Close(), snap.Close(), snap.Close()); err != nil {
		t.Error(err)
	}
	if _, _, err := snap.Get(Crawldb(), []byte("a"), nil); !errors.Is(err, ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

// TestAfterClose: use after Close is an error, not a panic.
func TestAfterClose(t *testing.T) {
	s, err := Open("store", Options{FS: NewMemFS()})
	if err != nil {
		t.Fatal(err)
	}
	in := s.NewIngestion()
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	_, _, getErr := s.Get(Crawldb(), []byte("a"), nil)
	_, _, recordsErr := s.Records([]urlkey.Key{"a"})
	_, listErr := s.SegmentList()
	_, inErr := s.Inlinks("a", 1)
	_, mErr := s.Metrics()
	_, vErr := s.Verify(context.Background())
	snap := s.Snapshot()
	for name, err := range map[string]error{
		"Get":         getErr,
		"Records":     recordsErr,
		"Scan":        s.Scan(Crawldb(), nil, nil).Close(),
		"SegmentList": listErr,
		"Inlinks":     inErr,
		"Metrics":     mErr,
		"Verify":      vErr,
		"Apply":       s.Apply(func(*Batch) error { return nil }),
		"PutSegment":  s.PutSegment(Segment{Number: 1, State: SegmentOpen}),
		"Table":       in.Table(Crawldb()).Set([]byte("a"), nil),
		"Commit":      in.Commit(),
		"snapshot":    snap.Scan(Crawldb(), nil, nil).Err(),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
}

// TestTemporaryFiles: an ingestion leaves no files, and Open removes those that a crash left.
func TestTemporaryFiles(t *testing.T) {
	fs := NewMemFS()
	s, err := Open("store", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	left := func() int {
		n := 0
		for _, dir := range []string{"store/" + ingestDir, "store/" + sortDir} {
			names, _ := fs.List(dir)
			n += len(names)
		}
		return n
	}
	commit, abort, crash := s.NewIngestion(), s.NewIngestion(), s.NewIngestion()
	for _, in := range []*Ingestion{commit, abort, crash} {
		in.large.Store(true)
		if err := in.Table(Crawldb()).Set([]byte("a"), nil); err != nil {
			t.Fatal(err)
		}
	}
	if left() != 3 {
		t.Fatalf("%d files for 3 tables", left())
	}
	abort.Abort()
	if err := commit.Commit(); err != nil || left() != 1 {
		t.Errorf("%d files, %v", left(), err)
	}
	if err := commit.Commit(); !errors.Is(err, ErrClosed) {
		t.Errorf("Commit twice: %v", err)
	}
	sorter := NewSorter(SorterOptions{Dir: s.SortDir(), FS: fs, MemoryBytes: 1})
	for i := range 10_000 {
		if err := sorter.Add(fmt.Appendf(nil, "%d", i), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil || left() < 2 {
		t.Fatalf("%d files, %v", left(), err)
	}
	if s, err = Open("store", Options{FS: fs}); err != nil || left() != 0 {
		t.Errorf("%d files after opening again, %v", left(), err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	crash.Abort()
}

// TestTablesSplit: an ingestion writes several tables for a large range. Replacing the range leaves none
// of the old keys, whether the new content takes several tables or one.
func TestTablesSplit(t *testing.T) {
	s := openTest(t)
	rng := rand.NewChaCha8([32]byte{1})
	value := make([]byte, 1<<20)
	for _, c := range []struct {
		replace      bool
		step, tables int // every step-th of 140 keys; least number of tables
	}{{false, 1, 3}, {true, 2, 2}, {true, 70, 1}} {
		in := s.NewIngestion()
		w := in.Table(ParseTextRange(1))
		if c.replace {
			if err := in.DeleteRange(ParseTextRange(1)); err != nil {
				t.Fatal(err)
			}
		}
		n := 0
		for i := 0; i < 140; i += c.step {
			_, _ = rng.Read(value) // does not compress
			if err := w.Set(fmt.Appendf(nil, "%03d", i), value); err != nil {
				t.Fatal(err)
			}
			n++
		}
		if len(in.files) < c.tables {
			t.Errorf("%d keys of 1 MiB in %d tables", n, len(in.files))
		}
		if err := in.Commit(); err != nil {
			t.Fatal(err)
		}
		sc, found := s.Scan(ParseTextRange(1), nil, nil), 0
		for sc.Next() {
			found++
		}
		if err := sc.Close(); err != nil || found != n || w.Count() != uint64(n) {
			t.Errorf("%d of %d keys, %v", found, n, err)
		}
	}
}

// TestReplaceEndsAtSplit: replacing a range also deletes the part after the last table if that table was
// finished because of its size.
func TestReplaceEndsAtSplit(t *testing.T) {
	s := openTest(t)
	set := func(replace bool, keys ...string) {
		in := s.NewIngestion()
		in.large.Store(true) // in tables
		if replace {
			if err := in.DeleteRange(Crawldb()); err != nil {
				t.Fatal(err)
			}
		}
		w := in.Table(Crawldb())
		for _, k := range keys {
			err := w.Set([]byte(k), []byte(k))
			if err == nil && replace {
				err = w.CloseFile() // as split does
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := in.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	set(false, "a", "b", "c", "d", "e")
	set(true, "b", "d")
	sc := s.Scan(Crawldb(), nil, nil)
	var got []string
	for sc.Next() {
		got = append(got, string(sc.Key()))
	}
	if err := sc.Close(); err != nil || fmt.Sprint(got) != "[b d]" {
		t.Errorf("%v, %v", got, err)
	}
}

// TestZeroRange: the zero Range would be the whole store, so every use of it fails.
func TestZeroRange(t *testing.T) {
	s := openTest(t)
	in := s.NewIngestion()
	defer in.Abort()
	_, _, err := s.Get(Range{}, []byte("a"), nil)
	for name, err := range map[string]error{
		"Get":         err,
		"Scan":        s.Scan(Range{}, nil, nil).Close(),
		"Table":       in.Table(Range{}).Set([]byte("a"), nil),
		"DeleteRange": in.DeleteRange(Range{}),
		"Set":         s.Apply(func(b *Batch) error { return b.Set(Range{}, nil, nil) }),
		"Delete":      s.Apply(func(b *Batch) error { return b.Delete(Range{}, nil) }),
	} {
		if err == nil || !strings.Contains(err.Error(), "zero range") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestConcurrentUse runs readers, small writers and ingestions on one store at the same time.
func TestConcurrentUse(t *testing.T) {
	s := openTest(t)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 20 {
				key := fmt.Appendf(nil, "%d-%02d", g, i)
				if g%2 == 0 {
					if err := s.Apply(func(b *Batch) error { return b.Set(Meta(), key, key) }); err != nil {
						t.Error(err)
					}
				} else {
					in := s.NewIngestion()
					if err := errors.Join(in.Table(Meta()).Set(key, key), in.Commit()); err != nil {
						t.Error(err)
					}
				}
				if v, ok, err := s.Get(Meta(), key, nil); !ok || err != nil || !bytes.Equal(v, key) {
					t.Errorf("%s: %q %v %v", key, v, ok, err)
				}
				if _, err := s.SegmentList(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestInlinks(t *testing.T) {
	s := openTest(t)
	put := func(target string, segment uint32, links ...Inlink) {
		if err := s.Apply(func(b *Batch) error {
			return b.Set(Linkdb(), AppendLinkdbKey(nil, []byte(target), segment), AppendInlinks(nil, links))
		}); err != nil {
			t.Fatal(err)
		}
	}
	const target = "com,t,)/ http"
	put(target, 1, Inlink{"com,a,)/ http", "old"}, Inlink{"com,b,)/ http", "b"})
	put(target, 2, Inlink{"com,a,)/ http", "new"}, Inlink{"com,a,)/ http", "again"})
	put(target+"s", 3, Inlink{"com,c,)/ http", "another target"})
	for limit, want := range map[int]string{
		10: "[{com,a,)/ http new} {com,a,)/ http again} {com,b,)/ http b}]",
		1:  "[{com,a,)/ http new}]",
		0:  "[]",
	} {
		links, err := s.Inlinks(urlkey.Key(target), limit)
		if got := fmt.Sprint(links); got != want || err != nil {
			t.Errorf("limit %d: %s, %v; want %s", limit, got, err, want)
		}
	}
	if links, err := s.Inlinks("com,nobody,)/ http", 10); len(links) != 0 || err != nil {
		t.Errorf("nobody: %v %v", links, err)
	}
}

func TestWARCFS(t *testing.T) {
	for name, fs := range map[string]FS{"memory": NewMemFS(), "disk": nil} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "warc")
			w := NewWARCFS(fs)
			path := dir + "/a.warc.gz"
			if err := w.MkdirAll(dir); err != nil {
				t.Fatal(err)
			}
			f, err := w.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.Write([]byte("0123456789"))
			if err := errors.Join(err, f.Sync(), f.Close(), w.SyncDir(dir), w.Truncate(path, 4)); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Create(path); !errors.Is(err, os.ErrExist) {
				t.Errorf("creating it again: %v", err)
			}
			r, err := w.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			b := make([]byte, 4)
			_, err = r.ReadAt(b, 0)
			size, serr := w.Size(path)
			names, lerr := w.List(dir)
			err = errors.Join(err, serr, lerr, r.Close())
			if err != nil || size != 4 || string(b) != "0123" || len(names) != 1 {
				t.Errorf("%q, %d bytes, %v, %v", b, size, names, err)
			}
			if _, err := w.Open(dir + "/none"); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("opening what is not there: %v", err)
			}
			if err := w.Remove(path); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTableBounds: no table reaches over parse records, segments of the index or fetchlists but their own. So parse
// records, which are written once and in order, are in the last level from the beginning. The others share tables.
func TestTableBounds(t *testing.T) {
	s := openTest(t)
	for seg := range uint32(12) {
		in := s.NewIngestion()
		for _, r := range []Range{
			HostFactsRange(), IndexSegmentRange(seg+1, 1), Crawldb(), LoweredRange(), Fetchlist(seg + 1), Signatures(),
			HostCountsRange(), Linkdb(), Meta(), Due(), WithheldRange(), CDXRange(),
		} {
			for _, key := range []string{"a", "b"} {
				if err := in.Table(r).Set([]byte(key), fmt.Append(nil, seg)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := in.Commit(); err != nil {
			t.Fatal(err)
		}
		s.flush()
		parsed := s.NewIngestion()
		if err := parsed.Table(ParseTextRange(seg+1)).Set([]byte("a"), make([]byte, s.gatherBytes())); err != nil {
			t.Fatal(err)
		}
		if err := parsed.Commit(); err != nil {
			t.Fatal(err)
		}
		if m, err := s.Counters(); seg == 0 && (err != nil || m.Tables != 6+1) {
			t.Errorf("%d tables of twelve ranges and of parse records, %v; want 6 and 1", m.Tables, err)
		}
		if seg%3 == 2 {
			if err := s.db.Compact(context.Background(), []byte{0}, []byte{0xff}, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	levels, err := s.db.SSTables()
	if err != nil {
		t.Fatal(err)
	}
	parse := 0
	for level, tables := range levels {
		for _, table := range tables {
			least, last := table.Smallest.UserKey[0], table.Largest.UserKey[0]
			for _, tag := range []byte{tagParse, tagIndexSegment, tagFetchlist} {
				if least <= tag && tag <= last && least != last {
					t.Errorf("a table in level %d reaches from %q to %q", level, least, last)
				}
			}
			if least == tagParse {
				parse++
				if level != len(levels)-1 {
					t.Errorf("a table of parse records is in level %d", level)
				}
			}
		}
	}
	if parse == 0 {
		t.Error("there are no parse records")
	}
}

// TestTextBlocks: the blocks of texts, which searches read one by one, are smaller than those of links.
func TestTextBlocks(t *testing.T) {
	s := openTest(t)
	for r, want := range map[Range]int{ParseTextRange(1): textBlockBytes, ParseLinks(1): parseBlockBytes} {
		if o := s.tableOptions(r, false); o.BlockSize != want {
			t.Errorf("%s: blocks of %d bytes, want %d", r, o.BlockSize, want)
		}
	}
}
