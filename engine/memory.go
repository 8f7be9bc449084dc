// SPDX-License-Identifier: Apache-2.0

package engine

// Shares of Options.Memory. This page hands out all of it; TestMemoryShares adds it up.
//
//	cache       1/5     blocks of the store
//	bodies      1/5     responses, from the first byte to the parse record
//	segments    1/3     parse records of openSegments segments: one open, one in updatedb, two that wait
//	update      1/8     phaseSorters sorters and a key table of one phase of crawldb
//	index       1/8     as much for invertlinks or dedup; or a sorter and an index builder
//
// Not counted: the frontier, whose bounds follow from the same number (see frontierHosts), stacks, and what the
// libraries take for themselves.
type shares struct {
	cache    int64 // of the store; memTable of it for small writes
	memTable int64
	bodies   int64
	segment  int64 // of one segment's parse records: beyond it the segment is sealed
	sorter   int64 // of one sorter: beyond it a sorter writes to disk
	keyTable int64 // of one table of distinct keys
	builder  int64 // of one index builder
}

const (
	// openSegments is the number of segments that may be in memory at once.
	openSegments = 2 + backlogMax
	// phaseSorters is the number of sorters that one phase fills at once, beside a key table of the same size.
	phaseSorters = 4
	memTable     = 8 << 20
)

// shares hands out the memory.
func (o *Options) shares() shares {
	m := o.Memory
	sorter := m / 8 / (phaseSorters + 1)
	return shares{cache: m / 5, memTable: memTable, bodies: m / 5, segment: m / 3 / openSegments,
		sorter: sorter, keyTable: sorter, builder: m/8 - sorter}
}

// sum is what all shares add up to when everything is in use at once.
func (s shares) sum() int64 {
	phase := phaseSorters*s.sorter + s.keyTable
	return s.cache + s.bodies + openSegments*s.segment + phase + max(phase, s.sorter+s.builder)
}

// frontierHosts and frontierURLs are how many hosts and URLs the frontier holds; more wait in hostdb and crawldb.
// A host takes up to 1 KB, a URL about 100 bytes.
func (o *Options) frontierHosts() int {
	return int(min(max(o.Memory/frontierHostShare, frontierHostsMin), frontierHostsMax))
}

func (o *Options) frontierURLs() int { return int(o.Memory / frontierURLShare) }
