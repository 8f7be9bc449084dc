// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// health is what the store knows of its own condition. It is Pebble's logger and event listener:
// the two ways in which Pebble speaks when there is nobody to return an error to.
//
// Once fatal or damaged is set it stays set: an fsync that failed must not be tried again (the
// kernel may have dropped the pages and report success), and a damaged file does not heal.
type health struct {
	dir     string
	logf    func(format string, args ...any)
	now     func() time.Time
	onFatal func(error)

	fatal   atomic.Pointer[error] // the first thing that made the store stop
	damaged atomic.Pointer[error] // the first damage seen

	backgroundErrors atomic.Uint64
	logged           atomic.Int64 // time of the last line about background errors, ns
	slowWrites       atomic.Uint64
	stalls           atomic.Uint64
	background       background
}

// writable tells whether a write may be acknowledged.
func (h *health) writable() error {
	if err := h.fatal.Load(); err != nil {
		return *err
	}
	if err := h.damaged.Load(); err != nil {
		return *err
	}
	return nil
}

// Infof drops Pebble's running commentary: numbers of it are in Metrics.
func (h *health) Infof(string, ...any) {}

// Errorf passes on what Pebble could not do and goes on without.
func (h *health) Errorf(format string, args ...any) { h.logf("store "+h.dir+": "+format, args...) }

// Fatalf is called by Pebble when it can't keep a promise it already made: a sync of the log or of
// the MANIFEST failed. It expects not to return; if OnFatal returns all the same, the write that is
// under way is refused in Apply or Commit, and so is every later one.
func (h *health) Fatalf(format string, args ...any) {
	err := fmt.Errorf("%w: %s: %s: nothing written after this is safe; find the cause (full or failing disk), then start again to recover",
		ErrFatal, h.dir, fmt.Sprintf(format, args...))
	h.fatal.CompareAndSwap(nil, &err)
	h.onFatal(err)
}

// listener hooks into Pebble's events. None of them may block or call the store.
func (h *health) listener() *pebble.EventListener {
	l := &pebble.EventListener{
		BackgroundError: h.backgroundError,
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			err := corrupt("%s: file %s: %v: restore it from a backup", h.dir, info.Path, info.Details)
			if h.damaged.CompareAndSwap(nil, &err) {
				h.logf("%v", err)
			}
		},
		WriteStallBegin:   func(pebble.WriteStallBeginInfo) { h.stalls.Add(1) },
		PossibleAPIMisuse: func(info pebble.PossibleAPIMisuseInfo) { h.logf("BUG: store %s: %v", h.dir, info) },
	}
	h.background.listen(l)
	return l
}

// backgroundError is called for every failed flush or compaction, which Pebble repeats at once.
func (h *health) backgroundError(err error) {
	n := h.backgroundErrors.Add(1)
	if now, last := h.now().UnixNano(), h.logged.Load(); (last == 0 || now-last >= int64(errorLogInterval)) &&
		h.logged.CompareAndSwap(last, now) {
		h.logf("store %s: background work failed (%d times so far): %v", h.dir, n, err)
	}
	time.Sleep(errorPause)
}

// diskSlow is called when one operation takes longer than slowDisk.
func (h *health) diskSlow(info vfs.DiskSlowInfo) {
	h.slowWrites.Add(1)
	h.logf("store %s: slow disk: %v", h.dir, info)
}
