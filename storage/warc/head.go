// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bytes"
	"strconv"
)

// renamedPrefix begins the new names of HTTP fields that do not describe the stored body.
const renamedPrefix = "X-Crawler-"

// headKind says which HTTP fields of a head must agree with the stored body.
type headKind uint8

const (
	requestHead  headKind = iota // nothing is renamed
	responseHead                 // no transfer coding, and the stored body's length
	revisitHead                  // no transfer coding; the length is that of the body that is not stored
)

// appendHead appends an HTTP head that every reader separates from the body at the same place: the lines of head up
// to its first empty line, as received, then exactly one empty line.
//
// The body is stored without its transfer coding. A Transfer-Encoding field would make readers look for chunks in it,
// and a Content-Length other than bodyBytes would make them cut it or wait for more. Such fields are kept under
// another name; nothing else in their lines changes:
//
//	Transfer-Encoding: chunked      →  X-Crawler-Transfer-Encoding: chunked
//	Content-Length: 99 (wrong)      →  X-Crawler-Content-Length: 99
//	                                   Content-Length: 12018
//
// Lines without any visible ASCII character are dropped. They carry no information, and some readers (Python's rstrip,
// JavaScript's trimEnd) take them for the empty line, so a page could shift the start of its own body.
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
				kind = revisitHead // a Content-Length is that of the representation, not of this message: keep it
			}
			// npm's reader looks for CR LF CR LF after the status line. With it, a head without fields would end
			// somewhere in the body, so add a field.
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
				// An indented line continues the previous one, but some readers take it for a field.
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

// hasField reports whether a visible line comes before the first empty one.
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

// visible reports whether a line contains a visible ASCII character.
func visible(line []byte) bool {
	for _, c := range line {
		if ' ' < c && c < 0x7f {
			return true
		}
	}
	return false
}

// bodiless reports whether a status line announces a response that by definition has no body (RFC 9112, 6.3). Its
// Content-Length, if any, is that of the representation that a GET would have returned.
func bodiless(statusLine []byte) bool {
	_, rest, _ := bytes.Cut(statusLine, []byte{' '})
	rest = bytes.TrimLeft(rest, " ")
	return bytes.HasPrefix(rest, []byte("304")) || bytes.HasPrefix(rest, []byte("204")) ||
		len(rest) >= 3 && rest[0] == '1'
}

// continued reports whether the next line continues a field (obs-fold of RFC 9112, 5.2).
func continued(rest []byte) bool {
	return len(rest) > 0 && (rest[0] == ' ' || rest[0] == '\t')
}

// saysLength reports whether a field's value is exactly the decimal number n.
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
