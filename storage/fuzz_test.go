// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// fuzzCodec gives any bytes to a decoder. It must not panic and refuse them with ErrCorrupt, or decode them to a value
// that it decodes again from its encoding, and that takes no more memory than limit allows for that many bytes.
// weight is the number of bytes of a value.
func fuzzCodec[T any](
	f *testing.F, enc func([]byte, *T) []byte, dec func([]byte, *T) error, weight func(*T) int, limit func(n int) int,
) {
	f.Fuzz(func(t *testing.T, b []byte) {
		var v T
		given := bytes.Clone(b)
		err := dec(b, &v)
		if !bytes.Equal(b, given) {
			t.Fatal("decoding changed its input")
		}
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("error is not ErrCorrupt: %v", err)
			}
			return
		}
		if got, most := weight(&v), limit(len(b)); got > most {
			t.Fatalf("%d bytes became %d, want at most %d", len(b), got, most)
		}
		again := enc(nil, &v)
		var w T
		if err := dec(again, &w); err != nil {
			t.Fatalf("%+v does not survive encoding as %x: %v", v, again, err)
		}
		// Encodings and not values are compared: a score may be NaN.
		if twice := enc(nil, &w); !bytes.Equal(again, twice) {
			t.Fatalf("decoded another value from %x: %x", again, twice)
		}
	})
}

// fuzzValues lets the fuzzer choose values of a codec of TestCodecsRoundTrip: each is decoded from its encoding.
func fuzzValues(f *testing.F, name string) {
	list := codecs()
	c := list[slices.IndexFunc(list, func(c codec) bool { return c.name == name })]
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0xff, 1, 0x80}, 400))
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		_, check := c.random(t)
		check(t)
	}))
}

// older is an encoding, cut at its end, that says an older version: a start from which the fuzzer finds what that had.
func older(b []byte, first byte, cut int) []byte {
	b = bytes.Clone(b[:len(b)-cut])
	b[0] = first
	return b
}

var exampleOutcome = FetchOutcome{
	Status: FetchSuccess, HTTPStatus: 200, Time: 1752000000000, MediaType: "text/html", Depth: 2, Score: 0.5,
	Signature: Signature{1, 2}, ETag: `"a"`, Truncated: "length", Bytes: 9, TookMS: 7, SelfLinks: 3,
	Preferences: "Content-Usage: ai=n",
	Location:    warc.Location{File: "a.warc.gz", Offset: 1, Length: 2}, Outlinks: exampleOutlinks,
}

// FuzzOutcome reads any bytes as a parse record, versions 1 to 3. The reader of links finds what the decoder does, and
// the signature is the same when nothing else is decoded.
func FuzzOutcome(f *testing.F) {
	whole := AppendFetchOutcome(nil, &exampleOutcome)
	f.Add(whole)
	f.Add(older(whole, 2<<4|whole[0]&0x0f, 0))
	f.Add(older(whole, 1<<4|whole[0]&0x0f, 0))
	f.Add(AppendFetchOutcome(nil, &FetchOutcome{Status: FetchGone, HTTPStatus: 404}))
	f.Fuzz(func(t *testing.T, b []byte) {
		var o, again, head FetchOutcome
		var links OutlinkReader
		err, readErr := DecodeFetchOutcome(b, &o), ReadFetchOutcome(b, &head, &links)
		var read []Outlink
		size := 0
		for readErr == nil && links.Next() {
			if size += len(links.Key()) + len(links.Anchor()); size > outlinkTextMax {
				break // of which the decoder makes no value
			}
			read = append(read, Outlink{
				Key: urlkey.Key(links.Key()), Anchor: string(links.Anchor()), NoFollow: links.NoFollow(),
				Repeats: uint32(links.Times() - 1),
			})
		}
		if readErr = errors.Join(readErr, links.Err()); err != nil {
			if !errors.Is(err, ErrCorrupt) || readErr != nil && !errors.Is(readErr, ErrCorrupt) {
				t.Fatalf("error is not ErrCorrupt: %v, %v", err, readErr)
			}
			if readErr == nil && size <= outlinkTextMax {
				t.Fatalf("the reader of links takes what the decoder refuses with %v", err)
			}
			return
		}
		if readErr != nil {
			t.Fatalf("the reader of links refuses what the decoder takes: %v", readErr)
		}
		if !slices.Equal(read, o.Outlinks) {
			t.Fatalf("read %v, decoded %v", read, o.Outlinks)
		}
		if sig, err := OutcomeSignature(b); err != nil || sig != o.Signature {
			t.Fatalf("signature %x, %v, decoded %x", sig, err, o.Signature)
		}
		encoded := AppendFetchOutcome(nil, &o)
		if err := DecodeFetchOutcome(encoded, &again); err != nil {
			t.Fatalf("%+v does not survive encoding: %v", o, err)
		}
		if twice := AppendFetchOutcome(nil, &again); !bytes.Equal(encoded, twice) {
			t.Fatalf("decoded another value from %x: %x", encoded, twice)
		}
	})
}

