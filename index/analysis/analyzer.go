// SPDX-License-Identifier: Apache-2.0

package analysis

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"
)

// Version names the terms that this package makes: an index made with another version must be rebuilt.
const Version = "1"

// MaxTerm is the length of the longest term, in bytes; longer words are cut.
const MaxTerm = 64

// Token is one term of a text.
type Token struct {
	Term       []byte // folded and stemmed; valid until the function that got the Token returns
	Position   int    // in words
	Start, End int    // bytes of the text: from (inclusive) and to (exclusive)
	Single     bool   // a single character of a script without spaces; a pair that begins with it may follow
	Word       *Word  // the Analyzer's cache entry, for the caller's Note; may be nil
}

// Analyzer walks text. The zero value is ready to use. One goroutine at a time may use it.
type Analyzer struct {
	fold  folder
	stems stemmer
	buf   []byte
	emit  func(Token)
	pos   int
}

// Walk calls fn for each term of text, in order, positions beginning at from. It returns the position after the last
// word.
func (a *Analyzer) Walk(text []byte, from int, fn func(Token)) int {
	a.emit, a.pos = fn, from
	a.buf = slices.Grow(a.buf[:0], 2*MaxTerm)
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c >= utf8.RuneSelf:
			i = a.beyondASCII(text, i)
		case asciiWord[c]:
			if end := a.shortWord(text, i); end > 0 {
				i = end
			} else {
				i = a.word(text, i)
			}
		default:
			i++
		}
	}
	a.emit = nil
	return a.pos
}

// asciiWord marks letters and digits. '_' separates words, so that identifiers are found by their parts.
var asciiWord = func() (t [256]bool) {
	for c := range 128 {
		b := byte(c)
		t[c] = 'a' <= b|0x20 && b|0x20 <= 'z' || '0' <= b && b <= '9'
	}
	return t
}()

// word emits a run of ASCII letters and digits, with the signs that end names like C++ and C#, and returns its end. A
// run that continues beyond ASCII is left to UAX #29.
func (a *Analyzer) word(text []byte, start int) int {
	i := start
	for i < len(text) && asciiWord[text[i]] {
		i++
	}
	if i < len(text) && text[i] >= utf8.RuneSelf {
		if r, _ := utf8.DecodeRune(text[i:]); unicode.IsLetter(r) || unicode.IsMark(r) {
			return a.beyondASCII(text, start)
		}
	}
	end := i
	if end-start <= 2 {
		for end < len(text) && (text[end] == '+' || text[end] == '#') && end-i < 2 {
			end++
		}
		if end < len(text) && asciiWord[text[end]] || end-i == 1 && text[i] == '+' {
			end = i // "a+b" is not a name
		}
	}
	a.buf = append(a.buf[:0], text[start:end]...)
	for i, c := range a.buf {
		if 'A' <= c && c <= 'Z' {
			a.buf[i] = c + 'a' - 'A'
		}
	}
	a.term(a.buf, start, end)
	return end
}

// shortWord is word for most words: those of less than 16 bytes, all ASCII. For others it emits nothing and returns 0.
//
// It searches for the end in eight bytes at once, because a branch per byte costs one misprediction per word. It keeps
// the word in registers up to the stemmer: after eight writes of one byte, a processor cannot read them as eight bytes
// until all have reached its cache. Finding a word and its cache entry takes half the time that it took with copying.
// By perf, walking over texts fell from 14.2% to 10.4% of a crawl with index, which is less than the noise of whole
// crawls.
func (a *Analyzer) shortWord(text []byte, start int) int {
	lo, n := asciiLetters(eight(text, start))
	hi := uint64(0)
	if n == 8 {
		hi, n = asciiLetters(eight(text, start+8))
		if n == 8 {
			return 0
		}
		n += 8
	}
	end := start + n
	if end < len(text) {
		if c := text[end]; c >= utf8.RuneSelf || n <= 2 && (c == '+' || c == '#') {
			return 0
		}
	}
	a.emitWord(a.stems.kept(lo, hi, n), start, end)
	return end
}

