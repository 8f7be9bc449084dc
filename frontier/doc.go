// SPDX-License-Identifier: Apache-2.0

// Package frontier says what may be fetched now.
//
// # What it is
//
// A schedule of hosts, in memory. Fetchers ask it for a visit (one URL of a host that may be asked
// now) and give the visit back with its outcome; from the outcome follows when the host may be asked
// again. It knows hosts, times and URLs, nothing of HTTP and nothing of the store.
//
// # Picture
//
//	three levels:   URL            a Candidate in its host's window
//	                visit state    one host: window, next time, failures
//	                address        one IP address, shared by hosts that take turns
//
//	        Wake                 Source.Refill
//	          │                        │ URLs, address
//	          ▼                        ▼
//	      dormant ──────────────▶  waiting ──time has come──▶ ready ──Next──▶ in flight
//	          ▲                     │  ▲ ▲                                       │
//	          │   window used up    │  │ └──────── address is busy ──────┐       │
//	          ├─────────────────────┘  │                                 │       │
//	          │                        └───────────── Done: delay ───────┴───────┤
//	          └──────────────── Done: too many failures (asleep) ────────────────┘
//
// # Life
//
// How visit states are born. Wake names hosts that may have due URLs. A host that is not known gets
// a visit state and a refill: a call of Source.Refill on a goroutine of its own, which returns the
// host's best due URLs and its address.
//
// How they move. A visit state with URLs waits until its host's delay has passed and its address is
// free; then it is ready, and the first fetcher to call Next takes it. While the visit is in flight
// the host is nowhere else. Done puts it back to waiting, with a next time that politeness.go
// computes from the outcome. When the window falls below a quarter and the source had more, a refill
// is asked for beside all that.
//
// How they die. A host without URLs is dormant: it keeps only the time before which it must not be
// asked again, and is forgotten once that has passed. A host that failed too often falls asleep: its
// URLs are handed back (Options.OnDrop) and are due another time.
//
// # Invariants
//
//   - At most one visit to a host is in flight, and at most one to an address.
//   - Between the end of a visit and the start of the next to the same host lies at least the host's
//     delay: the configured one, the Crawl-delay up to a cap, or the last response time, whichever
//     is longest. Between visits to an address lies at least Options.AddressDelay.
//   - Retry-After is obeyed, up to a day.
//   - A visit state is in exactly one place, and no wake-up is lost: a Wake during a refill causes
//     another refill.
//   - A ready host is visited in the order of becoming ready, so none starves.
//
// The simulation in sim_test.go checks these after every step, on a virtual clock, and that a broken
// frontier is caught.
//
// # Who runs it
//
// shard.go is a pure state machine: what happens and the time go in, what to do comes out, and
// nothing in it waits. Frontier is the shell around one shard: a mutex, a timer goroutine, and a
// bounded pool of refill goroutines. Close ends them all.
//
// # Bounds
//
// limits.go and Options: URLs per host window, hosts in memory, refills at once. A visit state takes
// about 300 bytes, a candidate 80 and its URL.
//
// # Deliberately absent
//
// Durability: everything here can be rebuilt from the store, and after a crash it is. Fetching,
// robots.txt, DNS: outcomes bring what they found.
//
// # Read first
//
// visitstate.go, then shard.go from wake to done.
package frontier
