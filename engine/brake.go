// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"sync/atomic"
	"time"
)

// brake slows fetchers down while the lanes have much to do: for a part of each brakeTurn they begin no visits. The
// part grows with what is in the lanes and in the open segment, counted in full segments, so that small ones weigh
// little: none up to one more than backlogMax, all of the time at twice that, where a full segment could not be sealed.
// Without it a crawl of 10^6 pages stood still for ten seconds before each of its last segments, and went at full speed
// in between. While fetchers wait, merges of the index yield to the lanes: beside one of 700,000 documents the slowest
// ten seconds had 204 pages/s, and have 326. They do so too while the lanes have the last segments: a crawl of 300,000
// pages ended 13.9 s after its last page in place of 16.1, one of 10^6 43 s in place of 47.
//
// It also grows with the time for which a full segment is not searchable (lateness): fetchers and lanes share the
// processors, and while fetchers wait, lanes have more of them. The conducting goroutine has it; any goroutine may call
// slows.
type brake struct {
	handed []handed // to the lanes: those that are not searchable yet
	slow   atomic.Bool
	yield  func(on bool) // index.Index.Yield
}

// handed is a segment that was handed to the lanes.
type handed struct {
	fill  float64 // how full it was
	pages int
	at    time.Time
	held  int64 // bytes of its parse records
}

// hand notes a segment that is handed to the lanes.
func (b *brake) hand(h handed) { b.handed = append(b.handed, h) }

// lateness returns how late a segment is that is not searchable yet: 0 or less in time, 1 when fetchers are to wait for
// as long as they may. One that gathers with others for the index has gatherMax for that, one of more pages than they
// gather its multiple of the time.
func (h *handed) lateness(now time.Time) float64 {
	took, within := now.Sub(h.at), lateFrom
	if h.pages < gatherPages {
		took -= gatherMax
	} else {
		within = lateFrom * time.Duration(h.pages) / gatherPages
	}
	return (took.Seconds()/within.Seconds() - 1) / (lateMost - 1)
}

// lanes is what the brake looks at. Lanes are queues, so those segments that were handed over last are in them.
type lanes struct {
	segments int     // that wait for the first lane or are in it, or wait for the second
	unfound  int     // these and those that are being indexed
	open     float64 // how full the open segment is
}

// unfound returns the bytes of the parse records of the segments that were handed over last, so many.
func (b *brake) unfound(segments int) (bytes int64) {
	for _, h := range b.handed[max(0, len(b.handed)-segments):] {
		bytes += h.held
	}
	return bytes
}

// look returns the part of the time for which fetchers wait.
func (b *brake) look(l lanes, now time.Time) float64 {
	const from, to = backlogMax + 1, 2 * (backlogMax + 1)
	b.handed = b.handed[max(0, len(b.handed)-max(l.unfound, l.segments)):]
	waiting := l.open
	for _, h := range b.handed[max(0, len(b.handed)-l.segments):] {
		waiting += h.fill
	}
	part := min(max((waiting-from)/(to-from), 0), 1)
	if len(b.handed) > 0 {
		part = max(part, min(b.handed[0].lateness(now), 1)*latePart)
	}
	b.slow.Store(part >= brakeSlow)
	b.yield(part > 0)
	return part
}

// slows reports whether the lanes are what holds the crawl up: fetchers wait for a good part of the time.
func (b *brake) slows() bool { return b.slow.Load() }

// release ends it, when fetching is over. Merges yield to the lanes until these are done.
func (b *brake) release() {
	b.slow.Store(false)
	b.yield(true)
}

// done has merges yield no more: the lanes are done.
func (b *brake) done() { b.yield(false) }
