// SPDX-License-Identifier: Apache-2.0

package engine

import "time"

// Bounds of a crawl. Each says what happens past it.
const (
	// segmentPagesMax, segmentBytesMax, segmentAgeMax and a segmentMemoryShare'th part of Options.Memory in
	// parse records seal an open segment in continuous mode. Its links become fetchable only once it is
	// updated: smaller is fresher, larger joins more cheaply, by a sixth of a crawl's work from 10,000
	// pages to 40,000. Four segments may be in memory: one open, one in updatedb and two that wait.
	segmentPagesMax    = 40_000
	segmentBytesMax    = 512 << 20
	segmentAgeMax      = 15 * time.Second
	segmentMemoryShare = 12
	// thinPages is the least that a segment holds which is sealed because hosts run out of URLs.
	thinPages = 100
	// thinTime is how long fetchers are idle before that: a moment's lull is none.
	thinTime = 250 * time.Millisecond
	// sealQuiet is how long a dry frontier waits for visits still in flight before the segment is
	// sealed without them: their pages go to the next one.
	sealQuiet = 100 * time.Millisecond
	// backlogMax is the number of sealed segments that may wait for updatedb, and separately of
	// updated ones that may wait for the index, before fetchers pause.
	backlogMax = 2
	// indexBatchMax is the number of crawl segments that become one index segment.
	indexBatchMax = 16
	// readAhead is the number of exchanges read back from a WARC that wait for each parser.
	readAhead = 32
	// indexTextsMax is the number of segments that are read side by side for the index.
	indexTextsMax = 256
	// syncInterval bounds the work an operating-system crash may undo: pages are counted as
	// fetched only once their WARC is synced, at most this long after they were appended.
	syncInterval = 100 * time.Millisecond

	// retryMax is Nutch's db.fetch.retry.max: temporary failures before a URL is gone.
	retryMax = 3
	// retryDelayMS is the wait after a temporary failure.
	retryDelayMS = 86_400_000
	// generateDelay is Nutch's crawl.gen.delay: how long the URLs of a fetchlist that was never
	// fetched stay out of the next ones.
	generateDelay = 7 * 24 * time.Hour

	// inlinksMax is the number of inlinks of one target that are read, for anchors and for people.
	inlinksMax = 10_000
	// anchorsMax is the number of distinct anchor texts of a document that are indexed.
	anchorsMax = 32
	// hostCacheMax is the number of hosts whose robots rules and facts are kept in memory.
	hostCacheMax = 50_000
	// robotsMaxAge is the longest that robots rules are used without being fetched again (RFC 9309
	// section 2.4), robotsStaleMax the longest that they may stand in for an unreachable file.
	robotsMaxAge   = 24 * time.Hour
	robotsStaleMax = 30 * 24 * time.Hour
	// robotsRetryMin is the first wait after robots.txt was unreachable; it doubles up to a day.
	robotsRetryMin = 5 * time.Minute
	// robotsRedirectsMax is the number of redirects followed for robots.txt (RFC 9309 section 2.3.1.2).
	robotsRedirectsMax = 5
	// errandPatience is how long a redirected robots.txt may take, the wait for its host's turn included;
	// errandPoll is how often a host that waits for one looks.
	errandPatience = 2 * time.Minute
	errandPoll     = 100 * time.Millisecond
	// robotsBodyMax is the part of robots.txt that is read and kept.
	robotsBodyMax = 512 << 10

	// seedLineMax bounds one line of a seed file, in bytes; a longer one is reported as malformed.
	seedLineMax = 64 << 10
	// defaultRedirects is the length of a chain of redirects that is followed to its end; redirectsMax
	// what a record can count.
	defaultRedirects = 10
	redirectsMax     = 60
	// redirectDepthCost is what a redirect adds to the depth of its target: nothing, since the
	// visitor did not choose a link.
	redirectDepthCost = 0
	// checkFileMax is the longest file that check parse reads.
	checkFileMax = 64 << 20
	// malformedExamples is the number of malformed seeds a report quotes.
	malformedExamples = 5

	// defaultConcurrency is the number of fetchers; beyond what the hosts allow they only wait.
	defaultConcurrency = 64
	// defaultMemory is the budget for sorters, caches and bodies, in bytes.
	defaultMemory = 1 << 30
	// defaultDelay is the least time between the end of one request to a host and the next start.
	defaultDelay = time.Second

	// filtersInterval is how often files of filters are looked at.
	filtersInterval = 250 * time.Millisecond
	// visitTime ends a visit of several URLs to one host, so that none keeps a fetcher long.
	visitTime = 2 * time.Second
	// domainBase is the number of pages that a registered domain may have for nothing, and again for each
	// other domain that links to it; see budget.go. domainHostsMax is the number of its hosts that are
	// added up; budgetHolds how long the sum is believed; domainsRemembered bounds memories of domains.
	domainBase        = 10_000
	domainHostsMax    = 10_000
	budgetHolds       = 10 * time.Minute
	domainsRemembered = 1 << 16
	// sitemapsOfHost is the number of Sitemap lines of one robots.txt that are taken, sitemapsMax that of all.
	sitemapsOfHost = 100
	sitemapsMax    = 1 << 20
	// trapPages is the number of pages below a prefix after which trapWatch judges it, trapFolders how many
	// folders deep it looks, trapPrefixesMax the number of prefixes that are counted.
	trapPages       = 200
	trapFolders     = 2
	trapPrefixesMax = 1 << 16
	// defaultTrapDuplicates is the share of copies, in hundredths, that closes a prefix.
	defaultTrapDuplicates = 80
	// priorityBits: a host whose best URL has a score of 2^priorityBits has the highest priority.
	priorityBits = 12

	// frontierRefillers is the number of refills at once; most of the time they wait for DNS.
	frontierRefillers = 64
	// The frontier holds a URL for each frontierURLShare bytes of Options.Memory, of some 100 bytes each,
	// and a host for each frontierHostShare, of up to 1 KB. More wait in crawldb and hostdb.
	frontierURLShare  = 1 << 10
	frontierHostShare = 8 << 10
	frontierHostsMin  = 1 << 14
	frontierHostsMax  = 1 << 24
	// defaultPatience is how long a crawl with nothing else to do waits for hosts that sleep.
	defaultPatience = 10 * time.Second
	// throttledPatience is how many times longer a crawl waits for hosts that asked to be left alone.
	throttledPatience = 7

	// hostSleepMax is longer than any host is ever left alone.
	hostSleepMax = 8 * 24 * time.Hour

	// diskLow pauses the crawl, diskResume lets it go on: free bytes on the store's file system.
	// Pebble must never see a full disk (its flush would spin, its WAL would end the process).
	diskLow      = 256 << 20
	diskResume   = 384 << 20
	diskInterval = time.Second
)
