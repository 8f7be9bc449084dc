// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seine-crawler/seine/storage"
)

// parts are what of a text is looked at, as one text with a line between them: a sentence may continue in the next
// part.
type parts struct {
	text   string
	ranges []storage.TextRange // in order, not overlapping, not empty
	length int                 // of the parts and the lines between them
}

// parts returns the parts of a text that are content, all of it if content is empty. Parts that are not within the text
// or not in order are left out, and so is what is beyond the bound of a snippet's text. They are valid until the next
// call.
func (m *marker) parts(text string, content []storage.TextRange) parts {
	p := parts{text: text, ranges: m.ranges[:0]}
	all := [1]storage.TextRange{{To: uint32(min(len(text), snippetText+snippetText/8))}}
	if len(content) == 0 {
		content = all[:]
	}
	last := uint32(0)
	for _, r := range content {
		if r.From < last || r.To <= r.From || int(r.To) > len(text) {
			continue
		}
		last = r.To
		if len(p.ranges) > 0 {
			p.length++
		}
		if left := snippetText - p.length; int(r.To-r.From) > left {
			if left = len(cutText(text[r.From:r.To], left)); left > 0 {
				p.ranges = append(p.ranges, storage.TextRange{From: r.From, To: r.From + uint32(left)})
				p.length += left
			}
			break
		}
		p.ranges = append(p.ranges, r)
		p.length += int(r.To - r.From)
	}
	m.ranges = p.ranges
	return p
}

// slice returns the parts' text from a place to another, without copying if it is within one part.
func (p *parts) slice(from, to int) string {
	var b strings.Builder
	base := 0
	for _, r := range p.ranges {
		n := int(r.To - r.From)
		if from >= base && to <= base+n {
			return p.text[int(r.From)+from-base : int(r.From)+to-base]
		}
		if base > from && base <= to {
			b.WriteByte('\n')
		}
		if lo, hi := max(from, base), min(to, base+n); lo < hi {
			b.Grow(to - lo)
			b.WriteString(p.text[int(r.From)+lo-base : int(r.From)+hi-base])
		}
		base += n + 1
	}
	return b.String()
}

// plain reports whether all of the text is ASCII.
func (p *parts) plain() bool {
	for _, r := range p.ranges {
		if !ascii(p.text[r.From:r.To]) {
			return false
		}
	}
	return true
}

