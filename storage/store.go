// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// lockName is the file in a store's directory that Pebble locks.
const lockName = "LOCK"

// Subdirectories of the store for temporary files. Open empties them.
const (
	ingestDir = "tmp-ingest"
	sortDir   = "tmp-sort"
)

// Store is an open store, made by Open; the zero value is not usable. It is safe for concurrent use, and
// reads never wait for writes. Use after Close fails with ErrClosed.
type Store struct {
	reads
	dir      string
	base     vfs.FS // as given in Options
	fs       vfs.FS // the layered filesystem that Pebble uses
	db       *pebble.DB
	popts    *pebble.Options
	cache    *blockCache
	lock     *pebble.Lock
	health   *health
	freeze   *freeze
	closings closings
	readOnly bool
	salvage  bool
	logFault error // see LogFault
	fsCloser io.Closer
	sorting  int64 // memory of a Sorter of the store's own, in bytes

	tables   atomic.Uint64 // temporary tables so far; numbers their names
	gathered atomic.Uint64 // ingestions that made no table
	closed   atomic.Bool

	sorts ownSortDir // of a store on disk that is only read

	// segments makes "compare a segment's state, then write the next one" atomic. It is held while an
	// ingestion commits; inside Pebble two ingestions would wait for each other anyway.
	segments sync.Mutex
	moment   uint64 // see Moment; guarded by segments
}

// Open opens the store in dir and creates it if there is none (unless Options say otherwise). It takes
// the directory's lock and keeps it until Close. After a crash it first recovers, which takes as long as
// replaying one memtable's worth of log.
//
// Errors to test with errors.Is: ErrLocked, ErrNewerFormat, ErrIdentity, ErrCorrupt, ErrNoStore. Other
// errors name the path and the operation that failed.
func Open(dir string, o Options) (_ *Store, err error) {
	if o, err = o.withDefaults(); err != nil {
		return nil, err
	}
	s := &Store{dir: dir, base: o.FS, readOnly: o.ReadOnly, salvage: o.Salvage, sorting: ownSorterBytes(o.CacheBytes)}
	s.health = &health{dir: dir, logf: o.Logger, now: o.Now, onFatal: o.OnFatal}
	s.stackFS()
	defer func() {
		if err != nil {
			err = errors.Join(err, s.release())
		}
	}()
	if err := s.prepareDir(&o); err != nil {
		return nil, err
	}
	if err := s.takeLock(); err != nil {
		return nil, err
	}
	if err := s.checkFiles(&o); err != nil {
		return nil, err
	}
	s.popts = o.pebbleOptions(s.fs, s.health)
	s.closings.listen(s.popts.EventListener)
	s.cache = newBlockCache(o.CacheBytes, o.IdleCacheBytes)
	s.popts.Cache = s.cache.cache
	if err := peekFormat(dir, s.popts, s.lock, s.salvage); err != nil {
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
		return nil, fmt.Errorf("opening the store in %s: %w", dir, openFault(err))
	}
	s.freeze.opened.Store(true)
	s.reads = reads{s: s, r: s.db}
	if err := s.admit(&o); err != nil {
		return nil, err
	}
	return s, nil
}

// stackFS assembles the filesystem layers; see vfs.go.
func (s *Store) stackFS() {
	fs := s.base
	if fs == nil {
		fs = vfs.Default
		fs, s.fsCloser = vfs.WithDiskHealthChecks(fs, slowDisk, nil, s.health.diskSlow)
	}
	s.freeze = &freeze{fatalf: s.health.Fatalf}
	s.fs = freezing{dirSyncBeforeMarker{fs}, s.freeze}
}

// prepareDir makes sure that dir is a directory. One that a store may begin in is durable in its parents then: whoever
// made it, a person or a process that ended just then, may not have seen to that.
func (s *Store) prepareDir(o *Options) error {
	mustExist := o.ReadOnly || o.MustExist
	info, err := s.fs.Stat(s.dir)
	switch {
	case errors.Is(err, os.ErrNotExist) && mustExist:
		return fmt.Errorf("%w in %s: there is no such directory; start a crawl there first", ErrNoStore, s.dir)
	case errors.Is(err, os.ErrNotExist):
		return makeDir(s.fs, s.dir)
	case err != nil:
		return fmt.Errorf("opening the store in %s: %w", s.dir, err)
	case !info.IsDir():
		return fmt.Errorf("opening the store in %s: that is a file, not a directory: name the directory of a crawl",
			s.dir)
	case mustExist:
		return nil
	}
	names, err := s.fs.List(s.dir)
	if err != nil {
		return fmt.Errorf("opening the store in %s: %w", s.dir, err)
	}
	if len(names) == 0 {
		return makeDir(s.fs, s.dir)
	}
	return nil
}

