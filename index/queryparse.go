// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seine-crawler/seine/index/analysis"
)

// queryParser makes the tree of a query. The grammar, from what binds least:
//
//	row     = { or }                            words are alternatives, strict parts are required
//	or      = and { ( "OR" | "|" ) and }
//	and     = part { "AND" part }
//	part    = "NOT" part | [ sign ] [ field ] ( word | quote | "(" row ")" )
//
// It takes every lexeme and never fails. What a strict query must not have goes to fail, where ParseStrict takes the
// first. So what ParseStrict accepts means the same to ParseQuery.
type queryParser struct {
	lex      []lexeme
	next     int
	analyzer analysis.Analyzer
	count    int  // terms so far
	filters  int  // terms that are kept for the filters ahead
	relaxed  bool // quotes and + are preferences
	fail     func(at int, message string)
}

// scope is what a part inherits from the groups around it.
type scope struct {
	fields fieldMask // of title:(…)
	stored string    // name of the stored field
	exact  bool      // excluded: a compound is its phrase only
	depth  int       // of parentheses
}

// clause is a part of a row with its role there.
type clause struct {
	n    *node // nil: no words
	role role
	// either is the field of a filter that may stand beside another of its kind: a page has one language, one type and
	// one host, so who names two means either.
	either *queryField
	at     int // of a filter, for messages
}

type role uint8

const (
	optional role = iota
	required
	excluded
)

// node returns the clause outside of a row.
func (p *queryParser) node(c clause) *node {
	if c.role != excluded || c.n == nil {
		return c.n
	}
	return p.bool(nil, nil, []*node{c.n})
}

func (p *queryParser) bool(must, should, not []*node) *node {
	n, cut := newBool(must, should, not)
	if cut {
		p.fail(p.place(), tooDeep)
	}
	return n
}

// place returns where the current lexeme begins, for messages.
func (p *queryParser) place() int {
	if p.next < len(p.lex) {
		return p.lex[p.next].at
	}
	if p.next == 0 {
		return 0
	}
	return p.lex[min(p.next, len(p.lex))-1].at
}

func (p *queryParser) peek(k lexKind) bool { return p.next < len(p.lex) && p.lex[p.next].kind == k }

// parse returns the tree of the whole query.
func (p *queryParser) parse() *node { return p.row(scope{}).withoutFunctionWords() }

// row parses up to a closing parenthesis, or all.
func (p *queryParser) row(c scope) *node {
	var must, should, not []*node
	var filters []filterAt
	for p.next < len(p.lex) {
		if p.peek(lexClose) {
			if c.depth > 0 {
				break
			}
			p.fail(p.place(), `")" without "("`)
			p.next++
			continue
		}
		switch part := p.or(c); part.role {
		case required:
			if part.either != nil {
				at := slices.IndexFunc(filters, func(f filterAt) bool { return f.field == part.either })
				if at >= 0 {
					n := &must[filters[at].place]
					*n = p.either(*n, part)
					continue
				}
				filters = append(filters, filterAt{part.either, len(must)})
			}
			must = append(must, part.n)
		case excluded:
			not = append(not, part.n)
		default:
			should = append(should, part.n)
		}
	}
	return p.bool(must, should, not)
}

// filterAt is a filter of a row, and its place among the required parts.
type filterAt struct {
	field *queryField
	place int
}

// either returns a filter that lets pass what n or another filter of its field does.
func (p *queryParser) either(n *node, other clause) *node {
	f := other.either
	p.fail(other.at, f.name+": stands twice: put OR between them")
	if n.kind == nodeValue {
		list := strings.TrimPrefix(n.term, f.name+":") + "," + strings.TrimPrefix(other.n.term, f.name+":")
		if both, err := f.value(f, list); err == nil {
			return both
		}
	}
	return p.bool(nil, []*node{n, other.n}, nil)
}

