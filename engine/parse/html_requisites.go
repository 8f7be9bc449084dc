// SPDX-License-Identifier: Apache-2.0

package parse

import "bytes"

// requisiteAttributes are the attributes whose URLs a page needs for display, by element.
var requisiteAttributes = map[string][]string{
	"img":    {"src", "srcset"},
	"source": {"src", "srcset"},
	"script": {"src"},
	"video":  {"src", "poster"},
	"audio":  {"src"},
	"track":  {"src"},
	"embed":  {"src"},
	"object": {"data"},
	"input":  {"src"},
	"image":  {"href", "xlink:href"},
	"body":   {"background"},
	"table":  {"background"},
	"td":     {"background"},
}

// requisite notes the resources that the current tag needs for display. Archives fetch them with the page.
func (p *htmlPass) requisite(name []byte) {
	for _, attribute := range requisiteAttributes[string(name)] {
		value, ok := p.attr(attribute)
		switch {
		case !ok || len(value) == 0:
		case attribute == "srcset":
			for ref := range candidates(value) {
				p.addRef(LinkRequisite, ref)
			}
		default:
			p.addRef(LinkRequisite, value)
		}
	}
	if string(name) == "link" && p.foreign == 0 {
		rel, _ := p.attr("rel")
		shown := hasAny(rel, "stylesheet", "icon", "apple-touch-icon", "manifest", "preload", "modulepreload")
		if href, ok := p.attr("href"); ok && len(href) > 0 && shown {
			p.addRef(LinkRequisite, href)
		}
	}
}

// candidates yields the URLs of a srcset: "a.png 2x, b.png 100w". It follows the standard's "parse a srcset attribute",
// but does not check the descriptors.
func candidates(srcset []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for {
			srcset = bytes.TrimLeft(srcset, ", \t\r\n\f")
			n := 0
			for n < len(srcset) && !isSpace(srcset[n]) {
				n++
			}
			ref := bytes.TrimRight(srcset[:n], ",")
			if len(ref) == 0 || !yield(ref) {
				return
			}
			if srcset = srcset[n:]; len(ref) < n { // a comma ended the URL: there is no descriptor
				continue
			}
			inParens := false // they do not nest
			for n = 0; n < len(srcset) && (srcset[n] != ',' || inParens); n++ {
				switch srcset[n] {
				case '(':
					inParens = true
				case ')':
					inParens = false
				}
			}
			srcset = srcset[n:]
		}
	}
}

// form notes the target of a form with method GET, as if it were submitted without any input.
func (p *htmlPass) form() {
	method, _ := p.attr("method")
	isGet := len(method) == 0 || bytes.EqualFold(method, []byte("get"))
	if action, ok := p.attr("action"); ok && len(action) > 0 && isGet {
		p.addRef(LinkForm, action)
	}
}
