// SPDX-License-Identifier: Apache-2.0

// Package fetch makes one HTTP exchange within bounds.
//
// # What it is
//
// A client for servers that may be slow, broken or hostile. It sends one request and reads one response, under
// an absolute deadline, a minimum rate, and bounds on everything the server can make it hold. It follows no
// redirects, stores no cookies and retries nothing behind its caller's back.
//
// # Picture
//
//	Request ─▶ resolve ─▶ guard ─▶ connection ──▶ write ─▶ head ─▶ body ──▶ Response
//	            5 s        every    dial 5 s,      5 s      10 s    minimum
//	                       address  TLS 5 s                         rate
//	            └──────────── one deadline for the whole fetch: 60 s ────┘
//
// # Life
//
// A connection is dialled when the pool has no quiet one to the same scheme, host, port and address. One
// exchange uses it at a time. It returns to the pool only if the response was complete, the server permits
// reuse, and no bytes followed the response. Bytes that arrive later are noticed when it is taken again, or by
// coming before the server can have seen the next request (quiet.go). It is closed at the first doubt, or when it
// has been idle too long. An idle connection holds no buffer.
//
// A Response comes from a pool. The caller must give it back with Release; its bytes are valid until then.
//
// # DNS
//
// CachingResolver looks in the hosts file, then in its cache, then queries name servers. It sends A and AAAA
// queries at the same time: over UDP, from a new socket for each query, or over TCP if the answer is truncated.
// Where an answer takes long, it asks the next name server as well, or the same again, and takes what comes first.
// It believes only those records of an answer that a chain of aliases connects to the name. It caches an answer
// for as long as its TTL says, within bounds, and negative answers too. Failures of name servers it forgets after ten
// seconds, or when one answers after many of them in a row. Concurrent lookups of a name share one query. A full cache
// drops the answers that were used least recently.
//
// # Invariants
//
//   - Every address is checked in numeric form at the moment of connecting (guard.go).
//   - Memory grows with bytes received, never with bytes announced.
//   - A port that refused a connection is not dialled again for some seconds (recent.go).
//   - Response.Truncated is "" only if the body is known to be complete.
//   - The values of Authorization, Cookie and Proxy-Authorization never appear in Response.RequestHead, and
//     so never in a WARC file.
//   - A request is sent once. A kept connection may be closed just as the next request is written to it. That is
//     FailStale: the caller decides when to send the request again, since the host has had one. The server gets no
//     kept connections for an hour. The same holds if it sends unsolicited bytes.
//   - Response.Received counts every byte, and what comes beside a body is bounded (wire.go).
//
// # Who runs it
//
// Client and CachingResolver are safe for concurrent use. They start no goroutine that outlives a call. Close
// closes the idle connections of a Client.
//
// # Bounds
//
// limits.go and Options. A budget bounds the bytes of all bodies together (budget.go): a body waits for
// its bytes before it receives them, and one that is slow gives way while others wait. What Options.Longer lets
// through beyond MaxBody takes only bytes that are free, and is cut where there are none.
//
// # Deliberately absent
//
// fasthttp's own client, which sends a failing GET five times and accepts a truncated body as complete. Only
// its request writer is used, under our own transport. Its response reader refuses heads that browsers accept
// (bare line feeds, equal Content-Length fields), so head.go reads heads.
//
// HTTP/2. A cookie jar and authentication schemes: the caller writes Cookie and Authorization fields into
// Request.Header.
//
// # Read first
//
// client.go, then exchange.go.
package fetch
