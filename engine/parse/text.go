// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"strings"
	"sync"
	"unicode/utf8"
)

// plainScratch is memory for transcoding.
var plainScratch = sync.Pool{New: func() any { return new([]byte) }}

// parsePlain is the Parser for plain text. The first line is the title; URLs in the text are links. A text of nothing
// but URLs is a sitemap.
func parsePlain(in *Input, page *Page) error {
	scratch := plainScratch.Get().(*[]byte)
	defer plainScratch.Put(scratch)
	d := decode(*scratch, in, false)
	if !d.aliases && cap(d.text) <= keptScratch {
		*scratch = d.text[:0]
	}
	page.Charset = d.charset
	var w textWriter
	w.begin(page.Text[:0], MaxText)
	w.lines = true
	w.write(d.text, nil)
	page.Text, page.Truncated = w.out, d.cut || w.full
	first, _, _ := bytes.Cut(page.Text, []byte{'\n'})
	page.Title = string(bytes.TrimRight(first[:runeCut(first, maxPlainTitle)], " "))
	list := d.text
	if in.Truncated || in.More != nil {
		list = wholeLines(list) // the last line may be a part of a URL
	}
	if isURLList(list) {
		page.Truncated = d.cut // its text, which is not indexed, may be
		page.urlList(in, list)
		return nil
	}
	for rest := page.Text; len(rest) > 0; {
		at, n := findURL(rest)
		if n == 0 {
			break
		}
		page.AddLink(string(rest[at:at+n]), Outlink{Kind: LinkText})
		rest = rest[at+n:]
	}
	return nil
}

// findURL returns the offset and length of the first URL in text; the length is 0 when there is none. A URL begins with
// http:// or https://, not directly after a letter or digit. It ends before white space, quotes, angle brackets and CJK
// punctuation. Sentence punctuation at its end and a closing bracket that was opened before it are not part of it.
func findURL(text []byte) (at, n int) {
	for {
		i := bytes.Index(text[at:], []byte("://"))
		if i < 0 {
			return 0, 0
		}
		colon := at + i
		begin := 0
		switch {
		case bytes.HasSuffix(text[:colon], []byte("https")):
			begin = colon - len("https")
		case bytes.HasSuffix(text[:colon], []byte("http")):
			begin = colon - len("http")
		default:
			begin = -1
		}
		if begin < at || begin > 0 && isAlnum(text[begin-1]) {
			at = colon + 3
			continue
		}
		end := colon + 3
		for end < len(text) && end-begin < maxRef {
			r, size := utf8.DecodeRune(text[end:])
			if r <= ' ' || strings.IndexByte("<>\"`{}|\\^", text[end]) >= 0 {
				break
			}
			if 0x3000 <= r && r <= 0x303f || 0xff00 <= r && r <= 0xffef { // CJK punctuation, fullwidth forms
				break
			}
			end += size
		}
		if end = trimURL(text[begin:end]) + begin; end > colon+3 {
			return begin, end - begin
		}
		at = colon + 3
	}
}

// trimURL returns the length of u without punctuation of the sentence around it.
func trimURL(u []byte) int {
	round := bytes.Count(u, []byte{'('}) - bytes.Count(u, []byte{')'})
	square := bytes.Count(u, []byte{'['}) - bytes.Count(u, []byte{']'})
	for n := len(u); n > 0; n-- {
		switch u[n-1] {
		case '.', ',', ';', ':', '!', '?', '\'', '*', '_':
		case '(':
			round--
		case '[':
			square--
		case ')':
			if round >= 0 {
				return n
			}
			round++
		case ']':
			if square >= 0 {
				return n
			}
			square++
		default:
			return n
		}
	}
	return 0
}
