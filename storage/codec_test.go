// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// codec is one record type for the tests that hold for all of them.
type codec struct {
	name string
	// random draws a value and returns its encoding and a check that decoding gives it back.
	random func(t *rapid.T) (encoded []byte, check func(t *rapid.T))
	decode func(b []byte) error
}

// codecOf builds a codec from the functions of a type.
func codecOf[T any](name string, draw func(*rapid.T) T, enc func([]byte, *T) []byte, dec func([]byte, *T) error) codec {
	return codec{
		name: name,
		random: func(t *rapid.T) ([]byte, func(*rapid.T)) {
			v := draw(t)
			b := enc([]byte("before"), &v)
			if !bytes.HasPrefix(b, []byte("before")) {
				t.Fatal("encoding did not append")
			}
			b = b[len("before"):]
			return b, func(t *rapid.T) {
				var got T
				if err := dec(b, &got); err != nil {
					t.Fatalf("decoding %x: %v", b, err)
				}
				equalAddr := cmp.Comparer(func(a, b netip.Addr) bool { return a == b })
				if diff := cmp.Diff(v, got, cmpopts.EquateEmpty(), cmpopts.EquateNaNs(), equalAddr); diff != "" {
					t.Fatalf("decoded another value (-want +got):\n%s", diff)
				}
				// A second encoding must not depend on what the destination held before.
				if again := enc(nil, &got); !bytes.Equal(again, b) {
					t.Fatalf("encoded again: %x, first %x", again, b)
				}
			}
		},
		decode: func(b []byte) error { var v T; return dec(b, &v) },
	}
}

func drawScore(t *rapid.T) float64 {
	return rapid.OneOf(
		rapid.SampledFrom([]float64{0, 1, math.Copysign(0, -1), math.Inf(1)}),
		rapid.Float64(),
		rapid.Map(rapid.Int32(), func(n int32) float64 { return float64(n) / scoreUnit }),
	).Draw(t, "score")
}

func drawSignature(t *rapid.T) (s Signature) {
	if rapid.Bool().Draw(t, "signed") {
		copy(s[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "signature"))
	}
	return s
}

var texts = rapid.OneOf(rapid.Just(""), rapid.String(), rapid.Just(`"5f2-3"`))

func drawKey(t *rapid.T) urlkey.Key {
	return urlkey.Key(rapid.StringMatching(`com,(a|b|example),\)/[a-z/]{0,12} https?`).Draw(t, "key"))
}

func drawRecord(t *rapid.T) Record {
	at := rapid.Int64Range(0, 1<<42).Draw(t, "at")
	modified := rapid.SampledFrom([]string{
		"Tue, 15 Nov 1994 12:45:26 GMT", "Mon, 15 Nov 1994 12:45:26 GMT", "Tue, 15 Nov 1894 12:45:26 GMT",
	})
	r := Record{
		Status:       Status(rapid.IntRange(1, StatusCount-1).Draw(t, "status")),
		Retries:      rapid.Byte().Draw(t, "retries"),
		Depth:        rapid.Uint16().Draw(t, "depth"),
		Interval:     rapid.OneOf(rapid.Just(uint32(2592000)), rapid.Uint32()).Draw(t, "interval"),
		HTTPStatus:   rapid.OneOf(rapid.Just(uint16(200)), rapid.Uint16()).Draw(t, "http"),
		Score:        drawScore(t),
		Hops:         rapid.Byte().Draw(t, "hops"),
		Truncated:    rapid.Bool().Draw(t, "truncated"),
		LastFetch:    rapid.OneOf(rapid.Just(int64(0)), rapid.Just(at), rapid.Int64()).Draw(t, "last"),
		ModifiedTime: rapid.OneOf(rapid.Just(int64(0)), rapid.Just(at), rapid.Int64()).Draw(t, "modified"),
		Segment:      rapid.Uint32().Draw(t, "segment"),
		Signature:    drawSignature(t),
		SimHash:      SimHash(rapid.Uint64().Draw(t, "simhash")),
		Visits:       rapid.Byte().Draw(t, "visits"),
		Changes:      rapid.Byte().Draw(t, "changes"),
		Watched:      rapid.Uint32().Draw(t, "watched"),
		ETag:         texts.Draw(t, "etag"),
		LastModified: rapid.OneOf(texts, modified).Draw(t, "modified header"),
	}
	r.FetchTime = rapid.OneOf(rapid.Just(r.LastFetch+int64(r.Interval)*1000), rapid.Int64()).Draw(t, "due")
	for range rapid.IntRange(0, 3).Draw(t, "fields") {
		r.Meta = append(r.Meta, Field{texts.Draw(t, "name"), texts.Draw(t, "value")})
	}
	return r
}

