// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/wlynxg/chardet"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

const (
	charsetUTF8    = "utf-8"
	charsetDefault = "windows-1252" // what browsers assume in most locales when nothing declares a charset
)

// decoded is a body in UTF-8.
type decoded struct {
	text    []byte // valid UTF-8 without byte order mark; aliases the body or the scratch
	charset string // WHATWG name
	aliases bool   // text is part of the body and must not be written to
	cut     bool   // text does not cover all of the body
}

// decode converts a body to valid UTF-8, in the memory of scratch if it fits. A body that is valid UTF-8 already is not
// copied. The charset is determined in the order of the WHATWG standard: byte order mark, Content-Type header,
// declaration in the page (if declares says that the media type has one), and then, where the standard falls back on
// the reader's locale, statistics over the bytes. If the fetcher cut the body inside a character, the part of it is
// left out; in a whole body that is a fault of the page, which U+FFFD shows.
func decode(scratch []byte, in *Input, declares bool) decoded {
	body := in.Body
	enc, name := encoding.Encoding(nil), ""
	if n, mark := byteOrderMark(body); n > 0 {
		name, body = mark, body[n:]
	} else if name = canonicalLabel(charsetParameter(in.ContentType)); name == "" && declares {
		name = prescan(body[:min(len(body), prescanned)])
	}
	if name == "" {
		enc, name = detectCharset(body, in.Truncated, declares)
	}
	if name == charsetUTF8 {
		if in.Truncated {
			body = body[:len(body)-begunRune(body)]
		}
		return decodeUTF8(scratch, body)
	}
	if enc == nil {
		enc = encodingOf(name)
	}
	return transcode(scratch, body, enc, name, !in.Truncated)
}

// byteOrderMark returns the length of the byte order mark of body and its charset.
func byteOrderMark(body []byte) (int, string) {
	switch {
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return 3, charsetUTF8
	case bytes.HasPrefix(body, []byte("\xfe\xff")):
		return 2, "utf-16be"
	case bytes.HasPrefix(body, []byte("\xff\xfe")):
		return 2, "utf-16le"
	}
	return 0, ""
}

// charsetParameter returns the charset parameter of a Content-Type, unquoted, or "".
func charsetParameter(s string) string {
	for {
		semicolon := strings.IndexByte(s, ';')
		if semicolon < 0 {
			return ""
		}
		s = strings.TrimLeft(s[semicolon+1:], " \t")
		if len(s) < len("charset") || !strings.EqualFold(s[:len("charset")], "charset") {
			continue
		}
		value, ok := strings.CutPrefix(strings.TrimLeft(s[len("charset"):], " \t"), "=")
		if !ok {
			continue
		}
		value = strings.TrimLeft(value, " \t\"'")
		if end := strings.IndexAny(value, "\"';, \t"); end >= 0 {
			value = value[:end]
		}
		return value
	}
}

// canonicalLabel returns the WHATWG name of an encoding's label, or "" for an unknown label.
func canonicalLabel(label string) string {
	if label = strings.TrimSpace(label); label == "" || len(label) > 40 {
		return ""
	}
	if strings.EqualFold(label, charsetUTF8) { // nearly always
		return charsetUTF8
	}
	enc, err := htmlindex.Get(label)
	if err != nil {
		return ""
	}
	name, err := htmlindex.Name(enc)
	if err != nil {
		return ""
	}
	return name
}

// encodingOf returns the encoding of a canonical name.
func encodingOf(name string) encoding.Encoding {
	switch name {
	case "utf-16le":
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case "utf-16be":
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	}
	enc, err := htmlindex.Get(name)
	if err != nil {
		return charmap.Windows1252
	}
	return enc
}

