// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// hostile are pages made to cost more than linear time. Each is a head, a piece that is repeated up to the wanted size,
// and a tail.
var hostile = []struct{ name, head, piece, tail string }{
	{"nested tags", "", "<div><b>", ""},
	{"nested links", "", "<a href=x>", "t"},
	{"distinct links", "", "<a href=%d>x</a>", ""},
	{"open brackets", "", "<", ""},
	{"end brackets", "", "</", ""},
	{"empty ends", "", "</>", ""},
	{"unclosed comment", "<!--", "x", ""},
	{"abrupt comments", "", "<!-->", ""},
	{"abrupt comments, longer", "", "<!---> -- ", ""},
	{"unclosed script", "<script>", "x</", ""},
	{"comments in a script", "<script>", "<!--<script", ""},
	{"unclosed title", "<title>", "&amp;", ""},
	{"unclosed CDATA", "", "<![CDATA[>", ""},
	{"CDATA in svg", "<svg>", "<![CDATA[>", ""},
	{"unclosed svg", "", "<svg>", ""},
	{"svg broken out of", "", "<svg><p>", ""},
	{"svg with NUL", "", "<svg>\x00</svg>", ""},
	{"raw text in noscript", "<noscript>", "<iframe>", ""},
	{"raw text in many noscripts", "", "<noscript><iframe a=&></noscript>", ""},
	{"raw text in an open noscript", "<noscript>", "<iframe></iframe><title/></title>", ""},
	{"raw text in svg", "<svg>", "<style>a<b", ""},
	{"empty raw text in svg", "<svg>", "<style/>", ""},
	{"raw text twice", "", "<svg><title/><math><script/>", ""},
	{"slashes", "", "<a/////////href=x>", ""},
	{"slash names", "<a", "/b", ">"},
	{"long attribute", "<a href='", "x", "'>t</a>"},
	{"open attribute", "<a href='", "&am", ""},
	{"many attributes", "<a ", "a%d=b ", ">"},
	{"references", "", "&notit;", ""},
	{"unknown references", "", "&a%d;", ""},
	{"ampersands", "", "&", ""},
	{"long reference", "&", "a", ""},
	{"long number", "&#", "9", ""},
	{"references in attributes", "<a href='", "&copy=", "'>"},
	{"NULs", "", "\x00", ""},
	{"combining marks", "", "a\u0301\u0302", ""},
	{"one word", "", "x", ""},
	{"spaces", "", " \n", "x"},
	{"hidden depth", "<div hidden>", "<b>", ""},
	{"comments in a script", "<script>", "<!---->", ""},
	{"scripts in comments in a script", "<script>", "<!--<script>-->", ""},
	{"a comment without end in a script", "<script><!--", "<script></script>", ""},
	{"ends in a title", "<title>", "</", ""},
	{"end tags with attributes", "", "</a b=c>", ""},
	{"end tags with open quotes", "", "</a b='", ""},
	{"attributes", "<p ", "a=\"b\" ", ""},
	{"values within values", "", "<p a=\"", ""},
	{"parts not to be shown", "", "<div data-nosnippet>x", ""},
	{"facts", "", "<meta name=author content=\"://\">", ""},
	{"facts in JSON", "<script type=\"application/ld+json\">", "\"author\":{", ""},
	{"hidden ends", "<div hidden>" + strings.Repeat("<i>", 70), "</b>", ""},
	{"templates", "", "<template>", ""},
	{"pre lines", "<pre>", "\n", "x"},
	{"doctype", "<!doctype ", "x", ""},
	{"metas", "", "<meta name=robots content='a:a:a:a:a'>", ""},
	{"headings", "", "<h1>", "x"},
	{"invalid UTF-8", "", "\xff\xc3", ""},
}

func (h *hostilePage) build(size int) []byte {
	var b bytes.Buffer
	b.WriteString(h.head)
	for i := 0; b.Len() < size; i++ {
		if strings.Contains(h.piece, "%d") {
			fmt.Fprintf(&b, h.piece, i)
		} else {
			b.WriteString(h.piece)
		}
	}
	b.WriteString(h.tail)
	return b.Bytes()
}

type hostilePage struct{ head, piece, tail string }

