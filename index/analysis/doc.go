// SPDX-License-Identifier: Apache-2.0

// Package analysis turns text into terms, in the same way for documents and for queries, and knows which terms are
// forms of one word.
//
// # What it is
//
// An Analyzer walks text once and calls a function for each token: a term, its position and its place in the text. The
// terms are surface forms: words as they are written, but folded (NFKC, lower case, no accents). Stems are not terms. A
// Stemmer gives the stem under which the forms of one word meet in a language's table, and Related says which of those
// that meet may stand for each other. So the form that was typed can be preferred, and a wrong guess of a page's
// language loses other forms only.
//
// # Picture
//
//	"The os.path.join() of Bücher, C++ 北京大学"
//	   │ words: of ASCII eight bytes at once; others character by character, folded from tables
//	   ▼
//	the  os.path.join  of bucher c++ 北·北京 京·京大 大·大学 学     position +1 each; · same position
//	     os path join                                               parts: the first at the position of the whole
//
//	"pakete" de ──Stemmer──▶ paket ──forms of German texts──▶ paket, pakets, pakete ──Related──▶ all three
//	"university" en ───────▶ univers ────────────────────────▶ universe, universities ─────────▶ universities
//
// # Life
//
// A goroutine makes one Analyzer and reuses it; short terms come as a Word too, which callers find fast in tables of
// their own. A Stemmer is reused likewise, and keeps a bounded number of stems.
//
// # Invariants
//
//   - The same text gives the same terms wherever it occurs: a query finds the text that it was copied from. The
//     language of a text adds tokens (KindPiece) and changes none.
//   - Positions increase by one per word. A name (os.path, pg_dump.conf, utf-8) is its parts, one after the other, so a
//     phrase of the parts finds the whole and each part is found alone; and the whole, a term at the position of the
//     first part. Parts at capitals (setDefault) are at the position of the whole.
//   - What is written in full width (Ｃ＋＋, std：：vector), or a part of it, has the tokens of ASCII.
//   - Scripts written without spaces, and Hangul, become overlapping pairs of characters, plus each character alone, so
//     queries of one character work too. A vowel or tone mark of such a script belongs to its character.
//   - A term is at most MaxTerm bytes of valid UTF-8 and occurs once at a position.
//   - A stem follows from the folded form: with or without its accents, a word has the same one.
//   - The numbers of languages never change.
//
// # Who runs it
//
// An Analyzer or a Stemmer belongs to one goroutine. The functions may be called concurrently.
//
// # Bounds
//
// MaxTerm, the parts of a name, the nouns in a compound, the sizes of the caches. The tables of characters grow with
// the blocks of 256 that texts use, 2 KB each.
//
// # Deliberately absent
//
// Stop words: the query parser decides which words to ignore. A dictionary of Chinese, Japanese or Thai: pairs find
// more, and need no language guess. Compounds of other languages than German: what was measured is German. Stemmers of
// languages that Snowball's Go library lacks, such as Polish, Czech, Greek and Hindi: their words are found by form.
//
// # Read first
//
// analyzer.go, then code.go (names), wide.go (names in full width), words.go and fold.go (beyond ASCII), stemmer.go,
// related.go, derived.go, compound.go.
package analysis
