// SPDX-License-Identifier: Apache-2.0

// Package segment writes a segment and reads it back: from the end of a fetch to a synced WARC record
// and a parse record, and from a WARC file to the same parse records again.
//
// # What it is
//
// A Writer is one open segment: its WARC files and the sorters of its parse records. Segments makes
// writers, and seals segments from their WARC files alone. A fetch, `seine parse` and the recovery
// after a crash share one code path: each ends in Writer.add for an Attempt, and in Writer.Seal.
//
// # Picture
//
//	live     Attempt ──▶ WARC record ──┐
//	                                   ├──▶ outcome.go: outcome, links, text ──▶ sorters ──▶ Seal ──▶ store
//	replay   WARC record ──▶ Attempt ──┘
//
// # Life
//
// An Attempt is the end of one fetch: a response, or the reason why there is none. Store appends it to
// the WARC and parses it. It counts from the next Sync on, which returns the outcomes that are durable.
// Finish closes the files and seals: parse records, capture index and the segment's new state in one
// ingestion. Abandon closes the files and seals nothing: Seal reads them back later.
//
// # Invariants
//
//   - The same bytes give the same parse records, live or read back.
//   - Nothing is counted before its WARC record is synced.
//   - A torn tail of a WARC file is cut off; a damaged part in the middle of an open segment's file is
//     skipped and reported, and its pages are due again. Skipped parts are not records.
//   - Text is encoded before the memory of its page is used again.
//
// # Who runs it
//
// Store, Keep and Sync may be called from many goroutines, each Store with a Scratch of its own. Finish,
// Seal and Abandon come last, from one goroutine.
//
// # Bounds
//
// The sorters spill to disk beyond their share of memory; Size reports what they hold. Replay parses on
// all processors with at most readAhead exchanges waiting for each.
//
// # Deliberately absent
//
// What to fetch and when (package visit), what becomes of outcomes (package phases).
//
// # Read first
//
// writer.go, outcome.go, then replay.go.
package segment
