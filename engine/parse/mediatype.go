// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"strings"
)

// Media types that this package handles by name.
const (
	typeHTML   = "text/html"
	typeXHTML  = "application/xhtml+xml"
	typePlain  = "text/plain"
	typeXML    = "application/xml"
	typeBinary = "application/octet-stream"
	typeGzip   = "application/gzip"
	typeRSS    = "application/rss+xml"
	typeAtom   = "application/atom+xml"
	typeRDF    = "application/rdf+xml"
)

// markGzip is the mark of gzip files.
const markGzip = "\x1f\x8b\x08"

// mediaType determines the type of a body. It follows the Content-Type header except in these cases, each of which
// would put garbage into the index, or lose a page or links to many:
//
//   - the header is absent or means "unknown": the bytes decide;
//   - the header says text and the bytes are binary, by their signature or their control characters (servers
//     with a default type);
//   - the header says text and the bytes are a sitemap or a feed (programs that write one and leave the type alone;
//     browsers do so for feeds);
//   - the header says XML and the page is XHTML, or a gzip file;
//   - the header says gzip, but that was the content coding, which is undone: the bytes decide.
func mediaType(in *Input) string {
	declared := bareType(in.ContentType)
	switch declared {
	case "", typeBinary, "binary/octet-stream", "application/unknown", "unknown/unknown", "application/force-download",
		"*/*", "text":
		return sniff(in.Body)
	case typeHTML, typeXHTML:
		if t := magic(in.Body); t != "" {
			return t
		}
		if isLinkList(in.Body) {
			return typeXML
		}
	case typePlain:
		if t := magic(in.Body); t != "" {
			return t
		}
		if isBinary(in.Body) {
			return typeBinary
		}
		if isLinkList(in.Body) {
			return typeXML
		}
	case typeXML, "text/xml":
		switch {
		case isGzip(in.Body):
			return typeGzip
		case isLinkList(in.Body): // a text in it may have "<html"
		case string(rootOf(in.Body)) == "html" || bytes.Contains(in.Body[:min(len(in.Body), 512)], []byte("<html")):
			return typeXHTML
		}
		return typeXML
	case typeRSS, typeAtom, typeRDF:
		if isGzip(in.Body) {
			return typeGzip
		}
	case typeGzip, "application/x-gzip":
		if !isGzip(in.Body) {
			return sniff(in.Body)
		}
	default:
		if strings.HasSuffix(declared, "+xml") && isLinkList(in.Body) { // application/x-rss+xml and others
			return typeXML
		}
	}
	return declared
}

func isGzip(body []byte) bool { return bytes.HasPrefix(body, []byte(markGzip)) }

// isLinkList reports whether the root of a body is that of a sitemap, a sitemap index or a feed.
func isLinkList(body []byte) bool {
	switch string(rootOf(body)) {
	case "urlset", "sitemapindex", "rss", "RDF", "feed":
		return true
	}
	return false
}

// rootOf returns the name of a body's first element, without prefix, if only white space, comments, processing
// instructions and a DOCTYPE come before it, and it begins within rootSearched bytes. Otherwise it returns nil.
func rootOf(body []byte) []byte {
	s := bytes.TrimPrefix(body[:min(len(body), rootSearched)], []byte("\xef\xbb\xbf"))
	for {
		s = bytes.TrimLeft(s, " \t\r\n\f")
		end := ">"
		switch {
		case bytes.HasPrefix(s, []byte("<!--")):
			end = "-->"
		case bytes.HasPrefix(s, []byte("<?")):
			end = "?>"
		case bytes.HasPrefix(s, []byte("<!")):
			if mark, subset := bytes.IndexByte(s, '>'), bytes.IndexByte(s, '['); subset >= 0 && subset < mark {
				end = "]>"
			}
		case bytes.HasPrefix(s, []byte("<")):
			name := s[1:]
			if n := bytes.IndexAny(name, " \t\r\n\f/>"); n > 0 {
				name = name[:n]
			}
			return name[bytes.IndexByte(name, ':')+1:]
		default:
			return nil
		}
		at := bytes.Index(s, []byte(end))
		if at < 0 {
			return nil
		}
		s = s[at+len(end):]
	}
}

// bareType returns a Content-Type without parameters, in lower case.
func bareType(s string) string {
	s, _, _ = strings.Cut(s, ";")
	s = strings.ToLower(strings.TrimSpace(s))
	switch {
	case s == "":
		return ""
	case strings.IndexByte(s, '/') <= 0 && s != "text" || strings.ContainsAny(s, " \t\"<>,") || len(s) > 127:
		return "unknown/unknown"
	case s == typeHTML: // return the constant, so that the header's memory is not kept
		return typeHTML
	}
	return s
}

// formatMark is the byte sequence with which bodies of a type begin.
type formatMark struct{ mark, mediaType string }

// marked returns the type with whose mark a body begins, or "".
func marked(body []byte, marks []formatMark) string {
	for i := range marks {
		if m := &marks[i]; len(body) >= len(m.mark) && string(body[:len(m.mark)]) == m.mark {
			return m.mediaType
		}
	}
	return ""
}