// eight reads eight bytes of text from i, little-endian, with zeros beyond its end.
func eight(text []byte, i int) (x uint64) {
	if i+8 <= len(text) {
		return binary.LittleEndian.Uint64(text[i:])
	}
	for j := len(text) - 1; j >= i; j-- {
		x = x<<8 | uint64(text[j])
	}
	return x
}

// asciiLetters returns the ASCII letters, in lower case, and digits that x begins with, zeros after them, and their
// number.
func asciiLetters(x uint64) (uint64, int) {
	const each, high = 0x0101010101010101, 0x8080808080808080
	c := x &^ high // so that no sum carries into the next byte; the high bits of the sums are the comparisons
	l := c | 0x20*each
	letter := (l + (0x80-'a')*each) &^ (l + (0x80-'z'-1)*each)
	digit := (c + (0x80-'0')*each) &^ (c + (0x80-'9'-1)*each)
	other := ^(letter|digit)&high | x&high
	n := bits.TrailingZeros64(other) / 8 // 8 if there is none
	return (c | letter&high>>2) & (1<<(8*n) - 1), n
}

// term emits one folded word.
func (a *Analyzer) term(w []byte, start, end int) {
	if len(w) > MaxTerm {
		w = cut(w)
	}
	a.emitWord(a.stems.stem(w), start, end)
}

func (a *Analyzer) emitWord(w *Word, start, end int) {
	a.emit(Token{Term: w.term, Position: a.pos, Start: start, End: end, Word: w})
	a.pos++
}

func cut(w []byte) []byte {
	n := MaxTerm
	for n > 0 && w[n]&0xc0 == 0x80 {
		n--
	}
	return w[:n]
}

// beyondASCII emits the words up to the next ASCII byte that is not a letter or digit, and returns where that is.
func (a *Analyzer) beyondASCII(text []byte, start int) int {
	end := start
	for end < len(text) && (text[end] >= utf8.RuneSelf || asciiWord[text[end]]) {
		end++
	}
	it := words.FromBytes(text[start:end])
	run := -1 // start of a run of characters written without spaces
	for it.Next() {
		w := it.Value()
		at := start + it.Start()
		r, _ := utf8.DecodeRune(w)
		if unspaced(r) {
			if run < 0 {
				run = at
			}
			continue
		}
		if run >= 0 {
			a.pairs(text, run, at)
			run = -1
		}
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) {
			a.buf = a.fold.append(a.buf[:0], w)
			if len(a.buf) > 0 {
				a.term(a.buf, at, at+len(w))
			}
		}
	}
	if run >= 0 {
		a.pairs(text, run, end)
	}
	return end
}

// unspaced reports whether a character belongs to a script written without spaces, or to Hangul, whose words include
// their particles.
func unspaced(r rune) bool {
	if r < 0x0e00 {
		return false
	}
	return r == 'ー' || unicode.In(r,
		unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// pairs emits each character alone and each pair of neighbors.
func (a *Analyzer) pairs(text []byte, start, end int) {
	for i := start; i < end; {
		r, n := utf8.DecodeRune(text[i:end])
		if !unspaced(r) && !unicode.IsMark(r) {
			i += n // punctuation that UAX #29 left inside
			continue
		}
		next := i + n
		a.buf = a.fold.append(a.buf[:0], text[i:next])
		a.emit(Token{Term: a.buf, Position: a.pos, Start: i, End: next, Single: true})
		if r2, n2 := utf8.DecodeRune(text[next:end]); n2 > 0 && unspaced(r2) {
			a.buf = a.fold.append(a.buf[:0], text[i:next+n2])
			a.emit(Token{Term: a.buf, Position: a.pos, Start: i, End: next + n2})
		}
		a.pos++
		i = next
	}
}
