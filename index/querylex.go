// SPDX-License-Identifier: Apache-2.0

package index

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// lexeme is a lexical part of a query, with the sign and the field before it and the operators behind it.
type lexeme struct {
	kind   lexKind
	at     int // where it begins: byte offset, behind sign and field
	text   string
	sign   byte // '+', '-', '?' or 0
	field  *queryField
	number int  // behind ~: slop of a quote, edits of a word; -1 for none
	prefix bool // * ends the word, or the last one of a quote
	boost  float64
	whole  bool // of a stored field: = asks for the whole value
}

// filters reports whether a lexeme is a value of a filter.
func (x *lexeme) filters() bool { return x.field != nil && x.field.value != nil && x.kind != lexOpen }

type lexKind uint8

const (
	lexWord lexKind = iota
	lexQuote
	lexOpen
	lexClose
	lexAnd
	lexOr
	lexNot
)

// queryField is what a name before a colon means: words in fields, or a filter.
type queryField struct {
	name  string
	mask  fieldMask
	value func(*queryField, string) (*node, error) // nil for words

	of     valueKind // what a filter of parseTime compares
	stored bool      // the name is that of a stored field
	either bool      // a filter of which one of several in a row is enough
}

// Masks of the fields that queries name. headingsMask is the field of headings, which are also in the body.
const (
	titleMask    fieldMask = 1 << fieldTitle
	anchorMask   fieldMask = 1 << fieldAnchor
	urlMask      fieldMask = 1 << fieldURL
	bodyMask     fieldMask = 1<<fieldBody | 1<<fieldAround
	headingsMask fieldMask = 1 << 5
)

var queryFields = map[string]*queryField{
	"title": {name: "title", mask: titleMask}, "intitle": {name: "intitle", mask: titleMask},
	"anchor": {name: "anchor", mask: anchorMask}, "inanchor": {name: "inanchor", mask: anchorMask},
	"url": {name: "url", mask: urlMask}, "inurl": {name: "inurl", mask: urlMask},
	"headings": {name: "headings", mask: headingsMask},
	"body":     {name: "body", mask: bodyMask},
	"site":     {name: "site", value: parseSite, either: true},
	"host":     {name: "host", value: parseSite, either: true},
	"lang":     {name: "lang", value: parseLanguage, either: true},
	"type":     {name: "type", value: parseType, either: true},
	"date":     {name: "date", value: parseTime, of: valueDate},
	"fetched":  {name: "fetched", value: parseTime, of: valueFetched},
	"size":     {name: "size", value: parseSize},
}

// lexer cuts a query into lexemes. It never fails; what a strict query must not have goes to fail.
type lexer struct {
	text string
	at   int
	fail func(at int, message string)
	out  []lexeme

	known func(field string) bool // whether the index has a stored field; nil: none
}

func isQuote(r rune) bool { return r == '"' || r == '“' || r == '”' || r == '„' }

func (l *lexer) run() []lexeme {
	for l.at < len(l.text) {
		r, n := utf8.DecodeRuneInString(l.text[l.at:])
		switch {
		case unicode.IsSpace(r):
			l.at += n
		case r == ')':
			l.at++
			x := lexeme{kind: lexClose, at: l.at - 1, number: -1}
			l.suffix(&x)
			l.out = append(l.out, x)
		case !l.operator():
			l.part()
		}
	}
	return l.out
}

// operator takes AND, OR, NOT and | if they stand alone.
func (l *lexer) operator() bool {
	rest := l.text[l.at:]
	for _, o := range []struct {
		text string
		kind lexKind
	}{{"AND", lexAnd}, {"OR", lexOr}, {"NOT", lexNot}, {"||", lexOr}, {"|", lexOr}} {
		after, ok := strings.CutPrefix(rest, o.text)
		r, _ := utf8.DecodeRuneInString(after)
		if ok && (after == "" || unicode.IsSpace(r) || isQuote(r) || r == '(' || r == ')') {
			l.out = append(l.out, lexeme{kind: o.kind, at: l.at, text: o.text, number: -1})
			l.at += len(o.text)
			return true
		}
	}
	return false
}

// part takes a word, a quote or the opening of a group.
func (l *lexer) part() {
	x := lexeme{at: l.at, number: -1}
	if c := l.text[l.at]; (c == '+' || c == '-' || c == '?') && !l.ends(l.at+1) &&
		!strings.HasPrefix(l.text[l.at:], "--") { // "--help" is a word
		x.sign = c
		l.at++
	}
	l.name(&x)
	x.at = l.at
	r, n := utf8.DecodeRuneInString(l.text[l.at:])
	if isQuote(r) {
		if end := strings.IndexFunc(l.text[l.at+n:], isQuote); end >= 0 {
			x.kind, x.text = lexQuote, l.text[l.at+n:l.at+n+end]
			if !x.whole {
				x.cutStar()
			}
			l.at += n + end
			_, n = utf8.DecodeRuneInString(l.text[l.at:])
			l.at += n
			l.suffix(&x)
			l.out = append(l.out, x)
			return
		}
		l.fail(l.at, `quote without its end`)
		l.at += n
		if l.ends(l.at) {
			return
		}
		r, _ = utf8.DecodeRuneInString(l.text[l.at:])
	}
	if r == '(' {
		x.kind = lexOpen
		l.at++
		l.out = append(l.out, x)
		return
	}
	x.at = l.at
	l.at = wordEnd(l.text, x.at)
	x.text = l.text[x.at:l.at]
	if x.field == nil || x.field.value == nil && !x.whole {
		l.wordSuffix(&x)
	}
	l.out = append(l.out, x)
}

