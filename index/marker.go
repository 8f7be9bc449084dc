// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/seine-crawler/seine/index/analysis"
	"github.com/seine-crawler/seine/storage"
)

// marker finds the words of a query in a text. It does not analyze the text: it looks at each pair of bytes in a table
// of the pairs that a word of the query can begin with, and analyzes only the surroundings of what passes. The table
// has no false negatives: it holds every character that folds to a first letter of the query (É for e).
//
// A marker belongs to one goroutine. markers keeps used ones, with their analyzers, whose caches are warm.
type marker struct {
	root    *node // of the query; trees do not change
	forms   []markForm
	weights []float64 // by word of the query
	alone   uint64    // words that occur outside of phrases
	phrases []markPhrase
	idf     map[string]float64 // of terms; nil: all words weigh the same

	byFirst [256][]int16 // forms by their first byte
	pairs   [1024]uint64 // bits by first byte << 8 | second byte, both with bit 5 set, as lower-case ASCII letters have
	firsts  [64]uint64   // bits by the low bits of characters beyond ASCII that a form can begin with

	analyzer analysis.Analyzer
	buf      []byte
	places   []place
	emit     func(*analysis.Token) // place, bound once
	base     int                   // of buf in the text
	spans    []span

	needles []needle // of the words in sought
	sought  uint64   // words, by bit
	rates   [256]uint16
	ranges  []storage.TextRange
}

// markForm is a term, or a prefix of terms, that stands for a word of the query.
type markForm struct {
	term   string
	word   int
	prefix bool
	wide   bool // not all ASCII
}

// markPhrase is a row of words. slop is the number of other words that may stand between two of them.
type markPhrase struct {
	words []int
	set   uint64 // the words, by bit
	slop  int
}

// place is an occurrence of a word of the query, in bytes of the text.
type place struct {
	start, end int
	word       int
	inPhrase   bool
}

func sortByStart(places []place) {
	byStart := func(a, b place) int { return cmp.Compare(a.start, b.start) }
	if !slices.IsSortedFunc(places, byStart) {
		slices.SortStableFunc(places, byStart)
	}
}

// sortPlaces puts the places in order, and leaves out what was found twice.
func (m *marker) sortPlaces() {
	sortByStart(m.places)
	m.places = slices.CompactFunc(m.places, func(a, b place) bool {
		return a.start == b.start && a.end == b.end && a.word == b.word
	})
}

// maxPlaces bounds the occurrences that a snippet is chosen from: the first of a text.
const maxPlaces = 512

var markers = sync.Pool{New: func() any {
	m := &marker{}
	m.emit = m.token
	return m
}}

// newMarker returns a marker of a query, for release after use.
func newMarker(q Query) *marker {
	m := markers.Get().(*marker)
	root := cmp.Or(q.found, q.root)
	if root != nil && m.root == root { // the hit before was of the same search
		return m
	}
	m.forget()
	if m.root, m.idf = root, q.idf; root != nil {
		m.tree(root)
	}
	m.prepare()
	return m
}

// release keeps the marker, with its tables, for the next hit.
func (m *marker) release() {
	m.places, m.spans = m.places[:0], m.spans[:0]
	markers.Put(m)
}

// forget empties the tables of a query.
func (m *marker) forget() {
	for i := range m.forms {
		m.byFirst[m.forms[i].term[0]] = m.byFirst[m.forms[i].term[0]][:0]
	}
	clear(m.pairs[:])
	clear(m.firsts[:])
	m.forms, m.weights, m.phrases, m.alone = m.forms[:0], m.weights[:0], m.phrases[:0], 0
}

