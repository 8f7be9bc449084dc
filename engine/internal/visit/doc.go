// SPDX-License-Identifier: Apache-2.0

// Package visit takes a host that is ready and brings its URLs to synced WARC records: the fetcher
// pool, robots.txt, what is remembered of hosts, and the source that feeds the frontier.
//
// # What it is
//
// A Pool is the fetchers at work on one frontier. Hosts is what is known of hosts: robots rules, failures,
// delays. Source gives the frontier the URLs of a host, from crawldb or from a fetchlist. They know
// neither phases nor the engine: what to offer, and where to store, is handed to them.
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
// The frontier hands out a visit: one host, a few URLs. A fetcher takes it, asks admission again (a live
// filter may have changed), decides by robots.txt, makes one exchange for each URL, and stores each end in
// the open segment. The visit goes back with an Outcome that says how the host behaved. A robots.txt
// that is redirected to another host is deferred: it is requested in that host's own turn, and visits
// of the first host come back until it is known.
//
// What Hosts learns is written to hostdb when it falls out of memory and when a segment is sealed.
// Losing the newest of it in a crash costs a robots.txt request.
//
// # Invariants
//
//   - A URL is handed out once until crawldb knows its outcome (source.go).
//   - Nothing is counted before it is synced (Pool.sync).
//   - No request leaves before robots.txt of its authority is decided, but the one for robots.txt itself.
//   - No lock is held while the disk or the network is waited for, other than the segment's own.
//   - A page limit is exact: fetchers begin only as many visits as may still count.
//
// # Who runs it
//
// A Pool has one goroutine for each fetcher and one that syncs; Stop ends them. Tick belongs to the
// goroutine that watches the pool. Hosts and Source are safe for concurrent use.
//
// # Bounds
//
// hostsMax authorities are in memory; a robots.txt is read up to robotsBodyMax bytes; a visit of several
// URLs ends after visitTime; a Source remembers 8 bytes and a map entry for each URL handed out.
//
// # Deliberately absent
//
// Retries: the frontier and the schedule decide when a URL is requested again. Cookies that servers set.
//
// # Read first
//
// pool.go, visit.go, then robots.go and source.go.
package visit