// FuzzOutcomeValues: any parse record is decoded from its encoding.
func FuzzOutcomeValues(f *testing.F) { fuzzValues(f, "outcome") }

// FuzzText reads any bytes as the text of a page; its main content lies within it.
func FuzzText(f *testing.F) {
	whole := AppendParseText(nil, &ParseText{
		Title: "a", Text: "some text", Author: "b", Date: 1752000000000, Flags: FlagNoSnippet.WithMaxSnippet(20),
		Content: []TextRange{{0, 4}, {5, 9}}, Headings: []TextRange{{0, 4}},
	})
	f.Add(whole)
	f.Add(AppendParseText(nil, &ParseText{Title: "a", Text: strings.Repeat("some text ", 50)}))
	f.Add(textOfVersion1)
	f.Add(textOfVersion2)
	f.Add(textOfVersion3)
	fuzzCodec(f, AppendParseText, DecodeParseText, func(p *ParseText) int {
		return len(p.MainText()) + len(p.Title) + len(p.Text) + len(p.Description) + len(p.Author) +
			len(strings.Join(p.AppendHeadings(nil), ""))
	}, func(n int) int { return 3 * (n/packedHead + 1) * packedBlock })
}

// Records that earlier versions wrote: title, text "One and Two", headings and the content "Two".
var (
	textOfVersion1 = []byte("\x01\x00\x01\x00\x02\x05\x07\x0bTenutf-8One\nTwoOne and Two")
	textOfVersion2 = []byte("\x02\x00\x01\x00\x02\x05\x07\x0b\x01\x08\x03Tenutf-8One\nTwoOne and Two")
	textOfVersion3 = []byte("\x03\x00\x01\x00\x02\x05\x00\x0b\x01\x08\x03\x02\x00\x03\x05\x03\x00Tenutf-8One and Two")
)

// TestOlderText: records of versions 1 and 2 have their headings' texts apart from the text, and those of version 3 are
// not compressed.
func TestOlderText(t *testing.T) {
	for version, b := range map[int][]byte{1: textOfVersion1, 2: textOfVersion2, 3: textOfVersion3} {
		got := ParseText{Headings: make([]TextRange, 3)}
		if err := DecodeParseText(b, &got); err != nil {
			t.Fatalf("version %d: %v", version, err)
		}
		want := ParseText{
			Title: "T", Language: "en", Charset: "utf-8", Text: "One and Two", Headings: []TextRange{{0, 3}, {8, 11}},
		}
		if version >= 2 {
			want.Content = []TextRange{{8, 11}}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("version %d: -want +got\n%s", version, d)
		}
		if got := strings.Join(got.AppendHeadings(nil), "|"); got != "One|Two" {
			t.Errorf("version %d: headings %s", version, got)
		}
		if title, err := ReadParseTitle(b); err != nil || string(title) != "T" {
			t.Errorf("version %d: title %q, %v", version, title, err)
		}
		if title, err := ReadParseTitle(AppendParseText(nil, &got)); err != nil || string(title) != "T" {
			t.Errorf("written anew: title %q, %v", title, err)
		}
		if title, err := ReadParseTitle(b[:len(b)-1]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("without the last byte: title %q, %v", title, err)
		}
	}
}