// word returns the word that a form stands for: the word of the same form if there is one, else into, else, with into
// below 0, a new word. It returns -1 for a form that no text has.
func (m *marker) word(term string, prefix bool, into int) int {
	if term == "" {
		return -1
	}
	for i := range m.forms {
		if f := &m.forms[i]; f.term == term && f.prefix == prefix {
			return f.word
		}
	}
	if into < 0 {
		into = min(len(m.weights), maxTerms-1) // one bit for each word
		if into == len(m.weights) {
			m.weights = append(m.weights, 0)
		}
	}
	weight := 1.0
	if w, ok := m.idf[term]; ok {
		weight = max(w, 0.01)
	}
	m.weights[into] = max(m.weights[into], weight)
	m.forms = append(m.forms, markForm{term, into, prefix, beyondASCII(term)})
	return into
}

// prepare makes the tables of the forms.
func (m *marker) prepare() {
	for i := range m.forms {
		term := m.forms[i].term
		m.byFirst[term[0]] = append(m.byFirst[term[0]], int16(i))
		r, n := utf8.DecodeRuneInString(term)
		switch {
		case r >= utf8.RuneSelf:
			m.first(r)
			if 0xac00 <= r && r <= 0xd7a3 { // a syllable of Hangul may be written as its letters, or without the last
				m.first(0x1100 + (r-0xac00)/588)
				m.first(r - (r-0xac00)%28)
			}
			if 0x3041 <= r && r <= 0x30fa { // a mark of its own may make the character of one of the two before it
				for _, base := range []rune{r - 1, r - 2} {
					m.first(base)
					for _, v := range foldedFrom()[base] {
						m.first(v)
					}
				}
			}
		case len(term) > n && term[n] < utf8.RuneSelf:
			m.pair(term[0], term[n])
			for c := 0xe0; c <= 0xff; c++ { // a letter that folds to the second one, or a combining mark
				m.pair(term[0], byte(c))
			}
		default:
			for c := range 256 {
				m.pair(term[0], byte(c))
			}
		}
		for _, v := range foldedFrom()[r] {
			m.first(v)
		}
	}
}

// first adds a character beyond ASCII that a form can begin with.
func (m *marker) first(r rune) {
	var b [utf8.UTFMax]byte
	utf8.EncodeRune(b[:], r)
	m.pair(b[0], b[1])
	m.firsts[r>>6&63] |= 1 << (r & 63)
}

func (m *marker) pair(first, second byte) {
	w := uint(first|0x20)<<8 | uint(second|0x20)
	m.pairs[w>>6] |= 1 << (w & 63)
}

// foldBlocks are where characters are that fold to others, but for capitals and digits of further scripts.
var foldBlocks = [][2]rune{
	{0x80, 0x58f},      // Latin, Greek, Cyrillic, Armenian
	{0x600, 0x6ff},     // Arabic, such as the letters that carry a hamza
	{0x900, 0x10ff},    // scripts of India to Georgia
	{0x1b00, 0x1b4f},   // Bali
	{0x1d00, 0x218f},   // more Latin and Greek, letters above the line, fractions, Roman numbers
	{0x2460, 0x24ff},   // letters and numbers in circles
	{0x2c60, 0x2fdf},   // more Latin, radicals
	{0x3030, 0x33ff},   // letters of Hangul, abbreviations in one character
	{0xa640, 0xa7ff},   // more Cyrillic and Latin
	{0xab30, 0xab6f},   // Latin of dialects
	{0xf900, 0xffef},   // Han twice, ligatures, the shapes of Arabic letters, wide and narrow forms
	{0x10780, 0x107bf}, // letters above the line
	{0x11080, 0x1195f}, // further scripts of India
	{0x1d100, 0x1d7ff}, // notes, mathematical letters
	{0x1e030, 0x1e08f}, // Cyrillic above the line
	{0x1ee00, 0x1eeff}, // mathematical letters of Arabic
	{0x1f100, 0x1f2ff}, // letters and Han in frames
	{0x2f800, 0x2fa1f}, // Han twice
}

