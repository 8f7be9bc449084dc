// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Salvage calls fn for every key of a range that can be read, in order, with what a Scanner would return. Where blocks
// are damaged it goes on at the key that next returns, which must be greater than after; nil ends it. Keys between may
// be lost. It returns at how many places it had to. An error of fn ends it.
func (s *Store) Salvage(
	r Range, next func(after []byte) []byte, fn func(key, value []byte) error,
) (gaps uint64, err error) {
	var from []byte
	for whole := true; ; whole = false {
		sc := s.Scan(r, from, nil)
		for sc.Next() {
			whole, from = true, append(from[:0], sc.Key()...)
			if err := fn(sc.Key(), sc.Value()); err != nil {
				return gaps, errors.Join(err, sc.Close())
			}
		}
		if err := sc.Close(); err == nil || !errors.Is(err, ErrCorrupt) {
			return gaps, err
		}
		if whole { // else it is still the same place
			gaps++
		}
		after := next(from)
		if bytes.Compare(after, from) <= 0 {
			return gaps, nil
		}
		from = append(from[:0], after...)
	}
}

// Beyond is a next for Salvage where nothing else says which keys there may be: a key somewhat greater than after. From
// call to call at one damaged place it drops a byte and raises the one before it, so that it goes further each time, to
// be behind the place after few calls: the greater the damage, the more sound keys behind it are left out too.
func Beyond(after []byte) []byte {
	for n := max(len(after)-1, 1); n > 0 && len(after) > 0; n-- {
		if after[n-1] < 0xff {
			next := bytes.Clone(after[:n])
			next[n-1]++
			return next
		}
	}
	if len(after) == 0 {
		return []byte{1}
	}
	return nil
}

// locks are the files on disk of which this process holds Lock, by their names without links. To open and close one of
// them would lose the lock, which the system keeps by process and file.
var locks struct {
	sync.Mutex
	held map[string]bool
}

// fileLock is a Lock of a file on disk.
type fileLock struct {
	io.Closer
	name string
}

// Close implements io.Closer.
func (l *fileLock) Close() error {
	locks.Lock()
	defer locks.Unlock()
	delete(locks.held, l.name)
	return l.Closer.Close()
}

// Lock makes a file and keeps others from locking it, this process and other ones, until the lock is closed, once. The
// file stays: who removed it would let in a process that has opened it before and one that makes it anew, both at once.
// A name below a missing directory is an os.ErrNotExist. The error is ErrLocked if somebody has the lock; the caller
// says what that means.
func Lock(fs FS, name string) (io.Closer, error) {
	real := name
	if fs == nil {
		real = realFile(name)
		locks.Lock()
		defer locks.Unlock()
	}
	lock, err := onDisk(fs).Lock(real)
	if path := (*os.PathError)(nil); errors.As(err, &path) {
		return nil, fmt.Errorf("locking %s: %w", name, err)
	}
	if err != nil { // the bare error of the lock call: the lock is taken
		return nil, fmt.Errorf("%w: %s", ErrLocked, name)
	}
	if fs != nil {
		return lock, nil
	}
	if locks.held == nil {
		locks.held = map[string]bool{}
	}
	locks.held[real] = true
	return &fileLock{lock, real}, nil
}

// Locked reports whether somebody holds Lock of a file on disk, this process or another one. It changes nothing.
func Locked(fs FS, name string) bool {
	if fs != nil {
		return false
	}
	locks.Lock()
	defer locks.Unlock()
	if locks.held[realFile(name)] {
		return true
	}
	_, held := lockHolder(name)
	return held
}

// realFile is the name of a file on disk in the one name of its directory without links.
func realFile(name string) string {
	return filepath.Join(realPath(filepath.Dir(name)), filepath.Base(name))
}

// lostMarkers is the file system of a damaged store. It shows the marker files that are lost, as they must have been:
// the newest MANIFEST is the current one, unless the marker that is there names one that is there.
type lostMarkers struct {
	vfs.FS
	dir     string
	markers []string
}

// withLostMarkers shows the markers of which names, the files in the directory, has none.
func withLostMarkers(fs vfs.FS, dir string, names []string) vfs.FS {
	format, newest, manifest := false, uint64(0), ""
	for _, name := range names {
		format = format || strings.HasPrefix(name, markerPrefix+"format-version.")
		number, ok := strings.CutPrefix(name, manifestPrefix)
		if n, err := strconv.ParseUint(number, 10, 64); ok && err == nil && n >= newest {
			newest, manifest = n, name
		}
	}
	lost := lostMarkers{FS: fs, dir: dir}
	if manifest != "" && !slices.Contains(names, currentManifest(names)) {
		lost.markers = append(lost.markers, fmt.Sprintf("%smanifest.%d.%s", markerPrefix, uint64(1<<63-1), manifest))
	}
	if manifest != "" && !format {
		lost.markers = append(lost.markers, fmt.Sprintf("%sformat-version.000001.%s", markerPrefix, pebbleFormat))
	}
	if len(lost.markers) == 0 {
		return fs
	}
	return lost
}

// List implements vfs.FS.
func (fs lostMarkers) List(dir string) ([]string, error) {
	names, err := fs.FS.List(dir)
	if dir == fs.dir && err == nil {
		names = append(names, fs.markers...)
	}
	return names, err
}

// Unwrap implements vfs.FS.
func (fs lostMarkers) Unwrap() vfs.FS { return fs.FS }

// Clear removes a store that nobody has open, and leaves an empty directory. A missing one is made, and
// is durable in its parents then, as is one that an earlier call made.
func Clear(fs FS, dir string) (err error) {
	disk := fs == nil
	fs = onDisk(fs)
	defer func() {
		if err != nil {
			err = fmt.Errorf("emptying %s: %w", dir, err)
		}
	}()
	if err := makeDir(fs, dir); err != nil {
		return err
	}
	real := dir
	if disk {
		real = realPath(dir) // see Store.realDir
	}
	lock, err := pebble.LockDirectory(real, fs)
	if err != nil {
		return lockTaken(fs, dir, err)
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
