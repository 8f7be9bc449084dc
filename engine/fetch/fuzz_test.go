// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine/fetch"
)

// FuzzContent: whatever a body is labelled and holds, what is decoded stays within its bound, Content and ExactContent
// agree, and a gzip that the standard library reads to its end is read as it does, up to 64 members.
func FuzzContent(f *testing.F) {
	labels := []string{"gzip", "x-gzip", "deflate", "br", "zstd", "identity", "gzip, gzip", "foo", ""}
	page := []byte(strings.Repeat("<p>A page about nets.</p>", 20))
	for i, coding := range []string{"gzip", "gzip", "deflate", "br", "zstd"} {
		f.Add(uint8(i), squeeze(f, coding, page))
	}
	f.Add(uint8(0), bytes.Repeat(squeeze(f, "gzip", []byte("net ")), 3))
	f.Add(uint8(0), bytes.Repeat(squeeze(f, "gzip", nil), 65))
	f.Add(uint8(2), []byte("{\"a\":1}Allow: /x\n"))
	f.Fuzz(func(t *testing.T, label uint8, body []byte) {
		name := labels[int(label)%len(labels)]
		read := func(content func(*fetch.Response) ([]byte, bool, error)) ([]byte, bool, error) {
			r, err := fetch.StoredResponse([]byte("HTTP/1.1 200 OK\r\nContent-Encoding: "+name+"\r\n\r\n"), body, "")
			if err != nil {
				t.Fatal(err)
			}
			defer r.Release()
			got, cut, err := content(r)
			return bytes.Clone(got), cut, err
		}
		got, cut, err := read((*fetch.Response).ExactContent)
		lax, laxCut, laxErr := read((*fetch.Response).Content)
		if errors.Is(err, fetch.ErrLabel) {
			cut, err = false, nil
		}
		if !bytes.Equal(got, lax) || cut != laxCut || (err == nil) != (laxErr == nil) {
			t.Fatalf("%s: ExactContent %d bytes, %t, %v; Content %d, %t, %v",
				name, len(got), cut, err, len(lax), laxCut, laxErr)
		}
		if len(got) > max(8<<20, len(body)) {
			t.Fatalf("%s: %d bytes of %d", name, len(got), len(body))
		}
		if name != "gzip" || reservedFlags(body) {
			return
		}
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return
		}
		want, err := io.ReadAll(io.LimitReader(z, 8<<20+1))
		members := bytes.Count(body, []byte{0x1f, 0x8b}) // at most
		if err == nil && len(want) <= 8<<20 && members <= 64 && (!bytes.Equal(got, want) || cut) {
			t.Fatalf("%d bytes, truncated %t, %v; want %d bytes", len(got), cut, laxErr, len(want))
		}
	})
}

// reservedFlags reports whether a member of a gzip body may have flags that RFC 1952 reserves: zlib refuses them, and
// so do browsers and seine, but the standard library does not.
func reservedFlags(body []byte) bool {
	for {
		at := bytes.Index(body, []byte{0x1f, 0x8b, 8})
		if at < 0 || at+3 >= len(body) {
			return false
		}
		if body[at+3]&0xe0 != 0 {
			return true
		}
		body = body[at+3:]
	}
}
