// SPDX-License-Identifier: Apache-2.0

package index

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seine-crawler/seine/index/analysis"
)

// Snippet is a piece of a document's text with the places that match a query.
//
// Text is raw: it holds what the page says, markup and control characters included. HTML is for web pages, Mark for
// terminals and other plain text; who uses Text and Matches escapes Text.
type Snippet struct {
	Text    string   // on one line, of about 220 bytes; "… " before it and " …" behind it where the text goes on
	Matches [][2]int // byte offsets in Text, from (inclusive) and to (exclusive), in order and apart
}

// Cut returns the snippet with at most the given number of characters (code points), 0 or less leaving none. A match
// that does not fit whole is no match any more.
func (s Snippet) Cut(characters int) Snippet {
	for i := range s.Text {
		if characters--; characters >= 0 {
			continue
		}
		s.Text = s.Text[:i]
		n := 0
		for n < len(s.Matches) && s.Matches[n][1] <= i {
			n++
		}
		s.Matches = s.Matches[:n]
		break
	}
	return s
}

// HTML returns the text as HTML, escaped, with open and close, which are not escaped, round each match:
// s.HTML("<mark>", "</mark>"). Use it where HTML allows text; with empty marks also in a quoted attribute.
// Control characters are left out as in Mark.
func (s Snippet) HTML(open, close string) string {
	return s.write(open, close, func(text string) string { return html.EscapeString(plain(text)) })
}

// Mark returns the text for a terminal or another place that shows plain text, with before and after round each match.
// It leaves out control characters, so that a page cannot control the terminal, and characters that change the
// direction of writing, which would affect the text after the snippet. It escapes nothing: what is between and around
// the marks is raw page text, "<script>" included. For web pages use HTML.
func (s Snippet) Mark(before, after string) string { return s.write(before, after, plain) }

// write puts marks round the matches, and all text through a function.
func (s Snippet) write(before, after string, through func(string) string) string {
	if before == "" && after == "" {
		return through(s.Text)
	}
	var b strings.Builder
	last := 0
	for _, m := range s.Matches {
		b.WriteString(through(s.Text[last:m[0]]))
		b.WriteString(before)
		b.WriteString(through(s.Text[m[0]:m[1]]))
		b.WriteString(after)
		last = m[1]
	}
	b.WriteString(through(s.Text[last:]))
	return b.String()
}

// plain leaves out control characters and those that embed, override or isolate a direction of writing. Tabs and line
// separators become spaces. Bytes that are not UTF-8 become U+FFFD: a terminal might take one for a control character.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t', r == '\n', r == '\r', r == '\u2028', r == '\u2029':
			return ' '
		case unicode.IsControl(r), '\u202a' <= r && r <= '\u202e', '\u2066' <= r && r <= '\u2069':
			return -1
		}
		return r
	}, text)
}

// Snippet chooses the part of a text, about two lines long, that holds the most different terms of the query, the first
// of equals; without any it is the beginning. It looks at the first 128 KiB of text. It reads nothing of the index, so
// it works after Close too.
func (x *Index) Snippet(q Query, text string) Snippet {
	text = cutText(text, snippetText)
	var places []place
	var a analysis.Analyzer
	a.Walk([]byte(text), 0, func(t analysis.Token) {
		if q.terms[string(t.Term)] {
			places = append(places, place{t.Start, t.End, string(t.Term)})
		}
	})
	from := bestWindow(places)
	from, to := widen(text, from)
	s := Snippet{}
	if from > 0 {
		s.Text = "… "
	}
	shift := len(s.Text) - from
	s.Text += strings.ReplaceAll(text[from:to], "\n", " ")
	last := 0
	for _, p := range places {
		if p.start >= from && p.end <= to && p.start >= last {
			s.Matches = append(s.Matches, [2]int{p.start + shift, p.end + shift})
			last = p.end
		}
	}
	if to < len(text) {
		s.Text += " …"
	}
	return s
}

// place is an occurrence of a term of the query, in bytes of the text.
type place struct {
	start, end int
	term       string
}

// bestWindow returns the start of the first snippetBytes that hold the most different terms.
func bestWindow(places []place) int {
	count := map[string]int{}
	best, start := 0, 0
	for i, j := 0, 0; j < len(places); j++ {
		count[places[j].term]++
		for i < j && places[j].end-places[i].start > snippetBytes {
			if count[places[i].term]--; count[places[i].term] == 0 {
				delete(count, places[i].term)
			}
			i++
		}
		if len(count) > best {
			best, start = len(count), places[i].start
		}
	}
	return start
}

// widen returns the snippet's part of the text: up to 40 bytes before the first match, from the start of a word, and
// snippetBytes in all, to the end of a word if that is not too short.
func widen(text string, from int) (int, int) {
	const before = 40
	start := max(0, from-before)
	if start > 0 {
		if sp := strings.IndexAny(text[start:from], " \n"); sp >= 0 {
			start += sp + 1
		} else {
			start = from
		}
	}
	to := min(len(text), start+snippetBytes)
	if to < len(text) {
		if sp := strings.LastIndexAny(text[start:to], " \n"); sp > snippetBytes/2 {
			to = start + sp
		}
		for to > start && !utf8.RuneStart(text[to]) {
			to--
		}
	}
	return start, to
}
