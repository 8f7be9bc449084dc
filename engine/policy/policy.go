// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// URLFilter decides whether a URL belongs to the crawl. It is asked when a seed is injected,
// when a link would become a record, and again when a record would be fetched, so that a
// narrower filter takes effect at once.
//
// Law: the answer depends on the URL alone. Reason is "" when accepted, else a short constant
// such as "suffix" that is counted and shown to people. (Nutch: URLFilter.)
type URLFilter interface {
	Accept(u urlkey.URL) (reason string)
}

// URLFilterFunc makes a function a URLFilter.
type URLFilterFunc func(u urlkey.URL) string

// Accept calls f.
func (f URLFilterFunc) Accept(u urlkey.URL) string { return f(u) }

// URLFilters is a chain: the first refusal wins, an empty chain accepts everything.
type URLFilters []URLFilter

// Accept asks each filter in order.
func (fs URLFilters) Accept(u urlkey.URL) string {
	for _, f := range fs {
		if reason := f.Accept(u); reason != "" {
			return reason
		}
	}
	return ""
}

// URLNormalizer rewrites a canonical URL to the spelling the crawl shall use for it, for example
// without a session id. It returns u itself when nothing changes.
//
// Law: idempotent; the result is again a canonical URL (the type admits nothing else). An error
// drops the URL and is counted as "normalizer". (Nutch: URLNormalizer.)
type URLNormalizer interface {
	Normalize(u urlkey.URL) (urlkey.URL, error)
}

// URLNormalizerFunc makes a function a URLNormalizer.
type URLNormalizerFunc func(u urlkey.URL) (urlkey.URL, error)

// Normalize calls f.
func (f URLNormalizerFunc) Normalize(u urlkey.URL) (urlkey.URL, error) { return f(u) }

// URLNormalizers is a chain applied in order.
type URLNormalizers []URLNormalizer

// Normalize applies each normalizer to the result of the one before.
func (ns URLNormalizers) Normalize(u urlkey.URL) (urlkey.URL, error) {
	var err error
	for _, n := range ns {
		if u, err = n.Normalize(u); err != nil {
			return urlkey.URL{}, err
		}
	}
	return u, nil
}

// Page is what a Scorer may know of a fetched page when it gives score to its links. Links is
// the number of distinct targets that stay after filters; First is true when this is the first
// successful fetch of the page.
type Page struct {
	Score float64
	Depth uint16
	Links int
	First bool
}

// Scorer decides how much a URL matters: the order in which URLs are fetched, and which of
// several equal pages survives. Scores are finite and not negative. (Nutch: ScoringFilter.)
type Scorer interface {
	// Inject returns the score of a new seed; given is the seed line's own score, or 1.
	Inject(given float64) float64
	// Distribute returns what one distinct link of the page gives to its target. internal says
	// that the target is on the same host.
	Distribute(p Page, internal bool) float64
	// Update returns the new score of a record (old is 0 for a new one) that was given sum by the
	// links of one segment.
	Update(old, sum float64) float64
}

// Change says what a fetch found, as far as a schedule cares.
type Change uint8

// What a fetch found.
const (
	ChangeUnknown  Change = iota // no older version to compare with, or a redirect
	ChangeModified               // content differs from the version before
	ChangeNone                   // content is the same, or the server answered 304
)

// FetchSchedule decides when a URL is fetched again. Times are Unix milliseconds, intervals
// seconds, as in storage.Record. (Nutch: FetchSchedule.)
type FetchSchedule interface {
	// Due reports whether r may be fetched at now.
	Due(r *storage.Record, now int64) bool
	// Reschedule sets r.FetchTime, r.Interval and r.ModifiedTime after a successful fetch, a 304
	// or a redirect at time at. r carries the interval and modified time from before the fetch.
	Reschedule(r *storage.Record, c Change, at int64)
}

// IndexFilter may change a document on its way into the index, or keep it out by returning a
// reason. It sees the record and the parsed text. (Nutch: IndexingFilter.)
//
// One that changes Text may set Content to parts of the new one; otherwise all of it counts as content.
type IndexFilter interface {
	Filter(d *index.Document, r *storage.Record, t *storage.ParseText) (reason string)
}

// IndexFilterFunc makes a function an IndexFilter.
type IndexFilterFunc func(d *index.Document, r *storage.Record, t *storage.ParseText) string

// Filter calls f.
func (f IndexFilterFunc) Filter(d *index.Document, r *storage.Record, t *storage.ParseText) string {
	return f(d, r, t)
}

// ParseFilterFunc makes a function a parse.Filter; it stands here so that a program that replaces
// policies finds all adapters in one place.
type ParseFilterFunc func(in *parse.Input, p *parse.Page) error

// Filter calls f.
func (f ParseFilterFunc) Filter(in *parse.Input, p *parse.Page) error { return f(in, p) }
