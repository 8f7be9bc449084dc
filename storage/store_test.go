// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// openTest opens a store in memory and closes it with the test.
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

// TestModel does random things to a store and to maps, and compares all that can be read.
func TestModel(t *testing.T) {
	ranges := []Range{Crawldb(), CDXRange(), Fetchlist(1), Fetchlist(2), ParseLinks(1), ParseTextRange(1)}
	rapid.Check(t, func(t *rapid.T) {
		fs := NewMemFS()
		s, err := Open("store", Options{FS: fs, MemTableBytes: 256 << 10})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { s.Close() }()
		model := map[Range]map[string]string{}
		for _, r := range ranges {
			model[r] = map[string]string{}
		}
		drawKey := rapid.StringMatching(`[ab]{0,3}`)
		drawRange := rapid.SampledFrom(ranges)
		t.Repeat(map[string]func(*rapid.T){
			"apply": func(t *rapid.T) {
				err := s.Apply(func(b *Batch) error {
					for range rapid.IntRange(0, 5).Draw(t, "writes") {
						r, k, v := drawRange.Draw(t, "range"), drawKey.Draw(t, "key"), rapid.String().Draw(t, "value")
						if rapid.Bool().Draw(t, "delete") {
							delete(model[r], k)
							if err := b.Delete(r, []byte(k)); err != nil {
								return err
							}
							continue
						}
						model[r][k] = v
						if err := b.Set(r, []byte(k), []byte(v)); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			},
			"ingest": func(t *rapid.T) {
				in := s.NewIngestion()
				defer in.Abort()
				abort := rapid.IntRange(0, 3).Draw(t, "abort") == 0
				for _, r := range ranges {
					next := maps.Clone(model[r])
					if rapid.IntRange(0, 4).Draw(t, "drop") == 0 {
						if err := in.DeleteRange(r); err != nil {
							t.Fatal(err)
						}
						clear(next)
					} else {
						keys := rapid.SliceOfDistinct(drawKey, rapid.ID[string]).Draw(t, "keys")
						slices.Sort(keys)
						w := in.Table(r)
						for _, k := range keys {
							v := rapid.String().Draw(t, "value")
							var err error
							if len(v)%3 == 0 {
								delete(next, k)
								err = w.Delete([]byte(k))
							} else {
								next[k] = v
								err = w.Set([]byte(k), []byte(v))
							}
							if err != nil {
								t.Fatal(err)
							}
						}
					}
					if !abort {
						model[r] = next
					}
				}
				if abort {
					in.Abort()
				} else if err := in.Commit(); err != nil {
					t.Fatal(err)
				}
			},
			"reopen": func(t *rapid.T) {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if s, err = Open("store", Options{FS: fs, MustExist: true, MemTableBytes: 256 << 10}); err != nil {
					t.Fatal(err)
				}
			},
			"": func(t *rapid.T) { compareModel(t, s, model, drawKey) },
		})
	})
}

func compareModel(t *rapid.T, s *Store, model map[Range]map[string]string, drawKey *rapid.Generator[string]) {
	for r, want := range model {
		got := map[string]string{}
		sc := s.Scan(r, nil, nil)
		for sc.Next() {
			got[string(sc.Key())] = string(sc.Value())
		}
		if err := sc.Close(); err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(got, want) {
			t.Fatalf("%s: scanned %v, want %v", r, got, want)
		}
		k := drawKey.Draw(t, "get")
		v, ok, err := s.Get(r, []byte(k), nil)
		if w, there := want[k]; err != nil || ok != there || string(v) != w {
			t.Fatalf("%s: Get %q is %q %v %v, want %q %v", r, k, v, ok, err, w, there)
		}
	}
}

// TestMergeJoinModel joins runs of random density with a range and compares with a map.
func TestMergeJoinModel(t *testing.T) {
	s := openTest(t)
	in := s.NewIngestion()
	stored := map[string]bool{}
	for i := range 3000 {
		k := fmt.Sprintf("%05d", i*i%7919*2) // gaps and clusters
		stored[k] = true
	}
	for _, k := range slices.Sorted(maps.Keys(stored)) {
		if err := in.Table(Crawldb()).Set([]byte(k), []byte("v"+k)); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.Commit(); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		var pairs []Pair
		for at := 0; at < 16000; {
			at += rapid.SampledFrom([]int{0, 1, 1, 2, 3, 40, 5000}).Draw(t, "gap")
			pairs = append(pairs, Pair{fmt.Appendf(nil, "%05d", at), fmt.Appendf(nil, "%d", len(pairs))})
		}
		var last []byte
		seen := 0
		err := MergeJoin(context.Background(), s, Crawldb(), NewSliceRun(pairs), func(key []byte, values [][]byte, old []byte) error {
			if last != nil && bytes.Compare(last, key) >= 0 {
				t.Fatalf("%s after %s", key, last)
			}
			last = append(last[:0], key...)
			for _, v := range values {
				if want := fmt.Sprint(seen); string(v) != want || !bytes.Equal(key, pairs[seen].Key) {
					t.Fatalf("%s has value %s, want %s", key, v, want)
				}
				seen++
			}
			if stored[string(key)] != (old != nil) || old != nil && string(old) != "v"+string(key) {
				t.Fatalf("%s: old %q, stored %v", key, old, stored[string(key)])
			}
			return nil
		})
		if err != nil || seen != len(pairs) {
			t.Fatalf("%d of %d pairs, %v", seen, len(pairs), err)
		}
	})
}

func TestMergeJoinStops(t *testing.T) {
	s := openTest(t)
	pairs := make([]Pair, 3*ctxCheckKeys)
	for i := range pairs {
		pairs[i].Key = fmt.Appendf(nil, "%08d", i)
	}
	mine := errors.New("mine")
	if err := MergeJoin(context.Background(), s, Crawldb(), NewSliceRun(pairs), func([]byte, [][]byte, []byte) error { return mine }); err != mine {
		t.Errorf("fn's error came back as %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	err := MergeJoin(ctx, s, Crawldb(), NewSliceRun(pairs), func([]byte, [][]byte, []byte) error { calls++; cancel(); return nil })
	if !errors.Is(err, context.Canceled) || calls > ctxCheckKeys {
		t.Errorf("%d calls after cancel, %v", calls, err)
	}
	broken := &Run{src: brokenSource{}}
	err = MergeJoin(context.Background(), s, Crawldb(), broken, func([]byte, [][]byte, []byte) error { t.Error("fn was given an incomplete group"); return nil })
	if !errors.Is(err, errBroken) {
		t.Errorf("a broken run ended with %v", err)
	}
}

var errBroken = errors.New("broken")

// brokenSource yields the same key until it breaks.
type brokenSource struct{}

func (brokenSource) next() ([]byte, []byte, bool, error) { return nil, nil, false, errBroken }
func (brokenSource) close() error                        { return nil }

// TestSnapshot: a snapshot and an open scanner see nothing of what comes later.
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
	_, listErr := s.SegmentList()
	_, inErr := s.Inlinks("a", 1)
	_, mErr := s.Metrics()
	_, vErr := s.Verify(context.Background())
	snap := s.Snapshot()
	for name, err := range map[string]error{"Get": getErr, "Scan": s.Scan(Crawldb(), nil, nil).Close(), "SegmentList": listErr, "Inlinks": inErr,
		"Metrics": mErr, "Verify": vErr, "Apply": s.Apply(func(*Batch) error { return nil }), "PutSegment": s.PutSegment(Segment{Number: 1, State: SegmentOpen}),
		"Table": in.Table(Crawldb()).Set([]byte("a"), nil), "Commit": in.Commit(), "snapshot": snap.Scan(Crawldb(), nil, nil).Err()} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
}

// TestBadInput: whatever a person can get wrong is answered with the path and what to do.
func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("not a store"), 0o600); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(dir, "foreign")
	db, err := pebble.Open(foreign, &pebble.Options{FormatMajorVersion: pebbleFormat, Logger: quiet{}})
	if err == nil {
		err = errors.Join(db.Set([]byte("k"), []byte("v"), pebble.Sync), db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	newer := filepath.Join(dir, "newer")
	if err := os.MkdirAll(newer, 0o755); err == nil {
		err = os.WriteFile(filepath.Join(newer, "marker.format-version.000007.099"), nil, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, dir string
		o         Options
		is        error
		say       []string
	}{
		{"file", file, Options{}, nil, []string{file, "not a directory"}},
		{"below a file", filepath.Join(file, "store"), Options{}, nil, []string{file, "not a directory"}},
		{"missing", filepath.Join(dir, "missing"), Options{MustExist: true}, ErrNoStore, []string{"missing"}},
		{"missing, read-only", filepath.Join(dir, "missing"), Options{ReadOnly: true}, ErrNoStore, []string{"missing"}},
		{"empty directory", dir, Options{MustExist: true}, ErrNoStore, []string{dir}},
		{"foreign Pebble store", foreign, Options{}, ErrCorrupt, []string{foreign, "not one of this program"}},
		{"newer Pebble format", newer, Options{}, ErrNewerFormat, []string{newer, "99"}},
		{"negative cache", filepath.Join(dir, "neg"), Options{CacheBytes: -1}, nil, []string{"CacheBytes"}},
	} {
		s, err := Open(c.dir, c.o)
		if err == nil {
			s.Close()
			t.Errorf("%s: opened", c.name)
			continue
		}
		if c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v is not %v", c.name, err, c.is)
		}
		for _, word := range c.say {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %q does not say %q", c.name, err, word)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Error("MustExist made the directory")
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "not a store" {
		t.Error("the file was touched")
	}
}

type quiet struct{}

func (quiet) Infof(string, ...any)         {}
func (quiet) Errorf(string, ...any)        {}
func (quiet) Fatalf(f string, args ...any) { panic(fmt.Sprintf(f, args...)) }

// TestNewerFormatUntouched: refusing a newer store changes no byte of it.
func TestNewerFormatUntouched(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Apply(func(b *Batch) error { return b.Set(Meta(), []byte(formatKey), []byte("2")) })
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	before := dirContent(t, dir)
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrNewerFormat) {
		t.Fatalf("opened: %v", err)
	}
	if after := dirContent(t, dir); !maps.Equal(before, after) {
		t.Errorf("files changed:\nbefore %v\nafter  %v", slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
	}
}

func dirContent(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		b, rerr := os.ReadFile(filepath.Join(dir, e.Name()))
		err = errors.Join(err, rerr)
		out[e.Name()] = string(b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSecondProcess: while another process has the store, opening it fails at once and says where;
// when that one is killed, it opens.
func TestSecondProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holdEnv+"="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "open\n" {
		t.Fatalf("the other process: %q %v", line, err)
	}
	for _, o := range []Options{{}, {ReadOnly: true}} {
		if s, err := Open(dir, o); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), dir) {
			t.Errorf("read-only %v: %v, %v", o.ReadOnly, s, err)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s2, err := Open(dir, Options{}); !errors.Is(err, ErrLocked) {
		t.Errorf("twice in one process: %v, %v", s2, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestFatal: when a sync fails, OnFatal is told, the write is not acknowledged, and none is after it.
func TestFatal(t *testing.T) {
	var mu sync.Mutex
	failing := false
	inject := errorfs.InjectorFunc(func(op errorfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if failing && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) && strings.HasSuffix(op.Path, ".log") {
			return errorfs.ErrInjected
		}
		return nil
	})
	var told []error
	s, err := Open("store", Options{FS: errorfs.Wrap(vfs.NewMem(), inject), OnFatal: func(err error) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, err)
	}})
	if err != nil {
		t.Fatal(err)
	}
	write := func() error {
		return s.Apply(func(b *Batch) error { return b.Set(Meta(), []byte("k"), []byte("v")) })
	}
	if err := write(); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	failing = true
	mu.Unlock()
	if err := write(); !errors.Is(err, ErrFatal) {
		t.Errorf("a write whose sync failed: %v", err)
	}
	mu.Lock()
	failing = false
	if len(told) == 0 || !errors.Is(told[0], ErrFatal) {
		t.Errorf("OnFatal was told %v", told)
	}
	mu.Unlock()
	in := s.NewIngestion()
	if err := in.Table(Crawldb()).Set([]byte("a"), nil); !errors.Is(err, ErrFatal) {
		t.Errorf("a table after it: %v", err)
	}
	in.Abort()
	if err := write(); !errors.Is(err, ErrFatal) || !errors.Is(s.Err(), ErrFatal) {
		t.Errorf("a write after it: %v", err)
	}
	if _, ok, err := s.Get(Meta(), []byte("k"), nil); !ok || err != nil {
		t.Errorf("reading after it: %v %v", ok, err)
	}
	_ = s.Close() // reports the failed log again
}

// TestDamagedTable: a flipped bit in a table is found when its block is read, stops writes, and
// leaves other blocks readable.
func TestDamagedTable(t *testing.T) {
	fs := vfs.NewMem()
	s, err := Open("store", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	in := s.NewIngestion()
	for i := range 5000 {
		if err := in.Table(Crawldb()).Set(fmt.Appendf(nil, "%06d", i), bytes.Repeat([]byte{byte(i)}, 50)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(in.Commit(), s.Close()); err != nil {
		t.Fatal(err)
	}
	damaged := ""
	names, _ := fs.List("store")
	for _, name := range names {
		if info, err := fs.Stat("store/" + name); err == nil && strings.HasSuffix(name, ".sst") && info.Size() > 10_000 {
			damaged = name
			data, err := fs.UnsafeGetFileDataBuffer("store/" + name)
			if err != nil {
				t.Fatal(err)
			}
			data[300] ^= 1 // in the first data block
		}
	}
	var logged []string
	if s, err = Open("store", Options{FS: fs, Logger: func(f string, args ...any) { logged = append(logged, fmt.Sprintf(f, args...)) }}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, _, err := s.Get(Crawldb(), []byte("000000"), nil); !errors.Is(err, ErrCorrupt) {
		t.Errorf("reading the damaged block: %v", err)
	}
	if _, ok, err := s.Get(Crawldb(), []byte("004999"), nil); !ok || err != nil {
		t.Errorf("reading another block: %v %v", ok, err)
	}
	if err := s.Apply(func(b *Batch) error { return b.Set(Meta(), []byte("k"), nil) }); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), damaged) {
		t.Errorf("writing after it: %v", err)
	}
	if len(logged) == 0 || !strings.Contains(logged[0], damaged) {
		t.Errorf("logged %q, damaged was %q", logged, damaged)
	}
	report, err := s.Verify(context.Background())
	if err != nil || report.OK() {
		t.Errorf("Verify: %v, %v", report, err)
	}
}

// TestBackgroundErrorsAreRateLimited: on a full disk Pebble reports thousands of errors a second.
func TestBackgroundErrorsAreRateLimited(t *testing.T) {
	now, lines := time.Unix(1, 0), 0
	h := &health{now: func() time.Time { return now }, logf: func(string, ...any) { lines++ }}
	for range 3 {
		h.backgroundError(errBroken)
	}
	now = now.Add(errorLogInterval)
	h.backgroundError(errBroken)
	if lines != 2 || h.backgroundErrors.Load() != 4 {
		t.Errorf("%d lines for %d errors", lines, h.backgroundErrors.Load())
	}
}

// TestTemporaryFiles: nothing stays behind an ingestion, and Open removes what a crash left.
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

// TestTablesSplit: an ingestion makes several tables of a large range.
func TestTablesSplit(t *testing.T) {
	s := openTest(t)
	in := s.NewIngestion()
	value := make([]byte, 1<<20)
	w := in.Table(ParseTextRange(1))
	for i := range 130 {
		for j := 0; j < len(value); j += 8 { // does not compress
			value[j], value[j+1], value[j+2], value[j+3] = byte(i*j), byte(j>>3*31), byte(j>>11^i), byte(j>>5*i)
		}
		if err := w.Set(fmt.Appendf(nil, "%03d", i), value); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.Commit(); err != nil {
		t.Fatal(err)
	}
	if w.Count() != 130 {
		t.Errorf("Count %d", w.Count())
	}
	n := 0
	sc := s.Scan(ParseTextRange(1), nil, nil)
	for sc.Next() {
		n++
	}
	if err := sc.Close(); err != nil || n != 130 {
		t.Errorf("%d keys, %v", n, err)
	}
}

// TestConcurrentUse lets readers, small writers and ingestions loose on one store.
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
	for limit, want := range map[int]string{10: "[{com,a,)/ http new} {com,a,)/ http again} {com,b,)/ http b}]", 1: "[{com,a,)/ http new}]", 0: "[]"} {
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
			if err := errors.Join(err, serr, lerr, r.Close()); err != nil || size != 4 || string(b) != "0123" || len(names) != 1 {
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
