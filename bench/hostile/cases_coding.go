// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// encode compresses. It panics if the library cannot, which would be a bug here.
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

// zeros reads as zero bytes without end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// bombs are small bodies that decode to bombBytes, by coding. They are made once in a process, which takes a second.
var bombs = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for _, coding := range []string{"gzip", "br", "zstd", "deflate"} {
		out[coding] = string(encode(coding, io.LimitReader(zeros{}, bombBytes)))
	}
	return out
})

// codedText is a body that cannot be mistaken for noise.
const codedText = "<title>hi</title><p>plain text of some length, so that it can be told from noise</p>"

// coded serves a body with a Content-Encoding.
func coded(label, body string) func(*conn, *request) {
	return keeps(response("200 OK", "text/html", body, "Content-Encoding: "+label+"\r\n"))
}

// codingCases are bodies that are not what Content-Encoding says, or far larger than they seem.
func codingCases() []Case { return slices.Concat(bombCases(), nestedCases(), wrongCases()) }

func bombCases() []Case {
	boom := Want{Results: []string{"200 cut"}, Alloc: 40 << 20, Text: "no more than 8 MiB is decoded"}
	bomb := func(number int, name, label, does string) Case {
		serve := func(c *conn, q *request) { coded(label, bombs()[label])(c, q) }
		return Case{Number: number, Name: name, Does: does, Want: boom, serve: serve}
	}
	return []Case{
		bomb(73, "bomb-gzip", "gzip", "a gzip of 256 MiB of zeros"),
		bomb(74, "bomb-br", "br", "a brotli of 256 MiB of zeros"),
		bomb(75, "bomb-zstd", "zstd", "a zstd of 256 MiB of zeros"),
		bomb(76, "bomb-deflate", "deflate", "a deflate of 256 MiB of zeros"),
		{
			Number: 77, Name: "zstd-window-512m", Does: "a zstd frame that wants a window of 512 MiB",
			Want:  Want{Results: []string{"200 decode"}, Alloc: 2 << 20},
			serve: coded("zstd", "\x28\xb5\x2f\xfd\x00\x98\x01\x00\x00\x00"),
		},
	}
}

// undecodable is what is required of a body that cannot be decoded.
var undecodable = Want{
	Results: []string{"200 decode"},
	Crawl:   []string{"db_gone", "db_unfetched", "db_fetched", "db_parse_failed"},
}

func nestedCases() []Case {
	twice := encoded("gzip", encoded("gzip", codedText))
	return []Case{
		{
			Number: 78, Name: "gzip-in-gzip", Does: "gzip twice, labelled so",
			Want:  undecodable,
			serve: coded("gzip, gzip", twice),
		},
		{
			Number: 78, Name: "gzip-in-gzip-hidden", Does: "gzip twice, labelled once",
			Want:  Want{Results: []string{"200"}, Body: encoded("gzip", codedText)},
			serve: coded("gzip", twice),
		},
	}
}

func wrongCases() []Case {
	plain := Want{Results: []string{"200"}, Body: codedText, Crawl: []string{"db_fetched", "db_duplicate"}}
	kept := Want{Results: []string{"200 cut", "200 decode", "200"}}
	whole := encoded("gzip", codedText)
	torn := encoded("gzip", strings.Repeat(codedText, 50))
	crc := []byte(whole)
	crc[len(crc)-6] ^= 0xff
	twenty := strings.TrimSuffix(strings.Repeat("gzip, ", 20), ", ")
	wrong := func(number int, name, does string, want Want, label, body string) Case {
		return Case{Number: number, Name: name, Does: does, Want: want, serve: coded(label, body)}
	}
	return []Case{
		wrong(80, "wrong-label-gzip", "plain text labelled gzip", plain, "gzip", codedText),
		wrong(80, "wrong-label-br", "plain text labelled br", plain, "br", codedText),
		wrong(81, "gzip-truncated", "half a gzip", kept, "gzip", torn[:len(torn)/2]),
		wrong(81, "gzip-bad-crc", "a gzip with a wrong checksum", kept, "gzip", string(crc)),
		wrong(81, "gzip-trailing-garbage", "a gzip and garbage behind it", kept, "gzip", whole+"garbage"),
		wrong(82, "encoding-x-foo", "a coding nobody knows", undecodable, "x-foo", codedText),
		wrong(82, "encoding-compress", "Unix compress", undecodable, "compress", "\x1f\x9d\x90hi"),
		wrong(82, "encoding-list", "twenty codings", undecodable, twenty, codedText),
	}
}
