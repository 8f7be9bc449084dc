// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// textWriter collects visible text: it folds runs of white space into one space, begins blocks on a new line and drops
// characters without a glyph. Its input must be valid UTF-8; then its output is, too.
type textWriter struct {
	out   []byte
	start int  // offset in out at which this text begins
	limit int  // of len(out)
	gap   byte // to write before the next character: 0, ' ' or '\n'
	lines bool // a line end is a new line (pre), not a space
	full  bool // something was cut
}

// begin starts a text of at most limit bytes at the end of out.
func (w *textWriter) begin(out []byte, limit int) {
	*w = textWriter{out: out, start: len(out), limit: len(out) + limit}
}

// text returns the text since begin.
func (w *textWriter) text() []byte { return w.out[w.start:] }

func (w *textWriter) lineBreak() { w.gap = '\n' }

func (w *textWriter) wordBreak() {
	if w.gap == 0 {
		w.gap = ' '
	}
}

// Classes of bytes for write.
const (
	bytePlain = iota
	byteSpace
	byteLead    // may begin a character that is white space or has no glyph
	byteDropped // control characters
	byteAmpersand
	byteLess
)

var byteClass = func() (class [256]uint8) {
	for c := range 0x20 {
		class[c] = byteDropped
	}
	for _, c := range " \t\n\v\f\r" {
		class[c] = byteSpace
	}
	class[0x7f] = byteDropped
	class['&'] = byteAmpersand
	class['<'] = byteLess
	class[0xc2], class[0xe1], class[0xe2], class[0xe3], class[0xef] = byteLead, byteLead, byteLead, byteLead, byteLead
	return class
}()

// write appends text. refs resolves character references. nil leaves them unresolved, for attribute values that were
// resolved before and for plaintext.
func (w *textWriter) write(b []byte, refs *references) {
	if len(b) > 0 && byteClass[b[0]] == byteSpace {
		b = b[w.space(b):]
	}
	for len(b) > 0 && !w.full {
		n, r := run(b)
		if n > 0 {
			w.add(b[:n])
		}
		if b = b[n:]; len(b) == 0 {
			return
		}
		switch byteClass[b[0]] {
		case byteSpace:
			b = b[w.space(b):]
		case byteLead:
			if r == ' ' {
				w.wordBreak()
			}
			b = b[leadSize(b[0]):]
		case byteAmpersand:
			taken := 1
			if refs == nil {
				w.add(b[:1])
			} else {
				taken = w.reference(b, refs)
			}
			b = b[taken:]
		case byteLess:
			if refs != nil && len(b) > 2 && b[1] == '/' && b[2] == '>' { // "</>" is not text
				b = b[3:]
				continue
			}
			w.add(b[:1])
			b = b[1:]
		default:
			b = b[1:]
		}
	}
}

// space consumes the white space at the start of b and returns its length.
func (w *textWriter) space(b []byte) (n int) {
	w.wordBreak()
	for ; n < len(b) && byteClass[b[n]] == byteSpace; n++ {
		if b[n] == '\n' && w.lines {
			w.gap = '\n'
		}
	}
	return n
}

// reference writes the character reference at the start of b and returns its length.
func (w *textWriter) reference(b []byte, refs *references) int {
	var buf [64]byte
	value, n := refs.appendText(buf[:0], b)
	w.write(value, nil)
	return n
}

// run returns the length of the longest prefix of b that is copied unchanged: plain bytes and single spaces between
// them. If a character of several bytes ends it, r is ' ' if that character separates words and 0 if it is dropped.
func run(b []byte) (n int, r byte) {
	for n < len(b) {
		if len(b)-n >= 8 {
			n += plainWords(b[n:], n > 0)
		}
		for n < len(b) && byteClass[b[n]] == bytePlain {
			n++
			if b[n-1] < utf8.RuneSelf && len(b)-n >= 8 {
				break // to plainWords again
			}
		}
		if n == len(b) {
			break
		}
		c := b[n]
		switch byteClass[c] {
		case bytePlain:
			continue
		case byteSpace:
			if c == ' ' && n > 0 && n+1 < len(b) && byteClass[b[n+1]] == bytePlain {
				n += 2
				continue
			}
		case byteLead:
			size := leadSize(c)
			if n+size > len(b) {
				size = len(b) - n // impossible in valid UTF-8
			}
			var seen bool
			if r, seen = glyph(b[n : n+size]); seen {
				n += size
				continue
			}
		}
		break
	}
	return n, r
}

