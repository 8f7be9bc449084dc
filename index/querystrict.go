// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"unicode/utf8"
)

// QueryError says why a text is no query of the strict language, and where.
type QueryError struct {
	Column  int // byte of the text, from 1
	Message string
}

func (e *QueryError) Error() string { return fmt.Sprintf("column %d: %s", e.Column, e.Message) }

// tooDeep is the message of groups in groups.
var tooDeep = fmt.Sprintf("groups are nested more than %d deep", maxDepth)

// ParseStrict parses a query that a program wrote. It accepts what ParseQuery understands without guessing, and both
// make the same of it. The error is a *QueryError: parentheses, quotes and operators that lack their other part, words
// without letters and digits, unknown fields, values and numbers out of range, more than 4 KiB or 64 terms, groups
// nested more than 16 deep, and bytes that are not UTF-8.
func ParseStrict(text string) (Query, error) { return parseStrict(nil, text) }

// parseStrict is ParseStrict where known says which stored fields there are.
func parseStrict(known func(field string) bool, text string) (Query, error) {
	if len(text) > maxQuery {
		return Query{}, &QueryError{maxQuery + 1, fmt.Sprintf("a query has at most %d bytes", maxQuery)}
	}
	for at, r := range text {
		if r != utf8.RuneError {
			continue
		}
		if _, n := utf8.DecodeRuneInString(text[at:]); n == 1 {
			return Query{}, &QueryError{at + 1, "a byte is not UTF-8"}
		}
	}
	var first *QueryError
	q := parseQueryOf(known, text, false, func(at int, message string) {
		if first == nil || at+1 < first.Column {
			first = &QueryError{at + 1, message}
		}
	})
	if first != nil {
		return Query{}, first
	}
	if q.root == nil {
		return Query{}, &QueryError{1, "the query holds no word"}
	}
	return q, nil
}
