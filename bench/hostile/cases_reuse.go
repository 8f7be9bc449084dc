// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// reuseCases break the rules of kept connections. Each wants its page whenever it is fetched, and never anything that
// was sent without a request.
func reuseCases() []Case { return slices.Concat(lateCases(), staleCases()) }

// lateCases send a second, unsolicited response some time after the first.
func lateCases() (out []Case) {
	const smuggled = "Content-Length: 8\r\n\r\nSMUGGLED"
	for _, wait := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond, 30 * time.Millisecond} {
		out = append(out, Case{
			Number: 140, Name: fmt.Sprintf("late-%dms", wait.Milliseconds()),
			Does: fmt.Sprintf("sends a second response %s after the first, before the next request", wait),
			Want: Want{
				Results: []string{"200"}, Body: "hi", Again: "hi", Bytes: 4096, Crawl: allowed,
			},
			serve: func(c *conn, _ *request) {
				c.say(ok + whole)
				if wait > 0 {
					c.pause(wait)
				}
				c.say(ok + smuggled)
			},
		})
	}
	late := func(name, does, text string) {
		out = append(out, Case{
			Number: 141, Name: "late-" + name, Does: does,
			Want: Want{
				Results: []string{"200"}, Body: "hi", Again: "hi", Bytes: 4096, Crawl: allowed,
			},
			serve: func(c *conn, _ *request) {
				c.say(ok + whole)
				c.pause(10 * time.Millisecond)
				c.say(text)
			},
		})
	}
	late("head", "sends half of a second response later", ok+"X: ")
	late("byte", "sends one byte later", "\n")
	late("408", "says later that it waited too long, as servers do", "HTTP/1.1 408 Request Timeout\r\n"+
		"Connection: close\r\nContent-Length: 0\r\n\r\n")
	return out
}

// staleCases close a connection that they promised to keep, as the next request comes.
func staleCases() []Case {
	stale := func(name, does string, requests int, again func(c *conn)) Case {
		return Case{
			Number: 142, Name: "stale-" + name, Does: does,
			Want: Want{
				Results: []string{"200"}, Body: "hi", Again: "hi", Bytes: 4096, Crawl: allowed, CrawlRequests: requests,
				Text: "the next request is sent once more, after the host's delay",
			},
			serve: func(c *conn, _ *request) {
				if c.asked > 1 {
					again(c)
					return
				}
				c.say(ok + whole)
			},
		}
	}
	return []Case{
		stale("fin", "reads the second request of a connection and closes", 3, (*conn).end),
		stale("rst", "reads the second request of a connection and resets it", 3, (*conn).reset),
		{
			Number: 142, Name: "stale-half-head", Does: "answers the second request of a connection with half a head",
			Want: Want{Results: []string{"200"}, Body: "hi", Bytes: 4096, Crawl: unfetched, CrawlApart: allowed},
			serve: func(c *conn, _ *request) {
				if c.asked > 1 {
					c.say("HTTP/1.1 200 OK\r\nX: ")
					c.end()
					return
				}
				c.say(ok + whole)
			},
		},
	}
}

// memberCases are content codings that are made of many parts, or of odd ones.
func memberCases() []Case {
	coding := func(number int, name, does string, want Want, label, body string) Case {
		return Case{Number: number, Name: name, Does: does, Want: want, serve: coded(label, body)}
	}
	plain := Want{Results: []string{"200"}, Body: codedText, Bytes: 64 << 10, Crawl: allowed}
	kept := func(bytes int64) Want {
		return Want{Results: []string{"200 cut", "200 decode"}, Bytes: bytes, Alloc: 40 << 20}
	}
	either := func(bytes int64) Want {
		return Want{Results: []string{"200", "200 cut", "200 decode"}, Bytes: bytes, Alloc: 40 << 20}
	}
	whole, empty := encoded("gzip", codedText), encoded("gzip", "")
	size := []byte(whole)
	size[len(size)-1] ^= 1
	third := len(codedText) / 3
	parts := encoded("gzip", codedText[:third]) + encoded("gzip", codedText[third:2*third]) +
		encoded("gzip", codedText[2*third:])
	return []Case{
		coding(143, "gzip-3-members", "a gzip of three members", plain, "gzip", parts),
		coding(143, "gzip-65-members", "a gzip of 65 members", kept(64<<10), "gzip", strings.Repeat(whole, 65)),
		coding(143, "gzip-empty-members", "a gzip of 100,000 empty members", kept(4*mib), "gzip",
			strings.Repeat(empty, 100_000)),
		coding(143, "gzip-bomb-members", "a gzip of 60 bombs", kept(8*mib), "gzip",
			strings.Repeat(encoded("gzip", strings.Repeat("\x00", mib)), 60)),
		coding(143, "gzip-half-member", "a gzip whose second member is cut", kept(64<<10), "gzip", whole+whole[:20]),
		coding(144, "gzip-wrong-size", "a gzip with a wrong size", kept(64<<10), "gzip", string(size)),
		coding(144, "gzip-endless-name", "a gzip with a name of 1 MB", either(2*mib), "gzip",
			"\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\x03"+strings.Repeat("n", mib)),
		coding(144, "gzip-extra", "a gzip with 32 KB of extra fields", plain, "gzip", withExtra(whole)),
		coding(144, "x-gzip", "x-gzip", plain, "x-gzip", whole),
		coding(144, "encoding-commas", "commas around gzip", plain, ", gzip ,", whole),
		coding(144, "encoding-two-fields", "gzip in each of two fields", undecodable,
			"gzip\r\nContent-Encoding: gzip", encoded("gzip", whole)),
		coding(145, "zlib", "deflate in its wrapper", plain, "deflate", string(zlibbed(codedText, nil))),
		coding(145, "zlib-dictionary", "deflate that needs a dictionary", either(64<<10), "deflate",
			string(zlibbed(codedText, []byte("plain text")))),
		coding(146, "br-cut", "half a brotli", kept(64<<10), "br",
			cutHalf(encoded("br", strings.Repeat(codedText, 9)))),
		coding(146, "br-large-window", "a brotli of a window that the format does not have", either(64<<10), "br",
			"\x11\x1e\x00\x00\x00"+codedText),
		coding(147, "zstd-cut", "half a zstd", kept(64<<10), "zstd",
			cutHalf(encoded("zstd", strings.Repeat(codedText, 9)))),
		coding(147, "zstd-skippable", "15,000 frames of zstd that say nothing", either(4*mib), "zstd",
			strings.Repeat("\x50\x2a\x4d\x18\x00\x00\x00\x00", 15_000)),
		coding(147, "zstd-frames", "10,000 frames of zstd", either(4*mib), "zstd", strings.Repeat(frame("x"), 10_000)),
	}
}

