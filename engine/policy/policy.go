// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"

	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// URLFilter decides whether a URL belongs to the crawl. The engine calls it when a seed is injected, when a link would
// become a record, and before a record is fetched, so a narrower filter takes effect at once. (Nutch: URLFilter.)
//
// Law: the answer depends on the URL alone (a LiveFilter's, also on its rules). The reason is "" if the URL is
// accepted, else a short constant such as "suffix", which is counted and shown to people. Any goroutine may call
// Accept.
type URLFilter interface {
	Accept(u urlkey.URL) (reason string)
}

// URLFilterFunc makes a function a URLFilter.
type URLFilterFunc func(u urlkey.URL) string

// Accept calls f.
func (f URLFilterFunc) Accept(u urlkey.URL) string { return f(u) }

// URLFilters is a chain: the first refusal decides. An empty chain accepts every URL.
type URLFilters []URLFilter

// Accept calls the filters in order, until one refuses.
func (fs URLFilters) Accept(u urlkey.URL) string {
	for _, f := range fs {
		if reason := f.Accept(u); reason != "" {
			return reason
		}
	}
	return ""
}

// URLNormalizer rewrites a canonical URL to the spelling that the crawl uses for it, for example without a session id.
// It returns u itself if nothing changes. An error, or the zero URL, drops the URL, which is counted as "normalizer".
// (Nutch: URLNormalizer.)
//
// Law: normalizing a normalized URL changes nothing. Any goroutine may call Normalize.
type URLNormalizer interface {
	Normalize(u urlkey.URL) (urlkey.URL, error)
}

// URLNormalizerFunc makes a function a URLNormalizer.
type URLNormalizerFunc func(u urlkey.URL) (urlkey.URL, error)

// Normalize calls f.
func (f URLNormalizerFunc) Normalize(u urlkey.URL) (urlkey.URL, error) { return f(u) }

// URLNormalizers is a chain. An empty chain changes nothing.
type URLNormalizers []URLNormalizer

// errDropped is the error of a chain of which a normalizer returned the zero URL.
var errDropped = errors.New("dropped by a normalizer")

// Normalize applies each normalizer to the result of the one before, until one fails or drops the URL, which is an
// error too. It repeats that until nothing changes any more, since what one makes may be for another before it; a URL
// that they still change after 64 rounds is an error.
func (ns URLNormalizers) Normalize(u urlkey.URL) (urlkey.URL, error) {
	for range normalizeRounds {
		next, err := ns.once(u)
		if err != nil || next == u || len(ns) == 1 {
			return next, err
		}
		u = next
	}
	return urlkey.URL{}, fmt.Errorf("%.200s: the normalizers still change it after %d rounds", u, normalizeRounds)
}

// once applies each normalizer once.
func (ns URLNormalizers) once(u urlkey.URL) (urlkey.URL, error) {
	var err error
	for _, n := range ns {
		if u, err = n.Normalize(u); err != nil {
			return urlkey.URL{}, err
		}
		if u.IsZero() {
			return u, errDropped
		}
	}
	return u, nil
}

// Page is what a Scorer knows of a fetched page when the page gives score to its links.
type Page struct {
	Score float64 // before this fetch
	Depth uint16  // links from a seed, as far as known when the page's segment is updated: it may fall later
	// Links is the number of distinct targets that the filters given as values accept, whether or not they are in
	// scope. Live filters and the scope play no part: a score must not depend on when one of them changed.
	Links int
	First bool // this is the first fetch of the page that found content or a redirect

	// Accepted is the number of links, each as often as it is on the page, that filters and scope accept now, and of
	// links to parts of the page itself. All is the number of all of the page's links. Neither counts links that must
	// not be followed.
	Accepted, All int
}

// Link is what a page's links to one target have in common.
type Link struct {
	Internal bool // the target is on the page's host
	Self     bool // the target is the page itself
	Redirect bool // the page redirects or refreshes itself to the target
	Times    int  // how many links the page has to the target; 0: it only redirects
	// Refused says that the scope or a live filter refuses the target for now. What it is given counts when that ends.
	Refused bool
}

