// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// A page's parse record is stored in two halves, because its readers need one or the other: links
// (FetchOutcome; updatedb, invertlinks, dedup) and text (ParseText; index, snippets).

// ParseFlags are a page's own directives and the circumstances of its fetch. The zero value is a complete
// page without restrictions. The bits are stored: never change one.
type ParseFlags uint16

// The flags of a parse record.
const (
	FlagNoIndex     ParseFlags = 1 << iota // must not be indexed
	FlagNoFollow                           // its links don't count
	FlagNoSnippet                          // its text must not be shown
	FlagNoArchive                          // its stored copy must not be shown
	FlagTruncated                          // body cut by a size limit, a timeout or a lost connection
	FlagNotParsed                          // stored, but of a type that no parser reads
	FlagRefreshPerm                        // its refresh to Redirect counts as a permanent redirect: the delay is long
	FlagContentOnly                        // only the Content part of the text may be shown
)

// snippetShift is the first of the eight bits that hold the longest snippet that may be shown, in characters.
const snippetShift = 8

// MaxSnippet returns the longest snippet that may be shown, in characters; 0 = any length.
func (f ParseFlags) MaxSnippet() int { return int(f >> snippetShift) }

// WithMaxSnippet returns the flags with the longest snippet that may be shown set to n characters. No snippet is longer
// than 255 characters, so larger n count as 255; n <= 0 allows any length.
func (f ParseFlags) WithMaxSnippet(n int) ParseFlags {
	return f&(1<<snippetShift-1) | ParseFlags(min(max(n, 0), 255))<<snippetShift
}

// Outlink is a link of a page.
type Outlink struct {
	Key      urlkey.Key // of the target
	Anchor   string     // at most AnchorMaxBytes
	NoFollow bool       // the link does not count
	Repeats  uint32     // how many more links of the page that count have the same target and anchor
}

// LinkHint is what a sitemap or a feed says of the target of one of its links.
type LinkHint struct {
	Link     uint32 // its place among the outlinks
	Every    uint32 // seconds between changes of the target; 0 = not given
	Modified int64  // the target's last change, in seconds since 1970; 0 = not given
}

// FetchOutcome is everything about one fetch except the page's text. Times are ms since 1970.
type FetchOutcome struct {
	Status           FetchStatus
	HTTPStatus       uint16     // 0 = no response
	Time             int64      // of the fetch
	Failure          string     // one of package fetch's failures, "" = none
	Redirect         urlkey.Key // target of a redirect or of a refresh to another page, "" = none
	MediaType        string     // "" = unknown
	Truncated        string     // as in WARC-Truncated, or "decode" for damaged content coding; "" = complete
	Signature        Signature
	SimHash          SimHash       // with Signature; 0 = none
	ETag             string        // as the server sent it, "" = none
	LastModified     string        // likewise
	LastModifiedTime int64         // LastModified parsed, 0 = none or unreadable
	Depth            uint16        // links from a seed
	Score            float64       // at the time of generate
	Flags            ParseFlags    // of the page
	Canonical        urlkey.Key    // the page's own canonical link, "" = none or its own URL
	Location         warc.Location // of the response record, zero = none
	Bytes            uint32        // received: head, framing and TLS included; before 0.7 of the body only
	TookMS           uint32        // duration of the fetch, ms
	HTTP10           bool          // the answer was one of HTTP/1.0
	// Preferences are the site's statements about uses of the page at the time of the fetch (Content-Usage,
	// Content-Signal, License, …), as "name: value" lines; at most PreferencesMaxBytes.
	Preferences string
	Outlinks    []Outlink // in the order of the page
	SelfLinks   uint32    // links that count and lead to a part of the page itself; they are not in Outlinks
	// Hints are in the order of Outlinks, at most one for each.
	Hints []LinkHint
}

// PreferenceUnavailable begins the line of FetchOutcome.Preferences that says, in RFC 3339, from when on a page must
// not be found (unavailable_after).
const PreferenceUnavailable = "robots: unavailable_after: "

