// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"crypto/tls"
	"slices"
	"strings"
	"time"
)

// Numbers from 120 on are of cases that came after the first list of behaviors.
const (
	badOverhead = "protocol_error/overhead"
	badInterim  = "protocol_error/interim"
	badTrailer  = "protocol_error/trailer"
)

// wireCases send much for little, or end in ways that only the wire shows.
func wireCases() []Case {
	return slices.Concat(extensionCases(), chunkSizeCases(), cutCases(), dripCases(), oddHeadCases(), oddLengthCases(),
		recordCases())
}

// costly is what is required of a server that sends far more than its body is worth.
func costly(results ...string) Want {
	return Want{
		Results: append(results, badOverhead), Bytes: 3 * mib, Within: "total", Closed: true, Alloc: 8 << 20,
		Crawl: []string{"db_unfetched", "db_gone"},
	}
}

// extensionCases hide bytes in the framing of chunks, in trailers and in interim heads.
func extensionCases() []Case {
	flood := func(number int, name, does, head, text string, want Want) Case {
		serve := func(c *conn, _ *request) {
			if c.say(head) {
				c.flood(text, 64*mib)
			}
			c.end()
		}
		return Case{Number: number, Name: name, Does: does, Want: want, serve: serve}
	}
	x := func(n int) string { return strings.Repeat("x", n) }
	early := func(text string) string { return "HTTP/1.1 103 Early Hints\r\nX: " + text + "\r\n\r\n" }
	return []Case{
		flood(120, "chunk-extensions-4000", "chunks of one byte, each with an extension of 4,000 bytes", chunked,
			strings.Repeat("1;"+x(4000)+"\r\nx\r\n", 16), costly()),
		flood(120, "chunk-extensions-100", "chunks of one byte, each with an extension of 100 bytes", chunked,
			strings.Repeat("1;"+x(100)+"\r\nx\r\n", 64), costly()),
		flood(120, "chunk-extensions-10", "chunks of one byte, each with an extension of 10 bytes", chunked,
			strings.Repeat("1;"+x(10)+"\r\nx\r\n", 256), costly()),
		flood(120, "chunk-zeros", "chunks of one byte whose sizes have 16 digits", chunked,
			strings.Repeat("0000000000000001\r\nx\r\n", 256), costly()),
		{
			Number: 121, Name: "chunk-extension-quoted", Does: "an extension with a quoted semicolon",
			Want:  good(false),
			serve: keeps(chunked, "1;a=\"b;c\"\r\nh\r\n1 ; d\r\ni\r\n0;e\r\n\r\n"),
		},
		{
			Number: 121, Name: "chunk-ones-small", Does: "a page of 50 KB in chunks of one byte",
			Want:  Want{Results: []string{"200"}, Bytes: 320_000, Within: "total", Crawl: allowed},
			serve: keeps(chunked, strings.Repeat("1\r\nx\r\n", 50_000), "0\r\n\r\n"),
		},
		{
			Number: 122, Name: "trailer-63-large", Does: "63 trailer lines of 4 KB",
			Want:  Want{Results: []string{"200", badTrailer}, Bytes: mib, Within: "total"},
			serve: keeps(chunked, "2\r\nhi\r\n0\r\n", strings.Repeat("T: "+x(4000)+"\r\n", 63), "\r\n"),
		},
		{
			Number: 122, Name: "trailer-length", Does: "a trailer with another length",
			Want:  good(false),
			serve: keeps(chunked, "2\r\nhi\r\n0\r\nContent-Length: 9\r\nTransfer-Encoding: gzip\r\n\r\n"),
		},
		{
			Number: 123, Name: "interim-9-large", Does: "nine interim heads of 60 KB, then a page",
			Want: Want{
				Results: []string{"200", badInterim, badOverhead, "head_too_large"}, Bytes: mib, Within: "total",
			},
			serve: says(strings.Repeat(early(x(60<<10)), 9), ok, whole),
		},
		{
			Number: 123, Name: "interim-too-large", Does: "an interim head of more than 64 KiB",
			Want:  Want{Results: []string{"head_too_large"}, Bytes: mib, Closed: true},
			serve: says(early(huge), ok, whole),
		},
	}
}

