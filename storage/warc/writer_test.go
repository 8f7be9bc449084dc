// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var testTime = time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.FixedZone("CET", 3600))

// testOptions has a fixed clock and ids that count.
func testOptions(fs FS) WriterOptions {
	var n atomic.Uint64
	return WriterOptions{FS: fs, Dir: "data/warc", Prefix: "t", Now: func() time.Time { return testTime },
		NewID: func() (id [16]byte) {
			binary.BigEndian.PutUint64(id[8:], n.Add(1))
			return id
		}}
}

func testWriter(t testing.TB, fs FS) *Writer {
	t.Helper()
	w, err := NewWriter(testOptions(fs))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func testExchange(i int) *Exchange {
	body := fmt.Sprintf("<html>page %d</html>", i)
	return &Exchange{
		URI:     fmt.Sprintf("https://example.org/%d", i),
		Addr:    netip.MustParseAddr("192.0.2.7"),
		Start:   testTime,
		Request: []byte("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"),
		ResponseHead: fmt.Appendf(nil,
			"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n", len(body)),
		Body: []byte(body),
	}
}

// readAll reads a whole file, which must have no fault, and copies the blocks.
func readAll(t testing.TB, data []byte, name string) []Record {
	t.Helper()
	size := int64(len(data))
	r := NewReaderOptions(&strictAt{t, bytes.NewReader(data), size}, size, ReaderOptions{File: name})
	var all []Record
	for {
		rec, err := r.Next()
		if err == io.EOF {
			if r.Valid() != int64(len(data)) {
				t.Fatalf("Valid() = %d at the end of %d bytes", r.Valid(), len(data))
			}
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := rec.CheckDigests(); err != nil {
			t.Fatal(err)
		}
		cp := *rec
		cp.Header, cp.Block = slices.Clone(rec.Header), slices.Clone(rec.Block)
		all = append(all, cp)
	}
}

// TestGolden compares every byte of one uncompressed file: an exchange that needs all rewriting, a revisit and a
// metadata record.
func TestGolden(t *testing.T) {
	fs := newMemFS()
	o := testOptions(fs)
	o.Info = []Field{
		{"software", "seine/1.0"},
		{"robots", "obey"},
		{"http-header-user-agent", "seine (+https://example.org/bot)"},
	}
	w, err := NewWriter(o)
	if err != nil {
		t.Fatal(err)
	}
	x := testExchange(1)
	x.ResponseHead = []byte("HTTP/1.1 200 OK\r\nServer: x\nTransfer-Encoding: chunked\r\n" +
		"content-length: 99\r\nX-Fold: a\r\n b\r\n\r\nleft over")
	x.Truncated = "length"
	x.Fields = []Field{{"WARC-Identified-Payload-Type", "text/html"}, {"X-Note", "two\r\nlines"}}
	written, err := w.AppendExchange(x)
	if err != nil {
		t.Fatal(err)
	}
	revisit := &Revisit{
		URI:           x.URI,
		Start:         testTime,
		ResponseHead:  []byte("HTTP/1.1 304 Not Modified\r\nContent-Length: 20"),
		Profile:       NotModified,
		RefersToURI:   x.URI,
		RefersToDate:  testTime.Add(-time.Hour),
		RefersToID:    "urn:uuid:1",
		PayloadDigest: string(AppendSHA1(nil, written.PayloadSHA1)),
	}
	if _, err := w.WriteRevisit(revisit); err != nil {
		t.Fatal(err)
	}
	fields := []Field{{"fetch-status", "refused\x00\xff\u2028"}, {"via", x.URI}}
	if _, err := w.WriteMetadata("https://example.net/", testTime, fields); err != nil {
		t.Fatal(err)
	}
	files, err := w.Close()
	if err != nil || len(files) != 1 {
		t.Fatalf("Close = %v, %v", files, err)
	}
	data := fs.bytesOf("data/warc/t-00000.warc.gz")
	whole := FileInfo{Name: "t-00000.warc.gz", Size: int64(len(data)), Records: 5}
	if files[0] != whole || w.Bytes() != int64(len(data)) {
		t.Errorf("FileInfo %+v, Bytes %d for %d bytes", files[0], w.Bytes(), len(data))
	}
	zr, err := gzip.NewReader(bytes.NewReader(data)) // the standard library's, as an independent reader
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(zr)
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/exchange.golden"
	if *rewrite {
		if err := os.WriteFile(golden, plain, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(plain)); diff != "" {
		t.Errorf("the file changed (-rewrite accepts it):\n%s", diff)
	}
	// Plain records of the same text give equal records, except for their places.
	packed, bare := readAll(t, data, ""), readAll(t, plain, "")
	for i := range packed {
		packed[i].Location, bare[i].Location = Location{}, Location{}
	}
	if diff := cmp.Diff(packed, bare); diff != "" {
		t.Errorf("compressed and plain file differ: %s", diff)
	}
}

// TestRoundTrip: everything that can be written is read back, sequentially and by Location. A page can change nothing
// but its own block.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		fs := newMemFS()
		o := testOptions(fs)
		o.MaxFileBytes = rapid.Int64Range(1, 4000).Draw(rt, "max")
		o.Level = rapid.IntRange(0, 9).Draw(rt, "level")
		w, err := NewWriter(o)
		if err != nil {
			rt.Fatal(err)
		}
		line := rapid.OneOf(rapid.StringMatching(`[ -~]{0,20}`), rapid.SampledFrom([]string{
			"Transfer-Encoding: chunked", "Content-Length: 5", "content-length : 7", " fold", "\r", "\x00", "\u00a0",
			"WARC/1.1",
		}))
		eol := rapid.SampledFrom([]string{"\r\n", "\n"})
		truncated := rapid.SampledFrom([]string{"", "length", "time", "disconnect", "unspecified"})
		var all []*Exchange
		var locs []Location
		for range rapid.IntRange(1, 6).Draw(rt, "n") {
			head := strings.Join(rapid.SliceOfN(line, 0, 6).Draw(rt, "head"), eol.Draw(rt, "eol"))
			x := &Exchange{
				URI:          "http://h/" + rapid.StringMatching(`[!-~]{0,30}`).Draw(rt, "uri"),
				Start:        time.UnixMilli(rapid.Int64Range(0, 1e13).Draw(rt, "time")),
				ResponseHead: []byte("HTTP/1.1 200 OK\r\n" + head),
				Body:         rapid.SliceOfN(rapid.Byte(), 0, 3000).Draw(rt, "body"),
				Truncated:    truncated.Draw(rt, "truncated"),
				Fields:       []Field{{"X-Any", rapid.String().Draw(rt, "field")}},
			}
			if rapid.Bool().Draw(rt, "request") {
				x.Request = []byte("GET / HTTP/1.1\r\n" + rapid.String().Draw(rt, "request"))
			}
			loc, err := w.WriteExchange(x)
			if err != nil {
				rt.Fatal(err)
			}
			all, locs = append(all, x), append(locs, loc)
		}
		files, err := w.Close()
		if err != nil {
			rt.Fatal(err)
		}
		next := 0
		for _, file := range files {
			data := fs.bytesOf("data/warc/" + file.Name)
			records := readAll(t, data, file.Name)
			if int64(len(records)) != file.Records || int64(len(data)) != file.Size || records[0].Type != TypeWarcinfo {
				rt.Fatalf("%+v: %d records in %d bytes", file, len(records), len(data))
			}
			for i, rec := range records {
				if rec.Type == TypeResponse {
					checkResponse(rt, all[next], &rec, records[i-1].Type == TypeRequest)
					again, err := ReadAt(bytes.NewReader(data), int64(len(data)), locs[next])
					if err != nil {
						rt.Fatal(err)
					}
					if diff := cmp.Diff(&rec, again); diff != "" {
						rt.Fatalf("by Location: %s", diff)
					}
					next++
				}
			}
		}
		if next != len(all) {
			rt.Fatalf("%d of %d responses found", next, len(all))
		}
	})
}

