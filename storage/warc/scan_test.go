// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// everyKind is a file with a record of each kind that a Writer makes, pages that compress and others that do not.
func everyKind(t testing.TB) []byte {
	t.Helper()
	fs := newMemFS()
	w := testWriter(t, fs)
	add := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := w.WriteExchange(testExchange(1))
	add(err)
	_, err = w.WriteMetadata("http://example.org/gone", time.UnixMilli(1), []Field{{"failure", "dns"}})
	add(err)
	x := testExchange(2)
	x.Body = make([]byte, 400)
	for i := range x.Body {
		x.Body[i] = byte(i * i * 31)
	}
	_, err = w.WriteExchange(x)
	add(err)
	v := Revisit{URI: "http://example.org/r", Start: time.UnixMilli(2), ResponseHead: x.ResponseHead}
	_, err = w.WriteRevisit(&v)
	add(err)
	_, err = w.WriteExchange(testExchange(3))
	add(err)
	files, err := w.Close()
	add(err)
	return fs.bytesOf(testOptions(fs).Dir + "/" + files[0].Name)
}

// scanAll returns what Scan says of a file: the id and the bytes of each record, and the faults.
func scanAll(t testing.TB, data []byte) (records []string, faults []Fault) {
	t.Helper()
	err := Scan(bytes.NewReader(data), "f.warc.gz", int64(len(data)), func(r *Record) error {
		records = append(records, fmt.Sprintf("%s %q %q", r.ID, r.Header, r.Block))
		return nil
	}, func(f Fault) error {
		faults = append(faults, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return records, faults
}

// mend mends a file and returns what is in it afterwards.
func mend(t testing.TB, data []byte) []byte {
	t.Helper()
	fs := newMemFS()
	fs.files["dir/f.warc.gz"] = &memFile{fs: fs, name: "dir/f.warc.gz", data: slices.Clone(data)}
	size, records, _, err := Mend(fs, "dir/f.warc.gz")
	if err != nil {
		t.Fatal(err)
	}
	b := fs.bytesOf("dir/f.warc.gz")
	all, _ := scanAll(t, b)
	if int64(len(b)) != size || int64(len(all)) != records {
		t.Fatalf("Mend says %d bytes, %d records; there are %d and %d", size, records, len(b), len(all))
	}
	return b
}

// TestScanFlips: Scan finds every flipped bit of a file, or all records are as they were written. No record that it
// passes on is another than was written, and Mend leaves a sound file with all records but the one that was hit.
func TestScanFlips(t *testing.T) {
	data := everyKind(t)
	want, faults := scanAll(t, data)
	if len(want) != 9 || len(faults) > 0 {
		t.Fatalf("%d records, faults %v", len(want), faults)
	}
	harmless := 0
	for bit := 0; bit < len(data)*8; bit += 3 {
		b := slices.Clone(data)
		b[bit/8] ^= 1 << (bit % 8)
		records, faults := scanAll(t, b)
		at := bit / 8
		if len(faults) == 0 {
			if harmless++; !slices.Equal(records, want) {
				t.Fatalf("bit %d of byte %d: not found", bit%8, at)
			}
			continue
		}
		for _, r := range records {
			if !slices.Contains(want, r) {
				t.Fatalf("bit %d of byte %d: not as written: %s", bit%8, at, r)
			}
		}
		if bit%7 != 0 {
			continue // a rewrite takes longer than a look
		}
		after, faults := scanAll(t, mend(t, b))
		if len(faults) > 0 || len(after) < len(want)-1 {
			t.Fatalf("bit %d of byte %d: %d records after Mend, faults %v", bit%8, at, len(after), faults)
		}
	}
	// The hints of nine headers, and what the compressor leaves unused: bits after its last code, codes of no symbol.
	if harmless > 60 {
		t.Errorf("%d of %d bits are harmless", harmless, len(data)*8/3)
	}
	t.Logf("%d of %d bits are harmless", harmless, len(data)*8/3)
}

// TestScanTails: Scan finds a file that is cut, unless the cut is between two records, and whatever is appended. Mend
// keeps all whole records.
func TestScanTails(t *testing.T) {
	data := everyKind(t)
	want, _ := scanAll(t, data)
	ends := map[int]bool{0: true}
	err := Scan(bytes.NewReader(data), "f", int64(len(data)), func(r *Record) error {
		ends[int(r.Offset+r.Length)] = true
		return nil
	}, func(f Fault) error { return errors.New(f.String()) })
	if err != nil {
		t.Fatal(err)
	}
	for size := range len(data) {
		records, faults := scanAll(t, data[:size])
		found := len(faults) > 0
		if found == ends[size] || found && !faults[0].Tail || !slices.Equal(records, want[:len(records)]) {
			t.Fatalf("cut to %d: %d records, faults %v", size, len(records), faults)
		}
		if size%5 == 0 {
			after, faults := scanAll(t, mend(t, data[:size]))
			if len(faults) > 0 || !slices.Equal(after, records) {
				t.Fatalf("cut to %d: %d records after Mend, faults %v", size, len(after), faults)
			}
		}
	}
	for _, tail := range []string{
		"x", "\r\n", "\n\n\n\n", "\x00", strings.Repeat("\x00", 70000), "\x1f\x8b\x08", "WARC/1.1\r\n",
		"WARC/1.1\r\nWARC-Type: metadata\r\n\r\n", strings.Repeat("garbage ", 1000),
	} {
		b := append(slices.Clone(data), tail...)
		records, faults := scanAll(t, b)
		if len(faults) != 1 || !faults[0].Tail || faults[0].Offset != int64(len(data)) || !slices.Equal(records, want) {
			t.Errorf("%.20q appended: %d records, faults %v", tail, len(records), faults)
		}
		if after := mend(t, b); !bytes.Equal(after, data) {
			t.Errorf("%.20q appended: %d bytes after Mend, want %d", tail, len(after), len(data))
		}
	}
	if err := Scan(bytes.NewReader(data), "f", int64(len(data))+1, nil, nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a shorter file: %v", err)
	}
}

// TestMendFaults: if any operation fails, Mend says so, and the file is as before or mended.
func TestMendFaults(t *testing.T) {
	data := everyKind(t)
	data[len(data)/2] ^= 1
	mended := mend(t, data)
	for _, op := range []string{"size", "open", "create", "write", "sync", "rename", "syncdir"} {
		fs := newMemFS()
		fs.files["dir/f.warc.gz"] = &memFile{fs: fs, name: "dir/f.warc.gz", data: slices.Clone(data)}
		fs.failNth(op, 1)
		_, _, _, err := Mend(fs, "dir/f.warc.gz")
		if fs.calls[op] > 0 && (err == nil || !strings.Contains(err.Error(), "f.warc.gz")) {
			t.Errorf("%s: %v", op, err)
		}
		if b := fs.bytesOf("dir/f.warc.gz"); !bytes.Equal(b, data) && !bytes.Equal(b, mended) {
			t.Errorf("%s: the file is neither as before nor mended", op)
		}
	}
}

// TestMendOthers: Mend loses no record of a file of another tool, which may have several records in a gzip member and
// line ends between members.
func TestMendOthers(t *testing.T) {
	record := func(n int) string {
		return fmt.Sprintf("WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: 1\r\n\r\n%d\r\n\r\n", n)
	}
	member := func(text string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	bad := []byte(member(record(9)))
	bad[len(bad)-8] ^= 1 // its checksum
	torn := member(record(3))[:40]
	for name, c := range map[string]struct {
		sound, torn, behind string
		refused             bool
	}{
		"records share a member":     {sound: member(record(1) + record(2)), torn: torn},
		"line ends between":          {sound: member(record(1)) + "\r\n" + member(record(2)), torn: torn},
		"line ends at the beginning": {sound: "\r\n" + record(1) + record(2), torn: record(3)[:40]},
		"damage behind a shared one": {
			sound: member(record(1) + record(2)), torn: string(bad), behind: member(record(3)), refused: true,
		},
	} {
		fs := newMemFS()
		whole := c.sound + c.torn + c.behind
		fs.files["dir/f.warc.gz"] = &memFile{fs: fs, name: "dir/f.warc.gz", data: []byte(whole)}
		size, records, faults, err := Mend(fs, "dir/f.warc.gz")
		want := c.sound
		if c.refused {
			want = whole
		}
		var corrupt *CorruptError
		if errors.As(err, &corrupt) != c.refused || err != nil && !c.refused || len(faults) != 1 {
			t.Errorf("%s: %v, faults %v", name, err, faults)
		}
		if got := string(fs.bytesOf("dir/f.warc.gz")); got != want || size != int64(len(want)) {
			t.Errorf("%s: Mend says %d bytes, the file has %d, want %d", name, size, len(got), len(want))
		}
		if records < 2 {
			t.Errorf("%s: Mend says %d records", name, records)
		}
	}
}

// TestMendBegin: a file whose first bytes are lost, as with a bad sector, keeps all records behind them.
func TestMendBegin(t *testing.T) {
	data := everyKind(t)
	want, _ := scanAll(t, data)
	for _, lost := range []int{1, 2, 12, 512} {
		for _, c := range []byte{0, 0xff, '<'} {
			b := slices.Clone(data)
			for i := range lost {
				b[i] = c
			}
			records, faults := scanAll(t, b)
			if len(faults) == 0 || len(records) == 0 || !slices.Equal(records, want[len(want)-len(records):]) {
				t.Fatalf("%d bytes of %#02x: %d of %d records, faults %v", lost, c, len(records), len(want), faults)
			}
			if after, faults := scanAll(t, mend(t, b)); !slices.Equal(after, records) || len(faults) > 0 {
				t.Errorf("%d bytes of %#02x: %d of %d records after Mend, faults %v", lost, c, len(after), len(records),
					faults)
			}
		}
	}
}

// TestMendMany: however many places of a Writer's file are damaged, Mend keeps all that is sound between them.
func TestMendMany(t *testing.T) {
	const damaged = 1200
	fs := newMemFS()
	w := testWriter(t, fs)
	var places []Location
	for i := range 2 * damaged {
		at, err := w.WriteMetadata("http://example.org/gone", time.UnixMilli(int64(i)), []Field{{"failure", "dns"}})
		if err != nil {
			t.Fatal(err)
		}
		places = append(places, at)
	}
	files, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	data := fs.bytesOf(testOptions(fs).Dir + "/" + files[0].Name)
	for i := 0; i < len(places); i += 2 {
		data[places[i].Offset+places[i].Length-6] ^= 1 // in the checksum
	}
	if records, faults := scanAll(t, mend(t, data)); len(records) != 1+damaged || len(faults) > 0 {
		t.Errorf("%d records, want %d; faults %v", len(records), 1+damaged, faults)
	}
}