func drawOutcome(t *rapid.T) FetchOutcome {
	o := FetchOutcome{
		Status:           FetchStatus(rapid.IntRange(1, fetchStatusCount-1).Draw(t, "status")),
		HTTPStatus:       rapid.Uint16().Draw(t, "http"),
		Time:             rapid.Int64().Draw(t, "time"),
		Failure:          texts.Draw(t, "failure"),
		Redirect:         drawKey(t),
		MediaType:        texts.Draw(t, "type"),
		Truncated:        texts.Draw(t, "truncated"),
		Signature:        drawSignature(t),
		SimHash:          SimHash(rapid.Uint64().Draw(t, "simhash")),
		ETag:             texts.Draw(t, "etag"),
		LastModified:     texts.Draw(t, "lm"),
		LastModifiedTime: rapid.Int64().Draw(t, "lmt"),
		Depth:            rapid.Uint16().Draw(t, "depth"),
		Score:            drawScore(t),
		Flags:            ParseFlags(rapid.Uint16().Draw(t, "flags")),
		Canonical:        drawKey(t),
		Location: warc.Location{
			File:   texts.Draw(t, "file"),
			Offset: rapid.Int64().Draw(t, "offset"),
			Length: rapid.Int64().Draw(t, "length"),
		},
		Bytes:       rapid.Uint32().Draw(t, "bytes"),
		TookMS:      rapid.Uint32().Draw(t, "took"),
		HTTP10:      rapid.Bool().Draw(t, "1.0"),
		Preferences: texts.Draw(t, "preferences"),
		SelfLinks:   rapid.Uint32().Draw(t, "self links"),
	}
	for range rapid.IntRange(0, 20).Draw(t, "links") {
		o.Outlinks = append(o.Outlinks, Outlink{
			Key:      drawKey(t),
			Anchor:   cutText(texts.Draw(t, "anchor"), AnchorMaxBytes),
			NoFollow: rapid.Bool().Draw(t, "nofollow"),
			Repeats:  rapid.OneOf(rapid.Just(uint32(0)), rapid.Uint32()).Draw(t, "repeats"),
		})
	}
	for i := range o.Outlinks {
		if rapid.IntRange(0, 3).Draw(t, "hinted") == 0 {
			o.Hints = append(o.Hints, LinkHint{
				Link: uint32(i), Every: rapid.Uint32().Draw(t, "every"), Modified: rapid.Int64().Draw(t, "modified"),
			})
		}
	}
	return o
}

func drawFacts(t *rapid.T) HostFacts {
	addrs := []netip.Addr{{}}
	for _, a := range []string{"192.0.2.1", "2001:db8::1", "fe80::1%eth0", "::ffff:192.0.2.1"} {
		addrs = append(addrs, netip.MustParseAddr(a))
	}
	f := HostFacts{
		RobotsFetched:  rapid.Int64().Draw(t, "fetched"),
		RobotsExpires:  rapid.Int64().Draw(t, "expires"),
		RobotsStatus:   rapid.Uint16().Draw(t, "status"),
		RobotsFailures: rapid.Uint16().Draw(t, "rf"),
		CrawlDelayMS:   rapid.Uint32().Draw(t, "delay"),
		Failures:       rapid.Uint16().Draw(t, "failures"),
		Sleeps:         rapid.Uint16().Draw(t, "sleeps"),
		Throttles:      rapid.Uint16().Draw(t, "throttles"),
		NextFetch:      rapid.Int64().Draw(t, "next"),
		ResponseMS:     rapid.Uint32().Draw(t, "response"),
		Robots:         bytes.Repeat([]byte(rapid.String().Draw(t, "line")), rapid.IntRange(0, 400).Draw(t, "lines")),
		Addr:           rapid.SampledFrom(addrs).Draw(t, "addr"),
	}
	f.Robots = f.Robots[:min(len(f.Robots), RobotsMaxBytes)]
	for i := range rapid.IntRange(0, len(f.Earlier)).Draw(t, "earlier") {
		f.Earlier[i] = rapid.SampledFrom(addrs[1:]).Draw(t, "addr")
	}
	return f
}

