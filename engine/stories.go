// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/seine-crawler/seine/engine/internal/inspect"
	"github.com/seine-crawler/seine/engine/internal/phases"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// What an Inspector tells of one URL or host in time.

// Captures streams the stored responses of a URL, newest first, at most 10,000. Those of the segment that is fetched
// now are there once they are synced, within a second; those of one that an earlier process left open, once that is
// sealed or fetched on. A URL without any gives an empty stream.
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
// Errors: ErrNotFound if there is no capture of the URL; those of a damaged WARC file.
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
		return StoredCopy{}, i.g.ended(ctx, err)
	}
	return viewCopy(u, &c), nil
}

// URLStory tells everything that is known of a URL. It sends nothing. A URL that crawldb does not know has a story too:
// its check, and links to it. It looks into every segment: some 10 µs each.
func (i *Inspector) URLStory(ctx context.Context, url string) (URLStory, error) {
	inner, leave, err := i.enter(ctx)
	if err != nil {
		return URLStory{}, err
	}
	defer leave()
	u, err := i.parse(url)
	if err != nil {
		return URLStory{}, err
	}
	s, err := i.in.URLStory(inner, u)
	if err != nil {
		return URLStory{}, i.g.ended(ctx, fmt.Errorf("story of %s: %w", u, err))
	}
	check, err := i.check(u.String(), policy.NormalizeInject)
	if err != nil {
		return URLStory{}, err
	}
	v, err := viewURLStory(u, &s, check)
	if err == nil && s.Near.Group != 0 {
		var order []phases.DedupKey
		if order, err = phases.ParseDedupOrder(i.o.DedupOrder); err == nil {
			v.Near = viewNear(&s.Near, order)
		}
	}
	return v, err
}

// HostStory tells everything that is known of a host: docs.python.org, or with its port if that is not the scheme's
// own. It reads up to 200,000 records of the host. If hostdb does not have it, the error wraps ErrNotFound.
func (i *Inspector) HostStory(ctx context.Context, host string) (HostStory, error) {
	inner, leave, err := i.enter(ctx)
	if err != nil {
		return HostStory{}, err
	}
	defer leave()
	key, err := urlkey.ParseHost(host)
	if err != nil {
		return HostStory{}, err
	}
	s, err := i.in.HostStory(inner, key)
	if err != nil {
		return HostStory{}, i.g.ended(ctx, err)
	}
	v, err := i.o.viewHostStory(&s, time.Duration(i.live.delay.Load()))
	if err != nil {
		return v, err
	}
	root, err := rootOf(&s)
	if err != nil {
		return v, err
	}
	x, err := i.in.Explain(root)
	if err != nil {
		return v, err
	}
	x.Known = false // budgets of pages hold for what was never fetched
	v.Waits = i.o.viewKnown(root, &x).Waits
	return v, nil
}
