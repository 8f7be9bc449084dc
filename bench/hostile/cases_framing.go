// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"slices"
	"strings"
	"time"
)

// whole follows the status line and fields in many cases; chunked begins others.
const (
	whole   = "Content-Length: 2\r\n\r\nhi"
	chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"
)

var huge = strings.Repeat("a", 64<<10)

// good is what is required of a page that must be read; with closed, its connection must not be used again.
func good(closed bool) Want {
	return Want{Results: []string{"200"}, Body: "hi", Closed: closed, Crawl: []string{"db_fetched", "db_duplicate"}}
}

// bad is what is required of a response that must fail, with one of these results.
func bad(results ...string) Want {
	return Want{Results: results, Closed: true, Crawl: []string{"db_unfetched", "db_gone"}}
}

const (
	badLength = "protocol_error/content_length"
	badTE     = "protocol_error/te"
	badChunk  = "protocol_error/chunk"
	badStatus = "protocol_error/status"
	badLine   = "protocol_error/status_line"
)

// framingCases are responses whose ends are unclear or wrong.
func framingCases() []Case {
	return slices.Concat(
		lengthCases(), transferCodingCases(), chunkCases(),
		notHTTPCases(), oldVersionCases(), statusCodeCases(), interimCases(), desyncCases(),
		headSyntaxCases(), headSizeCases(), headByteCases(),
	)
}

// lengthCases are wrong lengths.
func lengthCases() []Case {
	return []Case{
		{
			Number: 23, Name: "cl-1tib", Does: "announces 2^40 bytes and sends five",
			Want: Want{
				Results: []string{"too_slow", "200 time", "200 disconnect", "200 length"}, Within: "total",
				Closed: true,
			},
			serve: func(c *conn, _ *request) { c.say(ok, "Content-Length: 1099511627776\r\n\r\nhello"); c.hang() },
		},
		{
			Number: 24, Name: "cl-overflow", Does: "a length beyond 64 bits",
			Want:  bad(badLength),
			serve: says(ok, "Content-Length: 99999999999999999999\r\n\r\nhi"),
		},
		{
			Number: 25, Name: "cl-negative", Does: "a negative length",
			Want:  bad(badLength),
			serve: says(ok, "Content-Length: -1\r\n\r\nhi"),
		},
		{
			Number: 26, Name: "cl-plus", Does: "a length with a plus sign",
			Want:  bad(badLength),
			serve: says(ok, "Content-Length: +2\r\n\r\nhi"),
		},
		{
			Number: 27, Name: "cl-empty", Does: "an empty length",
			Want:  good(true),
			serve: says(ok, "Content-Length:\r\n\r\nhi"),
		},
		{
			Number: 28, Name: "cl-text", Does: "a length in words",
			Want:  bad(badLength),
			serve: says(ok, "Content-Length: two\r\n\r\nhi"),
		},
		{
			Number: 29, Name: "cl-short", Does: "fewer bytes than announced",
			Want:  Want{Results: []string{"200 disconnect"}, Body: "hi", Closed: true},
			serve: says(ok, "Content-Length: 9\r\n\r\nhi"),
		},
		{
			Number: 30, Name: "cl-long", Does: "more bytes than announced",
			Want: good(true),
			// In one write, as in desync-now.
			serve: keeps(ok + whole + "SMUGGLED"),
		},
		{
			Number: 31, Name: "cl-dup-same", Does: "the same length twice",
			Want:  good(false),
			serve: keeps(ok, "Content-Length: 2\r\n", whole),
		},
		{
			Number: 32, Name: "cl-dup-diff", Does: "two lengths",
			Want:  bad(badLength),
			serve: says(ok, "Content-Length: 3\r\n", whole),
		},
	}
}

