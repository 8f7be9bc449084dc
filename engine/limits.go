// SPDX-License-Identifier: Apache-2.0

package engine

import "time"

// Bounds of a crawl. Each says what happens past it. Those of single rooms are with them.
const (
	// segmentPagesMax, segmentBytesMax, segmentAgeMax and a share of memory (see memory.go) seal an open segment.
	// Its links become fetchable only once it is updated: smaller is fresher, larger joins more cheaply, by a
	// sixth of a crawl's work from 10,000 pages to 40,000.
	segmentPagesMax = 40_000
	segmentBytesMax = 512 << 20
	segmentAgeMax   = 15 * time.Second
	// thinPages is the least that a segment holds which is sealed because hosts run out of URLs.
	thinPages = 100
	// thinTime is how long fetchers are idle before that: a moment's lull is none.
	thinTime = 250 * time.Millisecond
	// sealQuiet is how long a dry frontier waits for visits still in flight before the segment is sealed without
	// them: their pages go to the next one.
	sealQuiet = 100 * time.Millisecond
	// backlogMax is the number of sealed segments that may wait for updatedb, and separately of updated ones that
	// may wait for the index, before fetchers pause.
	backlogMax = 2
	// indexBatchMax is the number of crawl segments that become one index segment.
	indexBatchMax = 16
	// indexTextsMax is the number of segments that are read side by side for the index.
	indexTextsMax = 256
	// inlinksRead is the number of inlinks of one target that are read for its anchors.
	inlinksRead = 10_000
	// anchorsMax is the number of distinct anchor texts of a document that are indexed.
	anchorsMax = 32

	// defaultRedirects is the length of a chain of redirects that is followed to its end; redirectsMax what a
	// record can count.
	defaultRedirects = 10
	redirectsMax     = 60
	// depthMax is the greatest MaxDepth; a record counts to 65,535.
	depthMax = 65_000
	// checkFileMax is the longest file that check parse reads, in bytes.
	checkFileMax = 64 << 20

	// defaultConcurrency is the number of fetchers; beyond what the hosts allow they only wait.
	defaultConcurrency = 64
	concurrencyMax     = 100_000
	// defaultMemory is the budget for sorters, caches and bodies, in bytes; memoryMin the least that works.
	defaultMemory = 1 << 30
	memoryMin     = 64 << 20
	// defaultDelay is the least time between the end of one request to a host and the next start.
	defaultDelay = time.Second
	// defaultTrapDuplicates is the share of copies, in percent, that closes a prefix.
	defaultTrapDuplicates = 80

	// frontierRefillers is the number of refills at once; most of the time they wait for DNS.
	frontierRefillers = 64
	// The frontier holds a URL for each frontierURLShare bytes of Options.Memory, of about 100 bytes each, and a
	// host for each frontierHostShare, of up to 1 KB. More wait in crawldb and hostdb.
	frontierURLShare  = 1 << 10
	frontierHostShare = 8 << 10
	frontierHostsMin  = 1 << 14
	frontierHostsMax  = 1 << 24
	// defaultPatience is how long a crawl with nothing else to do waits for hosts that sleep.
	defaultPatience = 10 * time.Second
	// throttledPatience is how many times longer a crawl waits for hosts that asked to be left alone.
	throttledPatience = 7
)
