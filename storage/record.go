// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/binary"
	"math"
)

// Field is a user-defined name and value.
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Record is the crawldb record of one URL. (Nutch: CrawlDatum.) Times are milliseconds since 1970. The
// zero Record has no valid Status and can't be decoded again.
type Record struct {
	Status       Status
	Retries      uint8   // failed fetches in a row
	Depth        uint16  // links from a seed
	Hops         uint8   // consecutive redirects that led here; 0 = a link or a seed
	Interval     uint32  // seconds between fetches
	HTTPStatus   uint16  // of the newest response, 0 = none
	Score        float64 // multiples of 2^-16 are stored compactly, others exactly
	FetchTime    int64   // when the next fetch is due (Nutch's name)
	LastFetch    int64   // 0 = never
	ModifiedTime int64   // when the content was last seen to change, 0 = unknown
	Segment      uint32  // number of the segment with the newest parse record, 0 = none
	Signature    Signature
	SimHash      SimHash // of the content of Signature, 0 = none
	// Visits is the number of fetches that found out whether the content had changed since the one before, Changes that
	// of those it had, and Watched the time, in seconds, in which the content was known until the newest fetch. They
	// begin again, halved, where Visits would be more than VisitsMax: what a page did long ago counts less and less.
	Visits, Changes uint8
	Watched         uint32
	Truncated       bool    // the newest content is a part of the page; it has no signature and no validators
	Voted           bool    // a fetch has found content or a redirect, and what that is worth to others was given
	ETag            string  // validator of the newest content, as the server sent it, "" = none
	LastModified    string  // likewise
	Meta            []Field // at most MetaFieldsMax, and MetaBefore
}

// MetaScheme is the name of the field of Meta that says where the scheme of a URL comes from. SchemeAssumed is its
// value for a seed that was given without one.
const (
	MetaScheme    = "seine.scheme"
	SchemeAssumed = "assumed"
)

// MetaSitemap is the name of the field of Meta that says that a URL is of depth 0 because a robots.txt names it as a
// sitemap, or because one that is redirects to it, and so is no seed. SitemapNamed is its value.
const (
	MetaSitemap  = "seine.sitemap"
	SitemapNamed = "robots.txt"
)

// MetaBefore is the name of the field of Meta that says of a page that is db_unfetched because a fetch failed for the
// moment, or was forced, what it was before if its content was not to be found then, such as db_gone.
const MetaBefore = "seine.before"

// Findable reports whether the content of the record's segment is to be found. A page that fails for the moment stays
// findable, or not, as it was. (Pages with noindex have no text in the store.)
func (r *Record) Findable() bool {
	switch r.Status {
	case StatusFetched, StatusNotModified:
		return r.Segment != 0
	case StatusUnfetched:
		return r.Segment != 0 && r.Before() == ""
	}
	return false
}

// Before is the value of MetaBefore; "": there is none.
func (r *Record) Before() string {
	for i := range r.Meta {
		if r.Meta[i].Name == MetaBefore {
			return r.Meta[i].Value
		}
	}
	return ""
}

// VisitsMax is the largest number of Record.Visits.
const VisitsMax = 64

// Wait counts the time, in ms, since the last fetch of a page whose content is known.
func (r *Record) Wait(ms int64) {
	if !r.Signature.IsZero() {
		r.Watched = uint32(min(int64(r.Watched)+max(ms, 0)/1000, math.MaxUint32))
	}
}

// Watch counts a fetch that compared the content with that before it, after Wait.
func (r *Record) Watch(changed bool) {
	if r.Visits >= VisitsMax {
		r.Visits, r.Changes, r.Watched = r.Visits/2, r.Changes/2, r.Watched/2
	}
	r.Visits++
	if changed {
		r.Changes++
	}
}

// SchemeAssumed reports whether the URL was given without a scheme, so that https is only the first to try.
func (r *Record) SchemeAssumed() bool {
	for i := range r.Meta {
		if r.Meta[i].Name == MetaScheme {
			return r.Meta[i].Value == SchemeAssumed
		}
	}
	return false
}

// IsSitemap reports whether MetaSitemap says that the URL is a sitemap.
func (r *Record) IsSitemap() bool {
	for i := range r.Meta {
		if r.Meta[i].Name == MetaSitemap {
			return true
		}
	}
	return false
}

// IsSeed reports whether the URL is a seed: no link and no redirect away from one. Those whose records were made before
// MetaSitemap was cannot be told from sitemaps.
func (r *Record) IsSeed() bool { return r.Depth == 0 && r.Hops == 0 && !r.IsSitemap() }

