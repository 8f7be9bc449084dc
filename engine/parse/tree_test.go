// SPDX-License-Identifier: Apache-2.0

package parse_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/engine/parse/content"
)

// Names of elements, by what treeText does with them.
var (
	unseenElements = strings.Fields("head script style template title textarea iframe noembed noframes audio video " +
		"canvas datalist rp")
	// apartElements separate their text from the text around them: blocks, cells, replaced elements.
	apartElements = strings.Fields("html body p div li ul ol dl dd dt tr table tbody thead tfoot caption section " +
		"article aside nav header footer main form fieldset legend figure figcaption blockquote address " +
		"h1 h2 h3 h4 h5 h6 hr center details summary dir menu hgroup search option optgroup select frameset " +
		"marquee colgroup br td th button input object embed applet meter progress text rt rb rtc pre listing " +
		"xmp plaintext img image frame iframe textarea audio video canvas datalist rp svg math dialog")
	unseenForeign = strings.Fields("title desc metadata annotation annotation-xml script style")
)

// treeText returns the visible text of a page the slow, obvious way: by a walk over the standard's tree.
func treeText(root *html.Node) string {
	var out strings.Builder
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		apart := false
		switch n.Type {
		case html.TextNode:
			out.WriteString(n.Data)
			return
		case html.CommentNode, html.DoctypeNode:
			return
		case html.ElementNode:
			apart = slices.Contains(apartElements, n.Data)
			if treeHides(n) {
				if apart {
					out.WriteByte(' ')
				}
				return
			}
		}
		if apart {
			out.WriteByte(' ')
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
		if apart {
			out.WriteByte(' ')
		}
	}
	walk(root)
	return out.String()
}

// treeHides reports whether an element's text is invisible.
func treeHides(n *html.Node) bool {
	if n.Namespace != "" {
		return slices.Contains(unseenForeign, n.Data)
	}
	if n.Data == "template" {
		_, shown := attribute(n, "shadowrootmode")
		return !shown
	}
	if slices.Contains(unseenElements, n.Data) {
		return true
	}
	value, hidden := attribute(n, "hidden")
	hidden = hidden && !strings.Contains(value, "until-found") && n.Data != "html" && n.Data != "body" &&
		!treeComesLater(n)
	if n.Data == "dialog" {
		_, open := attribute(n, "open")
		hidden = hidden || !open
	}
	return hidden
}

// treeComesLater reports whether a hidden element is a tab's panel, or a part of a page that React's server streamed.
// Attributes are kept of the elements that make boxes only.
func treeComesLater(n *html.Node) bool {
	id, _ := attribute(n, "id")
	role, _ := attribute(n, "role")
	return content.KindOf([]byte(n.Data)) != content.None &&
		(strings.HasPrefix(id, "S:") || strings.EqualFold(role, "tabpanel"))
}

// compareText returns the words of a page by our parser and by the tree. The tree's text passes through the parser for
// plain text, so that both are folded alike.
func compareText(t *testing.T, body []byte) (ours, tree []string) {
	t.Helper()
	valid := bytes.NewReader(bytes.ToValidUTF8(body, []byte("\ufffd")))
	root, err := html.ParseWithOptions(valid, html.ParseOptionEnableScripting(false))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Map(func(r rune) rune {
		if r < ' ' && !strings.ContainsRune("\t\n\f\r", r) { // would make the text binary
			return -1
		}
		return r
	}, treeText(root))
	return strings.Fields(string(parsePage(t, "text/html; charset=utf-8", string(body)).Text)),
		strings.Fields(string(parsePage(t, "text/plain; charset=utf-8", "text: "+text).Text))[1:]
}

// html5libInputs calls f with the inputs of html5lib's tests of tokenizers and tree construction.
func html5libInputs(t *testing.T, f func(name, input string)) {
	t.Helper()
	untar(t, conformance(t, "html5lib-tests.tar.xz"), func(name string, data []byte) {
		switch {
		case strings.Contains(name, "/tokenizer/") && path.Ext(name) == ".test":
			var file struct {
				Tests []struct {
					Input         string
					DoubleEscaped bool
					InitialStates []string
				}
			}
			if err := json.Unmarshal(data, &file); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, test := range file.Tests {
				if len(test.InitialStates) == 0 || slices.Contains(test.InitialStates, "Data state") {
					f(name, test.Input)
				}
			}
		case strings.Contains(name, "/tree-construction/") && path.Ext(name) == ".dat":
			for _, test := range strings.Split(string(data), "#data\n")[1:] {
				input, rest, _ := strings.Cut(test, "\n#errors")
				if !strings.Contains(rest, "#document-fragment") {
					f(name, input)
				}
			}
		}
	})
}

