// SPDX-License-Identifier: Apache-2.0

package analysis

import (
	"unicode"
	"unicode/utf8"
)

// fullWidth is how far the full-width forms of ASCII are from it: Ｃ＋＋ is C++ as Chinese and Japanese keyboards write
// it. NFKC makes the one of the other, and names are found before characters are folded, so it is done for them here.
const fullWidth = '！' - '!'

// inName marks what names consist of: words, and the signs that join and end them.
var inName = func() (t [utf8.RuneSelf]bool) {
	for c := range t {
		t[c] = asciiWord[c] || joins[c] || c == '#'
	}
	return t
}()

// narrow returns the ASCII character that the one at i is the full-width form of, 0 if it is none.
func narrow(text []byte, i int) byte {
	if i+3 > len(text) || text[i] != 0xef { // the first byte of all of them
		return 0
	}
	if r, _ := utf8.DecodeRune(text[i:]); r > fullWidth && r < fullWidth+0x7f {
		return byte(r - fullWidth)
	}
	return 0
}

// wideAt reports whether the character at i is the full-width form of what names consist of.
func wideAt(text []byte, i int) bool { return inName[narrow(text, i)] }

// wideBehind reports whether there is such a character at i, or behind the signs there.
func wideBehind(text []byte, i int) bool {
	for i < len(text) && text[i] < utf8.RuneSelf && inName[text[i]] && !asciiWord[text[i]] {
		i++
	}
	return wideAt(text, i)
}

// wideText is a part of a text in ASCII.
type wideText struct {
	ascii []byte
	at    []int        // where in the text each byte comes from
	emit  func(*Token) // what Walk was given
	place func(*Token) // emit, for a Token of ascii
}

func (w *wideText) put(c byte, at int) { w.ascii, w.at = append(w.ascii, c), append(w.at, at) }

// wideName is name for what begins at start, if characters of it may be in full width. It returns the name's end, or 0
// if nothing in full width begins there: it emits nothing then.
func (a *Analyzer) wideName(text []byte, start int) int {
	w := &a.wide
	from := w.read(text, start)
	if from < 0 {
		return 0
	}
	if w.place == nil {
		w.place = func(t *Token) {
			t.Start, t.End = w.at[t.Start], w.at[t.End]
			w.emit(t)
		}
	}
	w.emit, a.emit = a.emit, w.place
	end := 0
	if w.ascii[from] == '.' {
		end = a.name(w.ascii, from+1, 1)
	} else {
		end = a.name(w.ascii, from, 0)
	}
	a.emit = w.emit
	return w.at[end]
}

// read takes what of text from start may be one name, with a character before and after it, and returns where the name
// begins, or -1 if there is none, or none in full width. It takes at most two words more than a name may have, so that
// the time for a text of many names stays linear.
func (w *wideText) read(text []byte, start int) int {
	w.ascii, w.at = w.ascii[:0], w.at[:0]
	if start > 0 {
		w.put(charBefore(text, start), 0)
	}
	from, i := len(w.ascii), start
	if !begins(text, start, w.ascii) {
		return -1
	}
	words, first, wide := 0, 0, false // first is the end of the first word
	for words < maxParts+2 && i < len(text) {
		c, n := ascii(text, i)
		if !inName[c] {
			break
		}
		wide = wide || n > 1
		if asciiWord[c] && (len(w.ascii) == from || !asciiWord[w.ascii[len(w.ascii)-1]]) {
			words++
		}
		w.put(c, i)
		if asciiWord[c] && words == 1 {
			first = len(w.ascii)
		}
		i += n
	}
	switch {
	case !wide, words == 0:
		return -1
	case i < len(text) && first == len(w.ascii) && text[i] >= utf8.RuneSelf && !breaksAt(text, i):
		return -1 // not a word of ASCII
	}
	if i < len(text) {
		_, n := utf8.DecodeRune(text[i:])
		for ; n > 0; n-- {
			w.put(text[i], i)
			i++
		}
	}
	w.put(0, i) // where the text goes on
	w.ascii = w.ascii[:len(w.ascii)-1]
	return from
}

// begins reports whether a name may begin at i: with a word, or with a dot that leads. Before it is the character
// before, if there is one.
func begins(text []byte, i int, before []byte) bool {
	c, n := ascii(text, i)
	if c != '.' {
		return asciiWord[c]
	}
	c, _ = ascii(text, i+n)
	return leads(append(before, '.', c), len(before))
}

// ascii returns the character at i in ASCII, 0 if it cannot be, and its length in the text.
func ascii(text []byte, i int) (c byte, n int) {
	switch {
	case i >= len(text):
		return 0, 0
	case text[i] < utf8.RuneSelf:
		return text[i], 1
	}
	return narrow(text, i), 3
}

// charBefore returns what name and leads must know of the character before i: itself in ASCII, or a space or a letter
// in its place.
func charBefore(text []byte, i int) byte {
	if c := text[i-1]; c < utf8.RuneSelf {
		return c
	}
	r, n := utf8.DecodeLastRune(text[:i])
	if c := narrow(text, i-n); c > 0 {
		return c
	}
	if unicode.IsSpace(r) {
		return ' '
	}
	return 'x'
}
