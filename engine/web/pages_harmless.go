// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// harmless writes a stored page again without what acts: scripts, frames, plug-ins, forms, and everything that would be
// loaded. Its links lead to address(target), where the target is a whole URL. The page is shown in a sandbox that
// forbids all this too; this is the second lock, and it is what makes links stay in the store.
func harmless(page, base string, address func(target string) string) []byte {
	tree, err := html.ParseWithOptions(strings.NewReader(page), html.ParseOptionEnableScripting(false))
	if err != nil {
		return []byte("This page cannot be shown: " + html.EscapeString(err.Error()))
	}
	root, err := url.Parse(base)
	if err != nil {
		root = &url.URL{}
	}
	c := cleaner{here: root, base: baseOf(tree, root), address: address}
	c.children(tree, 0)
	var b bytes.Buffer
	if err := html.Render(&b, tree); err != nil {
		return []byte("This page cannot be shown: " + html.EscapeString(err.Error()))
	}
	return b.Bytes()
}

// depthMax is the depth of elements that are kept. Browsers stop nesting at 512.
const depthMax = 512

// dropped are elements that vanish with everything in them.
var dropped = []atom.Atom{
	atom.Script, atom.Iframe, atom.Frame, atom.Frameset, atom.Object, atom.Embed, atom.Applet, atom.Link, atom.Base,
	atom.Meta, atom.Audio, atom.Video, atom.Source, atom.Track, atom.Template, atom.Dialog,
}

// kept are the attributes that stay; the names of all others may be orders to a browser.
var kept = []string{
	"align", "alt", "aria-label", "bgcolor", "border", "cellpadding", "cellspacing", "checked", "class", "clear",
	"color", "cols", "colspan", "compact", "datetime", "dir", "disabled", "face", "headers", "height", "id",
	"label", "lang", "media", "name", "noshade", "nowrap", "open", "placeholder", "reversed", "rows", "rowspan",
	"scope", "size", "span", "start", "style", "summary", "text", "title", "type", "valign", "value", "width",
}

type cleaner struct {
	here, base *url.URL
	address    func(string) string
}

func (c *cleaner) children(n *html.Node, depth int) {
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		if child.Type == html.CommentNode || child.Type == html.ElementNode && !c.element(child, depth) {
			n.RemoveChild(child)
		}
		child = next
	}
}

// element cleans an element and what is in it. It reports whether it may stay.
func (c *cleaner) element(n *html.Node, depth int) bool {
	if n.Namespace != "" || slices.Contains(dropped, n.DataAtom) || depth > depthMax { // SVG and MathML have namespaces
		return false
	}
	// An element of its own making is a box. So is noscript: html.Render escapes no text in it, and a browser, which
	// runs no scripts here, would find elements there.
	if n.DataAtom == 0 || n.DataAtom == atom.Noscript {
		n.Data, n.DataAtom = "span", atom.Span
	}
	link := ""
	attributes := n.Attr[:0]
	for _, a := range n.Attr {
		switch {
		case a.Namespace != "":
		case a.Key == "href" && (n.DataAtom == atom.A || n.DataAtom == atom.Area):
			link = c.link(a.Val)
		case a.Key == "src" && n.DataAtom == atom.Img && strings.HasPrefix(a.Val, "data:image/"):
			attributes = append(attributes, a)
		case slices.Contains(kept, a.Key):
			attributes = append(attributes, a)
		}
	}
	n.Attr = attributes
	if n.DataAtom == atom.Img && !slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "src" }) {
		textInstead(n)
		return true
	}
	if link != "" {
		n.Attr = append(n.Attr, html.Attribute{Key: "href", Val: link})
		if !strings.HasPrefix(link, "#") {
			n.Attr = append(n.Attr, html.Attribute{Key: "target", Val: "_top"})
		}
	}
	if n.DataAtom == atom.Form {
		n.Data, n.DataAtom = "div", atom.Div
	}
	c.children(n, depth+1)
	return true
}

// textInstead replaces a picture that is not loaded by the text that stands for it.
func textInstead(n *html.Node) {
	for _, a := range n.Attr {
		if a.Key == "alt" && a.Val != "" {
			n.AppendChild(&html.Node{Type: html.TextNode, Data: "[" + a.Val + "]"})
		}
	}
	n.Data, n.DataAtom, n.Attr = "span", atom.Span, nil
}

// link is where a link of the page leads now; "" where it leads nowhere.
func (c *cleaner) link(href string) string {
	target, err := c.base.Parse(strings.TrimSpace(href))
	if err != nil || target.Scheme != "http" && target.Scheme != "https" || target.Host == "" {
		return ""
	}
	fragment := target.EscapedFragment()
	target.Fragment, target.RawFragment = "", ""
	here := *c.here
	here.Fragment, here.RawFragment = "", ""
	if fragment != "" && target.String() == here.String() {
		return "#" + fragment
	}
	return c.address(target.String())
}

// baseOf is what relative links of a page are relative to.
func baseOf(tree *html.Node, root *url.URL) *url.URL {
	for n := range tree.Descendants() {
		if n.DataAtom != atom.Base || n.Namespace != "" {
			continue
		}
		for _, a := range n.Attr {
			if a.Key != "href" {
				continue
			}
			if base, err := root.Parse(strings.TrimSpace(a.Val)); err == nil {
				return base
			}
			return root
		}
	}
	return root
}
