// SPDX-License-Identifier: Apache-2.0

package index

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// storedField is what the name of a stored field before a colon means.
func storedField(name string) *queryField {
	return &queryField{name: name, mask: aroundMask, stored: true}
}

// storedName returns the name of a stored field, "" for another.
func (f *queryField) storedName() string {
	if f.stored {
		return f.name
	}
	return ""
}

// storedName takes the name of a stored field and its colon, if the index has such a field, and the = behind it.
func (l *lexer) storedName(x *lexeme) bool {
	rest := l.text[l.at:]
	n := fieldNameEnd(rest)
	if l.known == nil || n == 0 || n > FieldNameMax || n >= len(rest) || rest[n] != ':' {
		return false
	}
	name, ok := fieldName(rest[:n])
	if !ok || !l.known(name) {
		return false
	}
	at := l.at + n + 1
	whole := strings.HasPrefix(l.text[at:], "=")
	if whole {
		at++
	}
	if l.ends(at) {
		l.fail(at, l.text[l.at:at]+" needs something directly after it")
		return true
	}
	x.field, x.whole = storedField(name), whole
	l.at = at
	return true
}

// wholeValue reports whether a node is a whole value of a stored field. Such a node has no boost, as filters have none.
func (n *node) wholeValue() bool {
	_, kind, _, ok := splitFieldTerm(n.term)
	return n.kind == nodeTerm && ok && kind == fieldTermValue
}

// stored makes the node of a stored field's whole value or of a range of its numbers; nil if the text means words.
func (p *queryParser) stored(x *lexeme) *node {
	if !x.field.stored {
		return nil
	}
	name, text := x.field.name, strings.TrimSpace(x.text)
	if x.whole {
		if text == "" || len(text) > FieldValueMax {
			p.fail(x.at, name+":= needs a whole value of at most "+strconv.Itoa(FieldValueMax)+" bytes")
			return noDocuments()
		}
		return &node{kind: nodeTerm, term: fieldTerm(name, fieldTermValue) + text, fields: aroundMask}
	}
	if x.kind == lexQuote || !strings.Contains(text, "..") && !strings.HasPrefix(text, "<") &&
		!strings.HasPrefix(text, ">") {
		return nil
	}
	n, err := parseNumbers(name, text)
	if err != nil {
		p.fail(x.at, name+": "+err.Error())
	}
	return n
}

// parseNumbers parses a range of the numbers of a stored field.
func parseNumbers(name, text string) (*node, error) {
	lo, hi, ok := valueRange(text, func(s string) (lo, hi int64, ok bool) {
		v, ok := fieldNumber(s)
		return v, v, ok
	})
	if !ok {
		return nil, errors.New(strconv.Quote(text) + " is not a range of numbers such as 1..2.5 or >=10")
	}
	if lo > hi {
		return noDocuments(), errors.New(strconv.Quote(text) + " is an empty range")
	}
	n := &node{kind: nodeValue, value: valueField, lo: lo, hi: hi, from: numberTerm(name, lo), term: name + ":" + text}
	if n.to = numberTerm(name, hi) + "\x00"; hi == math.MaxInt64 {
		n.to = fieldTerm(name, fieldTermNumber+1)
	}
	return n, nil
}

// fuzzyPrefix returns how many bytes a term and its near ones have in common: the first character, and the field.
func fuzzyPrefix(term string) int {
	before := 0
	if _, _, word, ok := splitFieldTerm(term); ok {
		before = len(term) - len(word)
	}
	_, first := utf8.DecodeRuneInString(term[before:])
	return before + first
}

// printTerm returns a term as queries have it.
func printTerm(term string) string {
	name, kind, rest, ok := splitFieldTerm(term)
	switch {
	case !ok:
		return term
	case kind == fieldTermValue:
		return name + `:="` + rest + `"`
	}
	return name + ":" + rest
}

// printField returns the field of a phrase with its colon, "" for any.
func (n *node) printField() string {
	if len(n.children) > 0 {
		if name, _, _, ok := splitFieldTerm(n.children[0].term); ok {
			return name + ":"
		}
	}
	return fieldNames[n.fields]
}