// FuzzHostFacts reads any bytes as host facts, versions 1 to 4. A compressed robots.txt is no larger than one may be.
func FuzzHostFacts(f *testing.F) {
	for _, body := range [][]byte{nil, []byte("User-agent: *\n"), bytes.Repeat([]byte("Disallow: /\n"), 200)} {
		whole := AppendHostFacts(nil, &HostFacts{
			RobotsFetched: 1752000000000, RobotsExpires: 1752086400000, RobotsStatus: 200, CrawlDelayMS: 500, Sleeps: 1,
			Throttles: 2, Robots: body,
		})
		f.Add(whole)
		f.Add(older(whole, 3, 0))
		f.Add(older(whole, 2, 0))
		f.Add(older(whole, 1, 0))
	}
	fuzzCodec(f, AppendHostFacts, DecodeHostFacts, func(h *HostFacts) int {
		zones := len(h.Addr.Zone())
		for _, a := range h.Earlier {
			zones += len(a.Zone())
		}
		return len(h.Robots) + zones
	},
		func(n int) int { return n + RobotsMaxBytes })
}

// FuzzHostFactsValues: any host facts are decoded from their encoding.
func FuzzHostFactsValues(f *testing.F) { fuzzValues(f, "host facts") }

// FuzzHostCounts reads any bytes as host counts, versions 1 to 5.
func FuzzHostCounts(f *testing.F) {
	f.Add(AppendHostCounts(nil, &exampleCounts))
	whole := older(AppendHostCounts(nil, &bareCounts), 4, 1)
	f.Add(whole)
	f.Add(countsOf3)
	f.Add(older(whole, 2, 1))
	f.Add(older(whole, 1, 3))
	none := func(*HostCounts) int { return 0 }
	fuzzCodec(f, AppendHostCounts, DecodeHostCounts, none, func(int) int { return 0 })
}

// countsOf3 are bareCounts as version 3 had them, with two due times.
var countsOf3 = []byte{3, 0x12, 2, 3, 1, 5, 7, 5, 0, 3, 3, 1}

// FuzzRecord reads any bytes as a crawldb record.
func FuzzRecord(f *testing.F) {
	f.Add(AppendRecord(nil, &exampleRecord))
	f.Add(AppendRecord(nil, &Record{Status: StatusUnfetched, Truncated: true, Meta: []Field{{"a", "b"}}}))
	fuzzCodec(f, AppendRecord, DecodeRecord, func(r *Record) (n int) {
		for _, m := range r.Meta {
			n += len(m.Name) + len(m.Value)
		}
		return n + len(r.ETag) + len(r.LastModified)
	}, func(n int) int { return 30 * (n + 1) }) // a date of a few bytes becomes its usual text
}

// FuzzWithheld reads any bytes as a withheld link.
func FuzzWithheld(f *testing.F) {
	f.Add(AppendWithheld(nil, &exampleWithheld))
	fuzzCodec(f, AppendWithheld, DecodeWithheld, func(*Withheld) int { return 0 }, func(n int) int { return n })
}

// FuzzSegment reads any bytes as a segment.
func FuzzSegment(f *testing.F) {
	f.Add(AppendSegment(nil, &Segment{State: SegmentOpen, WARC: []WARCFile{{"a", 1, 2, 3}}}))
	f.Add(AppendSegment(nil, &Segment{State: SegmentIndexed, Batch: true, Counts: SegmentCounts{Fetched: 3}}))
	fuzzCodec(f, AppendSegment,
		func(b []byte, s *Segment) (err error) { *s, err = DecodeSegment(7, b); return err },
		func(s *Segment) int { return len(s.WARC) * int(reflect.TypeFor[WARCFile]().Size()) },
		func(n int) int { return (n + 1) * int(reflect.TypeFor[WARCFile]().Size()) })
}

// FuzzCDX reads any bytes as the place of a capture.
func FuzzCDX(f *testing.F) {
	f.Add(AppendCDX(nil, &CDX{Location: warc.Location{File: "a", Offset: 1, Length: 2}, MediaType: "text/html"}))
	fuzzCodec(f, AppendCDX, DecodeCDX, func(c *CDX) int { return len(c.Location.File) + len(c.MediaType) },
		func(n int) int { return n })
}
