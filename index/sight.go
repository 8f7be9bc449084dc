// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/seine-crawler/seine/index/analysis"
)

// Sighting says where in a long text a passage may be, before anything is analyzed. Of the query's words the heaviest
// few are looked for, and of each only what its forms begin with. The rarest byte of that is found as fast as a
// processor reads memory, by strings.IndexByte; the letters round it decide. What is sighted may be a little wrong:
// words are folded by a table of Latin letters, and a letter whose place an accented one took is no rarest byte. So the
// marker analyzes the passages that are chosen, and all of the text where nothing was sighted.

const (
	// sightWords is the number of words that are looked for, sightNeedles of beginnings that the forms of one have.
	sightWords   = 6
	sightNeedles = 4
	// sightMore is the number of further passages that are looked at, where a word that is not looked for may decide.
	sightMore = 3
	// sightShare is the part of the heaviest word's weight that a word must have to be looked for.
	sightShare = 0.2
	// sightTrust is the length of text after which any passage is good enough. Before it, a passage must have the more
	// of the weight of all words the less was read.
	sightTrust = 64 << 10
)

// needle is what forms of a word begin with.
type needle struct {
	letters string
	word    int
	at      int     // of the byte to look for, in letters
	bytes   [2]byte // that byte, and it as a capital; the same if it has none
	wide    bool    // not all ASCII: compared as bytes, then folded
}

// aim chooses the words to look for in a text like the sample. It reports whether all of them can be.
func (m *marker) aim(sample string) bool {
	var order [maxTerms]int
	words := order[:len(m.weights)]
	heaviest := 0.0
	for w := range words {
		words[w] = w
		heaviest = max(heaviest, m.weights[w])
	}
	longest := func(w int) (n int) {
		for _, f := range m.forms {
			if f.word == w {
				n = max(n, len(f.term))
			}
		}
		return n
	}
	slices.SortFunc(words, func(a, b int) int {
		return cmp.Or(cmp.Compare(m.weights[b], m.weights[a]), cmp.Compare(longest(b), longest(a)), cmp.Compare(a, b))
	})
	m.needles, m.sought = m.needles[:0], 0
	clear(m.rates[:])
	for i, step := 0, len(sample)/512+1; i < len(sample); i += step {
		m.rates[sample[i]]++
	}
	for _, w := range words[:min(len(words), sightWords)] {
		if m.weights[w] < sightShare*heaviest {
			break
		}
		if m.sought |= 1 << w; !m.needlesOf(w) {
			return false
		}
	}
	return len(m.needles) > 0
}

// needlesOf adds the needles of a word: the beginning that all its forms have, or those of groups of them.
func (m *marker) needlesOf(word int) bool {
	first := len(m.needles)
	for _, f := range m.forms {
		if f.word != word {
			continue
		}
		joined := false
		for i := first; i < len(m.needles) && !joined; i++ {
			n := &m.needles[i]
			same := commonLetters(n.letters, f.term)
			if joined = same == len(n.letters) || same >= 3; joined {
				n.letters = n.letters[:same]
			}
		}
		if !joined {
			m.needles = append(m.needles, needle{letters: f.term, word: word})
		}
	}
	for i := first; i < len(m.needles); i++ {
		m.anchor(&m.needles[i])
	}
	return len(m.needles)-first <= sightNeedles
}

// commonLetters returns the length of what two terms begin with, in whole characters.
func commonLetters(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	return n
}

// anchorCost weighs letters by how often texts have an accented one instead.
var anchorCost = func() (t [256]float32) {
	for i := range t {
		t[i] = 1
	}
	for _, c := range "aeiouy" {
		t[c] = 8
	}
	for _, c := range "cnsz" {
		t[c] = 1.5
	}
	return t
}()

// anchor chooses the byte of a needle to look for: the rarest in the sample. Bytes that begin characters beyond ASCII
// are common, and the first letter of a word may be a capital.
func (m *marker) anchor(n *needle) {
	n.wide = beyondASCII(n.letters)
	_, first := utf8.DecodeRuneInString(n.letters)
	best := float32(math.MaxFloat32)
	for i := range len(n.letters) {
		c := n.letters[i]
		if c >= utf8.RuneSelf && (utf8.RuneStart(c) || i < first && first < 3 && first < len(n.letters)) {
			continue
		}
		if cost := (float32(m.rates[c]) + 0.5) * anchorCost[c]; cost < best {
			best, n.at = cost, i
		}
	}
	c := n.letters[n.at]
	n.bytes = [2]byte{c, c}
	if 'a' <= c && c <= 'z' {
		n.bytes[1] = c - 'a' + 'A'
	}
}

// sight adds the places of the words that aim chose which have their rarest byte in text[from:to], word by word. base
// is where the text begins among the places.
func (m *marker) sight(text string, from, to, base int) {
	for i := range m.needles {
		n := &m.needles[i]
		for side, c := range n.bytes {
			if side > 0 && c == n.bytes[0] {
				break
			}
			for at := from; len(m.places) < maxPlaces; at++ {
				j := strings.IndexByte(text[at:to], c)
				if j < 0 {
					break
				}
				if at += j; n.beside(text, at) {
					m.sighted(n, text, at, base)
				}
			}
		}
	}
}

