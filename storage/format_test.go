// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// writeFormatEnv makes TestOldFormats write the store of the current version into testdata instead of
// reading: once per version, before its release.
const writeFormatEnv = "SEINE_WRITE_FORMAT"

// TestOldFormats opens a store of every version, which a program of that version
// wrote, and finds the same things in each.
func TestOldFormats(t *testing.T) {
	if version := os.Getenv(writeFormatEnv); version != "" {
		writeFormat(t, filepath.Join("testdata", "formats", version))
		return
	}
	versions, err := os.ReadDir("testdata/formats")
	if err != nil || len(versions) != FormatVersion {
		t.Fatalf("%d stores for %d versions, %v", len(versions), FormatVersion, err)
	}
	for _, v := range versions {
		t.Run(v.Name(), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "store")
			if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "formats", v.Name()))); err != nil {
				t.Fatal(err)
			}
			s, err := Open(dir, Options{MustExist: true, Identity: map[string]string{"key-format": "surt-1"}})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			if report, err := s.Verify(context.Background()); err != nil || !report.OK() {
				t.Errorf("%v\n%s", err, report)
			}
			var r Record
			ok, err := s.Record("com,example,)/ http", &r)
			if !ok || err != nil || r.Status != StatusFetched || r.Segment != 1 {
				t.Errorf("record: %+v %v %v", r, ok, err)
			}
			var c HostCounts
			if _, err := s.HostCounts("com,example,)", &c); err != nil || c.NextDue != 1 || c.New != 2 {
				t.Errorf("counts: %+v %v", c, err)
			}
			if seg, ok, err := s.Segment(1); !ok || err != nil || seg.State != SegmentLinked || len(seg.WARC) != 1 {
				t.Errorf("segment: %+v %v %v", seg, ok, err)
			}
			if links, err := s.Inlinks("com,example,)/a http", 5); len(links) != 1 || err != nil {
				t.Errorf("inlinks: %v %v", links, err)
			}
			if v, ok, err := s.Get(Meta(), []byte("in the log"), nil); !ok || err != nil || string(v) != "yes" {
				t.Errorf("log: %q %v %v", v, ok, err)
			}
		})
	}
}

// writeFormat leaves a store as a crash would: with tables and a log to replay.
func writeFormat(t *testing.T, dir string) {
	fs := NewCrashableFS()
	s, err := Open("store", Options{
		FS:       fs,
		Identity: map[string]string{"key-format": "surt-1"},
		Now:      func() time.Time { return time.Unix(1763000000, 0) },
	})
	if err != nil {
		t.Fatal(err)
	}
	sound(t, s)
	if err := s.Apply(func(b *Batch) error { return b.Set(Meta(), []byte("in the log"), []byte("yes")) }); err != nil {
		t.Fatal(err)
	}
	left := fs.Crash(0, 0)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	names, err := left.List("store")
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	for _, name := range names {
		if name == "LOCK" || name == ingestDir {
			continue
		}
		data, rerr := left.mem.UnsafeGetFileDataBuffer("store/" + name)
		if rerr == nil {
			rerr = os.WriteFile(filepath.Join(dir, name), data, 0o644)
		}
		if rerr != nil && err == nil {
			err = rerr
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestPebbleFormat: the pinned version is one that the library knows, and a new store has it.
func TestPebbleFormat(t *testing.T) {
	if pebbleFormat > pebble.FormatNewest {
		t.Fatalf("pinned to %d, the library knows up to %d", pebbleFormat, pebble.FormatNewest)
	}
	if s := openTest(t); s.db.FormatMajorVersion() != pebbleFormat {
		t.Errorf("a new store has %d", s.db.FormatMajorVersion())
	}
}

// TestInitialiseAgain: a store that was made but not initialised, as a crash in between leaves it, is
// initialised by the next open.
func TestInitialiseAgain(t *testing.T) {
	fs := NewMemFS()
	db, err := pebble.Open("store", &pebble.Options{FS: fs, FormatMajorVersion: pebbleFormat, Logger: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open("store", Options{FS: fs, ReadOnly: true}); err == nil {
		t.Error("opened for reading")
	}
	s, err := Open("store", Options{FS: fs, Identity: map[string]string{"a": "b"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open("store", Options{FS: fs, Identity: map[string]string{"a": "b"}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestReadsOlderFormat: a store of format 6 is read as it is: no file changes, also where none can. What is older must
// be upgraded first.
func TestReadsOlderFormat(t *testing.T) {
	for version, readable := range map[string]bool{"v5": false, "v6": true, "v7": true, "v8": true, "v10": true, "v12": true} {
		dir := filepath.Join(t.TempDir(), "store")
		if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "formats", version))); err != nil {
			t.Fatal(err)
		}
		before := filesIn(t, dir)
		for _, o := range []Options{{ReadOnly: true}, {ReadOnly: true, FS: readOnlyFS{vfs.Default}}} {
			s, err := Open(dir, o)
			if !readable {
				if !errors.Is(err, ErrOlderFormat) {
					t.Errorf("%s: %v", version, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", version, err)
			}
			var c HostCounts
			if _, err := s.HostCounts("com,example,)", &c); err != nil || c.NextDue != 1 {
				t.Errorf("%s: counts: %+v %v", version, c, err)
			}
			if report, err := s.Verify(context.Background()); err != nil || !report.OK() {
				t.Errorf("%s: %v\n%s", version, err, report)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		if after := filesIn(t, dir); !maps.Equal(before, after) {
			t.Errorf("%s: files changed", version)
		}
	}
}

// filesIn are the contents of the files in a directory, without the lock.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() || e.Name() == lockName {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(b)
	}
	return files
}
