// SPDX-License-Identifier: Apache-2.0

// Package index is the inverted index of a crawl, in key ranges of the store.
//
// # What it is
//
// Immutable index segments, each a set of key ranges written by one ingestion; a directory that says where each URL is
// indexed; and a searcher that ranks by BM25F over title, anchors, URL and body. A word of the body outside of the main
// content counts half.
//
// # Picture
//
//	Document ─▶ Builder ─▶ terms ──────────▶ range t: term, 0, chunk → postings
//	  in key     inverts   documents ──────▶ range d: document → stamp, URL key
//	  order      in memory lengths ────────▶ range n: 8,192 documents' field lengths
//	                       stored values ──▶ range s: document → fields, date, title and text to show
//	                       boosts ─────────▶ range b: 8,192 documents' factors of scores
//	                       directory ──────▶ Located: URL key → index segment, document, stamp
//	                       older versions ─▶ deletes: index segment → bitmap
//
//	query ─▶ tree ─▶ per index segment: iterators over postings
//	      ─▶ scores × boosts ─▶ the best k ─▶ Hits
//	typed text ─▶ lexicons: terms in memory ─▶ completions, near words, did you mean
//	text of a hit ─▶ marker: places of the query's words ─▶ the best sentences ─▶ Snippet
//
// # Life
//
// A Builder creates index segments. It takes documents in URL-key order and numbers them in that order, so a host is an
// interval of numbers. Finish writes the postings into the caller's ingestion; after its commit, Refresh makes them
// searchable. An index segment never changes, but its documents can be deleted: when a newer version of a URL is
// indexed, a bitmap marks the old one. Merge replaces several index segments of a size by one without the deleted
// documents, in one ingestion that also removes the old ones.
//
// An example. Two documents, 0 "Net repair" and 1 "Repair a net": term "net" has the list (0; title 1 time, at 0)
// (1; title 1 time, at 2), term "repair" (0; at 1) (1; at 0). The query "net repair" in quotes walks both lists
// together, meets at 0 and at 1, and keeps 0, where the positions follow each other.
//
// # Invariants
//
//   - A URL is alive in at most one index segment: the one that Located names.
//   - Scores depend only on the documents that are not deleted, not on how they are spread over index segments nor on
//     what was deleted.
//   - Digest is the same for the same documents, whatever their numbers, segments and merges.
//   - Hits are ordered by score times boost, then by URL key; the best k are exact.
//   - A search never waits for I/O of a Refresh, and sees one instant of the index from begin to end.
//   - Completions and near words are the same from memory and from the store, as long as the lexicons fit into their
//     part of Options.MemoryBytes; beyond it the rarest words are left out of them.
//   - A document without stored values or boost has no key in ranges s and b.
//
// # Who runs it
//
// Any number of goroutines search, each on the state that was current when it began: state.go counts references, and
// the last reader of an old state closes its snapshot. The first call for words of the vocabulary starts a goroutine
// for each index segment, which reads the segment's lexicon and holds the state meanwhile. Refresh loads the new state
// without a lock that readers take; several Refresh calls take turns. Close waits for all of them. One Builder or Merge
// works at a time: package engine ensures that.
//
// # Bounds
//
// limits.go: terms of a query, time of a search, hits, size of a posting value, and what a document may carry for its
// hits.
//
// # Deliberately absent
//
// The pages' texts: snippets are cut from the parse records, which the caller reads, or from Document.ShowText.
// Facets, search in stored fields, and dynamic pruning, for which block headers have room.
//
// # Read first
//
// postings.go, builder.go, then search.go.
package index
