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

// tick looks at the disk about once a second. It returns an error when space has been short for
// longer than patience.
func (d *diskWatch) tick(p *Pool, now time.Time, patience time.Duration) error {
	if now.Sub(d.checked) < diskInterval {
		return nil
	}
	d.checked = now
	free, total, err := p.env.DiskFree()
	if err != nil || total == 0 {
		return nil // not a file system that can tell
	}
	low, resume := min(diskLow, total/4), min(diskResume, total/4+total/16)
	switch {
	case free < low && d.lowSince.IsZero():
		d.lowSince = now
		p.gate.close(HeldByDisk)
		p.env.Warn(fmt.Errorf("%w: %d MiB free for %s: fetching pauses", ErrDiskLow, free>>20, p.env.Dir))
	case free >= resume && !d.lowSince.IsZero():
		d.lowSince = time.Time{}
		p.gate.open(HeldByDisk)
	case !d.lowSince.IsZero() && now.Sub(d.lowSince) >= patience:
		return fmt.Errorf("%w: %d MiB free for %s, at least %d are needed: make room and run it again; everything fetched is kept",
			ErrDiskLow, free>>20, p.env.Dir, resume>>20)
	}
	return nil
}
