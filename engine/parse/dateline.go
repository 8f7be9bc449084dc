// SPDX-License-Identifier: Apache-2.0

// Author and date as a page shows them to its readers: time elements, links to authors, and the lines below its first
// heading. Statements for machines (facts.go) count more.

package parse

import (
	"bytes"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Ranks of what a page shows, after those of all names of meta elements.
const (
	rankItem   = 60 + iota // an element with itemprop datePublished
	rankTime               // the first time element after the first h1
	rankAuthor             // a link with rel author
	rankLine               // a line below the first heading
	rankBefore             // the first time element before the first h1: often that of a list of other articles
)

// timeElement notes the moment of a time element, which its datetime attribute has.
func (p *htmlPass) timeElement() {
	value, ok := p.attr("datetime")
	if !ok || p.hidden.active() {
		return
	}
	r := ranked{factPublished, rankBefore}
	if len(p.page.Headings) > 0 {
		r.rank = rankTime
	}
	class, _ := p.attr("class")
	item, _ := p.attr("itemprop")
	switch {
	case isFold(item, "datePublished"):
		r.rank = rankItem
	case isFold(item, "dateModified") || bytes.Contains(class, []byte("updated")) &&
		!bytes.Contains(class, []byte("published")):
		r.fact = factModified
	}
	if !p.facts.better(r) {
		return
	}
	s := p.fold(value, maxDate)
	if pageDate(string(p.arena[s.from:s.to])).IsZero() {
		p.arena = p.arena[:s.from]
		return
	}
	p.facts.at[r.fact], p.facts.ranks[r.fact] = s, r.rank+1
}

// authorLink notes the text of a link with rel author.
func (p *htmlPass) authorLink(text []byte) {
	r := ranked{factAuthor, rankAuthor}
	if p.facts.better(r) && isName(string(text)) {
		p.state(r, text)
	}
}

// state notes a fact that text states.
func (p *htmlPass) state(r ranked, text []byte) {
	from := int32(len(p.arena))
	p.arena = append(p.arena, text...)
	p.facts.at[r.fact], p.facts.ranks[r.fact] = span{from, int32(len(p.arena))}, r.rank+1
}

// Bounds of the search below the first heading, in bytes: of the text that is searched, of a line that may name a date
// or an author, and of a date.
const (
	maxBelow = 1200
	maxLine  = 120
	maxDate  = 64
)

// readLines searches the lines around the first heading for a date and for "By" and a name, unless better statements
// are known. A line that is long is part of the article.
func (p *htmlPass) readLines() {
	wantDate := p.facts.better(ranked{factPublished, rankLine})
	wantAuthor := p.facts.better(ranked{factAuthor, rankLine})
	if len(p.page.Headings) == 0 || !wantDate && !wantAuthor {
		return
	}
	text := p.text.out[p.page.Headings[0].From:]
	text = text[:min(len(text), maxBelow)]
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if len(line) > maxLine {
			continue
		}
		if wantDate {
			if day := lineDate(line); day != "" {
				p.state(ranked{factPublished, rankLine}, []byte(day))
				wantDate = false
			}
		}
		if wantAuthor && len(line) > 2 && bytes.IndexByte([]byte("bwpas"), line[0]|0x20) >= 0 { // see byWords
			if name := lineAuthor(string(line)); name != "" {
				p.state(ranked{factAuthor, rankLine}, []byte(name))
				wantAuthor = false
			}
		}
	}
}

// months has the first three letters of the English months, in order.
const months = "janfebmaraprmayjunjulaugsepoctnovdec"

// lineDate returns the first day that a line names, as "2006-01-02": "2006-01-02", "January 2nd, 2006", "2 Jan. 2006".
// It returns "" when there is none, or after a word that says what else the date is of.
func lineDate(line []byte) string {
	if !bytes.Contains(line, []byte("20")) && !bytes.Contains(line, []byte("19")) { // no year
		return ""
	}
	words := strings.FieldsFunc(string(line), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '/'
	})
	for i, w := range words {
		if len(w) >= 10 && w[4] == '-' {
			if t, err := time.Parse("2006-01-02", w[:10]); err == nil {
				return t.Format("2006-01-02")
			}
		}
		month := monthOf(w)
		if month == 0 {
			continue
		}
		for _, order := range [...][2]int{{i + 1, i + 2}, {i - 1, i + 1}} { // day and year
			if order[0] < 0 || order[1] >= len(words) {
				continue
			}
			day, year := number(words[order[0]]), number(words[order[1]])
			t := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
			if year >= 1990 && year < 2100 && day >= 1 && t.Month() == month {
				return t.Format("2006-01-02")
			}
		}
	}
	return ""
}

// monthOf returns the month that an English word or its abbreviation names, 0 for any other word.
func monthOf(w string) time.Month {
	if len(w) < 3 || len(w) > len("September") {
		return 0
	}
	i := strings.Index(months, strings.ToLower(w[:3]))
	if i < 0 || i%3 != 0 {
		return 0
	}
	m := time.Month(i/3 + 1)
	if full := m.String(); len(w) > len(full) || !strings.EqualFold(full[:len(w)], w) && !strings.EqualFold(w, "sept") {
		return 0
	}
	return m
}

// number reads a number of at most four digits, which "st", "nd", "rd" or "th" may follow; 0 for anything else.
func number(w string) (n int) {
	i := 0
	for ; i < len(w) && isDigit(w[i]); i++ {
		n = n*10 + int(w[i]-'0')
	}
	if i == 0 || i > 4 {
		return 0
	}
	switch strings.ToLower(w[i:]) {
	case "", "st", "nd", "rd", "th":
		return n
	}
	return 0
}

// byWords introduce an author at the start of a line.
var byWords = [...]string{
	"written by", "posted by", "published by", "article by", "story by", "author:", "author", "by:",
	"by",
}

// lineAuthor returns the name in "By Ann Brown | March 4", "" when there is none.
func lineAuthor(line string) string {
	line = strings.TrimSpace(line)
	for _, by := range byWords {
		if len(line) <= len(by) || !strings.EqualFold(line[:len(by)], by) || line[len(by)] != ' ' {
			continue
		}
		name := line[len(by)+1:]
		if i := strings.IndexAny(name, "|•·/–—([\t:"); i >= 0 {
			name = name[:i]
		}
		for _, after := range [...]string{" on ", ", ", " - ", " Published", " Updated", " in ", " at "} {
			if i := strings.Index(name, after); i >= 0 {
				name = name[:i]
			}
		}
		words := strings.Fields(name)
		for i, w := range words { // "By Ann Brown March 4"
			if monthOf(strings.TrimRight(w, ".,")) != 0 && i+1 < len(words) || isDigit(w[0]) {
				words = words[:i]
				break
			}
		}
		if name = strings.Join(words, " "); isName(name) {
			return name
		}
		return ""
	}
	return ""
}

// isName reports whether a text looks like the name of a person: one to five words, most of which begin with a capital
// letter, or with one of a script without capitals.
func isName(s string) bool {
	words := strings.Fields(s)
	if len(words) == 0 || len(words) > 5 || len(s) > maxDate || strings.Contains(s, "://") {
		return false
	}
	capitals := 0
	for _, w := range words {
		r, _ := utf8.DecodeRuneInString(w)
		switch {
		case unicode.IsDigit(r):
			return false
		case unicode.IsLetter(r) && !unicode.IsLower(r):
			capitals++
		}
	}
	return 2*capitals > len(words)
}