func checkResponse(t *rapid.T, x *Exchange, rec *Record, afterRequest bool) {
	head, body, err := rec.HTTP()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(body, x.Body) || rec.URI != x.URI || rec.Field("WARC-Truncated") != x.Truncated ||
		!rec.Date.Equal(x.Start) || afterRequest != (x.Request != nil) || rec.Date.Location() != time.UTC {
		t.Fatalf("read %+v\nwrote %+v", rec, x)
	}
	if payload, err := rec.Payload(); err != nil || !bytes.Equal(payload, x.Body) {
		t.Fatalf("payload %q, %v; want %q", payload, err, x.Body)
	}
	if n := len(rec.Header); n != 8 && n != 9 {
		t.Fatalf("%d header fields: %q", n, rec.Header)
	}
	// A reader that takes lines without visible text for empty ones must split head and body at the same place.
	for _, line := range bytes.SplitAfter(bytes.TrimSuffix(head, []byte("\r\n")), []byte("\n")) {
		if len(line) > 0 && !visible(line) {
			t.Fatalf("head %q has an empty line inside", head)
		}
	}
}

// TestHeaderForging: values from outside are refused, or stay inside their field.
func TestHeaderForging(t *testing.T) {
	w := testWriter(t, newMemFS())
	f := func(name string, change func(*Exchange)) {
		t.Helper()
		x := testExchange(1)
		change(x)
		loc, err := w.WriteExchange(x)
		var input *InputError
		if !errors.As(err, &input) || loc != (Location{}) {
			t.Errorf("%s: %v, %v; want an *InputError", name, loc, err)
		}
	}
	const forged = "\r\nWARC-Type: resource"
	f("URI with CR LF", func(x *Exchange) { x.URI += forged })
	f("URI with LF", func(x *Exchange) { x.URI += "\nX: y" })
	f("URI with NUL", func(x *Exchange) { x.URI += "\x00" })
	f("URI with space", func(x *Exchange) { x.URI += " x" })
	f("URI with DEL", func(x *Exchange) { x.URI += "\x7f" })
	f("URI beyond ASCII", func(x *Exchange) { x.URI += "ü" })
	f("URI in brackets", func(x *Exchange) { x.URI = "<" + x.URI + ">" })
	f("no URI", func(x *Exchange) { x.URI = "" })
	f("long URI", func(x *Exchange) { x.URI += strings.Repeat("a", MaxURIBytes) })
	f("truncated", func(x *Exchange) { x.Truncated = "length" + forged })
	f("field name with CR LF", func(x *Exchange) { x.Fields = []Field{{"X-A: b" + forged, "c"}} })
	f("field name of ours", func(x *Exchange) { x.Fields = []Field{{"warc-TYPE", "resource"}} })
	f("field name Content-Length", func(x *Exchange) { x.Fields = []Field{{"Content-Length", "1"}} })
	f("long field", func(x *Exchange) { x.Fields = []Field{{"X-A", strings.Repeat("a", MaxFieldBytes+1)}} })
	f("many fields", func(x *Exchange) { x.Fields = make([]Field, MaxFields+1) })
	f("no head", func(x *Exchange) { x.ResponseHead = []byte("\r\n \r\n") })
	f("year 10000", func(x *Exchange) { x.Start = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) })
	if w.Bytes() != 0 {
		t.Errorf("refused exchanges left %d bytes", w.Bytes())
	}
	if _, err := w.WriteRevisit(&Revisit{URI: "http://h/", PayloadDigest: "sha1:A" + forged}); err == nil {
		t.Error("a digest with CR LF was accepted")
	}
	if _, err := w.WriteMetadata("http://h/", testTime, []Field{{"a" + forged, ""}}); err == nil {
		t.Error("a metadata name with CR LF was accepted")
	}

	// Values are escaped: one line in, one line out.
	value := "a\r\nWARC-Type: resource\r\n\r\nHTTP/1.1\x00\x1b[31m\xff\u0085\u2028 100% ü"
	want := `a%0D%0AWARC-Type: resource%0D%0A%0D%0AHTTP/1.1%00%1B[31m%FF%C2%85%E2%80%A8 100% ü`
	if got := string(appendField(nil, "X-A", value)); got != "X-A: "+want+"\r\n" {
		t.Errorf("escaped %q", got)
	}
}