// chunkSizeCases are spellings of a chunk's size.
func chunkSizeCases() (out []Case) {
	for _, v := range []struct {
		name, does, size string
		want             Want
	}{
		{"16-digits", "16 digits", "0000000000000002", good(false)},
		{"18-digits", "18 digits", "000000000000000002", bad(badChunk)},
		{"0x", "0x before it", "0x2", bad(badChunk)},
		{"plus", "a plus sign", "+2", bad(badChunk)},
		{"minus", "a minus sign", "-2", bad(badChunk)},
		{"underscore", "an underscore", "0_2", bad(badChunk)},
		{"empty", "nothing at all", "", bad(badChunk)},
		{"comma", "a list", "2,2", bad(badChunk)},
	} {
		out = append(out, Case{
			Number: 124, Name: "chunk-size-" + v.name, Does: "a chunk size with " + v.does,
			Want:  v.want,
			serve: keeps(chunked, v.size+"\r\nhi\r\n0\r\n\r\n"),
		})
	}
	return append(out,
		Case{
			Number: 125, Name: "chunk-runs-over", Does: "a chunk that is longer than its size",
			Want:  bad(badChunk),
			serve: says(chunked, "2\r\nhixx\r\n0\r\n\r\n"),
		},
		Case{
			Number: 125, Name: "chunk-cr-only", Does: "chunk lines that end in a bare carriage return",
			Want:  Want{Results: []string{"200 disconnect", badChunk}, Closed: true},
			serve: says(chunked, "2\rhi\r0\r\r"),
		},
		Case{
			Number: 126, Name: "te-chunked-twice", Does: "two fields that say chunked",
			Want:  Want{Results: []string{"200", badTE}},
			serve: says(ok, "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"),
		},
		Case{
			Number: 126, Name: "te-chunked-and-length", Does: "chunked, and a length that is another",
			Want:  good(true),
			serve: keeps(ok, "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"),
		},
		Case{
			Number: 126, Name: "te-capital", Does: "Chunked",
			Want:  good(false),
			serve: keeps(ok, "Transfer-Encoding: Chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"),
		},
		Case{
			Number: 126, Name: "te-chunked-parameter", Does: "chunked with a parameter",
			Want:  bad(badTE),
			serve: says(ok, "Transfer-Encoding: chunked;q=1\r\n\r\n2\r\nhi\r\n0\r\n\r\n"),
		},
	)
}

// cutCases break off where the end of a body could be mistaken.
func cutCases() []Case {
	cut := func(results ...string) Want { return Want{Results: results, Bytes: 4096, Closed: true} }
	breaks := func(number int, name, does string, want Want, parts ...string) Case {
		return Case{Number: number, Name: name, Does: does, Want: want, serve: func(c *conn, _ *request) {
			c.say(parts...)
			c.pause(50 * time.Millisecond)
			c.reset()
		}}
	}
	return []Case{
		breaks(127, "rst-until-close", "a body without length, and RST", cut("200 disconnect"), ok, "\r\nhi"),
		breaks(127, "rst-after-length", "a whole body, then RST", cut("200"), ok, whole),
		breaks(127, "rst-mid-chunk", "half a chunk, then RST", cut("200 disconnect"), chunked, "8\r\nhalf"),
		breaks(127, "rst-mid-trailer", "all chunks, half a trailer, then RST", cut("200 disconnect"),
			chunked, "2\r\nhi\r\n0\r\nT: 1"),
		{
			Number: 128, Name: "fin-mid-status", Does: "half a status line",
			Want:  Want{Results: []string{"reset", badLine}, Bytes: 100, Crawl: unfetched},
			serve: says("HTTP/1.1 2"),
		},
		{
			Number: 128, Name: "fin-mid-interim", Does: "an interim head and no other",
			Want:  Want{Results: []string{"reset", "closed_no_response"}, Bytes: 100, Crawl: unfetched},
			serve: says("HTTP/1.1 103 Early Hints\r\n\r\n"),
		},
		{
			Number: 128, Name: "blank-lines-5", Does: "five blank lines first",
			Want:  Want{Results: []string{badLine}, Bytes: 4096, Closed: true},
			serve: says("\r\n\r\n\r\n\r\n\r\n", ok, whole),
		},
	}
}

// dripCases are too slow in the framing, where no byte of a body shows it.
func dripCases() []Case {
	slow := Want{
		Results: []string{"too_slow", "200 time"}, Within: "total", Bytes: 64 << 10, Closed: true, Crawl: unfetched,
	}
	drips := func(name, does, head, text string, want Want) Case {
		return Case{Number: 129, Name: name, Does: does, Want: want, serve: func(c *conn, _ *request) {
			if c.say(head) {
				c.drip(text, 100*time.Millisecond)
			}
		}}
	}
	early := Want{Results: []string{badInterim, "timeout_head"}, Within: "head", Bytes: 4096, Crawl: unfetched}
	return []Case{
		drips("trickle-chunks", "a chunk of one byte each 100 ms", chunked, "1\r\nx\r\n", slow),
		drips("trickle-chunk-line", "a byte of an extension each 100 ms", chunked+"2;", "x", slow),
		drips("trickle-trailer", "a byte of a trailer each 100 ms", chunked+"2\r\nhi\r\n0\r\nT: ", "x", slow),
		drips("trickle-until-close", "a byte of a body without length each 100 ms", ok+"\r\n", "x", slow),
		drips("trickle-interim", "an interim head each 100 ms", "", "HTTP/1.1 102 Processing\r\n\r\n", early),
		drips("trickle-blank-lines", "a blank line each 100 ms", "", "\r\n",
			Want{Results: []string{badLine, "timeout_head"}, Within: "head", Bytes: 4096, Crawl: unfetched}),
		{
			Number: 129, Name: "silent-after-head", Does: "announces a page and sends none of it",
			Want:  slow,
			serve: func(c *conn, _ *request) { c.say(ok, "Content-Length: 2\r\n\r\n"); c.hang() },
		},
		{
			Number: 129, Name: "silent-before-last-chunk", Does: "sends all but the last chunk",
			Want:  slow,
			serve: func(c *conn, _ *request) { c.say(chunked, "2\r\nhi\r\n"); c.hang() },
		},
	}
}