func ascii(s string) bool {
	for len(s) >= 8 {
		if binary.LittleEndian.Uint64([]byte(s[:8]))&0x8080808080808080 != 0 {
			return false
		}
		s = s[8:]
	}
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// choose makes the candidates for a snippet: of what is sighted, else of all that is read. It reports whether there are
// any.
func (c *chooser) choose(p parts, passages int) bool {
	m := c.m
	if p.length > 4*c.length && m.aim(p.text[p.ranges[0].From:p.ranges[len(p.ranges)-1].To]) {
		if c.sight(&p); len(m.places) > 0 {
			if c.excerpt(&p, passages); c.candidates() {
				return true
			}
		} else if m.sought == 1<<len(m.weights)-1 && p.plain() { // then nothing is overlooked
			c.text, c.pieces = "", nil
			return false
		}
	}
	return c.read(p.slice(0, p.length))
}

// sight finds places of the words that weigh most, until they are enough.
func (c *chooser) sight(p *parts) {
	m := c.m
	m.places = m.places[:0]
	base, first := 0, 0 // first: the first place that may be in a window with new ones
	for _, r := range p.ranges {
		text := p.text[r.From:r.To]
		for from := 0; from < len(text); {
			to := min(from+snippetStep, len(text))
			was := len(m.places)
			m.sight(text, from, to, base)
			for first < was && m.places[first].start < base+from-c.length {
				first++
			}
			from = to
			if len(m.places) == maxPlaces || len(m.places) > was && c.trusts(first, base+to) {
				m.sortPlaces()
				return
			}
		}
		base += len(text) + 1
	}
	m.sortPlaces()
}

// trusts reports whether the best window of the places from the first one on is good enough after so much text.
func (c *chooser) trusts(first, read int) bool {
	m := c.m
	sortByStart(m.places[first:])
	missing := false // phrases, which are worth reading on for
	for i := range m.phrases {
		p := &m.phrases[i]
		if p.set&^m.sought != 0 {
			continue
		}
		found := false
		for j := range m.places {
			if m.places[j].word == p.words[0] && (m.places[j].inPhrase || j >= first && m.closely(j, p)) {
				found = true
			}
		}
		missing = missing || !found
	}
	best := c.windows(first)
	if missing {
		return read >= sightTrust
	}
	return best >= c.weight(m.sought)*(1-float64(read)/sightTrust)
}

// closely notes the places of a phrase if it begins at place i, as far as the distances of places tell.
func (m *marker) closely(i int, p *markPhrase) bool {
	var row [maxTerms]int
	row[0] = i
	for k, w := range p.words[1:] {
		last := &m.places[row[k]]
		j := row[k] + 1
		for j < len(m.places) && (m.places[j].word != w || m.places[j].start == last.start) {
			j++
		}
		if j == len(m.places) || m.places[j].start > last.end+3+32*p.slop {
			return false
		}
		row[k+1] = j
	}
	for _, j := range row[:len(p.words)] {
		m.places[j].inPhrase = true
	}
	return true
}

// windows makes candidates of each row of places, from a first one on, that is within the length and cannot have one
// more behind it or before it. It returns the best score.
func (c *chooser) windows(first int) (best float64) {
	m := c.m
	m.spans = m.spans[:0]
	var counts [maxTerms]uint16 // of the places of each word in the row
	words, phrases := uint64(0), 0
	for i, j := first, first; i < len(m.places); i++ {
		was := j
		for ; j < len(m.places) && (j == i || m.places[j].end-m.places[i].start <= c.length); j++ {
			at := &m.places[j]
			counts[at.word]++
			words |= 1 << at.word
			if at.inPhrase {
				phrases++
			}
		}
		if j > was {
			s := span{from: m.places[i].start, to: m.places[j-1].end, first: i, last: j, words: words}
			s.score = c.value(words, phrases > 0, j-i)
			m.spans = append(m.spans, s)
			best = max(best, s.score)
		}
		at := &m.places[i]
		if at.inPhrase {
			phrases--
		}
		if counts[at.word]--; counts[at.word] == 0 {
			words &^= 1 << at.word
		}
	}
	return best
}

// excerpt makes the text of the passages that are worth a closer look, with the places of the query's words in them.
func (c *chooser) excerpt(p *parts, passages int) {
	m := c.m
	c.windows(0)
	chosen := c.pick(passages)
	if others := uint64(1)<<len(m.weights) - 1; others != m.sought { // words that were not sought may decide
		for len(chosen) < passages+sightMore {
			best := -1
			for i := range m.spans {
				if s := &m.spans[i]; !overlaps(chosen, s) && (best < 0 || s.score > m.spans[best].score) {
					best = i
				}
			}
			if best < 0 {
				break
			}
			chosen = append(chosen, m.spans[best])
		}
		slices.SortFunc(chosen, func(a, b span) int { return a.from - b.from })
	}
	c.cut(p, chosen)
}

// nearSlack is how far beyond a range of Hit.Near its words may be: their places are computed, and the last word has a
// length.
const nearSlack = 64

// near makes the candidates of what positions say. It reports whether each range has a word of the query: else the text
// is another one than was indexed.
func (c *chooser) near(p *parts, ranges []storage.TextRange) bool {
	var memory [8]span
	chosen, last := memory[:0], 0
	for _, r := range ranges {
		from, to := max(int(r.From)-nearSlack, last), min(int(r.To)+nearSlack, p.length)
		if int(r.From) < last || r.To < r.From || int(r.To) > p.length || from >= to {
			return false
		}
		chosen = append(chosen, span{from: from, to: to})
		last = to
	}
	return c.cut(p, chosen) && c.candidates()
}

// cut makes the text of some passages, in order, with the places of the query's words in them. It reports whether each
// has some.
func (c *chooser) cut(p *parts, chosen []span) bool {
	m, all := c.m, true
	m.spans, m.places = m.spans[:0], m.places[:0]
	if c.text, c.pieces = "", nil; len(p.ranges) == 1 {
		c.text = p.slice(0, p.length)
	}
	var joined strings.Builder
	pad := c.length + c.length/4 // what a passage with a place at the end of a window needs
	for i := 0; i < len(chosen); {
		first := i
		from, to := max(0, chosen[i].from-pad), min(p.length, chosen[i].to+pad)
		for i++; i < len(chosen) && chosen[i].from-pad <= to; i++ {
			to = min(p.length, chosen[i].to+pad)
		}
		shift := 0
		if c.text == "" || joined.Len() > 0 {
			if joined.Len() > 0 {
				joined.WriteByte(0) // no passage goes on there
			}
			shift = joined.Len() - from
			joined.WriteString(p.slice(from, to))
			c.text = joined.String()
			c.pieces = append(c.pieces, [2]int{from + shift, to + shift})
		}
		for last := -1; first < i; first++ {
			places := len(m.places)
			last = c.look(chosen[first].from+shift, chosen[first].to+shift, last)
			all = all && len(m.places) > places
		}
	}
	return all
}

// look finds the words in the sentences of a window, but not before a place, and returns where they end.
func (c *chooser) look(from, to, least int) int {
	begin, end := c.bounds(from)
	from = max(least, sentenceStart(c.text, from, max(begin, from-c.length), end))
	to = sentenceEnd(c.text, to, min(end, to+c.length))
	c.m.find(c.text, from, to)
	return to
}
