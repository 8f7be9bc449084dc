// SPDX-License-Identifier: Apache-2.0

package analysis

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// folder removes case, accents and compatibility forms: people who search for "BUCHER" want "Bücher" too.
type folder struct{ scratch []byte }

// append appends the folded form of w.
func (f *folder) append(dst, w []byte) []byte {
	w = bytes.ToValidUTF8(w, nil)
	f.scratch = norm.NFKD.Append(f.scratch[:0], w...)
	from := len(dst)
	decomposed := false
	for b := f.scratch; len(b) > 0; {
		r, n := utf8.DecodeRune(b)
		b = b[n:]
		switch {
		case r < utf8.RuneSelf:
			if 'A' <= r && r <= 'Z' {
				r += 'a' - 'A'
			}
			dst = append(dst, byte(r))
			continue
		case r >= 0x0300 && r < 0x0370: // combining marks of Latin, Greek and Cyrillic
			continue
		case r == 'ß':
			dst = append(dst, "ss"...)
			continue
		case r >= 0x1100 && r < 0x1200, r >= 0x3099 && r <= 0x309a:
			decomposed = true // Hangul letters and voiced kana must be composed again
		}
		dst = utf8.AppendRune(dst, unicode.ToLower(r))
	}
	if decomposed {
		f.scratch = norm.NFC.Append(f.scratch[:0], dst[from:]...)
		dst = append(dst[:from], f.scratch...)
	}
	return dst
}
