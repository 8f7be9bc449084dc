// SPDX-License-Identifier: Apache-2.0

package analysis

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// Version names the terms that this package makes: an index made with another version must be rebuilt.
const Version = "3"

// MaxTerm is the length of the longest term, in bytes; longer words are cut.
const MaxTerm = 64

// Kind says what a token is in its text. Queries need it: a name is one term or the phrase of its parts, and of a run
// of characters without spaces the pairs make the query and a single only what is in no pair.
type Kind uint8

// The kinds of tokens. Of several tokens at one position the one that spans most comes first, except that a pair
// follows the single that it begins with.
const (
	KindWord   Kind = iota // a word
	KindWhole              // a name of several parts (pg_hba.conf, setDefault), at the position of its first part
	KindPart               // a part of the name before it
	KindSingle             // a character of a script without spaces, or of Hangul
	KindPair               // such a character and the next, at the position of the first
	KindPiece              // a word inside the compound word before it (German), at its position
)

// Token is one term of a text.
type Token struct {
	Term       []byte // folded; valid until the function that got the Token returns
	Position   int    // in words
	Start, End int    // bytes of the text: from (inclusive) and to (exclusive)
	Kind       Kind
	Single     bool // KindSingle
	Word       Word // the Term, if it is short
}

// Word is a term of at most WordMax bytes in two machine words, as which it is compared and hashed fastest:
// little-endian, with zeros after it, which no term contains. Of a longer term it is zero.
type Word struct{ Low, High uint64 }

// WordMax is the length of the longest term that is a Word, in bytes. One percent of words are longer.
const WordMax = 16

// wordOf returns the Word of a term.
func wordOf(term []byte) Word {
	if len(term) > WordMax {
		return Word{}
	}
	return Word{eight(term, 0), eight(term, 8)}
}

// AppendTo appends the term's bytes.
func (w Word) AppendTo(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, w.Low)
	if w.High == 0 {
		return dst[:len(dst)-bits.LeadingZeros64(w.Low)/8]
	}
	dst = binary.LittleEndian.AppendUint64(dst, w.High)
	return dst[:len(dst)-bits.LeadingZeros64(w.High)/8]
}

// Analyzer walks text. The zero value is ready to use; its fields may change between walks. One goroutine at a time may
// use it.
type Analyzer struct {
	Language Language // of the text: compounds are cut in German only
	Parts    bool     // names with signs have their parts only, no KindWhole: what is told apart by signs is left out

	buf   []byte        // the word under construction
	short [WordMax]byte // the short word that is emitted
	emit  func(*Token)
	out   Token // that emit gets
	pos   int

	wordStart, wordEnd int // of buf, beyond ASCII

	units           []byte // the last two characters without spaces: before, current
	before, current unit

	parts [][2]int // of a name: from, to
	humps []int

	pieces []piece // of a compound

	wide wideText
}

// Walk calls fn for each term of text, in order, positions beginning at from. It returns the position after the last
// word. The Token is the same one at each call, and valid until fn returns. (Passed by value, it cost 13 ns a word, a
// seventh of indexing: it is written in eight bytes and copied in sixteen, which a processor cannot read back before
// both halves have reached its cache.)
func (a *Analyzer) Walk(text []byte, from int, fn func(*Token)) int {
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
				i = a.name(text, i, 0)
			}
		case c == '.' && leads(text, i):
			i = a.name(text, i+1, 1)
		default:
			i++
		}
	}
	a.emit = nil
	return a.pos
}

// leads reports whether the dot at i begins a name: .NET, .bashrc.
func leads(text []byte, i int) bool {
	if i+1 == len(text) {
		return false
	}
	c := text[i+1]
	if c >= utf8.RuneSelf {
		c = narrow(text, i+1)
	}
	if c|0x20 < 'a' || c|0x20 > 'z' {
		return false
	}
	if i == 0 {
		return true
	}
	switch charBefore(text, i) {
	case ' ', '\n', '\t', '(', '[', '"', '\'', '`', '/', '=':
		return true
	}
	return false
}