type inlinks struct{ Links []Inlink }

func codecs() []codec {
	return []codec{
		codecOf("record", drawRecord, AppendRecord, DecodeRecord),
		codecOf("outcome", drawOutcome, AppendFetchOutcome, DecodeFetchOutcome),
		codecOf("text", func(t *rapid.T) ParseText {
			text := ParseText{
				Title:       texts.Draw(t, "title"),
				Text:        strings.Repeat(texts.Draw(t, "text"), rapid.IntRange(1, 300).Draw(t, "times")),
				Description: texts.Draw(t, "description"),
				Author:      texts.Draw(t, "author"),
				Date:        rapid.Int64().Draw(t, "date"),
				Language:    texts.Draw(t, "language"),
				Charset:     texts.Draw(t, "charset"),
				Flags:       ParseFlags(rapid.Uint16().Draw(t, "flags")),
			}
			for _, parts := range []*[]TextRange{&text.Content, &text.Headings} {
				ends := rapid.SliceOfN(rapid.Uint32Range(0, uint32(len(text.Text))), 0, 10).Draw(t, "ends")
				slices.Sort(ends)
				for ; len(ends) >= 2; ends = ends[2:] {
					if ends[0] < ends[1] {
						*parts = append(*parts, TextRange{ends[0], ends[1]})
					}
				}
			}
			return text
		}, AppendParseText, DecodeParseText),
		codecOf("host counts", func(t *rapid.T) (c HostCounts) {
			c.NextDue = rapid.Int64().Draw(t, "due")
			for i := range c.ByStatus[1:] {
				c.ByStatus[1+i] = rapid.OneOf(rapid.Just(uint32(0)), rapid.Uint32()).Draw(t, "n")
			}
			c.Bytes, c.TookMS = rapid.Uint64().Draw(t, "bytes"), rapid.Uint64().Draw(t, "took")
			c.New = rapid.Uint32().Draw(t, "new")
			c.Score = drawScore(t)
			for range rapid.IntRange(0, 4).Draw(t, "latencies") {
				c.Latency.Add(rapid.Uint64Range(0, 1e6).Draw(t, "ms"))
			}
			for i := range HostErrorCount + HostProtocolCount {
				*c.tally(i) = rapid.OneOf(rapid.Just(uint32(0)), rapid.Uint32()).Draw(t, "tally")
			}
			return c
		}, AppendHostCounts, DecodeHostCounts),
		codecOf("host facts", drawFacts, AppendHostFacts, DecodeHostFacts),
		codecOf("inlinks", func(t *rapid.T) (l inlinks) {
			for range rapid.IntRange(0, 20).Draw(t, "links") {
				l.Links = append(l.Links, Inlink{drawKey(t), cutText(texts.Draw(t, "anchor"), AnchorMaxBytes)})
			}
			return l
		}, func(dst []byte, l *inlinks) []byte { return AppendInlinks(dst, l.Links) },
			func(b []byte, l *inlinks) (err error) { l.Links, err = decodeInlinks(b); return err }),
		codecOf("withheld", func(t *rapid.T) Withheld {
			w := Withheld{
				Reason:    WithheldReason(rapid.IntRange(1, 2).Draw(t, "reason")),
				Score:     drawScore(t),
				Depth:     rapid.Uint16().Draw(t, "depth"),
				Hops:      rapid.Byte().Draw(t, "hops"),
				Link:      rapid.Bool().Draw(t, "link"),
				Referrers: rapid.SampledFrom([]uint64{0, 1, 1 << 63}).Draw(t, "referrers"),
			}
			w.Sitemap = !w.Link || rapid.Bool().Draw(t, "sitemap")
			return w
		}, AppendWithheld, DecodeWithheld),
		codecOf("fetchlist entry", func(t *rapid.T) FetchlistEntry {
			return FetchlistEntry{drawScore(t), rapid.Uint16().Draw(t, "depth")}
		}, func(dst []byte, e *FetchlistEntry) []byte { return AppendFetchlistEntry(dst, *e) },
			func(b []byte, e *FetchlistEntry) (err error) { *e, err = DecodeFetchlistEntry(b); return err }),
		codecOf("cdx", func(t *rapid.T) CDX {
			c := CDX{
				Segment:    rapid.Uint32().Draw(t, "segment"),
				HTTPStatus: rapid.Uint16().Draw(t, "status"),
				MediaType:  texts.Draw(t, "type"),
				Location: warc.Location{
					File:   texts.Draw(t, "file"),
					Offset: rapid.Int64Range(0, math.MaxInt64).Draw(t, "o"),
					Length: rapid.Int64Range(0, math.MaxInt64).Draw(t, "l"),
				},
			}
			copy(c.Digest[:], rapid.SliceOfN(rapid.Byte(), 20, 20).Draw(t, "digest"))
			return c
		}, AppendCDX, DecodeCDX),
		codecOf("segment", func(t *rapid.T) Segment {
			seg := Segment{
				Number:  7,
				State:   SegmentState(rapid.IntRange(1, 5).Draw(t, "state")),
				Batch:   rapid.Bool().Draw(t, "batch"),
				Created: time.UnixMilli(rapid.Int64Range(0, 1<<43).Draw(t, "created")).UTC(),
			}
			seg.Counts.Fetched = rapid.Uint64().Draw(t, "fetched")
			seg.Counts.Bytes = rapid.Uint64().Draw(t, "bytes")
			for range rapid.IntRange(0, 3).Draw(t, "files") {
				first := rapid.Int64Range(0, math.MaxInt64).Draw(t, "start")
				seg.WARC = append(seg.WARC, WARCFile{
					Name:    texts.Draw(t, "file"),
					Start:   first,
					Size:    rapid.Int64Range(0, math.MaxInt64-first).Draw(t, "size"),
					Records: rapid.Uint64().Draw(t, "records"),
				})
			}
			return seg
		}, AppendSegment, func(b []byte, s *Segment) (err error) { *s, err = DecodeSegment(7, b); return err }),
	}
}

