// SPDX-License-Identifier: Apache-2.0

// Package inspect reads a store for people: records, hosts, links, segments, captures, stored copies and statistics,
// reports of a crawl, the story of a URL or a host, why a URL is or is not crawled, and whether everything in the store
// and the WARC files agrees.
//
// # What it is
//
// An Inspect answers questions and changes nothing. It speaks in the terms of package storage (keys, records,
// outcomes). Package engine turns its answers into the texts and JSON that people see.
//
// # Picture
//
//	crawldb ────────▶ Record, Records, TopRecords, Stats ─┐
//	hostdb ─────────▶ Hosts, TopHosts, Host ──────────────┤
//	linkdb ─────────▶ Inlinks ────────────────────────────┼──▶ package engine: views ──▶ text, JSON
//	segments, parse ▶ Segments, Segment, ParseRecords ────┤
//	cdx, WARC files ▶ Captures, StoredCopy, Verify ───────┤
//	not sealed yet ─▶ CapturesOf, StoredCopy, URLStory ───┤
//	all of them ────▶ URLStory, HostStory, reports ───────┤
//	admission ──────▶ Explain ────────────────────────────┘
//
// # Life
//
// New makes an Inspect; there is nothing to close. A stream opens its scanner when its iteration begins and
// closes it when the iteration ends, by a break too. All of one stream is read as of the moment when its
// iteration began, unless its comment says otherwise.
//
// # Invariants
//
//   - Nothing is written.
//   - An error ends a stream: it is the last thing that the stream yields.
//   - What does not exist is an error that wraps ErrNotFound and says why, where that is known.
//   - The order of everything is that of keys, or of a score with ties broken by key. It never depends on chance.
//   - How often a URL was fetched is asked in one place, visits.go: sealed segments and those that are fetched now
//     together, each fetch once. The export does the same for all URLs. Reports and Captures are of sealed segments.
//   - Admission alone decides whether a URL may be crawled. Explain only collects the facts.
//
// # Who runs it
//
// An Inspect is safe for concurrent use, beside a running crawl too. Each iteration belongs to one goroutine. A
// context ends a stream with the context's error. The store must stay open as long as anything here runs.
//
// # Bounds
//
// A stream holds one entry. CapturesOf holds capturesMax captures, a StoredCopy one response, a story what limits.go
// says. TopRecords and TopHosts hold n entries. Stats holds at most quantileSample scores, and
// with perHost one count of each status for every host. Verify keeps one WARC file open and one record in memory; what
// files and store say of each other it sorts within a sorter's memory, and of each kind it spells out problemsMax
// problems.
//
// # Deliberately absent
//
// Texts for people (package engine); search (package index); caches: every answer is read from the store.
//
// # Read first
//
// inspect.go, then records.go and explain.go; story.go puts all together.
package inspect