// or parses alternatives.
func (p *queryParser) or(c scope) clause {
	first := p.and(c)
	if !p.peek(lexOr) {
		return first
	}
	parts := []*node{p.node(first)}
	for p.peek(lexOr) {
		at, text := p.place(), p.lex[p.next].text
		p.next++
		part, ok := p.operand(c, p.and)
		if !ok {
			p.fail(at, text+" needs something behind it")
			break
		}
		parts = append(parts, p.node(part))
	}
	for _, n := range parts {
		if n != nil && n.plain() && functionWords[n.term] != 0 {
			n.boost = 1 // who puts it beside OR means it
		}
	}
	n := p.bool(nil, parts, nil)
	return clause{n: n, role: n.role(0)}
}

// role is that of a part with a sign in a row.
func (n *node) role(sign byte) role {
	switch {
	case sign == '-':
		return excluded
	case sign == '+', sign != '?' && n != nil && n.strict():
		return required
	}
	return optional
}

// and parses parts that must all match.
func (p *queryParser) and(c scope) clause {
	first := p.part(c)
	if !p.peek(lexAnd) {
		return first
	}
	var must, not []*node
	add := func(part clause) {
		if part.role == excluded {
			not = append(not, part.n)
		} else {
			must = append(must, part.n)
		}
	}
	add(first)
	for p.peek(lexAnd) {
		at := p.place()
		p.next++
		part, ok := p.operand(c, p.part)
		if !ok {
			p.fail(at, "AND needs something behind it")
			break
		}
		add(part)
	}
	return clause{n: p.bool(must, nil, not), role: required}
}

// operand parses what follows an operator; ok is false if nothing does.
func (p *queryParser) operand(c scope, parse func(scope) clause) (part clause, ok bool) {
	if p.next == len(p.lex) || p.peek(lexClose) {
		return clause{}, false
	}
	return parse(c), true
}

// part parses a word, a quote, a group, or one of these after NOT. Operators with nothing before them are left out.
func (p *queryParser) part(c scope) clause {
	for p.peek(lexAnd) || p.peek(lexOr) {
		p.fail(p.place(), p.lex[p.next].text+" needs something before it")
		p.next++
	}
	if p.next == len(p.lex) || p.peek(lexClose) {
		return clause{}
	}
	before := p.next
	x := &p.lex[p.next]
	p.next++
	switch x.kind {
	case lexNot:
		inner := c
		inner.exact = true
		part, ok := p.operand(inner, p.part)
		if !ok {
			p.fail(x.at, "NOT needs something behind it")
		}
		return clause{n: p.node(part), role: excluded}
	case lexOpen:
		return p.group(c, x)
	}
	operator := c.exact || p.binary(before+1) || before > 0 && (p.binary(before-1) || p.lex[before-1].kind == lexNot)
	return p.leaf(c, x, operator)
}

// binary reports whether a lexeme is AND or OR.
func (p *queryParser) binary(i int) bool {
	return i < len(p.lex) && (p.lex[i].kind == lexAnd || p.lex[i].kind == lexOr)
}

// group parses what is in parentheses, behind the opening one.
func (p *queryParser) group(c scope, x *lexeme) clause {
	inner := c
	inner.depth++
	inner.exact = c.exact || x.sign == '-'
	if inner.depth == maxDepth+1 {
		p.fail(x.at, tooDeep)
	}
	if x.field != nil {
		if x.field.value != nil {
			p.fail(x.at, x.field.name+": takes a value, not a group")
		} else {
			inner.fields, inner.stored = x.field.mask, x.field.storedName()
		}
	}
	empty := p.peek(lexClose)
	n := p.row(inner)
	switch {
	case !p.peek(lexClose):
		p.fail(x.at, `"(" without ")"`)
	case empty:
		p.fail(x.at, `"()" holds nothing`)
		p.next++
	default:
		if f := p.lex[p.next].boost; f != 0 && n != nil {
			n.scale(f)
		}
		p.next++
	}
	return clause{n: n, role: n.role(p.sign(x.sign))}
}

