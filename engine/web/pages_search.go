// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/index"
)

// What a page of hits has, and how long it may take.
const (
	hitsShown     = 10
	hitsPerHost   = 2 // until somebody wants all
	manyHosts     = 8 // with matches: below it, hits of a host do not crowd others out
	facetsShown   = 8 // values of each
	titleShown    = 140
	proposeTime   = 50 * time.Millisecond
	linksCounted  = 20 // links to a hit; where there are more, pages are counted
	browseTime    = 500 * time.Millisecond
	completeLimit = 8
)

// searchView is what the template of the search page shows.
type searchView struct {
	State      searchState
	Documents  uint64 // in the index
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
	Toggles    toggles
	Relax      []choice // what else to search for when nothing was found
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
}

type facetValue struct {
	Text    string
	Exact   string // in the words of the query language
	Count   string // "": it was not counted
	Address string
	Present bool // it is in the query, and the address is that without it
}

// hitView is a hit as the page shows it.
type hitView struct {
	engine.Hit
	Heading   string
	Crumbs    breadcrumb
	Lang, Dir string
	Marked    template.HTML // the snippet
	Kind      string        // media type in short, "" for web pages
	Links     string        // to it, as a number in words
	MoreText  string
	MoreHost  string // address of the search in its host
	SamePages string // address of the search with near-duplicates
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
	v.Documents = stats.Documents
	if state.Query == "" {
		return v, h.browse(ctx, p, v)
	}
	o := engine.SearchOptions{
		Limit: hitsShown + 1, Offset: (state.Page - 1) * hitsShown, Order: state.Order, Explain: state.Explain,
		Facets:      []string{index.FacetLanguage, index.FacetType, index.FacetYear, index.FacetHost},
		FacetValues: facetsShown, Collapse: !state.All,
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
	more := len(result.Hits) > hitsShown
	result.Hits = result.Hits[:min(len(result.Hits), hitsShown)]
	if result.Total < fewHits || result.Relaxed || result.Doubtful {
		start := time.Now()
		if v.Better, err = h.e.Suggest(ctx, state.Query, proposeTime); err != nil {
			return nil, err
		}
		v.lasting = v.lasting && (v.Better.Query != "" || time.Since(start) < proposeTime) // else there may be one
	}
	for _, hit := range result.Hits {
		v.Hits = append(v.Hits, h.hit(ctx, p, state, hit))
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

// hit makes what the page shows of a hit.
func (h *Handler) hit(ctx context.Context, p *page, state searchState, hit engine.Hit) hitView {
	v := hitView{Hit: hit, Crumbs: crumbs(hit.URL), Lang: languageTag(hit.Language), Dir: direction(hit.Language)}
	v.Heading = clean(hit.Title, titleShown)
	if v.Heading == "" || hit.Title == hit.URL {
		v.Heading = shownURL(hit.URL)
	}
	v.Marked = marked(pieces(hit.SnippetText, hit.Matches))
	if v.Kind = shortType(hit.Type); v.Kind == "html" || v.Kind == "xhtml" {
		v.Kind = ""
	}
	n := 0
	for _, err := range h.e.Inspect().Inlinks(ctx, hit.URL, linksCounted) {
		if err != nil {
			break // the hit is worth showing without them
		}
		n++
	}
	switch {
	case n >= linksCounted:
		v.Links = fmt.Sprintf("%d+ links here", linksCounted)
		if c, err := h.e.Inspect().LinkCounts(ctx, hit.URL); err == nil && c.Pages >= linksCounted {
			v.Links = numberText(c.Pages) + " pages link here"
		}
	case n > 0:
		v.Links = plural(n, "link") + " here"
	}
	same := state
	same.Page = 1
	if hit.More > 0 {
		inHost := same
		inHost.Query = withWord(state.Query, "host:"+hostOf(hit.URL))
		v.MoreHost = p.Path("/", inHost.parameters()...)
		v.MoreText = numberText(hit.More) + " more from this host"
	}
	if hit.Duplicates > 0 {
		same.All = true
		v.SamePages = p.Path("/", same.parameters()...)
	}
	return v
}

// hostOf is the host of a URL, with its port.
func hostOf(raw string) string {
	_, rest, _ := strings.Cut(raw, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// fill adds the ways from this page to others.
func (v *searchView) fill(p *page, more bool) {
	at := func(change func(s *searchState)) string {
		s := v.State
		s.Page = 1
		change(&s)
		return p.Path("/", s.parameters()...)
	}
	for _, w := range words(v.State.Query) {
		if isFilter(w) {
			v.Filters = append(v.Filters, filterView{clean(w, titleShown), at(func(s *searchState) {
				s.Query = withoutWord(s.Query, w)
			})})
		}
	}
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
	}
}

var orderNames = map[index.Order]string{
	index.OrderScore: "best first", index.OrderNewest: "newest", index.OrderOldest: "oldest",
	index.OrderLargest: "longest", index.OrderFetched: "last fetched",
}

// relax proposes wider searches: without filters, without quotes and signs.
func (v *searchView) relax(at func(func(*searchState)) string) {
	var kept, loose []string
	for _, w := range words(v.State.Query) {
		if !isFilter(w) {
			kept = append(kept, w)
		}
		if w = strings.TrimLeft(w, "+"); !strings.HasPrefix(w, "-") {
			loose = append(loose, strings.ReplaceAll(w, `"`, ""))
		}
	}
	add := func(what string, list []string) {
		q := strings.Join(list, " ")
		if q != "" && q != v.State.Query {
			v.Relax = append(v.Relax, choice{Text: what, Address: at(func(s *searchState) { s.Query = q })})
		}
	}
	add("without filters", kept)
	add("without quotes, + and -", loose)
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
			s.Query = withWord(state.Query, word)
			if s.Query == state.Query {
				s.Query, x.Present = withoutWord(state.Query, word), true
			}
			x.Address = p.Path("/", s.parameters()...)
			v.Values = append(v.Values, x)
		}
		v.Items = itemsOf(v.Values)
		views = append(views, v)
	}
	return views
}

// itemsOf is the HTML of values. Like marked, it does without a template, which takes as long for the values of all
// facets as for all else on the page. Addresses are page.Path's: they begin with a slash.
func itemsOf(values []facetValue) template.HTML {
	b := make([]byte, 0, 256*len(values))
	for _, v := range values {
		b = append(b, `<li><a href="`...)
		b = appendEscaped(b, v.Address)
		b = append(b, `" title="`...)
		b = appendEscaped(b, v.Exact)
		b = append(b, '"')
		if v.Present {
			b = append(b, ` aria-current="true"`...)
		}
		b = append(b, `><bdi>`...)
		b = appendEscaped(b, v.Text)
		b = append(b, `</bdi>`...)
		if v.Present {
			b = append(b, ` <span aria-hidden="true">×</span><span class="unseen">remove</span>`...)
		}
		b = append(b, `</a>`...)
		if v.Count != "" {
			b = append(b, ` <span class="n">`...)
			b = appendEscaped(b, v.Count)
			b = append(b, `</span>`...)
		}
		b = append(b, "</li>\n"...)
	}
	return template.HTML(b)
}

// appendEscaped appends a text for HTML, or for an attribute in quotes.
func appendEscaped(b []byte, s string) []byte { return append(b, template.HTMLEscapeString(s)...) }

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
	r, err := h.e.Search(ctx, "size:>=0", engine.SearchOptions{
		Limit: 1, Facets: []string{index.FacetHost, index.FacetLanguage, index.FacetType}, FacetValues: facetsShown,
		Deadline: browseTime,
	})
	if err != nil {
		return err
	}
	v.Facets, v.Hosts = facetsOf(p, v.State, r.Facets), hostsOf(r.Facets)
	v.lasting = !r.Partial
	return nil
}
