// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"unicode/utf8"

	"github.com/wlynxg/chardet"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/transform"
)

// decodeText brings a body into valid UTF-8, in dst's memory, and names the charset it was in. The
// order is the WHATWG standard's: byte order mark, transport, meta tag in the first 1,024 bytes; when
// all of them are silent, UTF-8 if the bytes are that, else what statistics say.
func decodeText(dst, body []byte, contentType string) (text []byte, name string) {
	enc, name, certain := charset.DetermineEncoding(body[:min(len(body), 1024)], contentType)
	if !certain {
		enc, name = detect(body)
	}
	if name == "utf-8" {
		if len(body) >= 3 && body[0] == 0xef && body[1] == 0xbb && body[2] == 0xbf {
			body = body[3:]
		}
		return appendValid(dst, body), name
	}
	out, _, err := transform.Append(enc.NewDecoder(), dst, body)
	if err != nil {
		return appendValid(dst[:0], body), "utf-8"
	}
	return out, name
}

// detect guesses. Text that is valid UTF-8 beyond ASCII hardly ever is anything else.
func detect(body []byte) (encoding.Encoding, string) {
	sample := body[:min(len(body), sniffed)]
	if validPrefix(sample) {
		return encoding.Nop, "utf-8"
	}
	if guess := chardet.Detect(sample); guess.Confidence > 0.5 {
		if enc, err := htmlindex.Get(guess.Encoding); err == nil {
			if name, err := htmlindex.Name(enc); err == nil && name != "replacement" {
				return enc, name
			}
		}
	}
	return charmap.Windows1252, "windows-1252"
}

// validPrefix reports whether b is UTF-8 but for a character cut at its end.
func validPrefix(b []byte) bool {
	for i := 0; i < utf8.UTFMax && i < len(b); i++ {
		if utf8.Valid(b[:len(b)-i]) {
			return i == 0 || !utf8.FullRune(b[len(b)-i:])
		}
	}
	return len(b) == 0
}

// appendValid appends b with what is not UTF-8 replaced.
func appendValid(dst, b []byte) []byte {
	if utf8.Valid(b) {
		return append(dst, b...)
	}
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		dst = utf8.AppendRune(dst, r)
		b = b[n:]
	}
	return dst
}
