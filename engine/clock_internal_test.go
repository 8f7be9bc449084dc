// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"
	"time"
	"unsafe"
)

// TestClock: the engine's clock follows the wall clock forwards and never goes back. Its monotonic reading is true.
func TestClock(t *testing.T) {
	start := time.Now()
	var passed, jumps time.Duration
	c := clock{read: func() time.Time {
		at := start.Add(passed)
		*(*uint64)(unsafe.Pointer(&at)) += uint64(jumps/time.Second) << 30 // of the wall clock alone
		return at
	}}
	c.now()
	for _, v := range []struct{ passed, jumps, wall time.Duration }{
		{time.Minute, 0, time.Minute},
		{time.Minute, time.Hour, 61 * time.Minute}, // set forward
		{2 * time.Minute, time.Hour, 62 * time.Minute},
		{2 * time.Minute, 0, 62 * time.Minute}, // set back
		{50 * time.Minute, 0, 110 * time.Minute},
		{50 * time.Minute, 2 * time.Hour, 170 * time.Minute},
		{60 * time.Minute, -2 * time.Hour, 180 * time.Minute},
	} {
		passed, jumps = v.passed, v.jumps
		got := c.now()
		if wall := got.Round(0).Sub(start.Round(0)); wall != v.wall || got.Sub(start) != v.passed {
			t.Errorf("%s after the start, when the wall clock had jumped by %s, the clock says %s, and %s by its "+
				"monotonic reading; want %s", v.passed, v.jumps, wall, got.Sub(start), v.wall)
		}
	}
}
