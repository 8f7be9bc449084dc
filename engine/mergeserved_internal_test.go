// SPDX-License-Identifier: Apache-2.0

package engine

import "testing"

// TestRoomTwice: an index is merged beside what is served only where the disk has room for what is written, and as much
// as a crawl needs to go on.
func TestRoomTwice(t *testing.T) {
	const gb = 1 << 30
	for _, c := range []struct {
		free, total, tables uint64
		want                bool
	}{
		{0, 0, 100 * gb, true}, {500 * gb, 1000 * gb, 100 * gb, true}, {100 * gb, 1000 * gb, 100 * gb, false},
		{gb / 8, 1000 * gb, 0, false},
	} {
		if got := roomTwice(c.free, c.total, c.tables); got != c.want {
			t.Errorf("%d of %d bytes free, tables of %d: %t", c.free, c.total, c.tables, got)
		}
	}
}
