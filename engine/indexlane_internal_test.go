// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"
	"time"
)

// TestGathering: linked segments wait for others in proportion to what indexing takes, never so long that a page is not
// searchable within 30 s, and not at all when there is much to index.
func TestGathering(t *testing.T) {
	start := time.Unix(1e9, 0)
	for _, c := range []struct {
		name  string
		g     gathering
		after time.Duration // since the first came
		want  time.Duration
	}{
		{"the first of a crawl", gathering{segments: []uint32{1}, pages: 5}, 0, 0},
		{"indexing is quick", gathering{segments: []uint32{1}, took: 50 * time.Millisecond}, 0, time.Second},
		{"later", gathering{segments: []uint32{1, 2}, took: 50 * time.Millisecond}, time.Second, 0},
		{"indexing takes long", gathering{segments: []uint32{1}, took: time.Minute}, 0, gatherMax},
		{"many pages", gathering{segments: []uint32{1}, pages: gatherPages, took: time.Minute}, 0, 0},
		{"many segments", gathering{segments: make([]uint32, indexBatchMax), took: time.Minute}, 0, 0},
	} {
		c.g.since = start
		if got := c.g.left(start.Add(c.after)); got != c.want {
			t.Errorf("%s: %v more, want %v", c.name, got, c.want)
		}
	}
	for _, c := range []struct {
		g    gathering
		want bool
	}{
		{gathering{segments: []uint32{1}, pages: gatherPages - 1}, true},
		{gathering{segments: []uint32{1}, pages: gatherPages}, false},
		{gathering{segments: make([]uint32, indexBatchMax), pages: 1}, false},
	} {
		if c.g.room() != c.want {
			t.Errorf("%d segments with %d pages: room for more %t", len(c.g.segments), c.g.pages, !c.want)
		}
	}
	if none := (&gathering{took: time.Minute}).left(start); none < gatherMax {
		t.Errorf("without segments it looks again after %v", none)
	}
	const work = 2 * time.Second // links and index of what a polite crawl seals
	if sealed := gatherMax + work; sealed > 5*time.Second || segmentAgeMax+sealed > 30*time.Second {
		t.Errorf("pages are searchable %v after the seal of their segment, of up to %v", sealed, segmentAgeMax)
	}
}
