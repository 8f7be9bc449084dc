// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Subdirectories of the store for files that live no longer than one process: emptied at open.
const (
	ingestDir = "tmp-ingest"
	sortDir   = "tmp-sort"
)

// Store is an open store. Safe for concurrent use; reads never wait for writes.
type Store struct {
	reads
	dir      string
	base     vfs.FS // as given in Options
	fs       vfs.FS // the stack that Pebble uses
	db       *pebble.DB
	popts    *pebble.Options
	lock     *pebble.Lock
	health   *health
	readOnly bool
	fsCloser io.Closer

	tables atomic.Uint64 // names of temporary tables
	closed atomic.Bool

	// segments makes "compare a segment's state, then write the next one" one step. Held while an
	// ingestion commits: two ingestions would wait for each other inside Pebble anyway.
	segments sync.Mutex
}

// Open opens the store in dir, making it if there is none (unless Options say otherwise). It takes
// the directory's lock and keeps it until Close. After a crash it recovers first, which takes as
// long as replaying one memtable's worth of log.
//
// Errors, by errors.Is: ErrLocked, ErrNewerFormat, ErrIdentity, ErrCorrupt, ErrNoStore; others name
// the path and what failed.
func Open(dir string, o Options) (_ *Store, err error) {
	if o, err = o.withDefaults(); err != nil {
		return nil, err
	}
	s := &Store{dir: dir, base: o.FS, readOnly: o.ReadOnly}
	s.health = &health{dir: dir, logf: o.Logger, now: o.Now, onFatal: o.OnFatal}
	s.stackFS()
	defer func() {
		if err != nil {
			err = errors.Join(err, s.release())
		}
	}()
	if err := s.prepareDir(o.ReadOnly || o.MustExist); err != nil {
		return nil, err
	}
	if err := s.takeLock(); err != nil {
		return nil, err
	}
	s.popts = o.pebbleOptions(s.fs, s.health)
	if err := peekFormat(dir, s.popts, s.lock); err != nil {
		return nil, err
	}
	if !s.readOnly {
		for _, sub := range []string{ingestDir, sortDir} {
			if err := s.fs.RemoveAll(s.fs.PathJoin(dir, sub)); err != nil {
				return nil, fmt.Errorf("emptying %s: %w", s.fs.PathJoin(dir, sub), err)
			}
		}
	}
	s.popts.Lock = s.lock
	s.popts.ErrorIfNotExists = o.MustExist || o.ReadOnly
	if s.db, err = pebble.Open(dir, s.popts); errors.Is(err, pebble.ErrDBDoesNotExist) {
		return nil, fmt.Errorf("%w in %s: start a crawl there first", ErrNoStore, dir)
	} else if err != nil {
		return nil, fmt.Errorf("opening the store in %s: %w", dir, classified(err))
	}
	s.reads = reads{s: s, r: s.db}
	if err := s.admit(&o); err != nil {
		return nil, err
	}
	return s, nil
}

// stackFS puts our filesystem layers together; see vfs.go.
func (s *Store) stackFS() {
	fs := s.base
	if fs == nil {
		fs = vfs.Default
		fs, s.fsCloser = vfs.WithDiskHealthChecks(fs, slowDisk, nil, s.health.diskSlow)
	}
	s.fs = dirSyncBeforeMarker{fs}
}

// prepareDir makes sure that dir is a directory that we may list.
func (s *Store) prepareDir(mustExist bool) error {
	info, err := s.fs.Stat(s.dir)
	switch {
	case errors.Is(err, os.ErrNotExist) && mustExist:
		return fmt.Errorf("%w in %s: there is no such directory; start a crawl there first", ErrNoStore, s.dir)
	case errors.Is(err, os.ErrNotExist):
		return s.makeDir()
	case err != nil:
		return fmt.Errorf("opening the store in %s: %w", s.dir, err)
	case !info.IsDir():
		return fmt.Errorf("opening the store in %s: that is a file, not a directory: name the directory of a crawl", s.dir)
	}
	names, err := s.fs.List(s.dir)
	if err != nil {
		return fmt.Errorf("opening the store in %s: %w", s.dir, err)
	}
	return refuseNewerPebble(s.dir, names)
}

// makeDir makes the store's directory durable in its parent before anything is promised in it.
func (s *Store) makeDir() error {
	if err := s.fs.MkdirAll(s.dir, 0o755); err != nil {
		return fmt.Errorf("making the store's directory %s: %w", s.dir, err)
	}
	// Each parent that MkdirAll may have made, up to the root or the working directory.
	for dir := s.dir; ; {
		parent := s.fs.PathDir(dir)
		if parent == dir {
			return nil
		}
		if err := syncDir(s.fs, parent); err != nil {
			return fmt.Errorf("syncing %s, the parent of the store's directory: %w", parent, err)
		}
		dir = parent
	}
}

