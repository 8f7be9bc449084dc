// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"iter"
	"time"

	"github.com/seine-crawler/seine/engine/internal/inspect"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// What an Inspector tells of one URL or host in time.

// Captures streams the stored responses of a URL, newest first, at most 10,000. Those of a segment are there once it is
// sealed. A URL without any gives an empty stream.
func (i *Inspector) Captures(ctx context.Context, url string) iter.Seq2[CaptureView, error] {
	var u urlkey.URL
	return stream(ctx, i, func(ctx context.Context) (iter.Seq2[inspect.CaptureOf, error], error) {
		var err error
		if u, err = i.parse(url); err != nil {
			return nil, err
		}
		list, err := i.in.CapturesOf(ctx, u)
		return each(list...), err
	}, func(c inspect.CaptureOf) (CaptureView, error) { return viewCapture(u, &c), nil })
}

// StoredCopy returns the capture of a URL that is nearest to a time, with its header and body. The zero time means the
// newest capture with content, or the newest of all where none has content: only redirects and errors. A capture that
// confirmed an earlier one (HTTP 304) comes with the content of that.
//
// Errors: ErrNotFound if there is no capture of the URL, in a sealed segment at least; those of a damaged WARC file.
func (i *Inspector) StoredCopy(ctx context.Context, url string, at time.Time) (StoredCopy, error) {
	inner, leave, err := i.enter(ctx)
	if err != nil {
		return StoredCopy{}, err
	}
	defer leave()
	u, err := i.parse(url)
	if err != nil {
		return StoredCopy{}, err
	}
	c, err := i.in.StoredCopy(inner, u, at)
	if err != nil {
		return StoredCopy{}, ended(ctx, err)
	}
	return viewCopy(u, &c), nil
}
