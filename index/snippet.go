// SPDX-License-Identifier: Apache-2.0

package index

import (
	"strings"
	"unicode/utf8"

	"github.com/seine-crawler/seine/index/analysis"
)

// Snippet is a piece of a document's text with the places that match a query. It is plain text:
// whoever shows it escapes it.
type Snippet struct {
	Text    string
	Matches [][2]int // from, to in Text, in order
}

// Cut returns the first characters of a snippet.
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

// Mark returns the text with marks round its matches.
func (s Snippet) Mark(before, after string) string {
	if before == "" && after == "" {
		return s.Text
	}
	var b strings.Builder
	last := 0
	for _, m := range s.Matches {
		b.WriteString(s.Text[last:m[0]])
		b.WriteString(before)
		b.WriteString(s.Text[m[0]:m[1]])
		b.WriteString(after)
		last = m[1]
	}
	b.WriteString(s.Text[last:])
	return b.String()
}

// Snippet chooses the stretch of text, about two lines long, that holds the most different terms of
// the query, the earliest of the best; without any it is the beginning.
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

// place is where a term of the query stands.
type place struct {
	start, end int
	term       string
}

// bestWindow returns where the stretch with the most different terms begins.
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

// widen takes a little text before the first match, from the start of a word, and cuts the end at
// one.
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
