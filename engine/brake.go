// SPDX-License-Identifier: Apache-2.0

package engine

import "sync/atomic"

// brake slows fetchers down while the lanes have much to do: for a part of each brakeTurn they begin no visits. The
// part grows with what is in the lanes and in the open segment, counted in full segments, so that small ones weigh
// little: none up to one more than backlogMax, all of the time at twice that, where a full segment could not be sealed.
// Without it a crawl of 10^6 pages stood still for ten seconds before each of its last segments, and went at full speed
// in between. While fetchers wait, merges of the index yield to the lanes: beside one of 700,000 documents the slowest
// ten seconds had 204 pages/s, and have 326. The conducting goroutine has it; slows may be called by any goroutine.
type brake struct {
	handed []float64 // how full the segments were that were handed to the lanes, those that are in them at least
	slow   atomic.Bool
	yield  func(on bool) // index.Index.Yield
}

// hand notes a segment that was handed to the lanes, by how full it is.
func (b *brake) hand(fill float64) { b.handed = append(b.handed, fill) }

// look returns the part of the time for which fetchers wait, with a number of segments in the lanes and an open one.
// Lanes are queues, so those that were handed over last are in them.
func (b *brake) look(inLanes int, open float64) float64 {
	const from, to = backlogMax + 1, 2 * (backlogMax + 1)
	b.handed = b.handed[max(0, len(b.handed)-inLanes):]
	waiting := open
	for _, fill := range b.handed {
		waiting += fill
	}
	part := min(max((waiting-from)/(to-from), 0), 1)
	b.slow.Store(part >= brakeSlow)
	b.yield(part > 0)
	return part
}

// slows reports whether the lanes are what holds the crawl up: fetchers wait for a good part of the time.
func (b *brake) slows() bool { return b.slow.Load() }

// release ends it, when fetching is over.
func (b *brake) release() {
	b.slow.Store(false)
	b.yield(false)
}
