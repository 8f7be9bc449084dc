// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"strings"
)

// prescan finds the charset that a page declares, by the WHATWG algorithm "prescan a byte stream to determine its
// encoding": a tiny tokenizer that knows comments, tags and attributes, but not scripts. It returns a canonical name,
// or "". If no meta tag declares a charset, an XML declaration counts. x/net's charset.DetermineEncoding is not used:
// it runs a whole tokenizer, and does not report whether the header or the page decided.
func prescan(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte("<\x00?\x00x\x00")):
		return "utf-16le"
	case bytes.HasPrefix(b, []byte("\x00<\x00?\x00x")):
		return "utf-16be"
	}
	s := prescanner{b: b}
	if name := s.run(); name != "" {
		return name
	}
	return xmlEncoding(b)
}

type prescanner struct {
	b  []byte
	at int
}

func (s *prescanner) run() string {
	for s.at < len(s.b) {
		open := bytes.IndexByte(s.b[s.at:], '<')
		if open < 0 {
			return ""
		}
		s.at += open
		rest := s.b[s.at:]
		switch {
		case bytes.HasPrefix(rest, []byte("<!--")):
			end := bytes.Index(rest[2:], []byte("-->")) // may share its hyphens with the start
			if end < 0 {
				return ""
			}
			s.at += 2 + end + 3
		case len(rest) > 5 && strings.EqualFold(string(rest[1:5]), "meta") && (isSpace(rest[5]) || rest[5] == '/'):
			s.at += 6
			if name := s.meta(); name != "" {
				return name
			}
		case len(rest) > 1 && isLetter(rest[1]), len(rest) > 2 && rest[1] == '/' && isLetter(rest[2]):
			for s.at < len(s.b) && !isSpace(s.b[s.at]) && s.b[s.at] != '>' {
				s.at++
			}
			for {
				if name, _ := s.attribute(); name == "" {
					break
				}
			}
			s.at++
		case len(rest) > 1 && (rest[1] == '!' || rest[1] == '/' || rest[1] == '?'):
			end := bytes.IndexByte(rest, '>')
			if end < 0 {
				return ""
			}
			s.at += end + 1
		default:
			s.at++
		}
	}
	return ""
}

// meta reads the attributes of a meta tag.
func (s *prescanner) meta() string {
	var pragma, needPragma, decided bool
	var seen [3]bool // http-equiv, content, charset: the first of equal attributes counts
	charset := ""
	for {
		name, value := s.attribute()
		if name == "" {
			break
		}
		switch {
		case name == "http-equiv" && !seen[0]:
			seen[0] = true
			pragma = value == "content-type"
		case name == "content" && !seen[1]:
			seen[1] = true
			if label := charsetInContent(value); label != "" && !decided {
				if c := canonicalLabel(label); c != "" {
					charset, needPragma, decided = c, true, true
				}
			}
		case name == "charset" && !seen[2]:
			seen[2] = true
			charset, needPragma, decided = canonicalLabel(value), false, true
		}
	}
	if s.at >= len(s.b) { // the end of b cuts the tag: its other attributes are unknown
		return ""
	}
	s.at++
	if !decided || needPragma && !pragma {
		return ""
	}
	switch charset {
	case "utf-16le", "utf-16be": // false: the tag could not be read as ASCII
		return charsetUTF8
	case "x-user-defined":
		return charsetDefault
	}
	return charset
}

// attribute is the standard's "get an attribute". It returns name and value in lower case. At the end of the tag the
// name is "", and s.at is the offset of the '>'.
func (s *prescanner) attribute() (name, value string) {
	b := s.b
	for s.at < len(b) && (isSpace(b[s.at]) || b[s.at] == '/') {
		s.at++
	}
	if s.at >= len(b) || b[s.at] == '>' {
		return "", ""
	}
	begin := s.at
	for s.at < len(b) && !isSpace(b[s.at]) && b[s.at] != '/' && b[s.at] != '>' && (b[s.at] != '=' || s.at == begin) {
		s.at++
	}
	name = strings.ToLower(string(b[begin:s.at]))
	s.spaces()
	if s.at >= len(b) || b[s.at] != '=' {
		return name, ""
	}
	s.at++
	s.spaces()
	if s.at >= len(b) {
		return "", ""
	}
	if quote := b[s.at]; quote == '"' || quote == '\'' {
		end := bytes.IndexByte(b[s.at+1:], quote)
		if end < 0 {
			s.at = len(b)
			return "", ""
		}
		value = string(b[s.at+1 : s.at+1+end])
		s.at += end + 2
		return name, strings.ToLower(value)
	}
	begin = s.at
	for s.at < len(b) && !isSpace(b[s.at]) && b[s.at] != '>' {
		s.at++
	}
	return name, strings.ToLower(string(b[begin:s.at]))
}

func (s *prescanner) spaces() {
	for s.at < len(s.b) && isSpace(s.b[s.at]) {
		s.at++
	}
}

// charsetInContent is the standard's "extract a character encoding from a meta element". s must be in lower case.
func charsetInContent(s string) string {
	for {
		at := strings.Index(s, "charset")
		if at < 0 {
			return ""
		}
		s = strings.TrimLeft(s[at+len("charset"):], " \t\n\f\r")
		rest, ok := strings.CutPrefix(s, "=")
		if !ok {
			continue
		}
		rest = strings.TrimLeft(rest, " \t\n\f\r")
		if rest == "" {
			return ""
		}
		if quote := rest[0]; quote == '"' || quote == '\'' {
			label, _, closed := strings.Cut(rest[1:], string(quote))
			if !closed {
				return ""
			}
			return label
		}
		if end := strings.IndexAny(rest, "; \t\n\f\r"); end >= 0 {
			rest = rest[:end]
		}
		return rest
	}
}

// xmlEncoding reads the encoding of an XML declaration.
func xmlEncoding(b []byte) string {
	if !bytes.HasPrefix(b, []byte("<?xml")) {
		return ""
	}
	declaration, _, ok := bytes.Cut(b, []byte(">"))
	if !ok {
		return ""
	}
	_, rest, ok := bytes.Cut(declaration, []byte("encoding"))
	if !ok {
		return ""
	}
	rest, ok = bytes.CutPrefix(bytes.TrimLeft(rest, " \t\n\f\r"), []byte("="))
	rest = bytes.TrimLeft(rest, " \t\n\f\r")
	if !ok || len(rest) == 0 || rest[0] != '"' && rest[0] != '\'' {
		return ""
	}
	label, _, ok := bytes.Cut(rest[1:], rest[:1])
	if !ok {
		return ""
	}
	name := canonicalLabel(string(label))
	if name == "utf-16le" || name == "utf-16be" {
		return charsetUTF8
	}
	return name
}

// isSpace is HTML's ASCII white space.
func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f'
}
