// SPDX-License-Identifier: Apache-2.0

// Package simweb is a web in a box for testing crawlers: deterministic sites on loopback addresses, a report of how
// politely they were visited, and the truth about what there was to find.
//
// # What it is
//
// Four kinds of site. A Web is computed from a seed: any page of up to 16 million hosts is made when it is requested,
// in some microseconds, and nothing is kept (Prerender makes pages beforehand). Docs are folders of HTML on disk, a
// host each. A Graph is a real link structure with a page for each node. Attacks are pages that try to act on whoever
// shows them, in search results or as stored copies. One Server plays any of them over HTTP and TLS, at the hosts'
// addresses or as a proxy, counts the requests and reports. Each site knows its own truth, but Attacks know only what
// they caught. The package imports nothing of seine, so that a fault of seine cannot hide in it, and can test any
// crawler.
//
// # Picture
//
//	Params ─▶ Web ───────┐ answer(host, target)                   ┌─▶ Report: at once, gaps, robots, twice
//	   │                 ├─────────▶ Server ─▶ conn … conn ─▶ ledger
//	   │ folders ▶ Docs ─┘             ▲ 127.0.0.2 … (HostsFile), or 127.0.0.1 by Host header or as proxy
//	   │             │                 │
//	   └─────────────┴▶ Walk, Scores ─ any crawler    edges ▶ Graph ─▶ Server, Walk    Attacks ─▶ Server
//
// # Life
//
// A page of a Web: (host, number) ─draw─▶ its kind, its flags and the words of its title ─▶ its path. Everything else
// follows from these on demand: a request's path gives back the number; a link is a (host, number) whose path and title
// are drawn where it is written; a duplicate shows the page that its own draw names. Paragraphs are chosen from those
// that were rendered, in every language and charset, when the Web was made.
//
// A request: conn reads its head ─▶ the ledger begins it ─▶ the site answers into the connection's buffer ─▶ latency
// passes ─▶ the ledger ends it ─▶ its last bytes are written.
//
// # Invariants
//
//   - Equal parameters give equal bytes, on every run and machine. A test with golden hashes checks it.
//   - A page's path, kind, title and links depend only on the seed, the host and its number: not on what was served
//     before, nor on time. Text changes with time if Params.ChangeEvery is set.
//   - A page n > 0 is linked from page (n-1)/Fanout, so all pages of a host can be reached from its first page, except
//     those behind duplicates, redirects, missing and forbidden pages.
//   - Redirects end: they lead to an earlier page of the host or to the first page of another.
//   - The report never accuses a polite client of two requests at once or of too small a gap: see meter for why.
//   - Only loopback is served: listeners are on 127.0.0.0/8. With AllInterfaces, which listens on 0.0.0.0, connections
//     to other addresses are closed unread.
//   - Truth follows what a polite crawler follows: robots.txt and redirects, but no nofollow.
//
// # Who runs it
//
// Web, Docs and Graph are immutable, Attacks remember what they caught; all are safe for concurrent use. A Server has
// one goroutine for each listener and each connection; all of them end with Close or with the context given to Serve.
// Whoever starts a server closes it. A slow page parks its connection's goroutine; no thread waits. The
// ledger's counters are in blocks under 64 locks, by host.
//
// # Bounds
//
// limits.go. A Web takes a few megabytes whatever its size; a Graph 4 bytes for each edge and 8 for each node; the
// ledger 32 KB for each 256 neighboring hosts visited, about 150 bytes for each of the first million URLs, and 64 MB
// for all others. Walk keeps a bit for each page of the hosts that it reached; Truth keeps every URL.
//
// # Deliberately absent
//
// Misbehaving servers: they are in package hostile. Content encodings but gzip. Links that change with time.
//
// # Read first
//
// The examples; params.go for what can be set; page.go, links.go and html.go for how a page is made; ledger.go for what
// is counted.
package simweb