// Layout of a record, a value of crawldb. After the first four bytes, each part is present only if its
// flag is set. The order is fixed.
//
//	1 byte    version 1 in the high half, status in the low half
//	3 bytes   flags, little-endian
//	1 byte    retries
//	uvarint   depth
//	uvarint   interval, in hours if recHours, else in seconds
//	uvarint   HTTP status (recHTTP200: it is 200, no bytes)
//	…         score (codec.go)
//	varint    fetch time (recDue: it is last fetch + interval, no bytes)
//	varint    last fetch
//	varint    last fetch − modified time (recUnmoved: it is last fetch, no bytes)
//	uvarint   segment
//	16 bytes  signature
//	text      ETag
//	text      Last-Modified, or if recDate a uvarint of seconds since 1970: an HTTP date in the usual form
//	uvarint   number of fields, then each a name and a value, both text
//	1 byte    hops (since format 2)
//	          truncated: no bytes (since format 7); voted: no bytes (since format 14)
//	8 bytes   SimHash (since format 12)
//	2 bytes   visits, changes (since format 12)
//	uvarint   watched
//
// Example, 33 bytes: HTTP status 200, depth 2, every 30 days, score 0.5, segment 7.
//
//	12 6e 76 00                  version 1, db_fetched; flags
//	02                           depth
//	d0 05                        720 hours
//	80 80 04                     0.5 = 32768 × 2^-16
//	80 c0 b3 b5 fd 65            last fetch; the next is due 30 days later, the content is as old
//	07                           segment
//	(16 bytes)                   signature
const (
	recordVersion = 1

	recRetries      = 1 << 0
	recDepth        = 1 << 1
	recInterval     = 1 << 2
	recHours        = 1 << 3
	recHTTP         = 1 << 4
	recHTTP200      = 1 << 5
	recScoreShift   = 6 // two bits: a score mode
	recFetchTime    = 1 << 8
	recDue          = 1 << 9
	recLastFetch    = 1 << 10
	recModified     = 1 << 11
	recUnmoved      = 1 << 12
	recSegment      = 1 << 13
	recSignature    = 1 << 14
	recETag         = 1 << 15
	recLastModified = 1 << 16
	recDate         = 1 << 17
	recMeta         = 1 << 18
	recHops         = 1 << 19
	recTruncated    = 1 << 20
	recSimHash      = 1 << 21
	recVisits       = 1 << 22
	recVoted        = 1 << 23 // the last bit
)

const secondsPerHour = 3600

// flagIf returns flag if cond holds, else 0.
func flagIf(cond bool, flag uint32) uint32 {
	if cond {
		return flag
	}
	return 0
}

func (r *Record) flags(date bool) uint32 {
	due := r.FetchTime == r.LastFetch+int64(r.Interval)*1000 && r.LastFetch != 0
	return flagIf(r.Retries != 0, recRetries) |
		flagIf(r.Depth != 0, recDepth) |
		flagIf(r.Interval != 0, recInterval) |
		flagIf(r.Interval != 0 && r.Interval%secondsPerHour == 0, recHours) |
		flagIf(r.HTTPStatus != 0 && r.HTTPStatus != 200, recHTTP) |
		flagIf(r.HTTPStatus == 200, recHTTP200) |
		scoreMode(r.Score)<<recScoreShift |
		flagIf(due, recDue) |
		flagIf(!due && r.FetchTime != 0, recFetchTime) |
		flagIf(r.LastFetch != 0, recLastFetch) |
		flagIf(r.ModifiedTime != 0 && r.ModifiedTime == r.LastFetch, recUnmoved) |
		flagIf(r.ModifiedTime != 0 && r.ModifiedTime != r.LastFetch, recModified) |
		flagIf(r.Segment != 0, recSegment) |
		flagIf(!r.Signature.IsZero(), recSignature) |
		flagIf(r.ETag != "", recETag) |
		flagIf(r.LastModified != "", recLastModified) |
		flagIf(date, recDate) |
		flagIf(len(r.Meta) != 0, recMeta) |
		flagIf(r.Hops != 0, recHops) |
		flagIf(r.Truncated, recTruncated) |
		flagIf(r.SimHash != 0, recSimHash) |
		flagIf(r.Visits != 0 || r.Changes != 0 || r.Watched != 0, recVisits) |
		flagIf(r.Voted, recVoted)
}

