// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// Outcome is the outcome of a URL for a polite crawler.
type Outcome uint8

// The outcomes.
const (
	OutcomeFetched   Outcome = iota // 200
	OutcomeDuplicate                // fetched, and byte-equal to another page of the web
	OutcomeRedirect                 // 301, 302
	OutcomeGone                     // 404, 410
	OutcomeFailed                   // 5xx
	OutcomeDenied                   // by robots.txt, never requested
)

// Outcomes are the names of the outcomes, in their order. It must not be changed.
var Outcomes = [...]string{"fetched", "duplicate", "redirect", "gone", "failed", "denied"}

// String names the outcome.
func (o Outcome) String() string { return Outcomes[o] }

// SiteVisit is one URL on a walk over any site. It is valid until the callback returns.
type SiteVisit struct {
	URL     string
	Hops    int // links and redirects from the nearest seed
	Outcome Outcome
	HTML    bool     // it answers with HTML
	Detail  string   // the target of a redirect, or the original of a duplicate; "" otherwise
	To      []string // links and redirects that a crawler follows, each once
	Broken  int      // how many of To are gone
}

// WalkSite visits every URL of a site that a polite crawler reaches from some seeds, once each, nearest first. fn is
// called on the goroutine of the caller. WalkSite returns fn's first error, the error of ctx, or an error that names a
// seed that the site does not have.
func WalkSite(ctx context.Context, site Site, seeds []string, fn func(v *SiteVisit) error) error {
	switch s := site.(type) {
	case *Web:
		return s.walkURLs(ctx, seeds, fn)
	case *Prerendered:
		return s.Web.walkURLs(ctx, seeds, fn)
	case *Docs:
		return s.walkURLs(ctx, seeds, fn)
	case *Graph:
		return s.walkURLs(ctx, seeds, fn)
	}
	return fmt.Errorf("synthetic web: a %T cannot be walked", site)
}

// OnPort returns the same site with a port in its URLs, as a server on that port has it; 0 and 80: none. The error is a
// port out of range.
func OnPort(site Site, port int) (Site, error) {
	if port < 0 || port > 65535 {
		return nil, fmt.Errorf("synthetic web: port %d: want 0 to 65535", port)
	}
	return site.onPort(port), nil
}

// Find returns the page of a URL, which must be spelled as URL spells it; false if there is none.
func (w *Web) Find(rawURL string) (Ref, bool) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return Ref{}, false
	}
	host := w.find([]byte(u.Hostname()))
	if host < 0 {
		return Ref{}, false
	}
	h := w.host(host)
	n, _, ok := w.number(&h, []byte(u.RequestURI()))
	return Ref{host, n}, ok && w.URL(host, n) == rawURL
}

func (w *Web) walkURLs(ctx context.Context, seeds []string, fn func(v *SiteVisit) error) error {
	var o WalkOptions
	for _, s := range seeds {
		ref, ok := w.Find(s)
		if !ok {
			return fmt.Errorf("seed %s: this web has no such page; its first is %s", s, w.Root(0))
		}
		o.Seeds = append(o.Seeds, ref)
	}
	var out SiteVisit
	var buf []byte
	return w.Walk(ctx, o, func(v *Visit) error {
		out = SiteVisit{
			URL: w.URL(v.Host, v.Number), Hops: v.Hops, Outcome: v.outcome(), HTML: v.Status == http.StatusOK,
			To: out.To[:0],
		}
		for _, e := range v.To {
			if !e.Followed {
				continue
			}
			buf = w.AppendURL(buf[:0], e.Host, e.Number)
			out.To = append(out.To, string(buf))
			if w.isGone(e.Ref) {
				out.Broken++
			}
		}
		switch {
		case out.Outcome == OutcomeDuplicate:
			out.Detail = w.URL(v.Host, v.Original)
		case out.Outcome == OutcomeRedirect && len(out.To) > 0:
			out.Detail = out.To[0]
		}
		return fn(&out)
	})
}

// isGone reports whether a polite crawler learns that a page is missing.
func (w *Web) isGone(p Ref) bool {
	h := w.host(p.Host)
	d := w.draw(&h, p.Number)
	return d.kind == KindMissing && !w.denied(&h, p.Number, &d)
}

func (v *Visit) outcome() Outcome {
	switch {
	case v.Denied:
		return OutcomeDenied
	case v.Kind == KindRedirect:
		return OutcomeRedirect
	case v.Kind == KindMissing:
		return OutcomeGone
	case v.Kind == KindError:
		return OutcomeFailed
	case v.Kind == KindDuplicate:
		return OutcomeDuplicate
	}
	return OutcomeFetched
}

func (d *Docs) walkURLs(ctx context.Context, seeds []string, fn func(v *SiteVisit) error) error {
	gone := map[string]bool{}
	isGone := func(u string) bool {
		known, seen := gone[u]
		if !seen {
			known = !d.has(u)
			gone[u] = known
		}
		return known
	}
	var out SiteVisit
	return d.Walk(ctx, seeds, func(v *DocVisit) error {
		out = SiteVisit{URL: v.URL, Hops: v.Hops, Detail: v.Location, HTML: isHTML(v.MediaType), To: out.To[:0]}
		switch {
		case v.Location != "":
			out.Outcome = OutcomeRedirect
			out.To = append(out.To, v.Location)
		case v.Status == http.StatusOK:
		case v.Status >= 500:
			out.Outcome = OutcomeFailed
		default:
			out.Outcome = OutcomeGone
		}
		once := map[string]bool{}
		for _, l := range v.Links {
			if l.follows() && !once[l.URL] {
				once[l.URL] = true
				out.To = append(out.To, l.URL)
			}
		}
		for _, u := range out.To {
			if isGone(u) {
				out.Broken++
			}
		}
		return fn(&out)
	})
}

// has reports whether a URL of these documents leads to a document or folder.
func (d *Docs) has(rawURL string) bool {
	u, err := url.Parse(rawURL)
	if err != nil {
		return false
	}
	target, _, _ := bytes.Cut([]byte(u.RequestURI()), []byte{'?'})
	name, err := url.PathUnescape(string(target))
	if err != nil {
		return false
	}
	_, found := d.locate(d.hostOf(u), name)
	return found
}
