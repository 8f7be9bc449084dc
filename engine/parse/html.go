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

// htmlPass is one pass over one page, with its scratch memory. The page is cut into tokens, most by plain, what
// is not written plainly by the lexer; startTag, endTag and characters act on them; finish resolves what can only be resolved when all
// of the page was seen.
//
// The lexer is fast because it is lax. Where it takes something otherwise than a browser, the pass
// mends it by changing its private copy of the page in place, or by stepping the lexer's input
// back, within rereadBudget:
//
//   - svg, math and xml elements are one token, up to the end of the page when they are not closed
//     (one such swallowed 34 links of a real page): see mask;
//   - CDATA is text: in HTML it is a comment up to the first '>';
//   - "<!-->" and "<!--->" are whole comments;
//   - a slash does not end a tag's name or an attribute's: "<a/href=x>";
//   - "<title>" begins raw text: in svg its content is markup, "<title/>" is an empty element there
//     and in XHTML;
//   - raw text ends at "</script-x>": the pass waits for "</script>";
//   - "</>" is text: it is nothing;
//   - a tag cut by the end of the page is a tag: it is nothing.
type htmlPass struct {
	in    *Input
	page  *Page
	wants htmlParser
	xml   bool // XHTML by its media type: the rules of XML where they matter

	src       []byte // the page in UTF-8, with room for the lexer's end mark; written to
	lexer     *html.Lexer
	input     *parse.Input
	reread    int  // bytes stepped back over
	masked    bool // mask has run
	lexerRaw  bool // the lexer is about to take raw text
	lexerOnly bool // for tests: the lexer takes text and start tags

	attrs []attribute // of the tag at hand
	refs  *references
	arena []byte // bytes of all of the page's strings
	title, description, keywords,
	canonical, refresh, base span // in arena
	hasBase, hasTitle, inBody bool
	hasRefresh                bool
	delay                     time.Duration // of refresh

	text         textWriter
	anchor       textWriter // of the open link
	links        []link
	open         int  // index of the open link in links, -1 for none
	openSeen     bool // the open link began where text is seen
	anchored     int  // where in text.out it began
	anchorInText bool // its anchor is all of the text from there
	openForeign  int  // foreign where it began

	raw      element // element whose raw text is next
	rawEmpty bool    // … but it is an empty element, and what is next is markup
	rawName  []byte  // its name when it is in svg or math, where its content is markup
	waiting  element // element whose end is waited for, all else being skipped
	template int     // depth of inert template elements
	foreign  int     // depth of svg and math elements
	pre      int     // depth of preformatted elements
	noscript bool
	hidden   hidden
	quoted   hidden // the open element with data-nosnippet, which is seen but not to be quoted
	unquoted int    // where its text begins in text.out
	noQuote  bool   // the tag at hand has it
	outline  content.Outline
	isLD     bool // the script is JSON-LD
	facts    foundFacts
	headings textWriter
	heading  int // where the open heading's text begins in text.out; -1 for none
}

type attribute struct{ name, value []byte }

// span is a part of the arena.
type span struct{ from, to int32 }

var passes = sync.Pool{New: func() any { return &htmlPass{refs: new(references)} }}

// htmlParser is the parser for HTML and XHTML.
type htmlParser struct{ requisites, forms bool } // which links are wanted beside the others

// Parse fills the page.
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
		// The lexer lower-cases names in place and the pass masks: both need a copy.
		p.src = append(p.src[:0], d.text...)
	} else {
		p.src = d.text
	}
	p.src = append(p.src, 0)[:len(p.src)]
	p.text.begin(page.Text[:0], MaxText)
	p.headings.begin(p.headings.out[:0], MaxHeadings)
	p.outline.Reset()
	p.input = parse.NewInputBytes(p.src)
	p.lexer = html.NewLexer(p.input)
}

// release gives the pass back to the pool with its buffers, unless a huge page made them huge.
func (p *htmlPass) release() {
	clear(p.attrs[:cap(p.attrs)])
	clear(p.links)
	next := htmlPass{src: p.src[:0], attrs: p.attrs[:0], arena: p.arena[:0], links: p.links[:0], refs: p.refs,
		anchor: textWriter{out: p.anchor.out[:0]}, headings: textWriter{out: p.headings.out[:0]}, hidden: p.hidden, quoted: p.quoted, outline: p.outline}
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

// lex runs over the page. Each turn takes at least one byte more of it or spends the
// reread budget, so it ends after at most three times the page's length.
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
			// A NUL inside svg is an error that the lexer does not recover from.
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

// stepBack makes the lexer go on at an earlier place, unless the page has spent its budget.
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

// maskByte stands for a letter of what the lexer must not recognise.
const maskByte = 0x01

var maskedCDATA = []byte("<![CDAT\x01[")

// mask makes the lexer blind for svg, math, xml and CDATA from here to the end of the page, by
// overwriting a letter of each: it would scan to their end at each of them, and a page of a million
// unclosed ones would take for ever. It runs once per page, and only on pages that have one;
// classify knows the masked names, and unmask restores the places where the bytes are text.
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
		for less := (x - each) &^ x & high; less != 0; less &= less - 1 { // a '=' behind one may look like another
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

// maskName overwrites a letter of what stands behind a '<', if the lexer must not recognise it.
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

// unmask undoes mask in text and attribute values, where "<svg" is what somebody wrote.
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

// tag reads a start tag's attributes and acts on the tag. Attributes are kept only where something
// asks for them, which is in one tag of three.
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

// splitName lexes "<a/href=x>" again as "<a href=x>".
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

// keepAttribute notes an attribute of the tag at hand, its value without quotes. Of equal names the
// first is found by attr.
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

// attrSpan puts an attribute's value into the arena, with references resolved.
func (p *htmlPass) attrSpan(value []byte) span {
	from := len(p.arena)
	p.arena = p.refs.appendAttribute(p.arena, value)
	p.unmask(p.arena[from:])
	return span{int32(from), int32(len(p.arena))}
}

// attrText returns an attribute's value as a string. For the few that are looked into.
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

// fold puts an attribute's value into the arena as text of at most limit bytes.
func (p *htmlPass) fold(value []byte, limit int) span {
	var w textWriter
	raw := p.attrSpan(value)
	w.begin(p.arena, limit)
	w.write(p.arena[raw.from:raw.to], nil)
	p.arena = append(p.arena[:raw.from], w.text()...)
	return span{raw.from, int32(len(p.arena))}
}
