// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// salvage is what Salvage finds of all ranges of a store, and at how many places something is lost.
func salvage(t *testing.T, fs FS) (content string, gaps uint64) {
	t.Helper()
	s, err := Open("store", Options{FS: fs, Salvage: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var b strings.Builder
	for _, tag := range rangeTags() {
		n, err := s.Salvage(plainRange(tag), Beyond, func(key, value []byte) error {
			fmt.Fprintf(&b, "%c %q %q\n", tag, key, value)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		gaps += n
	}
	return b.String(), gaps
}

// TestSalvageWithoutMarkers: without the marker files, all of a store can be read: the newest MANIFEST is the one.
func TestSalvageWithoutMarkers(t *testing.T) {
	for _, closed := range []bool{false, true} {
		whole, want := damaged(t, closed)
		names, err := whole.List("store")
		if err != nil {
			t.Fatal(err)
		}
		removed := 0
		for _, prefix := range []string{"marker.manifest.", "marker."} {
			fs := whole.Crash(100, 1)
			for _, name := range names {
				if strings.HasPrefix(name, prefix) {
					removed++
					if err := fs.Remove("store/" + name); err != nil {
						t.Fatal(err)
					}
				}
			}
			if got, gaps := salvage(t, fs); got != want || gaps > 0 {
				t.Errorf("closed %t, without %s*: %d gaps, %s\nwant %s", closed, prefix, gaps, got, want)
			}
		}
		if removed < 3 {
			t.Errorf("%d marker files in %q", removed, names)
		}
	}
}

// TestSalvageGap: behind a damaged block Salvage goes on, and counts one place. That the block has the format version
// costs no more.
func TestSalvageGap(t *testing.T) {
	const rows = 3000
	fs := NewCrashableFS()
	s, err := Open("store", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Apply(func(b *Batch) error {
		for i := range rows {
			key := fmt.Appendf(nil, "%c-row-%04d", 'a'+i%26, i)
			if err := b.Set(Meta(), key, bytes.Repeat([]byte{byte(i * 7)}, 90)); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	names, err := fs.List("store")
	if err != nil {
		t.Fatal(err)
	}
	lost := uint64(0)
	for _, name := range names {
		if filepath.Ext(name) != tableSuffix {
			continue
		}
		b := readFile(t, fs, "store/"+name)
		for part := range 8 {
			spoiled := bytes.Clone(b)
			spoiled[len(b)/10*(part+1)] ^= 4
			left := fs.Crash(100, 1)
			writeFile(t, left, "store/"+name, spoiled)
			got, gaps := salvage(t, left)
			if n := strings.Count(got, "\n"); gaps > 1 || n < rows*3/4 {
				t.Errorf("%s, part %d: %d of %d rows, %d gaps", name, part, n, rows, gaps)
			}
			lost += gaps
		}
	}
	if lost < 4 {
		t.Errorf("only %d blocks damaged", lost)
	}
}

// TestBeyond: each key is greater than the one before, and the last one is the end.
func TestBeyond(t *testing.T) {
	for _, from := range []string{"", "a", "seed/com,example", "ab\xff\xff", "\xff\xff", "\xff"} {
		key, steps := []byte(from), 0
		for next := Beyond(key); next != nil; next = Beyond(key) {
			if bytes.Compare(next, key) <= 0 {
				t.Fatalf("%q: %q after %q", from, next, key)
			}
			key = next
			steps++
		}
		if steps > 300 {
			t.Errorf("%q: %d steps", from, steps)
		}
	}
}

// TestLock: a lock is taken once, and can be taken again when it is given back.
func TestLock(t *testing.T) {
	for _, fs := range []FS{nil, NewMemFS()} {
		name := filepath.Join(t.TempDir(), "lock")
		if fs != nil {
			name = "lock"
		}
		lock, err := Lock(fs, name)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Lock(fs, name); !errors.Is(err, ErrLocked) {
			t.Errorf("twice: %v, %v", again, err)
		}
		if err := lock.Close(); err != nil {
			t.Fatal(err)
		}
		if lock, err = Lock(fs, name); err != nil {
			t.Fatal(err)
		}
		if err := lock.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLockedByThisProcess: a lock of this process counts by whatever name, and asking for it does not open the file,
// which would lose the lock.
func TestLockedByThisProcess(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "real"), link); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "real", "lock")
	lock, err := Lock(nil, name)
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []string{name, filepath.Join(link, "lock")} {
		if !Locked(nil, by) {
			t.Errorf("%s is not locked", by)
		}
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if Locked(nil, name) {
		t.Error("locked after Close")
	}
}

// TestClearOpen: a store that is open is not removed, by whatever name.
func TestClearOpen(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "store"), link); err != nil {
		t.Fatal(err)
	}
	s, err := Open(filepath.Join(dir, "store"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := Clear(nil, link); !errors.Is(err, ErrLocked) {
		t.Errorf("cleared an open store: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Clear(nil, link); err != nil {
		t.Error(err)
	}
}
