// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Types of records (WARC-Type). This package reads resource, conversion and continuation records but never writes
// them.
const (
	TypeWarcinfo     = "warcinfo"
	TypeRequest      = "request"
	TypeResponse     = "response"
	TypeMetadata     = "metadata"
	TypeRevisit      = "revisit"
	TypeResource     = "resource"
	TypeConversion   = "conversion"
	TypeContinuation = "continuation"
)

// Field is one named field: of a WARC header, or of a block of type application/warc-fields.
type Field struct {
	Name, Value string
}

// Location is the place of a record: one gzip member (or, in a file without compression, one record with the blank
// lines after it). Offset and Length are in bytes of the file. A Length of 0 means that the record cannot be read by
// itself, because its gzip member also contains other records (only other tools write that).
type Location struct {
	File           string // base name
	Offset, Length int64
}

// Record is one record as a Reader found it. The Record, its Header and its Block are valid until the Reader's next
// call; strings may be kept. Its methods may be called from several goroutines.
type Record struct {
	Version string    // "WARC/1.1"
	Type    string    // lower case: "response"; "" when the header has none
	ID      string    // WARC-Record-ID without angle brackets
	URI     string    // WARC-Target-URI without angle brackets, otherwise as stored: other tools store anything
	Date    time.Time // WARC-Date in UTC; zero if absent or unreadable
	Header  []Field   // all fields in order, names as stored, values trimmed, folded lines joined
	Block   []byte    // Content-Length bytes
	Location
}

// Field returns the first value of a header field, "" if absent. Names are compared without regard to case.
func (r *Record) Field(name string) string {
	for i := range r.Header {
		if strings.EqualFold(r.Header[i].Name, name) {
			return r.Header[i].Value
		}
	}
	return ""
}

// ErrNotHTTP is returned by HTTP and Payload for a record whose block is not an HTTP message.
var ErrNotHTTP = errors.New("the record holds no HTTP message")

// HTTP splits the block of a request, response or revisit record at the first empty line. The head includes that line,
// so head and body together are the block. A block without an empty line is all head. Both are slices of the block.
// The error of other records is ErrNotHTTP.
func (r *Record) HTTP() (head, body []byte, err error) {
	if !r.isHTTP() {
		return nil, nil, fmt.Errorf("splitting the %s record at offset %d: %w", r.Type, r.Offset, ErrNotHTTP)
	}
	n := headLength(r.Block)
	return r.Block[:n:n], r.Block[n:], nil
}

// isHTTP decides by the record's Content-Type, or by the first bytes if that is missing: some tools write text/dns or
// ftp exchanges as response records.
func (r *Record) isHTTP() bool {
	switch r.Type {
	case TypeRequest, TypeResponse, TypeRevisit:
	default:
		return false
	}
	ct := r.Field("Content-Type")
	if ct == "" {
		return bytes.HasPrefix(r.Block, []byte("HTTP/"))
	}
	const httpType = "application/http"
	return len(ct) >= len(httpType) && strings.EqualFold(ct[:len(httpType)], httpType)
}

// Payload returns the content of the record: the body of an HTTP message without transfer coding, or the block of any
// other record. A body that this package wrote is a slice of the block. Files of other tools keep chunked framing,
// which is removed into a new buffer. If the framing does not parse, the head is taken to be wrong (common: crawlers
// that decode the body and keep the head), and the body is returned as stored.
func (r *Record) Payload() ([]byte, error) {
	if !r.isHTTP() {
		return r.Block, nil
	}
	head, body, err := r.HTTP()
	if err != nil {
		return nil, err
	}
	if !isChunked(head) {
		return body, nil
	}
	if plain, ok := dechunk(body); ok {
		return plain, nil
	}
	return body, nil
}

// Fields parses the block of a warcinfo or metadata record (application/warc-fields) and returns its fields in order.
func (r *Record) Fields() []Field {
	return appendFields(nil, string(r.Block))
}

// headLength returns the length of the HTTP head at the start of b, with the empty line; len(b) if there is none.
func headLength(b []byte) int {
	for i := 0; i < len(b); {
		n := bytes.IndexByte(b[i:], '\n')
		if n < 0 {
			return len(b)
		}
		line := b[i : i+n]
		i += n + 1
		if len(bytes.TrimRight(line, "\r")) == 0 {
			return i
		}
	}
	return len(b)
}

