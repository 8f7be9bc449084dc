// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/index"
)

// hitsMax is the number of hits that a search can reach, countMax what a search can be told to count at least.
const (
	hitsMax  = 10_000
	countMax = 1_000_000_000
)

// SearchAnswer is the answer to a search.
type SearchAnswer struct {
	engine.SearchResult
	Doubtful bool `json:"doubtful,omitempty"` // a word is so rare that another may be meant
	// DidYouMean is a query that finds more, if suggest is requested and there is one.
	DidYouMean      string `json:"did_you_mean,omitempty"`
	DidYouMeanTotal int    `json:"did_you_mean_total,omitempty"`
	Next            string `json:"next,omitempty"` // cursor of the next page; "": this is the last one

	Facets []FacetCounts `json:"facets,omitempty"` // in place of those of SearchResult
}

// FacetCounts is an index.Facet with the queries that narrow the search to its values.
type FacetCounts struct {
	Name     string       `json:"name"`
	Values   []FacetCount `json:"values"`
	Distinct int          `json:"distinct"`
}

// FacetCount is a value of a facet.
type FacetCount struct {
	index.FacetValue
	// Query finds only the matches with this value, and of a host without a port also those at its other ports; "": the
	// value is no filter.
	Query string `json:"query,omitempty"`
}

// facetFilters are the fields of the query language that take values of facets.
var facetFilters = map[string]string{
	index.FacetLanguage: "lang:", index.FacetType: "type:", index.FacetYear: "date:", index.FacetHost: "host:",
}

// countsOf are the facets of a search with the queries that they lead to.
func countsOf(query string, r *engine.SearchResult) (out []FacetCounts) {
	for _, f := range r.Facets {
		counts := FacetCounts{Name: f.Name, Values: []FacetCount{}, Distinct: f.Distinct}
		for _, v := range f.Values {
			c := FacetCount{FacetValue: v}
			if field := facetFilters[f.Name]; field != "" {
				c.Query = narrowed(query, r.Query, field+v.Value)
			}
			counts.Values = append(counts.Values, c)
		}
		out = append(out, counts)
	}
	return out
}

// Completions are words that the last word of a text may become.
type Completions struct {
	Completions []index.Completion `json:"completions"`
}

// fewHits and suggestTime say when another query is proposed, and how long it is looked for, as in "seine search".
const (
	fewHits     = 3
	suggestTime = 500 * time.Millisecond
)

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func (h *Handler) search(c *call) (any, error) {
	body, err := h.answer(c.ctx, func() ([]byte, bool, error) {
		a, lasting, err := h.searchNow(c)
		if err != nil {
			return nil, false, err
		}
		var b bytes.Buffer
		err = writeJSON(&b, a)
		return b.Bytes(), lasting, err
	}, "search", c.r.URL.Query().Encode())
	if err != nil {
		return nil, err
	}
	return wholeBody(body), nil
}

// searchNow searches. lasting says that a later search of the same index finds the same.
func (h *Handler) searchNow(c *call) (a SearchAnswer, lasting bool, err error) {
	lasting = true
	o := engine.SearchOptions{
		Limit: c.count("limit"), Offset: c.count("offset"), Deadline: seconds(c.number("deadline_seconds")),
		MarkStart: c.text("mark_start"), MarkEnd: c.text("mark_end"), HTML: c.on("html"), Strict: c.on("strict"),
		Freshness: seconds(c.number("freshness_seconds")), Explain: c.on("explain"), Facets: c.texts("facets"),
		TotalAtLeast: c.count("count"), FacetValues: c.count("facet_values"),
		PerHost: c.count("per_host"), Collapse: c.on("collapse"),
	}
	if c.given("cursor") {
		text, err := base64.RawURLEncoding.DecodeString(c.text("cursor"))
		if err == nil {
			o.Offset, err = strconv.Atoi(string(text))
		}
		if err != nil || c.given("offset") || o.Offset < 0 || o.Offset > hitsMax {
			return a, false, wrongParameter("cursor", "take next of the page before, and give no offset")
		}
	}
	if c.given("sort") {
		var err error
		if o.Order, err = index.ParseOrder(c.text("sort")); err != nil {
			return a, false, wrongParameter("sort", "%v", err)
		}
	}
	q := c.text("q")
	r, err := h.e.Search(c.ctx, q, o)
	if err != nil {
		return a, false, err
	}
	a = SearchAnswer{SearchResult: r, Doubtful: r.Doubtful, Facets: countsOf(q, &r)}
	if c.on("suggest") && (r.Total < fewHits || r.Relaxed || r.Doubtful) {
		start := time.Now()
		better, err := h.e.Suggest(c.ctx, q, suggestTime)
		if err != nil {
			return a, false, err
		}
		lasting = better.Query != "" || time.Since(start) < suggestTime // else there may be one
		a.DidYouMean, a.DidYouMeanTotal = better.Query, better.Total
	}
	a.Next = nextCursor(&o, &r)
	return a, lasting && lastingResult(&r, &o), nil
}

// nextCursor is the cursor of the page behind a page of hits; "": that is the last one.
func nextCursor(o *engine.SearchOptions, r *engine.SearchResult) string {
	end := o.Offset + len(r.Hits)
	if len(r.Hits) < o.Limit || end >= hitsMax || end >= r.Total && !r.AtLeast {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(end)))
}

func (h *Handler) suggest(c *call) (any, error) {
	var s index.Suggestion
	err := h.inTurn(c.ctx, aSuggestion, func() (err error) {
		s, err = h.e.Suggest(c.ctx, c.text("q"), seconds(c.number("deadline_seconds")))
		return err
	})
	return s, err
}

func (h *Handler) complete(c *call) (any, error) {
	var list []index.Completion
	err := h.inTurn(c.ctx, aCompletion, func() (err error) {
		list, err = h.e.Complete(c.ctx, c.text("q"), c.count("limit"))
		return err
	})
	return Completions{append([]index.Completion{}, list...)}, err
}
