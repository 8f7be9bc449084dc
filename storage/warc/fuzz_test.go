// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// FuzzReader reads arbitrary bytes: no panic, no read outside of the file, no endless loop, a record or an error but
// never both. The valid prefix alone reads again to the same number of records and a clean end.
func FuzzReader(f *testing.F) {
	data, ends := smallFile(f)
	f.Add(data, false)
	f.Add(data[:ends[2]+10], false)
	f.Add(append(bytes.Clone(data[:ends[1]]), data[ends[1]+5:]...), true)
	f.Add([]byte("WARC/1.0\r\nContent-Length: 3\r\n\r\nabc\r\n\r\nWARC/1.1\nContent-Length: 0\n\n"), false)
	f.Add(gzipOf(f, "WARC/1.0\r\nContent-Length: 1\r\n\r\na", "WARC/1.0\r\nContent-Length: 0\r\n\r\n"), false)
	f.Add(append(gzipOf(f), gzipOf(f, "WARC/1.0\r\nContent-Length: 100\r\n\r\na")...), true)
	f.Add([]byte("WARC/1.1\r\nContent-Length: 999999999999\r\n\r\nx"), true)
	f.Fuzz(func(t *testing.T, data []byte, resync bool) {
		const limit = 1 << 16
		src := &strictAt{t, bytes.NewReader(data), int64(len(data))}
		r := NewReaderOptions(src, int64(len(data)), ReaderOptions{Resync: resync, MaxBlockBytes: limit})
		blocks, whole, clean := 0, 0, true
		for valid := int64(0); r.err == nil; {
			rec, err := r.Next()
			if (rec == nil) == (err == nil) {
				t.Fatalf("record %+v and error %v", rec, err)
			}
			if err == nil {
				if blocks++; len(rec.Block) > limit || rec.Offset+rec.Length > int64(len(data)) {
					t.Fatalf("record %+v", rec)
				}
				rec.CheckDigests()
				if payload, err := rec.Payload(); err == nil && len(payload) > len(rec.Block) {
					t.Fatalf("payload of %d bytes in a block of %d", len(payload), len(rec.Block))
				}
			} else if errors.Is(err, ErrTorn) == errors.As(err, new(*CorruptError)) &&
				err != io.EOF && !errors.As(err, new(*TooLargeError)) {
				t.Fatalf("unknown kind of error: %v", err)
			} else if r.err == nil {
				clean = false
			}
			if r.Valid() < valid || r.Valid() > int64(len(data)) {
				t.Fatalf("Valid went from %d to %d of %d", valid, r.Valid(), len(data))
			}
			if r.Valid() != valid {
				valid, whole = r.Valid(), blocks
			}
		}
		if !clean {
			return // the valid part contains damage or an oversized block
		}
		again := NewReader(bytes.NewReader(data), r.Valid())
		for range whole {
			if _, err := again.Next(); err != nil {
				t.Fatalf("the valid prefix of %d bytes does not read again: %v", r.Valid(), err)
			}
		}
		if _, err := again.Next(); err != io.EOF {
			t.Fatalf("the valid prefix of %d bytes ends with %v", r.Valid(), err)
		}
	})
}

// FuzzHead: for any head that a server sends, the block splits where the body begins, also for a reader that takes any
// line without visible text for the end of the head.
func FuzzHead(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n"), []byte("body"))
	f.Add([]byte("\r\nHTTP/1.1 304 x\nA:\n \nContent-Length: 3\r\r\n\n"), []byte(""))
	f.Fuzz(func(t *testing.T, head, body []byte) {
		if !visible(head) {
			return
		}
		got := appendHead(nil, head, responseHead, len(body))
		rec := Record{
			Type:   TypeResponse,
			Header: []Field{{"Content-Type", "application/http"}},
			Block:  append(got, body...),
		}
		_, stored, err := rec.HTTP()
		if err != nil || !bytes.Equal(stored, body) {
			t.Fatalf("head %q: body %q, want %q", got, stored, body)
		}
		if payload, err := rec.Payload(); err != nil || !bytes.Equal(payload, body) {
			t.Fatalf("head %q: payload %q, want %q", got, payload, body)
		}
		if twice := appendHead(nil, got, responseHead, len(body)); !bytes.Equal(got, twice) {
			t.Fatalf("%q becomes %q the second time", got, twice)
		}
	})
}

// FuzzScan scans and mends arbitrary bytes: no panic, every byte is in a record or a fault, in order, and what Mend
// leaves holds the same sound records and, if it is a file of a Writer, nothing else.
func FuzzScan(f *testing.F) {
	data := everyKind(f)
	f.Add(data, uint16(0), uint16(0))
	f.Add(data, uint16(700), uint16(3))
	f.Add(append(bytes.Clone(data[:500]), data[700:]...), uint16(9), uint16(0))
	f.Add(append(bytes.Clone(data), "WARC/1.1\r\n"...), uint16(0), uint16(0))
	f.Fuzz(func(t *testing.T, data []byte, at, xor uint16) {
		data = bytes.Clone(data)
		if int(at) < len(data) {
			data[at] ^= byte(xor)
		}
		end, sound := int64(0), 0
		readable := false
		err := Scan(bytes.NewReader(data), "f", int64(len(data)), func(r *Record) error {
			if r.CheckDigests() == nil {
				sound++
			}
			if r.Offset < end && r.Length > 0 && !readable {
				t.Fatalf("a record at %d, behind %d", r.Offset, end)
			}
			end, readable = r.Offset+r.Length, false
			return nil
		}, func(x Fault) error {
			if !x.Readable && (x.Offset < end || x.Length <= 0 || x.Offset+x.Length > int64(len(data))) {
				t.Fatalf("fault %v, behind %d of %d", x, end, len(data))
			}
			if readable = x.Readable; !readable {
				end = x.Offset + x.Length
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		fs := newMemFS()
		fs.files["dir/f.warc.gz"] = &memFile{fs: fs, name: "dir/f.warc.gz", data: data}
		size, records, _, err := Mend(fs, "dir/f.warc.gz")
		var strange *CorruptError
		if errors.As(err, &strange) {
			return
		}
		if err != nil || records > int64(sound) {
			t.Fatalf("%d records of %d, %v", records, sound, err)
		}
		if again, _, faults, err := Mend(fs, "dir/f.warc.gz"); err != nil || again > size {
			t.Fatalf("mended again: %d bytes of %d, %v, %v", again, size, faults, err)
		}
	})
}
