// SPDX-License-Identifier: Apache-2.0

// Package relevance judges what a search engine returns: test collections with judged documents, known items, and
// questions about Debian's manuals. It knows no engine: an engine is a function from a query to a ranked list.
//
// # What it is
//
// Three tests with one form of result, Scores:
//
//   - Collections (collection.go): Cranfield and CACM, with topics and judgements by people. Measures are those of
//     trec_eval: mean average precision, nDCG at 10, precision at 10.
//   - Known items (known.go): the text of a link is a query, and the page that it leads to is the one right answer.
//     Measures: mean reciprocal rank, success at 1 and at 10.
//   - Questions (questions.go, questions.txt): forty questions in four languages with the pages that answer them.
//     Measure: how many have a right page among the first three.
//
// # Picture
//
//	archives ─▶ Cranfield, CACM ─▶ Collection ─┐
//	folders of HTML ─▶ ReadTree ─▶ Tree ───────┼─▶ documents ─▶ an engine's index
//	                      ├─▶ KnownItems ──────┤                       │
//	                      └─▶ Questions ───────┴─▶ queries ─▶ Search ──┴─▶ Scores
//
// # Life
//
// A reader makes documents and queries; the caller indexes the documents; Run, RunKnown or RunQuestions sends every
// query to the caller's Search and adds up the measures.
//
// # Invariants
//
//   - Queries reach the engine as they are in the collection, without any change.
//   - The same files give the same documents, queries and order of both.
//   - A topic without a relevant document does not count in means, as in trec_eval; an empty answer counts as 0.
//
// # Who runs it
//
// bench/measure for seine, bench/peers for seine beside Lucene, tantivy and bleve. Nothing is shared between calls.
//
// # Bounds
//
// Collections and trees are in memory: 3,204 documents, and some thousands of pages. ReadTree skips files above 4 MiB.
//
// # Deliberately absent
//
// Indexing and the engines: see bench/measure and bench/peers. Statistical tests between two rankings.
//
// # Read first
//
// measures.go, then collection.go.
package relevance
