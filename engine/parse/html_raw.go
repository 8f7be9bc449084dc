// SPDX-License-Identifier: Apache-2.0

package parse

import "bytes"

// rawEnd returns where the raw text at the begin of rest ends: at the end tag that ends its element, or with the page.
func rawEnd(el element, name, rest []byte) int {
	switch el {
	case elPlaintext:
		return len(rest)
	case elScript:
		return scriptEnd(rest)
	}
	return endTagAt(name, rest)
}

// endTagAt returns where the end tag of a name is, the length of rest if it is nowhere.
func endTagAt(name, rest []byte) int {
	for at := 0; ; {
		i := bytes.Index(rest[at:], []byte("</"))
		if i < 0 {
			return len(rest)
		}
		if at += i; isTagName(rest[at+2:], name) {
			return at
		}
		at += 2
	}
}

// isTagName says that b begins with a tag name in any case, and with what ends one.
func isTagName(b, name []byte) bool {
	if len(b) <= len(name) || !bytes.EqualFold(b[:len(name)], name) {
		return false
	}
	c := b[len(name)]
	return isSpace(c) || c == '/' || c == '>'
}

var (
	scriptName  = []byte("script")
	openComment = []byte("<!--")
)

// scriptEnd is endTagAt for scripts, whose text may hold what looks like the end: from "<!--" until "-->", a script that
// begins in there has its end in there, too (the standard's script data escaped and double escaped states).
func scriptEnd(rest []byte) int {
	for at, end := 0, -1; ; {
		if end < at { // not looked for again behind each comment
			end = endTagAt(scriptName, rest[at:]) + at
		}
		from := bytes.Index(rest[at:end], openComment)
		if from < 0 {
			return end
		}
		// "<!-->" and "<!--->" are whole comments: the hyphens of the begin count for the end.
		from += at + len("<!")
		next, closed := escapedEnd(rest, from)
		if !closed {
			return next
		}
		at = next
	}
}

// escapedEnd goes on from inside of "<!--", and returns where the script ends in it, or closed and where that does.
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