// foldedFrom returns the characters beyond ASCII that fold to something else, by the first character of that.
var foldedFrom = sync.OnceValue(func() map[rune][]rune {
	from := map[rune][]rune{}
	add := func(first, r rune) { from[first] = append(from[first], r) }
	eachOf(unicode.Lu, func(r, _ rune) { add(unicode.ToLower(r), r) })
	eachOf(unicode.Nd, func(r, first rune) { add('0'+(r-first)%10, r) }) // which come in rows of ten
	var a analysis.Analyzer
	folded := func(text string) (first rune) {
		a.Walk([]byte(text), 0, func(t *analysis.Token) {
			if first == 0 {
				first, _ = utf8.DecodeRune(t.Term)
			}
		})
		return first
	}
	for r := rune(0x400); r < 0x530; r++ { // in Cyrillic, a letter and a mark may be another letter: й
		alone := folded(string(r))
		for mark := rune(0x300); mark < 0x310; mark++ {
			if first := folded(string([]rune{r, mark})); first != alone {
				add(first, r)
			}
		}
	}
	for _, block := range foldBlocks {
		for r := block[0]; r <= block[1]; r++ {
			a.Walk([]byte(string(r)), 0, func(t *analysis.Token) {
				if first, _ := utf8.DecodeRune(t.Term); first != r {
					add(first, r)
				}
			})
		}
	}
	return from
})

// eachOf calls fn with each character of a table beyond ASCII, and the first one of its row.
func eachOf(table *unicode.RangeTable, fn func(r, first rune)) {
	for _, row := range table.R16 {
		for r := rune(row.Lo); r <= rune(row.Hi); r += rune(row.Stride) {
			if r >= utf8.RuneSelf {
				fn(r, rune(row.Lo))
			}
		}
	}
	for _, row := range table.R32 {
		for r := rune(row.Lo); r <= rune(row.Hi); r += rune(row.Stride) {
			fn(r, rune(row.Lo))
		}
	}
}

// find adds the places of the query's words in text[from:to].
func (m *marker) find(text string, from, to int) {
	if len(m.forms) == 0 {
		return
	}
	for i := from; i < to && len(m.places) < maxPlaces; {
		if i = m.candidate(text[:to], i); i >= to {
			return
		}
		i = m.around(text, i, from, to)
	}
}

// candidate returns the first place from i where a word of the query can begin, len(text) if there is none.
func (m *marker) candidate(text string, i int) int {
	if i >= len(text) {
		return len(text)
	}
	pairs := &m.pairs
	pair := uint16(text[i] | 0x20)
	for ; i+1 < len(text); i++ {
		pair = pair<<8 | uint16(text[i+1]|0x20)
		if pairs[pair>>6]>>(pair&63)&1 != 0 && m.begins(text, i) {
			return i
		}
	}
	if i < len(text) && m.begins(text, i) {
		return i
	}
	return len(text)
}

// begins looks closer: a word must begin at i, or a part of one at a capital (setDefault), with the letters of a form.
// The last letter of the form is left out: what it is, the analyzer says.
func (m *marker) begins(text string, i int) bool {
	c := text[i]
	if c >= utf8.RuneSelf {
		return m.beginsWide(text[i:])
	}
	if i > 0 && asciiWord(text[i-1]) && (c < 'A' || c > 'Z') {
		return false
	}
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
next:
	for _, f := range m.byFirst[c] {
		term := m.forms[f].term
		same := len(term) - 1
		if last := term[same]; same < 3 && last != 'e' && last != 'i' {
			same++
		}
		for j := 1; j < same; j++ {
			if i+j >= len(text) {
				continue next
			}
			switch t := text[i+j]; {
			case t >= utf8.RuneSelf || term[j] >= utf8.RuneSelf:
				return true
			case t != term[j] && (t|0x20 != term[j] || t < 'A' || t > 'Z'):
				continue next
			}
		}
		return true
	}
	return false
}

// beginsWide is begins for a text that begins beyond ASCII. Of two characters of Chinese or Japanese, which nothing
// folds, a form must have both.
func (m *marker) beginsWide(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	if r == utf8.RuneError || m.firsts[r>>6&63]>>(r&63)&1 == 0 {
		return false
	}
	n, size := pairAt(text)
	if n == 0 {
		if n = aloneAt(text); n == 0 {
			return true
		}
	}
	for _, f := range m.byFirst[text[0]] {
		term := m.forms[f].term
		if term[:min(n, len(term))] != text[:n] {
			continue
		}
		if len(term) == n || size > 0 && strings.HasPrefix(term[n:], text[n:n+size]) {
			return true
		}
	}
	return false
}

