// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"html"
)

// appendUnescaped appends text with its character references resolved.
func appendUnescaped(dst, text []byte) []byte {
	amp := bytes.IndexByte(text, '&')
	if amp < 0 {
		return append(dst, text...)
	}
	dst = append(dst, text[:amp]...)
	return append(dst, html.UnescapeString(string(text[amp:]))...)
}

// unescapeAttribute resolves the character references of an attribute value. The standard's rule
// differs from text in one point: a name without ';' is left alone when '=' or a letter or digit
// follows, so that "?a=1&region=2" keeps its parameter "region" although "&reg" means a sign.
func unescapeAttribute(v []byte) string {
	if bytes.IndexByte(v, '&') < 0 {
		return string(v)
	}
	out := make([]byte, 0, len(v))
	for len(v) > 0 {
		amp := bytes.IndexByte(v, '&')
		if amp < 0 {
			out = append(out, v...)
			break
		}
		out, v = append(out, v[:amp]...), v[amp:]
		n := 1
		if n < len(v) && v[n] == '#' {
			n++
		}
		for n < len(v) && isAlnum(v[n]) {
			n++
		}
		ref := string(v[:n])
		switch {
		case n < len(v) && v[n] == ';':
			n++
			ref = string(v[:n])
			out = append(out, html.UnescapeString(ref)...)
		case len(ref) > 1 && ref[1] == '#':
			out = append(out, html.UnescapeString(ref)...)
		case n < len(v) && v[n] == '=' || !isReference(ref):
			out = append(out, ref...)
		default:
			out = append(out, html.UnescapeString(ref)...)
		}
		v = v[n:]
	}
	return string(out)
}

// isReference reports whether all of "&name" is one reference that needs no ';'. Every name that
// may stand without one may also stand with it, and then means the same.
func isReference(ref string) bool {
	without := html.UnescapeString(ref)
	return without != ref && without == html.UnescapeString(ref+";")
}

func isAlnum(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
}
