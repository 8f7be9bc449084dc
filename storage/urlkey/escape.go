// SPDX-License-Identifier: Apache-2.0

package urlkey

import "unicode/utf8"

// byteSet says for each byte how it is written.
type byteSet [256]byte

const (
	keep    = iota // unchanged
	escape         // becomes %XX
	percent        // begins an escape, or becomes %25
)

// pathSet and querySet are the WHATWG percent-encode sets of special URLs, extended so that only printable
// bytes of RFC 3986 remain.
var pathSet, querySet = newSet("\"<>`{}^|[]\\?"), newSet("\"<>'`{}^|[]\\")

func newSet(more string) (s byteSet) {
	for c := range 256 {
		if c <= ' ' || c >= 0x7f {
			s[c] = escape
		}
	}
	for i := range len(more) {
		s[more[i]] = escape
	}
	s['#'] = escape
	s['%'] = percent
	return s
}

// unreserved are the bytes whose escapes are decoded: by RFC 3986 section 2.3 the two spellings are
// equivalent.
var unreserved = func() (s [256]bool) {
	for c := range 256 {
		b := byte(c)
		s[c] = 'a' <= b|0x20 && b|0x20 <= 'z' || '0' <= b && b <= '9' || b == '-' || b == '.' || b == '_' || b == '~'
	}
	return s
}()

const upperHex = "0123456789ABCDEF"

// appendEscaped appends s in percent-encoding normal form: it escapes the bytes of the set, decodes escapes
// of unreserved bytes, writes other escapes in upper case, and turns a '%' that begins no escape into "%25".
func appendEscaped(dst []byte, s string, set byteSet) []byte {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch set[c] {
		case keep:
			dst = append(dst, c)
		case escape:
			if c >= utf8.RuneSelf {
				if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
					// Not UTF-8: browsers replace it with the replacement character.
					dst = append(dst, "%EF%BF%BD"...)
					continue
				}
				for _, size := utf8.DecodeRuneInString(s[i:]); size > 1; size-- {
					dst = append(dst, '%', upperHex[s[i]>>4], upperHex[s[i]&15])
					i++
				}
				c = s[i]
			}
			dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
		case percent:
			v, ok := unhex(s, i)
			switch {
			case !ok:
				dst = append(dst, "%25"...)
			case unreserved[v]:
				dst = append(dst, v)
				i += 2
			default:
				dst = append(dst, '%', upperHex[v>>4], upperHex[v&15])
				i += 2
			}
		}
	}
	return dst
}

// unhex decodes the escape at s[i].
func unhex(s string, i int) (byte, bool) {
	if i+2 >= len(s) {
		return 0, false
	}
	hi, ok1 := hexValue(s[i+1])
	lo, ok2 := hexValue(s[i+2])
	return hi<<4 | lo, ok1 && ok2
}

func hexValue(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}
