// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"errors"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/index"
)

// What a page of hits has, and how long it may take.
const (
	hitsShown     = 10
	hitsPerHost   = 2 // until somebody wants all
	manyHosts     = 8 // with matches: below it, hits of a host do not crowd others out
	facetsShown   = 8 // values of each, until somebody wants more
	facetsMost    = 200
	titleShown    = 140
	proposeTime   = 50 * time.Millisecond
	browseTime    = 500 * time.Millisecond
	completeLimit = 8
)

// searchView is what the template of the search page shows.
type searchView struct {
	State      searchState
	Documents  uint64 // in the index
	Running    bool   // a crawl, which may add some
	Hosts      int    // with documents
	Result     *engine.SearchResult
	Hits       []hitView
	Understood string // the query as it was understood, where that is not obvious
	Better     index.Suggestion
	Filters    []filterView // in the query
	Facets     []facetView
	Orders     []choice
	Pages      []choice
	Previous   string // address; "": none
	Next       string
	First      string // address of the first page, where this one is behind the last
	Toggles    toggles
	Relax      []choice // what else to search for when nothing was found
	Fault      string   // a part of the query that no page can match, such as a range from later to earlier
	Crowded    bool     // hits of a host, or near-duplicates, were left out

	lasting bool // a later page of the same index would be the same
}

// toggles are addresses of the same search with one thing changed.
type toggles struct{ All, Explain, Feed string }

// choice is one of several addresses.
type choice struct {
	Text    string
	Address string
	Present bool // it is what the page shows
}

// filterView is a filter of the query, with the address of the search without it.
type filterView struct{ Word, Without string }

// facetView is what can be added to the query, by kind.
type facetView struct {
	Name   string
	Values []facetValue
	Items  template.HTML // of Values
	Others int           // values that are not shown
	More   string        // address of the search with more of them; "": there are no more to show
}

type facetValue struct {
	Text    string
	Exact   string // in the words of the query language
	Count   string // "": it was not counted
	Address string
	Present bool // it is in the query, and the address is that without it
}

// searchPage shows the search page, with hits if there is a query.
func (h *Handler) searchPage(w http.ResponseWriter, r *http.Request) {
	state, moved := readState(r.URL.Query())
	p := &page{Room: "search", Scripts: []string{"search.js"}, base: h.o.Prefix}
	if moved {
		http.Redirect(w, r, p.Path("/", state.parameters()...), http.StatusSeeOther)
		return
	}
	p.State = h.crawlState()
	body, err := h.answer(r.Context(), func() ([]byte, bool, error) {
		v, err := h.found(r.Context(), p, state)
		if err != nil {
			return nil, false, err
		}
		p.Title = clean(state.Query, titleShown)
		p.Body = v
		body, err := h.render("search", p)
		return body, v.lasting, err
	}, "page", p.Path("/", state.parameters()...), p.State.Text, p.State.Dot, dateText(time.Now()))
	if err != nil {
		h.failed(w, r, "search", err)
		return
	}
	sendBody(w, http.StatusOK, htmlType, body)
}

// failed shows the error of a call of the engine.
func (h *Handler) failed(w http.ResponseWriter, r *http.Request, room string, err error) {
	if errors.Is(r.Context().Err(), context.Canceled) {
		return // nobody looks
	}
	var overloaded *Problem
	if errors.As(err, &overloaded) {
		h.deny(w, r, overloaded)
		return
	}
	help := ""
	status := problemOf(err).Status
	if status == http.StatusInternalServerError {
		help = "If it happens again, run seine verify: it finds damage and says what to do."
	}
	h.fail(w, status, room, err.Error(), help)
}

