// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// A whole key is the range's prefix followed by a relative key. This file is the only place that
// knows prefixes; everybody else speaks of a Range and relative keys.
//
//	prefix                 relative key                     value
//	'm'                    name                             setting                 meta
//	'c'                    URL key                          Record                  crawldb
//	'h'                    host key                         HostCounts              hostdb, by updatedb
//	'H'                    host key …                       HostFacts               hostdb, by fetch
//	's'                    segment(4)                       Segment                 segments
//	'f' segment(4)         URL key                          FetchlistEntry          fetchlist
//	'p' segment(4) 'l'     URL key                          FetchOutcome            parse, links
//	'p' segment(4) 't'     URL key                          ParseText               parse, text
//	'l'                    URL key of target, 0, segment(4) inlinks; segment 0: merged  linkdb
//	'w'                    URL key of target, 0, segment(4) Withheld; segment 0: of another store  withheld
//	'd'                    URL key                          hops(1)                 lowered
//	'u'                    host key or day, see due.go      –                       due
//	'g'                    signature(16), URL key           –                       signatures
//	'n' kind               see near.go                      –, group(8)             near
//	'k'                    name                             what it is about        marks
//	'k' 0                  see stale.go                     –                       stale
//	'x'                    URL key, 0, time(8)              CDX                     cdx
//	'o' writer(4)          URL key                          stamp(8)                sent
//	'i' kind               index's own                      index's own             index
//	'I' segment(4) kind    index's own                      index's own             index segments
//
// Numbers are big-endian, so that key order is number order; (n) is a width in bytes. URL keys are
// printable ASCII, therefore a 0 byte after one keeps all keys of a URL together and before those
// of any longer URL.
//
// Example: the parse text of http://example.com/ in segment 7 is at
//
//	70 00000007 74  com,example,)/ http
//	p  segment  t   URL key
const (
	tagMeta         = 'm'
	tagCrawldb      = 'c'
	tagHostCounts   = 'h'
	tagHostFacts    = 'H'
	tagSegments     = 's'
	tagFetchlist    = 'f'
	tagParse        = 'p'
	tagLinkdb       = 'l'
	tagWithheld     = 'w'
	tagLowered      = 'd'
	tagDue          = 'u'
	tagSignatures   = 'g'
	tagNear         = 'n'
	tagMarks        = 'k'
	tagCDX          = 'x'
	tagSent         = 'o'
	tagIndex        = 'i'
	tagIndexSegment = 'I'

	kindLinks = 'l'
	kindText  = 't'

	// keySeparator stands between a URL key and what follows it.
	keySeparator = 0
)

// tableBounds are the tags at which tables of the store end, at the latest: before and after parse records, segments of
// the index, and fetchlists.
//
// A table with keys of two ranges covers what is between. If that were parse records, every ingestion of these would
// have to stay above it and be rewritten level by level. They are written once and in order: so they go to the last
// level at once, no compaction rewrites them, and they leave with all their tables. By this and the faster walk over
// words (index/analysis/analyzer.go), a crawl with index fell from 302 µs a page (300 to 304) to 257 (248 to 264) on
// 2026-11-22.
//
// The other ranges are written again and again, many of them a few keys at a time. Each had tables of its own: a flush
// made up to 18, half of them with less than 4 KB.
const tableBounds = string(tagIndexSegment) + string(tagIndexSegment+1) + string(tagFetchlist) +
	string(tagFetchlist+1) + string(tagParse) + string(tagParse+1)

// rangePrefixMax is the longest prefix: tag, segment, kind.
const rangePrefixMax = 6

// Range is a set of neighbouring keys of the store that belong to one kind of thing. Ranges are
// small values, comparable with ==. The zero Range is not valid.
type Range struct {
	prefix [rangePrefixMax]byte
	n      uint8
}

func plainRange(tag byte) Range { return Range{prefix: [rangePrefixMax]byte{tag}, n: 1} }

func segmentRange(tag byte, segment uint32) Range {
	r := plainRange(tag)
	binary.BigEndian.PutUint32(r.prefix[1:], segment)
	r.n = 5
	return r
}

func (r Range) kind(kind byte) Range {
	r.prefix[r.n] = kind
	r.n++
	return r
}

// Meta holds the store's own settings and small values of the engine, by name.
func Meta() Range { return plainRange(tagMeta) }

// Crawldb holds one Record per known URL, by URL key.
func Crawldb() Range { return plainRange(tagCrawldb) }

// HostCountsRange holds one HostCounts per host, by host key. Written by phases.
func HostCountsRange() Range { return plainRange(tagHostCounts) }

