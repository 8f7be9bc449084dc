// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/seine-crawler/seine/storage/warc"
)

// The filesystem layers under Pebble, top to bottom:
//
//	freezing                 nothing more is changed on disk once the log failed; see freeze.go
//	dirSyncBeforeMarker      works around an ordering bug of Pebble 2.1
//	disk health checks       only on disk: reports slow writes
//	base                     the disk, NewMemFS, or CrashableFS

// markerPrefix begins the names of the files in which Pebble records the current MANIFEST and format.
const markerPrefix = "marker."

// dirSyncBeforeMarker syncs the directory before a marker file is created in it.
//
// Pebble up to 2.1.7 creates a new MANIFEST, then the marker that points to it, then syncs the directory
// once. A power loss in between may keep the marker's directory entry and lose the MANIFEST's, and then
// the store no longer opens. The extra sync puts the MANIFEST's entry on disk before a marker exists. It
// is fixed upstream in #5825, which is not released yet. The extra sync costs too little to measure, so
// it may stay after the release.
type dirSyncBeforeMarker struct{ vfs.FS }

// Create implements vfs.FS.
func (fs dirSyncBeforeMarker) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(fs.PathBase(name), markerPrefix) {
		if err := syncDir(fs.FS, fs.PathDir(name)); err != nil {
			return nil, fmt.Errorf("syncing the directory before creating %s: %w", name, err)
		}
	}
	return fs.FS.Create(name, category)
}

// Unwrap implements vfs.FS.
func (fs dirSyncBeforeMarker) Unwrap() vfs.FS { return fs.FS }

// syncDir makes the entries of a directory durable.
func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// DiskUsage is what FS.GetDiskUsage returns: an alias, as FS is.
type DiskUsage = vfs.DiskUsage

// NewMemFS returns an empty filesystem in memory, for tests and for what shall leave nothing. It is safe for concurrent
// use.
func NewMemFS() FS { return vfs.NewMem() }

// CrashableFS is a filesystem in memory that can be copied in the state that a power loss would leave.
// For tests. Make it with NewCrashableFS; it is safe for concurrent use.
type CrashableFS struct {
	FS
	mem *vfs.MemFS
	// mu keeps Crash apart from the operations that take MemFS's own clone lock twice. If a writer
	// waited between the two, Go's RWMutex would deadlock (fixed upstream in b47118f16, not released).
	mu sync.RWMutex
}

// NewCrashableFS returns an empty CrashableFS.
func NewCrashableFS() *CrashableFS { return crashable(vfs.NewCrashableMem()) }

func crashable(mem *vfs.MemFS) *CrashableFS { return &CrashableFS{FS: mem, mem: mem} }

// Crash returns a filesystem as a power loss at this moment might leave it. It contains everything that
// was synced, and each unsynced block and directory entry with a probability of unsyncedPercent (0 to
// 100). The same seed makes the same choice. The original is not changed.
func (fs *CrashableFS) Crash(unsyncedPercent int, seed uint64) *CrashableFS {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return crashable(fs.mem.CrashClone(vfs.CrashCloneCfg{
		UnsyncedDataPercent: unsyncedPercent,
		RNG:                 rand.New(rand.NewPCG(seed, 0x5e13e)),
	}))
}

// Link implements vfs.FS.
func (fs *CrashableFS) Link(oldname, newname string) error {
	fs.mu.RLock()
	defer fs.mu.RUnlock()
	return fs.mem.Link(oldname, newname)
}

// Rename implements vfs.FS.
func (fs *CrashableFS) Rename(oldname, newname string) error {
	fs.mu.RLock()
	defer fs.mu.RUnlock()
	return fs.mem.Rename(oldname, newname)
}

// ReuseForWrite implements vfs.FS.
func (fs *CrashableFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	fs.mu.RLock()
	defer fs.mu.RUnlock()
	return fs.mem.ReuseForWrite(oldname, newname, category)
}

// Lock implements vfs.FS.
func (fs *CrashableFS) Lock(name string) (io.Closer, error) {
	fs.mu.RLock()
	defer fs.mu.RUnlock()
	return fs.mem.Lock(name)
}

// Unwrap implements vfs.FS.
func (fs *CrashableFS) Unwrap() vfs.FS { return fs.mem }

// WARCFS returns the store's filesystem as a warc.FS, so that WARC files and store are on the same
// filesystem and crash together in tests.
func (s *Store) WARCFS() warc.FS { return NewWARCFS(s.base) }

// NewWARCFS returns fs as a warc.FS; nil is the disk.
func NewWARCFS(fs FS) warc.FS {
	if fs == nil || vfs.Root(fs) == vfs.Default {
		return warc.OS()
	}
	return warcFS{fs}
}

// warcFS adapts a filesystem that is not the disk.
type warcFS struct{ fs vfs.FS }

func (w warcFS) Create(name string) (warc.File, error) {
	if _, err := w.fs.Stat(name); err == nil {
		return nil, &os.PathError{Op: "create", Path: name, Err: os.ErrExist}
	}
	return asWARCFile(w.fs.Create(name, vfs.WriteCategoryUnspecified))
}

func (w warcFS) Open(name string) (warc.File, error) { return asWARCFile(w.fs.Open(name)) }

// asWARCFile keeps a nil vfs.File from becoming a warc.File that is not nil.
func asWARCFile(f vfs.File, err error) (warc.File, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (w warcFS) List(dir string) ([]string, error) { return w.fs.List(dir) }

func (w warcFS) Size(name string) (int64, error) {
	info, err := w.fs.Stat(name)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (w warcFS) MkdirAll(dir string) error { return w.fs.MkdirAll(dir, 0o755) }

func (w warcFS) Rename(oldname, newname string) error { return w.fs.Rename(oldname, newname) }

func (w warcFS) Remove(name string) error { return w.fs.Remove(name) }

func (w warcFS) SyncDir(dir string) error { return syncDir(w.fs, dir) }

// Truncate copies the part to keep into a new file and renames that over the old one, durably: vfs.FS
// can't truncate.
func (w warcFS) Truncate(name string, size int64) error {
	src, err := w.fs.Open(name)
	if err != nil {
		return err
	}
	defer src.Close()
	part := name + ".part"
	dst, err := w.fs.Create(part, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = io.CopyN(dst, src, size)
	if err := errors.Join(err, dst.Sync(), dst.Close()); err != nil {
		return errors.Join(err, w.fs.Remove(part))
	}
	if err := w.fs.Rename(part, name); err != nil {
		return err
	}
	return syncDir(w.fs, w.fs.PathDir(name))
}
