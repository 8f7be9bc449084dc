// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// SortDir returns a directory for the files of Sorters. It is inside the store's directory, and Open empties it. A
// store on disk that is open for reading only has one of its own among the system's temporary files, which nobody else
// can read; Close removes it, and what a process that was killed has left there goes with the next one that is made.
func (s *Store) SortDir() string {
	if !s.readOnly || s.base != nil {
		return s.fs.PathJoin(s.dir, sortDir)
	}
	return s.sorts.get()
}

// ownSortDir is a directory among the system's temporary files, which is made when it is first needed. Its process
// holds the lock on a file in it, so that others see whether it is in use.
type ownSortDir struct {
	mu   sync.Mutex
	name string // "": none yet
	lock io.Closer
}

// Names of directories among the system's temporary files. One that is not locked yet has the second. The first part
// of a random name is that of the process, which cannot see its own locks.
var (
	tempPrefix = "seine-sort-"
	newPrefix  = "seine-new-"
	ownPrefix  = tempPrefix + rand.Text()[:12] + "-"
)

func (d *ownSortDir) get() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.name == "" {
		removeAbandoned()
		if err := d.make(); err != nil { // the Sorter that can't make this one either says why
			d.name = filepath.Join(os.TempDir(), ownPrefix+rand.Text())
		}
	}
	return d.name
}

func (d *ownSortDir) make() error {
	dir, err := os.MkdirTemp("", newPrefix)
	if err != nil {
		return err
	}
	lock, err := vfs.Default.Lock(filepath.Join(dir, lockName))
	if err == nil {
		name := filepath.Join(os.TempDir(), ownPrefix+rand.Text())
		if err = os.Rename(dir, name); err == nil {
			d.name, d.lock = name, lock
			return nil
		}
		err = errors.Join(err, lock.Close())
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// remove removes the directory, if there is one.
func (d *ownSortDir) remove() (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.name == "" {
		return nil
	}
	err = os.RemoveAll(d.name)
	if d.lock != nil {
		err = errors.Join(err, d.lock.Close())
	}
	d.name, d.lock = "", nil
	return err
}

// removeAbandoned removes the directories of processes that have ended without it. What cannot be removed stays.
func removeAbandoned() {
	list, _ := os.ReadDir(os.TempDir())
	for _, entry := range list {
		name, sorts := entry.Name(), filepath.Join(os.TempDir(), entry.Name())
		switch {
		case strings.HasPrefix(name, newPrefix): // whose maker does without it, should it be alive: see get
			_ = os.Remove(sorts) // if it is empty
		case strings.HasPrefix(name, tempPrefix) && !strings.HasPrefix(name, ownPrefix) &&
			abandoned(filepath.Join(sorts, lockName)):
			_ = os.RemoveAll(sorts)
		}
	}
}
