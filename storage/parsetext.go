// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
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
//	1 byte    version 4
//	uvarint   flags
//	uvarint   lengths of title, description, language, charset, author, text
//	uvarint   parts of the content; for each the distance from the previous part, and its length
//	uvarint   headings, likewise
//	varint    date
//	          the title
//	          the other strings, in that order; as a frame of zstd if that has fewer bytes (packed.go)
//
// Version 3 compresses nothing: tables did, several pages together. Versions 1 and 2 have the headings' texts (h1 to
// h3, one per line) instead of the author, and neither headings nor date behind the content. Version 1 has no content.
const (
	textVersion = 4
	// authorVersion is the first with author, headings and date.
	authorVersion = 3
)

// textStrings are the strings of a ParseText, the text last; headings is the one that versions 1 and 2 have.
func (t *ParseText) textStrings(version byte, headings *string) [6]*string {
	if version >= authorVersion {
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
	dst = append(dst, t.Title...)
	from := len(dst)
	for _, s := range texts[1:] {
		dst = append(dst, *s...)
	}
	return pack(dst, from)
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
	h, err := readParseText(b, t)
	if err == nil {
		err = h.unpack(b)
	}
	if err != nil {
		*t = ParseText{}
		return err
	}
	all := stringOf(h.strings)
	for i, s := range t.textStrings(h.version, &headings) {
		*s, all = all[:h.lengths[i]], all[h.lengths[i]:]
	}
	t.findHeadings(headings)
	return nil
}

// ReadParseTitle returns the title of a page from the encoding of its ParseText, of which it is a part. Errors are
// those of DecodeParseText, but that what follows the title may be damaged.
func ReadParseTitle(b []byte) ([]byte, error) {
	var t ParseText
	h, err := readParseText(b, &t)
	if err != nil {
		return nil, err
	}
	return h.strings[:h.lengths[0]], nil
}

// textHead is what the beginning of a ParseText's encoding says of its strings.
type textHead struct {
	version byte
	lengths [6]int // of the strings
	sum     uint64
	strings []byte // one behind the other; what follows the first may be packed
}

// readParseText decodes all but the strings into t, reusing the memory of t.Content and t.Headings.
func readParseText(b []byte, t *ParseText) (h textHead, err error) {
	d := decoder{b: b}
	h.version = d.byte()
	*t = ParseText{Flags: ParseFlags(d.uint16()), Content: t.Content[:0], Headings: t.Headings[:0]}
	for i := range h.lengths {
		n := d.uint(math.MaxInt32)
		h.lengths[i] = int(n)
		h.sum += n
	}
	size := uint64(h.lengths[len(h.lengths)-1])
	if h.version >= 2 {
		t.Content = d.parts(t.Content, size, min(size, uint64(len(d.b))))
	}
	if h.version >= authorVersion {
		t.Headings = d.parts(t.Headings, size, HeadingsMax)
		t.Date = d.varint()
	}
	h.strings = d.b
	left, title := uint64(len(d.b)), uint64(h.lengths[0])
	if d.bad || h.version == 0 || h.version > textVersion || left > h.sum || left < title ||
		left < h.sum && h.version < textVersion {
		return h, corruptText(b)
	}
	return h, nil
}

// unpack puts a copy of the strings, unpacked if they are packed, in their place. b is the whole encoding.
func (h *textHead) unpack(b []byte) error {
	if uint64(len(h.strings)) == h.sum {
		h.strings = bytes.Clone(h.strings)
		return nil
	}
	title := h.strings[:h.lengths[0]]
	all, ok := unpack(h.strings[len(title):], uint64(len(title)), h.sum)
	if !ok {
		return corruptText(b)
	}
	copy(all, title)
	h.strings = all
	return nil
}

func corruptText(b []byte) error { return corrupt("parse text of %d bytes: % .32x", len(b), b) }

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
