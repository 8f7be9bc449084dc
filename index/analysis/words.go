// SPDX-License-Identifier: Apache-2.0

package analysis

import (
	"unicode/utf8"
)

// unit is a character of a script without spaces, with its marks, or two neighbors: the bytes in Analyzer.units.
type unit struct {
	size       int // bytes of Analyzer.units
	start, end int // in the text
}

// maxUnit bounds a character with its marks, in bytes, so that a pair is at most MaxTerm.
const maxUnit = MaxTerm / 2

// beyondASCII emits the words up to the next ASCII byte that is not a letter or digit, and returns where that is. The
// characters are folded one by one as they are read (see glyph), so words are cut as NFKC would write them.
func (a *Analyzer) beyondASCII(text []byte, start int) int {
	a.buf, a.wordStart = a.buf[:0], start
	i := start
	for i < len(text) && (text[i] >= utf8.RuneSelf || asciiWord[text[i]]) {
		if c := text[i]; c < utf8.RuneSelf {
			if i > start && len(a.buf) == 0 {
				break // a word, or a name, of its own
			}
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			a.letter(glyph{glyphWord, rune(c)}, i, i+1)
			i++
			continue
		}
		if len(a.buf) == 0 && text[i] == 0xef && wideAt(text, i) {
			a.endUnits()
			if end := a.wideName(text, i); end > 0 {
				i, a.buf = end, a.buf[:0]
				continue
			}
		}
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError {
			a.endWord()
			a.endUnits()
			i += n
			continue
		}
		p := pageOf(r)
		if g := p.glyphs[r&0xff]; g.kind != glyphMany {
			a.letter(g, i, i+n)
		} else {
			for _, r := range p.many[byte(r)] {
				a.letter(glyph{kindOf(r), r}, i, i+n)
			}
		}
		i += n
	}
	a.endWord()
	a.endUnits()
	return i
}

// letter takes one folded character, in order.
func (a *Analyzer) letter(g glyph, start, end int) {
	switch g.kind {
	case glyphWord:
		a.endUnits()
		if len(a.buf) == 0 {
			a.wordStart = start
		}
		if len(a.buf) < 2*MaxTerm { // the rest is cut anyway
			a.buf = utf8.AppendRune(a.buf, g.fold)
		}
		a.wordEnd = end
	case glyphUnspaced:
		a.endWord()
		a.closeUnit()
		a.units = utf8.AppendRune(a.units, g.fold)
		a.current = unit{len(a.units) - a.before.size, start, end}
	case glyphAttached:
		if a.current.size > 0 && a.current.size+utf8.UTFMax <= maxUnit {
			a.units = utf8.AppendRune(a.units, g.fold)
			a.current.size = len(a.units) - a.before.size
			a.current.end = end
		}
	case glyphNothing: // it is of the character before it
		if len(a.buf) > 0 {
			a.wordEnd = end
		} else if a.current.size > 0 {
			a.current.end = end
		}
	case glyphCombines:
		a.combine(g.fold, start, end)
	case glyphBreak:
		a.endWord()
		a.endUnits()
	}
}

// combine joins a mark with the character before it if the two are one, as й and が. A letter of Hangul that joins
// nothing stands alone; any other mark is left out.
func (a *Analyzer) combine(mark rune, start, end int) {
	switch {
	case len(a.buf) > 0:
		last, n := utf8.DecodeLastRune(a.buf)
		if r, ok := composed(last, mark); ok {
			a.buf = utf8.AppendRune(a.buf[:len(a.buf)-n], r)
		}
		a.wordEnd = end
		return
	case a.current.size > 0:
		last, n := utf8.DecodeLastRune(a.units)
		if r, ok := composed(last, mark); ok {
			a.units = utf8.AppendRune(a.units[:len(a.units)-n], r)
			a.current.size = len(a.units) - a.before.size
			a.current.end = end
			return
		}
	}
	if mark >= 0x1160 && mark < 0x1200 {
		a.letter(glyph{glyphUnspaced, mark}, start, end)
	}
}

// endWord emits the word before a character that does not continue it.
func (a *Analyzer) endWord() {
	if len(a.buf) > 0 {
		a.term(a.buf, a.wordStart, a.wordEnd)
		a.buf = a.buf[:0]
	}
}

// closeUnit emits the pair of the last two characters, at the position of the first, then the last one alone.
func (a *Analyzer) closeUnit() {
	if a.current.size == 0 {
		return
	}
	if a.before.size > 0 {
		a.give(a.units, wordOf(a.units), a.pos-1, a.before.start, a.current.end, KindPair)
	}
	single := a.units[a.before.size:]
	a.give(single, wordOf(single), a.pos, a.current.start, a.current.end, KindSingle)
	a.pos++
	n := copy(a.units, a.units[a.before.size:])
	a.units, a.before, a.current = a.units[:n], a.current, unit{}
}

// endUnits ends a run of characters without spaces.
func (a *Analyzer) endUnits() {
	if a.current.size > 0 {
		a.closeUnit()
	}
	a.units, a.before = a.units[:0], unit{}
}
