// SPDX-License-Identifier: Apache-2.0

package content

// Kind is the kind of box that an element makes in the outline.
type Kind uint8

// The kinds of boxes, named after HTML's elements. An element of kind None, the zero value, makes no box. The values
// are features of model.bin: a change needs a new model.
const (
	None Kind = iota
	Article
	Aside
	Blockquote
	Button
	Details
	Dialog
	Div
	DD
	DL
	DT
	Fieldset
	Figcaption
	Figure
	Footer
	Form
	H1
	H2
	H3
	H4
	H5
	H6
	Header
	Label
	LI
	Main
	Menu
	Nav
	Noscript
	OL
	Option
	P
	Pre
	Search
	Section
	Select
	Summary
	Table
	TD
	TH
	TR
	UL
	kinds
)

var kindNames = map[string]Kind{
	"div": Div, "center": Div, "address": Div, "hgroup": Div, "p": P, "li": LI, "ul": UL, "dir": UL, "td": TD,
	"tr": TR, "section": Section, "h1": H1, "h2": H2, "h3": H3, "h4": H4, "h5": H5, "h6": H6, "article": Article,
	"aside": Aside, "nav": Nav, "header": Header, "footer": Footer, "main": Main, "ol": OL, "dl": DL, "dt": DT,
	"dd": DD, "table": Table, "th": TH, "caption": Figcaption, "figcaption": Figcaption, "legend": Figcaption,
	"figure": Figure, "form": Form, "fieldset": Fieldset, "label": Label, "button": Button, "select": Select,
	"option": Option, "optgroup": Option, "details": Details, "summary": Summary, "dialog": Dialog,
	"blockquote": Blockquote, "pre": Pre, "listing": Pre, "menu": Menu, "search": Search, "noscript": Noscript,
}

// KindOf returns the kind of an element by its name in lower case, None if it makes no box.
func KindOf(name []byte) Kind { return kindNames[string(name)] }

// endsBy reports whether the start of an element of kind next ends an open one without an end tag.
func endsBy(open, next Kind) bool {
	switch open {
	case P:
		return next != Button && next != Label && next != Select && next != Option && next != Noscript
	case LI:
		return next == LI
	case DT, DD:
		return next == DT || next == DD
	case TD, TH:
		return next == TD || next == TH || next == TR
	case TR:
		return next == TR
	case Option:
		return next == Option
	case H1, H2, H3, H4, H5, H6:
		return next >= H1 && next <= H6
	}
	return false
}
