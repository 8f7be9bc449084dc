// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/binary"
	"math"
	"strings"
)

// ParseText is the text of a page.
type ParseText struct {
	Title, Text, Description string
	Language                 string // BCP 47, "" = unknown
	Charset                  string // of the body as received
	Author                   string // "" = unknown
	Date                     int64  // of publication, in milliseconds since 1970; 0 = unknown
	Flags                    ParseFlags
	// Content is the main content of the page: parts of Text, in order, not overlapping. nil means all of Text.
	Content []TextRange
	// Headings are the page's headings (h1 to h6): parts of Text, in order, not overlapping, at most HeadingsMax.
	Headings []TextRange
}

// HeadingsMax is the number of headings of a page that are stored.
const HeadingsMax = 64

// TextRange is the part [From, To) of a text, in bytes.
type TextRange struct{ From, To uint32 }

// MainText returns the page's main content, with a line feed between its parts.
func (t *ParseText) MainText() string {
	switch len(t.Content) {
	case 0:
		return t.Text
	case 1:
		return t.Text[t.Content[0].From:t.Content[0].To]
	}
	n := len(t.Content)
	for _, r := range t.Content {
		n += int(r.To - r.From)
	}
	out := make([]byte, 0, n)
	for _, r := range t.Content {
		out = append(append(out, t.Text[r.From:r.To]...), '\n')
	}
	return stringOf(out[:len(out)-1])
}

// AppendHeadings appends the texts of the headings to dst. They are parts of t.Text and keep it alive.
func (t *ParseText) AppendHeadings(dst []string) []string {
	for _, r := range t.Headings {
		dst = append(dst, t.Text[r.From:r.To])
	}
	return dst
}

// Layout of a ParseText, a value of ParseTextRange:
//
//	1 byte    version 3
//	uvarint   flags
//	uvarint   lengths of title, description, language, charset, author, text
//	uvarint   parts of the content; for each the distance from the previous part, and its length
//	uvarint   headings, likewise
//	varint    date
//	          the strings themselves, in that order
//
// Versions 1 and 2 have the headings' texts (h1 to h3, one per line) instead of the author, and neither headings nor
// date behind the content. Version 1 has no content.
//
// The value is not compressed. The table's blocks are, together with neighbouring pages, which works better.
const textVersion = 3

// textStrings are the strings of a ParseText, the text last; headings is the one that versions 1 and 2 have.
func (t *ParseText) textStrings(version byte, headings *string) [6]*string {
	if version == textVersion {
		headings = &t.Author
	}
	return [...]*string{&t.Title, &t.Description, &t.Language, &t.Charset, headings, &t.Text}
}

// AppendParseText appends the encoding of t to dst. The parts of t.Content and t.Headings must be in order, not
// overlap, and be inside of t.Text; headings beyond HeadingsMax are left out.
func AppendParseText(dst []byte, t *ParseText) []byte {
	dst = binary.AppendUvarint(append(dst, textVersion), uint64(t.Flags))
	texts := t.textStrings(textVersion, nil)
	for _, s := range texts {
		dst = binary.AppendUvarint(dst, uint64(len(*s)))
	}
	dst = appendParts(dst, t.Content)
	dst = appendParts(dst, t.Headings[:min(len(t.Headings), HeadingsMax)])
	dst = binary.AppendVarint(dst, t.Date)
	for _, s := range texts {
		dst = append(dst, *s...)
	}
	return dst
}

func appendParts(dst []byte, parts []TextRange) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(parts)))
	end := uint32(0)
	for _, r := range parts {
		dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(r.From-end)), uint64(r.To-r.From))
		end = r.To
	}
	return dst
}

// parts reads what appendParts wrote, at most limit parts of a text of size bytes.
func (d *decoder) parts(dst []TextRange, size, limit uint64) []TextRange {
	end := uint64(0)
	for range d.uint(limit) {
		from := end + d.uint(size-end)
		end = from + d.uint(size-min(from, size))
		if d.bad {
			break
		}
		dst = append(dst, TextRange{uint32(from), uint32(end)})
	}
	return dst
}

// DecodeParseText decodes b into t and reuses the memory of t.Content and t.Headings. The strings are copies, made with
// one allocation. If AppendParseText, of this version or an earlier one, did not make b, the error is ErrCorrupt and t
// is zero.
func DecodeParseText(b []byte, t *ParseText) error {
	var headings string
	var lengths [6]int
	strings, version, err := readParseText(b, t, &lengths)
	if err != nil {
		*t = ParseText{}
		return err
	}
	all := string(strings)
	for i, s := range t.textStrings(version, &headings) {
		*s, all = all[:lengths[i]], all[lengths[i]:]
	}
	t.findHeadings(headings)
	return nil
}

// ReadParseTitle returns the title of a page from the encoding of its ParseText, of which it is a part. Errors are
// those of DecodeParseText.
func ReadParseTitle(b []byte) ([]byte, error) {
	var t ParseText
	var lengths [6]int
	strings, _, err := readParseText(b, &t, &lengths)
	if err != nil {
		return nil, err
	}
	return strings[:lengths[0]], nil
}

// readParseText decodes all but the strings into t, reusing the memory of t.Content and t.Headings, and returns the
// strings, one behind the other, their lengths and the version.
func readParseText(b []byte, t *ParseText, lengths *[6]int) (strings []byte, version byte, err error) {
	d := decoder{b: b}
	version = d.byte()
	*t = ParseText{Flags: ParseFlags(d.uint16()), Content: t.Content[:0], Headings: t.Headings[:0]}
	left := uint64(len(b))
	for i := range lengths {
		n := d.uint(left)
		left -= n
		lengths[i] = int(n)
	}
	sum := 0
	for _, n := range lengths {
		sum += n
	}
	size := uint64(lengths[len(lengths)-1])
	if version >= 2 {
		t.Content = d.parts(t.Content, size, min(size, math.MaxInt32))
	}
	if version == textVersion {
		t.Headings = d.parts(t.Headings, size, HeadingsMax)
		t.Date = d.varint()
	}
	if d.bad || sum != len(d.b) || version == 0 || version > textVersion {
		return nil, version, corrupt("parse text of %d bytes: % .32x", len(b), b)
	}
	return d.b, version, nil
}

// findHeadings finds in the text the headings of a record of version 1 or 2, a line each, in order. Those that were cut
// inside of a word, and those that are not there, are left out.
func (t *ParseText) findHeadings(lines string) {
	at := 0
	for line := range strings.SplitSeq(lines, "\n") {
		i := strings.Index(t.Text[at:], line)
		if line == "" || i < 0 {
			continue
		}
		from, to := at+i, at+i+len(line)
		t.Headings = append(t.Headings, TextRange{uint32(from), uint32(to)})
		if at = to; len(t.Headings) == HeadingsMax {
			return
		}
	}
}
