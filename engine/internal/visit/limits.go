// SPDX-License-Identifier: Apache-2.0

package visit

import "time"

// Bounds, each with what happens beyond it.
const (
	// syncInterval bounds the work that a crash of the operating system may undo. Pages count as fetched once their
	// WARC is synced, which begins at most this long after they were stored.
	syncInterval = 100 * time.Millisecond
	// visitTime is the age of a visit of several URLs at which no further URL of it is requested, so that no host keeps
	// a fetcher for long.
	visitTime = 2 * time.Second
	// slowRequest is the age at which a request, that for robots.txt included, makes its visit a slow one. slowInterval
	// is the time between two looks at all of them.
	slowRequest  = 2 * time.Second
	slowInterval = 100 * time.Millisecond

	// hostsMax is the number of authorities in memory. Beyond it the least recently used sixteenth is written to hostdb
	// and forgotten.
	hostsMax = 50_000
	// factsBytes is the same in bytes, unless Env.FactsBytes says otherwise.
	factsBytes = 64 << 20
	// hostSleepMax is longer than the frontier ever leaves a host alone. A stored time further ahead was written by a
	// wrong clock and is ignored.
	hostSleepMax = 8 * 24 * time.Hour

	// robotsMaxAge is the age at which robots.txt is requested again (RFC 9309 section 2.4), robotsStaleMax the age up
	// to which a copy is used while the file is unreachable.
	robotsMaxAge   = 24 * time.Hour
	robotsStaleMax = 30 * 24 * time.Hour
	// robotsRetryMin is the first wait after robots.txt was unreachable. It doubles up to robotsMaxAge.
	robotsRetryMin = 5 * time.Minute
	// robotsRedirectsMax is the number of redirects of a robots.txt that are followed (RFC 9309 section 2.3.1.2). With
	// more, everything is allowed.
	robotsRedirectsMax = 5
	// deferredPatience is the time for a redirected robots.txt, the wait for its host's turn included but not the delay
	// of that host; after that it counts as unreachable. deferredPoll is the pause between two visits of the host that
	// waits for it.
	deferredPatience = 2 * time.Minute
	deferredPoll     = 100 * time.Millisecond
	// cutOffRest is how long a host waits whose robots.txt was cut off for others' memory more than once in a row.
	cutOffRest = 30 * time.Second
	// filesWait is how long a host waits when no more files could be opened to request something from it.
	filesWait = time.Second
	// aloneDelayMax caps the Crawl-delay that MayFetch returns.
	aloneDelayMax = 30 * time.Second
	// robotsBodyMax is the number of bytes of a robots.txt that are read and used; the rest is ignored.
	robotsBodyMax = 512 << 10

	// sitemapsOfHost is the number of Sitemap lines of one robots.txt that are used; others are ignored. sitemapsNext
	// is the number of sitemaps that wait for updatedb; others are collected when their robots.txt is next looked at.
	// sitemapsSeen is the number of which it is remembered that updatedb had them: when it gets one again, it finds it
	// in crawldb.
	sitemapsOfHost = 100
	sitemapsNext   = 1 << 16
	sitemapsSeen   = 1 << 18

	// troublesMax is the number of hosts in trouble that are remembered with the reason. Others only count as failing.
	troublesMax = 10_000

	// deadAddrHold is the time for which a host's visits leave an address aside that took no connection, if it has
	// others, deadAddrsMax the number of such addresses that are remembered.
	deadAddrHold = time.Hour
	deadAddrsMax = 10_000

	// looseMax is the number of hosts whose bytes without an outcome are remembered until they have one.
	looseMax = 100_000

	// Outcomes of the last minute are counted by host, in rateSteps steps of rateStep, in each of at most rateHostsMax
	// hosts: beyond that a step counts no further ones. With names of 40 bytes, all steps take 10 MB at most.
	rateStep     = 10 * time.Second
	rateSteps    = 6
	rateHostsMax = 10_000

	// deletionsMax is the number of deletions that a run remembers. Beyond it, each URL is looked up in crawldb before
	// it is requested.
	deletionsMax = 1000

	// priorityBits: a host whose best URL has a score of 2^priorityBits has the highest priority.
	priorityBits = 12

	// filtersInterval is the time between two refreshes of live filters.
	filtersInterval = 250 * time.Millisecond

	// Below diskLow free bytes fetching pauses, from diskResume on it goes on. Pebble must never see a full disk: its
	// flushes would spin, and its log would end the process.
	diskLow      = 256 << 20
	diskResume   = 384 << 20
	diskInterval = time.Second
)
