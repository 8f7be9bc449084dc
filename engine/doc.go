// SPDX-License-Identifier: Apache-2.0

// Package engine is a crawl engine: what programs that embed it call, and the conductor that runs the phases of a
// crawl. This page describes the architecture of seine.
//
// # What it is
//
//	e, err := engine.Open(engine.Options{Dir: "data", Contact: "https://your.site/crawler"})
//	…
//	defer e.Close()
//	report, err := e.Crawl(ctx, engine.CrawlOptions{
//		Inject: engine.InjectOptions{URLs: []string{"https://example.org/"}},
//		Limits: engine.Limits{MaxPages: 1000},
//	})
//	found, err := e.Search(ctx, "words to find", engine.SearchOptions{})
//
// The examples show a filter, a parser, an index field, a scraper, a search page and more.
//
// An Engine is one data directory. Its methods are the phases of a crawl, under the names that Nutch gave them; Crawl,
// which runs them all continuously; Search; and Inspect, which reads what is inside. The goals, and where they are
// checked:
//
//   - Every page that an independent walk finds is fetched, none twice (make realsites).
//   - At least 800 real pages of 39 KB a second are fetched, stored and indexed on two cores (BENCHMARKS.md).
//   - Nothing acknowledged is lost by kill -9 or a power failure (kill_test.go, crash_test.go).
//   - A changed bit in any file is found or does no harm, and what is left is kept (damage_test.go, make damage).
//
// # Picture
//
//	seeds ──Inject──▶ crawldb ──Generate──▶ fetchlist ──▶ frontier ──▶ fetchers ──▶ WARC
//	                    ▲  ▲                                (RAM)                     │ parse
//	                    │  └────────────── UpdateDB ◀──── parse records ◀──── Seal ◀──┘
//	                    │                  InvertLinks ──▶ linkdb        │
//	                    └── Dedup ◀─────── Index ──▶ index ◀─────────────┘ ──▶ Search
//	                                                   └──▶ what differs from what was sent ──▶ IndexWriters
//
// The rooms below this package are in engine/internal. None knows the Engine, nor a room that is not below it; each
// gets what it needs in a small struct, Env or Options:
//
//	engine      door.go control.go engine.go     what an embedder calls
//	            crawl.go conductor.go fetch.go   which phase runs when: look, decide (decide.go), act (phase.go)
//	            work.go                          locks, clocks and events around each phase
//	            index.go network.go pages.go …   what work uses; no file knows a file above it
//	  visit     from a ready host to a stored response: fetcher pool, robots.txt, what is known of hosts
//	  segment   from a response to a WARC record and a parse record, and back from the WARC
//	  phases    inject, generate, updatedb, invertlinks, dedup: sort, merge-join, ingest
//	  inspect   what people look at: records, hosts, links, segments, checks, verify, export
//	  admission may this URL be crawled, and why not? The only place that decides this
//	  crawllog  the lines of the crawl log and its files
//
// Where is …?
//
//	what may be fetched now?             package frontier; internal/visit/source.go feeds it
//	one HTTP exchange?                   engine/fetch; internal/visit/visit.go calls it
//	a page's links and text?             engine/parse; internal/segment/page.go turns them into records
//	the state machine of a URL?          internal/phases/transition.go, a pure function
//	which URLs a host offers next?       internal/phases/select.go, for generate and refill alike
//	how is a URL deleted?                internal/phases/delete.go; internal/segment/purge.go for WARC files; calm.go
//	what is removed unasked?             tidy.go: what filters refuse, what is gone; internal/phases/orphans.go
//	                                     and conductor.tend beside a crawl
//	why was a URL not fetched?           internal/inspect; admission.Explain
//	what is known of one URL or host?    stories.go, reports.go; internal/inspect
//	a fetch of a moment ago?             internal/inspect/visits.go; internal/segment/unsealed.go reads it
//	one line for each fetch?             crawllog.go adds the way to a URL; internal/crawllog writes
//	what a later scope permits?          internal/phases/withheld.go
//	PageRank?                            internal/phases/linknodes.go, linkgraph.go, linkpasses.go, linkrank.go
//	linking domains?                     internal/phases/inlinkdomains.go
//	a depth that falls after the fetch?  internal/phases/lower.go
//	what happens in which order?         phase.go, the table of phases
//	has anything changed since?          storage/marks.go; dedup of all pages and a refresh leave marks
//	what the conductor does next?        decide.go, a pure function
//	the processor time of a stage?       stage.go; storage/cputime.go
//	what holds a crawl up, why it ended? heldup.go and situation.go, pure functions; words are in cause.go
//	how busy are the processors?         processors.go
//	does a search wait behind the crawl? places.go
//	what a crawl does now?               status.go; statusread.go reads it, census.go counts what is
//	                                     stored
//	what each fetcher waits for?         internal/visit/doing.go; engine/fetch/stage.go within a request
//	how it went in the last hours?       sample.go, history.go, filled by sampler.go
//	what will end badly?                 alert.go, a pure function
//	a host in a running crawl?           hostnow.go; frontier/look.go
//	which hosts are blocked?             block.go; internal/admission/blocks.go
//	what a callback may enqueue?         tasks.go
//	what other engines are sent?         send.go compares and notes; sendalong.go does it beside a crawl; writers talks
//	                                     to OpenSearch and Solr; storage/sent.go holds what they acknowledged
//	shares of memory?                    memory.go
//	what a crash leaves?                 recover.go, internal/segment/replay.go
//	what damage leaves?                  verify.go, repair.go, rebuild.go; storage/damage.go, storage/warc/scan.go
//	what a user may replace?             engine/policy, fields of Options
//	anything durable?                    storage, storage/warc
//
// Where would I add …?
//
//	a score policy      a type with the three methods of policy.Scorer in engine/policy, tested by policytest.Scorer;
//	                    a name for it in cmd/seine/policies.go
//	an outcome status   storage/status.go (the status, its name, permitted transitions),
//	                    internal/segment/outcome.go (when it applies), internal/phases/transition.go (what it changes)
//	a record field      storage/record.go (codec; format ladder in format.go),
//	                    internal/phases/transition.go (who sets it), view_record.go (who sees it)
//	a metric            Progress in progress.go, filled by conductor.situation; cmd/seine/dashboard.go draws it.
//	                    Of the store or of fetchers: Status in status.go, read in statusread.go. Over time: Sample
//	                    in sample.go (numbers, and historyrow.go's version), read in sampler.go
//	an alert            an AlertKind and its condition in alert.go; a row in alert_internal_test.go
//	another engine      a policy.IndexWriter in engine/writers, with its name in parse.go
//	a cause             a CauseKind in cause.go; heldup.go, situation.go say when; a row in cause_test.go
//	a command           cmd/seine/cmd_NAME.go and its row in command.go; a script in cmd/seine/testdata/script
//
// # Life
//
// A URL crosses 15 package borders from seed to hit:
//
//	     cmd/seine/cmd_crawl.go        a line of the command line or of a seed file
//	 1   door.go, work.go              Inject takes the lock of crawldb
//	 2   internal/phases/inject.go     canonical URL; normalizers; admission; merge-join: db_unfetched
//	 3   storage/ingestion.go          its record, its host's next due time, its seed's scope: one ingestion
//	 4   internal/visit/source.go      its host is due: the host's best URLs are handed out
//	 5   frontier/shard.go             its host waits for its delay, then it is ready
//	 6   internal/visit/visit.go       a fetcher takes the visit; robots.txt
//	 7   engine/fetch/client.go        one exchange
//	 8   internal/segment/writer.go    WARC record; it counts from the next sync on
//	 9   engine/parse/parser.go        links, text, signature
//	10   storage/sorter.go             its parse record waits in the segment's sorters; Seal ingests them
//	11   internal/phases/updatedb.go   outcome to record, links to records; invertlinks; dedup
//	12   storage/join.go               merge-joins with crawldb, linkdb, signatures
//	13   index.go                      record, text and anchors become a document
//	     reanchor.go                   others link to it now: its anchors are replaced, and all else stays
//	14   index/builder.go              postings
//	15   search.go                     a query finds it; the snippet comes from its parse record
//
// A segment is open, sealed, updated, linked, then indexed. Each step is one row of the table in phase.go and one
// atomic ingestion of tables and new state together, so a crash leaves it done or not begun. An open segment is
// recovered from its WARC.
//
// Batch and continuous crawls share one code path: `seine updatedb` runs one row for one segment, Crawl runs the rows
// that are due, one segment behind another, and recovery is Crawl started again.
//
// # Invariants
//
//   - A URL is handed out once, until crawldb has its outcome (internal/visit/source.go).
//   - Nothing is counted before it is synced (visit.Pool.Sync).
//   - The same web gives the same crawldb, linkdb and index: whatever the order of fetches and the size of segments, in
//     batches or continuously, whenever a scope widens, and however often the process is killed. A page whose depth
//     falls after its fetch passes that on to its links (internal/phases/lower.go).
//   - A host's next due time in hostdb is exact after every phase.
//   - What an index writer acknowledged is noted after it did, and what it is about to get before: a crash costs one
//     batch that is sent twice, and no deletion (send.go). No phase waits for a writer, and none notes changes for it.
//   - A phase does not know who called it.
//   - Nothing here prints, exits, or keeps state outside an Engine. Options.Now is the only clock.
//
// # Who runs it
//
// Any goroutine may call an Engine. Phases that write the same ranges take turns by two mutexes (work.go). One crawl or
// fetch runs at a time; so do Seal and Recover, which read open segments back. Generate does not run beside a crawl.
//
// A crawl has Concurrency fetchers and one more for each visit that has become slow, as far as memory and descriptors
// allow (memory.go). It has one goroutine that syncs, one that watches for slow visits, and two lanes. The first seals,
// updates and links segments, on as many goroutines as there are processors where there is much. The second dedups and
// indexes those that have gathered (indexlane.go), with a goroutine for each processor, up to indexBuilders, that
// reads a part of the pages and makes an index segment of them (indexparts.go). Another goroutine sends what is
// indexed to index writers; neither lanes nor fetchers wait for it. The end of a crawl does. One more merges index
// segments, and settles ranks, duplicates and links now and then (mergelane.go). The goroutine that called Crawl
// conducts, and calls Progress. The more is in the lanes, the longer fetchers pause in each moment, and when backlogMax
// segments wait for the first lane, or more in both, they begin nothing until the lanes catch up (decide.go). A sampler
// reads the crawl's counters once a second. OnPage runs on a pool of its own (pages.go). All of
// them end before Crawl returns. Close waits for all calls.
//
// # Bounds
//
// limits.go, and the limits of each room. memory.go shares out Options.Memory.
//
// # Deliberately absent
//
// Configuration files, flags and terminals belong to cmd/seine. Nothing here knows Pebble or sockets. Scripts of pages
// are not run.
//
// # Read first
//
// phase.go, decide.go, conductor.go, then internal/phases/updatedb.go.
package engine