// found runs the search of a state.
func (h *Handler) found(ctx context.Context, p *page, state searchState) (*searchView, error) {
	v := &searchView{State: state}
	stats, err := h.e.Inspect().IndexStats()
	if err != nil {
		return nil, err
	}
	v.Documents, v.Running = stats.Documents, p.State.Running
	if state.Query == "" {
		return v, h.browse(ctx, p, v)
	}
	o := engine.SearchOptions{
		Limit: hitsShown + 1, Offset: (state.Page - 1) * hitsShown, Order: state.Order, Explain: state.Explain,
		Facets:      []string{index.FacetLanguage, index.FacetType, index.FacetYear, index.FacetHost},
		FacetValues: state.facetValues(), Collapse: !state.All,
	}
	if !state.All && !hasFilter(state.Query, "host", "site") {
		o.PerHost = hitsPerHost
	}
	result, err := h.e.Search(ctx, state.Query, o)
	if err == nil && o.PerHost > 0 && hostsOf(result.Facets) < manyHosts && crowded(&result, state.Page) {
		o.PerHost, o.Facets = 0, nil // else most of what there is could not be reached
		facets := result.Facets
		result, err = h.e.Search(ctx, state.Query, o)
		result.Facets = facets
	}
	if err != nil {
		return nil, err
	}
	v.Result, v.lasting = &result, lastingResult(&result, &o)
	state.understood = result.Query
	v.State = state
	more := len(result.Hits) > hitsShown
	result.Hits = result.Hits[:min(len(result.Hits), hitsShown)]
	var beside sync.WaitGroup
	if result.Total < fewHits || result.Relaxed || result.Doubtful {
		beside.Go(func() {
			start := time.Now()
			v.Better, err = h.e.Suggest(ctx, state.Query, proposeTime)
			v.lasting = v.lasting && (v.Better.Query != "" || time.Since(start) < proposeTime) // else there may be one
		})
	}
	v.Hits = h.hits(ctx, p, state, result.Hits)
	if beside.Wait(); err != nil {
		return nil, err
	}
	for _, hit := range result.Hits {
		v.Crowded = v.Crowded || hit.More > 0 || hit.Duplicates > 0
	}
	if squeeze(result.Query) != squeeze(state.Query) {
		v.Understood = result.Query
	}
	v.fill(p, more)
	return v, nil
}

// crowded reports whether hits of a host may have been left out. On the first page they show in the hits of that host
// that are there: what would be on it is worse than two of these.
func crowded(r *engine.SearchResult, page int) bool {
	return page > 1 || slices.ContainsFunc(r.Hits, func(h engine.Hit) bool { return h.More > 0 })
}

// hostsOf is the number of hosts that the matches have.
func hostsOf(facets []index.Facet) int {
	for _, f := range facets {
		if f.Name == index.FacetHost {
			return f.Distinct
		}
	}
	return 0
}

// squeeze is a query without what makes no difference to its meaning.
func squeeze(q string) string { return strings.ToLower(strings.Join(words(q), " ")) }

// fill adds the ways from this page to others.
func (v *searchView) fill(p *page, more bool) {
	at := func(change func(s *searchState)) string {
		s := v.State
		s.Page = 1
		change(&s)
		return p.Path("/", s.parameters()...)
	}
	v.Filters = filtersOf(v.State.Query, at)
	v.Facets = withFetched(facetsOf(p, v.State, v.Result.Facets), p, v.State, time.Now())
	for _, o := range []index.Order{
		index.OrderScore, index.OrderNewest, index.OrderOldest, index.OrderLargest, index.OrderFetched,
	} {
		v.Orders = append(v.Orders, choice{orderNames[o], at(func(s *searchState) { s.Order = o }), v.State.Order == o})
	}
	v.Toggles = toggles{
		All:     at(func(s *searchState) { s.All = !s.All }),
		Explain: at(func(s *searchState) { s.Explain, s.Page = !s.Explain, v.State.Page }),
		Feed:    p.Path("/atom.xml", v.State.parameters()...),
	}
	if v.State.Page > 1 && len(v.Hits) == 0 && v.Result.Total > 0 {
		v.First = at(func(*searchState) {})
		return
	}
	last := v.State.Page
	if more {
		last++
	}
	for n := max(1, last-6); n <= last && last > 1; n++ {
		v.Pages = append(v.Pages, choice{numberText(n), at(func(s *searchState) { s.Page = n }), n == v.State.Page})
	}
	if v.State.Page > 1 {
		v.Previous = at(func(s *searchState) { s.Page = v.State.Page - 1 })
	}
	if more {
		v.Next = at(func(s *searchState) { s.Page = v.State.Page + 1 })
	}
	if v.Result.Total == 0 {
		v.relax(at)
		v.Fault = faultOf(v.State.Query)
	}
}

// filtersOf are the filters of a query, with the operators NOT before them.
func filtersOf(query string, at func(func(*searchState)) string) (list []filterView) {
	all := words(query)
	for i, w := range all {
		if !isFilter(w) {
			continue
		}
		for j := i; j > 0 && all[j-1] == "NOT"; j-- {
			w = "NOT " + w
		}
		list = append(list, filterView{clean(w, titleShown), at(func(s *searchState) {
			s.Query = without(all, func(j int) bool { return j == i })
		})})
	}
	return list
}

