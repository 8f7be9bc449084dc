// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"sync"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/html"
)

// htmlPass is one pass over one page, with its scratch memory.
type htmlPass struct {
	in   *Input
	page *Page
	src  []byte // the page in UTF-8; the lexer writes to it (it lower-cases names in place)

	text   textWriter
	title  textWriter
	inside struct {
		title, anchor bool
		skip          string // element whose content is not text, "" outside
		skipDepth     int
	}
	titled bool // the first title counts

	attrs  []attribute // of the tag at hand
	refs   []ref
	anchor textWriter // of the open link
	open   int        // index of the open link in refs, -1 for none
	based  bool

	canonical, refresh string
	described          bool
}

type attribute struct{ name, value []byte }

// ref is a link as written; links are resolved when the whole page is read, since a base element
// may come after them.
type ref struct {
	href     string
	anchor   string
	noFollow bool
	kind     LinkKind
}

var passes = sync.Pool{New: func() any { return new(htmlPass) }}

// parseHTML is the parser for HTML and XHTML.
func parseHTML(in *Input, page *Page) error {
	p := passes.Get().(*htmlPass)
	defer p.release()
	p.in, p.page, p.open = in, page, -1
	p.src, page.Charset = decodeText(p.src[:0], in.Body, in.ContentType)
	p.text.begin(page.Text[:0], MaxText)
	p.title.begin(p.title.out[:0], MaxTitle)
	p.lex(p.src, 0)
	p.closeAnchor()
	p.finish()
	return nil
}

func (p *htmlPass) release() {
	clear(p.refs)
	*p = htmlPass{src: p.src[:0], title: textWriter{out: p.title.out[:0]}, anchor: textWriter{out: p.anchor.out[:0]}, attrs: p.attrs[:0], refs: p.refs[:0]}
	if cap(p.src) > 4<<20 {
		p.src = nil
	}
	passes.Put(p)
}

// lex runs the lexer over a part of the page. Foreign content (svg, math) comes as one token, up to
// the end of the page when it is not closed: what lies inside is lexed again as HTML, so that its
// links and text are not lost.
func (p *htmlPass) lex(src []byte, depth int) {
	l := html.NewLexer(parse.NewInputBytes(src))
	for {
		kind, data := l.Next()
		switch kind {
		case html.ErrorToken:
			return
		case html.TextToken:
			p.characters(data)
		case html.StartTagToken:
			name := l.Text()
			p.attrs = p.attrs[:0]
			void := false
			for {
				kind, _ := l.Next()
				if kind != html.AttributeToken {
					void = kind == html.StartTagVoidToken
					break
				}
				p.attribute(l.AttrKey(), l.AttrVal())
			}
			p.startTag(name, void)
		case html.EndTagToken:
			p.endTag(l.Text())
		case html.SVGToken, html.MathToken:
			if at := bytes.IndexByte(data, '>'); at >= 0 && depth < maxForeignDepth && !bytes.HasSuffix(data[:at], []byte{'/'}) {
				p.text.wordBreak()
				p.lex(append([]byte(nil), data[at+1:]...), depth+1)
				p.text.wordBreak()
			}
		}
	}
}

// attribute notes an attribute of the tag at hand; of equal names the first counts.
func (p *htmlPass) attribute(name, value []byte) {
	for i := range p.attrs {
		if bytes.Equal(p.attrs[i].name, name) {
			return
		}
	}
	if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		value = value[1 : n-1]
	} else if n >= 1 && (value[0] == '"' || value[0] == '\'') {
		value = value[1:]
	}
	if len(p.attrs) < 256 {
		p.attrs = append(p.attrs, attribute{name, value})
	}
}

// attr returns an attribute's value with references resolved.
func (p *htmlPass) attr(name string) (string, bool) {
	for i := range p.attrs {
		if string(p.attrs[i].name) == name {
			return unescapeAttribute(p.attrs[i].value), true
		}
	}
	return "", false
}

// characters takes text between tags.
func (p *htmlPass) characters(data []byte) {
	switch {
	case p.inside.title:
		p.title.write(data, true)
	case p.inside.skip != "":
	default:
		p.text.write(data, true)
		if p.open >= 0 {
			p.anchor.write(data, true)
		}
	}
}

