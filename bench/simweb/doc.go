// SPDX-License-Identifier: Apache-2.0

// Package simweb is a web in a box: deterministic sites on loopback addresses, with their truth.
//
// # What it is
//
// A web of hosts and pages computed from a seed, a server that plays it, a record of how politely it
// was visited, and the set of pages that a right crawl must find.
//
// # Picture
//
//	Params ─▶ Web ──Page(host, n)──▶ Server on 127.x.y.z ──▶ any crawler
//	           └───Truth(seeds)──▶ what must be found          │
//	                Report ◀── who asked what, when ◀──────────┘
//
// # Life
//
// A Web is a function: each page is computed when it is asked for, from the seed, the host's number
// and its own, and nothing is kept. A Server listens from Start to Close.
//
// # Invariants
//
//   - The same parameters give the same bytes, on every run and machine.
//   - Every page of a host can be reached from its first one by links, but for those that robots.txt
//     forbids.
//   - Truth follows the same rules as a polite crawler: robots.txt, redirects, no nofollow links.
//
// # Who runs it
//
// Web is immutable and safe for concurrent use; so is Server.
//
// # Bounds
//
// Truth keeps the reachable set, and Report one entry per URL served: both are for webs of up to some
// hundred thousand pages.
//
// # Deliberately absent
//
// Misbehaving servers, and webs from real link graphs.
//
// # Read first
//
// params.go, then web.go.
package simweb
