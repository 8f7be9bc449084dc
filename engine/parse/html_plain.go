// SPDX-License-Identifier: Apache-2.0

package parse

import "bytes"

// plain reads the token at an offset of the page without the lexer, if it is text, an end tag, or a start tag in the
// usual form: 19 of 20 tokens of real pages (WCXB). It finds the ends of texts and values with vector instructions
// (bytes.IndexByte), not byte by byte; this made parsing as a whole half as fast again. With all tags in one table and
// white space skipped at once, parsing as a whole reaches 0.4 to 0.5 of the lexer's speed; it was a third. For any
// other token plain changes nothing and returns false, and the lexer reads the token.
func (p *htmlPass) plain(at int) bool {
	rest := p.src[at : len(p.src)+1] // with the lexer's end mark, which ends any token that the page's end cuts
	if len(rest) < 4 {
		return false
	}
	switch {
	case rest[0] == '<' && rest[1] == '/':
		return isLetter(rest[2]) && p.plainEnd(at, rest)
	case p.lexerOnly:
		return false
	case rest[0] != '<':
		rest = rest[:len(rest)-1]
		n := bytes.IndexByte(rest, '<')
		if n < 0 {
			n = len(rest)
		}
		p.raw = notSpecial
		p.characters(at, rest[:n])
		p.moveTo(at + n)
		return true
	}
	return isLetter(rest[1]) && p.plainStart(at, rest)
}

func (p *htmlPass) plainEnd(at int, rest []byte) bool {
	n := bytes.IndexByte(rest, '>')
	if n < 0 {
		return false
	}
	name := tagName(rest[2:n])
	if len(name) < n-2 {
		n = attributesEnd(rest, 2+len(name))
	}
	lower(name)
	p.raw = notSpecial
	p.moveTo(at + min(n+1, len(rest)-1))
	p.endTag(name)
	return true
}

// attributesEnd returns the offset of the '>' that ends an end tag whose attributes begin at n, skipping any in quotes.
// The attributes of end tags mean nothing.
func attributesEnd(b []byte, n int) int {
	for ; n < len(b) && b[n] != '>'; n++ {
		if b[n] != '=' {
			continue
		}
		for n+1 < len(b) && isSpace(b[n+1]) {
			n++
		}
		if n+1 < len(b) && (b[n+1] == '"' || b[n+1] == '\'') {
			size := bytes.IndexByte(b[n+2:], b[n+1])
			if size < 0 {
				return len(b)
			}
			n += size + 2
		}
	}
	return n
}

// plainStart reads a start tag in the form
//
//	<a class="wide" href="x" hidden>
//
// The lexer reads all other forms: other quotes or none, capitals in attribute names, white space around '=', slashes
// before the end.
func (p *htmlPass) plainStart(at int, rest []byte) bool {
	n := 2
	for isAlnum(rest[n]) {
		n++
	}
	name := rest[1:n]
	lower(name)
	t := classify(name)
	ownsText := t.el.isRaw() && p.foreign == 0 && !p.xml && p.template == 0 && p.waiting == notSpecial
	if t.el == elSVG || t.el == elMath || t.el.isRaw() && !ownsText || string(name) == "xml" {
		return false
	}
	keeps, isHidden, void := p.keeps(t), false, false
	p.attrs, p.noQuote = p.attrs[:0], false
	for rest[n] != '>' {
		if rest[n] == '/' && rest[n+1] == '>' {
			n, void = n+1, true
			break
		}
		from := skipSpace(rest, n)
		if from == n {
			return false
		}
		if n = from; rest[n] == '>' || rest[n] == '/' {
			continue
		}
		for isNamePart[rest[n]] {
			n++
		}
		if n == from {
			return false
		}
		key := rest[from:n]
		var value []byte
		if rest[n] == '=' {
			if rest[n+1] != '"' {
				return false
			}
			size := bytes.IndexByte(rest[n+2:], '"')
			if size < 0 {
				return false
			}
			value = rest[n+2 : n+2+size]
			n += size + 3
		} else if rest[skipSpace(rest, n)] == '=' {
			return false
		}
		if keeps && len(p.attrs) < maxAttributes {
			p.attrs = append(p.attrs, attribute{key, value})
		}
		switch string(key) {
		case "hidden":
			isHidden = !bytes.Contains(value, []byte("until-found"))
		case "data-nosnippet":
			p.noQuote = true
		}
	}
	p.raw = notSpecial
	at += n + 1
	p.moveTo(at)
	p.startTag(t, name, void, isHidden)
	if ownsText {
		size := p.rawEnd(t.el, name, p.src[at:])
		p.raw = notSpecial
		p.rawText(t.el, p.unmask(p.src[at:at+size]))
		p.moveTo(at + size)
	}
	return true
}

// isNamePart has the bytes of plain attribute names.
var isNamePart = func() (is [256]bool) {
	for c := range is {
		is[c] = isDigit(byte(c)) || 'a' <= c && c <= 'z' || c == '-' || c == '_' || c == ':'
	}
	return is
}()

func skipSpace(b []byte, n int) int {
	for isSpace(b[n]) {
		n++
	}
	return n
}

// lower converts a name to lower case in place, as the lexer does.
func lower(name []byte) {
	for i, c := range name {
		if c-'A' < 26 {
			name[i] = c | 0x20
		}
	}
}
