// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// encode compresses; it panics when the library cannot, which would be a bug here.
func encode(coding string, body io.Reader) []byte {
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch coding {
	case "gzip":
		w, err = gzip.NewWriterLevel(&b, gzip.BestSpeed)
	case "deflate":
		w, err = flate.NewWriter(&b, flate.BestSpeed)
	case "br":
		w = brotli.NewWriterLevel(&b, 3)
	case "zstd":
		w, err = zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
	default:
		err = fmt.Errorf("no coding %s", coding)
	}
	if err == nil {
		_, err = io.Copy(w, body)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic("BUG: hostile: " + err.Error())
	}
	return b.Bytes()
}

func encoded(coding, body string) string { return string(encode(coding, strings.NewReader(body))) }

// zeros reads as so many zero bytes.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// bombs are small bodies that come to bombBytes, made once for a process, which takes a second.
var bombs = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for _, coding := range []string{"gzip", "br", "zstd", "deflate"} {
		out[coding] = string(encode(coding, io.LimitReader(zeros{}, bombBytes)))
	}
	return out
})

// codingCases are bodies that are not what Content-Encoding says, or far more than they seem.
func codingCases() []Case {
	const text = "<title>hi</title><p>plain text of some length, so that it can be told from noise</p>"
	coded := func(label, body string) func(*Conn, *Request) {
		return keeps(response("200 OK", "text/html", body, "Content-Encoding: "+label+"\r\n"))
	}
	bomb := func(label string) func(*Conn, *Request) {
		return func(c *Conn, q *Request) { coded(label, bombs()[label])(c, q) }
	}
	boom := Want{Results: []string{"200 cut"}, Alloc: 40 << 20, Text: "no more than 8 MiB is decoded"}
	undecodable := Want{Results: []string{"200 decode"}, Crawl: []string{"db_gone", "db_unfetched", "db_fetched", "db_parse_failed"}}
	plain := Want{Results: []string{"200"}, Body: text, Crawl: []string{"db_fetched", "db_duplicate"}}
	kept := Want{Results: []string{"200 cut", "200 decode", "200"}}
	torn := encoded("gzip", strings.Repeat(text, 50))
	crc := []byte(encoded("gzip", text))
	crc[len(crc)-6] ^= 0xff
	return []Case{
		{Number: 73, Name: "bomb-gzip", Does: "a gzip of 256 MiB of zeros", Want: boom, serve: bomb("gzip")},
		{Number: 74, Name: "bomb-br", Does: "a brotli of 256 MiB of zeros", Want: boom, serve: bomb("br")},
		{Number: 75, Name: "bomb-zstd", Does: "a zstd of 256 MiB of zeros", Want: boom, serve: bomb("zstd")},
		{Number: 76, Name: "bomb-deflate", Does: "a deflate of 256 MiB of zeros", Want: boom, serve: bomb("deflate")},
		{Number: 77, Name: "zstd-window-512m", Does: "a zstd frame that wants a window of 512 MiB", Want: Want{Results: []string{"200 decode"}, Alloc: 2 << 20},
			serve: coded("zstd", "\x28\xb5\x2f\xfd\x00\x98\x01\x00\x00\x00")},
		{Number: 78, Name: "gzip-in-gzip", Does: "gzip twice, labelled so", Want: undecodable, serve: coded("gzip, gzip", encoded("gzip", encoded("gzip", text)))},
		{Number: 78, Name: "gzip-in-gzip-hidden", Does: "gzip twice, labelled once", Want: Want{Results: []string{"200"}, Body: encoded("gzip", text)}, serve: coded("gzip", encoded("gzip", encoded("gzip", text)))},
		{Number: 80, Name: "wrong-label-gzip", Does: "plain text labelled gzip", Want: plain, serve: coded("gzip", text)},
		{Number: 80, Name: "wrong-label-br", Does: "plain text labelled br", Want: plain, serve: coded("br", text)},
		{Number: 81, Name: "gzip-truncated", Does: "half a gzip", Want: kept, serve: coded("gzip", torn[:len(torn)/2])},
		{Number: 81, Name: "gzip-bad-crc", Does: "a gzip with a wrong checksum", Want: kept, serve: coded("gzip", string(crc))},
		{Number: 81, Name: "gzip-trailing-garbage", Does: "a gzip and garbage behind it", Want: kept, serve: coded("gzip", encoded("gzip", text)+"garbage")},
		{Number: 82, Name: "encoding-x-foo", Does: "a coding nobody knows", Want: undecodable, serve: coded("x-foo", text)},
		{Number: 82, Name: "encoding-compress", Does: "Unix compress", Want: undecodable, serve: coded("compress", "\x1f\x9d\x90hi")},
		{Number: 82, Name: "encoding-list", Does: "twenty codings", Want: undecodable, serve: coded(strings.TrimSuffix(strings.Repeat("gzip, ", 20), ", "), text)},
	}
}
