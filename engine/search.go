// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// SearchOptions bound a search. Zero values: ten hits, from the first, 200 ms.
type SearchOptions struct {
	Limit, Offset int
	Deadline      time.Duration
	// MarkStart and MarkEnd go round the matches in Hit.Snippet; "" means no marks.
	MarkStart, MarkEnd string
	// HTML escapes Hit.Snippet for a page in HTML; the marks are then HTML of the caller's. Without it the snippet is plain
	// text, control characters removed, for terminals and logs.
	HTML bool
}

// Hit is one result.
type Hit struct {
	Rank    int     `json:"rank"` // from 1
	URL     string  `json:"url"`
	Title   string  `json:"title"` // the page's own text, not escaped
	Score   float64 `json:"score"`
	Snippet string  `json:"snippet"` // as SearchOptions.HTML and the marks say
	// Matches are places in SnippetText that match the query, as pairs of byte offsets; SnippetText is the snippet
	// as the page has it, not escaped.
	SnippetText string   `json:"-"`
	Matches     [][2]int `json:"-"`
	// Stored and Date are what an IndexFilter gave the document.
	Stored []storage.Field `json:"stored,omitempty"`
	Date   time.Time       `json:"date,omitzero"`
}

// SearchResult is a page of hits. Total counts all matches; Partial says that the deadline cut the
// search short.
type SearchResult struct {
	Total   int      `json:"total"`
	Took    Duration `json:"seconds"`
	Partial bool     `json:"partial,omitempty"`
	Hits    []Hit    `json:"hits"`
}

// Search finds pages. Terms must all occur unless joined by OR; "phrases", -exclusion and site:host are understood; see
// package index for the language. It waits for no phase. A canceled context ends it with an error.
func (e *Engine) Search(ctx context.Context, query string, o SearchOptions) (SearchResult, error) {
	leave, err := e.enter()
	if err != nil {
		return SearchResult{}, err
	}
	defer leave()
	r, err := e.w.search(ctx, query, o)
	if err != nil {
		return r, fmt.Errorf("searching for %q: %w", query, err)
	}
	return r, nil
}

func (w *work) search(ctx context.Context, query string, o SearchOptions) (SearchResult, error) {
	start := w.now()
	if o.Limit <= 0 {
		o.Limit = 10
	}
	found, err := w.index.Search(ctx, query, index.SearchOptions{Limit: o.Limit, Offset: o.Offset, Deadline: o.Deadline})
	if err != nil {
		return SearchResult{}, err
	}
	out := SearchResult{Total: found.Total, Partial: found.Partial, Hits: make([]Hit, 0, len(found.Hits))}
	for i := range found.Hits {
		hit, err := w.describe(&found.Hits[i], found.Query, o)
		if err != nil {
			return out, err
		}
		hit.Rank = o.Offset + i + 1
		out.Hits = append(out.Hits, hit)
	}
	out.Took = w.took(start)
	return out, nil
}

// describe makes what a person sees of a hit, from the newest parse record of its URL and from what index filters
// changed. A page that asks for no snippet gets none.
func (w *work) describe(h *index.Hit, q index.Query, o SearchOptions) (Hit, error) {
	u, err := h.Key.URL()
	if err != nil {
		return Hit{}, err
	}
	hit := Hit{URL: u.String(), Title: u.String(), Score: h.Score, Stored: h.Stored, Date: h.Date}
	text, ok, err := w.textOf(h.Key)
	if err != nil || !ok {
		return hit, err
	}
	hit.Title = cmp.Or(h.ShowTitle, text.Title, hit.Title)
	if text.Flags&storage.FlagNoSnippet != 0 {
		return hit, nil
	}
	s := w.snippet(h, q, &text)
	if most := text.Flags.MaxSnippet(); most > 0 {
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

// snippet cuts a snippet from what an index filter has put in place of the text, from the main content, or from all of
// the text: the words may be in a menu, or in what was taken for one.
func (w *work) snippet(h *index.Hit, q index.Query, text *storage.ParseText) index.Snippet {
	if h.ShowText != "" {
		return w.index.Snippet(q, h.ShowText)
	}
	s := w.index.Snippet(q, text.MainText())
	if len(s.Matches) == 0 && len(text.Content) > 0 && text.Flags&storage.FlagContentOnly == 0 {
		s = w.index.Snippet(q, text.Text)
	}
	return s
}

// textOf reads the newest text of a page.
func (w *work) textOf(key urlkey.Key) (text storage.ParseText, ok bool, err error) {
	var r storage.Record
	if ok, err := w.store.Record(key, &r); err != nil || !ok {
		return text, false, err
	}
	value, ok, err := w.store.Get(storage.ParseTextRange(r.Segment), []byte(key), nil)
	if err != nil || !ok {
		return text, false, err
	}
	if err := storage.DecodeParseText(value, &text); err != nil {
		return text, false, fmt.Errorf("parse record of %s: %w", key, err)
	}
	return text, true, nil
}
