// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"html"
	"math"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/index"
)

func TestSnippet(t *testing.T) {
	_, x := newStore(t)
	text := strings.Repeat("Nothing to see here. ", 30) +
		"Take the needle, find the torn mesh,\nand begin above it. " +
		strings.Repeat("More of nothing. ", 30)
	s := x.Snippet(index.ParseQuery("torn mesh"), text)
	marked := s.Mark("[", "]")
	if !strings.Contains(marked, "the [torn] [mesh], and") || len(s.Text) > 260 || strings.Contains(s.Text, "\n") {
		t.Errorf("snippet %q", marked)
	}
	s = x.Snippet(index.ParseQuery("absent"), "北京大学 "+text)
	if !strings.HasPrefix(s.Text, "北京大学") || len(s.Matches) != 0 {
		t.Errorf("snippet %q", s.Text)
	}
	long := strings.Repeat("g", 500) // a word longer than a snippet
	if s := x.Snippet(index.ParseQuery(long), "a "+long+" b"); !utf8.ValidString(s.Text) {
		t.Errorf("snippet %q", s.Text)
	}
	if s := x.Snippet(index.ParseQuery("x"), ""); s.Text != "" {
		t.Errorf("snippet of nothing: %q", s.Text)
	}
}

// TestSnippetMarks: what a page says cannot act between the marks, neither as HTML nor on a terminal.
func TestSnippetMarks(t *testing.T) {
	_, x := newStore(t)
	f := func(text, wantHTML, wantMark string) {
		t.Helper()
		s := x.Snippet(index.ParseQuery("net"), text)
		if got := s.HTML("<mark>", "</mark>"); got != wantHTML {
			t.Errorf("%q: HTML %q, want %q", text, got, wantHTML)
		}
		if got := s.Mark("\x1b[1m", "\x1b[0m"); got != wantMark {
			t.Errorf("%q: Mark %q, want %q", text, got, wantMark)
		}
		for _, m := range s.Matches {
			if got := s.Text[m[0]:m[1]]; !strings.EqualFold(got, "net") {
				t.Errorf("%q: the match at %v is %q", text, m, got)
			}
		}
	}
	f("a net", "a <mark>net</mark>", "a \x1b[1mnet\x1b[0m")
	f("<script>net('&')</script>", "&lt;script&gt;<mark>net</mark>(&#39;&amp;&#39;)&lt;/script&gt;",
		"<script>\x1b[1mnet\x1b[0m('&')</script>")
	f("\x1b]0;owned\a \u009b31mnet\x7f\x00", "]0;owned 31mnet", "]0;owned 31mnet")
	f("\x1b[31m NET\ta\nb\rc", "[31m <mark>NET</mark> a b c", "[31m \x1b[1mNET\x1b[0m a b c")
	f("net \u202egnp.exe\u2066 \u200eשלום",
		"<mark>net</mark> gnp.exe \u200eשלום", "\x1b[1mnet\x1b[0m gnp.exe \u200eשלום")
	f("net \x9b1m", "<mark>net</mark> \ufffd1m", "\x1b[1mnet\x1b[0m \ufffd1m")
	if s := x.Snippet(index.ParseQuery("net"), "a \x1b[1mnet <b>"); s.Mark("", "") != "a [1mnet <b>" ||
		s.HTML("", "") != "a [1mnet &lt;b&gt;" || s.Text != "a \x1b[1mnet <b>" {
		t.Errorf("without marks: Mark %q, HTML %q, Text %q", s.Mark("", ""), s.HTML("", ""), s.Text)
	}
}

// TestSnippetHTML: for any text, HTML holds no markup but the marks, one pair for each match, and unescapes to Mark.
func TestSnippetHTML(t *testing.T) {
	_, x := newStore(t)
	special := []string{"net ", "boat ", "<b>", "&amp;", "'\"", "\x1b[0m", "\xff", "北京", "\u202e"}
	piece := rapid.OneOf(rapid.SampledFrom(special), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 60).Draw(t, "text"), "")
		s := x.Snippet(index.ParseQuery("net boat"), text)
		s = s.Cut(rapid.IntRange(0, 300).Draw(t, "cut"))
		got, mark := s.HTML("\x01", "\x02"), s.Mark("\x01", "\x02")
		if html.UnescapeString(got) != mark {
			t.Fatalf("%q: HTML %q, Mark %q", s.Text, got, mark)
		}
		opens, closes := strings.Count(got, "\x01"), strings.Count(got, "\x02")
		if strings.ContainsAny(got, "<>'\"") || opens != len(s.Matches) || closes != len(s.Matches) {
			t.Fatalf("%q: HTML %q", s.Text, got)
		}
		for _, r := range mark {
			if unicode.IsControl(r) && r != 1 && r != 2 {
				t.Fatalf("%q: %q in %q", s.Text, r, mark)
			}
		}
		if !utf8.ValidString(got) {
			t.Fatalf("%q: HTML %q", s.Text, got)
		}
	})
}

// TestSnippetCut: a cut leaves whole characters and whole matches.
func TestSnippetCut(t *testing.T) {
	s := index.Snippet{Text: "ä net, a net", Matches: [][2]int{{3, 6}, {10, 13}}}
	for n, want := range map[int]string{
		-1: "", 0: "", 1: "ä", 4: "ä ne", 5: "ä [net]",
		11: "ä [net], a ne", 12: "ä [net], a [net]", 99: "ä [net], a [net]",
	} {
		if got := s.Cut(n).Mark("[", "]"); got != want {
			t.Errorf("%d characters: %q, want %q", n, got, want)
		}
	}
}

// TestSnippetLength: a length without bounds is a long one, with a match and without, whatever there is of text.
func TestSnippetLength(t *testing.T) {
	_, x := newStore(t)
	for _, text := range []string{"", "a net", strings.Repeat("a net of the crew. ", 9000)} {
		for _, length := range []int{math.MaxInt, math.MaxInt / 2, math.MaxInt / 8, 1 << 40} {
			for _, q := range []string{"net", "absent", `"net of"`} {
				o := index.SnippetOptions{Length: length, Passages: math.MaxInt}
				s := x.SnippetWith(index.ParseQuery(q), text, o)
				if most := 130 << 10; len(s.Text) > most || len(s.Text) < min(len(text), 220) {
					t.Errorf("length %d, %q: %d bytes of %d", length, q, len(s.Text), len(text))
				}
			}
		}
	}
}
