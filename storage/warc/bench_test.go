// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bytes"
	"crypto/sha1"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
)

// What is measured: writing one exchange, from the caller's bytes to the append, compared with its two unavoidable
// parts: compressing the body at the same level, and hashing it. The file is discarded. Then reading the same exchange.
//
// Corpus: one HTML page of 12 KB with 50 links and words from a small vocabulary; it compresses to a third.
//
// How to run: go test ./storage/warc -run '^$' -bench . -benchtime 2s

// benchPage returns a page like those of a manual.
func benchPage() []byte {
	words := []string{"crawler", "frontier", "the", "of", "segment", "politeness", "host", "record", "a", "queue",
		"retrieves", "stored", "archive", "bandwidth", "language", "until", "every", "document", "which", "bounded"}
	var b bytes.Buffer
	b.WriteString("<!DOCTYPE html><html><head><title>A page</title><meta charset=\"utf-8\"></head><body>\n")
	x := uint32(1)
	for i := 0; b.Len() < 12<<10; i++ {
		x = x*1664525 + 1013904223
		if i%30 == 0 {
			fmt.Fprintf(&b, "</p>\n<p class=\"text\"><a href=\"/docs/%x/%d.html\">", x, i)
		}
		fmt.Fprintf(&b, "%s%d ", words[x>>16%uint32(len(words))], x>>28)
		if i%30 == 3 {
			b.WriteString("</a>")
		}
	}
	return b.Bytes()
}

func benchExchange() *Exchange {
	body := benchPage()
	return &Exchange{
		URI:   "https://docs.example.org/3/library/asyncio-task.html",
		Addr:  netip.MustParseAddr("192.0.2.7"),
		Start: time.Unix(1767312000, 0),
		Request: []byte("GET /3/library/asyncio-task.html HTTP/1.1\r\nHost: docs.example.org\r\n" +
			"User-Agent: Mozilla/5.0 (compatible; seine/1.0; +https://example.org/bot)\r\n" +
			"Accept: text/html\r\nAccept-Encoding: gzip, br\r\n\r\n"),
		ResponseHead: fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\n"+
			"Content-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\nETag: \"abc-123\"\r\n"+
			"Last-Modified: Wed, 31 Dec 2025 00:00:00 GMT\r\nX-Frame-Options: SAMEORIGIN\r\n\r\n", len(body)),
		Body: body,
	}
}

// discardFS takes writes and keeps nothing.
type discardFS struct{ *memFS }

func (d discardFS) Create(string) (File, error) { return discardFile{}, nil }

type discardFile struct{}

func (discardFile) Write(p []byte) (int, error)           { return len(p), nil }
func (discardFile) ReadAt([]byte, int64) (n int, e error) { return 0, nil }
func (discardFile) Sync() error                           { return nil }
func (discardFile) Close() error                          { return nil }

func BenchmarkWriteExchange(b *testing.B) {
	w, err := NewWriter(WriterOptions{FS: discardFS{newMemFS()}, Dir: "d"})
	if err != nil {
		b.Fatal(err)
	}
	x := benchExchange()
	b.SetBytes(int64(len(x.Body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.WriteExchange(x); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(w.Bytes())/float64(b.N), "stored-B/op")
}

func BenchmarkFloorGzip(b *testing.B) {
	body := benchPage()
	var out bytes.Buffer
	zw, err := gzip.NewWriterLevel(&out, 1)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		out.Reset()
		zw.Reset(&out)
		if _, err := zw.Write(body); err != nil {
			b.Fatal(err)
		}
		if err := zw.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(out.Len()), "stored-B/op")
}

func BenchmarkFloorSHA1(b *testing.B) {
	body := benchPage()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		sha1.Sum(body)
	}
}

func BenchmarkNext(b *testing.B) {
	fs := newMemFS()
	w := testWriter(b, fs)
	x := benchExchange()
	for range 100 {
		if _, err := w.WriteExchange(x); err != nil {
			b.Fatal(err)
		}
	}
	mustClose(b, w)
	data := fs.bytesOf("data/warc/t-00000.warc.gz")
	b.ReportAllocs()
	for b.Loop() {
		r := NewReader(bytes.NewReader(data), int64(len(data)))
		for {
			if _, err := r.Next(); err != nil {
				break
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/exchange")
}