// ends reports whether no word, quote or group begins at a place.
func (l *lexer) ends(at int) bool {
	r, _ := utf8.DecodeRuneInString(l.text[at:])
	return at >= len(l.text) || unicode.IsSpace(r) || r == ')'
}

// name takes the name of a field and its colon.
func (l *lexer) name(x *lexeme) {
	if l.storedName(x) {
		return
	}
	rest := l.text[l.at:]
	colon := fieldNameEnd(rest)
	if colon == 0 || colon >= len(rest) || rest[colon] != ':' || rest[0]|0x20 < 'a' || rest[0]|0x20 > 'z' {
		return
	}
	f := queryFields[strings.ToLower(rest[:colon])]
	switch {
	case f != nil && l.ends(l.at+colon+1):
		l.fail(l.at+colon+1, rest[:colon+1]+" needs something directly after it")
	case f != nil:
		x.field = f
		l.at += colon + 1
	case colon+1 == len(rest) || rest[colon+1] != ':' && rest[colon+1] != '/':
		l.fail(l.at, "unknown field "+strconv.Quote(rest[:colon])+"; put a word with a colon in quotes")
	}
}

// wordEnd returns the end of the word at a place: a space, a quote, or a closing parenthesis that the word does not
// open. "main()" is a word.
func wordEnd(s string, from int) int {
	depth := 0
	for i, r := range s[from:] {
		switch {
		case unicode.IsSpace(r), isQuote(r), r == ')' && depth == 0:
			if i > 0 {
				return from + i
			}
			return from + utf8.RuneLen(r) // a quote without its end behind another
		case r == '(':
			depth++
		case r == ')':
			depth--
		}
	}
	return len(s)
}

// wordSuffix takes what ends a word: * for a prefix, ~1 or ~2 for fuzzy, ^ and a number for its boost.
func (l *lexer) wordSuffix(x *lexeme) {
	if i := strings.LastIndexByte(x.text, '^'); i > 0 && l.boost(x, x.text[i+1:], x.at+i) {
		x.text = x.text[:i]
	}
	if n := len(x.text); n > 2 && x.text[n-2] == '~' && '0' <= x.text[n-1] && x.text[n-1] <= '9' {
		x.number = int(x.text[n-1] - '0')
		x.text = x.text[:n-2]
	}
	x.cutStar()
}

// cutStar takes the * that ends a word, or the last word of a quote.
func (x *lexeme) cutStar() {
	t := strings.TrimRight(x.text, "*")
	r, _ := utf8.DecodeLastRuneInString(t)
	if t != "" && t != x.text && !unicode.IsSpace(r) {
		x.text, x.prefix = t, true
	}
}

// suffix takes what directly follows a quote or a group: ~ and a number, ^ and a number.
func (l *lexer) suffix(x *lexeme) {
	rest := l.text[l.at:]
	if x.kind == lexQuote && len(rest) > 1 && rest[0] == '~' {
		n := 0
		for n < len(rest)-1 && n < 9 && '0' <= rest[n+1] && rest[n+1] <= '9' {
			n++
		}
		if n > 0 {
			x.number, _ = strconv.Atoi(rest[1 : n+1])
			if x.number > maxSlop {
				l.fail(l.at, "a slop is at most "+strconv.Itoa(maxSlop))
				x.number = maxSlop
			}
			rest = rest[n+1:]
			l.at += n + 1
		}
	}
	if rest == "" || rest[0] != '^' {
		return
	}
	n := 1
	for n < len(rest) && (rest[n] == '.' || '0' <= rest[n] && rest[n] <= '9') {
		n++
	}
	if l.boost(x, rest[1:n], l.at) {
		l.at += n
	}
}

// boost sets the boost that a text states, and reports whether it states one: a number above 0.
func (l *lexer) boost(x *lexeme, number string, at int) bool {
	for _, c := range []byte(number) {
		if c != '.' && (c < '0' || c > '9') {
			number = ""
		}
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || f <= 0 {
		l.fail(at, "^ needs a number above 0 behind it")
		return false
	}
	if x.boost = roundBoost(f); f < boostStep/2 || f > boostMax {
		l.fail(at, "a boost is from 0.001 to 1000")
	}
	return true
}
