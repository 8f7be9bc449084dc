// SPDX-License-Identifier: Apache-2.0

// Package web shows an engine to people and to programs: a search page, a dashboard, and an API.
//
// # What it is
//
//	h := web.New(e, web.Options{Prefix: "/crawl", Token: token, Hosts: []string{"search.example"}})
//	http.Handle("/crawl/", h)
//
// A Handler is an http.Handler of one engine.Engine. A Client asks a Handler of another process, over the socket of a
// data directory, what a command would ask an Engine.
//
// # Picture
//
//	browser ──TCP──▶ guard.go ──▶ pages            ─┐
//	program ──TCP──▶ guard.go ──▶ route.go, api*.go ├─▶ engine.Engine
//	seine …  ─socket─▶            route.go, api*.go ─┘
//	   └─ client.go, socket.go
//	browser ──TCP──▶ guard.go ──▶ proxy.go ─socket─▶ as above, in the process that has the engine
//
// # Life
//
// A request passes the guard: Host, origin, token. Then it takes a slot, gets its bounds, and runs. For an operation of
// the API, the table of routes says what its parameters are; they are checked before it runs. It returns a value, a
// list, or an error, which becomes a problem (RFC 9457). A list is written as a page with a cursor, or as a stream of
// lines, which is read as fast as the client takes it. When the client goes away, the work ends.
//
// # Invariants
//
//   - Nothing is changed without the token and, from a browser, from another origin.
//   - openapi.json is made of the table of routes, the types of the answers and abouts.txt.
//   - What is not a success is a Problem, with a code that programs can tell apart; a browser sees it as a page.
//   - A name that only resolves to this machine reaches nothing (DNS rebinding).
//   - What pages say is shown, and never acts: testdata/browser tries it in a browser with simweb's Attacks.
//   - What a proxy passes on has no more rights, time, size or slots than what comes over TCP.
//   - Who opens a socket has the lock of the store, so there is one at most.
//   - An answer that was kept (engine.Answers) is the one that would be made now, but for the time that it took.
//   - Who asks for an answer that is being made waits for it (flights), and makes it only if that one is none to keep.
//
// # Who runs it
//
// Each request has a goroutine of net/http, one that a proxy passes on in both processes. A Server has one more, until
// Close. Close waits for all of them.
//
// # Bounds
//
// limits.go.
//
// # Deliberately absent
//
// TLS, accounts, access logs and compression belong to a proxy before it, whose X-Forwarded-Proto says that clients
// speak TLS.
//
// # Read first
//
// handler.go, guard.go, route.go, then api.go.
package web
