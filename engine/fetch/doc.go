// SPDX-License-Identifier: Apache-2.0

// Package fetch makes one HTTP exchange, bounded in every direction.
//
// # What it is
//
// A client for servers that may be slow, broken or hostile: one request, one response, an absolute
// deadline, a least rate, and bounds on everything the server can make it hold. It follows no
// redirect, stores no cookie and retries nothing behind its caller's back.
//
// # Picture
//
//	Request ─▶ resolve ─▶ guard ─▶ connection (pooled or dialled) ─▶ write ─▶ head ─▶ body ─▶ Response
//	            5 s        every      5 s, TLS 5 s                   5 s      10 s    least rate
//	            └──────────────────── one deadline for all of it: 60 s ──────────────────────┘
//
// # Life
//
// A connection is born when no quiet one to the same scheme, host, port and address is at hand. It
// is used by one exchange at a time, and goes back to the pool only if the response was complete,
// the server is willing, and nothing more came with it; what arrives unasked later is seen when it is taken. It
// dies at the first doubt, or when it has been idle too long. While it is idle it holds no buffer.
//
// A Response is taken from a pool and must be given back with Release; its bytes live until then.
//
// # DNS
//
// CachingResolver asks the hosts file, then its memory, then name servers: A and AAAA at once, by UDP from a
// socket of its own for each question, by TCP when the answer is cut. Of an answer only what hangs on the
// name by a chain of aliases is believed. It is kept as long as it says, within bounds, and so is "there is
// none"; one lookup serves all who ask for the name meanwhile; the oldest answers make room for new ones.
//
// # Invariants
//
//   - The address dialled is checked, in numeric form, at the moment of connecting (guard.go).
//   - Memory grows with bytes received, never with bytes announced.
//   - A port that refused a connection is not knocked at again for some seconds (refused.go).
//   - Response.Truncated is "" only if the body is known to be complete.
//   - The values of Authorization, Cookie and Proxy-Authorization never appear in Response.RequestHead, and
//     so never in a WARC file.
//   - A request is sent a second time in one case only: a pooled connection turned out to be closed
//     before a byte came back. Response.Replayed tells.
//
// # Who runs it
//
// Client is safe for concurrent use and starts no goroutine. Close closes idle connections.
//
// # Bounds
//
// limits.go and Options; Client.budget bounds the bytes of all bodies together.
//
// # Deliberately absent
//
// fasthttp's own client, which sends a failing GET five times and takes a cut body for a whole one:
// only its request writer is used here, under a transport of our own. Its response reader refuses
// heads that browsers read (bare line feeds, equal lengths said twice), so heads are read in head.go.
// HTTP/2. A cookie jar and authentication schemes: the caller writes Cookie and Authorization fields into
// Request.Header.
//
// # Read first
//
// client.go, then exchange.go.
package fetch
