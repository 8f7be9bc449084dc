// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"sync"
	"time"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/html"

	"github.com/seine-crawler/seine/engine/parse/content"
)

// htmlPass is one pass over one page, with its scratch memory. The method plain reads most tokens; the lexer reads the
// rest. startTag, endTag and characters act on the tokens. finish resolves links and other references that depend on
// the whole page.
//
// The lexer is fast because it is lax. Where it reads something differently from a browser, the pass corrects it: it
// changes its private copy of the page in place, or steps the lexer's input back, within rereadBudget. The
// differences:
//
//   - The lexer makes one token of an svg, math or xml element, which reaches to the end of the page if the
//     element is not closed (34 links of a real page were lost in one). See mask.
//   - It reads CDATA as text. In HTML, CDATA is a comment up to the first '>'.
//   - It does not end a comment at "<!-->" or "<!--->", which are complete comments.
//   - It does not end the name of a tag or attribute at a slash: "<a/href=x>".
//   - It reads raw text after "<title>". In svg the content is markup, and in svg and XHTML "<title/>" is empty.
//   - It ends raw text at "</script-x>". The pass waits for "</script>".
//   - It reads "</>" as text. A browser drops it.
//   - It reads a tag that the end of the page cuts off as a tag. A browser drops it.
type htmlPass struct {
	in    *Input
	page  *Page
	wants htmlParser
	xml   bool // the media type is XHTML: the rules of XML apply where they matter

	src       []byte // the page in UTF-8, with room for the lexer's end mark; written to
	lexer     *html.Lexer
	input     *parse.Input
	reread    int  // bytes stepped back over
	masked    bool // mask has run
	lexerRaw  bool // the lexer reads raw text next
	lexerOnly bool // for tests: the lexer reads text and start tags

	attrs []attribute // of the current tag
	refs  *references
	arena []byte // bytes of all strings of the page
	title, description, keywords,
	canonical, refresh, base span // in arena
	hasBase, hasTitle, inBody bool
	hasRefresh                bool
	delay                     time.Duration // of refresh

	text         textWriter
	anchor       textWriter // of the open link
	links        []link
	open         int  // index of the open link in links, -1 for none
	openSeen     bool // the open link began where text is visible
	openAuthor   bool // it leads to the page's author
	anchored     int  // offset in text.out at which it began
	anchorInText bool // its anchor is all the text from there
	openForeign  int  // value of foreign where it began

	raw      element // element whose raw text is next
	rawEmpty bool    // it is an empty element, and markup is next
	rawName  []byte  // its name if it is in svg or math, where its content is markup
	waiting  element // element whose end tag is awaited; everything before that is skipped
	template int     // depth of inert template elements
	foreign  int     // depth of svg and math elements
	pre      int     // depth of preformatted elements
	noscript bool
	hidden   hidden
	quoted   hidden // the open element with data-nosnippet: visible, but not for snippets
	unquoted int    // offset in text.out at which its text begins
	noQuote  bool   // the current tag has data-nosnippet
	outline  content.Outline
	isLD     bool // the script is JSON-LD
	facts    foundFacts
	heading  int // offset in text.out at which the open heading's text begins; -1 for none
}

type attribute struct{ name, value []byte }

// span is a range of the arena.
type span struct{ from, to int32 }

var passes = sync.Pool{New: func() any { return &htmlPass{refs: new(references)} }}

// htmlParser is the Parser for HTML and XHTML.
type htmlParser struct{ requisites, forms bool } // see Options

// Parse never returns an error.
func (h htmlParser) Parse(in *Input, page *Page) error {
	p := passes.Get().(*htmlPass)
	p.wants = h
	p.begin(in, page)
	p.lex()
	p.finish()
	p.release()
	return nil
}

func (p *htmlPass) begin(in *Input, page *Page) {
	p.in, p.page, p.open, p.heading, p.xml = in, page, -1, -1, page.MediaType == typeXHTML
	d := decode(p.src, in, true)
	page.Charset, page.Truncated = d.charset, d.cut
	if d.aliases {
		// The lexer lower-cases names in place and mask overwrites letters: both need a copy.
		p.src = append(p.src[:0], d.text...)
	} else {
		p.src = d.text
	}
	p.src = append(p.src, 0)[:len(p.src)]
	p.text.begin(page.Text[:0], MaxText)
	p.outline.Reset()
	p.input = parse.NewInputBytes(p.src)
	p.lexer = html.NewLexer(p.input)
}

