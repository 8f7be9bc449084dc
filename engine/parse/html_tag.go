// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"

	"github.com/seine-crawler/seine/engine/parse/content"
)

// startTag acts on a start tag whose attributes are in p.attrs.
func (p *htmlPass) startTag(t *tag, name []byte, slash, isHidden bool) {
	el := t.el
	if p.waiting != notSpecial {
		return
	}
	empty := slash && (p.xml || p.foreign > 0) // in HTML the slash of "<div/>" means nothing
	if el.isRaw() {
		p.raw, p.rawEmpty, p.rawName = el, empty, nil
		if p.foreign > 0 {
			p.rawName = name
		} else if !empty && !el.isShownRaw() {
			p.waiting = el
		}
		if el == elScript {
			kind, _ := p.attr("type")
			p.isLD = bytes.EqualFold(bytes.TrimSpace(kind), []byte("application/ld+json"))
		}
	}
	if el == elTemplate && !empty {
		// A declarative shadow root is visible; any other template is inert.
		if _, shown := p.attr("shadowrootmode"); !shown || p.template > 0 {
			p.template++
		}
		return
	}
	if p.template > 0 {
		return
	}
	name = t.unmasked(name)
	if p.hidden.active() {
		p.hidden.start(name, t, empty)
	} else if !empty && p.hides(el, isHidden) && !t.void {
		p.hidden.push(name)
	}
	if p.noQuote || p.quoted.active() {
		p.startQuoted(t, name, empty)
	}
	if p.foreign > 0 && el.breaksOut() {
		p.foreign = 0
	}
	if t.kind != content.None && !p.hidden.active() && !empty {
		p.box(t.kind)
	}
	p.element(el, slash, empty)
	if p.wants.requisites {
		p.requisite(name)
	}
	if p.wants.forms && string(name) == "form" {
		p.form()
	}
}

// keeps reports whether a tag's attributes are needed.
func (p *htmlPass) keeps(t *tag) bool {
	return t.el.keepsAttributes() || t.kind != content.None || p.wants.requisites
}

// startQuoted tracks the elements inside one with data-nosnippet, and opens one that has it.
func (p *htmlPass) startQuoted(t *tag, name []byte, empty bool) {
	if p.quoted.active() {
		p.quoted.start(name, t, empty)
		p.endQuoted()
	}
	if p.noQuote && !p.quoted.active() && !empty && !t.void {
		p.quoted.push(name)
		p.unquoted = len(p.text.out)
	}
}

// endQuoted notes the text of an element with data-nosnippet if it has ended.
func (p *htmlPass) endQuoted() {
	parts := p.page.NoSnippet
	switch n := len(parts); {
	case p.quoted.active() || len(p.text.out) == p.unquoted:
	case n == maxNoSnippet: // the text in between may be shown, but is excluded, too
		parts[n-1].To = len(p.text.out)
	default:
		p.page.NoSnippet = append(parts, Range{p.unquoted, len(p.text.out)})
	}
}

// hides reports whether the text of the element that starts is invisible. The hidden attribute of html and body is
// ignored: pages that set it until a script has run are full of text.
func (p *htmlPass) hides(el element, isHidden bool) bool {
	switch el {
	case elHTML, elBody, elHead:
		return false
	case elUnseen:
		return true
	case elForeignUnseen:
		return p.foreign > 0
	case elDialog:
		_, open := p.attr("open")
		return isHidden || !open
	}
	return isHidden && !el.isRaw() && !p.comesLater()
}

// comesLater reports whether readers come to see the hidden element that starts: the panel of a tab that is not chosen
// yet, or a part of the page that React's server sent when it was ready, out of its place, as <div hidden id="S:1">.
func (p *htmlPass) comesLater() bool {
	if id, _ := p.attr("id"); bytes.HasPrefix(id, []byte("S:")) {
		return true
	}
	role, _ := p.attr("role")
	return bytes.EqualFold(role, []byte("tabpanel"))
}

