// SPDX-License-Identifier: Apache-2.0

// Package simweb is a web in a box: deterministic sites on loopback addresses, a record of how
// politely they were visited, and the truth about what there was to find.
//
// # What it is
//
// Three kinds of site. A Web is computed from a seed: any page of up to 16 million hosts is made when it
// is asked for, in some microseconds, with nothing kept (or beforehand, see Prerender). Docs are folders
// of HTML on disk, a host each. A Graph is a real link structure, a page for each node. One Server plays
// any of them, over HTTP and TLS, at the hosts' addresses or as a proxy, counts what it is asked, and
// reports; each knows its own truth.
//
// # Picture
//
//	Params ─▶ Web ───────┐ answer(host, target)                   ┌─▶ Report: at once, gaps, robots, twice
//	   │                 ├─────────▶ Server ─▶ conn … conn ─▶ ledger
//	   │ folders ▶ Docs ─┘             ▲ 127.0.0.2 … (HostsFile), or 127.0.0.1 by Host header or as proxy
//	   │             │                 │
//	   └─────────────┴▶ Walk, Scores ─ any crawler    edges ▶ Graph ─▶ Server, Walk
//
// # Life
//
// A page of a Web: (host, number) ─draw─▶ its kind, its flags and the words of its title ─▶ its path.
// Everything else follows from these on demand: a request's path gives back the number; a link is a
// (host, number) whose path and title are drawn where it is written; a duplicate shows the page that
// its own draw names. Paragraphs are chosen from those that were rendered, in every language and
// charset, when the Web was made.
//
// A request: conn reads its head ─▶ the ledger begins it ─▶ the site answers into the connection's
// buffer ─▶ latency passes ─▶ the ledger ends it ─▶ its last bytes are written.
//
// # Invariants
//
//   - Equal parameters give equal bytes, on every run and machine. Golden hashes hold it.
//   - A page's path, kind, title and links depend on the seed, the host and its number only: not on
//     the number of hosts served before, nor on time (text does, with Params.ChangeEvery).
//   - A page n > 0 is linked from page (n-1)/Fanout, so a host hangs on its first page, but for what
//     is behind duplicates, redirects, missing and forbidden pages.
//   - Redirects end: they lead to an earlier page of the host or to the first page of another.
//   - The report never accuses a polite client of two requests at once or of too small a gap: see
//     meter for why.
//   - Only loopback is served: listeners are on 127.0.0.0/8, and where a user asks for 0.0.0.0 instead,
//     connections to other addresses are closed unread.
//   - Truth follows what a polite crawler follows: robots.txt, redirects, no nofollow.
//
// # Who runs it
//
// Web, Docs and Graph are immutable and safe for concurrent use. A Server has one goroutine for each
// listener and each connection, all of which end with Close or with the context given to Serve. A slow
// page parks its connection's goroutine on a timer; no thread waits. The ledger's counters are in
// blocks under 64 locks by host.
//
// # Bounds
//
// limits.go. A Graph takes 4 bytes for each edge and 8 for each node. A Web takes a few megabytes whatever its size; the ledger 32 KB for each 256 neighbouring
// hosts visited, and about 150 bytes for each of the first million URLs, 64 MB for all others.
// Walk keeps a bit for each page of the hosts it came to; Truth keeps every URL.
//
// # Deliberately absent
//
// Misbehaving servers, which are package hostile, and content encodings. Links of a page do not change
// with time.
//
// # Read first
//
// params.go for what can be had; page.go, links.go and html.go for how a page is made; ledger.go for
// what is counted.
package simweb
