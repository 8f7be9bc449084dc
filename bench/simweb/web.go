// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Web computes pages.
type Web struct {
	p    Params
	port int
}

// New returns the web of the given parameters; port is the one its URLs carry, 80 for none.
func New(p Params, port int) (*Web, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	return &Web{p: p, port: port}, nil
}

// Streams of random numbers, one for each thing that is drawn.
const (
	drawHost = iota + 1
	drawPage
	drawText
	drawLinks
)

// Host returns the name of a host.
func (w *Web) Host(host int) string {
	return fmt.Sprintf("www.%s-%d.example", []string{"kestrel", "petrel", "gannet", "puffin", "tern", "plover"}[host%6], host)
}

// Address returns the loopback address of a host.
func (w *Web) Address(host int) string {
	n := host/w.p.PerAddress + 2
	return fmt.Sprintf("127.%d.%d.%d", 1+n>>16, n>>8&255, n&255)
}

// Root returns the URL of a host's first page.
func (w *Web) Root(host int) string { return w.base(host) + "/" }

func (w *Web) base(host int) string {
	if w.port == 80 {
		return "http://" + w.Host(host)
	}
	return "http://" + w.Host(host) + ":" + strconv.Itoa(w.port)
}

// Pages returns the number of pages of a host.
func (w *Web) Pages(host int) int {
	r := newRNG(w.p.Seed, drawHost, uint64(host))
	// A power law of exponent 1.8 by inversion, scaled to the mean that is asked for.
	x := math.Pow(1-r.share(), -1/0.8)
	return min(max(int(x*float64(w.p.MeanPages)/4), 1), w.p.MaxPages)
}

func (w *Web) restricted(host int) bool {
	r := newRNG(w.p.Seed, drawHost, uint64(host), 1)
	return r.chance(w.p.Restricted)
}

func (w *Web) language(host int) *language {
	if n := host % 8; n > 0 && n < len(languages) {
		return &languages[n]
	}
	return &languages[0]
}

// Kind is what a page is.
type Kind uint8

// The kinds.
const (
	KindPage Kind = iota
	KindDuplicate
	KindRedirect
	KindMissing
	KindPrivate // robots.txt forbids it
)

// Page is one page of the web, before it is written out.
type Page struct {
	Host, Number int
	Kind         Kind
	Status       int
	Location     string // of a redirect
	NoIndex      bool
	Links        []Link
}

// Link is one link of a page.
type Link struct {
	URL, Anchor string
	NoFollow    bool
}

// kind draws what a page is. The first pages of a host are always pages, so that a host is never
// lost behind a dead link.
func (w *Web) kind(host, n int) Kind {
	if n < 2 {
		return KindPage
	}
	r := newRNG(w.p.Seed, drawPage, uint64(host), uint64(n))
	x := r.share()
	for _, k := range []struct {
		share float64
		kind  Kind
	}{{w.p.Duplicate, KindDuplicate}, {w.p.Redirects, KindRedirect}, {w.p.Missing, KindMissing}, {0.04, KindPrivate}} {
		if x < k.share {
			if k.kind == KindPrivate && !w.restricted(host) {
				return KindPage
			}
			return k.kind
		}
		x -= k.share
	}
	return KindPage
}

// path returns the path of a page.
func (w *Web) path(host, n int) string {
	switch {
	case n == 0:
		return "/"
	case w.kind(host, n) == KindPrivate:
		return fmt.Sprintf("/private/%d.html", n)
	}
	return fmt.Sprintf("/%s/%d.html", []string{"boats", "tides", "nets", "weather", "market"}[n%5], n)
}

// URL returns the URL of a page.
func (w *Web) URL(host, n int) string { return w.base(host) + w.path(host, n) }

// number finds the page of a path.
func (w *Web) number(host int, path string) (int, bool) {
	if path == "/" {
		return 0, true
	}
	slash := strings.LastIndexByte(path, '/')
	n, err := strconv.Atoi(strings.TrimSuffix(path[slash+1:], ".html"))
	if err != nil || n < 1 || n >= w.Pages(host) || w.path(host, n) != path {
		return 0, false
	}
	return n, true
}

// fanout is how many pages each page introduces: page n links to n·fanout+1 and the following, so
// all pages of a host hang on its first.
const fanout = 8

