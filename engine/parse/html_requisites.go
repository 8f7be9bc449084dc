// SPDX-License-Identifier: Apache-2.0

package parse

import "bytes"

// requisiteAttributes are the attributes by which elements name what a page is shown with.
var requisiteAttributes = map[string][]string{
	"img": {"src", "srcset"}, "source": {"src", "srcset"}, "script": {"src"}, "video": {"src", "poster"}, "audio": {"src"}, "track": {"src"},
	"embed": {"src"}, "object": {"data"}, "input": {"src"}, "image": {"href", "xlink:href"}, "body": {"background"}, "table": {"background"}, "td": {"background"},
}

// requisite takes what the tag at hand says that the page is shown with: for archives, whose pages want their pictures.
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
	if string(name) == "link" {
		rel, _ := p.attr("rel")
		if href, ok := p.attr("href"); ok && len(href) > 0 && hasAny(rel, "stylesheet", "icon", "apple-touch-icon", "manifest", "preload", "modulepreload") {
			p.addRef(LinkRequisite, href)
		}
	}
}

// candidates yields the URLs of a srcset: "a.png 2x, b.png 100w" (the standard's "parse a srcset attribute", where what
// is wrong with a descriptor does not matter here).
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
			if srcset = srcset[n:]; len(ref) < n { // a comma ended it: there is no descriptor
				continue
			}
			depth := 0
			for n = 0; n < len(srcset) && (srcset[n] != ',' || depth > 0); n++ {
				switch srcset[n] {
				case '(':
					depth++
				case ')':
					depth = max(0, depth-1)
				}
			}
			srcset = srcset[n:]
		}
	}
}

// form takes where a form leads that only asks (GET): what it is asked without anything filled in.
func (p *htmlPass) form() {
	method, _ := p.attr("method")
	if action, ok := p.attr("action"); ok && len(action) > 0 && (len(method) == 0 || bytes.EqualFold(method, []byte("get"))) {
		p.addRef(LinkForm, action)
	}
}
