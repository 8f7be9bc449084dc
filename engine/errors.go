// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/seine-crawler/seine/engine/internal/inspect"
	"github.com/seine-crawler/seine/engine/internal/phases"
	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/engine/internal/visit"
	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
)

// Errors by which callers decide. Messages that wrap them say what was being done; compare with errors.Is.
var (
	// ErrNothingDue: Generate found no URL that is due.
	ErrNothingDue = phases.ErrNothingDue
	// ErrNoContact: without a contact, only loopback addresses are fetched from. Nothing was sent. See Options.Contact.
	ErrNoContact = errors.New("no contact")
	// ErrNoSeed: a crawl was given seeds, and none of them can be used. The message says why for the first ones.
	ErrNoSeed = errors.New("no usable seed")
	// ErrBusy: something that runs alone is running on this engine: a crawl, fetch, parse, recovery, deletion, purge or
	// filtering, or work on all links or on other data directories. A call when it has ended may succeed. Generate does
	// not run beside a crawl either.
	ErrBusy = errors.New("a crawl, or other work that runs alone, is already running on this engine")
	// ErrNotCrawling: no crawl is running on this engine, or it has begun to end.
	ErrNotCrawling = errors.New("no crawl is running on this engine")
	// ErrQueueFull: too many URLs wait for the running crawl. Enqueue them later, or use Inject.
	ErrQueueFull = errors.New("too many URLs wait for the crawl: enqueue them later, or inject them")
	// ErrNotFound: the URL, host or segment is not in the store.
	ErrNotFound = inspect.ErrNotFound
	// ErrNoSegment: there is no segment with that number, or none in the required state.
	ErrNoSegment = phases.ErrNoSegment
	// ErrWrongState: the phase cannot run on a segment in its present state.
	ErrWrongState = phases.ErrWrongState
	// ErrNoContent: the segment's pages were stored without content, so they cannot be parsed again. See
	// Options.NoContent.
	ErrNoContent = segment.ErrNoContent
	// ErrDiskLow: a crawl or fetch ended because its disk filled up. Everything fetched is kept. Run a crawl again with
	// more space, and it continues. A fetch has sealed its segment: what it left is due for the next Generate.
	ErrDiskLow = visit.ErrDiskLow
	// ErrRobots: robots.txt does not allow the URL, or is unreachable.
	ErrRobots = visit.ErrRobots
	// ErrNotSent: an index writer did not take all that changed. What the call did before that is done, and its report
	// says what; the next call that sends brings the rest.
	ErrNotSent = errors.New("not all is sent")
	// ErrNoPart: SplitDB cannot make that part in that directory: crawldb is not cut into so many or has nothing of the
	// domain that is to move, or the directory has a store.
	ErrNoPart = errors.New("no such part in that directory")
	// ErrClosed: use of an engine after Close.
	ErrClosed = storage.ErrClosed
	// ErrFormat: the data directory was written by a newer program. It was not changed.
	ErrFormat = storage.ErrNewerFormat
	// ErrOlderFormat: the data directory was written by an older program, and Options.ReadOnly is set. Open it once
	// without, which upgrades it.
	ErrOlderFormat = storage.ErrOlderFormat
	// ErrIndexFormat: the index was made by a program with another format of the index or another analyzer. All else in
	// the data directory is as it was. See Options.RebuildIndex.
	ErrIndexFormat = index.ErrFormat
	// ErrLocked: another process, or another Engine of this one, has the data directory open.
	ErrLocked = storage.ErrLocked
	// ErrNoStore: the directory contains no store, and Options.MustExist is set, or one that SplitDB has not completed.
	ErrNoStore = storage.ErrNoStore
	// ErrDamaged: bytes on disk are not those that were written, or files are missing. Verify lists what is wrong,
	// Repair makes the best of what is left.
	ErrDamaged = storage.ErrCorrupt
	// ErrReadOnly: a method that writes, on an engine that was opened with Options.ReadOnly.
	ErrReadOnly = storage.ErrReadOnly
)

// advice says what a person can do about an error, in the form that ends a message; "" if nothing is known.
func advice(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return ": free space on the disk and run it again; everything acknowledged is kept"
	case errors.Is(err, syscall.EFBIG):
		return ": no file may be longer there: raise the limit (ulimit -f), or move the directory to another file " +
			"system, and run it again; everything acknowledged is kept"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return ": too many files are open: raise the limit (ulimit -n) and run it again"
	case errors.Is(err, fs.ErrPermission):
		return ": run it as the user that owns the directory"
	case errors.Is(err, syscall.EIO):
		return ": the disk or its cable fails: copy the directory to another disk and run it there"
	}
	return ""
}

// advised ends the message of an error with what a person can do about it.
func advised(err error) error {
	if a := advice(err); a != "" {
		return fmt.Errorf("%w%s", err, a)
	}
	return err
}

// wrapf puts what was being done before an error. Nil stays nil.
func wrapf(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