// HostFactsRange holds what fetching learned of a host, by host key (and whatever the fetching side
// appends to it). Kept apart from HostCountsRange so that phases and fetchers never overwrite each
// other.
func HostFactsRange() Range { return plainRange(tagHostFacts) }

// Segments holds one Segment per segment number. Written through PutSegment only.
func Segments() Range { return plainRange(tagSegments) }

// Fetchlist holds what generate chose for a segment, by URL key.
func Fetchlist(segment uint32) Range { return segmentRange(tagFetchlist, segment) }

// ParseLinks holds the FetchOutcome of every URL of a segment, by URL key. Read by updatedb,
// invertlinks and dedup, which have no use for text.
func ParseLinks(segment uint32) Range { return segmentRange(tagParse, segment).kind(kindLinks) }

// ParseTextRange holds the ParseText of every parsed page of a segment, by URL key. Read by index
// and for snippets.
func ParseTextRange(segment uint32) Range { return segmentRange(tagParse, segment).kind(kindText) }

// Linkdb holds inlinks; build and split its keys with AppendLinkdbKey and SplitLinkdbKey.
func Linkdb() Range { return plainRange(tagLinkdb) }

// WithheldRange holds what links say of targets that are refused for now: by the scope or by a live
// filter. Its keys are built and split as linkdb's, with AppendLinkdbKey and SplitLinkdbKey. Written by
// updatedb; what came into reach leaves it for crawldb.
func WithheldRange() Range { return plainRange(tagWithheld) }

// LoweredRange holds the pages whose depth or hops fell after their links were counted, by URL key, until their links
// are told. The value is one byte: the hops of which the links know. Written by the phases that count links.
func LoweredRange() Range { return plainRange(tagLowered) }

// Due holds an empty value or two for each record of crawldb: what is due or waits, by host and by day; see
// AppendDueKey and AppendDueDayKey. Written by the phases that write records.
func Due() Range { return plainRange(tagDue) }

// Signatures holds one empty value per (signature, URL); see AppendSignatureKey.
func Signatures() Range { return plainRange(tagSignatures) }

// Marks holds what phases over everything left, by name; see Ingestion.Mark, which writes it.
func Marks() Range { return plainRange(tagMarks) }

// CDXRange holds the place of each capture in the WARC files; see AppendCDXKey.
func CDXRange() Range { return plainRange(tagCDX) }

// IndexRange is for what package index keeps across its index segments; it chooses the kind and the
// relative keys.
func IndexRange(kind byte) Range { return plainRange(tagIndex).kind(kind) }

// IndexSegmentRange is for one kind of thing in one index segment.
func IndexSegmentRange(indexSegment uint32, kind byte) Range {
	return segmentRange(tagIndexSegment, indexSegment).kind(kind)
}

// IndexSegmentAll covers all kinds of one index segment: for DeleteRange after a merge. Its relative
// keys begin with the kind.
func IndexSegmentAll(indexSegment uint32) Range { return segmentRange(tagIndexSegment, indexSegment) }

// isText reports whether r is the texts of a segment's parse records.
func (r Range) isText() bool {
	return r.n == rangePrefixMax && r.prefix[0] == tagParse && r.prefix[5] == kindText
}

// IsZero reports whether r is the zero Range.
func (r Range) IsZero() bool { return r.n == 0 }

// String names the range for messages: "crawldb", "parse text of segment 7".
func (r Range) String() string {
	name := rangeName(r.prefix[0])
	if r.n < 5 {
		switch {
		case r.prefix[0] == tagIndex && r.n == 2:
			return fmt.Sprintf("index (kind %q)", r.prefix[1])
		case r.prefix[0] == tagNear && r.n > 1:
			return nearName(r)
		case r == Stale():
			return "stale"
		}
		return name
	}
	segment := binary.BigEndian.Uint32(r.prefix[1:])
	switch {
	case r.prefix[0] == tagParse && r.prefix[5] == kindLinks:
		return fmt.Sprintf("parse links of segment %d", segment)
	case r.prefix[0] == tagParse:
		return fmt.Sprintf("parse text of segment %d", segment)
	case r.prefix[0] == tagIndexSegment && r.n == rangePrefixMax:
		return fmt.Sprintf("index segment %d (kind %q)", segment, r.prefix[5])
	}
	return fmt.Sprintf("%s %d", name, segment)
}

