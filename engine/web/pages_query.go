// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/seine-crawler/seine/index"
)

// Bounds of what a search page reads of its address.
const (
	queryMax = 4 << 10 // characters; index.ParseQuery reads so many bytes
	pagesMax = 1000    // of hitsShown each: what a search can skip
)

// searchState is all that a search page depends on, and all of it stands in the address.
type searchState struct {
	Query   string
	Page    int // from 1
	Order   index.Order
	All     bool // also near-duplicates, and any number of pages of a host
	Explain bool
	Values  bool // more values of each facet

	understood string // Query as the index understood it; "" before a search
}

// readState reads the parameters of a search page. What makes no sense counts as absent. The parameters lang, type,
// site, date and fetched are words of the query that a form or a program adds; moved says that there were some, and
// that the page has another address.
func readState(values url.Values) (s searchState, moved bool) {
	s.Query = clean(values.Get("q"), queryMax) // what cannot be seen means nothing in a query
	for _, name := range []string{"lang", "type", "site", "date", "fetched"} {
		if v := strings.TrimSpace(values.Get(name)); v != "" {
			s.Query, moved = withWord(s.Query, name+":"+v), true
		}
	}
	s.Page, _ = strconv.Atoi(values.Get("page"))
	s.Page = min(max(s.Page, 1), pagesMax)
	s.Order, _ = index.ParseOrder(values.Get("sort"))
	s.All = values.Get("all") == "1"
	s.Explain = values.Get("explain") == "1"
	s.Values = values.Get("values") == "1"
	return s, moved
}

// parameters are the state as names and values for page.Path.
func (s searchState) parameters() []any {
	list := []any{"q", s.Query, "all", s.All, "explain", s.Explain, "values", s.Values}
	if s.Page > 1 {
		list = append(list, "page", s.Page)
	}
	if s.Order != index.OrderScore {
		list = append(list, "sort", s.Order.String())
	}
	return list
}

// words cuts a query at the spaces that are outside of quotes and parentheses. Those without a partner are ordinary
// characters.
func words(query string) []string {
	var list []string
	start, depth, quoted := -1, 0, false
	lone := -1
	if strings.Count(query, `"`)%2 == 1 {
		lone = strings.LastIndexByte(query, '"')
	}
	groups := balanced(query)
	for i, r := range query {
		switch {
		case r == '"' && i != lone:
			quoted = !quoted
		case quoted:
		case !groups && (r == '(' || r == ')'):
		case r == '(':
			depth++
		case r == ')':
			depth = max(depth-1, 0)
		case unicode.IsSpace(r) && depth == 0:
			if start >= 0 {
				list = append(list, query[start:i])
			}
			start = -1
			continue
		}
		if start < 0 {
			start = i
		}
	}
	if start >= 0 {
		list = append(list, query[start:])
	}
	return list
}

// withWord adds a word to a query that lacks it. Operators bind tighter than a space, so a query with some becomes a
// group. One that has nothing on one side means nothing, but would make the word its other side: it is left out.
func withWord(query, word string) string {
	list := words(query)
	if chosen(list, word) != "" {
		return query
	}
	for len(list) > 0 && isOperator(list[len(list)-1]) {
		list = list[:len(list)-1]
	}
	for len(list) > 0 && isOperator(list[0]) && list[0] != "NOT" {
		list = list[1:]
	}
	if strings.Count(query, `"`)%2 == 1 || !balanced(query) {
		return strings.Join(append([]string{word}, list...), " ") // behind, it could become a part of a quote or group
	}
	if slices.ContainsFunc(list, func(w string) bool { return isOperator(w) && w != "NOT" }) {
		filters := list[:0:0]
		for len(list) > 1 && isFilter(list[len(list)-1]) && !isOperator(list[len(list)-2]) {
			filters = append(filters, list[len(list)-1])
			list = list[:len(list)-1]
		}
		slices.Reverse(filters)
		query = "(" + strings.Join(list, " ") + ")"
		list = append([]string{query}, filters...)
	}
	return strings.Join(append(list, word), " ")
}

// narrowed adds a filter to a query, so that it finds those of its pages that the filter lets pass, and no others.
// Where the text would mean something else with a word more, the filter is added to what it was understood as.
func narrowed(query, understood, filter string) string {
	to := withFilter(query, filter)
	if !intricate(query) {
		return to
	}
	plain := index.ParseQuery(query).String()
	if sameParts(index.ParseQuery(to).String(), index.ParseQuery(plain+" +"+filter).String()) {
		return to
	}
	if safe := cmp.Or(understood, plain) + " +" + filter; len(safe) <= queryMax {
		return safe
	}
	return to
}