// asciiWord marks letters and digits. '_' separates words, so that identifiers are found by their parts.
var asciiWord = func() (t [256]bool) {
	for c := range 128 {
		b := byte(c)
		t[c] = 'a' <= b|0x20 && b|0x20 <= 'z' || '0' <= b && b <= '9'
	}
	return t
}()

// breaksAt reports whether the character at i, beyond ASCII, ends the word before it.
func breaksAt(text []byte, i int) bool {
	r, _ := utf8.DecodeRune(text[i:])
	return r == utf8.RuneError || pageOf(r).glyphs[r&0xff].kind == glyphBreak
}

// shortWord is name for most words: those of less than 16 bytes, all ASCII, that are no names. For others it emits
// nothing and returns 0.
//
// It searches for the end in eight bytes at once, because a branch per byte costs one misprediction per word. It keeps
// the word in registers: after eight writes of one byte, a processor cannot read them as eight bytes until all have
// reached its cache.
func (a *Analyzer) shortWord(text []byte, start int) int {
	lo, n, capitals := asciiLetters(eight(text, start))
	capitals &^= 0xff // the first letter may be one
	hi := uint64(0)
	if n == 8 {
		var more uint64
		hi, n, more = asciiLetters(eight(text, start+8))
		if n == 8 {
			return 0
		}
		n += 8
		capitals |= more
	}
	end := start + n
	if capitals != 0 {
		return 0
	}
	if end < len(text) {
		switch c := text[end]; {
		case c >= utf8.RuneSelf && (wideAt(text, end) || !breaksAt(text, end)), n <= 2 && (c == '+' || c == '#'):
			return 0
		case joins[c] && end+1 < len(text) && text[end+1] > ' ' && // most such signs end a sentence
			(joined(text, end) > 0 || c == '+' || wideBehind(text, end)):
			return 0
		}
	}
	a.emitShort(Word{lo, hi}, n, start, KindWord)
	a.pos++
	return end
}

// emitShort emits a word of n bytes.
func (a *Analyzer) emitShort(w Word, n, start int, kind Kind) {
	binary.LittleEndian.PutUint64(a.short[:8], w.Low)
	binary.LittleEndian.PutUint64(a.short[8:], w.High)
	term := a.short[:n]
	a.give(term, w, a.pos, start, start+n, kind)
	if n >= minCompound && a.Language == German && kind == KindWord {
		a.emitPieces(term, start, start+n)
	}
}

// give passes a term to the caller of Walk.
func (a *Analyzer) give(term []byte, w Word, position, start, end int, kind Kind) {
	t := &a.out
	t.Term, t.Position, t.Start, t.End = term, position, start, end
	t.Kind, t.Single, t.Word = kind, kind == KindSingle, w
	a.emit(t)
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

// asciiLetters returns the ASCII letters, in lower case, and digits that x begins with, zeros after them, their number,
// and a bit for each of them that is a capital.
func asciiLetters(x uint64) (lower uint64, n int, capitals uint64) {
	const each, high = 0x0101010101010101, 0x8080808080808080
	c := x &^ high // so that no sum carries into the next byte; the high bits of the sums are the comparisons
	l := c | 0x20*each
	letter := (l + (0x80-'a')*each) &^ (l + (0x80-'z'-1)*each)
	digit := (c + (0x80-'0')*each) &^ (c + (0x80-'9'-1)*each)
	other := ^(letter|digit)&high | x&high
	n = bits.TrailingZeros64(other) / 8 // 8 if there is none
	word := uint64(1)<<(8*n) - 1
	return (c | letter&high>>2) & word, n, letter &^ (x << 2) & high & word
}

// term emits one folded word.
func (a *Analyzer) term(w []byte, start, end int) {
	w = cut(w)
	a.give(w, wordOf(w), a.pos, start, end, KindWord)
	if len(w) >= minCompound && a.Language == German {
		a.emitPieces(w, start, end)
	}
	a.pos++
}

// cut returns what of a word is a term.
func cut(w []byte) []byte {
	if len(w) <= MaxTerm {
		return w
	}
	n := MaxTerm
	for n > 0 && w[n]&0xc0 == 0x80 {
		n--
	}
	return w[:n]
}
