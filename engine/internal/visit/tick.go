// SPDX-License-Identifier: Apache-2.0

package visit

import "time"

// Tick checks the disk every second and refreshes the live filters four times a second; call it more often. The error
// says that the disk has been short of space for patience, and wraps ErrDiskLow. One goroutine at a time may call it.
func (p *Pool) Tick(now time.Time, patience time.Duration) (filtersChanged bool, err error) {
	pause, resume, err := p.disk.look(&p.env, now, patience)
	switch {
	case err != nil:
		return false, err
	case pause:
		p.Hold(HeldByDisk)
	case resume:
		p.Let(HeldByDisk)
	}
	return p.followFilters(now), nil
}

// CutRefused cuts off requests for URLs that are refused by now. Any goroutine may call it.
func (p *Pool) CutRefused() {
	p.crew.each(func(t *flight) {
		t.mu.Lock()
		defer t.mu.Unlock()
		if !t.url.IsZero() && !p.env.Admission.Recheck(t.url).OK() {
			t.cancel()
		}
	})
}

// followFilters refreshes the live filters every filtersInterval. URLs that they refuse by then are no longer
// requested, and requests for them that are under way are cut off.
func (p *Pool) followFilters(now time.Time) (changed bool) {
	if now.Sub(p.followed) < filtersInterval {
		return false
	}
	p.followed = now
	if changed = p.env.Admission.Refresh(); changed {
		p.CutRefused()
	}
	return changed
}