// checkFiles refuses what Pebble would misunderstand.
func (s *Store) checkFiles(o *Options) error {
	names, err := s.fs.List(s.dir)
	if err != nil {
		return fmt.Errorf("opening the store in %s: %w", s.dir, err)
	}
	if err := refuseNewerPebble(s.dir, names); err != nil {
		return err
	}
	if o.Salvage {
		s.logFault = checkLogs(s.fs, s.dir, names)
		s.fs = withLostMarkers(s.fs, s.dir, names)
		return nil
	}
	if err := refuseLostMarker(s.dir, names); err != nil {
		return err
	}
	return checkLogs(s.fs, s.dir, names)
}

// makeDir creates the store's directory and makes it durable in its parent before any write in it is
// acknowledged.
func makeDir(fs vfs.FS, dir string) error {
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the store's directory %s: %w", dir, err)
	}
	// Sync each parent that this call may have created, or one that ended before it synced it, up to the root or the
	// working directory. Those that this user may only pass are not made by him, and those of a filesystem that syncs
	// no directories, such as the squashfs below a mounted disk, cannot lose one.
	for {
		parent := fs.PathDir(dir)
		if parent == dir {
			return nil
		}
		err := syncDir(fs, parent)
		if err != nil && !errors.Is(err, os.ErrPermission) && !errors.Is(err, syscall.EINVAL) {
			return fmt.Errorf("syncing %s, the parent of the store's directory: %w", parent, err)
		}
		dir = parent
	}
}

// takeLock keeps out other processes, and other Stores of this process.
//
// A copy that nobody can write to is read without a lock. Where others may write, their lock counts nevertheless.
func (s *Store) takeLock() error {
	lock, err := pebble.LockDirectory(s.realDir(), s.fs)
	if s.readOnly && (errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.EROFS)) {
		if pid, held := lockHolder(s.fs.PathJoin(s.dir, lockName)); held {
			return lockedBy(s.dir, pid)
		}
		// Pebble asks for a lock. One in memory keeps nobody out.
		mem := vfs.NewMem()
		if err = mem.MkdirAll(s.dir, 0o755); err == nil {
			s.lock, err = pebble.LockDirectory(s.dir, mem)
		}
		return err
	}
	if path := (*os.PathError)(nil); errors.As(err, &path) {
		return fmt.Errorf("locking the store in %s: %w: make the directory writable for this user", s.dir, err)
	}
	if err != nil {
		return lockTaken(s.fs, s.dir, err)
	}
	s.lock = lock
	return nil
}

// lockTaken is the error of a directory of which the lock is taken. The lock call has answered with the bare error of
// the system if another process has it, and with one of Pebble's if this one has.
func lockTaken(fs vfs.FS, dir string, err error) error {
	if errno := syscall.Errno(0); !errors.As(err, &errno) {
		return fmt.Errorf("%w: this process has opened %s before: close it first", ErrLocked, dir)
	}
	pid, _ := lockHolder(fs.PathJoin(dir, lockName))
	return lockedBy(dir, pid)
}

// lockedBy is the error of a directory that another process has open; pid is 0 if it is not known.
func lockedBy(dir string, pid int) error {
	process := "another process"
	if pid > 0 {
		process = fmt.Sprintf("process %d", pid)
	}
	return fmt.Errorf("%w: %s is open in %s: wait until it ends, stop it, or use a copy of the directory",
		ErrLocked, dir, process)
}

// realDir is the directory on disk by its one name without links. The system's lock keeps out other processes by
// whatever name they know it; Pebble keeps out this one by name.
func (s *Store) realDir() string {
	if s.base == nil {
		return realPath(s.dir)
	}
	return s.dir
}

// realPath is the one name of a directory on disk, without links; the name as it is if there is none.
func realPath(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		if real, err := filepath.EvalSymlinks(abs); err == nil {
			return real
		}
	}
	return dir
}

