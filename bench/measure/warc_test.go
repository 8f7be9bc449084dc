// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/seine-crawler/seine/storage/warc"
)

// What is measured: exchanges of 12 KB pages appended to a WARC file on disk, without sync: a request and a response
// record, each a gzip member. seine gets the exchange and makes the records: ids, dates, headers, a SHA-1 of the block
// and one of the payload. The floor gets the bytes of the same records ready-made and does only what cannot be left
// out: gzip at the same level (1; requests are stored uncompressed in their member, as seine does) and one write to a
// file.
//
// The pages are many and different on purpose: given the same page again and again, a compressor seems twice as fast,
// because the processor learns the page's branches. How to run:
//
//	go test -run '^$' -bench WARC ./bench/measure

// exchanges are the exchanges of simweb's pages.
func exchanges() []warc.Exchange {
	pages := simPages()
	list := make([]warc.Exchange, len(pages))
	for i, p := range pages {
		list[i] = warc.Exchange{
			URI: p.url.String(), Addr: netip.MustParseAddr("127.0.0.1"), Start: someDay, Body: p.text,
			Request: fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\n"+
				"User-Agent: Mozilla/5.0 (compatible; seine/1.0; +https://example.org/bot)\r\n"+
				"Accept: text/html\r\nAccept-Encoding: gzip, br\r\n\r\n", p.url.RequestTarget(), p.url.Authority()),
			ResponseHead: fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nServer: simweb\r\n"+
				"Date: Mon, 01 Jun 2026 00:00:00 GMT\r\n"+
				"Content-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\nETag: \"%x\"\r\n"+
				"Last-Modified: Sun, 31 May 2026 00:00:00 GMT\r\n\r\n", len(p.text), i),
		}
	}
	return list
}

// warcRecords writes the exchanges once and returns the bytes of their records, and how many bytes seine stored for
// them.
func warcRecords(b *testing.B, list []warc.Exchange) (requests, responses [][]byte, stored int64) {
	dir := b.TempDir()
	w, err := warc.NewWriter(warc.WriterOptions{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	for i := range list {
		if _, err := w.WriteExchange(&list[i]); err != nil {
			b.Fatal(err)
		}
	}
	files, err := w.Close()
	if err != nil || len(files) != 1 {
		b.Fatal(len(files), err)
	}
	f, err := os.Open(filepath.Join(dir, files[0].Name))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewReader(f)
	z, err := gzip.NewReader(in)
	for n := 0; err == nil; n++ {
		z.Multistream(false)
		record, err := io.ReadAll(z)
		switch {
		case err != nil:
			b.Fatal(err)
		case n == 0: // warcinfo
		case n%2 == 1:
			requests = append(requests, record)
		default:
			responses = append(responses, record)
		}
		if err := z.Reset(in); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			b.Fatal(err)
		}
	}
	if err != nil || len(requests) != len(list) || len(responses) != len(list) {
		b.Fatalf(
			"%d request and %d response records of %d exchanges, %v", len(requests), len(responses),
			len(list), err,
		)
	}
	return requests, responses, files[0].Size
}

// checkStored reads an exchange back and compares it.
func checkStored(b *testing.B, dir string, loc warc.Location, x *warc.Exchange) {
	f, err := os.Open(filepath.Join(dir, loc.File))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		b.Fatal(err)
	}
	r, err := warc.ReadAt(f, info.Size(), loc)
	if err != nil {
		b.Fatal(err)
	}
	if err := r.CheckDigests(); err != nil {
		b.Fatal(err)
	}
	if body, err := r.Payload(); err != nil || !bytes.Equal(body, x.Body) {
		b.Fatalf("%s: payload of %d bytes, want %d, %v", loc.File, len(body), len(x.Body), err)
	}
}

// members compresses records as seine does.
type members struct {
	stored, packed *gzip.Writer
	out            bytes.Buffer
}

func newMembers(b *testing.B) *members {
	m := &members{}
	var err, err2 error
	m.stored, err = gzip.NewWriterLevel(&m.out, gzip.NoCompression)
	m.packed, err2 = gzip.NewWriterLevel(&m.out, gzip.BestSpeed)
	if err != nil || err2 != nil {
		b.Fatal(err, err2)
	}
	return m
}

// member appends one gzip member.
func (m *members) member(z *gzip.Writer, record []byte) error {
	z.Reset(&m.out)
	_, err := z.Write(record)
	return errors.Join(err, z.Close())
}

func BenchmarkWARC(b *testing.B) {
	list := exchanges()
	requests, responses, stored := warcRecords(b, list)
	perPage := float64(stored) / float64(len(list))
	bytesPerOp := int64(totalBytes(simPages()) / len(list))
	report := func(b *testing.B, stored int64) {
		got := float64(stored) / float64(b.N)
		if b.N > len(list) && (got < 0.9*perPage || got > 1.1*perPage) {
			b.Fatalf("%.0f bytes stored of an exchange, want about %.0f", got, perPage)
		}
		b.ReportMetric(got, "stored-B/op")
	}
	b.Run("write/seine", func(b *testing.B) {
		dir := b.TempDir()
		w, err := warc.NewWriter(warc.WriterOptions{Dir: dir, Now: func() time.Time { return someDay }})
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(bytesPerOp)
		b.ReportAllocs()
		var loc warc.Location
		n := 0
		for b.Loop() {
			if loc, err = w.WriteExchange(&list[n%len(list)]); err != nil {
				b.Fatal(err)
			}
			n++
		}
		report(b, w.Bytes())
		if _, err := w.Close(); err != nil {
			b.Fatal(err)
		}
		checkStored(b, dir, loc, &list[(n-1)%len(list)])
	})
	b.Run("write/floor-gzip1", func(b *testing.B) {
		f, err := os.Create(filepath.Join(b.TempDir(), "floor.gz"))
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		m := newMembers(b)
		b.SetBytes(bytesPerOp)
		b.ReportAllocs()
		n, total := 0, int64(0)
		for b.Loop() {
			m.out.Reset()
			if err := errors.Join(
				m.member(m.stored, requests[n%len(list)]), m.member(m.packed, responses[n%len(list)]),
			); err != nil {
				b.Fatal(err)
			}
			if _, err := f.Write(m.out.Bytes()); err != nil {
				b.Fatal(err)
			}
			total += int64(m.out.Len())
			n++
		}
		report(b, total)
	})
}
