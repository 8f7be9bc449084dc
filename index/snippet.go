// SPDX-License-Identifier: Apache-2.0

package index

import (
	"html"
	"strings"
	"unicode"

	"github.com/seine-crawler/seine/storage"
)

// Snippet is a piece of a document's text with the places that match a query.
//
// Text is raw: it holds what the page says, markup and control characters included. HTML is for web pages, Mark for
// terminals and other plain text; who uses Text and Matches escapes Text.
type Snippet struct {
	// Text is on one line, with "… " before it or " …" behind it if it begins or ends within a sentence, and " … "
	// between passages.
	Text    string
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

// SnippetOptions say how a snippet is chosen. The zero value takes about 220 bytes from all of the text.
type SnippetOptions struct {
	// Content is the main content of the text: parts in order, not overlapping. nil means all of it. Words are searched
	// there first, and elsewhere only when it has none of them.
	Content []storage.TextRange
	// ContentOnly shows nothing but the content.
	ContentOnly bool
	// Near is Hit.Near of the document that has this text: passages are looked for there. Where the text is not the one
	// that was indexed, all of it is searched.
	Near     []storage.TextRange
	Length   int // about the length of the snippet, in bytes, at most 128 KiB; 0 means 220
	Passages int // at most so many, joined by " … ", when one does not hold all words of the query; 0 means 3
}

// Snippet is SnippetWith without options.
func (x *Index) Snippet(q Query, text string) Snippet {
	return x.SnippetWith(q, text, SnippetOptions{})
}

// SnippetWith chooses the passages of a text that together hold the most words of the query, rare words before common
// ones if the query comes from a Result. Passages are whole sentences where these fit. Of a phrase, it marks the words
// where they stand as the phrase. Without any word of the query the snippet is the beginning of the content. It looks
// where SnippetOptions.Near says; without it at the first 128 KiB of text, and ends early where it has found all words
// together. It reads nothing of the index, so it works after Close too. It is safe for concurrent use.
func (x *Index) SnippetWith(q Query, text string, o SnippetOptions) Snippet {
	if o.Length <= 0 {
		o.Length = snippetBytes
	}
	o.Length = min(o.Length, snippetText)
	if o.Passages <= 0 {
		o.Passages = 3
	}
	m := newMarker(q)
	defer m.release()
	c := chooser{m: m, length: o.Length}
	content := m.parts(text, o.Content)
	found := len(o.Near) > 0 && c.near(&content, o.Near) || c.choose(content, o.Passages)
	if !found && !o.ContentOnly && len(o.Content) > 0 {
		found = c.choose(m.parts(text, nil), o.Passages)
	}
	if !found {
		content = m.parts(text, o.Content)
		c.text, c.pieces = content.slice(0, 8*c.length), nil
		return c.write(c.opening())
	}
	spans := c.pick(o.Passages)
	c.fit(spans)
	if len(spans) == 1 {
		c.grow(&spans[0])
	}
	return c.write(spans)
}
