// SPDX-License-Identifier: Apache-2.0

package engine

import "github.com/seine-crawler/seine/engine/fetch"

// Shares of Options.Memory. All of it is shared out here; TestMemoryShares adds it up.
//
//	cache       1/5     blocks of the store
//	bodies      1/5     responses, from the first byte to the parse record
//	segments    1/3     parse records of openSegments segments: one open, one in updatedb, two that wait
//	update      1/8     phaseSorters sorters and a key table, for one phase that writes crawldb
//	index       1/8     as many for invertlinks or dedup, or a sorter and an index builder
//
// The rest is room for error. Not counted: the frontier, whose bounds follow from Memory too (see frontierHosts), the
// pages that wait for OnPage, stacks, and what libraries use.
type shares struct {
	cache    int64 // the store's blocks and, for small writes, memTable
	memTable int64
	bodies   int64
	segment  int64 // parse records of one segment; beyond it the segment is sealed
	sorter   int64 // one sorter; beyond it the sorter writes to disk
	keyTable int64 // one table of distinct keys
	builder  int64 // one index builder
}

const (
	// openSegments is the number of segments whose parse records may be in memory at once.
	openSegments = 2 + backlogMax
	// phaseSorters is the number of sorters that one phase fills at once, beside a key table of the size of one.
	phaseSorters = 4
	memTable     = 8 << 20
)

// shares shares out the memory, in bytes.
func (o *Options) shares() shares {
	m := o.Memory
	sorter := m / 8 / (phaseSorters + 1)
	return shares{
		cache: m / 5, memTable: memTable, bodies: m / 5, segment: m / 3 / openSegments,
		sorter: sorter, keyTable: sorter, builder: m/8 - sorter,
	}
}

// sum adds up all shares as they may be in use at once.
func (s shares) sum() int64 {
	phase := phaseSorters*s.sorter + s.keyTable
	return s.cache + s.bodies + openSegments*s.segment + phase + max(phase, s.sorter+s.builder)
}

// frontierHosts and frontierURLs are the numbers of hosts and URLs that the frontier holds; others wait in hostdb and
// crawldb. A host takes up to 1 KB, a URL about 100 bytes.
func (o *Options) frontierHosts() int {
	return int(min(max(o.Memory/frontierHostShare, frontierHostsMin), frontierHostsMax))
}

// extraFetchers is the number of fetchers that stand in for slow visits at most, beyond Options.Concurrency. Each has a
// connection, with buffers and a stack, and up to half of all connections are for them.
func (o *Options) extraFetchers() int {
	return int(min(o.Memory/extraFetcherShare, extraFetchersMax, int64(fetch.DefaultMaxConns()/2)))
}

func (o *Options) frontierURLs() int { return int(o.Memory / frontierURLShare) }
