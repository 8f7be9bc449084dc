// SPDX-License-Identifier: Apache-2.0

// Package frontier schedules what may be fetched now.
//
// # What it is
//
// A schedule of hosts, in memory. A fetcher takes a visit (one or a few URLs of a host that may be requested
// now) and returns it with its outcome. The outcome determines when the host may be visited next. The package
// knows hosts, times and URLs; it knows nothing of HTTP or of the store.
//
// # Picture
//
//	three levels:   URL            a Candidate in its host's window
//	                visit state    one host: window, next time, failures
//	                address        one IP address, shared by hosts that take turns
//	beside them:    domain         a registered domain: concurrent visits, budget
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
// How a host enters. Wake names hosts that may have due URLs. The registry finds the host's visit state, or
// creates one if there is room. If there is none, the wake is refused, and the puller requests such hosts from
// Source.Hosts when others have left. The shard that owns the state requests a refill. A refiller calls
// Source.Refill, which returns the best due URLs of the host in one pass over its range of crawldb, with its
// address, its settings and what an earlier process learned of it. The state then moves to the shard that owns
// the address: hosts that share an address are owned by one goroutine.
//
// How it is visited. A state with URLs waits in the timing wheel until its next time. It is then admitted. If its
// address is busy, it queues there (blocked), and so does each that comes after it. If its address must wait, or its
// domain has enough visits, it goes on waiting. If its budget or its domain's is used up, its URLs return to the
// source; of a budget of URLs, those that it counts already stay. Otherwise a visit is made, which reserves the
// address: one URL, or several that are requested one after the other on one connection, where neither the host nor its
// address has a delay, and no bytes or time are bounded.
// Visits enter the ring in the order in which they became ready, except that a better host goes ahead by up to
// PriorityBonus. Fetchers take them out, and Done sends the outcome back through the inbox. The shard computes the next
// time from it (politeness.go), gives the next host of the address its turn, and parks the state: waiting, or dormant
// if it has no URLs. When a window is down to a quarter of what it may hold and of what it held after its last refill,
// the shard requests one; visits go on meanwhile.
//
// What else a caller can do. Ask puts a URL that the source need not know before all others of its host: a
// robots.txt redirect to another host waits for that host's turn like any other URL. SetDelay and SetFetchers change
// options while fetchers run. Slow reports a visit that lasts too long. Done reports what a visit cost in bytes and
// time, for budgets, and may set a longer wait.
//
// How it leaves. A dormant state keeps only the times before which its host and address must not be visited. It is
// forgotten when they have passed, unless something falls due within minutes. A host that failed too often sleeps,
// for ten minutes at first and for up to a week; after that a single failure is enough. Options.OnHost receives
// what must survive a restart (earliest next visit, failures, sleeps), Options.OnForgive each host whose last failure
// is taken back: see outage.go.
//
// When more than half of Options.MaxHosts are in memory, a host that must not be visited for a minute or longer is
// forgotten at once: it sleeps, its server demanded the pause, or its budget is used up. Its URLs return to the
// source, and until its time it counts in Stats and wakes of it are ignored (rest.go). So hosts that rest never keep
// out others.
//
// When the local network is cut, every host fails at once. outage.go tells that from dead hosts, takes the
// failures back and tries one visit a second, and fewer as time passes, until something answers. When only the name
// servers are dead, the same holds for hosts without an address alone: the others go on, however many lookups fail.
//
// # Invariants
//
//  1. A visit state is in exactly one place: dormant, waiting, blocked, ready, in flight or asleep.
//  2. At most Options.PerHost visits to a host are in flight (1 by default), and PerDomain to the hosts of a
//     registered domain. Refill.PerHost is a host's own bound, also where PerDomain is less. At an address at most n
//     visits are in flight to hosts whose bound is n or less: those that may have one take turns, whatever another
//     host there may have.
//  3. Between the end of a visit and the start of the next to the same host lies at least the longest of: the
//     configured delay, the host's own if it has one; the Crawl-delay up to a cap; the last response time, times a
//     factor. It doubles for each step by which the host was seen to slow down. Where a host may have several visits
//     at once, their starts lie their part of that apart, and the whole Crawl-delay; none starts in a pause that
//     another has met (several.go).
//  4. Between visits to an address lies at least Options.AddressDelay. A visit to a host whose address is not known
//     counts from its end on, and a host of which several were in flight has no address until they have all ended.
//  5. Retry-After is obeyed, up to a day; without it a pause begins at ten delays and doubles. Failures back off,
//     doubling, with jitter.
//  6. No host starves: no visit is overtaken by one that became ready more than PriorityBonus later, unless its host
//     is slow. Hosts known as slow share a quarter of the fetchers and take turns among themselves. A visit that
//     becomes slow while a fetcher has it counts for an extra fetcher from then on. When there are no more of these,
//     hosts of which no page came yet share a quarter of the fetchers too, as long as others are ready.
//  7. Budgets bind: no more URLs of a host, or of its domain, are handed out than the source allows, but for those
//     that it counts already, and none once the visits that came back have cost the bytes or the time that it allows.
//  8. A URL is handed out once until the source returns it again. None is lost, except to Options.OnDrop.
//  9. No wake-up is lost: a Wake during a refill causes another refill.
//  10. After a start with Options.Resume every host first waits its whole delay: restarts never burst.
//
// sim_test.go checks all of them on a virtual clock after every step, in worlds of a few hosts from many seeds,
// with settings that change, and in one of a million hosts and a hundred million URLs (-sim.hosts 1000000).
// sabotage_test.go breaks them one by one; the simulation catches every broken frontier. slow_test.go checks the
// shares of slow hosts.
//
// # Who runs it
//
// shard.go and shard_visit.go are a pure state machine: events and the time go in, effects come out, and nothing
// in them waits. loop.go is the goroutine around each shard. Fetchers and shards never wait for one another: inbox
// and ring are lock-free. Refillers and the puller call the source. Close ends all goroutines. Mutexes guard only
// the lookup of hosts by name (once per wake), the refillers' queue, outages, and a shard at work against Stats
// and SetFetchers. Options never change; what SetDelay sets is an immutable pace, which a shard loads once a step.
//
// # Bounds
//
// limits.go and Options bound the hosts in memory, the URLs in memory (shared evenly as windows, each for at most
// ten minutes of visits), the visits made ready ahead, and the concurrent refills. A host takes about 1 KB, a URL
// 24 bytes plus what its key has after the host's. A tenth of a window, or one URL, may be visited and not freed
// yet. An address without hosts is kept until it may be visited again, and some 20 bytes of a forgotten host that
// rests, up to twice as many as hosts.
//
// # Deliberately absent
//
// Durability: everything here can be rebuilt from the store, and is after a crash. Fetching, robots.txt, DNS:
// outcomes bring what they found. Pausing: a caller that stops calling Next pauses the frontier.
//
// # Read first
//
// visitstate.go, then shard.go from wake to park and shard_visit.go from admit to done.
package frontier