// isChunked reports whether the last transfer coding that a head names is chunked.
func isChunked(head []byte) bool {
	chunked := false
	for len(head) > 0 {
		line, rest, _ := bytes.Cut(head, []byte{'\n'})
		head = rest
		name, value, ok := bytes.Cut(line, []byte{':'})
		if ok && equalFold(bytes.TrimRight(name, " \t"), "transfer-encoding") {
			value = bytes.TrimSpace(value)
			chunked = len(value) >= 7 && equalFold(value[len(value)-7:], "chunked")
		}
	}
	return chunked
}

// dechunk removes chunked framing. ok is false if the body does not begin with a chunk, or a size line is bad. If the
// body ends early, plain is what arrived.
func dechunk(b []byte) (plain []byte, ok bool) {
	plain = make([]byte, 0, len(b))
	for len(b) > 0 {
		line, rest, found := bytes.Cut(b, []byte{'\n'})
		if !found {
			return plain, len(plain) > 0
		}
		size, ok := chunkSize(line)
		if !ok {
			return nil, false
		}
		if size == 0 {
			return plain, true // trailers are not part of the payload
		}
		if size >= len(rest) {
			return append(plain, rest...), true
		}
		plain = append(plain, rest[:size]...)
		b = bytes.TrimPrefix(bytes.TrimPrefix(rest[size:], []byte{'\r'}), []byte{'\n'})
	}
	return plain, true
}

// chunkSize reads the hexadecimal size at the start of a chunk's first line. It refuses sizes beyond
// DefaultMaxBlockBytes.
func chunkSize(line []byte) (size int, ok bool) {
	digits := 0
	for ; digits < len(line); digits++ {
		d := unhex(line[digits])
		if d < 0 {
			break
		}
		size = size<<4 | d
		if size > DefaultMaxBlockBytes {
			return 0, false
		}
	}
	if digits == 0 {
		return 0, false
	}
	tail := bytes.TrimRight(line[digits:], " \t\r")
	return size, len(tail) == 0 || tail[0] == ';'
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// equalFold compares b with a lower-case ASCII word without allocating.
func equalFold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// appendFields parses "Name: value" lines. A line that begins with a space or tab continues the previous value (joined
// by one space). Lines without a colon are skipped, as in every other reader.
func appendFields(dst []Field, text string) []Field {
	var folded []byte // value of the last field while it is continued: avoids joining in quadratic time
	unfold := func() {
		if folded != nil {
			dst[len(dst)-1].Value = strings.TrimSpace(string(folded))
			folded = nil
		}
	}
	first := len(dst)
	for len(text) > 0 {
		line, rest, _ := strings.Cut(text, "\n")
		text = rest
		line = strings.TrimRight(line, "\r") // CR CR LF: text mode on Windows
		if line == "" {
			continue
		}
		if line[0] == ' ' || line[0] == '\t' {
			if len(dst) > first {
				if folded == nil {
					folded = append(folded, dst[len(dst)-1].Value...)
				}
				folded = append(append(folded, ' '), strings.TrimSpace(line)...)
			}
			continue
		}
		unfold()
		if name, value, ok := strings.Cut(line, ":"); ok {
			dst = append(dst, Field{strings.TrimSpace(name), strings.TrimSpace(value)})
		}
	}
	unfold()
	return dst
}

// dateLayouts are the forms of WARC-Date, the usual one first. WARC 1.1 allows any precision from years (ISO 8601 as
// profiled by W3C) to nanoseconds; time.Parse accepts fractions of a second that a layout lacks.
var dateLayouts = [...]string{
	time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02", "2006-01", "2006",
	"2006-01-02T15:04:05", "20060102150405", // in no standard, but found in files
}

// parseDate reads a WARC-Date; the zero time if it is unreadable.
func parseDate(s string) time.Time {
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// unbracket removes the angle brackets of WARC-Record-ID, and those that wget up to 1.20 puts around WARC-Target-URI.
func unbracket(s string) string {
	if len(s) >= 2 && s[0] == '<' && s[len(s)-1] == '>' {
		return s[1 : len(s)-1]
	}
	return s
}
