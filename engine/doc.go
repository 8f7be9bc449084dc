// SPDX-License-Identifier: Apache-2.0

// Package engine is the crawl: the phases, the conductor that runs them, and the only place that
// knows all the others. It is the architecture page of seine and the door for programs that embed it.
//
// # What it is
//
// An Engine is one data directory. Its methods are the phases of a crawl with the names that users
// of Nutch know, Crawl, which runs them all continuously, Search, and what looks inside. Goals, and
// where they are measured: every page that an independent walk finds, none twice (make realsites);
// at least 800 real pages of 39 KB a second on two cores, stored and indexed (BENCHMARKS.md); nothing
// acknowledged lost by kill -9 or power loss (kill_test.go, crash_test.go).
//
// # Picture
//
//	seeds ──Inject──▶ crawldb ──Generate──▶ fetchlist ──▶ frontier ──▶ fetchers ──▶ WARC
//	                    ▲  ▲                                (RAM)                     │ parse
//	                    │  └────────────── UpdateDB ◀──── parse records ◀──── Seal ◀──┘
//	                    │                  InvertLinks ──▶ linkdb        │
//	                    └── Dedup ◀─────── Index ──▶ index ◀─────────────┘ ──▶ Search
//
// Where is …?
//
//	what may be fetched now?             package frontier; source.go feeds it
//	one HTTP exchange?                   engine/fetch; fetch.go calls it
//	a page's links and text?             engine/parse; outcome.go turns them into records
//	the state machine of a URL?          transition.go, a pure function
//	which URLs a host offers next?       select.go, for generate and refill alike
//	may this host be asked for pages?    robots.go; preferences.go keeps what it says of their use
//	what does the operator's word cut?   flight.go, filterfiles.go
//	why was a URL not fetched?           check.go; filterfiles.go, budget.go, trapwatch.go say so
//	what folds a segment's links?        keytable.go, for updatedb and invertlinks
//	what happens in which order?         phase.go, the table of phases; crawl.go, the conductor
//	what a crash leaves?                 recover.go, seal.go
//	what a user may replace?             engine/policy, fields of Options
//	anything durable?                    storage, storage/warc
//
// # Life
//
// The life of a URL. A seed line or a link becomes a canonical URL; normalizers and filters have
// their say; its record enters crawldb as db_unfetched by a merge-join. When it is due, selectHost
// offers it with the best of its host, in a fetchlist or straight to the frontier. A fetcher takes
// the visit, looks at robots.txt, makes one exchange, and appends it to the open segment's WARC: from
// the next sync on it counts. The page is parsed at once; its parse record waits in the segment's
// sorter until the segment is sealed. UpdateDB turns the outcome into the URL's new state and its
// links into records, InvertLinks turns the links round, Dedup keeps the best of equal pages, Index
// makes a document of it.
//
// The life of a segment: open, sealed, updated, linked, indexed. Each step is one row of the table in
// phase.go and one atomic ingestion, tables and new state together, so a crash leaves it done or not
// begun. An open segment is recovered from its WARC.
//
// Batch and continuous are one code path: `seine updatedb` runs one row for one segment, Crawl runs
// whichever rows are due, one segment behind another, and recovery is Crawl started again.
//
// # Invariants
//
//   - A URL is handed out once until crawldb knows its outcome (source.go).
//   - Nothing is counted before it is synced (fetching.sync).
//   - The same web gives the same crawldb, linkdb and index, whatever the order of fetches, the size of
//     segments, batch or continuous, and however often the process was killed.
//   - A phase does not know who called it.
//   - Nothing here prints, exits, or keeps state outside an Engine.
//
// # Who runs it
//
// Phases that write the same ranges take turns by two mutexes. A crawl has Concurrency fetchers, one
// syncer, and two workers: one seals and updates, one links, dedups and indexes, with a helper of its
// own that cuts documents into words (indexdocs.go). The caller's goroutine conducts. Their channels hold
// backlogMax segments; when they are full, the fetchers' gate is shut until the workers catch up. All of them end before Crawl returns.
//
// # Bounds
//
// limits.go. Memory: Options.Memory is shared out among caches, sorters and bodies.
//
// # Deliberately absent
//
// A configuration file, a command line, a terminal: cmd/seine. Knowledge of Pebble or of sockets.
// JavaScript.
//
// # Read first
//
// phase.go, then fetch.go and crawl.go, then updatedb.go.
package engine