// TestLinear checks that the cost of hostile pages is linear. It measures no time, but counts bytes given to the lexer
// again, references and bytes in the arena. It also checks every promise of Page.
func TestLinear(t *testing.T) {
	u, err := urlkey.Parse("https://example.org/dir/page.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			page := hostilePage{h.head, h.piece, h.tail}
			body := page.build(256 << 10)
			in := &Input{URL: u, ContentType: "text/html; charset=utf-8", Body: body}
			var out Page
			out.reset(in)
			out.MediaType = typeHTML
			p := &htmlPass{refs: new(references)}
			p.begin(in, &out)
			p.lex()
			if limit := rereadBudget(len(p.src)); p.reread > limit {
				t.Errorf("%d bytes were lexed again, of %d allowed", p.reread, limit)
			}
			if p.input.Offset() < p.input.Len() {
				t.Errorf("lexing stopped at byte %d of %d", p.input.Offset(), p.input.Len())
			}
			if n := len(p.links); n > maxRefs {
				t.Errorf("%d links, more than %d", n, maxRefs)
			}
			if n := len(p.attrs); n > maxAttributes {
				t.Errorf("%d attributes, more than %d", n, maxAttributes)
			}
			if n := len(p.hidden.open); n > maxHidden {
				t.Errorf("%d elements in a hidden one, more than %d", n, maxHidden)
			}
			p.finish()
			if len(p.arena) > 2*len(p.src) {
				t.Errorf("the arena has %d bytes for a page of %d", len(p.arena), len(p.src))
			}
			CheckPage(t, &out)
		})
	}
}

// CheckPage checks the promises of Page, which hold for any input. It is exported for the external tests only.
func CheckPage(t testing.TB, p *Page) {
	t.Helper()
	for _, c := range [...]struct {
		what     string
		n, limit int
	}{
		{"bytes of text", len(p.Text), MaxText},
		{"bytes of title", len(p.Title), MaxTitle},
		{"headings", len(p.Headings), MaxHeadings},
		{"bytes of description", len(p.Description), MaxDescription},
		{"links", len(p.Outlinks), MaxLinks},
	} {
		if c.n > c.limit {
			t.Errorf("%d %s, more than %d", c.n, c.what, c.limit)
		}
	}
	checkText(t, "text", string(p.Text))
	end := 0
	for _, r := range p.Headings {
		if r.From < end || r.To <= r.From || r.To > len(p.Text) || r.To-r.From > MaxAnchor {
			t.Fatalf("heading %+v behind %d in %d bytes of text", r, end, len(p.Text))
		}
		checkText(t, "heading", string(p.Text[r.From:r.To]))
		end = r.To
	}
	for _, s := range [...]string{p.Title, p.Description, p.Keywords} {
		checkText(t, "title, description or keywords", s)
		if strings.Contains(s, "\n") {
			t.Errorf("line feed in %q", s)
		}
	}
	at := 0
	for _, b := range p.Blocks {
		if b.From < at || b.To <= b.From || b.To > len(p.Text) || len(bytes.TrimSpace(p.Text[at:b.From])) > 0 {
			t.Fatalf("block %+v behind %d in %d bytes of text", b, at, len(p.Text))
		}
		at = b.To
	}
	if len(p.Blocks) > 0 && len(bytes.TrimSpace(p.Text[at:])) > 0 {
		t.Errorf("%d bytes of text are in no block", len(p.Text)-at)
	}
	if content := p.AppendContent(nil); len(content) > len(p.Text) {
		t.Errorf("%d bytes of content, %d of text", len(content), len(p.Text))
	}
	type pair struct {
		u urlkey.URL
		a string
	}
	seen := map[pair]bool{}
	for _, l := range p.Outlinks {
		checkText(t, "anchor", l.Anchor)
		if len(l.Anchor) > MaxAnchor {
			t.Errorf("anchor of %d bytes", len(l.Anchor))
		}
		if again, err := urlkey.Parse(l.URL.String()); err != nil || again != l.URL {
			t.Errorf("link %q is not canonical: %q, %v", l.URL, again, err)
		}
		if seen[pair{l.URL, l.Anchor}] {
			t.Errorf("link %q %q occurs twice", l.URL, l.Anchor)
		}
		seen[pair{l.URL, l.Anchor}] = true
	}
}

func checkText(t testing.TB, what, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Errorf("%s is not valid UTF-8: %.80q", what, s)
	}
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\n' || c == 0x7f {
			t.Errorf("%s has control character %#x: %.80q", what, c, s)
			return
		}
	}
	for _, two := range [...]string{"  ", "\n\n", " \n", "\n "} {
		if strings.Contains(s, two) {
			t.Errorf("%s is not folded, it has %q: %.80q", what, two, s)
		}
	}
	if s != strings.Trim(s, " \n") {
		t.Errorf("%s is not trimmed: %.80q", what, s)
	}
}