// unfolded reports whether a character is one of Chinese or Japanese that stands for itself in terms.
func unfolded(r rune) bool {
	return 0x3041 <= r && r <= 0x3096 || 0x30a1 <= r && r <= 0x30fa || r == 'ー' || 0x4e00 <= r && r <= 0x9fff
}

func asciiWord(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
}

// around analyzes the text round place i, as far as white space, and returns where that ends.
func (m *marker) around(text string, i, from, to int) int {
	const reach = 96
	if end := m.plainWord(text, i, from, to); end > 0 {
		return end
	}
	if end := m.plainPair(text[:to], i); end > 0 {
		return end
	}
	start := i
	for least := max(from, i-reach); start > least && !isSpace(text[start-1]); {
		start--
	}
	if start > from && !isSpace(text[start-1]) {
		for start < i && (!utf8.RuneStart(text[start]) || asciiWord(text[start-1])) {
			start++
		}
		if asciiWord(text[start-1]) && asciiWord(text[start]) { // inside of a word that is too long to have parts
			return i + 1
		}
	}
	end := i
	for most := min(to, i+reach); end < most && !isSpace(text[end]); {
		end++
	}
	for end < to && (!utf8.RuneStart(text[end]) ||
		asciiWord(text[end]) && (asciiWord(text[end-1]) || text[end-1] >= utf8.RuneSelf)) {
		end++
	}
	m.buf = append(m.buf[:0], text[start:end]...)
	m.base = start
	m.analyzer.Walk(m.buf, 0, m.emit)
	if end < to && text[end] >= utf8.RuneSelf { // the last character may make a word with the next one
		_, n := utf8.DecodeLastRuneInString(text[start:end])
		end -= n
	}
	return max(end, i+1)
}

// plainWord adds the word at place i if it needs no analyzer: ASCII letters between white space, or before marks that
// end a clause. Most words are such. It returns where that ends, 0 if the analyzer is needed.
func (m *marker) plainWord(text string, i, from, to int) int {
	if i > from && !isSpace(text[i-1]) {
		return 0
	}
	var word [24]byte
	n := 0
	for i+n < to && 'a' <= text[i+n]|0x20 && text[i+n]|0x20 <= 'z' {
		if n == len(word) || n > 0 && text[i+n] < 'a' {
			return 0 // long, or with capitals inside
		}
		word[n] = text[i+n] | 0x20
		n++
	}
	end := i + n
	for end < to && (text[end] == ',' || text[end] == '.' || text[end] == ';' || text[end] == ':') {
		end++
	}
	if n < 2 || end < to && !isSpace(text[end]) {
		return 0
	}
	m.base = i
	m.token(&analysis.Token{Term: word[:n], End: n})
	return end
}

// plainPair adds the words of two characters of Chinese or Japanese that nothing folds, or of the last one in a row of
// them, and returns where the next one begins; 0 if the analyzer is needed.
func (m *marker) plainPair(text string, i int) int {
	n, size := pairAt(text[i:])
	if n == 0 {
		if n = aloneAt(text[i:]); n == 0 {
			return 0
		}
	}
	var word [2 * utf8.UTFMax]byte
	copy(word[:], text[i:i+n+size])
	m.base = i
	m.token(&analysis.Token{Term: word[:n], End: n})
	if size > 0 {
		m.token(&analysis.Token{Term: word[:n+size], End: n + size})
	}
	return i + n
}