// magics are the marks of formats that are often served as text, from sections 6 and 7 of the WHATWG MIME sniffing
// standard.
var magics = [...]formatMark{
	{"%PDF-", "application/pdf"},
	{"%!PS-Adobe-", "application/postscript"},
	{"\x89PNG\r\n\x1a\n", "image/png"},
	{"GIF87a", "image/gif"},
	{"GIF89a", "image/gif"},
	{"\xff\xd8\xff", "image/jpeg"},
	{markGzip, typeGzip},
	{"PK\x03\x04", "application/zip"},
	{"Rar!\x1a\x07", "application/x-rar-compressed"},
	{"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"},
	{"BZh91AY&SY", "application/x-bzip2"},
	{"\xfd7zXZ\x00", "application/x-xz"},
	{"\x28\xb5\x2f\xfd", "application/zstd"},
	{"\x1a\x45\xdf\xa3", "video/webm"},
	{"OggS\x00", "application/ogg"},
	{"ID3\x02", "audio/mpeg"}, // with its version: a text may begin with the name
	{"ID3\x03", "audio/mpeg"},
	{"ID3\x04", "audio/mpeg"},
	{"\x7fELF", "application/x-elf"},
	{"wOFF", "font/woff"},
	{"wOF2", "font/woff2"},
	{"\x00asm", "application/wasm"},
	{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"},
}

// shortMagics are marks of the same sections with which text may begin as well. They count only if the header does not
// give a type and the body is binary.
var shortMagics = [...]formatMark{
	{"BM", "image/bmp"},
	{"\x00\x00\x01\x00", "image/x-icon"},
	{"\x00\x00\x02\x00", "image/x-icon"},
	{"MThd\x00\x00\x00\x06", "audio/midi"},
	{".snd", "audio/basic"},
	{"\x00\x01\x00\x00", "font/ttf"},
	{"OTTO", "font/otf"},
	{"ttcf", "font/collection"},
	{"\xff\xfb", "audio/mpeg"},
	{"\xff\xf3", "audio/mpeg"},
	{"\xff\xf2", "audio/mpeg"},
}

// shortMagic returns the format of a binary body by its mark, or typeBinary.
func shortMagic(body []byte) string {
	if t := marked(body, shortMagics[:]); t != "" {
		return t
	}
	if len(body) >= 36 && string(body[34:36]) == "LP" {
		return "application/vnd.ms-fontobject"
	}
	if len(body) >= 12 && string(body[:4]) == "FORM" && string(body[8:12]) == "AIFF" {
		return "audio/aiff"
	}
	return typeBinary
}

// magic returns the binary format of a body by its mark, or "".
func magic(body []byte) string {
	if t := marked(body, magics[:]); t != "" {
		return t
	}
	if len(body) >= 12 && string(body[4:8]) == "ftyp" {
		return "video/mp4"
	}
	if len(body) >= 12 && string(body[:4]) == "RIFF" {
		switch string(body[8:12]) {
		case "WEBP":
			return "image/webp"
		case "WAVE":
			return "audio/wave"
		case "AVI ":
			return "video/avi"
		}
	}
	return ""
}

// htmlMarks are the tags by which the standard recognises HTML, in upper case.
var htmlMarks = [...]string{
	"!DOCTYPE HTML", "HTML", "HEAD", "SCRIPT", "IFRAME", "H1", "DIV", "FONT", "TABLE", "A", "STYLE", "TITLE", "B",
	"BODY", "BR", "P", "META", "LINK", "!--",
}

// sniff determines the type from the bytes alone.
func sniff(body []byte) string {
	if t := magic(body); t != "" {
		return t
	}
	if isBinary(body) {
		return shortMagic(body)
	}
	if isLinkList(body) { // without an XML declaration, too
		return typeXML
	}
	s := bytes.TrimLeft(bytes.TrimPrefix(body[:min(len(body), 512)], []byte("\xef\xbb\xbf")), " \t\r\n\f")
	if bytes.HasPrefix(s, []byte("<?xml")) {
		if bytes.Contains(s, []byte("<html")) {
			return typeXHTML
		}
		return typeXML
	}
	if len(s) > 0 && s[0] == '<' {
		for _, mark := range &htmlMarks {
			n := len(mark) + 1
			if len(s) <= n || !strings.EqualFold(string(s[1:n]), mark) {
				continue
			}
			if s[n] == ' ' || s[n] == '>' || mark == "!--" {
				return typeHTML
			}
		}
	}
	return typePlain
}

// isBinary reports whether the first 512 bytes have control characters that text does not have. UTF-16 is text.
func isBinary(body []byte) bool {
	hasMark := bytes.HasPrefix(body, []byte("\xff\xfe")) || bytes.HasPrefix(body, []byte("\xfe\xff"))
	if hasMark || looksUTF16(body) != "" {
		return false
	}
	for _, c := range body[:min(len(body), 512)] {
		if c <= 0x08 || c == 0x0b || 0x0e <= c && c <= 0x1a || 0x1c <= c && c <= 0x1f {
			return true
		}
	}
	return false
}
