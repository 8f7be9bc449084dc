// SPDX-License-Identifier: Apache-2.0

package parse_test

import (
	"encoding/json"
	"path"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/parse"
)

// TestReferencesAgainstTree compares character references in text and attributes with the results of x/net's tokenizer,
// over random pieces of references.
func TestReferencesAgainstTree(t *testing.T) {
	pieces := rapid.SampledFrom([]string{
		"&", "&amp", "&amp;", "&not", "&notit;", "&notin;", "&copy", "&reg", "region", "ion", "=", ";", "1", "x",
		"&#", "#", "&#x", "41", "65", "&#128;", "&#x80", "&#0;", "&#xd800;", "&#x110000;",
		"&#99999999999999999999;", "&eacute;", "&CounterClockwiseContourIntegral;", "&unknown;", "&nGt;", "&semi;",
		"é", ".", "?a=b",
	})
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(pieces, 1, 12).Draw(t, "pieces"), "")
		page := new(parse.Page)
		body := `<meta name=description content="x` + s + `x"><p>x` + s + `x`
		in := parse.Input{ContentType: "text/html; charset=utf-8", Body: []byte(body)}
		if err := parse.New(parse.Options{}).Parse(&in, page); err != nil {
			t.Fatal(err)
		}
		z := html.NewTokenizer(strings.NewReader(body))
		var attr, text string
		for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
			token := z.Token()
			for _, a := range token.Attr {
				if a.Key == "content" {
					attr = a.Val
				}
			}
			if kind == html.TextToken {
				text += token.Data
			}
		}
		if want := seen(attr); page.Description != want {
			t.Errorf("attribute %q: %q, want %q", s, page.Description, want)
		}
		if want := seen(text); string(page.Text) != want {
			t.Errorf("text %q: %q, want %q", s, page.Text, want)
		}
	})
}

// seen folds white space and drops characters without a glyph, as the parser does with text.
func seen(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\u00ad', r < ' ' && !unicode.IsSpace(r), 0x7f <= r && r <= 0x9f && r != 0x85:
			return -1
		case unicode.IsSpace(r):
			return ' '
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// TestNamedReferencesConformance resolves every name of the standard, in text.
func TestNamedReferencesConformance(t *testing.T) {
	total := 0
	untar(t, conformance(t, "html5lib-tests.tar.xz"), func(name string, data []byte) {
		if path.Base(name) != "namedEntities.test" {
			return
		}
		var file struct {
			Tests []struct {
				Input  string
				Output [][]any
			}
		}
		if err := json.Unmarshal(data, &file); err != nil {
			t.Fatal(err)
		}
		for _, test := range file.Tests {
			want := ""
			for _, token := range test.Output {
				if token[0] == "Character" {
					want += token[1].(string)
				}
			}
			total++
			// "[" and "]" prevent that white space is trimmed.
			want = strings.ReplaceAll(want, "\n", " ")
			got := string(parsePage(t, "text/html; charset=utf-8", "["+test.Input+"]").Text)
			if plain := string(parsePage(t, "text/plain; charset=utf-8", "["+want+"]").Text); got != plain {
				t.Errorf("%s: %q, want %q", test.Input, got, plain)
			}
		}
	})
	if total < 4000 {
		t.Errorf("%d names, want at least 4000", total)
	}
}
