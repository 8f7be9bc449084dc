// SPDX-License-Identifier: Apache-2.0

package simweb

// ref is a link of a page before it is written. It is small, so that a page's links fit on the stack.
type ref struct {
	host, page int32
	noFollow   bool
	href       hrefStyle
	anchor     anchorStyle
	generic    uint8 // which of the anchors such as "more"
}

type hrefStyle uint8

const (
	hrefPath     hrefStyle = iota // /weather/…
	hrefRelative                  // ../weather/…
	hrefFull                      // http://…
)

type anchorStyle uint8

const (
	anchorTitle   anchorStyle = iota // the title of the target
	anchorGeneric                    // "more"
	anchorBare                       // the path or host of the target
	anchorSite                       // the name of the host, in navigation
)

// refsRoom is how many refs fit a page's stack frame; pages with more allocate.
const refsRoom = 192

// appendRefs appends the links of a page in the order of the page, navigation first. links is the page's out-degree
// beside navigation. The page must have content of its own.
func (w *Web) appendRefs(dst []ref, h *hostFacts, n, links int) []ref {
	p := &w.p
	self := int32(h.number)
	dst = append(dst, ref{host: self, anchor: anchorSite})
	for i := 1; i <= p.NavLinks && i < h.pages; i++ {
		dst = append(dst, ref{host: self, page: int32(i)})
	}
	for i, c := 0, n*p.Fanout+1; i < p.Fanout && c < h.pages; i, c = i+1, c+1 {
		dst = append(dst, ref{host: self, page: int32(c)})
		links--
	}
	if n > 0 && links > 0 {
		dst = append(dst, ref{host: self, page: int32((n - 1) / p.Fanout), href: hrefRelative})
		links--
	}
	r := newRNG(p.Seed, drawLinks, h.number, n)
	// External links are a share of the out-degree that remains after the links of the tree.
	outside := p.External
	for range links {
		x := r.next()
		l := ref{host: self, href: hrefStyles[x&15], generic: uint8(x >> 8)}
		if w.p.Hosts > 1 && unit(mix(x, 2)) < outside {
			to := w.otherHost(&r, h.number)
			l.host, l.href = int32(to), hrefFull
			if x>>16&1 == 0 {
				l.page = int32(r.skewed(w.Pages(to)))
			}
			l.noFollow = r.chance(p.NoFollowLinks)
		} else {
			l.page = int32(r.skewed(h.pages))
		}
		if !r.chance(p.TitleAnchors) {
			l.anchor = anchorGeneric
			if x>>17&3 == 0 {
				l.anchor = anchorBare
			}
		}
		dst = append(dst, l)
	}
	return dst
}

// hrefStyles: of sixteen links inside a host twelve give the path, two are relative, two full.
var hrefStyles = [16]hrefStyle{12: hrefRelative, 13: hrefRelative, 14: hrefFull, 15: hrefFull}

// degree draws a page's number of links and its size in bytes from one stream, which near-duplicates share.
func (w *Web) degree(h *hostFacts, textPage int) (r rng, links, size int) {
	r = newRNG(w.p.Seed, drawText, h.number, textPage)
	links = r.of(w.degrees)
	return r, links, r.of(w.sizes)
}

// Page is a page with its links written out, for truth and tests; the server does not need it.
type Page struct {
	Host, Number int
	URL, Title   string
	Kind         Kind
	Status       int
	Location     string // target of a redirect, absolute; "" otherwise
	Original     int    // the page whose content, or whose text, this one has; otherwise its own number
	Denied       bool   // by robots.txt
	NoIndex      bool
	NoFollow     bool
	Links        []Link // of pages that answer 200, in the order of the page, repetitions included
}

// Link is a link of a page: its absolute URL, and its text in UTF-8.
type Link struct {
	URL, Anchor string
	NoFollow    bool
}

// Page computes page n of a host, 0 ≤ n < Pages(host).
func (w *Web) Page(host, n int) Page {
	h := w.host(host)
	d := w.draw(&h, n)
	p := Page{
		Host: host, Number: n, URL: w.URL(host, n), Kind: d.kind, Status: int(d.status), Original: n,
		Denied: w.denied(&h, n, &d), NoIndex: d.noIndex, NoFollow: d.noFollow,
	}
	c := w.content(&h, n, &d)
	switch d.kind {
	case KindRedirect:
		p.Location = w.URL(w.redirect(&h, n))
		return p
	case KindMissing, KindError:
		return p
	case KindDuplicate, KindNearDuplicate:
		p.Original = w.original(&h, n)
	}
	p.NoIndex, p.NoFollow = c.draw.noIndex, c.draw.noFollow
	p.Title = h.text.decode(w.appendTitle(nil, h.text, c.titlePage, &c.title))
	_, links, _ := w.degree(&h, c.textPage)
	for _, l := range w.appendRefs(nil, &h, c.page, links) {
		p.Links = append(
			p.Links,
			Link{URL: w.URL(int(l.host), int(l.page)), Anchor: w.anchor(&h, l), NoFollow: l.noFollow},
		)
	}
	return p
}

func (w *Web) anchor(h *hostFacts, l ref) string {
	to := w.host(int(l.host))
	d := w.draw(&to, int(l.page))
	return h.text.decode(w.appendAnchor(nil, h.text, &to, l, &d))
}

// source names the pages of a host from which the parts of a page come.
type source struct {
	page      int      // links, robots meta, date line
	draw      pageDraw // of page
	textPage  int      // paragraphs, size, out-degree
	titlePage int
	title     pageDraw // of titlePage
}

// content resolves duplicates. It is meaningful only for kinds that answer 200.
func (w *Web) content(h *hostFacts, n int, d *pageDraw) source {
	s := source{page: n, draw: *d, textPage: n, titlePage: n, title: *d}
	switch d.kind {
	case KindDuplicate:
		o := w.original(h, n)
		od := w.draw(h, o)
		return source{page: o, draw: od, textPage: o, titlePage: o, title: od}
	case KindNearDuplicate:
		s.textPage = w.original(h, n)
		s.titlePage, s.title = s.textPage, w.draw(h, s.textPage)
	}
	return s
}
