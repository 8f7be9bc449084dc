// SPDX-License-Identifier: Apache-2.0

package parse_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestLinkField: a canonical URL in a Link field counts like one in the page, and before it (RFC 6596, RFC 8288).
func TestLinkField(t *testing.T) {
	const html = "<title>t</title><link rel=canonical href=/html><p>text"
	for _, c := range []struct {
		fields            []string
		mediaType, body   string
		canonical, linked string // linked: a canonical link beside it
	}{
		{nil, "text/html", html, "http://a.example/html", ""},
		{[]string{`</header>; rel="canonical"`}, "text/html", html, "http://a.example/header", "http://a.example/html"},
		{[]string{`</header>; rel=canonical`}, "text/html", "<p>text", "http://a.example/header", ""},
		{[]string{`<x>;rel="Canonical"`}, "text/html", "<base href=/elsewhere/><p>text", "http://a.example/dir/x", ""},
		{[]string{`<https://b.example/>; title="a, \"b\"; c"; rel="nofollow CANONICAL"`}, "text/plain", "text",
			"https://b.example/", ""},
		{[]string{`</x>; rel="canonical"`}, "application/pdf", "%PDF-1.7", "http://a.example/x", ""},
		{[]string{`</a.css>; rel=preload; as=style, </x> ; rel = "next canonical"`}, "text/html", "<p>text",
			"http://a.example/x", ""},
		{[]string{`</a>; rel=next`, `</x>; rel=canonical`, `</y>; rel=canonical`}, "text/html", "<p>text",
			"http://a.example/x", "http://a.example/y"},
		{[]string{`</a,b;c>; rel=canonical`}, "text/html", "<p>text", "http://a.example/a,b;c", ""},
		{[]string{`</x>; rel=next; rel=canonical`}, "text/html", html, "http://a.example/html", ""},
		{[]string{`</x>; rel=canonical; anchor="/other"`}, "text/html", html, "http://a.example/html", ""},
		{[]string{`</x>; rel=canonically`, `</x>; title="rel=canonical"`, `</x>`, `/x; rel=canonical`,
			`<>; rel=canonical`, `<http://[>; rel=canonical`, `<`, `</x`, `;,;`, `</x>;rel="`, ""}, "text/html", html,
			"http://a.example/html", ""},
	} {
		u, _ := urlkey.Parse("http://a.example/dir/page")
		in := &parse.Input{URL: u, ContentType: c.mediaType, Link: c.fields, Body: []byte(c.body)}
		var p parse.Page
		if err := parse.New(parse.Options{}).Parse(in, &p); err != nil && !errors.Is(err, parse.ErrUnsupported) {
			t.Errorf("%q: %v", c.fields, err)
		}
		linked := ""
		found := false
		for _, l := range p.Outlinks {
			if l.Kind != parse.LinkCanonical {
				continue
			}
			if l.URL == p.Canonical {
				found = true
			} else {
				linked += l.URL.String()
			}
		}
		if p.Canonical.String() != c.canonical || !found || linked != c.linked {
			t.Errorf("%q: canonical %s (a link: %t), beside it %q; want %s and %q", strings.Join(c.fields, " | "),
				p.Canonical, found, linked, c.canonical, c.linked)
		}
	}
}