// detectCharset guesses from the bytes. Text in which nearly every other byte is zero is UTF-16. Text that is valid
// UTF-8 and not only ASCII is hardly ever anything else. Other text may declare its charset later than the prescan
// looks (browsers read such a page again). For the rest statistics decide, over the part that can tell: bytes beyond
// ASCII and their neighbors.
func detectCharset(body []byte, truncated, declares bool) (encoding.Encoding, string) {
	head := body[:min(len(body), sniffed)]
	if name := looksUTF16(head); name != "" {
		return encodingOf(name), name
	}
	part := head
	if at := untelling(body); at > sniffed/2 && at < len(body) { // scripts and styles come before the text
		part = body[at-min(at, contextOf):]
		part = part[:min(len(part), sniffed)]
	}
	cut := truncated || len(part) == sniffed
	isUTF8 := utf8.Valid(part) || cut && validPrefix(part)
	if isUTF8 && bytes.IndexByte(part, 0x1b) < 0 { // escapes may be ISO-2022-JP
		return nil, charsetUTF8
	}
	if declares {
		if name := prescan(head[:min(len(head), latePrescanned)]); name != "" {
			return nil, name
		}
	}
	sample := telling(part)
	found := chardet.Detect(sample)
	if name := canonicalLabel(found.Encoding); found.Confidence > 0.5 && manyBytes[name] {
		return encodingOf(name), name
	}
	if isUTF8 {
		return nil, charsetUTF8
	}
	if g := guessSingleByte(sample); g != nil {
		return g.enc, g.charset
	}
	return charmap.Windows1252, charsetDefault
}

// manyBytes are the multi-byte charsets, the only ones for which chardet is trusted: their bytes follow rules, and it
// knows the rules.
var manyBytes = map[string]bool{
	"big5": true, "gbk": true, "gb18030": true, "euc-jp": true, "shift_jis": true, "iso-2022-jp": true, "euc-kr": true,
}

// looksUTF16 recognises UTF-16 without a byte order mark by the zeros of its ASCII part.
func looksUTF16(head []byte) string {
	var zeros [2]int
	head = head[:min(len(head), 256)&^1]
	for i, c := range head {
		if c == 0 {
			zeros[i&1]++
		}
	}
	switch half := len(head) / 2; {
	case half < 4:
	case zeros[1]*4 > half*3 && zeros[0] == 0:
		return "utf-16le"
	case zeros[0]*4 > half*3 && zeros[1] == 0:
		return "utf-16be"
	}
	return ""
}

// telling returns the part of a body that the statistics can use, up to the limit: the stretches between tags and line
// ends with bytes beyond ASCII or with escapes (ISO-2022-JP). It cuts only at '<', '>' and line ends, which are part of
// a character in no multi-byte charset: half a character would exclude the right charset.
func telling(head []byte) []byte {
	if len(head) <= detected {
		return head
	}
	sample := make([]byte, 0, detected)
	for len(head) > 0 && len(sample) < detected {
		at := untelling(head)
		if at == len(head) {
			break
		}
		begin := bytes.LastIndexAny(head[:at], "\n>") + 1
		end := at
		for end < len(head) && head[end] != '\n' && head[end] != '<' {
			end++
		}
		room := detected - len(sample)
		if end-begin > room && len(sample) > detected/2 {
			break
		}
		sample = append(sample, head[begin:min(end, begin+room)]...)
		sample = append(sample, '\n')
		head = head[end:]
	}
	return sample
}

// untelling returns the length of the part at the start of b that is the same in nearly all charsets: ASCII without
// escapes.
func untelling(b []byte) (n int) {
	for n < len(b) && b[n] < utf8.RuneSelf && b[n] != 0x1b {
		n++
	}
	return n
}

// validPrefix reports whether b is UTF-8 with a character cut at its end.
func validPrefix(b []byte) bool {
	n := begunRune(b)
	return n > 0 && n < len(b) && utf8.Valid(b[:len(b)-n])
}

