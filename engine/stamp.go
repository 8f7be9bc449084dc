// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/index"
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

// contentStamp is of a page with that parse record and media type.
func contentStamp(text []byte, mediaType string) uint32 {
	return uint32(xxh3.HashSeed(text, xxh3.HashString(mediaType)))
}
