// SPDX-License-Identifier: Apache-2.0

// Package bench measures seine: its layers beside the libraries that they stand on, and whole crawls
// beside bare fetch loops, from the outside, as processes.
//
// # What it is
//
// Two kinds of measurement, one form of result. Layers are Go benchmarks in this package's tests.
// Crawls are made by Crawls: a simweb and a crawler, each a process of its own, so that their
// processor time and memory are told apart. Both print lines that benchstat reads. Report turns lines
// into BENCHMARKS.md, where every number has its spread and its ratio to a floor or a peer.
//
// # Picture
//
//	go test -bench ./bench ──────┐
//	bench/peers (own module) ────┼──▶ lines ──▶ Report ──▶ BENCHMARKS.md, bench/plots/*.svg
//	Crawls ─▶ simweb ◀─ crawl ───┘
//	             ▲─ floors: a bare fasthttp loop over the same pages, and one that lexes and packs them
//
// # Life
//
// A round of Crawls: an empty folder ─▶ simweb starts and writes its hosts file ─▶ the crawler runs to
// its end ─▶ simweb is interrupted and reports ─▶ the folder is weighed and removed ─▶ a Line. Rounds
// of all variants alternate, so that a slow minute of the machine falls on each.
//
// # Invariants
//
//   - What a crawler fetched is what the server says that it served, not what the crawler says.
//   - A ratio compares medians of the same run. Numbers of different machines or days never meet.
//   - Processes that a measurement started are gone when it returns.
//
// # Who runs it
//
// Crawls runs one child at a time beside a simweb, and owns one goroutine for each child that passes on
// a cancelled context. Nothing here is safe for concurrent use: two measurements at once are none.
//
// # Bounds
//
// A child gets an hour. Lines are kept in memory; there are some hundreds.
//
// # Deliberately absent
//
// Other people's crawlers and indexes: they are in bench/peers, a module of its own, so that what they
// depend on never reaches ours. Statistics beyond median and range: benchstat has them.
//
// # Read first
//
// crawl.go for what a crawl's numbers mean, report.go for how they are shown.
package bench
