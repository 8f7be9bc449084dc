// SPDX-License-Identifier: Apache-2.0

package index

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seine-crawler/seine/index/analysis"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Query is a parsed query. The language:
//
//	asyncio gather          both words
//	linux OR bsd            either; AND binds tighter, parentheses group
//	"write-ahead log"       the words one after the other
//	-replication            not with this word
//	site:docs.python.org    on this host, or on any host of this domain
//	intitle:index           in the title
//
// Any text is a query: what makes no sense as an operator is a word. The zero Query finds nothing.
type Query struct {
	root  *node
	terms map[string]bool    // what snippets mark
	idf   map[string]float64 // of its terms, for snippets; nil: not known
}

// node is a part of a query.
type node struct {
	kind     nodeKind
	children []*node
	term     string
	field    int // -1: any
	prefix   string
}

type nodeKind uint8

const (
	nodeTerm   nodeKind = iota
	nodePhrase          // children are terms, each one position after the one before
	nodeAnd
	nodeOr
	nodeNot  // inside nodeAnd: its child must not match
	nodeSite // key prefix
)

// questionWords are left out of queries that have other words: people ask "how do I read a file", and manuals do not
// say "how do I".
var questionWords = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`
		a an and are as at be but by can could did do does for from had has have how i if in into is it its me my of on
		or should so that the their them then there these this to was we were what when where which who why will with
		would you your
	`) {
		m[w] = true
	}
	return m
}()

// ParseQuery parses a query of at most 4 KiB and 64 terms; it ignores what is beyond. It never fails; a query without
// words finds nothing.
func ParseQuery(text string) Query {
	if len(text) > maxQuery {
		text = text[:maxQuery]
	}
	p := queryParser{words: lexQuery(strings.ToValidUTF8(text, " ")), terms: map[string]bool{}}
	root := p.or(0)
	return Query{root: root, terms: p.terms}
}

// word is a lexical part of a query.
type word struct {
	text   string
	quoted bool
	op     byte // '(', ')', '|' for OR, 0 for a word
	minus  bool
	field  string // "site", "intitle", …
}

func lexQuery(s string) (words []word) {
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case unicode.IsSpace(r):
			s = s[n:]
			continue
		case r == '(' || r == ')':
			words = append(words, word{op: byte(r)})
			s = s[n:]
			continue
		}
		var w word
		if s[0] == '-' && len(s) > 1 && !unicode.IsSpace(rune(s[1])) {
			w.minus, s = true, s[1:]
		}
		if colon := strings.IndexByte(s, ':'); colon > 0 {
			switch f := strings.ToLower(s[:colon]); f {
			case "site", "intitle", "inurl", "inanchor":
				w.field, s = f, s[colon+1:]
			}
		}
		if strings.HasPrefix(s, `"`) {
			w.quoted = true
			w.text, s, _ = strings.Cut(s[1:], `"`)
		} else {
			end := wordEnd(s)
			w.text, s = s[:end], s[end:]
		}
		if !w.quoted && !w.minus && w.field == "" && (w.text == "OR" || w.text == "|" || w.text == "||") {
			w.op = '|'
		}
		words = append(words, w)
	}
	return words
}

// wordEnd returns the end of the word that s begins with. A closing parenthesis ends it if the word opens none for it.
func wordEnd(s string) int {
	opens := strings.Contains(s, "(")
	end := strings.IndexFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || r == '"' || r == ')' && !opens
	})
	if end < 0 {
		end = len(s)
	}
	w := s[:end]
	if at := strings.IndexByte(w, ')'); at >= 0 && strings.Count(w, "(") < strings.Count(w, ")") {
		return at
	}
	return end
}

type queryParser struct {
	words    []word
	analyzer analysis.Analyzer
	terms    map[string]bool
	count    int
}

// or parses alternatives up to a closing parenthesis.
func (p *queryParser) or(depth int) *node {
	var alternatives []*node
	for {
		if n := p.and(depth); n != nil {
			alternatives = append(alternatives, n)
		}
		if len(p.words) == 0 || p.words[0].op != '|' {
			break
		}
		p.words = p.words[1:]
	}
	switch len(alternatives) {
	case 0:
		return nil
	case 1:
		return alternatives[0]
	}
	return &node{kind: nodeOr, children: alternatives}
}

// and parses parts that must all match.
func (p *queryParser) and(depth int) *node {
	const maxDepth = 16
	row := &node{kind: nodeAnd}
	var weak []*node // question words, used only if there is nothing else
	positive := false
	for len(p.words) > 0 && p.words[0].op != '|' {
		w := p.words[0]
		if w.op == ')' {
			if depth > 0 {
				break
			}
			p.words = p.words[1:]
			continue
		}
		p.words = p.words[1:]
		if w.op == '(' {
			if depth < maxDepth {
				if n := p.or(depth + 1); n != nil {
					row.children = append(row.children, n)
					positive = true
				}
				if len(p.words) > 0 && p.words[0].op == ')' {
					p.words = p.words[1:]
				}
			}
			continue
		}
		n := p.part(&w)
		switch {
		case n == nil:
		case w.minus:
			row.children = append(row.children, &node{kind: nodeNot, children: []*node{n}})
		case !w.quoted && w.field == "" && questionWords[strings.ToLower(w.text)]:
			weak = append(weak, n)
		default:
			row.children = append(row.children, n)
			positive = positive || n.kind != nodeSite
		}
	}
	if !positive && len(weak) > 0 {
		row.children, positive = append(row.children, weak...), true
	}
	switch {
	case len(row.children) == 0:
		return nil
	case len(row.children) == 1 && row.children[0].kind != nodeNot:
		return row.children[0]
	}
	return row
}

// part makes a node of one word: a term, or a phrase if it is quoted or the analyzer splits it.
func (p *queryParser) part(w *word) *node {
	if w.field == "site" {
		return siteNode(w.text)
	}
	field := -1
	switch w.field {
	case "intitle":
		field = fieldTitle
	case "inurl":
		field = fieldURL
	case "inanchor":
		field = fieldAnchor
	}
	var terms []*node
	lastPos, lastEnd := -1, -1
	p.analyzer.Walk([]byte(w.text), 0, func(t analysis.Token) {
		if p.count >= maxTerms {
			return
		}
		// In scripts without spaces the analyzer emits each character and each pair. A pair replaces its first
		// character; its second one is left out. Only a character that is in no pair stays.
		if t.Position == lastPos && len(terms) > 0 {
			terms[len(terms)-1].term = string(t.Term)
			lastEnd = t.End
			return
		}
		if t.Single && t.End == lastEnd {
			return
		}
		p.count++
		lastPos, lastEnd = t.Position, t.End
		terms = append(terms, &node{kind: nodeTerm, term: string(t.Term), field: field})
	})
	if !w.minus {
		for _, t := range terms {
			p.terms[t.term] = true
		}
	}
	switch len(terms) {
	case 0:
		return nil
	case 1:
		return terms[0]
	}
	return &node{kind: nodePhrase, children: terms, field: field}
}

// siteNode restricts a query to a host and all hosts below it: they share a prefix of keys.
func siteNode(text string) *node {
	h, err := urlkey.ParseHost(strings.Trim(strings.TrimPrefix(strings.TrimPrefix(text, "http://"), "https://"), "/"))
	if err != nil {
		return &node{kind: nodeSite, prefix: "\x00"} // no such site: nothing matches
	}
	return &node{kind: nodeSite, prefix: strings.TrimSuffix(string(h), ")")}
}