// withExtra returns a gzip with a large extra field.
func withExtra(z string) string {
	const size = 0x7fff
	head := []byte(z[:10])
	head[3] |= 4
	head = binary.LittleEndian.AppendUint16(head, size)
	return string(head) + strings.Repeat("e", size) + z[10:]
}

func zlibbed(s string, dictionary []byte) []byte {
	var b bytes.Buffer
	w, err := zlib.NewWriterLevelDict(&b, gzip.BestSpeed, dictionary)
	if err == nil {
		_, err = w.Write([]byte(s))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic("BUG: hostile: " + err.Error())
	}
	return b.Bytes()
}

func cutHalf(s string) string { return s[:len(s)/2] }

// frame is a small frame of zstd.
func frame(s string) string {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic("BUG: hostile: " + err.Error())
	}
	defer w.Close()
	return string(w.EncodeAll([]byte(s), nil))
}

// wholeRobotsCases are robots.txt files of which something is missing or cannot be decoded: nothing may be fetched.
// A few beside them are whole, and forbid the page.
func wholeRobotsCases() []Case {
	const rules = "User-agent: *\nDisallow: /page\n"
	squeezed := encoded("gzip", rules)
	crc := []byte(squeezed)
	crc[len(crc)-6] ^= 1
	robots := func(name, does string, crawl []string, parts ...string) Case {
		c := robotsCase(name, does, crawl, 1, func(c *conn, q *request) {
			if q.Path != "/robots.txt" {
				c.page("robots " + q.Host)
				return
			}
			c.say(parts...)
			c.end()
		})
		c.Number, c.Want.Bytes = 150, 4096
		return c
	}
	coded := func(name, does string, crawl []string, label, body string) Case {
		return robots(name, does, crawl, response("200 OK", "text/plain", body, "Content-Encoding: "+label+"\r\n"))
	}
	return []Case{
		coded("gzip", "a robots.txt in gzip", denied, "gzip", squeezed),
		coded("wrong-label", "a plain robots.txt labelled gzip", denied, "gzip", rules),
		coded("gzip-members", "a robots.txt in two members", denied, "gzip",
			encoded("gzip", rules[:14])+encoded("gzip", rules[14:])),
		coded("gzip-gzip", "a robots.txt in gzip twice", closed, "gzip, gzip", encoded("gzip", squeezed)),
		coded("unknown-coding", "a robots.txt in an unknown coding", closed, "x-foo", rules),
		coded("gzip-cut", "half a robots.txt in gzip", closed, "gzip",
			cutHalf(encoded("gzip", strings.Repeat(rules, 50)))),
		coded("gzip-crc", "a robots.txt in gzip with a wrong checksum", closed, "gzip", string(crc)),
		coded("gzip-no-magic", "a robots.txt in gzip without its first byte", closed, "gzip", squeezed[1:]),
		coded("br-garbage", "a robots.txt that is labelled br and is noise", closed, "br", "\x8b\xff\x00\x01noise"),
		robots("short", "a robots.txt shorter than its length", closed, ok, "Content-Length: 900\r\n\r\n"+rules[:14]),
		robots("cut-chunks", "a robots.txt without its last chunk", closed, chunked, "e\r\n"+rules[:14]+"\r\n"),
		robots("206", "a part of a robots.txt", closed, response("206 Partial Content", "text/plain", rules[:14])),
		robots("304", "a robots.txt that did not change, to the first request", closed,
			"HTTP/1.1 304 Not Modified\r\n\r\n"),
		func() Case {
			c := robots("overhead", "a robots.txt in chunks of one byte with extensions of 4,000 bytes", closed,
				chunked, strings.Repeat("1;"+strings.Repeat("x", 4000)+"\r\n#\r\n", 1000))
			c.Want.Bytes = 3 * mib
			return c
		}(),
	}
}