// Page computes a page.
func (w *Web) Page(host, n int) Page {
	p := Page{Host: host, Number: n, Kind: w.kind(host, n), Status: 200}
	r := newRNG(w.p.Seed, drawLinks, uint64(host), uint64(n))
	switch p.Kind {
	case KindMissing:
		p.Status = 404
		return p
	case KindRedirect:
		p.Status = 301 + r.below(2)
		p.Location = w.URL(host, r.below(n))
		return p
	case KindDuplicate:
		return w.duplicate(p)
	}
	p.NoIndex = n > 1 && r.chance(w.p.NoIndex)
	lang := w.language(host)
	p.Links = append(p.Links, Link{URL: w.Root(host), Anchor: lang.words[0]})
	for child := n*fanout + 1; child <= n*fanout+fanout && child < w.Pages(host); child++ {
		p.Links = append(p.Links, w.linkTo(host, child))
	}
	for range w.p.Links/2 + r.below(w.p.Links+1) {
		to, page := host, 0
		if r.chance(w.p.External) {
			to = r.below(w.p.Hosts)
		}
		page = r.below(w.Pages(to))
		l := w.linkTo(to, page)
		l.NoFollow = r.chance(0.02)
		p.Links = append(p.Links, l)
	}
	return p
}

// duplicate gives a page the content of page 1 of its host; the pages that it would introduce are
// introduced by nobody else, so they are linked from the copy's own address only through page 0.
func (w *Web) duplicate(p Page) Page {
	original := w.Page(p.Host, 1)
	p.Links, p.NoIndex = original.Links, original.NoIndex
	return p
}

// linkTo is the link to a page, with the page's title as anchor.
func (w *Web) linkTo(host, n int) Link {
	return Link{URL: w.URL(host, n), Anchor: w.Title(host, n)}
}

// Title returns the title of a page.
func (w *Web) Title(host, n int) string {
	r := newRNG(w.p.Seed, drawText, uint64(host), uint64(n))
	return w.language(host).phrase(&r, 3)
}

// AppendHTML writes a page out.
func (w *Web) AppendHTML(dst []byte, p *Page) []byte {
	n := p.Number
	if p.Kind == KindDuplicate {
		n = 1
	}
	lang := w.language(p.Host)
	r := newRNG(w.p.Seed, drawText, uint64(p.Host), uint64(n), 1)
	size := int(float64(w.p.PageBytes) * math.Exp(0.6*r.normal()))
	dst = append(dst, "<!DOCTYPE html>\n<html lang=\""...)
	dst = append(append(dst, lang.tag...), "\"><head><meta charset=\"utf-8\"><title>"...)
	dst = append(append(dst, w.Title(p.Host, n)...), "</title>"...)
	if p.NoIndex {
		dst = append(dst, `<meta name="robots" content="noindex">`...)
	}
	dst = append(dst, "</head>\n<body><h1>"...)
	dst = append(append(dst, w.Title(p.Host, n)...), "</h1>\n"...)
	for i, l := range p.Links {
		if i%5 == 0 {
			dst = lang.appendText(dst, &r, size*5/(len(p.Links)+5))
			dst = append(dst, "<ul>\n"...)
		}
		dst = append(append(dst, `<li><a href="`...), l.URL...)
		if l.NoFollow {
			dst = append(dst, `" rel="nofollow`...)
		}
		dst = append(append(append(dst, `">`...), l.Anchor...), "</a></li>\n"...)
		if i%5 == 4 || i == len(p.Links)-1 {
			dst = append(dst, "</ul>\n"...)
		}
	}
	return append(dst, "</body></html>\n"...)
}

// robots returns the robots.txt of a host.
func (w *Web) robots(host int) string {
	if w.restricted(host) {
		return "User-agent: *\nDisallow: /private/\n"
	}
	return "User-agent: *\nDisallow:\n"
}

// modified is the Last-Modified time of a page.
func (w *Web) modified(host, n int) time.Time {
	r := newRNG(w.p.Seed, drawPage, uint64(host), uint64(n), 3)
	return time.Date(2020, 1, 1, 0, 0, r.below(6*365*86400), 0, time.UTC)
}
