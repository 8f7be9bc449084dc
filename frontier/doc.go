// SPDX-License-Identifier: Apache-2.0

// Package frontier says what may be fetched now.
//
// # What it is
//
// A schedule of hosts, in memory. Fetchers ask it for a visit (one or a few URLs of a host that may be
// asked now) and give the visit back with its outcome; from the outcome follows when the host may be
// asked again. It knows hosts, times and URLs, nothing of HTTP and nothing of the store.
//
// # Picture
//
//	three levels:   URL            a Candidate in its host's window
//	                visit state    one host: window, next time, failures
//	                address        one IP address, shared by hosts that take turns
//	beside them:    domain         a registered domain: visits at once, budget
//
//	   Wake ──▶ registry                       a shard: one goroutine and all it owns
//	              │ host → state      ┌──────────────────────────────────────────────────────┐
//	              └──────▶ inbox ────▶│ dormant ──refill──▶ waiting ──time──▶ ready queue    │──▶ ring ──▶ Next
//	            (lock-free)  ▲  ▲     │    ▲  ▲              (wheel)  ▲          ▲           │ (lock-free)  │
//	                         │  │     │    │  └ window empty ───┐     │       turn│          │              ▼
//	       Source.Refill ────┘  │     │    │                    │  delay      blocked        │          a fetcher
//	       (refillers)          │     │  asleep ◀─ failures ────┴── in flight   (address)    │              │
//	                            │     └──────────────────────────────────────────────────────┘              │
//	                            └──────────────────────────── Done(Visit, Outcome) ◀────────────────────────┘
//
// # Life
//
// How a host comes in. Wake names hosts that may have due URLs. The registry finds the host's visit
// state or makes one, if there is room; else the wake is refused, and the puller asks Source.Hosts for
// such hosts when some have left. The shard that owns the state wants a refill: Source.Refill, on a
// refiller's goroutine, gives the host's best due URLs, in one pass over its range of crawldb, its
// address, and what an earlier process learned of it. With the address the state goes to the shard that
// owns that address, so that hosts which share one are in one goroutine's hands.
//
// How it is visited. A state with URLs waits in the timing wheel until its next time. Then it is
// admitted: if its address is busy it queues there (blocked), if its address or domain must rest it
// waits on, if its budget or its domain's is used up its URLs go back to the source. Else a visit is
// made up, which reserves the address: one URL, or several if the host asks for no delay, to be asked
// for one after the other on one connection. Visits go into the ring in the order of becoming ready,
// those of a better host up to PriorityBonus earlier; fetchers take them out, and Done sends the
// outcome back through the inbox. The shard computes the next time from it (politeness.go), lets the
// next host of the address have its turn, and parks the state: waiting, or dormant without URLs. When a
// window is down to a quarter, a refill is asked for beside all that.
//
// What else may be asked of it. Ask puts a URL that the source need not know before all others of its host:
// a robots.txt that was redirected here is asked for in this host's turn, like anything else. Halt leaves a
// host alone. Done tells what a visit cost in bytes and time, for budgets, and may ask for a longer wait.
//
// How it goes. A dormant state keeps only the times before which host and address must not be asked,
// and is forgotten when they have passed, unless something falls due within minutes. A host that failed
// too often falls asleep, for ten minutes at first and up to a week; a single failure after that is
// enough again. What a restart must know of it (not before, failures, sleeps) is told to Options.OnHost.
//
// When the network here is cut, every host fails at once; outage.go tells that from dead hosts, takes
// the failures back and tries one visit a second until something answers.
//
// # Invariants
//
//  1. A visit state is in exactly one place: dormant, waiting, blocked, ready, in flight or asleep.
//  2. At most Options.PerHost visits to a host are under way, as many to an address (one, unless the
//     operator says so), and PerDomain to the hosts of a registered domain.
//  3. Between the end of a visit and the start of the next to the same host lies at least the longest of:
//     the configured delay; the Crawl-delay up to a cap; the last response time, times a factor; and
//     doubled for each step by which the host was seen to slow down.
//  4. Between visits to an address lies at least Options.AddressDelay.
//  5. Retry-After is obeyed, up to a day. Failures back off, doubling, with jitter.
//  6. No host starves: a visit is overtaken by none that became ready PriorityBonus later, unless its host
//     is slow: slow hosts share a quarter of the fetchers and take turns among themselves.
//  7. Budgets bind: no more URLs of a host, or of its domain, are handed out than the source allows, and
//     none once the visits that came back have cost the bytes or the time that it allows.
//  8. A URL is handed out once until the source gives it again; none is lost but to Options.OnDrop.
//  9. No wake-up is lost: a Wake during a refill causes another refill.
//  10. After a start with Options.Resume every host first waits its whole delay: restarts never burst.
//
// sim_test.go checks all of them on a virtual clock after every step, in worlds of a few hosts from
// many seeds and in one of a million hosts and a hundred million URLs (-sim.hosts 1000000);
// sabotage_test.go breaks them one by one, and every broken frontier is caught.
//
// # Who runs it
//
// shard.go and shard_visit.go are a pure state machine: what happens and the time go in, what to do
// comes out, and nothing in them waits. loop.go is the goroutine around each; fetchers never wait for
// it, nor it for them: inbox and ring are lock-free. Refillers and the puller call the source. Close
// ends them all. Mutexes are only where hosts are looked up by name (once per wake), in the refillers'
// queue, and between a shard at work and Stats.
//
// # Bounds
//
// limits.go and Options: hosts in memory, URLs in memory (shared evenly as windows, each for ten minutes
// of visits at most), visits ready ahead, refills at once. A host takes about 1 KB, a URL 24 bytes and
// what its key has behind the host's; a tenth of a window, or one URL, may be gone and not free yet. An
// address without hosts is kept until it may be asked again.
//
// # Deliberately absent
//
// Durability: everything here can be rebuilt from the store, and after a crash it is. Fetching,
// robots.txt, DNS: outcomes bring what they found.
//
// # Read first
//
// visitstate.go, then shard.go from wake to park and shard_visit.go from admit to done.
package frontier