var orderNames = map[index.Order]string{
	index.OrderScore: "best first", index.OrderNewest: "newest", index.OrderOldest: "oldest",
	index.OrderLargest: "longest", index.OrderFetched: "last fetched",
}

// matchesNothing is how package index writes a filter that no page passes.
const matchesNothing = "site:%"

// faultOf says what is wrong with the first part of a query that no page passes; "": there is none. The parts before it
// become spaces: they may have mistakes that matter less, and columns stay.
func faultOf(query string) string {
	at := 0
	for _, w := range words(query) {
		at += strings.Index(query[at:], w)
		if strings.Contains(index.ParseQuery(w).String(), matchesNothing) {
			if _, err := index.ParseStrict(strings.Repeat(" ", at) + w); err != nil {
				return clean(err.Error(), 2*titleShown)
			}
		}
		at += len(w)
	}
	return ""
}

// relax proposes wider searches: without filters, without quotes and signs.
func (v *searchView) relax(at func(func(*searchState)) string) {
	var loose []string
	all := words(v.State.Query)
	for _, w := range all {
		if w = strings.TrimLeft(w, "+"); !strings.HasPrefix(w, "-") {
			loose = append(loose, strings.ReplaceAll(w, `"`, ""))
		}
	}
	add := func(what, q string) {
		if q != "" && q != v.State.Query {
			v.Relax = append(v.Relax, choice{Text: what, Address: at(func(s *searchState) { s.Query = q })})
		}
	}
	add("without filters", without(all, func(i int) bool { return isFilter(all[i]) }))
	add("without quotes, + and -", strings.Join(loose, " "))
}

// facetsOf makes links of counts: each value is a word of the query, or takes its word out again.
func facetsOf(p *page, state searchState, list []index.Facet) []facetView {
	names := map[string]string{
		index.FacetLanguage: "Language", index.FacetType: "Type", index.FacetYear: "Date", index.FacetHost: "Host",
	}
	var views []facetView
	for _, f := range list {
		if len(f.Values) == 0 {
			continue
		}
		v := facetView{Name: names[f.Name], Others: f.Distinct - len(f.Values)}
		if wide := state; v.Others > 0 && !wide.Values {
			wide.Values = true
			v.More = p.Path("/", wide.parameters()...)
		}
		for _, value := range f.Values {
			word := facetFilters[f.Name] + value.Value
			x := facetValue{Text: clean(value.Value, hostShown), Exact: clean(word, titleShown)}
			x.Count = numberText(value.Count)
			switch f.Name {
			case index.FacetLanguage:
				x.Text = languageName(value.Value)
			case index.FacetType:
				x.Text = shortType(value.Value)
			case index.FacetHost:
				x.Text = shownHost(value.Value)
			}
			s := state
			s.Page = 1
			if was := chosen(words(state.Query), word); was != "" {
				s.Query, x.Present = withoutWord(state.Query, was), true
			} else {
				s.Query = narrowed(state.Query, state.understood, word)
			}
			x.Address = p.Path("/", s.parameters()...)
			v.Values = append(v.Values, x)
		}
		v.Items = itemsOf(v.Values)
		views = append(views, v)
	}
	return views
}

// facetValues is how many values of each facet are shown.
func (s searchState) facetValues() int {
	if s.Values {
		return facetsMost
	}
	return facetsShown
}

// shortType is a media type as people call it.
func shortType(t string) string {
	switch t {
	case "text/html":
		return "html"
	case "text/plain":
		return "text"
	}
	_, name, found := strings.Cut(t, "/")
	if !found {
		return clean(t, 30)
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "x-"), "+xml")
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		name = name[i+1:]
	}
	return clean(name, 30)
}

// browse fills the front page: what there is to search.
func (h *Handler) browse(ctx context.Context, p *page, v *searchView) error {
	if v.Documents == 0 {
		return nil
	}
	r, err := h.e.Search(ctx, "-"+matchesNothing, engine.SearchOptions{ // all pages, also those without text
		Limit: 1, Facets: []string{index.FacetHost, index.FacetLanguage, index.FacetType},
		FacetValues: v.State.facetValues(), Deadline: browseTime,
	})
	if err != nil {
		return err
	}
	v.Facets, v.Hosts = facetsOf(p, v.State, r.Facets), hostsOf(r.Facets)
	v.lasting = !r.Partial
	return nil
}
