// SPDX-License-Identifier: Apache-2.0

package visit

import "time"

// Bounds of visits. Each says what happens past it.
const (
	// syncInterval bounds the work that a crash of the operating system may undo: pages count as fetched
	// once their WARC is synced, at most this long after they were appended.
	syncInterval = 100 * time.Millisecond
	// visitTime ends a visit of several URLs to one host, so that none keeps a fetcher long.
	visitTime = 2 * time.Second

	// hostsMax is the number of authorities whose robots rules and facts are in memory. Past it those that
	// were not used for longest leave.
	hostsMax = 50_000
	// hostSleepMax is longer than any host is ever left alone: a stored time further ahead comes from a
	// clock that was wrong, and is ignored.
	hostSleepMax = 8 * 24 * time.Hour

	// robotsMaxAge is the longest that robots rules are used without being fetched again (RFC 9309
	// section 2.4), robotsStaleMax the longest that they may stand in for an unreachable file.
	robotsMaxAge   = 24 * time.Hour
	robotsStaleMax = 30 * 24 * time.Hour
	// robotsRetryMin is the first wait after robots.txt was unreachable; it doubles up to a day.
	robotsRetryMin = 5 * time.Minute
	// robotsRedirectsMax is the number of redirects followed for robots.txt (RFC 9309 section 2.3.1.2).
	robotsRedirectsMax = 5
	// deferredPatience is how long a redirected robots.txt may take, the wait for its host's turn included;
	// deferredPoll is how often a host that waits for one looks.
	deferredPatience = 2 * time.Minute
	deferredPoll     = 100 * time.Millisecond
	// aloneDelayMax is the longest Crawl-delay that MayFetch has its caller wait.
	aloneDelayMax = 30 * time.Second
	// robotsBodyMax is the part of robots.txt that is read and kept, in bytes.
	robotsBodyMax = 512 << 10

	// sitemapsOfHost is the number of Sitemap lines of one robots.txt that are used, sitemapsMax that of all
	// files in the life of a process.
	sitemapsOfHost = 100
	sitemapsMax    = 1 << 20

	// priorityBits: a host whose best URL has a score of 2^priorityBits has the highest priority.
	priorityBits = 12

	// filtersInterval is how often live filters are looked at.
	filtersInterval = 250 * time.Millisecond

	// diskLow pauses fetching, diskResume lets it go on: free bytes on the store's file system. Pebble must
	// never see a full disk: its flushes would spin, and its log would end the process.
	diskLow      = 256 << 20
	diskResume   = 384 << 20
	diskInterval = time.Second
)
