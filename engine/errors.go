// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/seine-crawler/seine/engine/internal/inspect"
	"github.com/seine-crawler/seine/engine/internal/phases"
	"github.com/seine-crawler/seine/engine/internal/visit"
	"github.com/seine-crawler/seine/storage"
)

// Errors that callers decide by. Each is wrapped in a message that says what was being done; compare with
// errors.Is.
var (
	// ErrNothingDue: Generate found no URL that is due.
	ErrNothingDue = phases.ErrNothingDue
	// ErrNoContact: a crawl that has no contact would leave loopback. Nothing was sent.
	ErrNoContact = errors.New("no contact")
	// ErrBusy: a crawl or fetch is already running on this engine.
	ErrBusy = errors.New("a crawl or fetch is already running on this engine")
	// ErrNotCrawling: no crawl is running on this engine.
	ErrNotCrawling = errors.New("no crawl is running on this engine")
	// ErrNotFound: the URL, host or segment is not in the store.
	ErrNotFound = inspect.ErrNotFound
	// ErrNoSegment: there is no segment of that number, or none in the state that was wanted.
	ErrNoSegment = phases.ErrNoSegment
	// ErrWrongState: the phase cannot run on a segment in its present state.
	ErrWrongState = phases.ErrWrongState
	// ErrDiskLow: a crawl or fetch ended because its disk filled up. Everything fetched is kept; it goes on when
	// it is run again with more space.
	ErrDiskLow = visit.ErrDiskLow
	// ErrRobots: robots.txt does not allow the URL, or cannot be had.
	ErrRobots = visit.ErrRobots
	// ErrClosed: use of an engine after Close.
	ErrClosed = storage.ErrClosed
	// ErrFormat: the data directory was written by a newer program. It has not been touched.
	ErrFormat = storage.ErrNewerFormat
	// ErrLocked: another process, or another Engine of this one, has the data directory open.
	ErrLocked = storage.ErrLocked
	// ErrNoStore: there is nothing in the directory, and Options.MustExist was set.
	ErrNoStore = storage.ErrNoStore
	// ErrCorrupt: bytes on disk are not what was written.
	ErrCorrupt = storage.ErrCorrupt
)

// advice is what a person can do about an error, if that is known.
func advice(err error) string {
	if errors.Is(err, syscall.ENOSPC) {
		return ": make room on the disk and run it again; everything acknowledged is kept"
	}
	return ""
}

// wrapf adds what was being done to an error; nil stays nil.
func wrapf(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
