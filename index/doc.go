// SPDX-License-Identifier: Apache-2.0

// Package index is the inverted index of a crawl, in key ranges of the store.
//
// # What it is
//
// Immutable index segments, each a set of key ranges written by one ingestion; a directory that says where each URL is
// indexed; and a searcher that ranks by BM25F over title, headings, anchors, URL and body. A word of the body outside
// of the main content counts half. Scores are multiplied by a document's boost and, as an option, its freshness.
//
// # Picture
//
//	Document ─▶ Builder ─▶ terms ──────────▶ range t: term → row: documents, largest impact, directory of blocks;
//	  in key     inverts                               short lists whole
//	  order      in memory   long lists ───▶ range p: list, chunk → blocks of 128 documents: gaps or bitmap, fields,
//	                                                   frequencies
//	                                         range q: list, chunk → positions
//	                       forms ──────────▶ range m: language, stem, 0 → words with the stem
//	                       documents ──────▶ range d: 64 documents → URL keys, front-coded, and stamps
//	                       lengths ────────▶ range n: 8,192 documents → one byte a field
//	                       values ─────────▶ range v: 8,192 documents, column → language, type, host, size, group,
//	                                                 dates of the page and of its fetch
//	                       stored fields ──▶ range t too: words, whole values and numbers, below a byte no word has
//	                       stored values ──▶ range s: document → fields, date, author, title and text to show,
//	                                                 and where the words of a long text are
//	                       boosts ─────────▶ range b: 8,192 documents → factors of scores
//	                       terms, forms ───▶ range f: a filter that says which it lacks; only of a small segment
//	                       directory ──────▶ Located: URL key → index segment, document, stamp
//	                       older versions ─▶ deletes: index segment → bitmap
//
//	text ─ParseQuery, ParseStrict─▶ Query: tree ─expand─▶ tree of terms
//	     ─▶ per index segment: iterators over blocks of lists ─▶ scores × boosts ─▶ the best k, counts
//	     ─▶ coverage, proximity, language ─▶ without hits that crowd ─▶ Hits
//	     ─▶ all matches, as bits ─▶ hits by time or size, counts of values, further matches of a host
//	words that are used again ─▶ held words: documents, weights, positions in memory, which a search walks in place of
//	                             lists
//	typed text ─▶ lexicons: terms in memory ─▶ completions, near words, did you mean
//	positions in a hit ─▶ parts of its text ─▶ marker: places of the query's words ─▶ the best sentences ─▶ Snippet
//
// # Life
//
// A Builder creates index segments. It takes documents in URL-key order and numbers them in that order, so a host is an
// interval of numbers. Finish writes the postings into the caller's ingestion; after its commit, Refresh makes them
// searchable. An index segment never changes, but its documents can be deleted: when a newer version of a URL is
// indexed, a bitmap marks the old one. Merge replaces several index segments of a size by one without the deleted
// documents, and writes a segment again of which a fifth is deleted; MergeTo leaves a few, such as one, of an index
// that is to stay as it is. A Reanchoring copies index segments of which many documents get other anchors. Merges work
// beside searches and Builders, in the steps that merge.go lists, and read and write everything in order; in memory are
// four bytes a document, or less than one where those are too many (renumber.go), and a block of each range of each
// source. Options.MergeBytes bounds these, and so the largest index segment that a merge makes. Beside them are some
// MiB of words that no document has any more (gonewords.go).
//
// An example. Two documents, 0 "Net repair" and 1 "Repair a net": term "net" has the list (0; title 1 time, at 0)
// (1; title 1 time, at 2), term "repair" (0; at 1) (1; at 0). The query "net repair" in quotes walks both lists
// together, meets at 0 and at 1, and keeps 0, where the positions follow each other. Both lists are tiny, so each is
// its term's row.
//
// # Invariants
//
//   - A URL is alive in at most one index segment: the one that Located names, or the one that this was merged into.
//   - Index segments of another format than this version's are refused by Open with ErrFormat; none is read by halves.
//   - A block's impact code is a bound of what each of its postings adds to a score before saturation, for the weights
//     and average lengths that segmentInfo names.
//   - Lists are numbered in the order of their terms, and chunks follow each other, so a merge reads each range once.
//   - Scores see the coded length of a field only (norm.go), and so do the averages, which are rounded (points.go).
//   - Scores depend only on the documents that are not deleted, not on how they are spread over index segments nor on
//     what was deleted. Two exceptions: where more than 64 words fit a * or a ~, both count in the choice; and a form
//     that deleted documents of a language had is one of its word while documents of any language have it.
//   - Digest is the same for the same documents, whatever their numbers, segments and merges, and times of fetches.
//   - A document whose index segment lacks a column has not that value: it fits no range of it, and comes last by it.
//   - Hits are ordered by score times boost times freshness, then by URL key; the best k are exact. Beside another
//     Order, the value comes before the score.
//   - The value of a hit's explanation is its score: explaining asks the iterators that scored, once more.
//   - With PerHost or Collapse, hits are those of the search without them, in their order, without each that has enough
//     of its host, or one of its group, before it. Total and facets count all matches.
//   - A Query's tree has a normal form: printed and parsed again it is the same. What ParseStrict accepts, ParseQuery
//     understands the same.
//   - Without Strict, a search that finds nothing is repeated once with quotes and + as preferences; exclusions,
//     operators, fields and filters hold.
//   - A search never waits for I/O of a Refresh, and sees one instant of the index from begin to end.
//   - Completions and near words are the same from memory and from the store, as long as the lexicons fit into their
//     part of Options.MemoryBytes; beyond it the rarest words are left out of them.
//   - A document without stored values or boost has no key in ranges s and b, a block of documents without a value none
//     in range v.
//   - Bytes read from disk that are damaged are a storage.ErrCorrupt; no decoder trusts a length.
//
// # Who runs it
//
// Any number of goroutines search, each on the state that was current when it began: state.go counts references, and
// the last reader of an old state closes its snapshot. A search with much to read has goroutines of its own, as many
// as its share of Options.Processors (together.go, windowed.go), which end before it returns. The first call for words
// of the vocabulary starts a goroutine for each index segment, which reads the segment's lexicon and holds the state
// meanwhile. What searches find worth holding is made behind them, by one goroutine (holdlater.go). Refresh loads the
// new state without a lock that readers take; several Refresh calls take turns. Close waits for all of them. One
// Builder works at a time, under the lock Writing if merges run beside it: package engine ensures that. Merges take
// turns, and the lock for short steps. While there are searches, merges, Builders and what is held behind searches give
// way, and merges to what Yield stands for (pace.go); package engine has its phases do so. With Options.Builders above
// 1 a Builder inverts on as many goroutines (worker.go), which end before Finish or Abort returns, or on those of its
// caller (builderpart.go).
//
// # Bounds
//
// limits.go: bytes, terms, depth and forms of a query, time of a search, hits, and what a document may carry for its
// hits, and what of a stored field queries can name. positions.go: the occurrences of a term in a field of a document
// that are kept. budget.go: the work between two looks at the clock. recent.go: the rows and keys that searches keep in
// memory, an eighth of Options.MemoryBytes; state.go: what is known of words and of queries, 4.5 MiB. keyfilter.go: the
// filters of small index segments, 10 bits a term. held.go: the words, the columns of facets and the filters of values
// that they hold, Options.HeldBytes.
//
// # Deliberately absent
//
// The pages' texts: snippets are cut from the parse records, which the caller reads, or from Document.ShowText.
// Stored fields in the words of a document: queries name the field. Orders by stored fields.
//
// # Read first
//
// group.go, block.go, listwriter.go and keyfilter.go for the format; builder.go, segmentbuilder.go and inverter.go for
// its making; query.go (the language), querytree.go and functionwords.go; then search.go, exec.go, iterator.go,
// wand.go, tally.go and windows.go; held.go, holdlater.go, helddocs.go, heldpositions.go, exec_held.go,
// exec_heldany.go, sieve.go and heldphrase.go; together.go and windowed.go; for values, exec_value.go, order.go,
// facets.go, matches.go and collapse.go; fieldterms.go for stored fields; snippet.go, near.go and wordsteps.go for
// snippets.
package index
