// SPDX-License-Identifier: Apache-2.0

package index

import (
	"strings"

	"github.com/seine-crawler/seine/index/analysis"
)

// Query is a parsed query. The language:
//
//	torn mesh               pages with either word; those with both, and with rare words, come first
//	+torn mesh              torn is required, mesh adds to the score
//	mesh -torn              not with torn; also mesh NOT torn
//	"write-ahead log"       the words one after the other; required beside words
//	"torn mesh"~3           the same, up to three places apart or out of order
//	?"torn mesh" net        a quote, field or group that is preferred, not required
//	torn AND (mesh OR net)  both sides; either side, also with | in place of OR. AND binds tighter
//	mesh^2 "torn net"^0.5   counts twice, half; also after a group
//	fisher*                 words that begin so; in quotes only the last word: "the fisher*"
//	herring~1               words with one letter more, less or different; ~2 for two
//	title:mesh              in the title; also intitle:, url:, inurl:, anchor:, inanchor:, headings:, body:
//	title:(torn mesh)       a group, or a quote, in a field
//	site:python.org         on this host or a host below it; site:docs.python.org/3/ on this host below a path
//	host:python.org         on exactly this host, at any port; host:python.org:8080 at one
//	lang:de                 in this language, or in one of several: lang:de,fr, or lang:de lang:fr
//	type:pdf                of this type: a short name, or a media type such as text/html
//	date:2024-03..2024-06   from March to June; also 2024, 2024-03-31, >=2024-01-01
//	fetched:>=2024-06       fetched since June, of the capture that the index has; as date:
//	size:>10k               with a text of more than 10 × 1,024 bytes; a page without text has no size
//	color:red               with the word in a stored field of this name; also color:"deep red" and color:(red blue)
//	color:="Deep red"       with this whole value, as it was stored
//	price:9.5..20           with a number of this range; also price:>=10, price:<5
//
// Names of stored fields (Document.Stored) are known to Index.Search, not to ParseQuery and ParseStrict alone.
//
// Fields, quotes and filters are required where they stand beside words; filters alone find all their documents. Of
// several lang:, type:, site: or host: in a row without a sign or operator, one is enough; ParseStrict wants them said
// with OR or a list.
// Function words of English (how, do, I), and of the language that the others of a query tell, count only where there
// are no other words. A word with * or ~ stands for at most 64 words: the nearest, and of equally near ones those of
// most documents; in a stored field the first ones by alphabet. A word that the analyzer splits (os.path.join), and a
// run of Chinese, Japanese, Korean or Thai, means its parts, preferably in a row; in quotes, after a sign and beside an
// operator, in a row only. The zero Query finds nothing.
type Query struct {
	root  *node
	found *node              // root with the forms of its words, after a search
	idf   map[string]float64 // of the terms of found
}

// ParseQuery parses what a person typed: any text is a query, and what makes no sense as an operator is a word, or
// nothing. It reads at most 4 KiB and 64 terms, a word that is split and its row counting apart, and groups nested 16
// deep; it ignores what is beyond. Of the terms, words leave up to 32 to the filters behind them: a filter that
// somebody adds to a long text holds.
func ParseQuery(text string) Query { return parseQuery(forgiven(text), false, func(int, string) {}) }

// forgiven cuts a text to maxQuery bytes of UTF-8.
func forgiven(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxQuery)], " ")
}

// relaxQuery parses like ParseQuery, but quotes and + are preferences. Exclusions, operators, fields and filters stay
// strict.
func relaxQuery(known func(field string) bool, text string) Query {
	return parseQueryOf(known, forgiven(text), true, func(int, string) {})
}

// parseQuery tells fail what a strict query must not have.
func parseQuery(text string, relaxed bool, fail func(at int, message string)) Query {
	return parseQueryOf(nil, text, relaxed, fail)
}

// parseQueryOf is parseQuery where known says which stored fields there are.
func parseQueryOf(known func(field string) bool, text string, relaxed bool, fail func(at int, message string)) Query {
	p := newQueryParser(known, text, fail)
	p.relaxed = relaxed
	return Query{root: p.parse()}
}

func newQueryParser(known func(string) bool, text string, fail func(at int, message string)) *queryParser {
	l := lexer{text: text, fail: fail, known: known}
	p := &queryParser{lex: l.run(), fail: fail, analyzer: analysis.Analyzer{Parts: true}}
	for i := range p.lex {
		if p.lex[i].filters() {
			p.filters = min(p.filters+1, filterTerms)
		}
	}
	return p
}
