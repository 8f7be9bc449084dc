// SPDX-License-Identifier: Apache-2.0

// Package visit fetches: it takes visits to hosts that are ready and turns their URLs into synced WARC records. It
// holds the pool of fetchers, robots.txt, the memory of hosts, and the source that feeds the frontier.
//
// # What it is
//
// A Pool is the fetchers of one frontier. Hosts is what is known of hosts: robots rules, failures, delays. Source gives
// the frontier the URLs of a host, from crawldb or from a fetchlist. They know neither phases nor the engine: a Supply
// says what to offer, a segment.Writer is where to store.
//
// # Picture
//
//	Supply ──▶ Source ──▶ frontier ──Next──▶ fetcher ──▶ live filters ──▶ robots.txt ──▶ one exchange
//	                          ▲                 │                            │               │
//	                          └────── Done ◀────┘                          Hosts             ▼
//	                                                                         │     segment.Writer ──Sync──▶ counted
//	                                                                         └──▶ hostdb facts
//
// # Life
//
// The frontier hands out a visit: one host, a few URLs. A fetcher takes it, checks live filters again, decides by
// robots.txt, makes one exchange for each URL, and stores each result in the open segment. The visit goes back with an
// Outcome that says how the host behaved. A robots.txt that is redirected is deferred: it is requested in the turn of
// the host that it was redirected to, and visits of the first host come back until it is known, or until the run ends.
//
// A request whose kept connection turns out to be closed is sent again, once, when the host's delay has passed: its
// visit goes back with its URL. So does one for which no file could be opened; that is no fault of the host.
//
// A visit whose request lasts longer than slowRequest no longer counts as one of the fetchers: an extra fetcher stands
// in for it, so hosts that trickle do not hold up the others. When no more fetchers are permitted and other hosts wait,
// the slow requests that have lasted longest are cut off: they count as too slow, like those below the minimum rate.
//
// What Hosts learns is written to hostdb when it leaves the memory and when a segment is sealed. If a crash loses the
// newest of it, robots.txt is requested once more. The rest that a host demands, with 429 or 503, is written within
// syncInterval, and so are a Crawl-delay and a response time that are longer than the crawl's delay: no crash makes a
// crawl break them.
//
// # Invariants
//
//   - A URL is handed out once until crawldb knows its outcome (source.go).
//   - Nothing is counted before it is synced (Pool.Sync).
//   - No request is sent before the robots.txt of its authority is decided, except the one for robots.txt itself.
//   - No lock is held while waiting for the disk or the network, except three: the segment's, the one that orders
//     writes of hosts' facts (a fetcher takes it only to write what leaves the memory), and the one by which
//     Source.Forget waits for refills.
//   - A page limit is exact: fetchers begin only as many requests as may still count.
//
// # Who runs it
//
// A Pool has one goroutine for each fetcher, one that syncs and one that watches for slow requests (crew.go); Stop ends
// them. Tick and Rotate belong to the goroutine that watches the pool. Hosts and Source are safe for concurrent use.
//
// A fetcher holds a response as received. It is decoded, parsed and stored in one of a few slots (slots.go), so that
// more fetchers take no more memory for pages.
//
// # Bounds
//
// limits.go. A Source holds 8 bytes and a map entry for each URL that it handed out.
//
// # Deliberately absent
//
// Retries: the frontier and the schedule decide when a URL is requested again. A cookie jar.
//
// # Read first
//
// pool.go, visit.go, crew.go, then robots.go and source.go.
package visit