// plainWords returns the length of a prefix of b that run would copy: printable ASCII and single spaces. It reads eight
// bytes at a time. inRun says that a plain byte precedes b.
func plainWords(b []byte, inRun bool) (n int) {
	const each, high = 0x0101010101010101, 0x8080808080808080
	for len(b) >= n+8 {
		// The high bit of each byte of spaces and odd classifies the byte of b. Borrows may set it wrongly for the
		// bytes after a match: the first match is exact, and a '!' mistaken for a second space only ends the run too
		// early.
		x := binary.LittleEndian.Uint64(b[n:])
		space, ampersand, less := x^each*' ', x^each*'&', x^each*'<'
		spaces := (space - each) &^ space & high
		odd := (x - each*' ') | // control characters
			(x + each) | // DEL and all that is not ASCII
			(ampersand-each)&^ampersand | (less-each)&^less |
			spaces&(spaces>>8)
		if spaces&0x80 != 0 && !inRun {
			return n
		}
		if odd &= high; odd != 0 {
			if n += bits.TrailingZeros64(odd) / 8; n > 0 && b[n-1] == ' ' {
				n-- // the byte after the space decides
			}
			return n
		}
		n, inRun = n+8, true
		if spaces>>63 != 0 {
			n--
		}
	}
	return n
}

// leadSize returns the length of a character that begins with a lead byte of class byteLead.
func leadSize(c byte) int {
	if c == 0xc2 {
		return 2
	}
	return 3
}

// glyph classifies one character with a lead byte of class byteLead. seen reports whether it goes into the text.
// Otherwise as is ' ' if it separates words, and 0 if it is dropped. Soft hyphens, byte order marks and zero-width
// spaces would make words unfindable. C1 and bidirectional controls are useless in an index and reverse lines when they
// are printed.
func glyph(c []byte) (as byte, seen bool) {
	switch {
	case len(c) == 2:
		switch {
		case c[1] == 0xa0 || c[1] == 0x85: // no-break space, next line
			return ' ', false
		case c[1] < 0xa0 || c[1] == 0xad: // C1, soft hyphen
			return 0, false
		}
	case len(c) < 3:
	case c[0] == 0xe1:
		return ' ', c[1] != 0x9a || c[2] != 0x80 // U+1680
	case c[0] == 0xe2 && c[1] == 0x80:
		switch {
		case c[2] <= 0x8a || c[2] == 0xa8 || c[2] == 0xa9 || c[2] == 0xaf:
			return ' ', false // U+2000 to U+200A, line and paragraph separator, U+202F
		case c[2] == 0x8b || c[2] == 0x8e || c[2] == 0x8f || 0xaa <= c[2] && c[2] <= 0xae:
			return 0, false // zero-width space, direction marks and overrides
		}
	case c[0] == 0xe2 && c[1] == 0x81:
		switch {
		case c[2] == 0x9f: // U+205F
			return ' ', false
		case 0xa0 <= c[2] && c[2] <= 0xaf: // word joiner, invisible operators, isolates
			return 0, false
		}
	case c[0] == 0xe3:
		return ' ', c[1] != 0x80 || c[2] != 0x80 // ideographic space
	case c[0] == 0xef:
		return 0, c[1] != 0xbb || c[2] != 0xbf // byte order mark
	}
	return 0, true
}

// add appends the gap and then b, within the limit.
func (w *textWriter) add(b []byte) {
	gap := 1
	if w.gap == 0 || len(w.out) == w.start {
		gap = 0
	}
	if room := w.limit - len(w.out) - gap; len(b) > room {
		b, w.full = b[:runeCut(b, max(0, room))], true
		if n := len(b); n > 0 && b[n-1] == ' ' {
			b = b[:n-1]
		}
		if len(b) == 0 {
			return
		}
	}
	if gap == 1 {
		w.out = append(w.out, w.gap)
	}
	w.gap = 0
	w.out = append(w.out, b...)
}
