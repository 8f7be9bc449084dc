// SPDX-License-Identifier: Apache-2.0

package engine

import "time"

// Bounds of a crawl, each with its unit and what happens beyond it. The rooms have bounds of their own.
const (
	// nearGroupsKnown is the number of fingerprints whose groups are remembered; beyond it all are forgotten.
	nearGroupsKnown = 1 << 16
	// partsMax is the number of parts into which SplitDB cuts a crawl at most; more are refused.
	partsMax = 1 << 16
	// searchTime is the deadline of a search that states none. describeStep is the number of hits whose pages are read
	// and whose snippets are made between two looks at the clock: ten take some 0.3 ms.
	searchTime   = time.Second
	describeStep = 10
	// titleLooksMax is the number of hosts of which it is remembered when a rule for titles was looked for; beyond it
	// all are forgotten.
	titleLooksMax = 1 << 16

	// segmentPagesMax, segmentBytesMax, segmentAgeMax and a share of memory (see memory.go) seal an open segment.
	// Its links can be fetched only once it is updated. Small segments bring fresh links; large ones join more
	// cheaply: with 10,000 hosts, 40,000 pages in place of 10,000 saved 30 µs a page in joins, refills and
	// compactions, a sixth of a crawl's work (on an earlier host).
	segmentPagesMax = 40_000
	segmentBytesMax = 512 << 20
	segmentAgeMax   = 15 * time.Second
	// storedTimes is how many bytes the store takes for one of the parse records that are held, until their pages are
	// searchable: texts, links, records, documents, and tables that compactions have not removed yet. For 40,500 pages
	// of the bench's web, of which 213 MB were held, it took 393 MB at its peak.
	storedTimes = 3
	// pendingShown is the size from which a cause says how much of the free space is still needed.
	pendingShown = 1 << 20
	// warcFileAge is the age at which a WARC file gets no more segments or pages: one that was an hour in the making is
	// complete, and can be copied away or purged. Files end before that at warc.DefaultMaxFileBytes.
	warcFileAge = time.Hour
	// thinVisits is what sealing a segment costs beside its pages, in visits: some 60 to 100 ms of processor time in
	// seal, updatedb, invertlinks and compactions. As many visits must be lost before a segment is sealed because hosts
	// run out of URLs.
	thinVisits = 200
	// drainShare: while hosts that have URLs wait for their delays, a segment is sealed for others that have run out
	// when one visit was lost for so many of its pages. Each page of a polite crawl is one of few of its host in a
	// segment, and its links are searched for one by one.
	drainShare = 20
	// thinTime is how long most fetchers must be idle before that.
	thinTime = 250 * time.Millisecond
	// thinAge is the age from which a segment is sealed although fewer visits are lost, if half of the hosts have run
	// out of URLs, or all that have some must wait for longer and it has fewer than thinVisits pages.
	thinAge = 8 * time.Second
	// sealQuiet is how long a dry frontier waits for visits in flight before the segment is sealed without them. Their
	// pages go into the next one.
	sealQuiet = 100 * time.Millisecond
	// backlogMax is the number of segments that may wait to be sealed, with their parse records in memory, before
	// fetchers pause. They pause too while more than twice as many are in updatedb or wait for it or for the index,
	// unless they have nothing to fetch before those are updated, and for a part of each brakeTurn when there are more
	// than backlogMax full segments besides the one that is open (brake). indexQueueMax bounds those that wait for the
	// index then: they take no memory, but deletions and the end of a crawl wait until all are linked.
	backlogMax    = 2
	indexQueueMax = 64
	// brakeSlow is the part of the time for which the brake must hold fetchers to be named as the cause. brakeTurn is
	// short beside the time that a segment takes, and long beside a visit and the conductor's looks.
	brakeSlow = 0.25
	brakeTurn = 400 * time.Millisecond
	// lateFrom is the time after which a segment of gatherPages pages makes the brake hold fetchers if it is not
	// searchable, counted from when it was full; at lateMost times that, they wait for latePart of the time. Beside a
	// million documents, on two processors, the slowest pages of a crawl at full speed were searchable 4.6 s after the
	// seal; on a machine in use they were 5.3 to 8.7 when fetchers were held from 4.5 s on.
	lateFrom = 1500 * time.Millisecond
	lateMost = 2.5
	latePart = 0.9
	// servedSegments is the number of index segments that IndexOptions.MergeOnly leaves unless told otherwise. One is
	// hardly faster, and would be written again after every small crawl.
	servedSegments = 2
	// enqueuedMax is the number of URLs that may wait to be injected into a running crawl; more are ErrQueueFull.
	enqueuedMax = 1_000_000
	// indexBatchMax is the number of crawl segments that become one index segment. They gather for gatherShare times as
	// long as the last ones took, at most gatherMax, or until they have gatherPages pages. That makes a page searchable
	// 5 s after its segment was sealed and, with segmentAgeMax, 30 s after its fetch.
	indexBatchMax = 16
	gatherShare   = 20
	gatherMax     = 3 * time.Second
	gatherPages   = 2000
	// gatherMemory is how many bytes of seed lines from a pipe or a request are held in memory; more go to disk.
	gatherMemory = 1 << 20
	// slowRead is how many bytes are read at once of what may wait for another program.
	slowRead = 64 << 10
	// clockFirst and clockLast are the years that times are kept for: a time in milliseconds or nanoseconds is 0 where
	// there is none, and nanoseconds end in 2262.
	clockFirst = 1971
	clockLast  = 2261
	// contactLooks is the number of hosts that are looked up, one after another, to see whether any is on loopback:
	// without a contact nothing else is fetched from.
	contactLooks = 100
	// sendLongest bounds one Write and one Commit of an index writer at the end of a crawl, and the wait for another
	// call that sends. The writers of engine/writers give up by themselves after two minutes without progress.
	sendLongest = 10 * time.Minute
	// The end of a crawl waits for a merge of index segments for one part in lastMergeShare of the time that the crawl
	// took, lastMergeLeast at least.
	lastMergeShare = 100
	lastMergeLeast = time.Second
	// indexBuilders is the most goroutines that make documents and cut them into words; no more than processors do.
	// Each has a part of the builder's memory, and makes index segments of its own.
	indexBuilders = 4
	// indexTextsMax is the number of segments that are walked side by side for the index, if half of the tables that
	// may be open are as many. In others, each page is searched for.
	indexTextsMax = 256
	// crawlDelayMax is the longest Crawl-delay that a robots.txt can demand: package robots cuts it there.
	crawlDelayMax = 30 * 24 * time.Hour
	// crawlDelayUsual is where the frontier caps a Crawl-delay unless Options.MaxCrawlDelay says otherwise.
	crawlDelayUsual = 5 * time.Minute
	// hopPathMax is the number of links of a hop path that are written out, as in Heritrix.
	hopPathMax = 50

	// inlinksMax bounds Options.MaxInlinks: the inlinks of one target of which linkdb keeps the texts of a segment, and
	// the texts that are read for its anchors.
	inlinksMax = 10_000
	// anchorsMax is the number of distinct anchor texts of a document that are indexed, the most frequent ones.
	anchorsMax = 32

	// defaultRedirects is the longest chain of redirects that is followed; redirectsMax is what a record can count.
	defaultRedirects = 10
	redirectsMax     = 60
	// depthMax is the greatest MaxDepth; a record counts to 65,535.
	depthMax = 65_000
	// heldHostsShown is the number of hosts in Progress.Held. Up to heldHostsAlways hosts in the frontier they are
	// looked for at each Progress, otherwise only when no host is ready: it costs 0.5 µs a host.
	heldHostsShown  = 3
	heldHostsAlways = 1000
	// giantURLs is the least number of URLs by which one host is named that has most of what is left.
	giantURLs = 100
	// censusEvery is the least time between two counts of what is stored; between two that take long lies censusShare
	// times what one takes. Status waits at most censusWait for one.
	censusEvery = time.Second
	censusShare = 400
	censusWait  = 2 * time.Millisecond
	// topHostsShown is the number of hosts in Status.TopHosts.
	topHostsShown = 20
	// dueHostsRead is the number of hosts that are read to say when something is due again.
	dueHostsRead = 100_000
	// spentHostsRead is the number of hosts with used-up budgets of which all records are read, to see whether
	// something of them is due; spentShown is the number of budgets that are counted.
	spentHostsRead = 100
	spentShown     = 100
	// deepRecordsRead is the number of records that are read to see whether one is due and too deep.
	deepRecordsRead = 100_000
	// inheritBytes is how much Repair copies from the damaged store at once.
	inheritBytes = 1 << 20
	// problemsShown is the number of problems of each kind that the text of a VerifyReport shows.
	problemsShown = 20
	// checkFileMax is the longest file that CheckFile reads, in bytes. A longer one is an error.
	checkFileMax = 64 << 20

	// defaultConcurrency is the number of fetchers. More than the hosts' delays allow only wait.
	defaultConcurrency = 64
	concurrencyMax     = 100_000
	processorsMax      = 10_000
	// perHostMax bounds Options.PerHost.
	perHostMax = 64
	// defaultMemory is the budget for sorters, caches and bodies, in bytes; memoryMin is the least that works.
	defaultMemory = 1 << 30
	memoryMin     = 64 << 20
	// defaultDelay is the least time between the end of one request to a host and the next start.
	defaultDelay = time.Second
	// defaultTrapDuplicates is the percentage of copies that closes a part of a site.
	defaultTrapDuplicates = 80

	// frontierRefillers is the number of refills at once. Most of the time they wait for DNS. As many read the store as
	// there are processors, refillsLeast at least: with more, their threads stand in line for the block cache's locks,
	// and searches with them. The 99th percentile of searches of 10^6 documents beside a crawl at full speed, on two
	// processors, was 190 ms with 64 and 70 with two.
	frontierRefillers, refillsLeast = 64, 2
	// frontierHostsMax is the number of hosts that the frontier holds at most, whatever the memory.
	frontierHostsMax = 1 << 24
	// One fetcher for each extraFetcherShare bytes of Options.Memory, at most extraFetchersMax, may stand in for visits
	// that last long, beyond Options.Concurrency; each takes about 100 KB. When all of them do, the visits that have
	// lasted longest are cut off while others wait.
	extraFetcherShare = 1 << 20
	extraFetchersMax  = 1 << 12
	// defaultPatience is how long a crawl with nothing else to do waits for hosts that sleep.
	defaultPatience = 10 * time.Second
	// throttledPatience is how many times as long a crawl waits for hosts that requested a pause (429, 503).
	throttledPatience = 7

	// defaultSettleEvery is the time between two settlings beside a crawl. What one does at the end of a crawl of 10^6
	// pages, all of which have new inlinks, took 43 µs of processor time for each.
	defaultSettleEvery = 24 * time.Hour
	// linkRowsSettled is how many rows of linkdb are looked at for targets with many, when a crawl ends and when the
	// index is refreshed: some tenths of a second. Each look goes on where the one before ended.
	linkRowsSettled = 1 << 18

	// Link ranks: the damping that Brin and Page published, and when passes end: all ranks together change by a
	// millionth, or at the latest. Each pass brings them nearer by the damping, most by more.
	defaultDamping       = 0.85
	defaultRankTolerance = 1e-6
	defaultRankPasses    = 100
)
