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
}

// DiskLow returns the free bytes below which fetching pauses, on a file system of a total of bytes.
func DiskLow(total uint64) uint64 { return min(diskLow, total/4) }

// DiskEnough returns the free bytes from which fetching goes on, on a file system of a total of bytes.
func DiskEnough(total uint64) uint64 { return min(diskResume, total/4+total/16) }

// look checks the free space every diskInterval. pause and resume say that the answer changed. The error says that
// space has been short for patience.
func (d *diskWatch) look(env *Env, now time.Time, patience time.Duration) (pause, resume bool, err error) {
	if now.Sub(d.checked) < diskInterval {
		return false, false, nil
	}
	d.checked = now
	free, total, err := env.DiskFree()
	if err != nil || total == 0 {
		return false, false, nil // the file system does not say
	}
	low, enough := DiskLow(total), DiskEnough(total)
	switch {
	case free < low && d.lowSince.IsZero():
		d.lowSince = now
		env.Warn(fmt.Errorf("%w: %d MiB free for %s: fetching pauses", ErrDiskLow, free>>20, env.Dir))
		return true, false, nil
	case free >= enough && !d.lowSince.IsZero():
		d.lowSince = time.Time{}
		return false, true, nil
	case !d.lowSince.IsZero() && now.Sub(d.lowSince) >= patience:
		return false, false, fmt.Errorf("%w: %d MiB free for %s, at least %d are needed: free some space and run it "+
			"again; everything fetched is kept", ErrDiskLow, free>>20, env.Dir, enough>>20)
	}
	return false, false, nil
}
