// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/seine-crawler/seine/index"
)

// Suggest returns a query that somebody may have meant by the given one, from the words of the index: the same query
// with near words in place of those that no page has, or few. It finds more pages than the given one. Its Query is ""
// if there is none, or none within the deadline; 0 means 50 ms. See index.Index.Suggest for what is compared. When ctx
// ends, it returns the context's error.
func (e *Engine) Suggest(ctx context.Context, query string, deadline time.Duration) (index.Suggestion, error) {
	leave, err := e.enter()
	if err != nil {
		return index.Suggestion{}, err
	}
	defer leave()
	e.w.prefer()
	s, err := e.w.index.Suggest(ctx, query, deadline)
	if err != nil {
		return s, fmt.Errorf("correcting %q: %w", query, err)
	}
	return s, nil
}

// Complete returns the words of the index that begin with the last word of a text, those of most pages first; limit 0
// means 10. It is meant to be called at each key that a person presses.
func (e *Engine) Complete(ctx context.Context, text string, limit int) ([]index.Completion, error) {
	leave, err := e.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	e.w.prefer()
	list, err := e.w.index.Complete(ctx, text, limit)
	if err != nil {
		return nil, fmt.Errorf("completing %q: %w", text, err)
	}
	return list, nil
}
