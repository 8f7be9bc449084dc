// SPDX-License-Identifier: Apache-2.0

package parse

// element is what this package tells apart of HTML's elements.
type element uint8

const (
	notSpecial element = iota // inline, or unknown
	elBlock                   // stands on lines of its own
	elBreak                   // br
	elPhrase                  // inline, and known not to be svg or math
	elCell                    // keeps its text apart from its neighbours' on the line
	elHeading                 // h1 to h3
	elPre                     // line ends count
	elHTML
	elBody
	elHead
	elBase
	elMeta
	elLink
	elA
	elArea
	elImg
	elFrame
	elSVG
	elMath
	elTemplate
	elNoscript
	elDialog
	elUnseen        // its content is for those who can't show it, or for later
	elForeignUnseen // the same in svg and math only
	// Elements whose content is raw text, for the lexer or (the last) for the standard only.
	elTitle
	elScript
	elStyle
	elTextarea
	elIframe
	elXmp
	elPlaintext
	elRawMarkup // noembed, noframes: the lexer takes the content for markup
)

// isRaw says that what follows the start tag is no markup.
func (e element) isRaw() bool { return e >= elTitle }

// isShownRaw says that the raw text is seen, as it is.
func (e element) isShownRaw() bool { return e == elXmp || e == elPlaintext }

// keepsAttributes says that the attributes of the start tag are looked at.
func (e element) keepsAttributes() bool {
	switch e {
	case elHTML, elBase, elMeta, elLink, elA, elArea, elImg, elFrame, elIframe, elTemplate, elDialog, elScript:
		return true
	}
	return false
}

// parts says that the element may be a box of the page's outline.
func (e element) parts() bool {
	switch e {
	case elBlock, elHeading, elPre, elCell, elNoscript, elDialog:
		return true
	}
	return false
}

// breaksOut says that the start tag ends svg and math when it comes inside one by mistake, as an
// element that does not exist there. (That an end tag does so, too, holds if the element is open; no
// list of those is kept.)
func (e element) breaksOut() bool {
	switch e {
	case elBlock, elBreak, elPhrase, elHeading, elPre, elBody, elHead, elMeta, elImg:
		return true
	}
	return false
}

// classify finds the element of a tag name in lower case; masked names are known (see mask).
func classify(name []byte) element {
	switch string(name) {
	case "a":
		return elA
	case "p", "div", "li", "ul", "ol", "dl", "dd", "dt", "tr", "table", "tbody", "thead", "tfoot", "caption", "section", "article",
		"aside", "nav", "header", "footer", "main", "form", "fieldset", "legend", "figure", "figcaption", "blockquote", "address",
		"h4", "h5", "h6", "hr", "center", "details", "summary", "dir", "menu", "hgroup", "search", "option", "optgroup", "select",
		"frameset", "marquee", "colgroup":
		return elBlock
	case "br":
		return elBreak
	case "span", "b", "i", "em", "strong", "code", "small", "big", "s", "strike", "sub", "sup", "tt", "u", "var", "nobr", "ruby":
		return elPhrase
	case "td", "th", "button", "input", "object", "embed", "applet", "meter", "progress", "text", "rt":
		return elCell
	case "h1", "h2", "h3":
		return elHeading
	case "pre", "listing":
		return elPre
	case "img", "image":
		return elImg
	case "script":
		return elScript
	case "style":
		return elStyle
	case "link":
		return elLink
	case "meta":
		return elMeta
	case "title":
		return elTitle
	case "html":
		return elHTML
	case "head":
		return elHead
	case "body":
		return elBody
	case "base":
		return elBase
	case "area":
		return elArea
	case "frame":
		return elFrame
	case "iframe":
		return elIframe
	case "svg", "sv\x01":
		return elSVG
	case "math", "mat\x01":
		return elMath
	case "template":
		return elTemplate
	case "noscript":
		return elNoscript
	case "textarea":
		return elTextarea
	case "xmp":
		return elXmp
	case "plaintext":
		return elPlaintext
	case "noembed", "noframes":
		return elRawMarkup
	case "dialog":
		return elDialog
	case "audio", "video", "canvas", "datalist", "rp":
		return elUnseen
	case "desc", "metadata", "annotation", "annotation-xml":
		return elForeignUnseen
	}
	return notSpecial
}

// isVoid says that an element never has content, so that its start tag opens nothing.
func isVoid(name []byte) bool {
	switch string(name) {
	case "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "image", "img", "input", "keygen", "link", "meta",
		"param", "source", "track", "wbr":
		return true
	}
	return false
}

// tagName cuts an end tag's attributes off its name.
func tagName(text []byte) []byte {
	for i, c := range text {
		if isSpace(c) || c == '/' {
			return text[:i]
		}
	}
	return text
}

// hidden follows the open elements inside of one whose text is not seen, to know where that one
// ends. It is the only place where the tree matters, so only here a stack is kept, and it begins at
// the hidden element: what is open outside is not known, and an end tag that fits nothing inside is
// taken for one outside.
type hidden struct {
	open  [][]byte // names; the first is the hidden element's
	extra int      // elements deeper than maxHidden
}

func (h *hidden) active() bool { return len(h.open) > 0 }

func (h *hidden) reset() {
	clear(h.open[:cap(h.open)])
	h.open, h.extra = h.open[:0], 0
}

// start opens an element, after closing those that it closes by coming.
func (h *hidden) start(name []byte, el element, empty bool) {
	for len(h.open) > 0 && h.extra == 0 && endsByStart(h.open[len(h.open)-1], name, el) {
		h.open = h.open[:len(h.open)-1]
	}
	if len(h.open) > 0 && !empty && !isVoid(name) && !el.isRaw() {
		h.push(name)
	}
}

// push opens an element, which is hidden if it is the first.
func (h *hidden) push(name []byte) {
	if len(h.open) == maxHidden {
		h.extra++
		return
	}
	h.open = append(h.open, name)
}

// end closes an element.
func (h *hidden) end(name []byte, el element) {
	if h.extra > 0 {
		h.extra--
		return
	}
	for i := len(h.open) - 1; i >= 0; i-- {
		if string(h.open[i]) == string(name) {
			h.open = h.open[:i]
			return
		}
	}
	switch el {
	case elBlock, elHeading, elPre, elBody, elHTML, elDialog:
		if string(name) != "p" { // "</p>" alone is an empty paragraph
			h.open = h.open[:0]
		}
	case elCell:
		if string(name) == "td" || string(name) == "th" {
			h.open = h.open[:0]
		}
	}
}

// endsByStart says that an open element ends, without an end tag, where another starts.
func endsByStart(open, name []byte, el element) bool {
	switch string(open) {
	case "p":
		return el == elBlock && string(name) != "option" && string(name) != "legend" || el == elHeading || el == elPre
	case "li":
		return string(name) == "li"
	case "dt", "dd":
		return string(name) == "dt" || string(name) == "dd"
	case "td", "th":
		switch string(name) {
		case "td", "th", "tr", "tbody", "tfoot":
			return true
		}
	case "tr":
		switch string(name) {
		case "tr", "tbody", "tfoot":
			return true
		}
	case "option":
		return string(name) == "option" || string(name) == "optgroup"
	}
	return false
}
