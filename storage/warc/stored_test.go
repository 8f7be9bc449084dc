// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// TestCompressedBodies: a body of any length that is already compressed is neither compressed again nor changed; other
// bodies are compressed.
func TestCompressedBodies(t *testing.T) {
	random := make([]byte, 200_000)
	rand.NewChaCha8([32]byte{}).Read(random)
	var zipped bytes.Buffer
	z, err := gzip.NewWriterLevel(&zipped, 1)
	if err != nil {
		t.Fatal(err)
	}
	page := benchPage()
	if _, err := z.Write(page); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	var table []byte
	for i := range 2000 {
		table = fmt.Appendf(table, "%d,%d\r\n", i, random[i])
	}
	for _, c := range []struct {
		name   string
		body   []byte
		stored bool
	}{
		{"gzip", zipped.Bytes(), true},
		{"random", random, true},
		{"exactly two blocks", random[:2*65535], true},
		{"about a block", random[:65535-600], true},
		{"short", random[:256], true},
		{"too short to decide", random[:255], false},
		{"page", page, false},
		{"table", table, false},
		{"non-ASCII text", bytes.Repeat([]byte("héllo wörld "), 50), false},
		{"zeros", make([]byte, 5000), false},
	} {
		fs := newMemFS()
		w, err := NewWriter(testOptions(fs))
		if err != nil {
			t.Fatal(err)
		}
		x := &Exchange{
			URI:          "http://h/",
			Start:        time.UnixMilli(1),
			ResponseHead: []byte("HTTP/1.1 200 OK\r\n"),
			Body:         c.body,
		}
		loc, err := w.WriteExchange(x)
		if err != nil {
			t.Fatal(err)
		}
		files, err := w.Close()
		if err != nil {
			t.Fatal(err)
		}
		data := fs.bytesOf("data/warc/" + files[0].Name)
		rec, err := ReadAt(bytes.NewReader(data), int64(len(data)), loc)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if _, body, err := rec.HTTP(); err != nil || !bytes.Equal(body, c.body) {
			t.Errorf("%s: read back as %d bytes, %v", c.name, len(body), err)
		}
		// A stored body is in the file unchanged, except where a deflate block ends inside it.
		if got := bytes.Contains(data[loc.Offset:], c.body[:min(len(c.body), 60_000)]); got != c.stored {
			t.Errorf("%s: stored is %v, %d bytes of %d", c.name, got, loc.Length, len(c.body))
		}
	}
}