// release returns the pass to the pool with its buffers, except those that a huge page made huge.
func (p *htmlPass) release() {
	clear(p.attrs[:cap(p.attrs)])
	clear(p.links)
	next := htmlPass{
		src: p.src[:0], attrs: p.attrs[:0], arena: p.arena[:0], links: p.links[:0], refs: p.refs,
		anchor: textWriter{out: p.anchor.out[:0]},
		hidden: p.hidden, quoted: p.quoted, outline: p.outline,
	}
	if cap(next.src) > keptScratch {
		next.src = nil
	}
	if cap(next.arena) > keptScratch {
		next.arena = nil
	}
	next.hidden.reset()
	next.quoted.reset()
	*p = next
	passes.Put(p)
}

// lex runs over the page. Each iteration consumes at least one more byte or spends reread budget, so it ends after at
// most three times the page's length.
func (p *htmlPass) lex() {
	for {
		at := p.input.Offset()
		if !p.lexerRaw && p.plain(at) {
			continue
		}
		p.lexerRaw = false
		kind, data := p.lexer.Next()
		if kind != html.TextToken {
			p.raw = notSpecial // there was no raw text
		}
		switch kind {
		case html.ErrorToken:
			if p.masked || p.input.Offset() >= p.input.Len() {
				return
			}
			// The lexer does not recover from a NUL inside svg.
			p.mask(at)
			p.stepBack(at)
			p.lexer = html.NewLexer(p.input)
		case html.SVGToken, html.MathToken, html.XMLToken:
			p.mask(at)
			p.stepBack(at)
		case html.TextToken:
			p.characters(at, data)
		case html.CommentToken:
			p.comment(at, data)
		case html.StartTagToken:
			p.tag(at)
		case html.EndTagToken:
			p.endTag(tagName(p.lexer.Text()))
		}
	}
}

// stepBack moves the lexer back to an earlier offset. It reports false if the page has spent its budget.
func (p *htmlPass) stepBack(to int) bool {
	n := p.input.Offset() - to
	if p.reread+n > rereadBudget(len(p.src)) {
		return false
	}
	p.reread += n
	p.moveTo(to)
	return true
}

func (p *htmlPass) moveTo(to int) {
	p.input.Move(to - p.input.Offset())
	p.input.Skip()
}

// maskByte replaces a letter of a name that the lexer must not recognise.
const maskByte = 0x01

var maskedCDATA = []byte("<![CDAT\x01[")

// mask hides svg, math, xml and CDATA from the lexer, from here to the end of the page, by overwriting a letter of
// each. Otherwise the lexer would scan to the end of each, and a page of a million unclosed ones would take quadratic
// time. mask runs at most once per page, and only on pages that have one. classify knows the masked names; unmask
// restores the bytes that are text.
func (p *htmlPass) mask(from int) {
	if p.masked {
		return
	}
	p.masked = true
	const each, high = 0x0101010101010101, 0x8080808080808080
	s := p.src[from:]
	at := 0
	for ; len(s)-at >= 16; at += 8 {
		x := binary.LittleEndian.Uint64(s[at:]) ^ each*'<'
		for less := (x - each) &^ x & high; less != 0; less &= less - 1 { // a '=' after a '<' may look like one
			if i := at + bits.TrailingZeros64(less)/8; s[i] == '<' {
				maskName(s[i+1:])
			}
		}
	}
	for ; at < len(s); at++ {
		if s[at] == '<' {
			maskName(s[at+1:])
		}
	}
}

// maskName overwrites a letter of the name after a '<' if the lexer must not recognise it.
func maskName(s []byte) {
	if len(s) < 3 {
		return
	}
	switch s[0] | 0x20 {
	case 's':
		if s[1]|0x20 == 'v' && s[2]|0x20 == 'g' {
			s[2] = maskByte
		}
	case 'x':
		if s[1]|0x20 == 'm' && s[2]|0x20 == 'l' {
			s[2] = maskByte
		}
	case 'm':
		if len(s) > 3 && s[1]|0x20 == 'a' && s[2]|0x20 == 't' && s[3]|0x20 == 'h' {
			s[3] = maskByte
		}
	case '!' | 0x20:
		if bytes.HasPrefix(s, []byte("![CDATA[")) {
			s[6] = maskByte
		}
	}
}

