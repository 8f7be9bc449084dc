// SPDX-License-Identifier: Apache-2.0

// Package analysis turns text into terms, in the same way for documents and for queries.
//
// # What it is
//
// An Analyzer walks text once and calls a function for each term, with its position and its place in the text.
//
// # Picture
//
//	"The os.path.join() of Bücher, C++ 北京大学"
//	   │ words: ASCII by our own rules, the rest by UAX #29
//	   ▼
//	the os path join of bucher c++ 北·北京 京·京大 大·大学 学      position +1 each; · same position
//	   │ case and accents folded, English stems
//	   ▼
//	the os path join of bucher c++ 北 北京 …
//
// # Life
//
// A goroutine makes one Analyzer and reuses it; the Analyzer keeps a bounded cache of stems.
//
// # Invariants
//
//   - The same text gives the same terms wherever it occurs: a query finds the text that it was copied from.
//   - Positions increase by one per word. A compound (os.path, pg_dump, utf-8) becomes its parts, one after the other,
//     so a phrase of the parts finds the whole and each part is found alone.
//   - Scripts written without spaces, and Hangul, become overlapping pairs of characters, plus each character alone, so
//     queries of one character work too.
//   - A term is at most MaxTerm bytes of valid UTF-8.
//
// # Who runs it
//
// An Analyzer belongs to one goroutine.
//
// # Bounds
//
// MaxTerm, and the size of the stem cache.
//
// # Deliberately absent
//
// Stop words: the query parser decides which words to ignore. Stemming of languages other than English: words are ASCII
// after folding, and one stemmer for all keeps queries independent of a language guess.
//
// # Read first
//
// analyzer.go.
package analysis
