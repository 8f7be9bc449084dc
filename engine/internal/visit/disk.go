// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"fmt"
	"time"
)

// diskWatch pauses the fetchers while the disk is low, and ends the run when that lasts. It acts long
// before Pebble would: on a full disk its flushes spin, and its log ends the process.
type diskWatch struct {
	checked  time.Time
	lowSince time.Time
	low      Disk // as it was when it was last low
}

// Low returns the free bytes below which fetching pauses. What is pending goes on to be stored meanwhile.
func (d Disk) Low() uint64 { return min(diskLow, d.Total/4) + d.Pending }

// Enough returns the free bytes from which fetching goes on.
func (d Disk) Enough() uint64 { return min(diskResume, d.Total/4+d.Total/16) + d.Pending }

// look checks the free space every diskInterval. pause and resume say that the answer changed. The error says that
// space has been short for patience. A file system that does not say how much is free is not low; one that does not say
// any more stays as it was.
func (d *diskWatch) look(env *Env, now time.Time, patience time.Duration) (pause, resume bool, err error) {
	if now.Sub(d.checked) < diskInterval {
		return false, false, nil
	}
	d.checked = now
	disk, err := env.DiskFree()
	known := err == nil && disk.Total > 0
	switch low := !d.lowSince.IsZero(); {
	case known && disk.Free < disk.Low() && !low:
		d.lowSince, d.low = now, disk
		env.Warn(fmt.Errorf("%w: %d MiB free for %s: fetching pauses", ErrDiskLow, disk.Free>>20, disk.Dir))
		return true, false, nil
	case known && disk.Free >= disk.Enough() && low:
		d.lowSince = time.Time{}
		return false, true, nil
	case low:
		if known {
			d.low = disk
		}
		if known && disk.Storing && disk.Pending > 0 && disk.Free >= disk.Enough()-disk.Pending {
			d.lowSince = now // there is room once it is stored
		}
		if now.Sub(d.lowSince) >= patience {
			return false, false, fmt.Errorf("%w: %d MiB free for %s, at least %d are needed: free some space and run "+
				"it again; everything fetched is kept",
				ErrDiskLow, d.low.Free>>20, d.low.Dir, d.low.Enough()>>20)
		}
	}
	return false, false, nil
}
