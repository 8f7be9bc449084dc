// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"strings"
)

// link is a reference as written, in the arena. Links are resolved at the end of the page, since a base element may
// come after them.
type link struct {
	href, anchor span
	language     span   // hreflang of an alternate
	label        []byte // aria-label or title, the anchor if the link has no text
	noFollow     bool
	kind         LinkKind
}

// addRef notes a link and reports whether it was within the bounds.
func (p *htmlPass) addRef(kind LinkKind, href []byte) bool {
	if len(p.links) == maxRefs || len(href) > maxRef {
		p.page.LinksDropped++
		p.page.Truncated = p.page.Truncated || len(p.links) == maxRefs
		return false
	}
	rel, _ := p.attr("rel")
	noFollow := hasAny(rel, "nofollow", "ugc", "sponsored")
	p.links = append(p.links, link{href: p.attrSpan(href), noFollow: noFollow, kind: kind})
	return true
}

// openAnchor begins a link. A link that is still open ends, as links cannot nest.
func (p *htmlPass) openAnchor() {
	p.closeAnchor()
	href, ok := p.attr("href")
	if !ok && p.foreign > 0 {
		href, ok = p.attr("xlink:href")
	}
	if !ok || !p.addRef(LinkAnchor, href) {
		return
	}
	p.open, p.openSeen, p.openForeign = len(p.links)-1, !p.hidden.active(), p.foreign
	rel, _ := p.attr("rel")
	p.openAuthor = hasAny(rel, "author")
	if label, ok := p.attr("aria-label"); ok {
		p.links[p.open].label = label
	} else if label, ok := p.attr("title"); ok {
		p.links[p.open].label = label
	}
	p.anchor.begin(p.anchor.out[:0], MaxAnchor)
	p.anchored, p.anchorInText = len(p.text.out), p.openSeen && !p.text.full
	if p.openSeen {
		p.outline.StartLink(p.text.out)
	}
}

// ownAnchor gives the open link an anchor text of its own, so that text that is not visible (alt) can be added. Before
// that, the anchor is the page's text from where the link began.
func (p *htmlPass) ownAnchor() *textWriter {
	if p.anchorInText {
		p.anchorInText = false
		p.anchor.write(p.text.out[p.anchored:], nil)
		if p.text.gap != 0 {
			p.anchor.wordBreak()
		}
	}
	return &p.anchor
}

func (p *htmlPass) closeAnchor() {
	if p.open < 0 {
		return
	}
	p.outline.EndLink(p.text.out)
	l := &p.links[p.open]
	text := p.anchor.text()
	if p.anchorInText {
		text = p.text.out[p.anchored:]
		if len(text) > 0 && isSpace(text[0]) {
			text = text[1:]
		}
		if p.openAuthor {
			p.authorLink(text)
		}
		if n := runeCut(text, MaxAnchor); n < len(text) {
			text = bytes.TrimRight(text[:n], " \n")
		}
	}
	if len(text) > 0 {
		l.anchor.from = int32(len(p.arena))
		p.arena = append(p.arena, text...)
		l.anchor.to = int32(len(p.arena))
		for i, c := range p.arena[l.anchor.from:] {
			if c == '\n' {
				p.arena[int(l.anchor.from)+i] = ' '
			}
		}
	} else if len(l.label) > 0 {
		l.anchor = p.fold(l.label, MaxAnchor)
	}
	p.open = -1
}

// elementLink notes the link of an element without content, whose anchor is an attribute.
func (p *htmlPass) elementLink(kind LinkKind, from, anchor string) {
	href, ok := p.attr(from)
	if !ok || len(href) == 0 || !p.addRef(kind, href) {
		return
	}
	if text, ok := p.attr(anchor); ok {
		p.links[len(p.links)-1].anchor = p.fold(text, MaxAnchor)
	}
}