// Scorer decides how much a URL matters: the order in which URLs are fetched, and which of several equal pages
// survives. (Nutch: ScoringFilter.)
//
// Law: scores are finite and not negative, and a greater sum gives no lower score. Each answer depends on the
// arguments alone. Any goroutine may call any method. The engine takes a NaN for 0, and bounds what is infinite.
type Scorer interface {
	// Inject returns the score of a new seed. given is the seed line's own score, or 1.
	Inject(given float64) float64
	// Distribute returns what the links of a page give to one of its targets, in all.
	Distribute(p Page, l Link) float64
	// Update returns the new score of a record. old is its score, 0 for a new record; sum is what the links of one
	// segment give to it.
	Update(old, sum float64) float64
}

// DepthScorer is a Scorer by which a URL's score follows from its depth alone. The engine sets the score whenever it
// makes a record, a link to the URL is counted or its depth falls, so in a crawl with one scorer it is always that of
// the least depth known, in whatever order pages were fetched; what another scorer gave stays until then. What Update
// returns does not matter.
type DepthScorer interface {
	Scorer
	// AtDepth returns the score of a URL that is so many links from a seed. Law: it does not grow with depth.
	AtDepth(depth uint16) float64
}

// Change says what a fetch found, as far as a schedule needs to know.
type Change uint8

// What a fetch found.
const (
	ChangeUnknown  Change = iota // no older version to compare with, or a redirect
	ChangeModified               // content differs from the version before
	ChangeNone                   // content is the same, or the server answered 304
)

// FetchSchedule decides when a URL is fetched again. Times are Unix milliseconds, intervals seconds, as in
// storage.Record. (Nutch: FetchSchedule.)
//
// Law: each answer depends on the arguments alone. After Reschedule, Due is false at the time of the fetch, and true at
// r.FetchTime. Any goroutine may call any method.
type FetchSchedule interface {
	// Due reports whether r may be fetched at now. It is never true before r.FetchTime: the engine does not look at
	// a host before the earliest fetch time of its records. It does not change r.
	Due(r *storage.Record, now int64) bool
	// Reschedule sets r.FetchTime, r.Interval and r.ModifiedTime after a successful fetch, a 304 or a redirect at
	// time at. Before the call, r has the interval and the modified time from before the fetch. What else it sets has
	// no effect, a fetch time that is not after at is taken for one interval after it, and one that is more than the
	// crawl's longest interval after at for that.
	Reschedule(r *storage.Record, c Change, at int64)
}

// IndexFilter may change a document before it is indexed, or keep it out of the index by returning a reason. It sees
// the page's record and its parsed text, and must not change these. (Nutch: IndexingFilter.)
//
// What it changes in the document is what hits show. It may also set Stored fields, which queries find by their names,
// a Boost, a Date, and a Group of near-duplicates in place of the engine's; Key and Stamp stay as they are, whatever it
// does to them. The Boost that it finds is the page's static score, index.StaticBoost: it may multiply or replace that.
// The Title that it finds is without what the titles of the page's host share. A filter that changes Text may set
// Content to parts of the new text; without Content, all of it counts as content.
//
// Law: the result depends on the arguments alone. Any goroutine may call Filter. It must not keep d.
type IndexFilter interface {
	Filter(d *index.Document, r *storage.Record, t *storage.ParseText) (reason string)
}

// IndexFilterFunc makes a function an IndexFilter.
type IndexFilterFunc func(d *index.Document, r *storage.Record, t *storage.ParseText) string

// Filter calls f.
func (f IndexFilterFunc) Filter(d *index.Document, r *storage.Record, t *storage.ParseText) string {
	return f(d, r, t)
}

// ParseFilterFunc makes a function a parse.Filter. It is here so that all adapters are in one package.
type ParseFilterFunc func(in *parse.Input, p *parse.Page) error

// Filter calls f.
func (f ParseFilterFunc) Filter(in *parse.Input, p *parse.Page) error { return f(in, p) }
