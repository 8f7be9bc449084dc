// SPDX-License-Identifier: Apache-2.0

// Package hostile is a web of servers that misbehave, each in its own way, with the outcome that a crawler must reach
// stated beside each.
//
// # What it is
//
// A table of cases (Cases), each a host of its own, and a Server that plays them over raw sockets, since HTTP libraries
// would refuse to. It logs every byte with monotonic times, so it can tell how politely it was visited. Judge compares
// the outcome that any client reached with the one required. The package imports nothing of seine: it can test any
// client that can be given addresses for host names.
//
// Heavy is another web: of hosts whose pages take as much memory as a server can make a client hold. StartHeavy serves
// it, for measuring what a crawl of it takes.
//
// # Picture
//
//	Cases ─┐                      ┌─ accept ─▶ conn: say, drip, flood, hang, reset …
//	       ├─▶ Start ─▶ Server ───┤                      │
//	Replay ┘                      └─ LookUp (bad DNS)    ▼
//	                                                    Log ─▶ Tally: requests, at once, gaps, bytes
//	client under test ─▶ Outcome ─▶ Judge ◀─ Want
//
// # Life
//
// A case gets an address in 127.9.0.0/16 when a server starts with it. A connection there lives until its script ends,
// the client leaves or the server closes. Requests for robots.txt get a 404 unless the case is about robots.txt, so
// that a crawler reaches the case.
//
// # Invariants
//
//   - The address of a connection decides which case it meets, never what the client sends.
//   - Every case states what is required: Want is data, and tests iterate over it.
//   - Every wait of a server is multiplied by Options.Scale; what it sends does not depend on time.
//   - Only loopback addresses listen.
//   - Close ends every goroutine.
//
// # Who runs it
//
// A Server has one goroutine for each listener and each connection. Server and Log are safe for concurrent use. Cases
// and their Wants are values that never change. Whoever calls Start calls Close.
//
// # Bounds
//
// limits.go: connections, the bytes of each that are logged, and the bytes that an endless server sends at most. All
// cases together need 350 file descriptors for listeners.
//
// # Deliberately absent
//
// Servers that Go's libraries cannot play: RSA keys of 512 bits, SHA-1 signatures, renegotiation. Cases of other
// packages: the moves are not exported; Replay makes cases of recorded responses.
//
// # Read first
//
// The example, case.go, then cases_transport.go for what a case looks like.
package hostile
