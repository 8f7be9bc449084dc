// SPDX-License-Identifier: Apache-2.0

// Package measure measures seine: its layers beside the libraries that they are built on, and whole crawls beside bare
// fetch loops, from the outside, as processes.
//
// # What it is
//
// Two kinds of measurement with one form of result. Layers are Go benchmarks in this package's tests. Crawls runs a
// simweb and a crawler as processes of their own, so that their processor time and memory can be told apart. Both print
// lines that benchstat reads. Peaks runs crawlers against webs that are meant to take much memory. Scale runs the
// phases of this process on generated crawldbs of growing sizes.
// WriteReport turns lines into BENCHMARKS.md, where every number has its spread and its
// ratio to a floor or a peer.
//
// # Picture
//
//	go test -bench ./bench/measure ─┐
//	bench/peers (own module) ───────┼──▶ lines ──▶ WriteReport ──▶ BENCHMARKS.md, plots/*.svg
//	Crawls ─▶ simweb ◀─ crawl ──────┘
//	             ▲─ floors: a bare fasthttp loop over the same pages, and one that lexes and packs them
//
// # Life
//
// A round of Crawls: an empty folder ─▶ simweb starts and writes its hosts file ─▶ the crawler runs to its end ─▶
// simweb is interrupted and reports ─▶ the sizes of the crawler's files are added up and the folder is removed ─▶ a
// Line. Rounds of all variants alternate, so that a slow minute of the machine affects each.
//
// # Invariants
//
//   - The number of pages fetched is what the server says that it served, not what the crawler says.
//   - A ratio compares medians of the same run. Numbers of different machines or days are never compared.
//   - Processes that a measurement started have ended when it returns.
//   - Prose in the report gives no figure that a run may change; figures are in the tables.
//
// # Who runs it
//
// bench.sh for make bench, through seine bench. Crawls runs one child at a time beside a simweb, and owns one goroutine
// for each child. Nothing here is safe for concurrent use: two measurements at once would disturb each other.
//
// # Bounds
//
// A child may run for four hours. Lines are kept in memory; there are some hundreds.
//
// # Deliberately absent
//
// Other people's crawlers and indexes: they are in bench/peers, a module of its own, so that their dependencies never
// become ours. Statistics beyond median and range: benchstat has them. What profiles taught and what was tried and
// dropped: that is beside the code that it is about.
//
// # Read first
//
// crawl.go for what a crawl's numbers mean, sections.go and report.go for how they are shown.
package measure