// UnavailableAfter returns the time from which on the page must not be found, in ms since 1970; 0: there is none.
func (o *FetchOutcome) UnavailableAfter() int64 {
	for line := range strings.SplitSeq(o.Preferences, "\n") {
		if date, ok := strings.CutPrefix(line, PreferenceUnavailable); ok {
			if at, err := time.Parse(time.RFC3339, date); err == nil {
				return at.UnixMilli()
			}
		}
	}
	return 0
}

// texts returns the strings in stored order.
func (o *FetchOutcome) texts() [outcomeTexts]*string {
	return [...]*string{&o.Failure, (*string)(&o.Redirect), &o.MediaType, &o.Truncated, &o.ETag, &o.LastModified,
		(*string)(&o.Canonical), &o.Location.File, &o.Preferences}
}

// Layout of a FetchOutcome, a value of ParseLinks:
//
//	1 byte    version 3 in the high half, fetch status in the low half
//	          (version 2 lacks self links and repeats, version 1 milliseconds taken and preferences too)
//	1 byte    score mode; 4 = has a signature; 8 = has a SimHash (since format 12); 16 = HTTP/1.0,
//	          32 = has hints (both since format 13)
//	uvarint   HTTP status
//	varint    time
//	uvarint   depth
//	…         score (codec.go)
//	uvarint   flags
//	varint    Last-Modified time
//	varint    WARC offset, then varint length
//	uvarint   bytes
//	uvarint   milliseconds taken
//	16 bytes  signature, if any
//	8 bytes   SimHash, if any
//	texts     failure, redirect, media type, truncated, ETag, Last-Modified, canonical, WARC file,
//	          preferences
//	uvarint   self links
//	uvarint   number of hints, if any, then each: uvarint places after the one before, uvarint every, varint modified
//	uvarint   number of outlinks, then each:
//	          uvarint bytes of the key shared with the outlink before
//	          uvarint length of the rest of the key × 4, + 1 for nofollow, + 2 if it is repeated
//	                  (versions 1 and 2: × 2, + 1 for nofollow)
//	          uvarint repeats, if any
//	          rest of the key
//	          text anchor
//
// Example of the outlinks "com,a,)/x https" ("home", three times) and "com,a,)/y https" (nofollow, no text):
//
//	02   00 3e 02 "com,a,)/x https" 04 "home"   08 1d "y https" 00
//
// Links keep the order of the page: neighbours there mostly share host and path. The table's block
// compression reduces them further.
const (
	outcomeVersion   = 3
	outcomeTexts     = 9
	outcomeSignature = 4
	outcomeSimHash   = 8
	outcomeHTTP10    = 16
	outcomeHints     = 32
	// hintMin is the least number of bytes of a hint.
	hintMin = 3
	// outlinkMin is the least number of bytes of an outlink.
	outlinkMin = 3
	// outlinkTextMax bounds what the decoder allocates for keys and anchors, which shared prefixes make
	// larger than the input. It is more than OutlinksMax links of a page can need.
	outlinkTextMax = 64 << 20
)

// AppendFetchOutcome appends the encoding of o to dst. It cuts anchors at AnchorMaxBytes and leaves out
// links beyond OutlinksMax.
func AppendFetchOutcome(dst []byte, o *FetchOutcome) []byte {
	mode := scoreMode(o.Score)
	second := byte(mode)
	if !o.Signature.IsZero() {
		second |= outcomeSignature
	}
	if o.SimHash != 0 {
		second |= outcomeSimHash
	}
	if o.HTTP10 {
		second |= outcomeHTTP10
	}
	hints := o.Hints
	for n := min(len(o.Outlinks), OutlinksMax); len(hints) > 0 && int(hints[len(hints)-1].Link) >= n; {
		hints = hints[:len(hints)-1] // their links are not stored
	}
	if len(hints) > 0 {
		second |= outcomeHints
	}
	dst = append(dst, outcomeVersion<<4|byte(o.Status)&0x0f, second)
	dst = binary.AppendUvarint(dst, uint64(o.HTTPStatus))
	dst = binary.AppendVarint(dst, o.Time)
	dst = binary.AppendUvarint(dst, uint64(o.Depth))
	dst = appendScore(dst, mode, o.Score)
	dst = binary.AppendUvarint(dst, uint64(o.Flags))
	dst = binary.AppendVarint(dst, o.LastModifiedTime)
	dst = binary.AppendVarint(dst, o.Location.Offset)
	dst = binary.AppendVarint(dst, o.Location.Length)
	dst = binary.AppendUvarint(dst, uint64(o.Bytes))
	dst = binary.AppendUvarint(dst, uint64(o.TookMS))
	if second&outcomeSignature != 0 {
		dst = append(dst, o.Signature[:]...)
	}
	if second&outcomeSimHash != 0 {
		dst = o.SimHash.Append(dst)
	}
	for _, s := range o.texts() {
		dst = appendText(dst, *s)
	}
	dst = binary.AppendUvarint(dst, uint64(o.SelfLinks))
	if len(hints) > 0 {
		dst = appendHints(dst, hints)
	}
	return appendOutlinks(dst, o.Outlinks)
}