// begunRune returns how many bytes at the end of b begin a character of UTF-8 and are not all of it.
func begunRune(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// decodeUTF8 returns valid UTF-8 unchanged. Otherwise it replaces each byte that is not part of a character by U+FFFD,
// as browsers do, except for the number of replacements.
func decodeUTF8(scratch, body []byte) decoded {
	d := decoded{charset: charsetUTF8}
	if len(body) > maxDecoded {
		body, d.cut = body[:runeCut(body, maxDecoded)], true
	}
	if utf8.Valid(body) {
		d.text, d.aliases = body, true
		return d
	}
	out := scratch[:0]
	for len(body) > 0 && len(out) < maxDecoded {
		n := 0
		for n < len(body) {
			if body[n] < utf8.RuneSelf {
				n++
				continue
			}
			r, size := utf8.DecodeRune(body[n:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			n += size
		}
		out = append(out, body[:n]...)
		if n < len(body) {
			out = append(out, "\ufffd"...)
			n++
		}
		body = body[n:]
	}
	d.text, d.cut = out, d.cut || len(body) > 0
	return d
}

// transcode runs a decoder over body within maxDecoded. If the body is not whole, what begins a character at its end is
// left out.
func transcode(scratch, body []byte, enc encoding.Encoding, name string, whole bool) decoded {
	d := decoded{charset: name}
	decoder := enc.NewDecoder()
	out := scratch[:0]
	if need := len(body) + len(body)/4 + 64; cap(out) < need {
		out = make([]byte, 0, need)
	}
	for {
		nDst, nSrc, err := decoder.Transform(out[len(out):cap(out)], body, whole)
		out, body = out[:len(out)+nDst], body[nSrc:]
		if err == nil && len(body) == 0 || err == transform.ErrShortSrc && !whole {
			break
		}
		if err != nil && err != transform.ErrShortDst || len(out) >= maxDecoded {
			d.cut = true
			break
		}
		out = append(out, make([]byte, len(out)/2+256)...)[:len(out)]
	}
	if len(out) > maxDecoded {
		out, d.cut = out[:runeCut(out, maxDecoded)], true
	}
	if !utf8.Valid(out) { // no decoder of x/text does this, but the promise does not depend on that
		out = bytes.ToValidUTF8(out, []byte("\ufffd"))
	}
	d.text = out
	return d
}

// encodeQuery returns a reference with the characters beyond ASCII of its query percent-encoded in the charset of the
// page, as browsers send them (URL standard, "query state"; of the path only UTF-8 counts). A server of pages in
// windows-1251 understands no other. What the charset lacks becomes a decimal character reference.
func encodeQuery(ref, charset string) string {
	switch charset {
	case charsetUTF8, "utf-16le", "utf-16be", "": // forms and links of UTF-16 pages are UTF-8
		return ref
	}
	query, end := strings.IndexByte(ref, '?'), strings.IndexByte(ref, '#')
	if end < 0 {
		end = len(ref)
	}
	if query < 0 || query > end || isASCII(ref[query:end]) {
		return ref
	}
	encoder := encoding.HTMLEscapeUnsupported(encodingOf(charset).NewEncoder())
	out := append(make([]byte, 0, 3*len(ref)), ref[:query]...)
	for rest := ref[query:end]; rest != ""; {
		if rest[0] < utf8.RuneSelf {
			out, rest = append(out, rest[0]), rest[1:]
			continue
		}
		n := strings.IndexFunc(rest, func(c rune) bool { return c < utf8.RuneSelf })
		if n < 0 {
			n = len(rest)
		}
		coded, err := encoder.String(rest[:n])
		if err != nil {
			coded = rest[:n]
		}
		for _, c := range []byte(coded) {
			if isAlnum(c) {
				out = append(out, c)
			} else {
				out = fmt.Appendf(out, "%%%02X", c)
			}
		}
		rest = rest[n:]
	}
	return string(append(out, ref[end:]...))
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// runeCut returns the largest n up to limit at which s may be cut between characters.
func runeCut[T string | []byte](s T, limit int) int {
	if len(s) <= limit {
		return len(s)
	}
	n := limit
	for n > 0 && limit-n < utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}
