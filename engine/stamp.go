// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/index"
)

// stamp identifies what a document is made of, so that what did not change is not indexed again. It has three parts:
//
//	content   24 bits   the page's parse record: title, text, which parts of it are content and headings, language,
//	                    author, date, and the media type
//	own       16 bits   the page's signature, the URL by which it is shown, what is cut off the titles of its host
//	outside   24 bits   what others say: anchors, and the static score from the pages that link to it
//
// A page that was just fetched is read, and all are compared: the signature alone does not tell a new date, author or
// menu. Of a page of a segment that is indexed already, the content was compared then, and parse records never change.
// So a refresh of all pages reads no text of those of which the other parts are what they were; and where only outside
// is another, the document need not be made again (reanchor.go).
//
// The parts are hashes: of some million changes of a content, or of anchors, one is missed until the next, and of
// 65,536 of what is own.
type stamp struct{ content, own, outside uint32 }

const (
	stampOwnBits     = 16
	stampOutsideBits = 24
)

func stampOf(l index.Location) stamp {
	return stamp{
		uint32(l.Stamp >> (stampOwnBits + stampOutsideBits)),
		uint32(l.Stamp>>stampOutsideBits) & (1<<stampOwnBits - 1), uint32(l.Stamp) & (1<<stampOutsideBits - 1),
	}
}

// sum is the stamp as the index keeps it; never 0.
func (s stamp) sum() uint64 {
	return uint64(s.content)<<(stampOwnBits+stampOutsideBits) | uint64(s.own)<<stampOutsideBits | uint64(s.outside)
}

// contentStamp is of a page with that parse record and media type.
func contentStamp(text []byte, mediaType string) uint32 {
	return uint32(xxh3.HashSeed(text, xxh3.HashString(mediaType)) >> (stampOwnBits + stampOutsideBits))
}