// sign returns a sign, without a + that is only a preference.
func (p *queryParser) sign(sign byte) byte {
	if p.relaxed && sign == '+' {
		return 0
	}
	return sign
}

// leaf makes the clause of a word or quote. One beside an operator, signed or excluded is not relaxed into its parts.
func (p *queryParser) leaf(c scope, x *lexeme, operator bool) clause {
	fields, stored := c.fields, c.stored
	if x.field != nil {
		if x.field.value != nil {
			return p.value(c, x)
		}
		fields, stored = x.field.mask, x.field.storedName()
		if n := p.stored(x); n != nil {
			p.unscored(x)
			if !p.take(x, 1) {
				n = nil
			}
			return clause{n: n, role: n.role(x.sign)}
		}
	}
	relaxed := p.relaxed && !operator && x.sign != '-' && fields == 0
	quoted := x.kind == lexQuote && !relaxed
	named := x.field != nil
	tokens := p.tokens(x)
	if stored != "" {
		for i := range tokens {
			tokens[i].term = fieldTerm(stored, fieldTermWord) + tokens[i].term
		}
	}
	var n *node
	switch {
	case len(tokens) == 0:
		return clause{}
	case len(tokens) == 1:
		n = p.single(x, &tokens[0], fields)
	default:
		bare := !operator && !named && !quoted && !x.prefix
		n = p.words(x, tokens, fields, bare && (x.sign == 0 || x.sign == '?' || relaxed))
	}
	if n == nil {
		return clause{}
	}
	if x.boost != 0 {
		n.scale(x.boost)
	}
	switch {
	case x.sign == '-':
		return clause{n: n, role: excluded}
	case x.sign == '+' && !relaxed, x.sign != '?' && (quoted || named):
		return clause{n: n, role: required}
	}
	return clause{n: n, role: optional}
}

// single makes a node of a word of one term.
func (p *queryParser) single(x *lexeme, t *token, fields fieldMask) *node {
	n := &node{kind: nodeTerm, term: t.term, fields: fields}
	if x.prefix && !t.pair {
		n.kind = nodePrefix
	}
	switch {
	case x.number < 0 || x.kind == lexQuote:
	case x.number == 0 || x.number > maxEdits:
		p.fail(x.at, "a word takes ~1 or ~2")
		fallthrough
	default:
		if n.kind == nodePrefix {
			p.fail(x.at, "a word takes * or ~, not both")
		} else if x.number > 0 && !t.pair {
			n.kind, n.edits = nodeFuzzy, min(x.number, maxEdits)
		}
	}
	if t.pair && (x.prefix || x.number > 0 && x.kind == lexWord) {
		p.fail(x.at, "* and ~ need a word of letters")
	}
	if !p.take(x, 1) {
		return nil
	}
	return n
}

// words makes a node of several terms: their phrase, or with loose an alternative of the phrase and each of them.
func (p *queryParser) words(x *lexeme, tokens []token, fields fieldMask, loose bool) *node {
	if x.kind == lexWord && x.number >= 0 {
		p.fail(x.at, strconv.Quote(x.text)+" is several words: ~ takes one, or a quote")
	}
	phrase := func() *node {
		n := &node{kind: nodePhrase, fields: fields}
		if x.kind == lexQuote {
			n.slop = max(x.number, 0)
		}
		var label []byte
		for i := range tokens {
			t := &tokens[i]
			n.children = append(n.children, &node{kind: nodeTerm, term: t.term})
			n.at = append(n.at, t.position-tokens[0].position)
			if i > 0 && !t.joined {
				label = append(label, ' ')
			}
			label = append(label, t.label...)
		}
		n.term = string(label)
		if last := len(tokens) - 1; x.prefix && !tokens[last].pair {
			n.children[last].kind = nodePrefix
			n.term += "*"
		}
		return n
	}
	if !loose {
		if !p.take(x, len(tokens)) {
			tokens = tokens[:p.room()]
			p.count += len(tokens)
		}
		switch len(tokens) {
		case 0:
			return nil
		case 1:
			return &node{kind: nodeTerm, term: tokens[0].term, fields: fields}
		}
		return phrase()
	}
	if n := p.room(); len(tokens) > n {
		p.take(x, len(tokens))
		tokens = tokens[:n]
	}
	p.count += len(tokens)
	var parts []*node
	if len(tokens) > 1 && len(tokens) <= p.room() {
		p.count += len(tokens)
		parts = append(parts, phrase())
	}
	for i := range tokens {
		parts = append(parts, &node{kind: nodeTerm, term: tokens[i].term, fields: fields})
	}
	return p.bool(nil, parts, nil)
}

