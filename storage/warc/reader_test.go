// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	kgzip "github.com/klauspost/compress/gzip"
)

// smallFile returns a file of three exchanges and the ends of its records.
func smallFile(t testing.TB) (data []byte, ends []int64) {
	t.Helper()
	fs := newMemFS()
	w := testWriter(t, fs)
	for i := range 3 {
		if _, err := w.WriteExchange(testExchange(i)); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, w)
	data = fs.bytesOf("data/warc/t-00000.warc.gz")
	for _, rec := range readAll(t, data, "") {
		ends = append(ends, rec.Offset+rec.Length)
	}
	return data, ends
}

// drain reads to the end, past all errors that are not final.
func drain(t testing.TB, data []byte, o ReaderOptions) (r *Reader, uris []string, faults []error) {
	t.Helper()
	r = NewReaderOptions(&strictAt{t, bytes.NewReader(data), int64(len(data))}, int64(len(data)), o)
	for {
		rec, err := r.Next()
		if err == nil {
			uris = append(uris, rec.Type+" "+rec.URI)
			continue
		}
		if rec != nil {
			t.Errorf("record %+v with error %v", rec, err)
		}
		faults = append(faults, err)
		if r.err != nil {
			if _, again := r.Next(); again != err {
				t.Errorf("after %v came %v", err, again)
			}
			return r, uris, faults
		}
	}
}

// TestTorn cuts a file at every byte and appends zeros, garbage or nothing. A Reader must return the complete records
// before the cut, and Repair and Mend must keep exactly those, and sync the file once.
func TestTorn(t *testing.T) {
	data, ends := smallFile(t)
	tails := map[string][]byte{"": nil, "zeros": make([]byte, 5000), "garbage": []byte("\xde\xad\xbe\xef garbage")}
	for cut := 0; cut <= len(data); cut++ {
		for name, tail := range tails {
			if cut == 0 && name == "garbage" {
				continue // no WARC file at all: TestNotWARC
			}
			torn := append(bytes.Clone(data[:cut]), tail...)
			whole, records := int64(0), 0
			for _, end := range ends {
				if bytes.HasPrefix(torn, data[:end]) { // appended zeros may equal the last bytes of a member
					whole, records = end, records+1
				}
			}
			r, uris, faults := drain(t, torn, ReaderOptions{Resync: true})
			wantErr := ErrTorn
			if whole == int64(len(torn)) {
				wantErr = io.EOF
			}
			if r.Valid() != whole || len(uris) != records || len(faults) != 1 || !errors.Is(faults[0], wantErr) {
				// A cut inside the first member leaves no sign of a WARC file, unless its text had begun.
				var corrupt *CorruptError
				if records == 0 && name != "" && errors.As(faults[0], &corrupt) && r.Valid() == 0 {
					continue
				}
				t.Fatalf("cut at %d, then %s: Valid %d, %d records, %v; want %d, %d, %v",
					cut, name, r.Valid(), len(uris), faults, whole, records, wantErr)
			}
			fs := newMemFS()
			fs.files["f"] = &memFile{fs: fs, data: torn}
			valid, removed, err := Repair(fs, "f")
			left := fs.bytesOf("f")
			if err != nil || valid != whole || removed != int64(len(torn))-whole || !bytes.Equal(left, data[:whole]) {
				t.Fatalf("cut at %d, then %s: Repair = %d, %d, %v", cut, name, valid, removed, err)
			}
			if removed > 0 && fs.calls["sync"] != 1 {
				t.Fatalf("Repair synced %d times", fs.calls["sync"])
			}
			fs = newMemFS()
			fs.files["f"] = &memFile{fs: fs, data: torn}
			size, n, found, err := Mend(fs, "f")
			if err != nil || size != whole || n != int64(records) || !bytes.Equal(fs.bytesOf("f"), data[:whole]) {
				t.Fatalf("cut at %d, then %s: Mend = %d, %d, %v, %v", cut, name, size, n, found, err)
			}
			if len(found) > 0 && fs.calls["sync"] != 1 {
				t.Fatalf("Mend synced %d times", fs.calls["sync"])
			}
		}
	}
}