func appendHints(dst []byte, hints []LinkHint) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(hints)))
	next := uint32(0)
	for i := range hints {
		h := &hints[i]
		dst = binary.AppendUvarint(dst, uint64(h.Link-next))
		dst = binary.AppendVarint(binary.AppendUvarint(dst, uint64(h.Every)), h.Modified)
		next = h.Link + 1
	}
	return dst
}

// decodeHints reads what appendHints wrote.
func decodeHints(d *decoder) (hints []LinkHint) {
	next := uint64(0)
	for range d.uint(min(OutlinksMax, uint64(len(d.b))/hintMin)) {
		link := next + d.uint(OutlinksMax)
		if link >= OutlinksMax {
			d.fail()
			return nil
		}
		hints = append(hints, LinkHint{Link: uint32(link), Every: d.uint32(), Modified: d.varint()})
		next = link + 1
	}
	if len(hints) == 0 {
		d.fail()
	}
	return hints
}

// The low bits of the length of the rest of an outlink's key.
const (
	linkNoFollow = 1
	linkRepeated = 2
)

// linkHead reads what comes before the rest of an outlink's key, of a parse record of some version.
func (d *decoder) linkHead(version byte) (shared, rest uint64, noFollow bool, repeats uint32) {
	shared, rest = d.uvarint(), d.uvarint()
	noFollow = rest&linkNoFollow != 0
	if version < 3 {
		return shared, rest >> 1, noFollow, 0
	}
	if rest&linkRepeated != 0 {
		if repeats = d.uint32(); repeats == 0 {
			d.fail()
		}
	}
	return shared, rest >> 2, noFollow, repeats
}

func appendOutlinks(dst []byte, links []Outlink) []byte {
	links = links[:min(len(links), OutlinksMax)]
	dst = binary.AppendUvarint(dst, uint64(len(links)))
	var last urlkey.Key
	for i := range links {
		l := &links[i]
		shared := sharedPrefix(last, l.Key)
		rest := uint64(len(l.Key)-shared) << 2
		if l.NoFollow {
			rest |= linkNoFollow
		}
		if l.Repeats > 0 {
			rest |= linkRepeated
		}
		dst = binary.AppendUvarint(dst, uint64(shared))
		dst = binary.AppendUvarint(dst, rest)
		if l.Repeats > 0 {
			dst = binary.AppendUvarint(dst, uint64(l.Repeats))
		}
		dst = append(dst, l.Key[shared:]...)
		dst = appendText(dst, cutText(l.Anchor, AnchorMaxBytes))
		last = l.Key
	}
	return dst
}

// DecodeFetchOutcome decodes b into o and reuses the memory of o.Outlinks. The strings are copies, made
// with two allocations for any number of links. If AppendFetchOutcome did not make b, the error is
// ErrCorrupt and o is zero.
func DecodeFetchOutcome(b []byte, o *FetchOutcome) error {
	d, ok := decodeOutcome(b, o)
	decodeOutlinks(&d, o, outcomeVersionOf(b))
	if !ok || !d.done() {
		*o = FetchOutcome{Outlinks: o.Outlinks[:0]}
		return corrupt("parse record of %d bytes: % .32x", len(b), b)
	}
	return nil
}