// arguedText are the reasons why an input may have other text than the tree, and how many inputs of html5lib do. The
// first reason that applies counts.
var arguedText = []struct {
	reason string
	inputs int
	parts  []string // the input has one of them
}{
	{"NUL is dropped, also in svg and plaintext, where the standard makes it U+FFFD", 7, []string{"\x00"}},
	{"the text of a page of frames is for browsers without frames", 8, []string{"<frameset"}},
	{"misplaced content of a table stays in its place, as separate words", 11, []string{"<table"}},
	{"where svg and math end without their own end tag depends on the open elements around them", 3,
		[]string{"<annotation-xml"}},
	{"a word ends at the end of the body, of an option, and of plaintext in svg", 4,
		[]string{"</body>", "</html>", "</option>", "<svg><plaintext>"}},
	{"raw text in a noscript ends with it, as it does with scripting", 4, []string{"<noscript><iframe></noscript>"}},
}

// TestHTML5LibAgainstTree compares links and text of html5lib's inputs with the tree's.
func TestHTML5LibAgainstTree(t *testing.T) {
	page := mustURL(t, "https://example.org/dir/page.html")
	parsers := parse.New(parse.Options{})
	inputs, differ := 0, make([]int, len(arguedText))
	html5libInputs(t, func(name, input string) {
		inputs++
		var p parse.Page
		if err := parsers.Parse(htmlInput(page, []byte(input)), &p); err != nil {
			t.Fatal(err)
		}
		want := oracleLinks(t, page, bytes.ToValidUTF8([]byte(input), []byte("\ufffd")))
		if d := difference(links(&p), want); d != "" {
			t.Errorf("%s: %q: links:%s", path.Base(name), input, d)
		}
		ours, tree := compareText(t, []byte(input))
		if slices.Equal(ours, tree) {
			return
		}
		for i, argued := range arguedText {
			if slices.ContainsFunc(argued.parts, func(part string) bool { return strings.Contains(input, part) }) {
				differ[i]++
				return
			}
		}
		t.Errorf("%s: %q:\n  ours %q\n  tree %q", path.Base(name), input, ours, tree)
	})
	if inputs < 8000 {
		t.Errorf("%d inputs, want at least 8000", inputs)
	}
	for i, argued := range arguedText {
		if differ[i] != argued.inputs {
			t.Errorf("%d inputs have other text than the tree, want %d: %s", differ[i], argued.inputs, argued.reason)
		}
	}
}

// sameText fails if a page has other text than the tree.
func sameText(t *testing.T, name string, data []byte) {
	t.Helper()
	ours, tree := compareText(t, data)
	if slices.Equal(ours, tree) {
		return
	}
	at := 0
	for at < min(len(ours), len(tree)) && ours[at] == tree[at] {
		at++
	}
	t.Errorf("%s: word %d of %d and %d:\n  ours %q\n  tree %q", name, at, len(ours), len(tree),
		ours[max(0, at-5):min(len(ours), at+12)], tree[max(0, at-5):min(len(tree), at+12)])
}

// TestRealPagesTextAgainstTree compares the text of real pages with the tree's.
func TestRealPagesTextAgainstTree(t *testing.T) {
	pages := 0
	realPages(t, "web/wcxb-sample.tar.xz", func(name string, data, _ []byte) {
		pages++
		sameText(t, name, data)
	})
	if pages < ofAll(300) {
		t.Errorf("%d pages, want at least %d", pages, ofAll(300))
	}
}

// TestFolderAgainstTree compares links and text of all pages in UTF-8 under SEINE_PAGES with the tree's.
func TestFolderAgainstTree(t *testing.T) {
	root := os.Getenv("SEINE_PAGES")
	if root == "" {
		t.Skip("SEINE_PAGES is not set: no folder of pages to compare")
	}
	page := mustURL(t, "https://example.org/dir/page.html")
	parsers := parse.New(parse.Options{})
	pages := 0
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		isHTML := strings.HasSuffix(name, ".html") || strings.HasSuffix(name, ".htm")
		if err != nil || !d.Type().IsRegular() || !isHTML {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil || !utf8.Valid(data) {
			return err
		}
		var p parse.Page
		if err := parsers.Parse(htmlInput(page, data), &p); err != nil || p.Truncated {
			return nil
		}
		pages++
		got := links(&p)
		for _, l := range p.Outlinks {
			if l.Kind == parse.LinkRefresh { // the oracle has it if another element links to it, too
				got = append(got, l.URL.String())
			}
		}
		want := oracleLinks(t, page, data)
		if d := difference(slices.DeleteFunc(got, func(u string) bool {
			return !slices.Contains(want, u) && p.Refresh != nil && p.Refresh.URL.String() == u
		}), want); d != "" {
			t.Errorf("%s: links:%s", name, d)
		}
		sameText(t, name, data)
		return nil
	})
	if err != nil || pages == 0 {
		t.Errorf("%d pages, %v", pages, err)
	}
	t.Logf("%d pages", pages)
}