// TestTornPlain does the same with a file without compression: the line ends after the last block may be missing.
func TestTornPlain(t *testing.T) {
	record := "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: <http://h/>\r\nContent-Length: 4\r\n\r\nabcd"
	data := []byte(record + "\r\n\r\n" + record + "\r\n\r\n")
	second := int64(len(record) + 4)
	for cut := range data {
		r, uris, faults := drain(t, data[:cut], ReaderOptions{})
		switch n := int64(cut); {
		case n == 0, n >= int64(len(record)) && n <= second, n >= second+int64(len(record)):
			if faults[0] != io.EOF || r.Valid() != n {
				t.Errorf("cut at %d: %v, Valid %d", cut, faults, r.Valid())
			}
		default:
			if !errors.Is(faults[0], ErrTorn) || len(uris) != int(n/second) || r.Valid() != n/second*second {
				t.Errorf("cut at %d: %v, %q, Valid %d", cut, faults, uris, r.Valid())
			}
		}
	}
}

// TestCorruptMiddle damages every byte of every record in turn. Without Resync, reading ends there; with it, all other
// records are read. Repair does not change the file.
func TestCorruptMiddle(t *testing.T) {
	data, ends := smallFile(t)
	_, all, _ := drain(t, data, ReaderOptions{})
	start := int64(0)
	for i, end := range ends {
		for at := start; at < end; at++ {
			bad := bytes.Clone(data)
			bad[at] ^= 0x55
			r, uris, faults := drain(t, bad, ReaderOptions{Resync: true})
			if i == len(ends)-1 && len(uris) == i && errors.Is(faults[0], ErrTorn) && r.Valid() == start {
				continue // the last record: nothing readable after it
			}
			if len(uris) == len(all) && at-start < markedBytes {
				continue // time, operating system or mark: the record can still be read
			}
			want := append(append([]string{}, all[:i]...), all[i+1:]...)
			if got := strings.Join(uris, ","); got != strings.Join(want, ",") || faults[len(faults)-1] != io.EOF {
				if i == 0 && at < markedBytes {
					continue // the damage is in the first mark, which the Reader searches for
				}
				t.Fatalf("byte %d of record %d: %s, %v", at-start, i, got, faults)
			}
			var corrupt *CorruptError
			if !errors.As(faults[0], &corrupt) || corrupt.Offset != start || corrupt.Next != end {
				t.Fatalf("byte %d of record %d: %v", at-start, i, faults[0])
			}
			if _, uris, faults := drain(t, bad, ReaderOptions{}); len(uris) != i || !errors.As(faults[0], &corrupt) {
				t.Fatalf("without Resync: %q, %v", uris, faults)
			}
			if at%17 == 0 {
				fs := newMemFS()
				fs.files["f"] = &memFile{fs: fs, data: bad}
				if valid, removed, err := Repair(fs, "f"); valid != int64(len(bad)) || removed != 0 || err != nil {
					t.Fatalf("Repair = %d, %d, %v", valid, removed, err)
				}
			}
		}
		start = end
	}
}

// TestHoleIsNoRecord overwrites the file from the middle of one record to the middle of the same or a later one. The
// hole is one error and no record, however many records it covers: a caller that counts records counts those that Next
// returned.
func TestHoleIsNoRecord(t *testing.T) {
	data, ends := smallFile(t)
	intact := readAll(t, data, "")
	for from := 1; from < len(intact); from++ {
		for to := from; to < len(intact); to++ {
			for _, fill := range []byte{0, 0xa5} {
				bad := bytes.Clone(data)
				a, b := intact[from], intact[to]
				for i := a.Offset + a.Length/2; i <= b.Offset+b.Length/2; i++ {
					bad[i] = fill
				}
				name := fmt.Sprintf("records %d to %d filled with %#02x", from, to, fill)
				_, uris, faults := drain(t, bad, ReaderOptions{Resync: true})
				last := to == len(intact)-1
				if want := len(intact) - (to - from + 1); len(uris) != want {
					t.Errorf("%s: %d records, want %d", name, len(uris), want)
				}
				var corrupt *CorruptError
				switch {
				case last && len(faults) == 1 && errors.Is(faults[0], ErrTorn):
				case !last && len(faults) == 2 && errors.As(faults[0], &corrupt) && faults[1] == io.EOF:
					if corrupt.Offset != a.Offset || corrupt.Next != ends[to] {
						t.Errorf("%s: hole from %d to %d, want %d to %d",
							name, corrupt.Offset, corrupt.Next, a.Offset, ends[to])
					}
				default:
					t.Errorf("%s: %v", name, faults)
				}
			}
		}
	}
}

