// SPDX-License-Identifier: Apache-2.0

// Package segment writes a segment and reads it back: from the end of a fetch to a synced WARC record and a parse
// record, and from a WARC file to the same parse records again.
//
// # What it is
//
// A Writer is one open segment: its part of the WARC files and the sorters of its parse records. Segments creates
// writers, and seals segments from their WARC files alone. A fetch, `seine parse` and the recovery after a crash share
// one code path: Writer.add for each Attempt, then Writer.seal.
//
// # Picture
//
//	live     Attempt ──▶ WARC record ──┐
//	                                   ├──▶ outcome.go: outcome, links, text ──▶ sorters ──▶ Seal ──▶ store
//	replay   WARC record ──▶ Attempt ──┘
//
// Segments that follow one another share WARC files (parts.go):
//
//	seine-00000005-00000.warc.gz                      begun by segment 5
//	┌──────────┬───┬──────────┬───┬──────────┬───┐
//	│ warcinfo │ … │ warcinfo │ … │ warcinfo │ … │    each warcinfo record says which segment begins there
//	└──────────┴───┴──────────┴───┴──────────┴───┘
//	 ╰─ segment 5 ─╯╰─ segment 6 ─╯╰─ segment 7 …     and goes on in seine-00000007-00000.warc.gz
//
// # Life
//
// An Attempt is the end of one fetch: a response, or the reason why there is none. Store appends it to the WARC and
// parses it. It counts from the next Sync on, which returns the outcomes that have become durable, and from then until
// the segment is sealed Unsealed finds it by its URL: it reads the record back, and parses it again. End ends the
// segment's part of the files, and the next segment may go on behind it. Finish ends and seals the segment: parse
// records, capture index and the segment's new state, with its parts of files, go into one ingestion. Abandon seals
// nothing: Seal reads the parts back later. Resume reads them back and goes on with new files, of its own. Files are
// closed with the last Writer. Purge removes what is deleted or replaced from files whose segments are all done.
//
// Of a sealed segment the store knows the parts. Of an open one the process knows them that wrote it; the next process
// reads what belongs to no sealed segment once, in Survey, and finds the warcinfo records. Which URLs are in an open
// segment, it knows again when it has read that back to fetch on.
//
// # Invariants
//
//   - An attempt gives the same parse records live and read back, byte for byte.
//   - With Env.ParseLater nothing is parsed live: Finish does what Seal does. With Env.NoContent a record says how long
//     the body was that it lacks; the page is then left out when an open segment is read back, and only then.
//   - Nothing is counted, or found by Unsealed, before its WARC record is synced.
//   - What is in a file whose sync failed is sealed by the next process, not by this one (firm.go).
//   - A fetch is what Unsealed says of it when its segment is sealed. The commit that makes the store have it comes
//     before Unsealed forgets it.
//   - Parts of segments do not overlap. Nothing is changed in what a sealed segment has, but by Purge and repair,
//     which put another file in the place of a whole one.
//   - A torn tail of a WARC file is cut off. A damaged place in the middle of an open segment is reported and left out
//     too, and its pages are due again. So the parts of a sealed segment are sound.
//   - linkdb has the links of parse records that exist, and no others: who removes these removes those with them.
//   - Text is encoded before the memory of its page is used again.
//
// # Who runs it
//
// Writer.Store, KeepRobots and Sync may be called from many goroutines, each Store with a Scratch of its own. Finish,
// Abandon and Close come last, from one goroutine. Segments is safe for concurrent use, for different segments.
//
// # Bounds
//
// The sorters spill to disk beyond their share of memory. A Writer holds 16 bytes for each URL, and the outcomes since
// the last Sync. The 16 bytes are held until the segment is sealed: 640 KB for the largest of a crawl. Unsealed holds a
// page and what it parses of it. Sealing and reading back use all processors, the latter with at most readAhead
// attempts waiting for each, and readAheadBytes of bodies. Purge sorts the captures of the segments whose files it
// replaces, and holds one record at a time.
//
// # Deliberately absent
//
// What to fetch and when (package visit), what becomes of outcomes (package phases).
//
// # Read first
//
// writer.go, parts.go, outcome.go, replay.go, then purge.go.
package segment