func beyondASCII(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// beside compares the neighbors of the byte that was found, to tell most of them apart from words at once.
func (n *needle) beside(text string, at int) bool {
	if i := n.at - 1; i >= 0 && (at == 0 || !alike(text[at-1], n.letters[i])) {
		return false
	}
	if i := n.at + 1; i < len(n.letters) && (at+1 == len(text) || !alike(text[at+1], n.letters[i])) {
		return false
	}
	return true
}

// alike reports whether a byte of a text may be a byte of a term, which is folded.
func alike(c, folded byte) bool {
	return c == folded || c >= utf8.RuneSelf || c|0x20 == folded && 'A' <= c && c <= 'Z'
}

// sighted adds the place whose rarest byte is text[at], if a form of the needle's word stands there.
func (m *marker) sighted(n *needle, text string, at, base int) {
	start := at - n.at
	if !n.wide {
		start = lettersBefore(text, at, n.letters[:n.at])
	}
	if start < 0 || !wordBegins(text, start) {
		return
	}
	for i := range m.forms {
		f := &m.forms[i]
		if f.word != n.word || !strings.HasPrefix(f.term, n.letters) {
			continue
		}
		if end := formAt(text, start, f); end > 0 && (f.prefix || wordEnds(text, end)) {
			m.places = append(m.places, place{start: base + start, end: base + end, word: f.word})
			return
		}
	}
}

// lettersBefore returns where letters begin that end at text[at], -1 if others do.
func lettersBefore(text string, at int, letters string) int {
	for letters != "" {
		if at == 0 {
			return -1
		}
		if c := text[at-1]; c < utf8.RuneSelf {
			if c != letters[len(letters)-1] && (c|0x20 != letters[len(letters)-1] || c < 'A' || c > 'Z') {
				return -1
			}
			at--
			letters = letters[:len(letters)-1]
			continue
		}
		r, n := utf8.DecodeLastRuneInString(text[:at])
		folded, ok := latin(r)
		if !ok || !strings.HasSuffix(letters, folded) {
			return -1
		}
		at -= n
		letters = letters[:len(letters)-len(folded)]
	}
	return at
}

// formAt returns the end of a form that stands at text[at:], 0 if it does not.
func formAt(text string, at int, f *markForm) int {
	form := f.term
	if f.wide {
		end := at + len(form)
		if end <= len(text) && (text[at:end] == form || text[at] < 0xe0 && folds(text[at:end], form)) {
			return end
		}
		return 0
	}
	for form != "" {
		if at >= len(text) {
			return 0
		}
		c := text[at]
		if c < utf8.RuneSelf {
			if c != form[0] && (c|0x20 != form[0] || c < 'A' || c > 'Z') {
				return 0
			}
			at++
			form = form[1:]
			continue
		}
		r, n := utf8.DecodeRuneInString(text[at:])
		folded, ok := latin(r)
		if !ok || !strings.HasPrefix(form, folded) {
			return 0
		}
		at += n
		form = form[len(folded):]
	}
	return at
}

// folds reports whether a text folds to a term.
func folds(text, term string) bool {
	var from, into [2 * analysis.MaxTerm]byte
	return len(text) <= len(from) && string(analysis.Fold(into[:0], append(from[:0], text...))) == term
}

// wordBegins reports whether a word, or the part of one at a capital, can begin at text[at]. Scripts without spaces
// have no limits of words.
func wordBegins(text string, at int) bool {
	if at == 0 {
		return true
	}
	if c := text[at-1]; c < utf8.RuneSelf {
		return !asciiWord(c) || 'A' <= text[at] && text[at] <= 'Z' || text[at] >= 0xe0
	}
	return text[at] >= 0xe0 || !spacedWord(utf8.DecodeLastRuneInString(text[:at]))
}

// wordEnds reports whether a word, or the part of one before a capital, can end at text[at].
func wordEnds(text string, at int) bool {
	if at == len(text) {
		return true
	}
	c, beyond := text[at], text[at-1] >= utf8.RuneSelf
	if beyond && !spacedWord(utf8.DecodeLastRuneInString(text[:at])) || !beyond && !asciiWord(text[at-1]) {
		return true
	}
	if c >= utf8.RuneSelf {
		return beyond && c >= 0xe0 || !spacedWord(utf8.DecodeRuneInString(text[at:]))
	}
	if !asciiWord(c) {
		return true
	}
	if beyond {
		return false
	}
	capital := 'A' <= c && c <= 'Z'
	return capital && (text[at-1] < 'A' || text[at-1] > 'Z' || at+1 < len(text) && text[at+1] >= 'a')
}

// spacedWord reports whether a character continues a word of a script with spaces. Its length is not used.
func spacedWord(r rune, _ int) bool {
	return r < 0x0e00 && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

const latinEnd = 0x250

// latinLetters are the ASCII letters that Latin letters with accents fold to.
var latinLetters = sync.OnceValue(func() *[latinEnd]string {
	t := &[latinEnd]string{}
	for r := rune(0xc0); r < latinEnd; r++ {
		t[r] = string(analysis.Fold(nil, []byte(string(r))))
	}
	return t
})

// latin returns what a Latin letter or an accent of its own folds to.
func latin(r rune) (letters string, ok bool) {
	if 0x300 <= r && r < 0x370 {
		return "", true
	}
	if r < 0xc0 || r >= latinEnd {
		return "", false
	}
	letters = latinLetters()[r]
	return letters, letters != "" && letters[0] < utf8.RuneSelf
}