// box opens a box of the outline.
func (p *htmlPass) box(kind content.Kind) {
	var a content.Attributes
	for i := len(p.attrs) - 1; i >= 0; i-- { // the first of a name counts
		switch value := p.attrs[i].value; string(p.attrs[i].name) {
		case "class":
			a.Class = value
		case "id":
			a.ID = value
		case "role":
			a.Role = value
		case "itemprop":
			a.Item = value
		case "data-testid":
			a.Test = value
		case "style":
			a.Style = value
		case "aria-hidden":
			a.AriaHidden = value
		}
	}
	p.outline.Start(kind, p.text.out, &a)
}

// element acts on a start tag by its element.
func (p *htmlPass) element(el element, slash, empty bool) {
	switch el {
	case notSpecial, elPhrase:
	case elA:
		p.openAnchor()
		if empty {
			p.closeAnchor()
		}
	case elArea:
		p.elementLink(LinkAnchor, "href", "alt")
	case elFrame, elIframe:
		p.elementLink(LinkFrame, "src", "title")
		p.lineBreak()
	case elLink, elBase:
		switch {
		case p.foreign > 0: // an element of that name in svg or math says nothing
		case el == elLink:
			p.relation()
		default:
			p.setBase()
		}
	case elMeta:
		p.meta()
	case elHTML:
		p.language()
	case elBody:
		p.inBody = true
		p.lineBreak()
	case elImg:
		p.image()
	case elTime:
		p.timeElement()
	case elPre:
		p.lineBreak()
		p.pre++
		p.text.lines = true
	case elHeading:
		p.lineBreak()
		if p.endHeading(); !p.hidden.active() {
			p.heading = len(p.text.out)
		}
	case elSVG, elMath:
		if !slash {
			p.foreign++
		}
		p.wordBreak()
	case elNoscript:
		p.noscript = true
	default:
		p.boundary(el)
	}
}

// endTag acts on an end tag.
func (p *htmlPass) endTag(name []byte) {
	t := classify(name)
	el := t.el
	if p.waiting != notSpecial {
		if el == p.waiting {
			p.waiting = notSpecial
		}
		return
	}
	if p.template > 0 {
		if el == elTemplate {
			p.template--
		}
		return
	}
	mayBeOpen := t.kind == content.None || p.outline.IsOpen(t.kind)
	if p.quoted.active() {
		p.quoted.end(t.unmasked(name), el, mayBeOpen)
		p.endQuoted()
	}
	if (!p.hidden.active() || p.hidden.end(t.unmasked(name), el, mayBeOpen)) && t.kind != content.None {
		p.outline.End(t.kind, p.text.out)
	}
	if p.foreign > 0 && el.breaksOut() {
		p.foreign = 0
	}
	switch el {
	case notSpecial, elPhrase:
	case elA:
		if p.open >= 0 {
			p.foreign = min(p.foreign, p.openForeign)
		}
		p.closeAnchor()
	case elPre:
		p.lineBreak()
		p.pre = max(0, p.pre-1)
		p.text.lines = p.pre > 0
	case elHeading:
		p.endHeading()
		p.lineBreak()
	case elSVG, elMath:
		p.foreign = max(0, p.foreign-1)
		p.wordBreak()
	case elNoscript:
		p.noscript = false
	default:
		p.boundary(el)
	}
}

// boundary separates the text before and after a tag where a browser would.
func (p *htmlPass) boundary(el element) {
	switch el {
	case elBlock, elBreak, elHead, elBody, elHTML, elDialog:
		p.lineBreak()
	case elCell, elUnseen, elTextarea:
		p.wordBreak()
	}
}

func (p *htmlPass) lineBreak() {
	p.outline.Cut(p.text.out)
	p.text.lineBreak()
	p.anchor.wordBreak()
}

func (p *htmlPass) wordBreak() {
	p.text.wordBreak()
	p.anchor.wordBreak()
}

