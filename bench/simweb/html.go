// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"strconv"
	"time"
)

// linkBytes is about the size of one link in a page, measured over Small's pages. It decides how much text is written
// before the links.
const linkBytes = 112

// AppendHTML appends the bytes of a page that answers 200 to dst and returns it. now matters only with
// Params.ChangeEvery. It allocates nothing if dst has room and the page has fewer than some 190 links.
func (w *Web) AppendHTML(dst []byte, host, n int, now time.Time) []byte {
	h := w.host(host)
	d := w.draw(&h, n)
	c := w.content(&h, n, &d)
	return w.appendHTML(dst, &h, &c, w.lastChange(&h, c.page, now))
}

// appendHTML writes
//
//	<!DOCTYPE html> … <title>Fog on the coast at Gullbay | Kestrel 17</title> <meta robots>
//	<nav>  links that every page of the host has
//	<h1>, then in turns a paragraph and a list of links, as many as keep in step with the text
//	<footer> the date of the last change
func (w *Web) appendHTML(dst []byte, h *hostFacts, c *source, changed change) []byte {
	var room [refsRoom]ref
	r, links, size := w.degree(h, c.textPage)
	refs := w.appendRefs(room[:0], h, c.page, links)
	nav := 1 + min(w.p.NavLinks, h.pages-1)
	start := len(dst)
	dst = w.appendHead(dst, h, c)
	dst = append(dst, "<nav><ul>\n"...)
	for _, l := range refs[:nav] {
		dst = w.appendItem(dst, h, l)
	}
	dst = append(dst, "</ul></nav>\n<main><h1>"...)
	dst = w.appendTitle(dst, h.text, c.titlePage, &c.title)
	dst = append(dst, "</h1>\n"...)
	refs = refs[nav:]

	text := max(size-(len(dst)-start)-links*linkBytes-60, 1)
	written, linked := 0, 0
	for first := true; ; first = false {
		chunk := h.text.chunk(&r, &c.title)
		if first && changed.number != 0 {
			x := rng{changed.number}
			chunk = h.text.chunk(&x, &c.title)
		}
		if !first && written+len(chunk)/2 > text {
			break
		}
		dst = append(dst, chunk...)
		written += len(chunk)
		dst, linked = w.appendList(dst, h, refs, linked, len(refs)*min(written, text)/text)
	}
	dst, _ = w.appendList(dst, h, refs, linked, len(refs))
	dst = append(append(append(dst, "</main>\n<footer>"...), h.text.updated...), ' ')
	dst = changed.at.AppendFormat(dst, "2006-01-02")
	dst = strconv.AppendInt(append(dst, " #"...), int64(c.page), 10)
	return append(dst, "</footer></body></html>\n"...)
}

// chunk draws a paragraph; three in four are about the page's topic.
func (t *rendition) chunk(r *rng, d *pageDraw) []byte {
	x := r.next()
	topic := uint64(d.topic)
	if x&3 == 0 {
		topic = x >> 8 % topics
	}
	return t.chunks[topic][x>>32%chunksPerTopic]
}

func (w *Web) appendHead(dst []byte, h *hostFacts, c *source) []byte {
	t := h.text
	dst = append(append(dst, "<!DOCTYPE html>\n<html lang=\""...), t.lang.tag...)
	dst = append(append(dst, "\" dir=\""...), t.lang.dir...)
	dst = append(append(dst, "\"><head><meta charset=\""...), t.charset...)
	dst = w.appendTitle(append(dst, "\">\n<title>"...), t, c.titlePage, &c.title)
	dst = w.appendSite(append(dst, " | "...), h.number)
	dst = append(dst, "</title>\n"...)
	if c.draw.noIndex || c.draw.noFollow {
		dst = append(dst, `<meta name="robots" content="`...)
		if c.draw.noIndex {
			dst = append(dst, "noindex,"...)
		}
		if c.draw.noFollow {
			dst = append(dst, "nofollow,"...)
		}
		dst = append(dst[:len(dst)-1], "\">\n"...)
	}
	return append(dst, "</head>\n<body>"...)
}

// appendSite appends the name of a host's site, in ASCII: "Kestrel 17".
func (w *Web) appendSite(dst []byte, host int) []byte {
	d := w.names.domain(host)
	bird := birds[d%len(birds)]
	dst = append(append(dst, bird[0]-'a'+'A'), bird[1:]...)
	dst = strconv.AppendInt(append(dst, ' '), int64(d), 10)
	if s := host - w.names.first(d); s > 0 {
		dst = strconv.AppendInt(append(dst, '/'), int64(s), 10)
	}
	return dst
}

// appendTitle appends the title of page n in a rendition of its host's language.
func (w *Web) appendTitle(dst []byte, t *rendition, n int, d *pageDraw) []byte {
	if n == 0 {
		return append(dst, t.home...)
	}
	subject := t.subjects[d.topic][d.subject]
	if !t.lang.placeFirst {
		dst = append(append(dst, subject...), t.between...)
	}
	dst = append(append(dst, t.placeA[d.placeA]...), t.placeB[d.placeB]...)
	if t.lang.placeFirst {
		dst = append(append(dst, t.between...), subject...)
	}
	return dst
}

// appendList appends the links refs[from:to] as a list, and returns the end.
func (w *Web) appendList(dst []byte, h *hostFacts, refs []ref, from, to int) ([]byte, int) {
	if to <= from {
		return dst, from
	}
	dst = append(dst, "<ul>\n"...)
	for _, l := range refs[from:to] {
		dst = w.appendItem(dst, h, l)
	}
	return append(dst, "</ul>\n"...), to
}

func (w *Web) appendItem(dst []byte, h *hostFacts, l ref) []byte {
	to, other := h, hostFacts{}
	if int(l.host) != h.number {
		other = w.host(int(l.host))
		to = &other
	}
	d := w.draw(to, int(l.page))
	dst = append(dst, `<li><a href="`...)
	switch l.href {
	case hrefFull:
		dst = w.appendBase(dst, to.number)
	case hrefRelative:
		dst = append(dst, ".."...)
	}
	dst = w.appendPath(dst, to, int(l.page), &d, true)
	if l.noFollow {
		dst = append(dst, `" rel="nofollow`...)
	}
	dst = w.appendAnchor(append(dst, `">`...), h.text, to, l, &d)
	return append(dst, "</a></li>\n"...)
}

// appendAnchor appends the text of a link on a page in rendition t. A title in another language can be written only in
// UTF-8; in other charsets the name of the site takes its place.
func (w *Web) appendAnchor(dst []byte, t *rendition, to *hostFacts, l ref, d *pageDraw) []byte {
	switch l.anchor {
	case anchorSite:
		return w.appendSite(dst, to.number)
	case anchorGeneric:
		return append(dst, t.generic[int(l.generic)%len(t.generic)]...)
	case anchorBare:
		return w.names.append(dst, to.number)
	}
	switch {
	case to.text.number == t.number:
		return w.appendTitle(dst, t, int(l.page), d)
	case t.charset == utf8Charset.name:
		return w.appendTitle(dst, w.tongues[to.text.number][0], int(l.page), d)
	}
	return w.appendSite(dst, to.number)
}
