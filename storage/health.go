// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// health records the state of the store. It is Pebble's logger and event listener, through which Pebble
// reports errors that it can't return to a caller.
//
// Once set, fatal and damaged stay set. A failed fsync must not be tried again: the kernel may have
// dropped the pages and report success. And a damaged file stays damaged.
type health struct {
	dir     string
	logf    func(format string, args ...any)
	now     func() time.Time
	onFatal func(error)

	fatal   atomic.Pointer[error] // the first failure that stopped writes
	damaged atomic.Pointer[error] // the first damage detected

	backgroundErrors atomic.Uint64
	logged           atomic.Int64 // time of the last line about background errors, ns
	slowWrites       atomic.Uint64
	stalls           atomic.Uint64
	background       background
}

// writable returns nil if a write may be acknowledged, else the reason why not.
func (h *health) writable() error {
	if err := h.fatal.Load(); err != nil {
		return *err
	}
	if err := h.damaged.Load(); err != nil {
		return *err
	}
	return nil
}

// Infof drops Pebble's routine messages; Metrics has the numbers.
func (h *health) Infof(string, ...any) {}

// Errorf logs failures that Pebble survives.
func (h *health) Errorf(format string, args ...any) { h.logf("store "+h.dir+": "+format, args...) }

// Fatalf is called by Pebble when a sync of the log or of the MANIFEST failed. Pebble expects it not to
// return. If OnFatal does return, Apply or Commit refuses the current write and every later one.
func (h *health) Fatalf(format string, args ...any) {
	err := fmt.Errorf("%w: %s: %s: nothing written after this is safe; "+
		"find the cause (full or failing disk), then start again to recover",
		ErrFatal, h.dir, fmt.Sprintf(format, args...))
	h.fatal.CompareAndSwap(nil, &err)
	h.onFatal(err)
}

// listener returns the handlers of Pebble's events. None of them may block or call the store.
func (h *health) listener() *pebble.EventListener {
	l := &pebble.EventListener{
		BackgroundError: h.backgroundError,
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			// Whoever reads the block gets an error as well, so nothing is logged.
			err := corrupt("%s: %s", info.Path, plainText(info.Details))
			h.damaged.CompareAndSwap(nil, &err)
		},
		WriteStallBegin:   func(pebble.WriteStallBeginInfo) { h.stalls.Add(1) },
		PossibleAPIMisuse: func(info pebble.PossibleAPIMisuseInfo) { h.logf("BUG: store %s: %v", h.dir, info) },
	}
	h.background.listen(l)
	return l
}

// backgroundError is called for every failed flush or compaction. Pebble retries it at once.
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
