// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
)

// FS is the filesystem under a Writer and Repair: OS() for the disk, an adapter of the store's filesystem in crash
// tests. It is safe for concurrent use. Names are paths in the form of the operating system.
type FS interface {
	// Create creates a file for reading and writing. If the file exists, it fails where the filesystem can detect
	// that (OS() does): a WARC file is never written twice.
	Create(name string) (File, error)
	// Open opens an existing file for reading.
	Open(name string) (File, error)
	// List returns the base names in a directory, in any order.
	List(dir string) ([]string, error)
	// Size returns the length of a file in bytes.
	Size(name string) (int64, error)
	// MkdirAll creates a directory and its parents; an existing directory is no error.
	MkdirAll(dir string) error
	// Truncate cuts a file to size bytes. It need not be durable: Repair syncs the file afterwards.
	Truncate(name string, size int64) error
	// SyncDir makes the directory's entries durable.
	SyncDir(dir string) error
	// Rename gives a file another name in the same directory, in the place of what has that name.
	Rename(oldname, newname string) error
	// Remove deletes a file.
	Remove(name string) error
}

// File is an open file of an FS. Write appends. Write, ReadAt and Sync may be called at the same time from several
// goroutines.
type File interface {
	io.Writer
	io.ReaderAt
	io.Closer
	// Sync returns when everything written before the call is on disk.
	Sync() error
}

// OS returns the filesystem of the operating system. Create refuses an existing name. Directories are created with
// mode 0755 and files with 0644, before umask.
func OS() FS { return osFS{} }

type osFS struct{}

func (osFS) Create(name string) (File, error) {
	// O_EXCL: two crawls that use one directory by mistake must not write into each other's files.
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	return &written{File: f}, nil
}

// written is a file that is being written. Synced data is not read again soon, so written drops it from the system's
// page cache. Otherwise a crawl would fill that cache and evict the store, which is read. Later writes reuse the
// freed pages.
type written struct {
	*os.File
	size, forgotten atomic.Int64
}

func (f *written) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	f.size.Add(int64(n))
	return n, err
}

// Sync implements File. Data written during the call may be dropped from the page cache or not; both are fine.
func (f *written) Sync() error {
	size := f.size.Load()
	if err := f.File.Sync(); err != nil {
		return err
	}
	if from := f.forgotten.Load(); size-from >= forgetBytes {
		forget(f.File, from, size-from)
		f.forgotten.Store(size &^ (forgetBytes - 1)) // the system keeps the last, partial page
	}
	return nil
}

func (osFS) Open(name string) (File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return opened{f}, nil
}

// opened is a file that was there. What is read of it after a sync comes from the disk: after a write that failed, the
// system may have kept in its page cache what the disk does not have.
type opened struct{ *os.File }

// Sync implements File.
func (f opened) Sync() error {
	err := f.File.Sync()
	if err == nil {
		forget(f.File, 0, 0) // all of it
	}
	return err
}

func (osFS) List(dir string) (names []string, err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return d.Readdirnames(-1)
}

func (osFS) Size(name string) (int64, error) {
	info, err := os.Stat(name)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (osFS) MkdirAll(dir string) error { return os.MkdirAll(dir, 0o755) }

func (osFS) Truncate(name string, size int64) error { return os.Truncate(name, size) }

func (osFS) SyncDir(dir string) (err error) {
	if runtime.GOOS == "windows" {
		return nil // directories cannot be synced there; NTFS journals their entries
	}
	d, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return d.Sync()
}

func (osFS) Rename(oldname, newname string) error { return os.Rename(oldname, newname) }

func (osFS) Remove(name string) error { return os.Remove(name) }
