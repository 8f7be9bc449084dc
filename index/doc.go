// SPDX-License-Identifier: Apache-2.0

// Package index is the inverted index of a crawl, in key ranges of the store.
//
// # What it is
//
// Immutable index segments, each a set of key ranges written by one ingestion; a directory that
// says where each URL is indexed; and a searcher that ranks by BM25F over title, anchors, URL and
// body; what of the body is not main content counts half.
//
// # Picture
//
//	Document ─▶ Builder ─▶ terms ──────────▶ range t: term, 0, chunk → postings
//	  in key     inverts   documents ──────▶ range d: document → URL key, stamp, lengths
//	  order      in memory lengths ────────▶ range n: 8,192 documents' field lengths
//	                       directory ──────▶ Located: URL key → index segment, document, stamp
//	                       older versions ─▶ deletes: index segment → bitmap
//
//	query ─▶ tree ─▶ per index segment: iterators over postings ─▶ scores ─▶ the best k ─▶ Hits
//
// # Life
//
// How index segments are born: a Builder takes documents in URL-key order and numbers them in that
// order, so a host is an interval of numbers. Finish writes the postings into the caller's
// ingestion; after its commit, Refresh makes them searchable. How they move: they do not, but their
// documents are deleted when a newer version of the URL is indexed elsewhere, by a bit in a bitmap.
// How they die: Merge makes one index segment of several of a size, without the deleted documents,
// in one ingestion that also removes the old ones.
//
// A worked example. Two documents, 0 "Net repair" and 1 "Repair a net": term "net" has the list
// (0; title 1 time, at 0) (1; title 1 time, at 2), term "repair" (0; at 1) (1; at 0). The query
// "net repair" in quotes walks both lists together, meets at 0 and at 1, and keeps 0, where the
// positions follow each other.
//
// # Invariants
//
//   - A URL is alive in at most one index segment: the one that Located names.
//   - Scores depend on the live documents alone, not on how they are spread over index segments nor on
//     what was deleted.
//   - Digest is the same for the same documents, whatever the numbering, segmentation and merges.
//   - Hits are in the order of score, then of URL key.
//
// # Who runs it
//
// Any number of goroutines search, each on the state that was current when it began: state.go counts references, and
// the last reader of an old state closes its snapshot. Refresh loads the new state without a lock that readers take;
// several Refresh calls take turns. Close waits for all of them. One Builder or Merge works at a time: package engine
// ensures that.
//
// # Bounds
//
// limits.go: terms of a query, time of a search, hits, size of a posting value.
//
// # Deliberately absent
//
// Stored text: snippets are made of the parse records, which the caller reads. Query-time
// correction, facets, and dynamic pruning, for which block headers have room.
//
// # Read first
//
// postings.go, builder.go, then search.go.
package index
