// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bytes"
	"strconv"
)

// Prefix of the names under which HTTP fields are kept that no longer speak of the stored body.
const renamedPrefix = "X-Crawler-"

// headKind says which HTTP fields of a head must agree with the body beside it.
type headKind uint8

const (
	requestHead  headKind = iota // nothing is renamed
	responseHead                 // no transfer coding, and the true length
	revisitHead                  // no transfer coding; the length is that of the body that is not stored
)

// appendHead appends an HTTP head that every reader splits where we do: the lines of head up to its first empty line,
// as received, then exactly one empty line.
//
// The body beside it is stored without its transfer coding, so a Transfer-Encoding field would make readers look for
// chunks in plain text, and a Content-Length that is not bodyBytes would make them cut it or wait for more. Such
// fields stay readable under another name, the name of the field alone being changed:
//
//	Transfer-Encoding: chunked      →  X-Crawler-Transfer-Encoding: chunked
//	Content-Length: 99 (wrong)      →  X-Crawler-Content-Length: 99
//	                                   Content-Length: 12018
//
// Lines without any visible ASCII character are dropped: they carry nothing, and some readers (Python's rstrip,
// JavaScript's trimEnd) take them for the empty line, so that a page could move the border of its own body.
func appendHead(dst, head []byte, kind headKind, bodyBytes int) []byte {
	needLength, haveLength := false, false
	for lines := 0; len(head) > 0; {
		line, rest, _ := bytes.Cut(head, []byte{'\n'})
		if len(line) > 0 && line[len(line)-1] == '\r' {
			line = line[:len(line)-1]
		}
		if len(line) == 0 && lines > 0 {
			break
		}
		head = rest
		if !visible(line) {
			continue
		}
		lines++
		if lines == 1 {
			if kind == responseHead && bodyBytes == 0 && bodiless(line) {
				kind = revisitHead // the length is of the representation, not of this message: not wrong
			}
			// npm's reader looks for CR LF CR LF behind the status line, so a head without fields would end
			// somewhere in the body: give it one.
			needLength = kind == responseHead && !hasField(head)
		} else if kind != requestHead {
			name, value, _ := bytes.Cut(line, []byte{':'})
			indent := len(name)
			name = bytes.TrimLeft(name, " \t\r\v\f\x00")
			indent -= len(name)
			name = bytes.TrimRight(name, " \t\r\v\f\x00")
			rename := false
			switch {
			case equalFold(name, "transfer-encoding"):
				rename = true
				needLength = kind == responseHead
			case kind == responseHead && equalFold(name, "content-length"):
				rename = haveLength || indent > 0 || continued(rest) || !saysLength(value, bodyBytes)
				haveLength = haveLength || !rename
				needLength = true
			}
			if rename {
				// An indented line continues the one before, but to some readers it is a field all the same.
				dst = append(dst, line[:indent]...)
				dst = append(dst, renamedPrefix...)
				line = line[indent:]
			}
		}
		dst = append(dst, line...)
		dst = append(dst, '\r', '\n')
	}
	if needLength && !haveLength {
		dst = append(dst, "Content-Length: "...)
		dst = strconv.AppendInt(dst, int64(bodyBytes), 10)
		dst = append(dst, '\r', '\n')
	}
	return append(dst, '\r', '\n')
}

// hasField tells whether a visible line follows before the first empty one.
func hasField(head []byte) bool {
	for len(head) > 0 {
		line, rest, _ := bytes.Cut(head, []byte{'\n'})
		if visible(line) {
			return true
		}
		if len(bytes.TrimSuffix(line, []byte{'\r'})) == 0 {
			return false
		}
		head = rest
	}
	return false
}

// visible tells whether a line has a byte that any reader shows.
func visible(line []byte) bool {
	for _, c := range line {
		if ' ' < c && c < 0x7f {
			return true
		}
	}
	return false
}

// bodiless tells whether a status line announces a response that has no body by definition (RFC 9112, 6.3): its
// Content-Length, if any, is of the representation that a GET would have given.
func bodiless(statusLine []byte) bool {
	_, rest, _ := bytes.Cut(statusLine, []byte{' '})
	rest = bytes.TrimLeft(rest, " ")
	return bytes.HasPrefix(rest, []byte("304")) || bytes.HasPrefix(rest, []byte("204")) ||
		len(rest) >= 3 && rest[0] == '1'
}

// continued tells whether the next line continues a field (obs-fold of RFC 9112, 5.2).
func continued(rest []byte) bool {
	return len(rest) > 0 && (rest[0] == ' ' || rest[0] == '\t')
}

// saysLength tells whether a field's value is the decimal number n and nothing else.
func saysLength(value []byte, n int) bool {
	value = bytes.Trim(value, " \t")
	if len(value) == 0 || len(value) > 18 {
		return false
	}
	got := 0
	for _, c := range value {
		if c < '0' || c > '9' {
			return false
		}
		got = got*10 + int(c-'0')
	}
	return got == n
}
