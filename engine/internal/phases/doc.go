// SPDX-License-Identifier: Apache-2.0

// Package phases runs the sort-merge phases: inject, generate, updatedb, invertlinks, linkrank and dedup; recrawl and
// delete. Classify and FreeGenerate take lists of URLs beside crawldb.
//
// # What it is
//
// Each phase sorts what is new, merge-joins it with a key range in key order, and writes the outcome as sorted
// tables that are ingested at once. Together they are the only writers of crawldb, the due range, hostdb's counts,
// linkdb, withheld links, lowered pages, fetchlists and signatures, except that a purge takes replaced links out of
// linkdb.
//
// # Picture
//
//	seeds ──Inject──▶ ┌─────────┐ ──Generate──▶ fetchlist, open segment
//	                  │ crawldb │
//	  sealed segment  │ hostdb  │      updated segment ──InvertLinks──▶ linkdb
//	    │             └─────────┘
//	    │               ▲  ▲  ▲ ▲
//	    └──UpdateDB─────┘  │  │ └──Dedup── signatures, index deletes
//	        │           Readmit
//	        └─ refused for now ─▶ withheld ─┘ when the refusal ends
//
//	crawldb, linkdb ──LinkRank──▶ scores of crawldb
//
// # Life
//
// A record of crawldb is made by Inject or by the first link that UpdateDB or Readmit admits, and with it a key of the
// due range. Generate, or the frontier through DueHosts and Window, chooses it once it is due. The outcome of its fetch
// comes back with a sealed segment: UpdateDB computes the next record by the table of transition, adds up what links
// say, and moves the segment to updated. Dedup may make the record db_duplicate and back.
//
// A link that the scope or a live filter refuses waits among the withheld links, under its target and segment. When
// the answer changes, admission names the prefixes concerned, and Readmit joins what is below them with
// crawldb: the record is then what it would be if the link had been admitted at once.
//
// A page whose depth or hops fall after its links were counted waits in the lowered range. UpdateDB, Inject and Readmit
// end with passing that on, to what its links said in every segment in which it was fetched.
//
// LinkRank replaces the scores of all records by ranks of the link graph, InlinkDomains by numbers of linking domains.
//
// Recrawl makes records due, and Delete takes them out of every range at once: those that an operator names, or those
// that a scan for Unwanted finds by status or because filters refuse them. Rename gives those of them that normalizers
// spell otherwise their new keys before. MarkOrphans makes pages without links db_gone and db_orphan.
//
// ImportRecords brings in the records of another store with what is known of their hosts, ImportLinks its links: of all
// of it (mergedb), or of a part into an empty store (splitdb). Part cuts the keys into parts. Excise takes one out that
// another store has, and refuses its URLs until it comes back: links to them are withheld. What is keyed by URL or host
// goes with its part, but for contents, which stay where they are:
//
//	crawldb, hostdb, due, withheld     copied; moved
//	linkdb                             copied by target; moved: links within the part, others are as imported ones here
//	lowered, fetchlists, signatures    here alone; they end with a move: they are of contents, or of fetches to come
//	parse records, cdx, index          here alone; they end with a move; WARC files with the next purge
//	meta                               seeds, blocks, closed prefixes, referrers and settings are copied and stay
//
// # Where it is not Nutch
//
// The table of transition is Nutch's (CrawlDbReducer), cell by cell, but for these:
//
//   - Retries stop at 255. Nutch's wrap around at 127, and a page that is gone is unfetched again.
//   - A part of a page (truncated) is no version of it: it never replaces the whole, has no signature, and is fetched
//     again after a day. Nutch stores it and does not parse it. Retries of a page that has content count such parts,
//     so a failure after them begins at one.
//   - Content without a signature says nothing of a change: the page is db_fetched. Nutch compares the old signature
//     with itself and says db_notmodified.
//   - A fetch that a newer one came before, of a fetchlist that is updated after a newer one, changes no record, but
//     gives its content to one that has none. Nutch takes it, and forgets the newer one.
//   - A fetched page gets a record also while no additions are allowed, since only Generate, FreeGenerate and a rebuild
//     have pages fetched that crawldb does not know. Nutch drops the page. Links add nothing, as in Nutch.
//   - A page is an orphan when no page that linkdb knows links to it any more, and time has passed since. Nutch takes
//     the time since a fetch last brought a link to it, and has no linkdb to ask: pages of sites that are rarely
//     fetched are lost.
//   - Records that are gone, or orphans, are removed after invertlinks, with the links to them; Nutch leaves them out
//     of the next update, and linkdb keeps the links.
//   - All links of a segment count in a score. Nutch counts 10,000, and those are the worst.
//   - The next fetch is at most the longest interval away, whatever the interval of the record was.
//
// # Invariants
//
//   - A phase's tables and the segment's new state are one ingestion: after a crash the phase is done or not begun.
//     A withheld link leaves its range in the ingestion in which it counts, so it counts once.
//   - The sum of HostCounts equals crawldb, and the due range has the keys of each record, after every ingestion.
//     NextDue is the least due time of the host's records, or an earlier time while some were never fetched
//     (hosttally.go).
//   - Choosing URLs reads about as many due keys as URLs are chosen, whatever the host has (due.go for the order).
//   - Scores depend neither on the order of the pages of a segment nor on when the scope widened. Depths and hops are
//     those of a search in breadth through all links that were seen, in whatever order the pages were fetched.
//   - The survivor among equal pages is a function of crawldb, and of the rules of the live filters, alone.
//   - What left the index comes back by content or a 304, never by a failure (transition.go: noteBefore).
//   - Only admission is asked whether a URL may be crawled.
//   - No store error is dropped; each says what was being done.
//
// # Who runs it
//
// The caller's goroutine. Inject, UpdateDB and InvertLinks of much, the passes of LinkRank, and what reads lines of
// URLs share their work among several, and wait for them (share.go). Inject, Generate, UpdateDB, Readmit, LinkRank and
// Dedup read crawldb and write it back, so at most one of them runs at a time: the engine holds its crawldbMu around
// them. InvertLinks may run beside them, and beside itself for another segment. SelectHost, Window, DueHosts,
// FetchlistHosts and SegmentIn only read: any goroutine, at any time. Best and KeyTable belong to one goroutine.
//
// A phase ends with the context's error, having changed nothing, when its context is canceled before its
// ingestion is committed.
//
// # Bounds
//
// Sorters and KeyTables have the memory that Env gives them and spill to disk; goroutines that share a phase share its
// memory. Generate holds the chosen URLs (defaultTop, if no bound is given). The due keys that a phase gives and takes
// from one host fill a quarter of a KeyTable's memory, then a sorter; so do those by day. Delete holds 16 bytes of each
// link of deleted pages to one target, Part the bounds of all parts. The rest is in limits.go.
//
// # Deliberately absent
//
// Locks between phases, events, clocks of stages, and loading the new state of the index after Dedup: the engine has
// them around its calls. Opening seed files: callers give readers.
//
// # Read first
//
// phases.go for Env, updatedb.go, withheld.go, lower.go, then hosttally.go, due.go and places.go.
package phases