// TestForgedMember: a page that is itself a WARC file is stored unchanged in ours. If the record around it is damaged,
// the search for the next record finds the page's members first, and must not take them for records.
func TestForgedMember(t *testing.T) {
	forged := gzipOf(t, "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://bank.example/\r\n"+
		"Content-Length: 0\r\n\r\n\r\n\r\n")
	noise := make([]byte, 4096) // incompressible, so that the page is stored
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	fs := newMemFS()
	w := testWriter(t, fs)
	x := testExchange(1)
	x.Body = append(bytes.Clone(noise), forged...)
	loc, err := w.WriteExchange(x)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteExchange(testExchange(2)); err != nil {
		t.Fatal(err)
	}
	mustClose(t, w)
	data := fs.bytesOf("data/warc/t-00000.warc.gz")
	if !bytes.Contains(data, forged) {
		t.Skip("the compressor changed the noise")
	}
	data[loc.Offset+100] ^= 0x55
	r, uris, faults := drain(t, data, ReaderOptions{Resync: true})
	want := "warcinfo ,request https://example.org/1,request https://example.org/2,response https://example.org/2"
	if strings.Join(uris, ",") != want || len(faults) != 2 || r.Valid() != int64(len(data)) {
		t.Errorf("read %q, %v", uris, faults)
	}
	// The same in a torn tail: the forged member is complete, the record around it is not.
	torn := data[:loc.Offset+int64(bytes.Index(data[loc.Offset:], forged)+len(forged)+1)]
	r, uris, faults = drain(t, torn, ReaderOptions{Resync: true})
	if len(uris) != 2 || !errors.Is(faults[0], ErrTorn) || r.Valid() != loc.Offset {
		t.Errorf("torn: read %q, %v", uris, faults)
	}
}

