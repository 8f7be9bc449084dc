// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// snippetLength is the length below which a page's own limit, in characters, decides how long a passage may be. Above
// it, a snippet in the usual length is cut.
const snippetLength = 220

// SearchOptions bound a search. The zero value returns the ten best hits within a second.
type SearchOptions struct {
	Limit int // hits to return; 0 means 10
	// Offset is the number of hits to skip, from the best; a negative one counts as 0. Offset and Limit together are
	// cut to index.HitsMax.
	Offset int
	// Deadline is the time after which the search ends with what it has; 0 means 1 s. Of the hits that it has found it
	// reads the ten best in any case.
	Deadline time.Duration
	// MarkStart and MarkEnd surround each match in Hit.Snippet; "" means no marks.
	MarkStart, MarkEnd string
	// HTML makes Hit.Snippet HTML: the text is escaped, the marks are used as they are. Without it the snippet is plain
	// text without control characters, for terminals and logs.
	HTML bool
	// Strict parses the query as one that a program wrote: what is no query is an *index.QueryError with the column,
	// and nothing is relaxed. Without it any text is a query.
	Strict bool
	// Freshness, if positive, is a half-life: a page's score is multiplied by 1/2 + 2^(-age/Freshness), from 3/2 for a
	// new page to 1/2 for a very old one. The age is that of the page's date; without a date the factor is 1, as at the
	// age of a half-life.
	Freshness time.Duration
	// Now is the time that ages are counted to; zero: now. Pages of one result need the same.
	Now time.Time
	// TotalAtLeast is a number of matches at which counting may stop, which makes a search for common words faster:
	// SearchResult.Total is then a lower bound. 0 counts all, and so do Facets.
	TotalAtLeast int
	// Explain fills in Hit.Explanation. The search may then last up to a second beyond its deadline.
	Explain bool

	Order       index.Order // of the hits; the zero value is by score
	Facets      []string    // values to count of all matches, as in index.SearchOptions
	FacetValues int         // of each facet, the most frequent ones; 0 means 10
	PerHost     int         // hits of one host at most; 0: any number
	// Collapse leaves out pages that say nearly the same as a better one, whatever their hosts.
	Collapse bool
}

// Hit is one result.
type Hit struct {
	Rank    int     `json:"rank"` // from 1
	URL     string  `json:"url"`
	Title   string  `json:"title"`   // as in the page, not escaped; the URL if the page has none
	Score   float64 `json:"score"`   // comparable within one search only
	Snippet string  `json:"snippet"` // formatted as SearchOptions say; "" if the page forbids snippets
	// Page is the page's own URL, by which all else is known of it: URL may be that of a redirect to it, see
	// Options.ChooseRedirectURL. Host is that of Page, as the filter host: takes it.
	Page string `json:"page"`
	Host string `json:"-"`
	// SnippetText is the snippet as in the page, not escaped. Matches are the places in it that match the query, as
	// byte offsets from (inclusive) and to (exclusive).
	SnippetText string   `json:"-"`
	Matches     [][2]int `json:"-"`
	// Fetched is when the text that the index has was fetched. A later fetch that found the same, or a 304, changes no
	// document, and so not this; where the page is indexed again for another reason, such as new anchors, and by
	// "index --rebuild", it is that of the newest copy that is stored. Zero if an older version made the document.
	// JSON: RFC 3339, as Date.
	Fetched time.Time `json:"fetched,omitzero"`
	// Stored are what an IndexFilter gave the document. Date and Author are the page's, unless a filter set others.
	Stored []storage.Field `json:"stored,omitempty"`
	Date   time.Time       `json:"date,omitzero"`
	Author string          `json:"author,omitempty"`
	// Explanation shows how Score came about, if SearchOptions.Explain says so.
	Explanation *index.Explanation `json:"explanation,omitempty"`

	Language   string `json:"language,omitempty"`   // code, like "en"
	Type       string `json:"type,omitempty"`       // media type
	Size       int64  `json:"size,omitempty"`       // of the text, in bytes
	More       int    `json:"more,omitempty"`       // further matches of the host, which PerHost left out
	Duplicates int    `json:"duplicates,omitempty"` // near-duplicates that Collapse left out, at least
}

// SearchResult is a page of hits.
type SearchResult struct {
	Total   int      `json:"total"`             // matches that were found, hits or not: see AtLeast
	Took    Duration `json:"seconds"`           // JSON: seconds
	Partial bool     `json:"partial,omitempty"` // the deadline ended the search early
	Query   string   `json:"query"`             // as it was understood, in the query language
	Relaxed bool     `json:"relaxed,omitempty"` // nothing had all quotes and words with +: these hits have some
	Hits    []Hit    `json:"hits"`              // best first
	// Doubtful says that a word is so rare that another may be meant: Suggest may know it.
	Doubtful bool `json:"-"`
	// AtLeast says that there may be more matches than Total: SearchOptions.TotalAtLeast or the deadline ended the
	// counting.
	AtLeast bool `json:"at_least,omitempty"`

	Facets []index.Facet `json:"facets,omitempty"` // as in SearchOptions.Facets
}

// Search finds pages. Words are alternatives: pages with more of them, and with rarer ones, come first. +word, quotes,
// -word, AND, OR, parentheses, fields such as title: and filters such as site: are strict; index.Query describes the
// language. Any text is a query, unless o.Strict. Search sees what was indexed when it began and waits for no phase.
// When ctx ends, it returns the context's error.
func (e *Engine) Search(ctx context.Context, query string, o SearchOptions) (SearchResult, error) {
	leave, err := e.enter()
	if err != nil {
		return SearchResult{}, err
	}
	defer leave()
	e.w.prefer()
	defer e.w.answering()()
	r, err := e.w.search(ctx, query, o)
	if err != nil {
		return r, fmt.Errorf("searching for %q: %w", query, err)
	}
	return r, nil
}

