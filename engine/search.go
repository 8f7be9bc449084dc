// SPDX-License-Identifier: Apache-2.0

package engine

import (
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
	// MarkStart and MarkEnd go round the matches in snippets; "" means no marks.
	MarkStart, MarkEnd string
}

// Hit is one result.
type Hit struct {
	Rank    int     `json:"rank"` // from 1
	URL     string  `json:"url"`
	Title   string  `json:"title"`
	Score   float64 `json:"score"`
	Snippet string  `json:"snippet"`
}

// SearchResult is a page of hits. Total counts all matches; Partial says that the deadline cut the
// search short.
type SearchResult struct {
	Total   int   `json:"total"`
	TookUS  int64 `json:"took_us"`
	Partial bool  `json:"partial,omitempty"`
	Hits    []Hit `json:"hits"`
}

// Search finds pages. Terms must all occur unless joined by OR; "phrases", -exclusion and
// site:host are understood; see package index for the language.
func (e *Engine) Search(ctx context.Context, query string, o SearchOptions) (SearchResult, error) {
	start := time.Now()
	if o.Limit <= 0 {
		o.Limit = 10
	}
	found, err := e.index.Search(ctx, query, index.SearchOptions{Limit: o.Limit, Offset: o.Offset, Deadline: o.Deadline})
	if err != nil {
		return SearchResult{}, fmt.Errorf("searching for %q: %w", query, err)
	}
	out := SearchResult{Total: found.Total, Partial: found.Partial, Hits: make([]Hit, 0, len(found.Hits))}
	for i, h := range found.Hits {
		hit := Hit{Rank: o.Offset + i + 1, Score: h.Score}
		if err := e.describe(&hit, h.Key, found.Query, o); err != nil {
			return out, fmt.Errorf("searching for %q: %w", query, err)
		}
		out.Hits = append(out.Hits, hit)
	}
	out.TookUS = time.Since(start).Microseconds()
	return out, nil
}

// describe fills in what a person sees of a hit, from the newest parse record of its URL. A page
// that asks for no snippet gets none.
func (e *Engine) describe(hit *Hit, key urlkey.Key, q index.Query, o SearchOptions) error {
	u, err := key.URL()
	if err != nil {
		return err
	}
	hit.URL, hit.Title = u.String(), u.String()
	var r storage.Record
	if ok, err := e.store.Record(key, &r); err != nil || !ok {
		return err
	}
	value, ok, err := e.store.Get(storage.ParseTextRange(r.Segment), []byte(key), nil)
	if err != nil || !ok {
		return err
	}
	var text storage.ParseText
	if err := storage.DecodeParseText(value, &text); err != nil {
		return fmt.Errorf("parse record of %s: %w", hit.URL, err)
	}
	if text.Title != "" {
		hit.Title = text.Title
	}
	if text.Flags&storage.FlagNoSnippet == 0 {
		s := e.index.Snippet(q, text.MainText())
		if len(s.Matches) == 0 && len(text.Content) > 0 && text.Flags&storage.FlagContentOnly == 0 { // the words are in a menu, or in what was taken for one
			s = e.index.Snippet(q, text.Text)
		}
		if most := text.Flags.MaxSnippet(); most > 0 {
			s = s.Cut(most)
		}
		hit.Snippet = s.Mark(o.MarkStart, o.MarkEnd)
	}
	return nil
}

// IndexDigest is a hash of all documents, their terms and positions, equal for equal documents
// whatever the way there: for comparing crawls.
func (e *Engine) IndexDigest(ctx context.Context) (uint64, error) { return e.index.Digest(ctx) }

// IndexStats returns the numbers of the index.
func (e *Engine) IndexStats() index.Stats { return e.index.Stats() }