// relation notes link elements that lead to pages. Style sheets, icons, feeds and hints to the browser are not links of
// a page.
func (p *htmlPass) relation() {
	rel, _ := p.attr("rel")
	href, ok := p.attr("href")
	if !ok || len(href) == 0 {
		return
	}
	var kind LinkKind
	switch {
	case hasAny(rel, "canonical"):
		kind = LinkCanonical
	case hasAny(rel, "next"):
		kind = LinkNext
	case hasAny(rel, "prev", "previous"):
		kind = LinkPrev
	case hasAny(rel, "alternate") && !hasAny(rel, "stylesheet"):
		if t, ok := p.attr("type"); ok && len(t) > 0 && !bytes.Contains(bytes.ToLower(t), []byte("html")) {
			return
		}
		kind = LinkAlternate
	default:
		return
	}
	if !p.addRef(kind, href) {
		return
	}
	// Markup that readers contribute to a page's body must not give it another canonical URL.
	if kind == LinkCanonical && p.canonical == (span{}) && !p.inBody && len(p.text.text()) == 0 {
		p.canonical = p.links[len(p.links)-1].href
	}
	l := &p.links[len(p.links)-1]
	if title, ok := p.attr("title"); ok {
		l.anchor = p.fold(title, MaxAnchor)
	}
	if lang, ok := p.attr("hreflang"); ok && kind == LinkAlternate && len(lang) <= maxHreflang {
		l.language = p.fold(lang, maxHreflang)
	}
}

// image writes an image's alternative text into the open link's anchor.
func (p *htmlPass) image() {
	p.wordBreak()
	if alt, ok := p.attr("alt"); ok && p.open >= 0 {
		from := p.attrSpan(alt)
		w := p.ownAnchor()
		w.write(p.arena[from.from:from.to], nil)
		w.wordBreak()
		p.arena = p.arena[:from.from]
	}
}

// hasAny reports whether a list separated by white space has one of the words, ignoring case.
func hasAny(list []byte, words ...string) bool {
	for len(list) > 0 {
		n := 0
		for n < len(list) && !isSpace(list[n]) {
			n++
		}
		for _, w := range words {
			if n == len(w) && strings.EqualFold(string(list[:n]), w) {
				return true
			}
		}
		if n == len(list) {
			return false
		}
		list = list[n+1:]
	}
	return false
}

// finish fills the page from what the pass collected, and resolves the links, now that the base is known. All strings
// of the page are substrings of one.
func (p *htmlPass) finish() {
	p.closeAnchor()
	p.endHeading()
	p.readLines()
	if p.quoted.active() {
		p.quoted.reset()
		p.endQuoted()
	}
	page := p.page
	page.Blocks = append(page.Blocks, p.outline.Select(p.text.out)...)
	page.Text, page.Truncated = p.text.out, page.Truncated || p.text.full
	all := string(p.arena)
	cut := func(s span) string { return all[s.from:s.to] }
	page.Title, page.Description, page.Keywords = cut(p.title), cut(p.description), cut(p.keywords)
	if page.Title == "" {
		page.Title = cut(p.facts.at[factTitle])
		page.Title = page.Title[:runeCut(page.Title, MaxTitle)]
	}
	if page.Description == "" {
		page.Description = cut(p.facts.at[factDescription])
	}
	page.Facts = p.factsOf(cut)
	var heading []byte
	if len(page.Headings) > 0 {
		heading = page.Text[page.Headings[0].From:page.Headings[0].To]
	}
	page.Title = ownTitle(page.Title, page.Facts.SiteName, heading)
	if p.hasBase {
		if u, err := page.URL.Resolve(cut(p.base)); err == nil {
			page.Base = u
		}
	}
	for i := range p.links {
		l := &p.links[i]
		out := Outlink{Anchor: cut(l.anchor), Language: cut(l.language), NoFollow: l.noFollow, Kind: l.kind}
		page.AddLink(encodeQuery(cut(l.href), page.Charset), out)
	}
	if p.canonical != (span{}) && page.Canonical.IsZero() {
		if u, err := page.Base.Resolve(encodeQuery(cut(p.canonical), page.Charset)); err == nil {
			page.Canonical = u
		}
	}
	if p.hasRefresh && page.Refresh == nil {
		if u, err := page.Base.Resolve(encodeQuery(cut(p.refresh), page.Charset)); err == nil && u != page.URL {
			page.Refresh = &Refresh{u, p.delay}
		}
	}
}
