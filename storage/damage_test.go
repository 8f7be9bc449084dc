// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// damaged is a store in memory, as a closed store or a killed process leaves it, and what it holds.
func damaged(t testing.TB, closed bool) (fs *CrashableFS, content string) {
	t.Helper()
	fs = NewCrashableFS()
	s, err := Open("store", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	sound(t, s)
	for i := range 50 {
		err := s.Apply(func(b *Batch) error {
			key := fmt.Appendf(nil, "com,host%d,) http", i)
			return b.Set(HostFactsRange(), key, AppendHostFacts(nil, &HostFacts{RobotsStatus: 404}))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	content = contentOf(t, s)
	if !closed {
		fs = fs.Crash(100, 1)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return fs, content
}

// contentOf is all that a store holds, as text.
func contentOf(t testing.TB, s *Store) string {
	t.Helper()
	var b strings.Builder
	for _, tag := range rangeTags() {
		sc := s.Scan(plainRange(tag), nil, nil)
		for sc.Next() {
			fmt.Fprintf(&b, "%c %q %q\n", tag, sc.Key(), sc.Value())
		}
		if err := sc.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// readAll opens a store for reading, verifies it and returns what it holds; an error says that damage was found.
func readAll(t *testing.T, fs FS) (string, error) {
	t.Helper()
	s, err := Open("store", Options{FS: fs, ReadOnly: true})
	if err != nil {
		return "", err
	}
	defer s.Close()
	r, err := s.Verify(context.Background())
	if err == nil && !r.OK() {
		err = corrupt("%s", r)
	}
	if err != nil {
		return "", err
	}
	return contentOf(t, s), nil
}

// TestFlippedBits: of a flipped bit in any file, either Open or Verify says that the store is damaged, or the store
// holds exactly what it held.
func TestFlippedBits(t *testing.T) {
	for _, closed := range []bool{false, true} {
		whole, want := damaged(t, closed)
		if got, err := readAll(t, whole.Crash(100, 1)); err != nil || got != want {
			t.Fatalf("undamaged: %v\n%s\nwant\n%s", err, got, want)
		}
		names, err := whole.List("store")
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(1, 1))
		for _, name := range names {
			path := "store/" + name
			b := readFile(t, whole, path)
			found, harmless := 0, 0
			for range min(len(b)*8, 15) {
				fs := whole.Crash(100, 1)
				bit := rng.IntN(len(b) * 8)
				spoiled := slices.Clone(b)
				spoiled[bit/8] ^= 1 << (bit % 8)
				writeFile(t, fs, path, spoiled)
				got, err := readAll(t, fs)
				switch {
				case err != nil:
					found++
				case got == want:
					harmless++
				default:
					t.Fatalf("closed %t: bit %d of %s is lost without a word:\n%s\nwant\n%s",
						closed, bit, name, got, want)
				}
			}
			t.Logf("closed %t: %s of %d bytes: %d found, %d harmless", closed, name, len(b), found, harmless)
		}
	}
}

func readFile(t testing.TB, fs FS, path string) []byte {
	t.Helper()
	f, err := fs.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.IsDir() {
		return nil
	}
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func writeFile(t *testing.T, fs FS, path string, b []byte) {
	t.Helper()
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = f.Write(b)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestLostFiles: without one of its files a store is refused as damaged, or holds what it held. It is never taken for
// a new store.
func TestLostFiles(t *testing.T) {
	for _, closed := range []bool{false, true} {
		whole, want := damaged(t, closed)
		names, err := whole.List("store")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasPrefix(name, "tmp-") {
				continue
			}
			fs := whole.Crash(100, 1)
			if err := fs.Remove("store/" + name); err != nil {
				t.Fatal(err)
			}
			s, err := Open("store", Options{FS: fs})
			if err != nil {
				if !errors.Is(err, ErrCorrupt) {
					t.Errorf("closed %t: without %s: %v", closed, name, err)
				}
				continue
			}
			if got := contentOf(t, s); got != want && !strings.HasSuffix(name, logSuffix) {
				t.Errorf("closed %t: without %s: %s\nwant %s", closed, name, got, want)
			}
			s.Close()
		}
	}
}

// readOnlyFS is a file system that takes no writes, as one that is mounted for reading.
type readOnlyFS struct{ vfs.FS }

func (readOnlyFS) refuse(op, name string) error {
	return &os.PathError{Op: op, Path: name, Err: syscall.EROFS}
}

func (fs readOnlyFS) Create(name string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, fs.refuse("create", name)
}
func (fs readOnlyFS) Remove(name string) error               { return fs.refuse("remove", name) }
func (fs readOnlyFS) RemoveAll(name string) error            { return fs.refuse("remove", name) }
func (fs readOnlyFS) Rename(old, _ string) error             { return fs.refuse("rename", old) }
func (fs readOnlyFS) Link(old, _ string) error               { return fs.refuse("link", old) }
func (fs readOnlyFS) MkdirAll(n string, _ os.FileMode) error { return fs.refuse("mkdir", n) }
func (fs readOnlyFS) Lock(name string) (io.Closer, error)    { return nil, fs.refuse("lock", name) }

// TestReadOnlyFileSystem: a store on a file system that takes no writes, not even a lock, is read and verified.
func TestReadOnlyFileSystem(t *testing.T) {
	for _, closed := range []bool{false, true} {
		fs, want := damaged(t, closed)
		got, err := readAll(t, readOnlyFS{fs})
		if err != nil || got != want {
			t.Errorf("closed %t: %v\n%s\nwant\n%s", closed, err, got, want)
		}
		if _, err := Open("store", Options{FS: readOnlyFS{fs}}); !errors.Is(err, syscall.EROFS) {
			t.Errorf("closed %t: opened for writing: %v", closed, err)
		}
	}
}

// closedDirFS is a file system with a directory that may be passed, but not opened, and one that cannot be synced.
type closedDirFS struct {
	FS
	closed, unsynced string
	synced           []string // the directories opened, which is to sync them
}

// unsyncedDir is a directory of a filesystem that syncs none.
type unsyncedDir struct{ vfs.File }

func (unsyncedDir) Sync() error { return &os.PathError{Op: "sync", Path: "/", Err: syscall.EINVAL} }

func (fs *closedDirFS) OpenDir(name string) (vfs.File, error) {
	if name == fs.closed {
		return nil, &os.PathError{Op: "open", Path: name, Err: os.ErrPermission}
	}
	fs.synced = append(fs.synced, name)
	d, err := fs.FS.OpenDir(name)
	if err == nil && name == fs.unsynced {
		d = unsyncedDir{d}
	}
	return d, err
}

// TestStoreBelowClosedDirectory: a new store syncs each directory that has got an entry by it, and needs no more of
// those further up than to pass them, nor that they can be synced.
func TestStoreBelowClosedDirectory(t *testing.T) {
	fs := &closedDirFS{FS: NewMemFS(), closed: "/home", unsynced: "/"}
	if err := fs.MkdirAll("/home/user", 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := Open("/home/user/crawls/store", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if want := []string{"/home/user/crawls", "/home/user"}; len(fs.synced) < 2 || !slices.Equal(fs.synced[:2], want) {
		t.Errorf("synced first %q, want %q", fs.synced, want)
	}
}

// TestLockHolder: a file that nobody has locked is not locked.
func TestLockHolder(t *testing.T) {
	name := filepath.Join(t.TempDir(), lockName)
	if _, held := lockHolder(name); held {
		t.Error("a missing file is locked")
	}
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, held := lockHolder(name); held {
		t.Error("nobody holds the lock")
	}
}

// TestLinkedDirectory: a store is one store by whatever name: through a symbolic link it opens, but not twice.
func TestLinkedDirectory(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "store"), link); err != nil {
		t.Skip(err)
	}
	s, err := Open(filepath.Join(dir, "store"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Open(link, Options{}); !errors.Is(err, ErrLocked) {
		again.Close()
		t.Errorf("opened twice: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(link, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// FuzzCheckLog reads arbitrary bytes as a MANIFEST or a log: no panic, and an answer.
func FuzzCheckLog(f *testing.F) {
	fs, _ := damaged(f, false)
	names, err := fs.List("store")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, "MANIFEST") || strings.HasSuffix(name, logSuffix) {
			f.Add(readFile(f, fs, "store/"+name), uint32(len(name)), uint16(1000))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, number uint32, repeat uint16) {
		if len(b) > 0 && len(b)*int(repeat) < 4*logBlock {
			b = bytes.Repeat(b, int(repeat)) // chunks that cross blocks
		}
		fs := NewMemFS()
		writeFile(t, fs, "log", b)
		if err := checkLog(fs, "log", number); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
	})
}
