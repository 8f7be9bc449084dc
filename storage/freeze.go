// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// manifestPrefix begins the names of the files that say which tables there are.
const manifestPrefix = "MANIFEST-"

// freezing reports the first log file that cannot be created, written or synced, and the first directory that cannot be
// synced, and keeps the error from Pebble. From then on what is on disk stays as a crash at that moment would leave it:
// log and MANIFEST are written into nothing, and nothing is removed. Only new tables are still written, as reads need
// them; recovery does not know them.
//
// Pebble 2.1 panics where it cannot end a log file or cannot begin the next one, and holds locks meanwhile: nobody can
// recover from that, and Fatalf is not called. As health refuses all writes, nothing that is lost here was
// acknowledged.
//
// While the store is opened, errors are Open's and pass.
type freezing struct {
	vfs.FS
	*freeze
}

// freeze is the state that the files of a store share.
type freeze struct {
	fatalf func(format string, args ...any)
	opened atomic.Bool // the store: failures are fatal from now on
	frozen atomic.Bool
}

// fail reports the first failure.
func (z *freeze) fail(op, name string, err error) {
	if !z.frozen.Swap(true) {
		z.fatalf("%s %s: %v", op, name, err)
	}
}

// Create implements vfs.FS.
func (fs freezing) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return fs.begin(name, func() (vfs.File, error) { return fs.FS.Create(name, category) })
}

// ReuseForWrite implements vfs.FS.
func (fs freezing) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return fs.begin(newname, func() (vfs.File, error) { return fs.FS.ReuseForWrite(oldname, newname, category) })
}

// begin makes a file; in a frozen store, a log, MANIFEST or marker of which nothing is kept.
func (fs freezing) begin(name string, create func() (vfs.File, error)) (vfs.File, error) {
	base := fs.PathBase(name)
	isLog := strings.HasSuffix(base, logSuffix)
	if !isLog && !strings.HasPrefix(base, manifestPrefix) && !strings.HasPrefix(base, markerPrefix) {
		return create()
	}
	if !fs.frozen.Load() {
		f, err := create()
		if err == nil {
			return &freezingFile{f, fs.freeze, name, isLog}, nil
		}
		if !isLog || !fs.opened.Load() {
			return nil, err
		}
		fs.fail("creating", name, err)
	}
	f, err := vfs.NewMem().Create(base, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	return &freezingFile{f, fs.freeze, name, isLog}, nil
}

// OpenDir implements vfs.FS. Pebble syncs the directory when it has created a log file, too.
func (fs freezing) OpenDir(name string) (vfs.File, error) {
	d, err := fs.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &freezingFile{d, fs.freeze, name, true}, nil
}

// Remove implements vfs.FS.
func (fs freezing) Remove(name string) error {
	if fs.frozen.Load() {
		return nil
	}
	return fs.FS.Remove(name)
}

// Unwrap implements vfs.FS.
func (fs freezing) Unwrap() vfs.FS { return fs.FS }

// freezingFile is a log, MANIFEST or marker, or a directory.
type freezingFile struct {
	vfs.File
	*freeze
	name    string
	freezes bool // by its first failure; those of the others reach Pebble, which calls Fatalf
}

// do runs an operation, unless the store is frozen.
func (f *freezingFile) do(op string, fn func() error) error {
	if f.frozen.Load() {
		return nil
	}
	err := fn()
	if err == nil || !f.freezes || !f.opened.Load() {
		return err
	}
	f.fail(op, f.name, err)
	return nil
}

// Write implements vfs.File.
func (f *freezingFile) Write(p []byte) (n int, err error) {
	err = f.do("writing", func() (err error) {
		n, err = f.File.Write(p)
		return err
	})
	if err == nil {
		n = len(p)
	}
	return n, err
}

// Sync implements vfs.File.
func (f *freezingFile) Sync() error { return f.do("syncing", f.File.Sync) }

// SyncData implements vfs.File.
func (f *freezingFile) SyncData() error { return f.do("syncing", f.File.SyncData) }

// SyncTo implements vfs.File.
func (f *freezingFile) SyncTo(length int64) (full bool, err error) {
	err = f.do("syncing", func() (err error) {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, err
}

// Close implements vfs.File. The file of a frozen store is closed, too.
func (f *freezingFile) Close() error {
	err := f.File.Close()
	return f.do("closing", func() error { return err })
}