// unmask undoes mask in text and attribute values, where "<svg" is part of the text.
func (p *htmlPass) unmask(b []byte) []byte {
	if !p.masked {
		return b
	}
	for rest := b; ; {
		i := bytes.IndexByte(rest, maskByte)
		if i < 0 {
			return b
		}
		switch before := rest[:i]; {
		case bytes.HasSuffix(before, []byte("![CDAT")):
			rest[i] = 'A'
		case i >= 2 && before[i-1]|0x20 == 'v':
			rest[i] = 'g'
		case i >= 2 && before[i-1]|0x20 == 'm':
			rest[i] = 'l'
		case i >= 3 && before[i-1]|0x20 == 't':
			rest[i] = 'h'
		}
		rest = rest[i+1:]
	}
}

// tag reads a start tag's attributes and acts on the tag. Attributes are kept only if something needs them, in one tag
// of three.
func (p *htmlPass) tag(at int) {
	name := p.lexer.Text()
	t := classify(name)
	p.lexerRaw = t.el.isRaw()
	if t.el == notSpecial {
		if slash := bytes.IndexByte(name, '/'); slash > 0 {
			p.splitName(at, slash, len(name))
			return
		}
	}
	p.attrs, p.noQuote = p.attrs[:0], false
	keeps, isHidden := p.keeps(t), false
	for {
		kind, _ := p.lexer.Next()
		if kind == html.ErrorToken {
			return
		}
		if kind != html.AttributeToken {
			p.startTag(t, name, kind == html.StartTagVoidToken, isHidden)
			return
		}
		key := p.lexer.AttrKey()
		if keeps {
			p.keepAttribute(key, p.lexer.AttrVal())
		}
		switch string(key) {
		case "hidden":
			isHidden = !bytes.Contains(p.lexer.AttrVal(), []byte("until-found"))
		case "data-nosnippet":
			p.noQuote = true
		}
	}
}

// splitName makes the lexer read "<a/href=x>" again as "<a href=x>".
func (p *htmlPass) splitName(at, slash, n int) {
	for i := at + 1 + slash; i < at+1+n; i++ {
		if p.src[i] == '/' {
			p.src[i] = ' '
		}
	}
	for {
		switch kind, _ := p.lexer.Next(); kind {
		case html.AttributeToken:
			continue
		case html.ErrorToken:
			return
		}
		p.stepBack(at)
		return
	}
}

// keepAttribute notes an attribute of the current tag, its value without quotes. Of equal names, attr finds the first.
func (p *htmlPass) keepAttribute(name, value []byte) {
	if len(p.attrs) == maxAttributes {
		return
	}
	if slash := bytes.LastIndexByte(name, '/'); slash >= 0 { // "<img src="x"/alt=y>"
		name = name[slash+1:]
	}
	if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		value = value[1 : n-1]
	}
	p.attrs = append(p.attrs, attribute{name, value})
}

// attr returns an attribute's value as written.
func (p *htmlPass) attr(name string) ([]byte, bool) {
	for i := range p.attrs {
		if string(p.attrs[i].name) == name {
			return p.attrs[i].value, true
		}
	}
	return nil, false
}

// attrSpan appends an attribute's value to the arena, with character references resolved.
func (p *htmlPass) attrSpan(value []byte) span {
	from := len(p.arena)
	p.arena = p.refs.appendAttribute(p.arena, value)
	p.unmask(p.arena[from:])
	return span{int32(from), int32(len(p.arena))}
}

// attrText returns an attribute's value as a string, which allocates: it is for rare attributes.
func (p *htmlPass) attrText(name string) (string, bool) {
	value, ok := p.attr(name)
	if !ok {
		return "", false
	}
	s := p.attrSpan(value)
	text := string(p.arena[s.from:s.to])
	p.arena = p.arena[:s.from]
	return text, true
}

// fold appends an attribute's value to the arena as folded text of at most limit bytes.
func (p *htmlPass) fold(value []byte, limit int) span {
	var w textWriter
	raw := p.attrSpan(value)
	w.begin(p.arena, limit)
	w.write(p.arena[raw.from:raw.to], nil)
	p.arena = append(p.arena[:raw.from], w.text()...)
	return span{raw.from, int32(len(p.arena))}
}
