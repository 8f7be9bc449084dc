// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/seine-crawler/seine/index"
)

// Shares of Options.Memory, in percent. All of it is shared out here; TestMemoryShares adds it up, and seine bench
// peaks measures what a process takes in crawls that are meant to take much.
//
//	cache      10   blocks of the store, and memTables of its last small writes and ingestions
//	bodies      8   responses as received, from their first byte to the parse record; ranks, while nothing is fetched
//	slots      15   responses being decoded, parsed and packed, slotBytes each; what is more than two a processor
//	                take is for blocks of the store
//	segments   11   parse records of openSegments segments: one open, one in updatedb, two that wait
//	update      6   phaseSorters sorters and a key table, for updatedb, invertlinks or another phase
//	index       6   as many for dedup, or a sorter and an index builder
//	frontier    6   hosts and URLs
//	hosts       3   robots.txt rules and other facts of hosts, names and addresses
//	pages       3   pages that wait for OnPage, or that a callback has
//	searches    2   what searches of the index keep: rows, keys and words; more with little memory
//	answers     2   answers to searches, until the index changes
//	merge       1   renumberings of a merge of index segments, which runs beside all of these
//	batch       2   a batch for an index writer, batchCopies of it; a document that is longer than a batch takes more
//
// While nothing is crawled or fetched, bodies, slots, segments, frontier, hosts, pages and batch are free: 48 percent.
// Searches have most of them meanwhile: 25 percent are for blocks of the store then, 12 for answers, and 20 for words
// and filters that are used again and again and what facets count. A crawl drops those: with each part of it that is
// indexed all weights change. 1,200 words in turn over 10^6 documents take 350 MB with their positions; blocks are also
// in the system's page cache, and searches of a mixed log took no longer with fewer of them here.
//
// That makes 75; the rest is for fetchers (a stack, a connection and its buffers: some 100 KB each), what libraries
// use, and for the garbage collector, which would otherwise run all the time. cmd/seine tells it to keep all of Go's
// memory within Options.Memory; a process that embeds an Engine calls debug.SetMemoryLimit itself. A process takes some
// 30 MB that Go does not count, for its program text.
type shares struct {
	cache    int64 // the store's blocks
	memTable int64 // one of memTables
	bodies   int64
	slots    int   // of slotBytes
	segment  int64 // parse records of one segment; beyond it the segment is sealed
	sorter   int64 // one sorter; beyond it the sorter writes to disk
	keyTable int64 // one table of distinct keys
	builder  int64 // one index builder
	searches int64 // what searches of the index keep
	merge    int64 // one merge of index segments
	hosts    int   // in the frontier, hostBytes each
	urls     int   // in the frontier, urlBytes each
	facts    int64 // of hosts
	names    int   // of hosts with their addresses, nameBytes each
	pages    int64 // for OnPage
	answers  int64 // of searches
	ranks    int64 // of the link graph, while nothing is fetched: that of bodies
	// idleCache and idleAnswers are in place of cache and answers while nothing is crawled or fetched.
	idleCache   int64
	idleAnswers int64
	held        int64 // words that searches hold, while nothing is crawled or fetched
	batch       int64 // texts of the documents of one batch; beyond it the batch is sent
}

const (
	// openSegments is the number of segments whose parse records may be in memory at once.
	openSegments = 2 + backlogMax
	// phaseSorters is the number of sorters that one phase fills at once, beside a key table of the size of one.
	phaseSorters = 4
	// memTables are filled or being written at once; usually it is one.
	memTables   = 2
	memTableMax = 32 << 20
	// slotBytes is what a response takes at most while it is decoded and parsed: 8 MiB after content decoding, twice
	// that in UTF-8, as much again for what grows by being copied and for the window of a decoder. Most pages take
	// less than 1 MiB. A sitemap that is longer is decoded and parsed in parts.
	slotBytes = 22 << 20
	// A batch is in memory as texts, as encoded changes, and as the body of a request; the parse record of the document
	// that is being added comes to it. More than batchMax makes no engine faster.
	batchCopies = 4
	batchMax    = 4 << 20
	// A host in the frontier takes up to 1 KB, a queued URL about 100 bytes. A name takes about 300 bytes.
	hostBytes, urlBytes, nameBytes = 1 << 10, 100, 300
)

// shares shares out the memory.
func (o *Options) shares() shares {
	percent := func(n int64) int64 { return o.Memory / 100 * n }
	sorter := percent(6) / (phaseSorters + 1)
	s := shares{
		memTable: min(percent(2), memTableMax), bodies: percent(8), segment: percent(11) / openSegments,
		sorter: sorter, keyTable: sorter, builder: percent(6) - sorter, pages: percent(3),
		merge: percent(1), answers: percent(2), idleAnswers: percent(12), held: percent(20),
		facts: percent(2), names: int(percent(1) / nameBytes), batch: min(percent(2)/batchCopies, batchMax),
	}
	s.ranks = s.bodies
	s.searches = index.SearchBytes(s.builder)
	s.cache, s.idleCache = percent(10)-memTables*s.memTable, percent(25)-memTables*s.memTable
	s.slots = int(max(percent(15)/slotBytes, 1))
	if most := 2 * o.Processors; s.slots > most {
		s.slots = most
		s.cache += percent(15) - int64(most)*slotBytes
	}
	// Others wait in hostdb and crawldb.
	s.hosts = int(min(percent(3)/hostBytes, frontierHostsMax))
	s.urls = int(percent(3) / urlBytes)
	return s
}

// extraFetchers is the number of fetchers that stand in for slow visits at most, beyond Options.Concurrency. Each has a
// connection, with buffers and a stack, and up to half of all connections are for them.
func (o *Options) extraFetchers(conns int) int {
	return int(min(o.Memory/extraFetcherShare, extraFetchersMax, int64(conns/2)))
}