func TestCodecsRoundTrip(t *testing.T) {
	for _, c := range codecs() {
		t.Run(c.name, rapid.MakeCheck(func(t *rapid.T) {
			_, check := c.random(t)
			check(t)
		}))
	}
}

// TestCodecsRefuseDamage: a cut or extended encoding is an error, never another value; a flipped bit
// is never a panic.
func TestCodecsRefuseDamage(t *testing.T) {
	for _, c := range codecs() {
		t.Run(c.name, rapid.MakeCheck(func(t *rapid.T) {
			b, _ := c.random(t)
			if c.name != "inlinks" { // inlinks end where their bytes end, so that one more or less may fit
				if n := rapid.IntRange(0, len(b)-1).Draw(t, "cut"); c.decode(b[:n]) == nil {
					t.Fatalf("decoded %d of %d bytes", n, len(b))
				}
				if c.decode(append(bytes.Clone(b), 0)) == nil {
					t.Fatal("decoded with a byte too many")
				}
			}
			flip := bytes.Clone(b)
			flip[rapid.IntRange(0, len(b)-1).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			if err := c.decode(flip); err != nil && !errors.Is(err, ErrCorrupt) {
				t.Fatalf("error is not ErrCorrupt: %v", err)
			}
		}))
	}
}

// FuzzDecode gives any bytes to all decoders.
func FuzzDecode(f *testing.F) {
	list := codecs()
	f.Add(AppendRecord(nil, &exampleRecord))
	f.Add(AppendFetchOutcome(nil, &FetchOutcome{Status: FetchSuccess, Outlinks: exampleOutlinks}))
	f.Add(AppendInlinks(nil, []Inlink{{"com,a,)/x https", "home"}, {"com,a,)/y https", ""}}))
	f.Add(AppendHostFacts(nil, &HostFacts{Robots: bytes.Repeat([]byte("Disallow: /\n"), 200)}))
	f.Add(AppendParseText(nil, &ParseText{Title: "a", Text: "b"}))
	f.Add(AppendSegment(nil, &Segment{State: SegmentOpen, WARC: []WARCFile{{"a", 1, 2, 3}}}))
	f.Add(AppendCDX(nil, &CDX{Location: warc.Location{File: "a"}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, c := range list {
			if err := c.decode(b); err != nil && !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%s: %v", c.name, err)
			}
		}
		var r Record
		if DecodeRecord(b, &r) == nil {
			var again Record
			if err := DecodeRecord(AppendRecord(nil, &r), &again); err != nil {
				t.Fatalf("what was decoded does not survive encoding: %v", err)
			}
		}
	})
}

var exampleRecord = Record{
	Status: StatusFetched, Depth: 2, Interval: 30 * 24 * 3600, HTTPStatus: 200, Score: 0.5, Segment: 7,
	LastFetch: 1752000000000, FetchTime: 1752000000000 + 30*24*3600*1000, ModifiedTime: 1752000000000,
	Signature: Signature{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
}

var exampleCounts = HostCounts{
	ByStatus: [StatusCount]uint32{StatusUnfetched: 3, StatusFetched: 1}, New: 2, NextDue: 9, Bytes: 5, TookMS: 7,
	Score: 0.5, Latency: Latency{5: 1}, Protocols: [HostProtocolCount]uint32{ProtocolHTTPS11: 1},
}

// bareCounts are exampleCounts without what version 5 added.
var bareCounts = HostCounts{
	ByStatus: exampleCounts.ByStatus, New: 2, NextDue: 9, Bytes: 5, TookMS: 7,
}

var exampleWithheld = Withheld{Reason: WithheldByScope, Score: 0.5, Depth: 2, Link: true}

var exampleOutlinks = []Outlink{
	{Key: "com,a,)/x https", Anchor: "home", Repeats: 2}, {Key: "com,a,)/y https", NoFollow: true},
}

// TestCodecExamples holds the worked examples of the layout comments.
func TestCodecExamples(t *testing.T) {
	outlinks := appendOutlinks(nil, exampleOutlinks)
	for _, c := range []struct {
		name string
		got  []byte
		want string // hex, spaces ignored; text in quotes
	}{
		{"record", AppendRecord(nil, &exampleRecord),
			"12 6e7600 02 d005 808004 80c0b3b5fd65 07 0102030405060708090a0b0c0d0e0f10"},
		{"host counts", AppendHostCounts(nil, &exampleCounts), "05 12 02 03 01 05 07 02  858004 808004 050101 01"},
		{"withheld", AppendWithheld(nil, &exampleWithheld), "11 11 808004 02 00"},
		{"fetchlist", AppendFetchlistEntry(nil, FetchlistEntry{1, 2}), "11 808008 02"},
		{"outlinks", outlinks, `02 00 3e 02 "com,a,)/x https" 04 "home" 08 1d "y https" 00`},
		{"inlinks", AppendInlinks(nil, []Inlink{{"com,a,)/x https", "home"}, {"com,a,)/y https", ""}}),
			`01 00 0f "com,a,)/x https" 04 "home" 08 07 "y https" 00`},
	} {
		if want := unhex(t, c.want); !bytes.Equal(c.got, want) {
			t.Errorf("%s: % x, want % x", c.name, c.got, want)
		}
	}
	text := ParseTextRange(7)
	got := text.appendKey(nil, []byte("com,example,)/ http"))
	if want := unhex(t, `70 00000007 74 "com,example,)/ http"`); !bytes.Equal(got, want) {
		t.Errorf("key: % x, want % x", got, want)
	}
}

// TestOlderOutcome: parse records of version 2, which count no repeats, are read.
func TestOlderOutcome(t *testing.T) {
	b := AppendFetchOutcome(nil, &FetchOutcome{Status: FetchSuccess, HTTPStatus: 200, Preferences: "p"})
	b = b[:len(b)-2] // self links and the number of links
	b[0] = 2<<4 | b[0]&0x0f
	b = append(b, unhex(t, `02 00 1e "com,a,)/x https" 04 "home" 08 0f "y https" 00`)...)
	want := slices.Clone(exampleOutlinks)
	want[0].Repeats = 0
	var o FetchOutcome
	if err := DecodeFetchOutcome(b, &o); err != nil || o.Preferences != "p" || !slices.Equal(o.Outlinks, want) {
		t.Fatalf("%+v, %v", o, err)
	}
	var links OutlinkReader
	if err := ReadFetchOutcome(b, &o, &links); err != nil {
		t.Fatal(err)
	}
	for i := 0; links.Next(); i++ {
		if l := want[i]; string(links.Key()) != string(l.Key) || links.NoFollow() != l.NoFollow || links.Times() != 1 {
			t.Errorf("link %d: %s %v %d times", i, links.Key(), links.NoFollow(), links.Times())
		}
	}
	if links.Err() != nil {
		t.Error(links.Err())
	}
}

func unhex(t *testing.T, s string) (b []byte) {
	t.Helper()
	for i, part := range strings.Split(s, `"`) {
		if i%2 == 1 {
			b = append(b, part...)
			continue
		}
		p, err := hex.DecodeString(strings.ReplaceAll(part, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, p...)
	}
	return b
}

// TestRecordSize: the promise is about 40 bytes for a fetched page and half of it for a link.
func TestRecordSize(t *testing.T) {
	unfetched := Record{
		Status: StatusUnfetched, Depth: 3, Interval: 30 * 24 * 3600, Score: 0.125, FetchTime: 1752000000000,
	}
	for _, c := range []struct {
		r    Record
		most int
	}{{exampleRecord, 40}, {unfetched, 20}} {
		if n := len(AppendRecord(nil, &c.r)); n > c.most {
			t.Errorf("%s takes %d bytes, more than %d", c.r.Status, n, c.most)
		}
	}
}

func TestLimitsWhenEncoding(t *testing.T) {
	long := strings.Repeat("x", AnchorMaxBytes-1) + "é" // the limit falls inside the é
	o := FetchOutcome{Status: FetchSuccess, Outlinks: make([]Outlink, OutlinksMax+1)}
	o.Outlinks[0] = Outlink{Key: "com,a,)/ http", Anchor: long}
	var got FetchOutcome
	if err := DecodeFetchOutcome(AppendFetchOutcome(nil, &o), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Outlinks) != OutlinksMax || got.Outlinks[0].Anchor != long[:AnchorMaxBytes-1] {
		t.Errorf("%d links, first anchor %d bytes", len(got.Outlinks), len(got.Outlinks[0].Anchor))
	}
	f := HostFacts{Robots: bytes.Repeat([]byte("a"), RobotsMaxBytes+1)}
	var facts HostFacts
	if err := DecodeHostFacts(AppendHostFacts(nil, &f), &facts); err != nil || len(facts.Robots) != RobotsMaxBytes {
		t.Errorf("robots of %d bytes, %v", len(facts.Robots), err)
	}
}

// TestSharedPrefixBomb: a few bytes must not decode into gigabytes.
func TestSharedPrefixBomb(t *testing.T) {
	o := FetchOutcome{Status: FetchSuccess}
	b := AppendFetchOutcome(nil, &o)
	b = b[:len(b)-1] // the count of outlinks
	long := strings.Repeat("k", KeyMaxBytes)
	b = append(b, 0xa0, 0x9c, 0x01, 0x00) // 20,000 links; shares nothing
	b = append(b, 0x80, 0x80, 0x02)       // 8,192 bytes follow
	b = append(append(b, long...), 0)
	for range OutlinksMax - 1 {
		b = append(b, 0x80, 0x40, 0, 0) // the same key again
	}
	if err := DecodeFetchOutcome(b, &o); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("20,000 keys of 8 KiB in %d bytes: %v", len(b), err)
	}
}

func TestDecodeReusesRoom(t *testing.T) {
	b := AppendRecord(nil, &exampleRecord)
	var r Record
	if n := testing.AllocsPerRun(100, func() { _ = DecodeRecord(b, &r) }); n != 0 {
		t.Errorf("DecodeRecord allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { b = AppendRecord(b[:0], &exampleRecord) }); n != 0 {
		t.Errorf("AppendRecord allocates %v times", n)
	}
	o := FetchOutcome{Status: FetchSuccess, MediaType: "text/html"}
	for range 25 {
		o.Outlinks = append(o.Outlinks, exampleOutlinks...)
	}
	enc := AppendFetchOutcome(nil, &o)
	if n := testing.AllocsPerRun(100, func() { _ = DecodeFetchOutcome(enc, &o) }); n > 2 {
		t.Errorf("DecodeFetchOutcome of 50 links allocates %v times", n)
	}
}

func TestStatusNames(t *testing.T) {
	for s := Status(1); int(s) < StatusCount; s++ {
		if got, err := ParseStatus(s.String()); err != nil || got != s {
			t.Errorf("%v: %v, %v", s, got, err)
		}
	}
	for s := FetchStatus(1); int(s) < fetchStatusCount; s++ {
		if got, err := ParseFetchStatus(s.String()); err != nil || got != s {
			t.Errorf("%v: %v, %v", s, got, err)
		}
	}
	for _, name := range []string{"", "db_none", "DB_FETCHED"} {
		if s, err := ParseStatus(name); err == nil {
			t.Errorf("%q is status %v", name, s)
		}
	}
	for _, c := range []struct {
		from, to Status
		want     bool
	}{
		{0, StatusUnfetched, true},
		{0, StatusFetched, false},
		{StatusUnfetched, StatusFetched, true},
		{StatusUnfetched, StatusDuplicate, false},
		{StatusFetched, StatusDuplicate, true},
		{StatusDuplicate, StatusFetched, true},
		{StatusGone, StatusUnfetched, true},
		{StatusFetched, 0, false},
		{StatusGone, StatusDuplicate, false},
		{99, StatusFetched, false},
	} {
		if got := c.from.CanBecome(c.to); got != c.want {
			t.Errorf("%v → %v: %v", c.from, c.to, got)
		}
	}
}

func BenchmarkRecordDecode(b *testing.B) {
	enc := AppendRecord(nil, &exampleRecord)
	var r Record
	for b.Loop() {
		if err := DecodeRecord(enc, &r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRecordAppend(b *testing.B) {
	var dst []byte
	for b.Loop() {
		dst = AppendRecord(dst[:0], &exampleRecord)
	}
}

func BenchmarkOutcomeDecode50Links(b *testing.B) {
	o := FetchOutcome{Status: FetchSuccess, MediaType: "text/html"}
	for range 25 {
		o.Outlinks = append(o.Outlinks, exampleOutlinks...)
	}
	enc := AppendFetchOutcome(nil, &o)
	b.SetBytes(int64(len(enc)))
	for b.Loop() {
		if err := DecodeFetchOutcome(enc, &o); err != nil {
			b.Fatal(err)
		}
	}
}

// decodeInlinks returns the links of a row.
func decodeInlinks(b []byte) (links []Inlink, err error) {
	err = VisitInlinks(b, func(from, anchor []byte) bool {
		links = append(links, Inlink{From: urlkey.Key(from), Anchor: string(anchor)})
		return true
	})
	return links, err
}