// intricate reports whether a query has what binds words, which words may take for something else than a query does.
func intricate(query string) bool {
	return strings.ContainsAny(query, "()|“”„") || strings.Count(query, `"`)%2 == 1 ||
		strings.Contains(query, "AND") || strings.Contains(query, "OR") || strings.Contains(query, "NOT")
}

// sameParts reports whether two queries, as they were understood, have the same parts in any order. A filter may be
// there twice.
func sameParts(a, b string) bool {
	parts := func(query string) []string {
		list := words(query)
		for i, w := range list {
			if filter, signed := strings.CutPrefix(w, "+"); signed && isFilter(filter) {
				list[i] = filter
			}
		}
		slices.Sort(list)
		return slices.Compact(list)
	}
	return slices.Equal(parts(a), parts(b))
}

// withFilter adds a filter to a query. Where the query has another filter of the field, the new one gets a +: without
// one, two of a field mean either.
func withFilter(query, filter string) string {
	field, _, _ := strings.Cut(filter, ":")
	list := words(query)
	for i, w := range list {
		name, _, is := strings.Cut(w, ":")
		if is && strings.EqualFold(name, field) && !strings.EqualFold(w, filter) && unbound(list, i) {
			if strings.HasPrefix(chosen(list, filter), "+") {
				return query
			}
			return withWord(query, "+"+filter)
		}
	}
	return withWord(query, filter)
}

// chosen returns a word of a query as it stands there, also with a + before it, which is the one if there are both; ""
// if the query lacks the word, or has it beside an operator.
func chosen(list []string, word string) (as string) {
	for i, w := range list {
		if strings.EqualFold(strings.TrimPrefix(w, "+"), word) && unbound(list, i) && !strings.HasPrefix(as, "+") {
			as = w
		}
	}
	return as
}

// unbound reports whether no operator is beside a word of a query.
func unbound(list []string, i int) bool {
	return (i == 0 || !isOperator(list[i-1])) && (i+1 == len(list) || !isOperator(list[i+1]) || list[i+1] == "NOT")
}

// withoutWord takes a word out of a query: where it stands without an operator beside it, if it does so at all. An
// operator goes with its word, or it would bind the words that come to stand beside it.
func withoutWord(query, word string) string {
	all, free := words(query), false
	for i, w := range all {
		free = free || strings.EqualFold(w, word) && unbound(all, i)
	}
	return without(all, func(i int) bool { return strings.EqualFold(all[i], word) && (!free || unbound(all, i)) })
}

// without takes words out of a query, with their operators.
func without(all []string, gone func(i int) bool) string {
	var list []string
	for i := 0; i < len(all); i++ {
		if !gone(i) {
			list = append(list, all[i])
			continue
		}
		for len(list) > 0 && list[len(list)-1] == "NOT" {
			list = list[:len(list)-1]
		}
		if n := len(list); n > 0 && isOperator(list[n-1]) {
			list = list[:n-1]
		} else if i+1 < len(all) && isOperator(all[i+1]) && all[i+1] != "NOT" {
			i++
		}
	}
	if len(list) == 1 && strings.HasPrefix(list[0], "(") && strings.HasSuffix(list[0], ")") {
		if inner := list[0][1 : len(list[0])-1]; balanced(inner) {
			return inner // the group that withWord made
		}
	}
	return strings.Join(list, " ")
}

// balanced reports whether each parenthesis of a text has its partner in it.
func balanced(s string) bool {
	depth, quoted := 0, false
	for _, r := range s {
		switch {
		case r == '"':
			quoted = !quoted
		case quoted:
		case r == '(':
			depth++
		case r == ')':
			if depth--; depth < 0 {
				return false
			}
		}
	}
	return depth == 0
}

func isOperator(word string) bool {
	return word == "OR" || word == "AND" || word == "NOT" || word == "|" || word == "||"
}

// filterNames are the fields that narrow a search without scoring.
var filterNames = []string{"site:", "host:", "lang:", "type:", "date:", "fetched:", "size:"}

// isFilter reports whether a word of a query is a filter, which the page shows with a way to remove it.
func isFilter(word string) bool {
	word = strings.ToLower(strings.TrimLeft(word, "+-"))
	return slices.ContainsFunc(filterNames, func(name string) bool {
		return strings.HasPrefix(word, name) && len(word) > len(name)
	})
}

// hasFilter reports whether a query has a filter of one of some names.
func hasFilter(query string, names ...string) bool {
	return slices.ContainsFunc(words(query), func(w string) bool {
		name, _, _ := strings.Cut(strings.ToLower(strings.TrimLeft(w, "+")), ":")
		return isFilter(w) && slices.Contains(names, name)
	})
}
