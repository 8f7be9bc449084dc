// SPDX-License-Identifier: Apache-2.0

package web

import (
	"slices"
	"strings"
	"time"
)

// fetchedSpans are the times of fetches that the search page offers. The words that they stand for have whole days, in
// UTC, as the query language has.
var fetchedSpans = []struct {
	text string
	days int
}{{"last day", 1}, {"last week", 7}, {"last month", 30}}

// withFetched adds the filter of when pages were fetched, before the last facet: that of hosts, which is the longest.
// A span takes the place of any other in the query. Matches are not counted by it: that would read the column of all
// of them in each search.
func withFetched(facets []facetView, p *page, state searchState, now time.Time) []facetView {
	rest := state
	rest.Page = 1
	list := words(state.Query)
	for i, w := range list {
		if i > 0 && list[i-1] == "NOT" {
			continue // without it, the next word would be what the query must not have
		}
		if strings.HasPrefix(strings.ToLower(strings.TrimLeft(w, "+?")), "fetched:") {
			rest.Query = withoutWord(rest.Query, w)
		}
	}
	filtered := rest.Query != state.Query
	if len(facets) == 0 && !filtered {
		return nil // nothing was found that could be narrowed
	}
	at := func(query string) string {
		s := rest
		s.Query = query
		return p.Path("/", s.parameters()...)
	}
	v := facetView{Name: "Fetched"}
	if filtered {
		v.Values = append(v.Values, facetValue{Text: "any time", Exact: "without fetched:", Address: at(rest.Query)})
	}
	for _, span := range fetchedSpans {
		word := "fetched:>=" + dateText(now.UTC().AddDate(0, 0, -span.days))
		x := facetValue{Text: span.text, Exact: word, Address: at(withWord(rest.Query, word))}
		if x.Present = withWord(state.Query, word) == state.Query; x.Present {
			x.Address = at(rest.Query)
		}
		v.Values = append(v.Values, x)
	}
	v.Items = itemsOf(v.Values)
	return slices.Insert(facets, max(len(facets)-1, 0), v)
}
