// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestBadInput: errors that a user can cause name the path and say what to do.
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
	if err := os.MkdirAll(newer, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(newer, "marker.format-version.000007.099"), nil, 0o600); err != nil {
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
	err = s.Apply(func(b *Batch) error {
		return b.Set(Meta(), []byte(formatKey), strconv.AppendInt(nil, FormatVersion+1, 10))
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	before := dirContent(t, dir)
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrNewerFormat) {
		t.Fatalf("opened: %v", err)
	}
	if after := dirContent(t, dir); !maps.Equal(before, after) {
		t.Errorf("files changed:\nbefore %v\nafter  %v",
			slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
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

// TestFinderAfterAnError: a Finder that could not be opened returns the error at each call.
func TestFinderAfterAnError(t *testing.T) {
	s, err := Open("store", Options{FS: NewMemFS()})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	f := NewFinder(s, Crawldb())
	for _, key := range []string{"a", "b"} {
		if value, err := f.Find([]byte(key)); value != nil || !errors.Is(err, ErrClosed) {
			t.Errorf("finding %s: %q, %v", key, value, err)
		}
	}
	if err := f.Close(); !errors.Is(err, ErrClosed) {
		t.Errorf("closing: %v", err)
	}
}

// TestSecondProcess: while another process has the store open, opening it fails at once and names the
// directory. After that process is killed, it opens.
func TestSecondProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	line, cmd := startHolder(t, dir)
	if line != "open" {
		t.Fatalf("the other process: %q", line)
	}
	for _, o := range []Options{{}, {ReadOnly: true}} {
		want := fmt.Sprintf("store is in use: %s is open in process %d: wait until it ends, stop it, or use a copy "+
			"of the directory", dir, cmd.Process.Pid)
		if s, err := Open(dir, o); !errors.Is(err, ErrLocked) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("read-only %v: %v, %v, want %s", o.ReadOnly, s, err, want)
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
	s2, err := Open(dir, Options{})
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "this process has opened "+dir+" before") {
		t.Errorf("twice in one process: %v, %v", s2, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestFatal: when a sync fails, OnFatal is called, and neither this write nor a later one is acknowledged, be it one of
// Apply or a small ingestion.
func TestFatal(t *testing.T) {
	t.Run("Apply", func(t *testing.T) {
		fatal(t, func(s *Store) error {
			return s.Apply(func(b *Batch) error { return b.Set(Meta(), []byte("k"), []byte("v")) })
		})
	})
	t.Run("Commit", func(t *testing.T) {
		fatal(t, func(s *Store) error {
			in := s.NewIngestion()
			defer in.Abort()
			return errors.Join(in.Table(Meta()).Set([]byte("k"), []byte("v")), in.Commit())
		})
	})
}

// fatal fails a sync of the log while write writes to a store.
func fatal(t *testing.T, write func(s *Store) error) {
	var mu sync.Mutex
	failing := false
	inject := errorfs.InjectorFunc(func(op errorfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		isSync := op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData
		if failing && isSync && strings.HasSuffix(op.Path, ".log") {
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
	if err := write(s); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	failing = true
	mu.Unlock()
	if err := write(s); !errors.Is(err, ErrFatal) {
		t.Errorf("a write whose sync failed: %v", err)
	}
	mu.Lock()
	failing = false
	if len(told) == 0 || !errors.Is(told[0], ErrFatal) {
		t.Errorf("OnFatal received %v", told)
	}
	mu.Unlock()
	in := s.NewIngestion()
	if err := in.Table(Crawldb()).Set([]byte("a"), nil); !errors.Is(err, ErrFatal) {
		t.Errorf("a table after it: %v", err)
	}
	in.Abort()
	if err := write(s); !errors.Is(err, ErrFatal) || !errors.Is(s.Err(), ErrFatal) {
		t.Errorf("a write after it: %v", err)
	}
	if _, ok, err := s.Get(Meta(), []byte("k"), nil); !ok || err != nil {
		t.Errorf("reading after it: %v %v", ok, err)
	}
	_ = s.Close() // reports the failed log again
}

// TestFrozen: once the log failed, what a restart reads is neither changed nor removed.
func TestFrozen(t *testing.T) {
	disk := vfs.NewMem()
	fs := freezing{disk, &freeze{fatalf: func(string, ...any) {}}}
	names := []string{"000001.log", manifestPrefix + "000001", markerPrefix + "manifest.000001.MANIFEST-000001"}
	var files []vfs.File
	for _, name := range names {
		f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	write := func(text string) {
		for _, f := range files {
			if n, err := f.Write([]byte(text)); n != len(text) || err != nil {
				t.Errorf("writing %q: %d, %v", text, n, err)
			}
		}
	}
	write("before")
	fs.opened.Store(true)
	fs.fail("syncing", names[0], errorfs.ErrInjected)
	write("after")
	for i, name := range names {
		if err := errors.Join(files[i].Sync(), files[i].Close()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte("anew")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := errors.Join(f.Close(), fs.Remove(name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		left, err := disk.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(left); err != nil || string(text) != "before" {
			t.Errorf("%s holds %q, %v", name, text, err)
		}
		if err := left.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestDamagedTable: a flipped bit in a table is detected when its block is read. It stops writes and
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
		info, err := fs.Stat("store/" + name)
		if err == nil && strings.HasSuffix(name, ".sst") && info.Size() > 10_000 {
			damaged = name
			data, err := fs.UnsafeGetFileDataBuffer("store/" + name)
			if err != nil {
				t.Fatal(err)
			}
			data[300] ^= 1 // in the first data block
		}
	}
	var logged []string
	logger := func(f string, args ...any) { logged = append(logged, fmt.Sprintf(f, args...)) }
	if s, err = Open("store", Options{FS: fs, Logger: logger}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, _, err := s.Get(Crawldb(), []byte("000000"), nil); !errors.Is(err, ErrCorrupt) {
		t.Errorf("reading the damaged block: %v", err)
	}
	if _, ok, err := s.Get(Crawldb(), []byte("004999"), nil); !ok || err != nil {
		t.Errorf("reading another block: %v %v", ok, err)
	}
	err = s.Apply(func(b *Batch) error { return b.Set(Meta(), []byte("k"), nil) })
	if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), damaged) {
		t.Errorf("writing after it: %v", err)
	}
	if len(logged) > 0 { // the readers have the error
		t.Errorf("logged %q", logged)
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