// rangeName is the range's name in metrics and messages.
func rangeName(tag byte) string {
	switch tag {
	case tagMeta:
		return "meta"
	case tagCrawldb:
		return "crawldb"
	case tagHostCounts:
		return "hostdb counts"
	case tagHostFacts:
		return "hostdb facts"
	case tagSegments:
		return "segments"
	case tagFetchlist:
		return "fetchlist"
	case tagParse:
		return "parse"
	case tagLinkdb:
		return "linkdb"
	case tagWithheld:
		return "withheld"
	case tagLowered:
		return "lowered"
	case tagDue:
		return "due"
	case tagSignatures:
		return "signatures"
	case tagNear:
		return "near"
	case tagMarks:
		return "marks"
	case tagCDX:
		return "cdx"
	case tagSent:
		return "sent"
	case tagIndex:
		return "index"
	case tagIndexSegment:
		return "index segment"
	}
	return "no range"
}

// rangeTags lists the tags for reports, in the order of a URL's life.
func rangeTags() []byte {
	return []byte{tagMeta, tagCrawldb, tagHostCounts, tagHostFacts, tagSegments, tagFetchlist, tagParse,
		tagLinkdb, tagWithheld, tagLowered, tagDue, tagSignatures, tagNear, tagMarks, tagCDX, tagSent,
		tagIndex, tagIndexSegment}
}

// start is the first key of the range (inclusive); it aliases r.
func (r *Range) start() []byte { return r.prefix[:r.n] }

// end is the first key after the range.
func (r *Range) end() []byte { return keyAfterPrefix(r.prefix[:r.n]) }

// keyAfterPrefix is the least key above all keys with the prefix. nil when there is none.
func keyAfterPrefix(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			end := append([]byte(nil), prefix[:i+1]...)
			end[i]++
			return end
		}
	}
	return nil
}

// appendKey appends the whole key of a relative one.
func (r *Range) appendKey(dst, rel []byte) []byte {
	return append(append(dst, r.prefix[:r.n]...), rel...)
}

// AppendLinkdbKey appends the relative key of a target's inlinks as collected from one segment.
// Segment 0 is below all real ones: seeking there finds the first of the target.
func AppendLinkdbKey(dst, target []byte, segment uint32) []byte {
	dst = append(append(dst, target...), keySeparator)
	return binary.BigEndian.AppendUint32(dst, segment)
}

// SplitLinkdbKey takes a linkdb key apart; target is a slice of key.
func SplitLinkdbKey(key []byte) (target []byte, segment uint32, err error) {
	n := len(key) - 5
	if n < 1 || key[n] != keySeparator {
		return nil, 0, corrupt("linkdb key %q", key)
	}
	return key[:n], binary.BigEndian.Uint32(key[n+1:]), nil
}

// LinkdbTarget returns the target of a linkdb key, and of the beginning of one as much as it has: where parts of linkdb
// begin that leave a target whole. It is a slice of key.
func LinkdbTarget(key []byte) []byte {
	target, _, _ := bytes.Cut(key, []byte{keySeparator})
	return target
}

// AppendSignatureKey appends the relative key of a page under its signature.
func AppendSignatureKey(dst []byte, s Signature, key []byte) []byte {
	return append(append(dst, s[:]...), key...)
}

// SplitSignatureKey takes a signatures key apart; page is a slice of key.
func SplitSignatureKey(key []byte) (s Signature, page []byte, err error) {
	if len(key) <= len(s) {
		return s, nil, corrupt("signatures key %q", key)
	}
	return Signature(key[:len(s)]), key[len(s):], nil
}

// AppendCDXKey appends the relative key of a capture: captures of a URL are neighbours, oldest first.
// time is in milliseconds since 1970; earlier times are not representable and count as 1970.
func AppendCDXKey(dst, key []byte, time int64) []byte {
	dst = append(append(dst, key...), keySeparator)
	return binary.BigEndian.AppendUint64(dst, uint64(max(time, 0)))
}

// SplitCDXKey takes a cdx key apart; url is a slice of key.
func SplitCDXKey(key []byte) (url []byte, time int64, err error) {
	n := len(key) - 9
	if n < 1 || key[n] != keySeparator {
		return nil, 0, corrupt("cdx key %q", key)
	}
	return key[:n], int64(binary.BigEndian.Uint64(key[n+1:])), nil
}

// AppendSegmentKey appends the relative key of a segment in Segments.
func AppendSegmentKey(dst []byte, segment uint32) []byte {
	return binary.BigEndian.AppendUint32(dst, segment)
}

// HostBounds returns the relative keys [from, to) of a host's URLs in crawldb, fetchlists and parse
// ranges.
func HostBounds(host urlkey.HostKey) (from, to []byte) {
	from = []byte(host)
	return from, keyAfterPrefix(from)
}
