// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"strings"

	"github.com/seine-crawler/seine/engine/parse/content"
)

// element classifies HTML's elements as far as this package needs.
type element uint8

const (
	notSpecial element = iota // inline, or unknown
	elBlock                   // on lines of its own
	elBreak                   // br
	elPhrase                  // inline, and known not to be svg or math
	elTime                    // inline, and may say when the page was published
	elCell                    // on the same line as its neighbours, but separate from their text
	elHeading                 // h1 to h6
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
	elUnseen        // its content is fallback, or hidden at first
	elForeignUnseen // the same, in svg and math only
	// Elements whose content is raw text, to the lexer or (the last) to the standard only.
	elTitle
	elScript
	elStyle
	elTextarea
	elIframe
	elXmp
	elPlaintext
	elRawMarkup // noembed, noframes: the lexer reads the content as markup
)

// isRaw reports whether the element's content is raw text, not markup.
func (e element) isRaw() bool { return e >= elTitle }

// isShownRaw reports whether the raw text is visible.
func (e element) isShownRaw() bool { return e == elXmp || e == elPlaintext }

// keepsAttributes reports whether the attributes of the start tag are needed.
func (e element) keepsAttributes() bool {
	switch e {
	case elHTML, elBase, elMeta, elLink, elA, elArea, elImg, elTime, elFrame, elIframe, elTemplate, elDialog, elScript:
		return true
	}
	return false
}

// breaksOut reports whether the element ends svg and math in which its tag occurs by mistake, because it does not exist
// there. (For an end tag this holds only if the element is open. That is not checked: no list of open elements is
// kept.)
func (e element) breaksOut() bool {
	switch e {
	case elBlock, elBreak, elPhrase, elHeading, elPre, elBody, elHead, elMeta, elImg:
		return true
	}
	return false
}

// tag is what this package knows about a tag name.
type tag struct {
	name string
	el   element
	void bool         // never has content: its start tag opens nothing
	kind content.Kind // of its box in the page's outline
}

// elementNames are the tag names of each element, including the names that mask leaves.
var elementNames = map[element]string{
	elA: "a",
	elBlock: "p div li ul ol dl dd dt tr table tbody thead tfoot caption section article aside nav header footer " +
		"main form fieldset legend figure figcaption blockquote address hr center details summary dir " +
		"menu hgroup search option optgroup select frameset marquee colgroup",
	elBreak:         "br",
	elTime:          "time",
	elPhrase:        "span b i em strong code small big s strike sub sup tt u var nobr ruby",
	elCell:          "td th button input object embed applet meter progress text rt rb rtc",
	elHeading:       "h1 h2 h3 h4 h5 h6",
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

const voidNames = "area base basefont bgsound br col embed frame hr image img input keygen link meta param source " +
	"track wbr"

// parts reports whether the element may be a box of the page's outline.
func (e element) parts() bool {
	switch e {
	case elBlock, elHeading, elPre, elCell, elNoscript, elDialog:
		return true
	}
	return false
}

// tagSlots is the size of the table of tags, a power of two well above the number of tags.
const tagSlots = 1 << 9

// tags is a hash table of the tags by name. Nearly all are found with one probe and one comparison.
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

// tagHash hashes a name's length and three of its letters.
func tagHash[name string | []byte](s name) uint {
	n := uint(len(s))
	return (n*31 + uint(s[0])*7 + uint(s[n-1])*67 + uint(s[n/2])*131) % tagSlots
}

var unknownTag tag

// classify finds the tag of a name in lower case, including masked names (see mask).
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

// hidden tracks the open elements inside an invisible element, to find where that element ends. The tree matters only
// here, so only here is a stack kept. It starts at the hidden element: what is open outside is unknown, and an
// end tag that matches nothing inside is taken to match something outside.
type hidden struct {
	open  [][]byte // names; the first is the hidden element's
	extra int      // elements deeper than maxHidden
}

func (h *hidden) active() bool { return len(h.open) > 0 }

func (h *hidden) reset() {
	clear(h.open[:cap(h.open)])
	h.open, h.extra = h.open[:0], 0
}

// start opens an element, after it closes the elements that its start tag ends.
func (h *hidden) start(name []byte, t *tag, empty bool) {
	for len(h.open) > 0 && h.extra == 0 && endsByStart(h.open[len(h.open)-1], name, t.el) {
		h.open = h.open[:len(h.open)-1]
	}
	if len(h.open) > 0 && !empty && !t.void && !t.el.isRaw() {
		h.push(name)
	}
}

// push opens an element; the first is the hidden one.
func (h *hidden) push(name []byte) {
	if len(h.open) == maxHidden {
		h.extra++
		return
	}
	h.open = append(h.open, name)
}

// end closes an element. The end of an element around the hidden one ends it as well, if that may be open; then outside
// is true.
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

// endsByStart reports whether the start of an element ends an open one without an end tag.
func endsByStart(open, name []byte, el element) bool {
	switch string(open) {
	case "p":
		if el == elBlock {
			return string(name) != "option" && string(name) != "legend"
		}
		return el == elHeading || el == elPre
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
