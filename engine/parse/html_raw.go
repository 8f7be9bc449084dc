// SPDX-License-Identifier: Apache-2.0

package parse

import "bytes"

// rawEnd returns the length of the raw text at the start of rest: up to its element's end tag, that of the noscript
// around it, or the page's end. With scripting, all of a noscript is text up to its end tag, so authors do not notice
// that "<noscript><iframe …/></noscript>" does not end the iframe, whose text would be the rest of the page.
func (p *htmlPass) rawEnd(el element, name, rest []byte) int {
	switch {
	case el == elPlaintext:
		return len(rest)
	case el == elScript:
		return scriptEnd(rest)
	case !p.noscript:
		return endTagAt(rest, name)
	}
	n := endTagAt(rest, name, noscriptName)
	if n < len(rest) && isTagName(rest[n+2:], noscriptName) {
		p.waiting = notSpecial
	}
	return n
}

// endTagAt returns the offset of the first end tag of one of the names, or len(rest) if there is none.
func endTagAt(rest []byte, names ...[]byte) int {
	for at := 0; ; {
		i := bytes.Index(rest[at:], []byte("</"))
		if i < 0 {
			return len(rest)
		}
		at += i
		for _, name := range names {
			if isTagName(rest[at+2:], name) {
				return at
			}
		}
		at += 2
	}
}

// isTagName reports whether b begins with a tag name, ignoring case, and a byte that ends it.
func isTagName(b, name []byte) bool {
	if len(b) <= len(name) || !bytes.EqualFold(b[:len(name)], name) {
		return false
	}
	c := b[len(name)]
	return isSpace(c) || c == '/' || c == '>'
}

var (
	scriptName   = []byte("script")
	noscriptName = []byte("noscript")
	openComment  = []byte("<!--")
)

// scriptEnd is endTagAt for scripts, whose text may contain a false end tag: between "<!--" and "-->", an end tag
// belongs to a script that begins there (the standard's script data escaped and double escaped states).
func scriptEnd(rest []byte) int {
	for at, end := 0, -1; ; {
		if end < at { // search it once, not again after each comment
			end = endTagAt(rest[at:], scriptName) + at
		}
		from := bytes.Index(rest[at:end], openComment)
		if from < 0 {
			return end
		}
		// "<!-->" and "<!--->" are complete comments: the hyphens of the start count for the end.
		from += at + len("<!")
		next, closed := escapedEnd(rest, from)
		if !closed {
			return next
		}
		at = next
	}
}

// escapedEnd continues inside "<!--". It returns the offset at which the script ends there, or, with closed, the
// offset after "-->".
func escapedEnd(rest []byte, at int) (end int, closed bool) {
	for inner := false; ; {
		i := bytes.IndexAny(rest[at:], "-<")
		if i < 0 {
			return len(rest), false
		}
		at += i
		switch b := rest[at:]; {
		case bytes.HasPrefix(b, []byte("-->")):
			return at + 3, true
		case b[0] == '-':
		case len(b) > 2 && b[1] == '/' && isTagName(b[2:], scriptName):
			if !inner {
				return at, false
			}
			inner = false
		case isTagName(b[1:], scriptName):
			inner = true
		}
		at++
	}
}