func gzipOf(t testing.TB, parts ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	zw := kgzip.NewWriter(&out)
	for _, p := range parts {
		if _, err := zw.Write([]byte(p)); err != nil {
			t.Fatal(err)
		}
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestForeign reads what other tools write, valid and invalid.
func TestForeign(t *testing.T) {
	rec := func(uri, block string) string {
		return fmt.Sprintf("WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: %s\r\n"+
			"Content-Length: %d\r\n\r\n%s\r\n\r\n", uri, len(block), block)
	}
	f := func(name string, data []byte, want string, faults ...string) {
		t.Helper()
		_, uris, errs := drain(t, data, ReaderOptions{Resync: true, MaxBlockBytes: 100, File: "f"})
		if got := strings.ReplaceAll(strings.Join(uris, " "), "resource ", ""); got != want {
			t.Errorf("%s: read %q, want %q", name, got, want)
		}
		if len(errs) != len(faults)+1 {
			t.Fatalf("%s: %v", name, errs)
		}
		for i, word := range append(faults, "EOF") {
			if !strings.Contains(errs[i].Error(), word) {
				t.Errorf("%s: %v does not say %q", name, errs[i], word)
			}
		}
	}
	a, b, c := rec("a", "1"), rec("b", "22"), rec("c", "333")
	huge := rec("huge", strings.Repeat("x", 101))
	cat := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	f("empty", nil, "")
	f("one member for all", gzipOf(t, a, b, c), "a b c")
	f("a member each", cat(gzipOf(t, a), gzipOf(t, b)), "a b")
	f("an empty member between", cat(gzipOf(t, a), gzipOf(t), gzipOf(t, b)), "a b")
	f("plain and packed", cat([]byte(a), gzipOf(t, b), []byte("\r\n"+c)), "a b c")
	f("blank lines", []byte("\r\n\n"+a+"\r\n\r\n\r\n"+b+"\n"), "a b")
	f("bare line feeds", []byte(strings.ReplaceAll(a+b, "\r\n", "\n")), "a b")
	f("CR CR LF", []byte(strings.ReplaceAll(a+b, "\r\n", "\r\r\n")), "a b")
	f("huge, packed", cat(gzipOf(t, a), gzipOf(t, huge), gzipOf(t, b)), "a b", "block of 101 bytes")
	f("huge, shared member", gzipOf(t, a, huge, b), "a b", "block of 101 bytes")
	f("huge, plain", []byte(a+huge+b), "a b", "block of 101 bytes")
	f("huge, last", []byte(a+huge), "a", "block of 101 bytes")
	f("no Content-Length", cat(gzipOf(t, a), gzipOf(t, "WARC/1.0\r\nA: b\r\n\r\n"), gzipOf(t, b)),
		"a b", "no Content-Length")
	f("two lengths", cat(gzipOf(t, "WARC/1.0\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"), gzipOf(t, b)),
		"b", "bad Content-Length")
	f("short block", cat(gzipOf(t, strings.Replace(a, "Length: 1", "Length: 50", 1)), gzipOf(t, b)),
		"b", "Content-Length is 50")
	f("long block", cat(gzipOf(t, strings.Replace(c, "Length: 3", "Length: 1", 1)), gzipOf(t, b)),
		"b", "longer than its Content-Length")
	f("unknown version", cat(gzipOf(t, a), gzipOf(t, "WARC/x\r\n\r\n"), gzipOf(t, b)), "a b", "unknown version")
	endless := "WARC/1.0\r\n" + strings.Repeat("A: b\r\n", MaxHeaderBytes/6)
	f("endless header", cat(gzipOf(t, a), gzipOf(t, endless), gzipOf(t, b)), "a b", "header is longer")
	f("padding", cat(gzipOf(t, a, strings.Repeat("\r\n", maxPadding)), gzipOf(t, b)), "b", "padding")
}

// TestNotWARC: a file that never was a WARC file is not reported as torn, and Repair does not change it.
func TestNotWARC(t *testing.T) {
	long := strings.Repeat("0123456789abcdefghijklmnopqrstuvwxyz", 10)
	for name, data := range map[string][]byte{
		"text":             []byte("hello"),
		"packed text":      gzipOf(t, "hello, hello"),
		"packed text, cut": gzipOf(t, "hello", long)[:60],
		"damaged":          append([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0}, bytes.Repeat([]byte{7}, 100)...),
	} {
		fs := newMemFS()
		fs.files["f"] = &memFile{fs: fs, data: data}
		valid, removed, err := Repair(fs, "f")
		var corrupt *CorruptError
		if valid != 0 || removed != 0 || !errors.As(err, &corrupt) || !bytes.Equal(fs.bytesOf("f"), data) {
			t.Errorf("%s: Repair = %d, %d, %v", name, valid, removed, err)
		}
	}
	for name, data := range map[string][]byte{
		"zeros":      make([]byte, 100),
		"begun":      []byte("WAR"),
		"gzip begun": {0x1f},
	} {
		fs := newMemFS()
		fs.files["f"] = &memFile{fs: fs, data: data}
		if valid, removed, err := Repair(fs, "f"); valid != 0 || removed != int64(len(data)) || err != nil {
			t.Errorf("%s: Repair = %d, %d, %v", name, valid, removed, err)
		}
	}
}

// TestReadFault: an error of the disk is reported neither as damage nor as a torn tail.
func TestReadFault(t *testing.T) {
	data, _ := smallFile(t)
	data = bytes.Repeat(data, 200) // beyond one buffer
	for nth := 1; ; nth++ {
		fs := newMemFS()
		fs.files["f"] = &memFile{fs: fs, data: data}
		fs.failNth("read", nth)
		_, removed, err := Repair(fs, "f")
		if err == nil {
			if nth < 3 {
				t.Errorf("only %d reads", nth-1)
			}
			break
		}
		if !errors.Is(err, errInjected) || errors.Is(err, ErrTorn) || removed != 0 {
			t.Errorf("read %d: %d, %v", nth, removed, err)
		}
	}
}

func TestReadAt(t *testing.T) {
	data, ends := smallFile(t)
	f := func(offset, length int64, ok bool) {
		t.Helper()
		loc := Location{"f", offset, length}
		rec, err := ReadAt(bytes.NewReader(data), int64(len(data)), loc)
		var corrupt *CorruptError
		if ok != (err == nil) || err != nil && !errors.As(err, &corrupt) || ok && rec.Location != loc {
			t.Errorf("ReadAt(%d, %d) = %v, %v", offset, length, rec, err)
		}
	}
	f(0, ends[0], true)
	f(ends[1], ends[2]-ends[1], true)
	f(ends[1], ends[3]-ends[1], false) // two records
	f(ends[1], ends[2]-ends[1]-1, false)
	f(ends[1]+1, ends[2]-ends[1]-1, false)
	f(-1, 10, false)
	f(0, 0, false)
	f(0, int64(len(data))+1, false)
	f(1<<62, 1<<62, false)
	f(int64(len(data)), 1, false)
}

func TestRecord(t *testing.T) {
	text := "WARC/1.0\r\nWARC-Type: Response\r\nwarc-record-id: <urn:uuid:1>\r\n" +
		"X-Fold: a\r\n  b\r\n\tc\r\nno colon\r\nWARC-Date: %s\r\n" +
		"Content-Type: application/http;msgtype=response\r\nContent-Length: %d\r\n\r\n%s"
	read := func(date, block string) *Record {
		data := fmt.Appendf(nil, text, date, len(block), block)
		rec, err := NewReader(bytes.NewReader(data), int64(len(data))).Next()
		if err != nil {
			t.Fatal(err)
		}
		return rec
	}
	const chunked = "HTTP/1.1 200 OK\nTransfer-Encoding: gzip, Chunked \n\n"
	for block, want := range map[string]string{
		"HTTP/1.1 200 OK\r\n\r\nbody":                "body",
		"HTTP/1.1 200 OK\r\nA: b":                    "",
		chunked + "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n": "abcde",
		chunked + "3\nabc\n2 \nde\n":                 "abcde",
		chunked + "3\r\nab":                          "ab",
		chunked + "not chunked":                      "not chunked",
		chunked + "ffffffffffffffffff\r\nx":          "ffffffffffffffffff\r\nx",
		chunked + "3\r\nabcdef":                      "abc", // cut short within the next size
		chunked + "3\r\nabcxyz\r\n":                  "3\r\nabcxyz\r\n",
	} {
		if got, err := read("2020", block).Payload(); string(got) != want || err != nil {
			t.Errorf("payload of %q: %q, %v; want %q", block, got, err, want)
		}
	}
	rec := read("2020-05-06T07:08:09.123456789Z", "")
	if rec.Version != "WARC/1.0" || rec.Type != TypeResponse || rec.ID != "urn:uuid:1" ||
		rec.Field("x-fold") != "a b c" || len(rec.Header) != 6 {
		t.Errorf("read %+v", rec)
	}
	for date, want := range map[string]string{
		"2020-05-06T07:08:09Z": "2020-05-06 07:08:09", "2020-05-06T07:08:09.5Z": "2020-05-06 07:08:09.5",
		"2020-05-06T07:08:09+02:00": "2020-05-06 05:08:09", "2020-05-06T07:08Z": "2020-05-06 07:08:00",
		"2020-05": "2020-05-01 00:00:00", "2020": "2020-01-01 00:00:00", "20200506070809": "2020-05-06 07:08:09",
		"yesterday": "0001-01-01 00:00:00",
	} {
		if got := read(date, "").Date.Format("2006-01-02 15:04:05.999"); got != want {
			t.Errorf("date %s: %s, want %s", date, got, want)
		}
	}
	metadata := &Record{Type: TypeMetadata, Block: []byte("a: b\r\n c\r\n\r\nd:e")}
	if _, _, err := metadata.HTTP(); !errors.Is(err, ErrNotHTTP) {
		t.Errorf("HTTP of a metadata record: %v", err)
	}
	if got := fmt.Sprint(metadata.Fields()); got != "[{a b c} {d e}]" {
		t.Errorf("fields %s", got)
	}
}

func TestCheckDigests(t *testing.T) {
	f := func(digest string, ok bool) {
		t.Helper()
		r := Record{Header: []Field{{"WARC-Block-Digest", digest}}, Block: []byte("abc")}
		err := r.CheckDigests()
		var bad *DigestError
		if ok != (err == nil) || err != nil && !errors.As(err, &bad) {
			t.Errorf("%s: %v", digest, err)
		}
	}
	f("sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5", true)
	f("SHA1:vgmt4nsha2awvor6evyxqugcnsonbwe5", true)
	f("sha-1:a9993e364706816aba3e25717850c26c9cd0d89d", true)
	f("sha1:qZk+NkcGgWq6PiVxeFDCbJzQ2J0=", true)
	f("sha1:qZk-NkcGgWq6PiVxeFDCbJzQ2J0", true)
	f("md5:900150983cd24fb0d6963f7d28e17f72", true)
	f("sha256:BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD", true)
	f("blake3:xyz", true) // unknown: not checked
	f("nonsense", true)
	f("sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE6", false)
	f("sha1:", false)
	f("md5:900150983cd24fb0d6963f7d28e17f73", false)
}
