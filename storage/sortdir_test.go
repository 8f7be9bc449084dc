// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestSortDirOfReadOnly: stores that are open for reading only sort in directories of their own, which others can't
// read and Close removes: two processes that share one would write over each other's files.
func TestSortDirOfReadOnly(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	seen := map[string]bool{}
	for range 2 {
		dir := filepath.Join(t.TempDir(), "store")
		s, err := Open(dir, Options{})
		if err == nil {
			err = s.Close()
		}
		if err == nil {
			s, err = Open(dir, Options{ReadOnly: true})
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		sorts := s.SortDir()
		info, err := os.Stat(sorts)
		if err != nil || info.Mode().Perm() != 0o700 || sorts == os.TempDir() || sorts != s.SortDir() || seen[sorts] {
			t.Errorf("%s sorts in %s: %v, %v", dir, sorts, info, err)
		}
		seen[sorts] = true
		sorter := NewSorter(SorterOptions{Dir: sorts, MemoryBytes: SorterMinBytes})
		for i := range uint32(100_000) {
			if err := sorter.Add(AppendSegmentKey(nil, i), nil); err != nil {
				t.Fatal(err)
			}
		}
		if files, err := os.ReadDir(sorts); err != nil || len(files) < 2 { // with the lock
			t.Errorf("the sorter left %d files there, %v", len(files), err)
		}
		if err := errors.Join(sorter.Close(), s.Close()); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(sorts); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("after Close: %v", err)
		}
	}
}

// TestSortDirOfKilled: what a killed process leaves among the system's temporary files is removed by the next one that
// makes a directory there; what a living one has is not, nor what is nobody's.
func TestSortDirOfKilled(t *testing.T) {
	temp, dir := t.TempDir(), filepath.Join(t.TempDir(), "store")
	t.Setenv("TMPDIR", temp)
	s, err := Open(dir, Options{})
	if err == nil {
		err = s.Close()
	}
	strange, half := filepath.Join(temp, tempPrefix+"strange"), filepath.Join(temp, newPrefix+"half")
	if err == nil {
		err = errors.Join(os.Mkdir(strange, 0o700), os.Mkdir(half, 0o700))
	}
	if err != nil {
		t.Fatal(err)
	}
	killed, first := startHolder(t, dir, sortEnv+"=true")
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // killed
	if _, err := os.Stat(killed); err != nil {
		t.Fatal(err)
	}
	living, second := startHolder(t, dir, sortEnv+"=true")
	other := filepath.Join(t.TempDir(), "store")
	if err := os.CopyFS(other, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(other, Options{ReadOnly: true}); err != nil {
		t.Fatal(err)
	}
	own := s.SortDir()
	for sorts, stays := range map[string]bool{killed: false, living: true, own: true, strange: true, half: false} {
		if _, err := os.Stat(sorts); (err == nil) != stays {
			t.Errorf("%s: %v; killed was %s, living is %s, own is %s", sorts, err, killed, living, own)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := second.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = second.Wait() // killed
}
