// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/binary"
	"math"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
)

// stamp identifies what a document is made of, so that what did not change is not indexed again. It has two halves:
//
//	content   the page's parse record: title, text, which parts of it are content and headings, language, author, date,
//	          and the media type
//	context   what others say: anchors and the static score from the pages that link to it, what is cut off the titles
//	          of its host; and, in place of the parse record, its signature
//
// A page that was just fetched is read, and both are compared: the signature alone does not tell a new date, author or
// menu. Of a page of a segment that is indexed already, the content was compared then, and parse records never change.
// So a refresh of all pages reads no text of those whose context is what it was.
//
// Each half is a hash of 32 bits: of four billion changes one is missed, until the next.
type stamp struct{ content, context uint32 }

func stampOf(l index.Location) stamp { return stamp{uint32(l.Stamp >> 32), uint32(l.Stamp)} }

// sum is the stamp as the index keeps it; never 0.
func (s stamp) sum() uint64 { return uint64(s.content)<<32 | uint64(s.context) }

// contentStamp is of the page whose text is given and whose outcome readOutcome read.
func (x *indexing) contentStamp(text []byte) uint32 {
	return uint32(xxh3.HashSeed(text, xxh3.HashString(x.outcome.MediaType)))
}

// contextStamp is of the page whose anchors readAnchors found, on the host of titles.begin; never 0.
func (x *indexing) contextStamp(r *storage.Record) uint32 {
	h := xxh3.New()
	h.Write(r.Signature[:])
	h.WriteString(shownAs(r))
	var n [8]byte
	if boost := x.boost(); boost != 1 {
		h.Write(binary.LittleEndian.AppendUint64(n[:0], math.Float64bits(boost)))
	}
	if r.Truncated { // without a signature, only the fetch identifies the content
		h.Write(binary.LittleEndian.AppendUint32(n[:0], r.Segment))
	}
	for _, i := range x.order {
		a := x.distinct.Key(i)
		h.Write(binary.LittleEndian.AppendUint32(n[:0], uint32(len(a))))
		h.Write(a)
	}
	if rule := &x.titles.rule; rule.shares() {
		h.WriteString(rule.prefix + "\x00" + rule.suffix)
	}
	return uint32(h.Sum64()) | 1
}
