// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"fmt"
	"path/filepath"
	"sync"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/warc"
)

// firmFS is a file system on which no file counts as durable any more once a sync of it has failed. The system may have
// dropped then what it could not write, still show it to those who read, and report success the next time (the
// "fsyncgate" of 2018). So a process that met this does not seal what is in the file: the next one reads what the disk
// has.
type firmFS struct {
	warc.FS
	mu     sync.Mutex
	failed map[string]error // of the first sync that did, by the file's base name
}

// firmFile is a file on it.
type firmFile struct {
	warc.File
	fs   *firmFS
	name string
}

// Create implements warc.FS. The file is a new one, whatever had its name before.
func (fs *firmFS) Create(name string) (warc.File, error) {
	f, err := fs.FS.Create(name)
	if err != nil {
		return nil, err
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	delete(fs.failed, filepath.Base(name))
	return &firmFile{f, fs, filepath.Base(name)}, nil
}

// Open implements warc.FS.
func (fs *firmFS) Open(name string) (warc.File, error) {
	f, err := fs.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return &firmFile{f, fs, filepath.Base(name)}, nil
}

// Sync implements warc.File.
func (f *firmFile) Sync() error {
	f.fs.mu.Lock()
	failed := f.fs.failed[f.name]
	f.fs.mu.Unlock()
	if failed != nil {
		return fmt.Errorf("%w: an earlier sync of %s failed (%w), so it need not have what was written: find the "+
			"cause (full or failing disk), then start again to recover", storage.ErrFatal, f.name, failed)
	}
	err := f.File.Sync()
	if err != nil {
		f.fs.mu.Lock()
		defer f.fs.mu.Unlock()
		if f.fs.failed == nil {
			f.fs.failed = map[string]error{}
		}
		f.fs.failed[f.name] = err
	}
	return err
}
