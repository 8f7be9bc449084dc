// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"strings"

	"github.com/seine-crawler/seine/engine/parse/content"
)

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

// tag is what this package knows of a tag name.
type tag struct {
	name string
	el   element
	void bool         // never has content: its start tag opens nothing
	kind content.Kind // of its box in the page's outline
}

// elementNames are the tag names of each element, those that mask leaves behind among them.
var elementNames = map[element]string{
	elA: "a",
	elBlock: "p div li ul ol dl dd dt tr table tbody thead tfoot caption section article aside nav header footer main form " +
		"fieldset legend figure figcaption blockquote address h4 h5 h6 hr center details summary dir menu hgroup search " +
		"option optgroup select frameset marquee colgroup",
	elBreak:         "br",
	elPhrase:        "span b i em strong code small big s strike sub sup tt u var nobr ruby",
	elCell:          "td th button input object embed applet meter progress text rt rb rtc",
	elHeading:       "h1 h2 h3",
	elPre:           "pre listing",
	elImg:           "img image",
	elScript:        "script",
	elStyle:         "style",
	elLink:          "link",
	elMeta:          "meta",
	elTitle:         "title",
	elHTML:          "html",
	elHead:          "head",
	elBody:          "body",
	elBase:          "base",
	elArea:          "area",
	elFrame:         "frame",
	elIframe:        "iframe",
	elSVG:           "svg sv\x01",
	elMath:          "math mat\x01",
	elTemplate:      "template",
	elNoscript:      "noscript",
	elTextarea:      "textarea",
	elXmp:           "xmp",
	elPlaintext:     "plaintext",
	elRawMarkup:     "noembed noframes",
	elDialog:        "dialog",
	elUnseen:        "audio video canvas datalist rp",
	elForeignUnseen: "desc metadata annotation annotation-xml",
}

const voidNames = "area base basefont bgsound br col embed frame hr image img input keygen link meta param source track wbr"

// parts says that the element may be a box of the page's outline.
func (e element) parts() bool {
	switch e {
	case elBlock, elHeading, elPre, elCell, elNoscript, elDialog:
		return true
	}
	return false
}

// tagSlots is the size of the table of tags, a power of two well above their number.
const tagSlots = 1 << 9

// tags finds a tag by its name: one probe and one comparison for nearly all.
var tags = func() *[tagSlots]tag {
	t := new([tagSlots]tag)
	at := func(name string) *tag {
		i := tagHash(name)
		for t[i].name != "" && t[i].name != name {
			i = (i + 1) % tagSlots
		}
		t[i].name = name
		return &t[i]
	}
	for el, names := range elementNames {
		for name := range strings.FieldsSeq(names) {
			one := at(name)
			if one.el = el; el.parts() {
				one.kind = content.KindOf([]byte(name))
			}
		}
	}
	for name := range strings.FieldsSeq(voidNames) {
		at(name).void = true
	}
	return t
}()

// tagHash is of a name's length and three of its letters.
func tagHash[name string | []byte](s name) uint {
	n := uint(len(s))
	return (n*31 + uint(s[0])*7 + uint(s[n-1])*67 + uint(s[n/2])*131) % tagSlots
}

var unknownTag tag

// classify finds what is known of a tag name in lower case; masked names are known (see mask).
func classify(name []byte) *tag {
	if len(name) == 0 {
		return &unknownTag
	}
	for i := tagHash(name); ; i = (i + 1) % tagSlots {
		t := &tags[i]
		if t.name == string(name) {
			return t
		}
		if t.name == "" {
			return &unknownTag
		}
	}
}

var svgName, mathName = []byte("svg"), []byte("math")

// unmasked returns the tag's name as it was before mask.
func (t *tag) unmasked(name []byte) []byte {
	switch t.el {
	case elSVG:
		return svgName
	case elMath:
		return mathName
	}
	return name
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
func (h *hidden) start(name []byte, t *tag, empty bool) {
	for len(h.open) > 0 && h.extra == 0 && endsByStart(h.open[len(h.open)-1], name, t.el) {
		h.open = h.open[:len(h.open)-1]
	}
	if len(h.open) > 0 && !empty && !t.void && !t.el.isRaw() {
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

// end closes an element. What is hidden ends as well by the end of what holds it, which may be open: outside is true
// then.
func (h *hidden) end(name []byte, el element, mayBeOpen bool) (outside bool) {
	if h.extra > 0 {
		h.extra--
		return false
	}
	for i := len(h.open) - 1; i >= 0; i-- {
		if string(h.open[i]) == string(name) {
			h.open = h.open[:i]
			return false
		}
	}
	if !mayBeOpen {
		return false
	}
	switch el {
	case elBlock, elHeading, elPre, elBody, elHTML, elDialog, elSVG, elMath:
		if string(name) != "p" { // "</p>" alone is an empty paragraph
			h.open = h.open[:0]
		}
	case elCell:
		if string(name) == "td" || string(name) == "th" {
			h.open = h.open[:0]
		}
	}
	return !h.active()
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