// Answers are those to searches that callers of Search keep here.
func (e *Engine) Answers() *Answers { return e.w.answers }

func (w *work) search(ctx context.Context, query string, o SearchOptions) (SearchResult, error) {
	start := w.now()
	if o.Limit <= 0 {
		o.Limit = 10
	}
	o.Offset, o.Deadline = max(o.Offset, 0), cmp.Or(o.Deadline, searchTime)
	bounds := index.SearchOptions{Limit: o.Limit, Offset: o.Offset, Deadline: o.Deadline, Strict: o.Strict}
	bounds.Freshness, bounds.Now, bounds.Explain = o.Freshness, o.Now, o.Explain
	if bounds.Now.IsZero() {
		bounds.Now = start
	}
	bounds.TotalAtLeast, bounds.Near = o.TotalAtLeast, true
	bounds.Order, bounds.Facets, bounds.FacetValues = o.Order, o.Facets, o.FacetValues
	bounds.PerHost, bounds.Collapse, bounds.GroupOf = o.PerHost, o.Collapse, w.near.of
	found, err := w.index.Search(ctx, query, bounds)
	if err != nil {
		return SearchResult{}, err
	}
	out := SearchResult{
		Total: found.Total, Partial: found.Partial, Query: found.Query.String(), Relaxed: found.Relaxed,
		Hits: make([]Hit, 0, len(found.Hits)), Doubtful: found.Doubtful, AtLeast: found.AtLeast,
		Facets: found.Facets,
	}
	end := start.Add(o.Deadline)
	if o.Explain {
		end = end.Add(index.ExplainTime)
	}
	for some := range slices.Chunk(found.Hits, describeStep) {
		if len(out.Hits) > 0 && w.now().After(end) {
			out.Partial = true
			break
		}
		if err := ctx.Err(); err != nil {
			return out, err
		}
		if err := w.describeAll(&out, some, found.Query, o); err != nil {
			return out, err
		}
	}
	out.Took = w.took(start)
	return out, ctx.Err()
}

// describeAll appends what people see of some hits.
func (w *work) describeAll(out *SearchResult, hits []index.Hit, q index.Query, o SearchOptions) error {
	keys := make([]urlkey.Key, len(hits))
	for i := range hits {
		keys[i] = hits[i].Key
	}
	records, known, err := w.store.Records(keys)
	if err != nil {
		return err
	}
	for i := range hits {
		r := &records[i]
		if !known[i] {
			r = nil
		}
		hit, err := w.describe(&hits[i], r, q, o)
		if err != nil {
			return err
		}
		hit.Rank = o.Offset + len(out.Hits) + 1
		out.Hits = append(out.Hits, hit)
	}
	return nil
}

// describe makes what people see of a hit, from the newest parse record of its URL and from what index filters changed.
// r is the record of the URL, nil if there is none.
func (w *work) describe(h *index.Hit, r *storage.Record, q index.Query, o SearchOptions) (Hit, error) {
	u, err := h.Key.URL()
	if err != nil {
		return Hit{}, err
	}
	hit := Hit{
		URL: u.String(), Page: u.String(), Title: u.String(), Host: h.Key.HostKey().String(), Score: h.Score,
		Stored: h.Stored, Date: h.Date, Explanation: h.Explanation,
		Fetched: h.Fetched, Author: h.Author, Language: h.Language, Type: h.Type, Size: h.Size, More: h.More,
		Duplicates: h.Duplicates,
	}
	if r == nil {
		return hit, nil
	}
	hit.URL = cmp.Or(shownAs(r), hit.URL)
	hit.Title = hit.URL
	text, ok, err := w.textOf(h.Key, r.Segment)
	if err != nil || !ok {
		return hit, err
	}
	if h.ShowTitle != shownNothing {
		hit.Title = cmp.Or(h.ShowTitle, text.Title, hit.Title)
	}
	if text.Flags&storage.FlagNoSnippet != 0 {
		return hit, nil
	}
	most := text.Flags.MaxSnippet()
	s := w.snippet(h, q, &text, max(most, 0))
	if most > 0 {
		s = s.Cut(most)
	}
	hit.SnippetText, hit.Matches = s.Text, s.Matches
	if o.HTML {
		hit.Snippet = s.HTML(o.MarkStart, o.MarkEnd)
	} else {
		hit.Snippet = s.Mark(o.MarkStart, o.MarkEnd)
	}
	return hit, nil
}

// snippet takes the snippet from the text that an index filter set, else from the main content, else, when that has no
// match, from all of the text: the words may be in a menu, or in what was taken for one. most is the number of
// characters that the page allows, 0 for any.
func (w *work) snippet(h *index.Hit, q index.Query, text *storage.ParseText, most int) index.Snippet {
	var o index.SnippetOptions
	if h.ShowText == shownNothing {
		return index.Snippet{}
	}
	if most > 0 && most < snippetLength {
		o.Length = most
	}
	if h.ShowText != "" {
		return w.index.SnippetWith(q, h.ShowText, o)
	}
	o.Content, o.ContentOnly, o.Near = text.Content, text.Flags&storage.FlagContentOnly != 0, h.Near
	return w.index.SnippetWith(q, text.Text, o)
}

// textOf reads the text of a page of a segment.
func (w *work) textOf(key urlkey.Key, segment uint32) (text storage.ParseText, ok bool, err error) {
	ok, err = w.store.View(storage.ParseTextRange(segment), []byte(key), func(value []byte) error {
		if err := storage.DecodeParseText(value, &text); err != nil {
			return fmt.Errorf("parse record of %s: %w", key, err)
		}
		return nil
	})
	return text, ok && err == nil, err
}