// ReadFetchOutcome decodes everything but the links into o, and sets links to read those from b without
// copying. b must not change while links is in use. If AppendFetchOutcome did not make b, the error is
// ErrCorrupt, o is zero and links has none.
func ReadFetchOutcome(b []byte, o *FetchOutcome, links *OutlinkReader) error {
	d, ok := decodeOutcome(b, o)
	left := d.uint(min(OutlinksMax, uint64(len(d.b))/outlinkMin))
	*links = OutlinkReader{whole: b, d: d, left: left, key: links.key[:0], version: outcomeVersionOf(b)}
	if !ok || d.bad {
		*o, *links = FetchOutcome{Outlinks: o.Outlinks[:0]}, OutlinkReader{key: links.key}
		return corrupt("parse record of %d bytes: % .32x", len(b), b)
	}
	return nil
}

// OutcomeIn reads the outcome of a URL in a segment, all but its links, into o. ok is false if the segment has none.
func OutcomeIn(rd Reader, segment uint32, url []byte, o *FetchOutcome) (ok bool, err error) {
	value, ok, err := rd.Get(ParseLinks(segment), url, nil)
	if err != nil || !ok {
		return false, err
	}
	var links OutlinkReader
	if err := ReadFetchOutcome(value, o, &links); err != nil {
		return false, fmt.Errorf("parse record of %s in segment %d: %w", url, segment, err)
	}
	return true, nil
}

// OutlinkReader reads the links of an encoded FetchOutcome, in the order of the page; use it like a
// Scanner. The zero value has no links. It belongs to one goroutine at a time.
type OutlinkReader struct {
	whole    []byte
	d        decoder
	left     uint64
	key      []byte
	anchor   []byte
	noFollow bool
	repeats  uint32
	version  byte
	err      error
}

// Next moves to the next link; the first call moves to the first one. It returns false at the end and on
// error; Err tells them apart.
func (r *OutlinkReader) Next() bool {
	if r.left == 0 {
		if r.err == nil && r.whole != nil && !r.d.done() {
			r.err = corrupt("parse record of %d bytes: %d after the links", len(r.whole), len(r.d.b))
		}
		return false
	}
	r.left--
	shared, rest, noFollow, repeats := r.d.linkHead(r.version)
	tail := r.d.bytes(rest)
	r.anchor = r.d.bytes(r.d.uvarint())
	if r.d.bad || shared > uint64(len(r.key)) || int(shared)+len(tail) > KeyMaxBytes {
		r.left, r.err = 0, corrupt("parse record of %d bytes: link %d from the end", len(r.whole), r.left+1)
		return false
	}
	r.key, r.noFollow, r.repeats = append(r.key[:shared], tail...), noFollow, repeats
	return true
}

// Key returns the current link's target key, valid until the next call of Next.
func (r *OutlinkReader) Key() []byte { return r.key }

// Anchor returns the current link's text, a part of the encoded outcome.
func (r *OutlinkReader) Anchor() []byte { return r.anchor }

// NoFollow reports whether the current link does not count.
func (r *OutlinkReader) NoFollow() bool { return r.noFollow }

// Times returns how many links of the page the current one stands for: 1, and its repeats.
func (r *OutlinkReader) Times() int { return 1 + int(r.repeats) }

// Err returns the error that ended Next early (ErrCorrupt), or nil.
func (r *OutlinkReader) Err() error { return r.err }