// endHeading notes where in the visible text the open heading is.
func (p *htmlPass) endHeading() {
	from := p.heading
	if p.heading = -1; from < 0 {
		return
	}
	text := bytes.TrimLeft(p.text.out[from:], " \n")
	from = len(p.text.out) - len(text)
	text = bytes.TrimRight(text[:runeCut(text, MaxAnchor)], " \n")
	if len(text) > 0 && len(p.page.Headings) < MaxHeadings {
		p.page.Headings = append(p.page.Headings, Range{from, from + len(text)})
	}
}

// characters handles a text token, which is raw text if a raw element was opened before it.
func (p *htmlPass) characters(at int, data []byte) {
	raw := p.raw
	p.raw = notSpecial
	switch {
	case raw != notSpecial && raw != elRawMarkup:
		if p.noscript && raw != elScript {
			if n := p.rawEnd(raw, noscriptName, data); n < len(data) && p.stepBack(at+n) {
				data = data[:n]
			}
		}
		isMarkup := p.rawEmpty || p.rawName != nil && bytes.IndexByte(data, '<') >= 0
		if !isMarkup || !p.stepBack(at) {
			p.rawText(raw, p.unmask(data))
		} else if !p.rawEmpty && (raw == elTitle || raw == elScript || raw == elStyle) {
			p.hidden.push(p.rawName)
		}
	case len(data) > 9 && data[0] == '<' && bytes.HasPrefix(data, []byte("<![CDATA[")):
		if p.xml || p.foreign > 0 {
			p.show(p.lexer.Text(), nil)
			return
		}
		p.mask(at)
		p.stepBack(at)
	default:
		p.show(data, p.refs)
	}
}

// rawText handles the content of a raw element.
func (p *htmlPass) rawText(el element, data []byte) {
	switch {
	case p.template > 0:
	case el == elScript:
		if p.isLD {
			p.outline.JSONLD(data)
			p.linkedData(data)
		}
	case el.isShownRaw():
		p.lineBreak()
		p.text.lines = true
		p.show(data, nil)
		p.text.lines = p.pre > 0
		p.lineBreak()
	case el == elTitle && p.foreign > 0: // the name of an icon, often the only content of a link
		p.label(data)
	case el == elTitle && !p.hasTitle:
		var w textWriter
		w.begin(p.arena, MaxTitle)
		w.write(data, p.refs)
		p.title = span{int32(w.start), int32(len(w.out))}
		p.arena = w.out
		p.hasTitle = p.title.to > p.title.from
	}
}

// show writes visible text to the page's text and the open link's anchor.
func (p *htmlPass) show(data []byte, refs *references) {
	if p.waiting != notSpecial || p.template > 0 {
		return
	}
	seen := !p.hidden.active()
	if seen {
		p.text.write(data, refs)
	}
	if p.open >= 0 && (seen || !p.openSeen) && !p.anchorInText {
		p.anchor.write(data, refs)
	}
}

// label writes the text alternative of an image into the open link's anchor.
func (p *htmlPass) label(data []byte) {
	if p.open >= 0 {
		w := p.ownAnchor()
		w.wordBreak()
		w.write(data, p.refs)
		w.wordBreak()
	}
}

// comment corrects what the lexer takes for comments.
func (p *htmlPass) comment(at int, data []byte) {
	switch {
	case len(data) > 5 && bytes.HasPrefix(data, []byte("<!-->")):
		p.stepBack(at + 5)
	case len(data) > 6 && bytes.HasPrefix(data, []byte("<!--->")):
		p.stepBack(at + 6)
	case (p.xml || p.foreign > 0) && bytes.HasPrefix(data, maskedCDATA):
		from, to, next := at+len(maskedCDATA), len(p.src), len(p.src)
		if end := bytes.Index(p.src[from:], []byte("]]>")); end >= 0 {
			to = from + end
			next = to + len("]]>")
		}
		p.show(p.unmask(p.src[from:to]), nil)
		p.moveTo(next)
	}
}
