// SPDX-License-Identifier: Apache-2.0

package index

import (
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

// span is a passage: whole sentences, or a part of one that is too long.
type span struct {
	from, to       int
	first, last    int    // places in it, last exclusive
	words          uint64 // of the query, by bit
	score          float64
	fits           bool // within its part of the length
	cutFrom, cutTo bool
}

// chooser picks the passages of one snippet. Texts are bounded, so every place of the query's words that is known is a
// candidate; the passage with the most weight of different words wins, then by phrases and number of words, then the
// first. While words are missing, the passage that adds most of them is added. All choices are greedy: a best set costs
// more and is rarely another one.
type chooser struct {
	m      *marker
	text   string
	pieces [][2]int // of the text that were apart, from and to, in order; nil: none
	length int
}

// read finds the query's words in all of a text, or as far as they are enough, and makes the candidates. It reports
// whether there are any.
func (c *chooser) read(text string) bool {
	c.text, c.pieces = text, nil
	c.m.places = c.m.places[:0]
	for from := 0; from < len(c.text) && !c.enough(); {
		to := min(from+snippetStep, len(c.text))
		for to < len(c.text) && !isSpace(c.text[to]) {
			to++
		}
		c.m.find(c.text, from, to)
		from = to
	}
	return c.candidates()
}

// bounds returns where the piece of the text begins and ends that a place is in.
func (c *chooser) bounds(at int) (from, to int) {
	for _, p := range c.pieces {
		if at < p[1] {
			return p[0], p[1]
		}
	}
	return 0, len(c.text)
}

// candidates makes the candidates: each sentence with a word of the query in it, and rows of such sentences that fit
// into the length. It reports whether there are any.
func (c *chooser) candidates() bool {
	m := c.m
	m.sortPlaces()
	m.joinPhrases(c.text)
	last := len(m.places)
	for i := 0; i < last; {
		p := m.places[i]
		reach := 2 * c.length
		least, most := c.bounds(p.start)
		from := sentenceStart(c.text, p.start, max(least, p.start-reach), most)
		to := sentenceEnd(c.text, p.end, min(most, p.end+reach))
		j := i + 1
		for j < last && m.places[j].end <= to {
			j++
		}
		s := span{from: from, to: to, first: i, last: j}
		if to-from > c.length && j-i > 1 {
			s = c.window(s)
		} else {
			c.rate(&s)
		}
		m.spans = append(m.spans, s)
		i = j
	}
	for i, end := 0, len(m.spans); i < end; i++ {
		row := m.spans[i]
		_, most := c.bounds(row.from)
		for j := i + 1; j < end && m.spans[j].to-row.from <= c.length && m.spans[j].to <= most; j++ {
			words := row.words
			row.to, row.last = m.spans[j].to, m.spans[j].last
			if row.words |= m.spans[j].words; row.words != words {
				c.rate(&row)
				m.spans = append(m.spans, row)
			}
		}
	}
	return last > 0
}

// enough reports whether all words were found within the length, and the phrases as they stand: the rest of the text
// may have more of them, but hardly a better passage.
func (c *chooser) enough() bool {
	m := c.m
	var at [maxTerms]int // where each word was seen last, plus 1
	seen, all := uint64(0), uint64(1)<<len(m.weights)-1
	close := false
	for _, p := range m.places {
		at[p.word] = p.start + 1
		if seen |= 1 << p.word; seen != all || close {
			continue
		}
		close = true
		for _, start := range at[:len(m.weights)] {
			close = close && start > p.end-c.length
		}
	}
	if !close {
		return false
	}
	for i := range m.phrases {
		p := &m.phrases[i]
		found := false
		for j := range m.places {
			if found = m.places[j].word == p.words[0] && m.follow(c.text, j, p); found {
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// window keeps of a sentence's places those that stand within the length and weigh most.
func (c *chooser) window(s span) span {
	best := s
	best.score = -1
	i := s.first
	for j := s.first; j < s.last; j++ {
		for c.m.places[j].end-c.m.places[i].start > c.length*2/3 && i < j {
			i++
		}
		w := s
		w.first, w.last = i, j+1
		if c.rate(&w); w.score > best.score {
			best = w
		}
	}
	return best
}

// rate computes the words and the score of a span.
func (c *chooser) rate(s *span) {
	s.words = 0
	phrase := false
	for _, p := range c.m.places[s.first:s.last] {
		s.words |= 1 << p.word
		phrase = phrase || p.inPhrase
	}
	s.score = c.value(s.words, phrase, s.last-s.first)
	if s.to-s.from < 40 { // a heading or an item says less than a sentence
		s.score -= 0.05
	}
}

// phraseFactor is what a passage with a phrase of the query is worth of one with as many words.
const phraseFactor = 1.5

// value returns the score of a passage with some words of the query, in a number of places.
func (c *chooser) value(words uint64, phrase bool, places int) float64 {
	v := c.weight(words)
	if phrase {
		v *= phraseFactor
	}
	return v + 0.02*float64(min(places, 8))
}

func (c *chooser) weight(words uint64) (sum float64) {
	for ; words != 0; words &= words - 1 {
		sum += c.m.weights[bits.TrailingZeros64(words)]
	}
	return sum
}

// pick returns at most the given number of spans, in the order of the text.
func (c *chooser) pick(most int) (out []span) {
	var seen uint64
	for len(out) < most {
		best := -1
		score := 0.0
		for i := range c.m.spans {
			s := &c.m.spans[i]
			gain := s.score
			if len(out) > 0 {
				if gain = c.weight(s.words &^ seen); gain == 0 || overlaps(out, s) {
					continue
				}
				gain += s.score / 1000
			}
			if best < 0 || gain > score {
				best, score = i, gain
			}
		}
		if best < 0 {
			break
		}
		out = append(out, c.m.spans[best])
		seen |= c.m.spans[best].words
	}
	slices.SortFunc(out, func(a, b span) int { return a.from - b.from })
	return out
}

func overlaps(spans []span, s *span) bool {
	for i := range spans {
		if s.from < spans[i].to && spans[i].from < s.to {
			return true
		}
	}
	return false
}

// fit cuts the spans to the length: each may have an equal part of it, and what shorter ones leave.
func (c *chooser) fit(spans []span) {
	rest, long := c.length, len(spans)
	for was := long + 1; long > 0 && long < was; {
		was = long
		limit := rest / long
		for i := range spans {
			if n := spans[i].to - spans[i].from; n <= limit && !spans[i].fits {
				spans[i].fits = true
				rest -= n
				long--
			}
		}
	}
	for i := range spans {
		if !spans[i].fits {
			c.trim(&spans[i], rest/long)
		}
	}
}

// trim cuts a span to a number of bytes, at words, with its first places in it and what stands before them.
func (c *chooser) trim(s *span, limit int) {
	head, tail := c.m.places[s.first].start, c.m.places[s.first].end
	for _, p := range c.m.places[s.first:s.last] {
		if p.end-head <= limit {
			tail = max(tail, p.end)
		}
	}
	from, to := s.from, s.to
	if tail-from > limit {
		before := min(40, max(0, limit-(tail-head))/2)
		from = wordAfter(c.text, max(s.from, head-before), head)
	}
	if to = min(to, from+limit); to < s.to {
		to = wordBefore(c.text, max(from, min(tail, to)), to)
	}
	s.cutFrom, s.cutTo = s.cutFrom || from > s.from, s.cutTo || to < s.to
	s.from, s.to = from, max(from, to) // the text may be no UTF-8
}

// grow adds sentences behind and before a span while they fit, and then a part of the next one if the span is short.
func (c *chooser) grow(s *span) {
	least, most := c.bounds(s.from)
	was := *s
	for !s.cutTo && s.to < most {
		next := s.to
		for next < most && isSpace(c.text[next]) {
			next++
		}
		end := sentenceEnd(c.text, next, min(most, next+2*c.length))
		if next == end || end-s.from > c.length {
			break
		}
		s.to = end
	}
	for !s.cutFrom && s.from > least {
		end := s.from
		for end > least && isSpace(c.text[end-1]) {
			end--
		}
		if end == least {
			break
		}
		from := sentenceStart(c.text, end-1, max(least, end-2*c.length), most)
		if s.to-from > c.length || from >= end {
			break
		}
		s.from = from
	}
	if s.to-s.from < c.length*3/5 && !s.cutTo && strings.TrimSpace(c.text[s.to:most]) != "" {
		to := min(most, s.from+c.length)
		if s.cutTo = to < most; s.cutTo {
			to = max(s.to, wordBefore(c.text, s.to, to)) // the text may be no UTF-8
		}
		s.to = to
	}
	if c.m.find(c.text, s.from, was.from); s.to > was.to {
		c.m.find(c.text, was.to, s.to)
	}
	c.m.sortPlaces()
	c.m.joinPhrases(c.text)
}

// opening returns the beginning of the text, for when nothing in it matches.
func (c *chooser) opening() []span {
	var s span
	c.m.places = c.m.places[:0]
	for s.from < len(c.text) && isSpace(c.text[s.from]) {
		s.from++
	}
	s.to = s.from
	c.grow(&s)
	return []span{s}
}

// write puts the spans and their matches together, with breaks between those that are apart.
func (c *chooser) write(spans []span) (s Snippet) {
	var b strings.Builder
	room := len("… ") + len(" …")
	for i := range spans {
		room += len(" … ") + spans[i].to - spans[i].from
	}
	b.Grow(room)
	for i := range spans {
		p := &spans[i]
		for p.to > p.from && isSpace(c.text[p.to-1]) {
			p.to--
		}
		switch {
		case i > 0 && strings.TrimSpace(c.text[spans[i-1].to:p.from]) == "":
			b.WriteByte(' ')
		case i > 0:
			b.WriteString(" … ")
		case p.cutFrom:
			b.WriteString("… ")
		}
		shift := b.Len() - p.from
		for t := c.text[p.from:p.to]; t != ""; {
			line, rest, more := strings.Cut(t, "\n")
			b.WriteString(line)
			if t = rest; more {
				b.WriteByte(' ')
			}
		}
		for _, at := range c.m.places {
			if at.start < p.from || at.end > p.to {
				continue
			}
			from, to := at.start+shift, at.end+shift
			if n := len(s.Matches); n > 0 && from < s.Matches[n-1][1] {
				s.Matches[n-1][1] = max(s.Matches[n-1][1], to)
				continue
			}
			s.Matches = append(s.Matches, [2]int{from, to})
		}
	}
	if n := len(spans); n > 0 && spans[n-1].cutTo {
		b.WriteString(" …")
	}
	s.Text = b.String()
	return s
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// wordAfter returns the first place from at, at most limit, where a word begins.
func wordAfter(text string, at, limit int) int {
	if at > 0 && !isSpace(text[at-1]) {
		if sp := strings.IndexAny(text[at:limit], " \n"); sp >= 0 {
			return at + sp + 1
		}
		if at < limit && text[limit] < utf8.RuneSelf {
			return limit
		}
	}
	for at < limit && !utf8.RuneStart(text[at]) {
		at++
	}
	return at
}

// wordBefore returns the last place up to at where a word ends, if that is not before limit and not short of half the
// way, else a place between two characters, at most one character before limit.
func wordBefore(text string, limit, at int) int {
	if at < len(text) && isSpace(text[at]) {
		return at
	}
	if sp := strings.LastIndexAny(text[limit:at], " \n"); sp >= 0 {
		return limit + sp
	}
	start := at
	for start > max(0, at-utf8.UTFMax) && start < len(text) && !utf8.RuneStart(text[start]) {
		start--
	}
	if start == at-utf8.UTFMax { // no UTF-8: one place is as good as another
		return at
	}
	return start
}