// aloneAt returns the length of the character that a text begins with if it is one of Chinese or Japanese, nothing
// folds it, and it makes no pair with what follows; else 0.
func aloneAt(text string) int {
	r, n := utf8.DecodeRuneInString(text)
	if !unfolded(r) {
		return 0
	}
	if n == len(text) {
		return n
	}
	switch r, _ := utf8.DecodeRuneInString(text[n:]); {
	case r == utf8.RuneError:
		return 0
	case r < utf8.RuneSelf, 0x3000 <= r && r <= 0x3003, 0x3008 <= r && r <= 0x3020, 0xff01 <= r && r <= 0xff60:
		return n
	}
	return 0
}

// pairAt returns the lengths of the two characters that a text begins with if both are of Chinese or Japanese and
// nothing folds them, else 0.
func pairAt(text string) (first, second int) {
	r, first := utf8.DecodeRuneInString(text)
	if !unfolded(r) {
		return 0, 0
	}
	r, second = utf8.DecodeRuneInString(text[first:])
	if !unfolded(r) || first+second < len(text) && !plainNext(text[first+second:]) {
		return 0, 0
	}
	return first, second
}

// plainNext reports whether a text does not begin with what changes the character before it.
func plainNext(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	switch {
	case r == utf8.RuneError:
		return false
	case r < utf8.RuneSelf, unfolded(r), 0x3000 <= r && r <= 0x3020:
		return true
	}
	return 0xff01 <= r && r <= 0xff60 // wide signs, letters and digits
}

// token adds a term of the text if it is one of the query. Terms that were seen from the place before are left out.
func (m *marker) token(t *analysis.Token) {
	if len(t.Term) == 0 || len(m.places) >= maxPlaces {
		return
	}
	for _, i := range m.byFirst[t.Term[0]] {
		f := &m.forms[i]
		if f.prefix && bytes.HasPrefix(t.Term, []byte(f.term)) || !f.prefix && string(t.Term) == f.term {
			p := place{start: m.base + t.Start, end: m.base + t.End, word: f.word}
			for j := len(m.places) - 1; j >= 0 && m.places[j].start >= p.start; j-- {
				if m.places[j] == p {
					return
				}
			}
			m.places = append(m.places, p)
			return
		}
	}
}

// joinPhrases marks the places that are in a phrase of the query. Where a text has a phrase, its words elsewhere are
// no places unless the query also has them alone.
func (m *marker) joinPhrases(text string) {
	var whole uint64 // words of phrases that the text has
	for _, p := range m.phrases {
		for i := range m.places {
			if m.places[i].word != p.words[0] || !m.follow(text, i, &p) {
				continue
			}
			for _, w := range p.words {
				whole |= 1 << w
			}
		}
	}
	if whole &^= m.alone; whole == 0 {
		return
	}
	kept := m.places[:0]
	for _, p := range m.places {
		if p.inPhrase || whole>>p.word&1 == 0 {
			kept = append(kept, p)
		}
	}
	m.places = kept
}

// follow reports whether a phrase begins at place i, and notes its places.
func (m *marker) follow(text string, i int, p *markPhrase) bool {
	var row [maxTerms]int
	row[0] = i
	for k := 1; k < len(p.words); k++ {
		last := &m.places[row[k-1]]
		j := row[k-1] + 1
		for ; j < len(m.places); j++ {
			at := &m.places[j]
			if at.start > last.start && at.word == p.words[k] && wordsBetween(text, last.end, at.start) <= p.slop {
				break
			}
			if at.start > last.end+16+32*p.slop {
				j = len(m.places)
			}
		}
		if j >= len(m.places) {
			return false
		}
		row[k] = j
	}
	for _, j := range row[:len(p.words)] {
		m.places[j].inPhrase = true
	}
	return true
}

// wordsBetween counts the words between two places. Places of characters without spaces overlap.
func wordsBetween(text string, from, to int) (n int) {
	in := false
	for i := from; i < to; i++ {
		word := asciiWord(text[i]) || text[i] >= utf8.RuneSelf && wideWord(text[i:to])
		if word && !in {
			n++
		}
		in = word || in && !utf8.RuneStart(text[i])
	}
	return n
}

// wideWord reports whether a text begins with a letter or digit beyond ASCII.
func wideWord(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}
