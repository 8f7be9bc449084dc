// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"html"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// references resolves character references. The table of names is the standard library's, which is accessible only
// through html.UnescapeString, with three allocations a call. So results are cached, in a small table whose entries
// replace each other. It belongs to one pass.
type references struct {
	known [128]knownReference
}

type knownReference struct {
	ref   string // "&eacute;" or "&eacute"
	value string // result of UnescapeString
	whole bool   // all of ref is one reference; of "&notit;" only "&not" is
}

// appendText appends the meaning in text of the reference at the start of b, and returns the number of bytes of b that
// it consumed. b begins with '&'. What is not a reference is appended unchanged.
func (r *references) appendText(dst, b []byte) ([]byte, int) {
	if len(b) > 1 && b[1] == '#' {
		return appendNumeric(dst, b)
	}
	n := nameEnd(b)
	if n == 1 {
		return append(dst, '&'), 1
	}
	if n < len(b) && b[n] == ';' {
		n++
	}
	return append(dst, r.lookup(b[:n]).value...), n
}

// appendAttribute appends an attribute's value with references resolved. The rule differs from that of text in one
// point: a reference without ';' is not resolved if '=', a letter or a digit follows, so that "?a=1&region=2" keeps its
// parameter although "&reg" is a sign.
func (r *references) appendAttribute(dst, v []byte) []byte {
	for {
		amp := bytes.IndexByte(v, '&')
		if amp < 0 {
			return append(dst, v...)
		}
		dst, v = append(dst, v[:amp]...), v[amp:]
		if len(v) > 1 && v[1] == '#' {
			var n int
			dst, n = appendNumeric(dst, v)
			v = v[n:]
			continue
		}
		n := nameEnd(v)
		closed := n < len(v) && v[n] == ';'
		if closed {
			n++
		}
		// A letter or digit can't follow: the name includes them.
		if follows := !closed && n < len(v) && v[n] == '='; n > 1 && !follows {
			if k := r.lookup(v[:n]); k.whole {
				dst, v = append(dst, k.value...), v[n:]
				continue
			}
		}
		dst, v = append(dst, v[:n]...), v[n:]
	}
}

// nameEnd returns the end of a name after '&'. Names longer than any known one are cut: the rest is text in any case.
func nameEnd(b []byte) int {
	n := 1
	for n < len(b) && n <= maxCharacterReference && isAlnum(b[n]) {
		n++
	}
	return n
}

// lookup finds a reference, "&name" or "&name;".
func (r *references) lookup(ref []byte) *knownReference {
	h := uint32(len(ref))
	for _, c := range ref {
		h = (h ^ uint32(c)) * 16777619
	}
	k := &r.known[(h^h>>16)%uint32(len(r.known))]
	if k.ref == string(ref) {
		return k
	}
	k.ref = string(ref)
	switch k.ref {
	case "&nGt;": // the standard library works in place and leaves out the two that grow
		k.value = "\u226b\u20d2"
	case "&nLt;":
		k.value = "\u226a\u20d2"
	default:
		k.value = html.UnescapeString(k.ref)
	}
	if last := len(k.ref) - 1; k.ref[last] == ';' {
		// If only the start of a name is known, the rest remains, with its ';'.
		k.whole = k.value == ";" || k.value[len(k.value)-1] != ';'
	} else {
		// Every name that is valid without ';' is also valid with it, and means the same.
		k.whole = k.value != k.ref && k.value == html.UnescapeString(k.ref+";")
	}
	return k
}

// appendNumeric resolves "&#233;" and "&#xe9;" by the standard's rules: the ';' may be missing, the C1 range means
// windows-1252, and a code that is not a character becomes U+FFFD.
func appendNumeric(dst, b []byte) ([]byte, int) {
	n, base := 2, uint32(10)
	if n < len(b) && b[n]|0x20 == 'x' {
		n, base = 3, 16
	}
	begin, code := n, uint32(0)
	for ; n < len(b); n++ {
		c := b[n]
		var digit uint32
		switch {
		case isDigit(c):
			digit = uint32(c - '0')
		case base == 16 && 'a' <= c|0x20 && c|0x20 <= 'f':
			digit = uint32(c|0x20-'a') + 10
		default:
			digit = base
		}
		if digit == base {
			break
		}
		code = min(code*base+digit, utf8.MaxRune+1) // without overflow
	}
	if n == begin {
		return append(dst, '&'), 1
	}
	if n < len(b) && b[n] == ';' {
		n++
	}
	switch {
	case 0x80 <= code && code <= 0x9f:
		if r := charmap.Windows1252.DecodeByte(byte(code)); r != utf8.RuneError { // five are not defined
			code = uint32(r)
		}
	case code == 0:
		code = utf8.RuneError
	}
	return utf8.AppendRune(dst, rune(code)), n // surrogates and codes above MaxRune become U+FFFD
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isAlnum(c byte) bool  { return isDigit(c) || isLetter(c) }