// transferCodingCases are transfer codings that a client did not accept.
func transferCodingCases() []Case {
	return []Case{
		{
			Number: 34, Name: "te-gzip-chunked", Does: "a transfer coding that was not requested",
			Want:  bad(badTE),
			serve: says(ok, "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
		},
		{
			Number: 35, Name: "te-identity", Does: "the identity transfer coding",
			Want:  good(true),
			serve: says(ok, "Transfer-Encoding: identity\r\n\r\nhi"),
		},
		{
			Number: 36, Name: "te-unknown", Does: "an unknown transfer coding",
			Want:  bad(badTE),
			serve: says(ok, "Transfer-Encoding: shuffled\r\n\r\nhi"),
		},
	}
}

// chunkCases are wrong chunks and endless bodies.
func chunkCases() []Case {
	return []Case{
		{
			Number: 37, Name: "chunk-no-final", Does: "closes before the last chunk",
			Want:  Want{Results: []string{"200 disconnect"}, Body: "hi", Closed: true},
			serve: says(chunked, "2\r\nhi\r\n"),
		},
		{
			Number: 38, Name: "chunk-huge-size", Does: "a chunk of 2^63-1 bytes",
			Want: Want{
				Results: []string{"protocol_error/chunk", "200 disconnect", "200 time"}, Closed: true,
				Within: "total",
			},
			serve: says(chunked, "7fffffffffffffff\r\nhi"),
		},
		{
			Number: 39, Name: "chunk-bad-hex", Does: "a chunk size that is no number",
			Want:  bad(badChunk),
			serve: says(chunked, "zz\r\nhi\r\n0\r\n\r\n"),
		},
		{
			Number: 40, Name: "chunk-lf-only", Does: "chunk lines that end in a bare line feed",
			Want:  good(false),
			serve: keeps(chunked, "2\nhi\n0\n\n"),
		},
		{
			Number: 41, Name: "chunk-ext-64kib", Does: "a chunk extension of 64 KiB",
			Want:  bad(badChunk),
			serve: says(chunked, "2;x="+huge+"\r\nhi\r\n0\r\n\r\n"),
		},
		{
			Number: 42, Name: "chunk-1-byte", Does: "a million chunks of one byte",
			Want: Want{
				Results: []string{"200", "200 length", "protocol_error/overhead"}, Within: "total", Alloc: 8 << 20,
				Crawl: []string{"db_fetched", "db_unfetched"},
			},
			serve: says(chunked, strings.Repeat("1\r\nx\r\n", 1_000_000), "0\r\n\r\n"),
		},
		{
			Number: 43, Name: "trailer-flood", Does: "a million trailer lines",
			Want:  Want{Results: []string{"protocol_error/trailer"}, Closed: true},
			serve: func(c *conn, _ *request) { c.say(chunked, "0\r\n"); c.flood("T: 1\r\n", 6_000_000); c.end() },
		},
		{
			Number: 45, Name: "endless-identity", Does: "no length, and bytes forever",
			Want:  Want{Results: []string{"200 length"}, Within: "total", Closed: true, Alloc: 16 << 20},
			serve: func(c *conn, _ *request) { c.say(ok, "\r\n"); c.flood(huge, endless); c.end() },
		},
	}
}

// notHTTPCases do not speak HTTP, or a version of it that nobody uses.
func notHTTPCases() []Case {
	return []Case{
		{Number: 46, Name: "http09", Does: "speaks HTTP/0.9", Want: bad(badLine), serve: says("<html>hi</html>\n")},
		{
			Number: 47, Name: "icy", Does: "is a radio",
			Want:  bad(badLine),
			serve: says("ICY 200 OK\r\nicy-name: noise\r\n\r\n", huge),
		},
		{
			Number: 48, Name: "http2-preface-reply", Does: "speaks HTTP/2",
			Want: bad(badLine),
			serve: says(
				// A SETTINGS frame of 18 bytes.
				"\x00\x00\x12\x04\x00\x00\x00\x00\x00" +
					"\x00\x03\x00\x00\x00\x64\x00\x04\x00\x10\x00\x00\x00\x06\x00\x04\x00\x00",
			),
		},
		{
			Number: 49, Name: "ssh-banner", Does: "is a shell",
			Want:  bad(badLine),
			serve: says("SSH-2.0-OpenSSH_9.2p1\r\n"),
		},
		{
			Number: 50, Name: "tls-on-80", Does: "speaks TLS to plain requests",
			Want:  Want{Results: []string{"closed_no_response", badLine}, Closed: true},
			serve: says("\x15\x03\x01\x00\x02\x02\x46"),
		},
	}
}

// oldVersionCases speak HTTP/1.0.
func oldVersionCases() []Case {
	return []Case{
		{
			Number: 51, Name: "http10-keepalive", Does: "HTTP/1.0 that does not say that it keeps the connection",
			Want:  good(true),
			serve: keeps("HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n", whole),
		},
		{
			Number: 52, Name: "http10-chunked", Does: "HTTP/1.0 in chunks, which it cannot know",
			Want:  Want{Results: []string{"200"}, Body: "2\r\nhi\r\n0\r\n\r\n", Closed: true},
			serve: says("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"),
		},
	}
}

// statusCodeCases have status codes out of range.
func statusCodeCases() []Case {
	return []Case{
		{
			Number: 53, Name: "status-000", Does: "status 000",
			Want:  bad(badStatus),
			serve: says("HTTP/1.1 000 No\r\n", whole),
		},
		{
			Number: 53, Name: "status-099", Does: "status 099",
			Want:  bad(badStatus),
			serve: says("HTTP/1.1 099 No\r\n", whole),
		},
		{
			Number: 53, Name: "status-600", Does: "status 600",
			Want:  bad("600", badStatus),
			serve: says("HTTP/1.1 600 Odd\r\n", whole),
		},
		{
			Number: 53, Name: "status-999", Does: "status 999, which is sent to crawlers",
			Want:  Want{Results: []string{"999"}},
			serve: says("HTTP/1.1 999 Request denied\r\n", whole),
		},
		{
			Number: 53, Name: "status-20", Does: "status 20",
			Want:  bad(badStatus, badLine),
			serve: says("HTTP/1.1 20 OK\r\n", whole),
		},
		{
			Number: 53, Name: "status-2000", Does: "status 2000",
			Want:  bad(badStatus, badLine),
			serve: says("HTTP/1.1 2000 OK\r\n", whole),
		},
	}
}

// interimCases send interim responses.
func interimCases() []Case {
	return []Case{
		{
			Number: 54, Name: "100-flood", Does: "100 Continue forever",
			Want:  Want{Results: []string{"protocol_error/interim"}, Closed: true},
			serve: func(c *conn, _ *request) { c.flood("HTTP/1.1 100 Continue\r\n\r\n", 1<<20); c.end() },
		},
		{
			Number: 55, Name: "103-then-200", Does: "early hints first",
			Want:  good(false),
			serve: keeps("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", ok, whole),
		},
		{
			Number: 56, Name: "101-upgrade", Does: "changes the protocol without being asked",
			Want:  Want{Results: []string{"protocol_error/interim", "protocol_error/status"}, Closed: true},
			serve: says("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n"),
		},
	}
}

// desyncCases send more than was requested, or mislead about the end of the connection.
func desyncCases() []Case {
	return []Case{
		{
			Number: 58, Name: "desync-now", Does: "sends a second response at once",
			Want: good(true),
			// In one write, or the second response would sometimes come late: that is desync-late.
			serve: keeps(ok + whole + ok + "Content-Length: 8\r\n\r\nSMUGGLED"),
		},
		{
			Number: 59, Name: "desync-late", Does: "sends a second response 100 ms later",
			Want: Want{
				Results: []string{"200"}, Body: "hi", Text: "it is never taken for the response to another request",
			},
			serve: func(c *conn, _ *request) {
				c.say(ok, whole)
				c.pause(100 * time.Millisecond)
				c.say(ok, "Content-Length: 8\r\n\r\nSMUGGLED")
			},
		},
		{
			Number: 60, Name: "connection-capital-close", Does: "Connection: Close, and keeps it open",
			Want:  good(true),
			serve: keeps(ok, "Connection: Close\r\n", whole),
		},
		{
			Number: 60, Name: "connection-close-te", Does: "Connection: close, TE, and keeps it open",
			Want:  good(true),
			serve: keeps(ok, "Connection: close, TE\r\n", whole),
		},
	}
}

// headSyntaxCases are heads that break the syntax in ways that clients accept.
func headSyntaxCases() []Case {
	return []Case{
		{
			Number: 61, Name: "lf-only-head", Does: "a head of bare line feeds",
			Want:  good(false),
			serve: keeps("HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 2\n\nhi"),
		},
		{
			Number: 62, Name: "obs-fold", Does: "a folded field",
			Want:  good(false),
			serve: keeps(ok, "X: a\r\n b\r\n", whole),
		},
		{
			Number: 63, Name: "space-before-colon", Does: "a space before a colon",
			Want:  good(true),
			serve: keeps(ok, "X : a\r\n", whole),
		},
		{
			Number: 64, Name: "lower-case-version", Does: "http/1.1",
			Want:  good(false),
			serve: keeps("http/1.1 200 ok\r\nContent-Type: text/html\r\n", whole),
		},
		{
			Number: 65, Name: "leading-crlfs", Does: "four blank lines first",
			Want:  good(false),
			serve: keeps("\r\n\r\n\r\n\r\n", ok, whole),
		},
	}
}

// headSizeCases are large heads, some of them too large.
func headSizeCases() []Case {
	return []Case{
		{
			Number: 66, Name: "header-64kib-1", Does: "a head of one byte more than 64 KiB",
			Want:  bad("head_too_large"),
			serve: says(ok, strings.Repeat("X: "+strings.Repeat("a", 1019)+"\r\n", 64), whole),
		},
		{
			Number: 67, Name: "header-endless", Does: "a field without end",
			Want:  Want{Results: []string{"head_too_large"}, Closed: true},
			serve: func(c *conn, _ *request) { c.say(ok, "X: "); c.flood(huge, endless); c.end() },
		},
		{
			Number: 68, Name: "header-10000-fields", Does: "ten thousand fields",
			Want:  bad("head_too_large"),
			serve: says(ok, strings.Repeat("X: 1\r\n", 10_000), whole),
		},
		{
			Number: 69, Name: "header-60kib-field", Does: "one field of 60 KiB",
			Want:  good(false),
			serve: keeps(ok, "X: ", strings.Repeat("a", 60<<10), "\r\n", whole),
		},
	}
}

// headByteCases are odd bytes and many cookies in a head.
func headByteCases() []Case {
	return []Case{
		{
			Number: 70, Name: "header-nul", Does: "a NUL in a field",
			Want:  bad("protocol_error/field"),
			serve: says(ok, "X: a\x00b\r\n", whole),
		},
		{
			Number: 70, Name: "header-cr", Does: "a bare CR in a field",
			Want:  bad("protocol_error/field"),
			serve: says(ok, "X: a\rb\r\n", whole),
		},
		{
			Number: 70, Name: "header-8-bit", Does: "8-bit bytes in a field",
			Want:  good(false),
			serve: keeps(ok, "X: caf\xe9\r\n", whole),
		},
		{
			Number: 70, Name: "reason-control", Does: "control characters in the reason phrase",
			Want:  Want{Results: []string{"200", "protocol_error/status_line", "protocol_error/field"}},
			serve: says("HTTP/1.1 200 \x07\x08\r\n", whole),
		},
		{
			Number: 71, Name: "set-cookie-flood", Does: "250 cookies",
			Want:  good(false),
			serve: keeps(ok, strings.Repeat("Set-Cookie: a=b; Path=/\r\n", 250), whole),
		},
		{
			Number: 71, Name: "set-cookie-10000", Does: "ten thousand cookies",
			Want:  Want{Results: []string{"200", "head_too_large"}},
			serve: says(ok, strings.Repeat("Set-Cookie: a=b\r\n", 10_000), whole),
		},
		{
			Number: 72, Name: "error-text-injection", Does: "escape sequences in the status line",
			Want: Want{
				Results: []string{"200", "500", "protocol_error/status_line", "protocol_error/field"},
				Text:    "a log line stays one line, escaped, of at most 512 bytes",
			},
			serve: says("HTTP/1.1 500 \x1b[31m\x1b]0;owned\x07", strings.Repeat("A", 2000), "\r\n", whole),
		},
	}
}
