// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Salvage calls fn for every key of a range that can be read, in order, with what a Scanner would return. Where blocks
// are damaged it goes on at the key that next returns, which must be greater than after; nil ends it. Keys between may
// be lost. It returns how often it had to. An error of fn ends it.
func (s *Store) Salvage(
	r Range, next func(after []byte) []byte, fn func(key, value []byte) error,
) (gaps uint64, err error) {
	var from []byte
	for {
		sc := s.Scan(r, from, nil)
		for sc.Next() {
			from = append(from[:0], sc.Key()...)
			if err := fn(sc.Key(), sc.Value()); err != nil {
				return gaps, errors.Join(err, sc.Close())
			}
		}
		if err := sc.Close(); err == nil || !errors.Is(err, ErrCorrupt) {
			return gaps, err
		}
		gaps++
		after := next(from)
		if bytes.Compare(after, from) <= 0 {
			return gaps, nil
		}
		from = append(from[:0], after...)
	}
}

// Clear removes a store that nobody has open, and leaves an empty directory. A missing one is made.
func Clear(fs FS, dir string) (err error) {
	fs = onDisk(fs)
	defer func() {
		if err != nil {
			err = fmt.Errorf("emptying %s: %w", dir, err)
		}
	}()
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	lock, err := pebble.LockDirectory(dir, fs)
	if err != nil {
		return fmt.Errorf("%w: it is open in another process (%v)", ErrLocked, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	names, err := fs.List(dir)
	for _, name := range names {
		if name != lockName {
			err = errors.Join(err, fs.RemoveAll(fs.PathJoin(dir, name)))
		}
	}
	return err
}

// Move gives a directory another name, durably. What has that name is removed first; a missing directory is no error,
// so that a move which a crash interrupted can be repeated.
func Move(fs FS, from, to string) error {
	fs = onDisk(fs)
	if _, err := fs.Stat(from); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	err := fs.RemoveAll(to)
	if err == nil {
		err = fs.Rename(from, to)
	}
	if err == nil {
		err = syncDir(fs, fs.PathDir(to))
	}
	if err != nil {
		return fmt.Errorf("moving %s to %s: %w", from, to, err)
	}
	return nil
}

// onDisk returns the disk for nil.
func onDisk(fs FS) FS {
	if fs == nil {
		return vfs.Default
	}
	return fs
}
