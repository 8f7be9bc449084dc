// SPDX-License-Identifier: Apache-2.0

package analysis

import (
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// glyphKind says what a character does to the word that it is met in.
type glyphKind uint8

const (
	glyphBreak    glyphKind = iota // ends a word
	glyphWord                      // continues it
	glyphNothing                   // leaves no trace: accents, points, soft hyphens, joiners
	glyphUnspaced                  // of a script without spaces
	glyphAttached                  // a vowel or tone mark of such a script: stays with the character before it
	glyphCombines                  // may be one character with the one before it
	glyphMany                      // folds to several characters
)

// glyph is what the analyzer knows of a character.
type glyph struct {
	kind glyphKind
	fold rune // unless glyphBreak, glyphNothing or glyphMany
}

// glyphPage is the glyphs of 256 neighboring code points. They follow from Unicode's tables; looking them up there
// takes a microsecond for each character, so the pages that texts need are kept, for the life of the process.
type glyphPage struct {
	glyphs [256]glyph
	many   map[byte][]rune
}

var glyphPages [(unicode.MaxRune + 1) / 256]atomic.Pointer[glyphPage]

func pageOf(r rune) *glyphPage {
	if p := glyphPages[r>>8].Load(); p != nil {
		return p
	}
	p := &glyphPage{}
	for i := range p.glyphs {
		runes := foldRune(r&^0xff | rune(i))
		switch len(runes) {
		case 0:
			p.glyphs[i].kind = glyphNothing
		case 1:
			p.glyphs[i] = glyph{kindOf(runes[0]), runes[0]}
		default:
			p.glyphs[i].kind = glyphMany
			if p.many == nil {
				p.many = map[byte][]rune{}
			}
			p.many[byte(i)] = runes
		}
	}
	glyphPages[r>>8].Store(p)
	return p
}

// kindOf returns the kind of a folded character.
func kindOf(r rune) glyphKind {
	switch {
	case combines(r):
		return glyphCombines
	case unspaced(r):
		if unicode.IsMark(r) {
			return glyphAttached
		}
		return glyphUnspaced
	case unicode.IsLetter(r), unicode.IsMark(r), unicode.IsDigit(r), unicode.Is(unicode.Nl, r):
		return glyphWord
	}
	return glyphBreak
}

// unspaced reports whether a character belongs to a script written without spaces, or to Hangul, whose words include
// their particles.
func unspaced(r rune) bool {
	if r < 0x0e00 {
		return false
	}
	return r == 'ー' || r == '〆' || unicode.In(r,
		unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// combines reports whether a character may be one with that before it: a mark, the voiced marks of kana, the vowels and
// final consonants of Hangul.
func combines(r rune) bool {
	return r >= 0x0300 && r < 0x0370 || r == 0x3099 || r == 0x309a || r >= 0x1160 && r < 0x1200
}

// respelled are letters that Unicode does not decompose, but people type as others, and those that are written as
// another out of habit or on another keyboard. In Arabic the carriers of hamza, the dotless yeh, the teh marbuta and
// Persian's yeh and kaf are among them. In Russian ё is mostly written е; й is a letter of its own.
var respelled = map[rune]string{
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'ł': "l", 'đ': "d", 'ð': "d", 'þ': "th", 'ı': "i", 'ħ': "h", 'ŧ': "t",
	'ŋ': "n", 'ĸ': "k", 'ſ': "s", 'ə': "e", 'ς': "σ",
	'ё': "е", 'ѐ': "е", 'ѝ': "и",
	'آ': "ا", 'أ': "ا", 'إ': "ا", 'ٱ': "ا", 'ؤ': "و", 'ئ': "ي", 'ى': "ي", 'ی': "ي", 'ې': "ي", 'ے': "ي", 'ۓ': "ي",
	'ة': "ه", 'ہ': "ه", 'ۀ': "ه", 'ە': "ه", 'ھ': "ه", 'ۂ': "ه", 'ک': "ك",
}

// foldRune returns what a character becomes: NFKC, lower case, without accents and points. People who type "BUCHER"
// want "Bücher" too.
func foldRune(r rune) (out []rune) {
	if r == '™' || r == '℠' {
		return []rune{' '} // NFKC would make letters of them, and a word of the name before them
	}
	if invisible(r) {
		return nil
	}
	for _, r := range norm.NFKC.String(string(r)) {
		r = unicode.ToLower(r)
		if s, ok := respelled[r]; ok {
			out = append(out, []rune(s)...)
			continue
		}
		if unicode.In(r, unicode.Cyrillic, unicode.Hangul, unicode.Hiragana, unicode.Katakana) {
			out = append(out, r)
			continue
		}
		decomposed := []rune(norm.NFD.String(string(r)))
		for i, d := range decomposed {
			switch {
			case i > 0 && combines(d), invisible(d):
			case unicode.IsDigit(d):
				out = append(out, '0'+digit(d))
			default:
				if s, ok := respelled[d]; ok { // ǿ
					out = append(out, []rune(s)...)
				} else {
					out = append(out, d)
				}
			}
		}
	}
	return out
}

// digit returns the value of a decimal digit: Unicode has them in rows of ten.
func digit(r rune) rune {
	for v := rune(0); v < 10; v++ {
		if !unicode.IsDigit(r - v - 1) {
			return v
		}
		if v == 9 {
			break
		}
	}
	// Rows that touch: their first digits are at multiples of ten from the first row's.
	first := r
	for unicode.IsDigit(first - 1) {
		first--
	}
	return (r - first) % 10
}

// invisible reports whether a character leaves no trace in a word: the points of Hebrew and Arabic, Arabic's tatweel,
// soft hyphens, joiners, marks of direction, selectors of variants.
func invisible(r rune) bool {
	switch {
	case r < 0x00ad:
		return false
	case r == 0x0640:
		return true
	case r >= 0x0591 && r < 0x0700:
		return unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Cf, r)
	}
	return unicode.In(r, unicode.Cf, unicode.Variation_Selector)
}

// composed returns the folded character that a mark makes of the one before it.
func composed(before, mark rune) (rune, bool) {
	var b [2 * utf8.UTFMax]byte
	s := utf8.AppendRune(utf8.AppendRune(b[:0], before), mark)
	c := norm.NFC.Bytes(s)
	r, n := utf8.DecodeRune(c)
	if n != len(c) {
		return 0, false
	}
	g := pageOf(r).glyphs[r&0xff]
	return g.fold, g.kind == glyphWord || g.kind == glyphUnspaced
}

// Fold appends a piece of a word as Walk folds it, for callers that have no whole word: the beginning that a prefix
// query gives, or an ending. Signs of ASCII, which parts of names are joined by, stay; other characters that end words
// are left out. It may be called concurrently.
func Fold(dst, w []byte) []byte {
	for len(w) > 0 {
		r, n := utf8.DecodeRune(w)
		if c := narrow(w, 0); c > 0 {
			r = rune(c)
		}
		w = w[n:]
		if r < utf8.RuneSelf {
			if 'A' <= r && r <= 'Z' {
				r += 'a' - 'A'
			}
			dst = append(dst, byte(r))
			continue
		}
		p := pageOf(r)
		switch g := p.glyphs[r&0xff]; g.kind {
		case glyphNothing, glyphBreak:
		case glyphMany:
			for _, r := range p.many[byte(r)] {
				dst = utf8.AppendRune(dst, r)
			}
		default:
			dst = utf8.AppendRune(dst, g.fold)
		}
	}
	return dst
}