// AppendRecord appends the encoding of r to dst. It leaves out fields of Meta beyond metaEncoded. It
// does not allocate when dst has room.
func AppendRecord(dst []byte, r *Record) []byte {
	date, isDate := dateSeconds(r.LastModified)
	f := r.flags(isDate)
	dst = append(dst, recordVersion<<4|byte(r.Status)&0x0f, byte(f), byte(f>>8), byte(f>>16))
	if f&recRetries != 0 {
		dst = append(dst, r.Retries)
	}
	if f&recDepth != 0 {
		dst = binary.AppendUvarint(dst, uint64(r.Depth))
	}
	if f&recHours != 0 {
		dst = binary.AppendUvarint(dst, uint64(r.Interval/secondsPerHour))
	} else if f&recInterval != 0 {
		dst = binary.AppendUvarint(dst, uint64(r.Interval))
	}
	if f&recHTTP != 0 {
		dst = binary.AppendUvarint(dst, uint64(r.HTTPStatus))
	}
	dst = appendScore(dst, f>>recScoreShift&3, r.Score)
	if f&recFetchTime != 0 {
		dst = binary.AppendVarint(dst, r.FetchTime)
	}
	if f&recLastFetch != 0 {
		dst = binary.AppendVarint(dst, r.LastFetch)
	}
	if f&recModified != 0 {
		dst = binary.AppendVarint(dst, r.LastFetch-r.ModifiedTime)
	}
	if f&recSegment != 0 {
		dst = binary.AppendUvarint(dst, uint64(r.Segment))
	}
	if f&recSignature != 0 {
		dst = append(dst, r.Signature[:]...)
	}
	if f&recETag != 0 {
		dst = appendText(dst, r.ETag)
	}
	if f&recDate != 0 {
		dst = binary.AppendUvarint(dst, uint64(date))
	} else if f&recLastModified != 0 {
		dst = appendText(dst, r.LastModified)
	}
	if f&recMeta != 0 {
		meta := r.Meta[:min(len(r.Meta), metaEncoded)]
		dst = binary.AppendUvarint(dst, uint64(len(meta)))
		for i := range meta {
			dst = appendText(appendText(dst, meta[i].Name), meta[i].Value)
		}
	}
	if f&recHops != 0 {
		dst = append(dst, r.Hops)
	}
	if f&recSimHash != 0 {
		dst = r.SimHash.Append(dst)
	}
	if f&recVisits != 0 {
		dst = binary.AppendUvarint(append(dst, r.Visits, r.Changes), uint64(r.Watched))
	}
	return dst
}

// DecodeRecord decodes b into r and reuses the memory of r.Meta. The strings are copies. If AppendRecord
// did not make b, the error is ErrCorrupt and r is zero.
//
// Decoding is 41% of a scan, and half of that is varints. Callers that need only status and time could decode
// these alone.
func DecodeRecord(b []byte, r *Record) error {
	d := decoder{b: b}
	head := d.byte()
	f := uint32(d.byte()) | uint32(d.byte())<<8 | uint32(d.byte())<<16
	*r = Record{Status: Status(head & 0x0f), Meta: r.Meta[:0]}
	if f&recRetries != 0 {
		r.Retries = d.byte()
	}
	if f&recDepth != 0 {
		r.Depth = d.uint16()
	}
	if f&recHours != 0 {
		r.Interval = uint32(d.uint((1<<32-1)/secondsPerHour)) * secondsPerHour
	} else if f&recInterval != 0 {
		r.Interval = d.uint32()
	}
	if f&recHTTP200 != 0 {
		r.HTTPStatus = 200
	} else if f&recHTTP != 0 {
		r.HTTPStatus = d.uint16()
	}
	r.Truncated, r.Voted = f&recTruncated != 0, f&recVoted != 0
	r.Score = d.score(f >> recScoreShift & 3)
	if f&recFetchTime != 0 {
		r.FetchTime = d.varint()
	}
	if f&recLastFetch != 0 {
		r.LastFetch = d.varint()
	}
	if f&recDue != 0 {
		r.FetchTime = r.LastFetch + int64(r.Interval)*1000
	}
	if f&recUnmoved != 0 {
		r.ModifiedTime = r.LastFetch
	} else if f&recModified != 0 {
		r.ModifiedTime = r.LastFetch - d.varint()
	}
	if f&recSegment != 0 {
		r.Segment = d.uint32()
	}
	if f&recSignature != 0 {
		copy(r.Signature[:], d.bytes(uint64(len(r.Signature))))
	}
	r.decodeTexts(&d, f)
	if !d.done() || head>>4 != recordVersion || !r.Status.valid() {
		*r = Record{Meta: r.Meta[:0]}
		return corrupt("record of %d bytes: % .32x", len(b), b)
	}
	return nil
}

// decodeTexts reads the parts that most records lack.
func (r *Record) decodeTexts(d *decoder, f uint32) {
	if f&recETag != 0 {
		r.ETag = d.text()
	}
	if f&recDate != 0 {
		var buf [len(httpDate)]byte
		r.LastModified = string(appendHTTPDate(buf[:0], int64(d.uint(dateMax))))
	} else if f&recLastModified != 0 {
		r.LastModified = d.text()
	}
	if f&recMeta != 0 {
		for range d.uint(metaEncoded) {
			r.Meta = append(r.Meta, Field{Name: d.text(), Value: d.text()})
		}
	}
	if f&recHops != 0 {
		r.Hops = d.byte()
	}
	if f&recSimHash != 0 {
		r.SimHash = d.simHash()
	}
	if f&recVisits != 0 {
		r.Visits, r.Changes, r.Watched = d.byte(), d.byte(), d.uint32()
	}
}
