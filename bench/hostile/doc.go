// SPDX-License-Identifier: Apache-2.0

// Package hostile is the web at its worst: a server for everything that servers do to crawlers, with
// what must come of it stated beside each.
//
// # What it is
//
// A table of cases (Cases), each a host of its own, and a server that plays them over raw sockets,
// since HTTP libraries are too polite. The server logs every byte with monotonic times, which makes it
// the oracle for politeness and accounting. Judge compares what any client made of a case with what is
// required.
//
// # Picture
//
//	Cases ─┐                      ┌─ accept ─▶ Conn: say, drip, flood, hang, reset …
//	       ├─▶ Start ─▶ Server ───┤                      │
//	Replay ┘                      └─ LookUp (bad DNS)    ▼
//	                                                    Log ─▶ Tally: requests, at once, gaps, bytes
//	client under test ─▶ Outcome ─▶ Judge ◀─ Want
//
// # Life
//
// A case gets an address in 127.9.0.0/16 when a server starts with it. A connection there lives until
// its script ends, the client leaves or the server closes; requests for robots.txt are answered with 404
// unless the case is about robots.txt, so that a crawler gets to see the case.
//
// # Invariants
//
//   - Which case a connection meets is decided by its address, never by what the client sends.
//   - Every case says what must come of it: Want is data, and tests iterate over it.
//   - What a server waits is multiplied by Options.Scale; what it sends does not depend on time.
//   - Close ends every goroutine.
//
// # Who runs it
//
// A Server has one goroutine for each listener and each connection. Log and Server are safe for
// concurrent use. Cases and their Wants are values and never change.
//
// # Bounds
//
// limits.go: connections, what of each is logged, and what a server that never stops sends at most.
//
// # Deliberately absent
//
// Servers that Go's libraries cannot play: RSA keys of 512 bits, SHA-1 signatures, renegotiation.
// Behaviour of many hosts at once is made by starting many cases; the package judges one at a time.
//
// # Read first
//
// case.go, then cases_transport.go for what a case looks like.
package hostile