// TestHead shows how heads of responses with a body of 5 bytes are stored.
func TestHead(t *testing.T) {
	f := func(head, want string) {
		t.Helper()
		if got := string(appendHead(nil, []byte(head), responseHead, 5)); got != want {
			t.Errorf("head %q\n got %q\nwant %q", head, got, want)
		}
	}
	const ok = "HTTP/1.1 200 OK\r\n"
	f(ok+"A: b\r\n\r\n", ok+"A: b\r\n\r\n")
	f(ok+"A: b", ok+"A: b\r\n\r\n")
	f("HTTP/1.1 200 OK\nA: b\n\n", ok+"A: b\r\n\r\n")
	f(ok+"\r\n<p>body", ok+"Content-Length: 5\r\n\r\n") // npm's reader needs a field
	f(ok+" Transfer-Encoding: chunked\r\nA: b\r\n\tcontent-length: 5\r\n\r\n",
		ok+" X-Crawler-Transfer-Encoding: chunked\r\nA: b\r\n\tX-Crawler-content-length: 5\r\n"+
			"Content-Length: 5\r\n\r\n")
	f("\r\n\n"+ok+"A: b\r\n\r\n", ok+"A: b\r\n\r\n") // some servers send extra empty lines after a response
	f(ok+"A: b\r\n \t\r\n\u00a0\r\n\x00\r\nC: d\r\n\r\n", ok+"A: b\r\nC: d\r\n\r\n")
	f(ok+"Content-Length: 5\r\n\r\n", ok+"Content-Length: 5\r\n\r\n")
	f(ok+"Content-Length: 05\r\n\r\n", ok+"Content-Length: 05\r\n\r\n")
	f(ok+"Content-Length: 6\r\n\r\n", ok+"X-Crawler-Content-Length: 6\r\nContent-Length: 5\r\n\r\n")
	f(ok+"Content-Length: 5, 5\r\n\r\n", ok+"X-Crawler-Content-Length: 5, 5\r\nContent-Length: 5\r\n\r\n")
	f(ok+"Content-Length: +5\r\n\r\n", ok+"X-Crawler-Content-Length: +5\r\nContent-Length: 5\r\n\r\n")
	f(ok+"Content-Length: 5\r\ncontent-length: 5\r\n\r\n",
		ok+"Content-Length: 5\r\nX-Crawler-content-length: 5\r\n\r\n")
	f(ok+"Content-Length: 9\r\nContent-Length: 5\r\n\r\n",
		ok+"X-Crawler-Content-Length: 9\r\nContent-Length: 5\r\n\r\n")
	f(ok+"Content-Length:\r\n 5\r\n\r\n", ok+"X-Crawler-Content-Length:\r\n 5\r\nContent-Length: 5\r\n\r\n")
	f(ok+"Transfer-Encoding: chunked\r\n\r\n", ok+"X-Crawler-Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n")
	f(ok+"TRANSFER-ENCODING \t: gzip,\r\n chunked\r\nA: b\r\n\r\n",
		ok+"X-Crawler-TRANSFER-ENCODING \t: gzip,\r\n chunked\r\nA: b\r\nContent-Length: 5\r\n\r\n")
	f(ok+"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
		ok+"X-Crawler-Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n")
	f("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
		"HTTP/1.1 304 Not Modified\r\nX-Crawler-Content-Length: 9\r\nContent-Length: 5\r\n\r\n")

	const gone = "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n"
	if got := string(appendHead(nil, []byte(gone), responseHead, 0)); got != gone {
		t.Errorf("a 304 without body became %q", got)
	}
	const request = "POST / HTTP/1.1\r\nContent-Length: 9\r\nTransfer-Encoding: x\r\n\r\n"
	if got := string(appendHead(nil, []byte(request), requestHead, 0)); got != request {
		t.Errorf("a request became %q", got)
	}
}