// takeLock keeps other processes out, and other Stores of this one.
func (s *Store) takeLock() error {
	lock, err := pebble.LockDirectory(s.dir, s.fs)
	if path := (*os.PathError)(nil); errors.As(err, &path) {
		return fmt.Errorf("locking the store in %s: %w: make the directory writable for this user", s.dir, err)
	}
	if err != nil { // the bare answer of the lock call: held by somebody
		return fmt.Errorf("%w: %s is open in another process, or twice in this one (%v): stop the other, or use another directory",
			ErrLocked, s.dir, err)
	}
	s.lock = lock
	return nil
}

// release undoes what Open did so far, and is the end of Close.
func (s *Store) release() error {
	var errs []error
	if s.db != nil {
		errs = append(errs, s.db.Close())
		s.db = nil
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
		s.lock = nil
	}
	if s.fsCloser != nil {
		errs = append(errs, s.fsCloser.Close())
		s.fsCloser = nil
	}
	return errors.Join(errs...)
}

// Close ends the store. Scanners, snapshots and ingestions must have ended before; those that have
// not are reported as an error. Closing twice is harmless.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	if err := s.release(); err != nil {
		return fmt.Errorf("closing the store in %s: %w", s.dir, err)
	}
	return nil
}

// Dir is the directory of the store.
func (s *Store) Dir() string { return s.dir }

// SortDir is a directory for the files of Sorters, inside the store's and emptied when it is opened.
func (s *Store) SortDir() string { return s.fs.PathJoin(s.dir, sortDir) }

// Err returns what keeps the store from taking writes (ErrFatal or ErrCorrupt), or nil.
func (s *Store) Err() error { return s.health.writable() }

// usable is checked before every use: Pebble panics when used after Close.
func (s *Store) usable() error {
	if s.closed.Load() {
		return fmt.Errorf("%w: %s", ErrClosed, s.dir)
	}
	return nil
}

// mayWrite is checked before every write.
func (s *Store) mayWrite() error {
	if err := s.usable(); err != nil {
		return err
	}
	if s.readOnly {
		return fmt.Errorf("%w: %s", ErrReadOnly, s.dir)
	}
	return s.health.writable()
}

// Batch collects small writes of one Apply. Valid only inside it.
type Batch struct {
	b   *pebble.Batch
	key []byte
}

// Set writes a value. Key and value are copied.
func (b *Batch) Set(r Range, key, value []byte) error {
	if err := checkSize(r, key, value); err != nil {
		return err
	}
	if b.b.Len()+len(key)+len(value) > BatchMaxBytes {
		return fmt.Errorf("writing %s: more than %d bytes in one batch: use an ingestion", r, BatchMaxBytes)
	}
	b.key = r.appendKey(b.key[:0], key)
	return b.b.Set(b.key, value, nil)
}

// Delete removes a key; deleting what is not there is no error.
func (b *Batch) Delete(r Range, key []byte) error {
	if err := checkSize(r, key, nil); err != nil {
		return err
	}
	b.key = r.appendKey(b.key[:0], key)
	return b.b.Delete(b.key, nil)
}

// Apply runs fn and writes what it put into the batch: all or nothing, and durable when Apply
// returns nil. Callers that arrive together share one sync. When fn fails nothing is written. Meant
// for small writes; bulk belongs into an Ingestion.
func (s *Store) Apply(fn func(b *Batch) error) error {
	if err := s.mayWrite(); err != nil {
		return err
	}
	b := &Batch{b: s.db.NewBatch()}
	defer b.b.Close()
	if err := fn(b); err != nil {
		return err
	}
	if b.b.Empty() {
		return nil
	}
	if err := s.db.Apply(b.b, pebble.Sync); err != nil {
		return fmt.Errorf("writing to the store in %s: %w", s.dir, classified(err))
	}
	// Pebble reports a failed sync through Fatalf and may then return nil here.
	return s.health.writable()
}

// checkSize refuses what the format's limits do not allow.
func checkSize(r Range, key, value []byte) error {
	if r.IsZero() {
		return errors.New("BUG: storage: writing to the zero range")
	}
	if len(key) > KeyMaxBytes {
		return fmt.Errorf("writing %s: key of %d bytes, more than %d: %.100q…", r, len(key), KeyMaxBytes, key)
	}
	if len(value) > ValueMaxBytes {
		return fmt.Errorf("writing %s: value of %d bytes, more than %d, under key %.100q", r, len(value), ValueMaxBytes, key)
	}
	return nil
}