// room returns how many terms may follow.
func (p *queryParser) room() int { return max(0, maxTerms-p.filters-p.count) }

// take counts n terms and reports whether they fit.
func (p *queryParser) take(x *lexeme, n int) bool {
	if n > p.room() {
		p.fail(x.at, fmt.Sprintf("a query has at most %d words", maxTerms))
		return false
	}
	p.count += n
	return true
}

// token is a term of a word or quote.
type token struct {
	term     string
	position int
	end      int    // of its text, in bytes
	label    string // its text for String: of a pair, the character that it adds
	pair     bool   // of a script without spaces
	joined   bool   // its label directly follows the one before
}

// tokens returns the terms of a text. In scripts without spaces the analyzer emits each character and each pair. A pair
// replaces its first character, its second one is left out, and only a character that is in no pair stays.
func (p *queryParser) tokens(x *lexeme) (out []token) {
	text := x.text
	if x.kind == lexWord && (x.field == nil || x.field.mask == urlMask) {
		text = urlWords(text) // as a document's URL is indexed, so a pasted one finds its page
	}
	p.analyzer.Walk([]byte(text), 0, func(t *analysis.Token) {
		var last *token
		if len(out) > 0 {
			last = &out[len(out)-1]
		}
		switch {
		case last != nil && t.Position == last.position && !last.pair: // a part of setDefault, which is a term
		case last != nil && t.Position == last.position:
			before := last.term
			last.term, last.end = string(t.Term), t.End
			if last.joined {
				last.label = string(bytes.TrimPrefix(t.Term, []byte(before)))
			} else {
				last.label = last.term
			}
		case t.Single && last != nil && last.pair && t.End == last.end:
			// The second character of a pair: the pair that it begins, if any, joins that one.
			out = append(out, token{term: string(t.Term), position: t.Position, end: t.End, pair: true, joined: true})
		default:
			w := string(t.Term)
			out = append(out, token{term: w, position: t.Position, end: t.End, label: w, pair: t.Single})
		}
	})
	// A joined token without a label got no pair: it is the last character of the run.
	out = slices.DeleteFunc(out, func(t token) bool { return t.joined && t.label == "" })
	if len(out) == 0 {
		p.fail(x.at, strconv.Quote(x.text)+" holds no word")
	}
	return out
}

// value makes the clause of a filter. In a query for people, a value that makes no sense is words, but a host that can
// be none finds nothing.
func (p *queryParser) value(c scope, x *lexeme) clause {
	p.filters = max(0, p.filters-1)
	n, err := x.field.value(x.field, x.text)
	if err != nil {
		p.fail(x.at, x.field.name+": "+err.Error())
		if n == nil {
			words := *x
			words.kind, words.field, words.text = lexWord, nil, x.field.name+" "+x.text
			return p.leaf(c, &words, c.exact)
		}
	}
	p.unscored(x)
	if !p.take(x, 1) {
		n = nil
	}
	part := clause{n: n, role: n.role(x.sign)}
	if x.sign == 0 && x.field.either && n != nil && n.kind != nodeNone {
		part.either, part.at = x.field, x.at
	}
	return part
}

// unscored reports what is behind a value as if it were a word.
func (p *queryParser) unscored(x *lexeme) {
	if x.boost != 0 || x.number >= 0 {
		p.fail(x.at, x.field.name+": takes a value, which ^ and ~ do not change")
	}
}
