// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"strings"
)

// parsePlain reads plain text: its first line is the title, and URLs written out are links.
func parsePlain(in *Input, page *Page) error {
	text, charset := decodeText(page.Text[:0], in.Body, in.ContentType)
	page.Charset = charset
	if len(text) > MaxText {
		text, page.Truncated = cutRune(text, MaxText), true
	}
	page.Text = text
	first, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte{'\n'})
	page.Title = string(cutRune(bytes.Join(bytes.Fields(first), []byte{' '}), 120))
	for rest := text; ; {
		at := bytes.Index(rest, []byte("http"))
		if at < 0 {
			break
		}
		rest = rest[at:]
		if !bytes.HasPrefix(rest, []byte("http://")) && !bytes.HasPrefix(rest, []byte("https://")) {
			rest = rest[4:]
			continue
		}
		end := bytes.IndexFunc(rest, func(r rune) bool { return r <= ' ' || strings.ContainsRune("<>\"'`|{}[]()\\^", r) })
		if end < 0 {
			end = len(rest)
		}
		page.addLink(strings.TrimRight(string(rest[:end]), ".,;:!?"), Outlink{Kind: LinkText})
		rest = rest[end:]
	}
	page.Language = detectLanguage(page.Text)
	return nil
}

// cutRune cuts b to at most n bytes, between characters.
func cutRune(b []byte, n int) []byte {
	if len(b) <= n {
		return b
	}
	for n > 0 && b[n]&0xc0 == 0x80 {
		n--
	}
	return b[:n]
}