// startTag acts on an opening tag.
func (p *htmlPass) startTag(name []byte, void bool) {
	if p.inside.skip != "" {
		if string(name) == p.inside.skip && !void {
			p.inside.skipDepth++
		}
		return
	}
	switch string(name) {
	case "a":
		p.openAnchor()
	case "area":
		p.link(LinkAnchor, "href", "alt")
	case "frame", "iframe":
		p.link(LinkFrame, "src", "title")
		p.text.lineBreak()
	case "link":
		p.relation()
	case "base":
		p.base()
	case "meta":
		p.meta()
	case "html":
		if lang, ok := p.attr("lang"); ok {
			p.page.Language = declaredLanguage(lang)
		} else if lang, ok := p.attr("xml:lang"); ok {
			p.page.Language = declaredLanguage(lang)
		}
	case "img":
		if alt, ok := p.attr("alt"); ok && p.open >= 0 {
			p.anchor.wordBreak()
			p.anchor.write([]byte(alt), false)
			p.anchor.wordBreak()
		}
	case "title":
		if !void && !p.titled {
			p.inside.title, p.titled = true, true
		}
	case "script", "style", "template", "textarea", "xmp", "noembed", "object":
		if !void && string(name) != "object" {
			p.inside.skip, p.inside.skipDepth = string(name), 1
		}
	default:
		p.boundary(name)
	}
}

// endTag acts on a closing tag.
func (p *htmlPass) endTag(name []byte) {
	if p.inside.skip != "" {
		if string(name) == p.inside.skip {
			if p.inside.skipDepth--; p.inside.skipDepth == 0 {
				p.inside.skip = ""
			}
		}
		return
	}
	switch string(name) {
	case "a":
		p.closeAnchor()
	case "title":
		p.inside.title = false
	default:
		p.boundary(name)
	}
}

// boundary separates text where a browser would: blocks by a line, cells by a space.
func (p *htmlPass) boundary(name []byte) {
	switch string(name) {
	case "address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd", "details", "dialog", "dir", "div", "dl", "dt",
		"fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hgroup", "hr", "li", "main",
		"menu", "nav", "ol", "option", "p", "pre", "search", "section", "select", "summary", "table", "tbody", "tfoot", "thead", "tr", "ul":
		p.text.lineBreak()
		p.anchor.wordBreak()
	case "td", "th", "button", "input", "img", "label", "legend":
		p.text.wordBreak()
		p.anchor.wordBreak()
	}
}

// textWriter collects text with white space folded, within a bound.
type textWriter struct {
	out   []byte
	limit int
	start int
	gap   byte // owed before the next character: 0, ' ' or '\n'
	full  bool
	buf   []byte
}

func (w *textWriter) begin(out []byte, limit int) {
	*w = textWriter{out: out, limit: limit, start: len(out), buf: w.buf}
}

func (w *textWriter) lineBreak() { w.gap = '\n' }

func (w *textWriter) wordBreak() {
	if w.gap == 0 {
		w.gap = ' '
	}
}

// write appends text; escaped says that it holds character references.
func (w *textWriter) write(text []byte, escaped bool) {
	if escaped && bytes.IndexByte(text, '&') >= 0 {
		w.buf = appendUnescaped(w.buf[:0], text)
		text = w.buf
	}
	for len(text) > 0 && !w.full {
		n := 0
		for n < len(text) && text[n] > ' ' {
			if text[n] == 0xc2 && n+1 < len(text) && text[n+1] == 0xa0 { // no-break space
				break
			}
			n++
		}
		if n > 0 {
			w.word(text[:n])
			text = text[n:]
			continue
		}
		w.wordBreak()
		if text[0] == 0xc2 {
			text = text[2:]
		} else {
			text = text[1:]
		}
	}
}

// word appends a run without white space.
func (w *textWriter) word(b []byte) {
	if len(w.out) == w.start {
		w.gap = 0
	}
	if len(w.out)-w.start+len(b)+1 > w.limit {
		b = cutRune(b, max(0, w.limit-(len(w.out)-w.start)-1))
		w.full = true
	}
	if w.gap != 0 && len(b) > 0 {
		w.out = append(w.out, w.gap)
		w.gap = 0
	}
	w.out = append(w.out, b...)
}