// decodeOutcome decodes everything before the links; ok is false if b is no parse record.
func decodeOutcome(b []byte, o *FetchOutcome) (d decoder, ok bool) {
	d = decoder{b: b}
	head, second := d.byte(), d.byte()
	*o = FetchOutcome{Status: FetchStatus(head & 0x0f), Outlinks: o.Outlinks[:0], HTTP10: second&outcomeHTTP10 != 0}
	o.HTTPStatus = d.uint16()
	o.Time = d.varint()
	o.Depth = d.uint16()
	o.Score = d.score(uint32(second & 3))
	o.Flags = ParseFlags(d.uint16())
	o.LastModifiedTime = d.varint()
	o.Location.Offset, o.Location.Length = d.varint(), d.varint()
	o.Bytes = d.uint32()
	texts := o.texts()
	read := texts[:]
	if head>>4 == 1 {
		read = texts[:outcomeTexts-1]
	} else {
		o.TookMS = d.uint32()
	}
	if second&outcomeSignature != 0 {
		copy(o.Signature[:], d.bytes(uint64(len(o.Signature))))
	}
	if second&outcomeSimHash != 0 {
		o.SimHash = d.simHash()
	}
	decodeTexts(&d, read)
	if head>>4 >= 3 {
		o.SelfLinks = d.uint32()
	}
	if second&outcomeHints != 0 {
		o.Hints = decodeHints(&d)
	}
	const all = outcomeHints | outcomeHTTP10 | outcomeSimHash | outcomeSignature | scoreFloat
	return d, !d.bad && isOutcomeVersion(head) && second <= all && o.Status.valid()
}

func isOutcomeVersion(head byte) bool { return head>>4 >= 1 && head>>4 <= outcomeVersion }

// outcomeVersionOf is the version of an encoded FetchOutcome.
func outcomeVersionOf(b []byte) byte {
	if len(b) == 0 {
		return 0
	}
	return b[0] >> 4
}

// OutcomeSignature returns the signature of an encoded FetchOutcome without decoding the rest; it is zero
// when there is none. The error is ErrCorrupt.
func OutcomeSignature(b []byte) (sig Signature, err error) {
	d := decoder{b: b}
	head, second := d.byte(), d.byte()
	d.uvarint()
	d.varint()
	d.uvarint()
	d.score(uint32(second & 3))
	numbers := 6 // flags, Last-Modified, place in the WARC, bytes, time taken: varints, signed or not
	if head>>4 == 1 {
		numbers--
	}
	for range numbers {
		d.uvarint()
	}
	if second&outcomeSignature != 0 {
		copy(sig[:], d.bytes(uint64(len(sig))))
	}
	if d.bad || !isOutcomeVersion(head) {
		return Signature{}, corrupt("parse record of %d bytes: % .32x", len(b), b)
	}
	return sig, nil
}

// decodeTexts reads the strings with one allocation: it copies the bytes that contain all of them.
func decodeTexts(d *decoder, texts []*string) {
	var lengths [outcomeTexts][2]int
	whole := d.b
	for i := range texts {
		p := d.bytes(d.uvarint())
		end := len(whole) - len(d.b)
		lengths[i] = [2]int{end - len(p), end}
	}
	if d.bad {
		return
	}
	all := string(whole[:lengths[len(texts)-1][1]])
	for i, s := range texts {
		*s = all[lengths[i][0]:lengths[i][1]]
	}
}

// decodeOutlinks reads all links twice: first to check them and add up their sizes, then to write keys
// and anchors into one buffer of that size.
func decodeOutlinks(d *decoder, o *FetchOutcome, version byte) {
	count := d.uint(min(OutlinksMax, uint64(len(d.b))/outlinkMin))
	saved, total, last := d.b, 0, 0
	for range count {
		shared, rest, _, _ := d.linkHead(version)
		d.bytes(rest)
		anchor := d.bytes(d.uvarint())
		if d.bad || shared > uint64(last) {
			d.fail()
			return
		}
		last = int(shared) + int(rest)
		if total += last + len(anchor); last > KeyMaxBytes || total > outlinkTextMax {
			d.fail()
			return
		}
	}
	d.b = saved
	buf := make([]byte, 0, total)
	var key []byte
	for range count {
		shared, rest, noFollow, repeats := d.linkHead(version)
		start := len(buf)
		buf = append(append(buf, key[:shared]...), d.bytes(rest)...)
		key = buf[start:]
		start = len(buf)
		buf = append(buf, d.bytes(d.uvarint())...)
		o.Outlinks = append(o.Outlinks, Outlink{
			Key:      urlkey.Key(stringOf(key)),
			Anchor:   stringOf(buf[start:]),
			NoFollow: noFollow,
			Repeats:  repeats,
		})
	}
}