// release undoes what Open did so far; Close ends with it too.
func (s *Store) release() error {
	var errs []error
	if s.db != nil {
		s.flush()
		s.closings.end()
		errs = append(errs, closing(s.db.Close()))
		s.db = nil
	}
	if s.cache != nil {
		s.cache.cache.Unref()
		s.cache = nil
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
		s.lock = nil
	}
	if s.fsCloser != nil {
		errs = append(errs, s.fsCloser.Close())
		s.fsCloser = nil
	}
	errs = append(errs, s.sorts.remove())
	return errors.Join(errs...)
}

// flush writes the small writes of the log into a table, so that a store that was closed has nothing in its log, the
// one file of which damage can't always be told from what a crash leaves. A disk that doesn't take it in time keeps the
// log.
func (s *Store) flush() {
	if s.readOnly || s.health.writable() != nil {
		return
	}
	if done, err := s.db.AsyncFlush(); err == nil {
		select {
		case <-done:
		case <-time.After(flushTimeout):
		}
	}
}

// Close closes the store. Close its scanners and snapshots and end its ingestions first: those still
// open are reported as an error, and so is the failure that OnFatal has received. A second Close does nothing and
// returns nil.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	err := s.release()
	if fatal := s.health.fatal.Load(); fatal != nil {
		err = errors.Join(*fatal, err)
	}
	if err != nil {
		return fmt.Errorf("closing the store in %s: %w", s.dir, err)
	}
	return nil
}

// Dir returns the directory of the store, as given to Open.
func (s *Store) Dir() string { return s.dir }

// Err returns the error because of which the store refuses writes (ErrFatal or ErrCorrupt), or nil.
func (s *Store) Err() error { return s.health.writable() }

// LogFault is the damage of the log of a store that was opened with Options.Salvage; nil: there is none. What was
// written behind it is lost, and nothing else tells: reads see what the store had before.
func (s *Store) LogFault() error { return s.logFault }

// usable must be called before every use: Pebble panics when used after Close.
func (s *Store) usable() error {
	if s.closed.Load() {
		return fmt.Errorf("%w: %s", ErrClosed, s.dir)
	}
	return nil
}

// mayWrite must be called before every write.
func (s *Store) mayWrite() error {
	if err := s.usable(); err != nil {
		return err
	}
	if s.readOnly {
		return fmt.Errorf("%w: %s", ErrReadOnly, s.dir)
	}
	return s.health.writable()
}

// Batch collects the small writes of one Apply. It is valid only until the function given to Apply
// returns, and belongs to that function's goroutine.
type Batch struct {
	b   *pebble.Batch
	key []byte
}

// Set adds the write of a value under a relative key. Key and value are copied. It fails when the key is
// longer than KeyMaxBytes, the value than ValueMaxBytes, or the batch would exceed BatchMaxBytes.
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

// Delete adds the deletion of a relative key; deleting an absent key is no error.
func (b *Batch) Delete(r Range, key []byte) error {
	if err := checkSize(r, key, nil); err != nil {
		return err
	}
	b.key = r.appendKey(b.key[:0], key)
	return b.b.Delete(b.key, nil)
}

// Apply runs fn on the caller's goroutine and writes what it put into the batch: all or nothing, and
// durable when Apply returns nil. Concurrent callers share one sync. When fn fails, nothing is written
// and Apply returns fn's error unchanged. Use it for small writes and an Ingestion for bulk data.
//
// Errors: ErrClosed, ErrReadOnly, ErrFatal, ErrCorrupt.
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
	// Pebble reports a failed sync through health.Fatalf and may then return nil here.
	return s.health.writable()
}

// checkSize refuses the zero range, and keys and values longer than the format allows.
func checkSize(r Range, key, value []byte) error {
	if r.IsZero() {
		return errors.New("BUG: storage: writing to the zero range")
	}
	if len(key) > KeyMaxBytes {
		return fmt.Errorf("writing %s: key of %d bytes, more than %d: %.100q…", r, len(key), KeyMaxBytes, key)
	}
	if len(value) > ValueMaxBytes {
		return fmt.Errorf("writing %s: value of %d bytes, more than %d, under key %.100q",
			r, len(value), ValueMaxBytes, key)
	}
	return nil
}
