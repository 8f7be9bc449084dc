// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// parsedBy parses a page with or without the fast path plain.
func parsedBy(body []byte, lexerOnly bool) *Page {
	u, err := urlkey.Parse("http://example.com/dir/page.html")
	if err != nil {
		panic(err)
	}
	in := &Input{URL: u, Body: append([]byte(nil), body...), ContentType: "text/html; charset=utf-8"}
	page := new(Page)
	page.reset(in)
	page.MediaType = mediaType(in)
	p := &htmlPass{refs: new(references), lexerOnly: lexerOnly}
	p.begin(in, page)
	p.lex()
	p.finish()
	page.seen, page.resolver, page.content = linkSet{}, nil, nil
	return page
}

// samePage fails if the two give different pages. It skips pages with raw text, whose end the lexer finds differently
// from the standard; TestHTML5LibAgainstTree and TestSoupAgainstTree cover them.
func samePage(t interface{ Errorf(string, ...any) }, body []byte) {
	for _, name := range strings.Fields("script style title textarea iframe xmp plaintext noembed noframes") {
		if bytes.Contains(bytes.ToLower(body), []byte("<"+name)) {
			return
		}
	}
	fast, slow := parsedBy(body, false), parsedBy(body, true)
	if !reflect.DeepEqual(fast, slow) {
		t.Errorf("%q:\nby plain: %q %+v\nby lexer: %q %+v", body, fast.Text, fast, slow.Text, slow)
	}
}

// TestPlain: pages are the same with and without the fast path.
func TestPlain(t *testing.T) {
	// No raw elements: samePage skips them.
	parts := []string{
		"<p>", "</p>", "<P>", "</P >", "<a href=\"x\">", "<a href='y'>", "<a href=z>", "<A HREF=\"q\">", "</a>",
		"</a x=\">\">", "text", " \n ", "&amp;", "<", ">", "\"", "'", "=", "/", "<div hidden>",
		"<div hidden=\"until-found\">", "<div class=\"a b\" id=c>", "</div>", "<br/>", "<br />",
		"<img alt=\"i\" src=\"s\"/>", "<svg>", "</svg>", "<xml>", "<!--", "-->", "<![CDATA[", "]]>", "<b/c>",
		"<custom-x y>", "<td", " a", " a=\"1\"", " a =\"1\"", "\x00", "<span title=\"a>b\">", "<noscript>",
		"</noscript>", "<base href=\"/b/\">", "<h1>", "</h1>", "<meta name=\"robots\" content=\"noindex\">",
		"<template>", "</template>", "</>", "<?x>", "ü", "\x01",
	}
	rapid.Check(t, func(t *rapid.T) {
		samePage(t, []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 40).Draw(t, "parts"), "")))
	})
	files, _ := filepath.Glob("testdata/html/*.html")
	if len(files) == 0 {
		t.Fatal("no pages in testdata")
	}
	for _, f := range files {
		body, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		samePage(t, body)
	}
}

func FuzzPlain(f *testing.F) {
	f.Add([]byte("<a href=\"x\">t</a>"))
	f.Add([]byte("<p a=b c='d' e=\"f\" g>x</p >y"))
	f.Add([]byte("<title><b></title><svg><title>x</svg>"))
	f.Add([]byte("<div hidden><p>a</div>b"))
	f.Fuzz(func(t *testing.T, body []byte) { samePage(t, body) })
}

// TestNoscript: raw text does not go on behind the noscript that it is in, with and without the fast path.
func TestNoscript(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`<p>a<noscript><iframe src=//x/ns.html /></noscript><p>b`, "a\nb"},
		{`<p>a<noscript><iframe src="//x/ns.html"></NOSCRIPT ><p>b<iframe>c</iframe>`, "a\nb"},
		{`<p>a<noscript><iframe></iframe>t<style>u</noscript><p>b`, "a\nt\nb"},
		{`<p>a<noscript><xmp>t</noscript><p>b`, "a\nt\nb"},
		{`<p>a<noscript></noscript><iframe /><p>b`, "a"}, // as in browsers
	} {
		for _, lexerOnly := range []bool{false, true} {
			if got := strings.TrimSpace(string(parsedBy([]byte(c.body), lexerOnly).Text)); got != c.want {
				t.Errorf("%q: %q, want %q", c.body, got, c.want)
			}
		}
	}
}