func TestRotation(t *testing.T) {
	fs := newMemFS()
	fs.files["data/warc/t-00003.warc.gz"] = &memFile{fs: fs, data: []byte("an earlier crawl's")}
	fs.files["data/warc/u-00009.warc.gz"] = &memFile{fs: fs}
	fs.files["data/warc/t-00010.warc"] = &memFile{fs: fs}
	o := testOptions(fs)
	o.MaxFileBytes = 2000
	w, err := NewWriter(o)
	if err != nil {
		t.Fatal(err)
	}
	big := testExchange(0)
	big.Body = bytes.Repeat([]byte("\x00\xff\x13incompressible?"), 5)
	for i := range 20 {
		if i == 10 {
			o.NewID() // ids need not be dense
		}
		if _, err := w.WriteExchange(testExchange(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Sync(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w.Files(), mustClose(t, w)); diff != "" {
		t.Errorf("Files and Close differ: %s", diff)
	}
	files, err := w.Close()
	if err != ErrClosed || len(files) < 3 || files[0].Name != "t-00004.warc.gz" || files[1].Name != "t-00005.warc.gz" {
		t.Fatalf("second Close = %+v, %v", files, err)
	}
	if err := w.Sync(); err != ErrClosed {
		t.Errorf("Sync after Close = %v", err)
	}
	if _, err := w.WriteExchange(big); err != ErrClosed {
		t.Errorf("WriteExchange after Close = %v", err)
	}
	total := int64(0)
	for _, f := range files {
		if f.Size > o.MaxFileBytes {
			t.Errorf("%s has %d bytes, more than %d", f.Name, f.Size, o.MaxFileBytes)
		}
		m := fs.files["data/warc/"+f.Name]
		if m.synced != len(m.data) || !m.closed {
			t.Errorf("%s: %d of %d bytes synced, closed: %t", f.Name, m.synced, len(m.data), m.closed)
		}
		total += f.Size
	}
	if total != w.Bytes() {
		t.Errorf("Bytes = %d, the files have %d", w.Bytes(), total)
	}
	// A file's name is durable before any exchange is in it.
	const order = "syncdir data, create t-00004.warc.gz, write t-00004.warc.gz, syncdir warc"
	if got := strings.Join(fs.log[:4], ", "); got != order {
		t.Errorf("order of calls: %s", got)
	}
}

func mustClose(t testing.TB, w *Writer) []FileInfo {
	t.Helper()
	files, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestFaults makes every call of every kind fail once, until a run passes without a failure. The first error must be
// returned, stay final, and leave a file whose synced part is complete.
func TestFaults(t *testing.T) {
	for _, op := range []string{"create", "write", "sync", "syncdir"} {
		for nth := 1; ; nth++ {
			fs := newMemFS()
			fs.failNth(op, nth)
			o := testOptions(fs)
			o.MaxFileBytes = 1500
			fault, acked, firstErr := runUntilFault(o)
			if !fault {
				if nth < 3 {
					t.Errorf("%s was called %d times only", op, nth-1)
				}
				break
			}
			if !errors.Is(firstErr, errInjected) {
				t.Errorf("%s %d: %v", op, nth, firstErr)
			}
			found := map[string]bool{}
			for name := range fs.files {
				if _, _, err := Repair(fs, name); err != nil {
					t.Errorf("%s %d: %v", op, nth, err)
				}
				for _, rec := range readAll(t, fs.bytesOf(name), name) {
					if rec.Type == TypeResponse {
						found[rec.URI] = true
					}
				}
			}
			for _, uri := range acked {
				if !found[uri] {
					t.Errorf("%s %d: %s was synced and is gone", op, nth, uri)
				}
			}
		}
	}
}

// runUntilFault writes and syncs until the first error, and checks that every later call returns that error.
func runUntilFault(o WriterOptions) (fault bool, acked []string, err error) {
	w, err := NewWriter(o)
	if err != nil {
		return true, nil, err
	}
	var pending []string
	for i := range 12 {
		x := testExchange(i)
		if _, err = w.WriteExchange(x); err != nil {
			break
		}
		pending = append(pending, x.URI)
		if i%3 == 2 {
			if err = w.Sync(); err != nil {
				break
			}
			acked, pending = append(acked, pending...), nil
		}
	}
	if err == nil {
		_, err = w.Close()
		return err != nil, acked, err
	}
	bytesBefore := w.Bytes()
	if again := w.Sync(); again == nil || again.Error() != err.Error() {
		return true, acked, fmt.Errorf("Sync after %w answered %v", err, again)
	}
	if _, again := w.WriteExchange(testExchange(99)); again == nil || again.Error() != err.Error() {
		return true, acked, fmt.Errorf("WriteExchange after %w answered %v", err, again)
	}
	if _, again := w.Close(); again == nil || !errors.Is(again, errInjected) {
		return true, acked, fmt.Errorf("Close after %w answered %v", err, again)
	}
	if w.Bytes() != bytesBefore {
		return true, acked, fmt.Errorf("bytes grew after %w", err)
	}
	return true, acked, err
}

// TestConcurrent lets many goroutines write, sync and rotate. Each record must be at the Location that was returned.
func TestConcurrent(t *testing.T) {
	dir := t.TempDir()
	w, err := NewWriter(WriterOptions{Dir: filepath.Join(dir, "warc"), Prefix: "c", MaxFileBytes: 8000})
	if err != nil {
		t.Fatal(err)
	}
	const writers, each = 8, 40
	locs := make([][each]Written, writers)
	var wg sync.WaitGroup
	for g := range writers {
		wg.Go(func() {
			for i := range each {
				var err error
				if locs[g][i], err = w.AppendExchange(testExchange(g*each + i)); err != nil {
					t.Error(err)
					return
				}
				if i%7 == g%7 {
					if err := w.Sync(); err != nil {
						t.Error(err)
					}
				}
				_ = w.Bytes()
			}
		})
	}
	wg.Wait()
	files := mustClose(t, w)
	records := int64(0)
	for _, f := range files {
		records += f.Records
	}
	if want := int64(2*writers*each + len(files)); records != want {
		t.Errorf("%d records in %d files, want %d", records, len(files), want)
	}
	for g := range writers {
		for i, at := range locs[g] {
			f, err := OS().Open(filepath.Join(dir, "warc", at.Response.File))
			if err != nil {
				t.Fatal(err)
			}
			size, err := OS().Size(filepath.Join(dir, "warc", at.Response.File))
			if err != nil {
				t.Fatal(err)
			}
			response, err := ReadAt(f, size, at.Response)
			if err != nil {
				t.Fatal(err)
			}
			request, err := ReadAt(f, size, at.Request)
			if err != nil {
				t.Fatal(err)
			}
			want := testExchange(g*each + i)
			refersTo := unbracket(request.Field("WARC-Concurrent-To"))
			if response.URI != want.URI || request.URI != want.URI || refersTo != response.ID ||
				!bytes.HasSuffix(response.Block, want.Body) {
				t.Errorf("exchange %d/%d: found %s and %s", g, i, request.URI, response.URI)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestExistingFile: a file that already has the next name stops the Writer, and is not changed.
func TestExistingFile(t *testing.T) {
	dir := t.TempDir()
	w, err := NewWriter(WriterOptions{Dir: dir, Prefix: "c"})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "c-00000.warc.gz")
	if err := os.WriteFile(name, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteExchange(testExchange(1)); !errors.Is(err, os.ErrExist) {
		t.Errorf("WriteExchange = %v", err)
	}
	if got, _ := os.ReadFile(name); string(got) != "mine" {
		t.Errorf("the file now holds %q", got)
	}
}

func TestOptions(t *testing.T) {
	_, err := NewWriter(WriterOptions{Prefix: "a/b", Level: 10, MaxFileBytes: -1, Info: []Field{{"a b", ""}}})
	for _, word := range []string{"Dir", "Prefix", "Level", "MaxFileBytes", `"a b"`} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%v does not name %s", err, word)
		}
	}
}
