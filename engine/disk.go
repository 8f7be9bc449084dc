// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// ErrDiskLow is wrapped by the error of a crawl that ended because its disk filled up. Everything
// fetched is kept; the crawl goes on when it is run again with more space.
var ErrDiskLow = errors.New("disk is nearly full")

// advice is what a person can do about an error, if that is known.
func advice(err error) string {
	if errors.Is(err, syscall.ENOSPC) {
		return ": make room on the disk and run it again; everything acknowledged is kept"
	}
	return ""
}

// diskWatch pauses the fetchers while the disk is low, and ends the run when that lasts. It acts long
// before Pebble would: on a full disk its flushes spin, and its log ends the process.
type diskWatch struct {
	checked  time.Time
	lowSince time.Time
}

// tick looks at the disk about once a second. It returns an error when space has been short for
// longer than patience.
func (d *diskWatch) tick(f *fetching, now time.Time, patience time.Duration) error {
	if now.Sub(d.checked) < diskInterval {
		return nil
	}
	d.checked = now
	free, total, err := f.e.store.DiskFree()
	if err != nil || total == 0 {
		return nil // not a file system that can tell
	}
	low, resume := min(diskLow, total/4), min(diskResume, total/4+total/16)
	switch {
	case free < low && d.lowSince.IsZero():
		d.lowSince = now
		f.gate.close(heldByDisk)
		f.e.warn(fmt.Errorf("%w: %d MiB free for %s: fetching pauses", ErrDiskLow, free>>20, f.e.o.Dir))
	case free >= resume && !d.lowSince.IsZero():
		d.lowSince = time.Time{}
		f.gate.open(heldByDisk)
	case !d.lowSince.IsZero() && now.Sub(d.lowSince) >= patience:
		return fmt.Errorf("%w: %d MiB free for %s, at least %d are needed: make room and run it again; everything fetched is kept",
			ErrDiskLow, free>>20, f.e.o.Dir, resume>>20)
	}
	return nil
}