// oddHeadCases are heads with odd lines.
func oddHeadCases() []Case {
	head := func(name, does string, want Want, parts ...string) Case {
		return Case{Number: 130, Name: "head-" + name, Does: does, Want: want, serve: keeps(parts...)}
	}
	closed := func(results ...string) Want { return Want{Results: results, Closed: true, Bytes: 4096} }
	return []Case{
		head("no-colon", "a line without a colon", good(false), ok, "nonsense\r\n", whole),
		head("no-name", "a field without a name", good(false), ok, ": x\r\n", whole),
		head("status-tab", "a tab behind the version", closed(badLine), "HTTP/1.1\t200 OK\r\n", whole),
		head("status-two-spaces", "two spaces behind the version", closed(badStatus, badLine),
			"HTTP/1.1  200 OK\r\n", whole),
		head("no-reason", "no reason phrase and no space", good(false), "HTTP/1.1 200\r\n", whole),
		head("version-2", "HTTP/2.0", closed(badLine), "HTTP/2.0 200 OK\r\n", whole),
		head("version-1-2", "HTTP/1.2", closed(badLine), "HTTP/1.2 200 OK\r\n", whole),
		head("upgrade", "an unsolicited upgrade, and a page", good(false), ok,
			"Upgrade: h2c\r\nConnection: Upgrade\r\n", whole),
		head("keep-alive-close", "Connection: keep-alive, close", good(true), ok,
			"Connection: keep-alive, close\r\n", whole),
		head("204-body", "a 204 with a body", closed("204"), "HTTP/1.1 204 No Content\r\n"+whole),
		head("304-body", "an unsolicited 304 with a body", closed("304"),
			"HTTP/1.1 304 Not Modified\r\n"+whole),
	}
}

// oddLengthCases are spellings of a length.
func oddLengthCases() (out []Case) {
	for _, v := range []struct {
		name, does, value string
		want              Want
	}{
		{"zeros", "zeros before it", "0000000000000002", good(false)},
		{"list-same", "a list of the same", "2, 2", good(false)},
		{"list-diff", "a list of two", "2, 3", bad(badLength)},
		{"hex", "0x before it", "0x2", bad(badLength)},
		{"1000-digits", "a thousand digits", strings.Repeat("9", 1000), bad(badLength)},
		{"space-inside", "a space inside", "1 2", bad(badLength)},
		{"underscore", "an underscore", "0_2", bad(badLength)},
		{"2-to-63", "2^63", "9223372036854775808", bad(badLength)},
	} {
		out = append(out, Case{
			Number: 131, Name: "length-" + v.name, Does: "a length with " + v.does,
			Want:  v.want,
			serve: keeps(ok, "Content-Length: "+v.value+"\r\n\r\nhi"),
		})
	}
	return out
}

// recordCases use TLS to hide bytes, or to hide where a body ends.
func recordCases() []Case {
	server := func(s *Server, host string) *tlsServer {
		t := s.certified(host, false, nil)
		t.config.DynamicRecordSizingDisabled = true
		return t
	}
	return []Case{
		{
			Number: 132, Name: "tls-records-of-one-byte", Does: "a body in TLS records of one byte", TLS: true,
			Want: costly("200 length"), tls: server,
			serve: func(c *conn, _ *request) {
				c.say(ok, "\r\n")
				for range 4 * mib {
					if !c.say("x") {
						return
					}
				}
				c.end()
			},
		},
		{
			Number: 133, Name: "tls-no-close-notify", Does: "a body without length whose end TLS does not confirm",
			TLS: true,
			Want: Want{
				Results: []string{"200", "200 disconnect"}, Body: "hi", Closed: true, Bytes: 64 << 10, Within: "tls",
			},
			tls: server,
			serve: func(c *conn, _ *request) {
				c.say(ok, "\r\nhi")
				if t, ok := c.Conn.(*tls.Conn); ok {
					t.NetConn().Close()
				}
				c.end()
			},
		},
		{
			Number: 133, Name: "tls-close-notify", Does: "a body without length whose end TLS confirms", TLS: true,
			Want:  Want{Results: []string{"200"}, Body: "hi", Closed: true, Bytes: 64 << 10, Within: "tls"},
			tls:   server,
			serve: says(ok, "\r\nhi"),
		},
	}
}
