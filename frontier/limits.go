// SPDX-License-Identifier: Apache-2.0

package frontier

import "time"

// Bounds and defaults, each with what happens past it.
const (
	defaultDelay         = time.Second
	defaultAddressDelay  = 250 * time.Millisecond
	defaultMaxCrawlDelay = 300 * time.Second
	defaultMaxFailures   = 5
	defaultPerDomain     = 8
	defaultVisitURLs     = 16
	defaultMaxHosts      = 1_000_000
	defaultMaxQueued     = 2_000_000
	defaultRefillers     = 4
	defaultFetchers      = 64
	maxShards            = 8

	// maxFetchers caps Options.Fetchers and SetFetchers, and so the ring.
	maxFetchers = 1 << 20
	// maxDelay caps delays. That of a host is kept in 32 bits, in milliseconds; and many times a delay is a pause.
	maxDelay = 24 * 24 * time.Hour
	// maxOwnPerHost caps Refill.PerHost, which is kept in 8 bits.
	maxOwnPerHost = 255

	// windowMin and windowMax bound a host's window whatever the number of hosts. windowTime is how long a
	// window should last: better URLs found meanwhile cannot overtake what is queued, but every refill
	// passes over all of a host's records. Lengths of windows are kept in 16 bits.
	windowMin  = 16
	windowMax  = 1<<16 - 1
	windowTime = 10 * time.Minute
	// windowSlack is the part of a window that may have been visited and still take memory: a tenth, or one
	// URL. Each URL is moved about ten times for that, a hundred bytes at a time, which costs 0.2 µs a visit
	// where windows are long.
	windowSlack = 10

	// failureBase is the first back-off after a failure when no longer delay applies. It doubles up to
	// failureMax. sleepBase is how long a host sleeps at first. It doubles up to sleepMax.
	failureBase = 250 * time.Millisecond
	failureMax  = time.Hour
	sleepBase   = 10 * time.Minute
	sleepMax    = 7 * 24 * time.Hour
	// throttleDelays times the host's delay, which counts as failureBase at least, is the wait after a 429 or 503
	// without Retry-After. It doubles with each such answer in a row, up to retryMax, which also caps Retry-After. A
	// single failure of a server thus costs ten pages; a server that means it is soon left alone for hours.
	throttleDelays = 10
	throttlesMax   = 100 // counts no further
	retryMax       = 24 * time.Hour
	// longWait is the wait above which a throttled host, or one with a long delay, no longer counts as having
	// something to hand out soon.
	longWait = 5 * time.Second
	// slowStep is how far above twice its usual value a response time must be for the host to be slowed down.
	// slowMax is how many times its delay may be doubled for that.
	slowStep = 100 * time.Millisecond
	slowMax  = 4

	// PriorityBonus is how far a host of priority 1 goes ahead of one of priority 0 that became ready at the same
	// moment, and so the longest time by which any host can be overtaken.
	PriorityBonus = 2 * time.Second

	// slowHost is the response time from which a host counts as slow. A host for which Slow was called counts as slow
	// until slowMemory further visits in a row were quick. Slow hosts, and hosts whose last visit failed, may have one
	// in slowShare of the fetchers: however many they are, they do not hold up the others.
	slowHost   = time.Second
	slowMemory = 4
	slowShare  = 4

	// domainRetry is how soon a host tries again when its domain has as many visits as it may have.
	domainRetry = 50 * time.Millisecond
	// untakenRetry is how soon a host with several visits at once looks again whether a fetcher has taken the last.
	untakenRetry = 20 * time.Millisecond
	// patience is how late a shard may learn that a visit has ended, if neither its host nor its address may have the
	// next one before patientDelay. It learns it when it wakes for another host. In ten seconds of a polite crawl,
	// 1,052 of 1,471 visits woke no shard at their end (2026-12-01).
	patience     = 10 * time.Millisecond
	patientDelay = 10 * patience
	// budgetRetry is how soon a host that used up its budget, or its domain's, is refilled to learn whether it
	// may have more.
	budgetRetry = 10 * time.Minute
	// rememberDue is how far ahead a dormant host is kept in memory for what falls due. Hosts with later URLs
	// are forgotten; Source.Hosts names them when their time comes.
	rememberDue = 5 * time.Minute
	// restMin is how long a host must rest to be forgotten meanwhile when many are in memory: Source.Hosts, called
	// every pullEvery, brings it back at most as much too late. restsKept times Options.MaxHosts is the number of
	// forgotten hosts whose rests are remembered, at some 20 bytes each.
	restMin   = time.Minute
	restsKept = 2
	// pullBatch is the number of hosts requested from the source at once, pullEvery how often it is called for
	// hosts that fell due meanwhile.
	pullBatch = 1024
	pullEvery = time.Minute

	// outageStreak failures in a row that the local network may have caused, on at least outageHosts different
	// addresses, without one answer in between, are an outage. Only one visit is handed out each outageProbe, and at
	// most outageSlower in the time that it has lasted, until one succeeds or outageMax has passed: outageMaxLost if
	// hosts on outageHosts addresses had answered before.
	outageStreak  = 32
	outageHosts   = 12
	outageProbe   = time.Second
	outageSlower  = 600
	outageMax     = 10 * time.Minute
	outageMaxLost = 24 * time.Hour
	// noDNSWait is the least wait of a host without an address while no name server answers, if it is not the one to
	// be tried.
	noDNSWait = 10 * time.Second

	// heldHostsMax is the number of hosts in memory up to which Held looks at each: some 10 ms.
	heldHostsMax = 20_000

	// stripes of the table of hosts; a power of two.
	stripes = 64
)
