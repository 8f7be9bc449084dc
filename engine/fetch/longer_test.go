// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"testing"

	"github.com/seine-crawler/seine/engine/fetch"
)

// TestLonger: a body that Options.Longer recognises by its start may be longer than MaxBody, however it is framed and
// coded. Others may not.
func TestLonger(t *testing.T) {
	noise := make([]byte, 1<<20)
	rand.NewChaCha8([32]byte{}).Read(noise)
	body := append([]byte("<urlset>"), noise...)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write(body)
	z.Close()
	// serve closes a connection behind its answer. Where an answer does not end with it, the head says so: the client
	// would send the second request on that connection, and may meet FailStale.
	const head = "HTTP/1.1 200 OK\r\nConnection: close\r\n"
	framed := map[string]func(c net.Conn, coding string, body []byte){
		"length": func(c net.Conn, coding string, body []byte) {
			fmt.Fprintf(c, head+"%sContent-Length: %d\r\n\r\n%s", coding, len(body), body)
		},
		"chunks": func(c net.Conn, coding string, body []byte) {
			fmt.Fprintf(c, head+"%sTransfer-Encoding: chunked\r\n\r\n", coding)
			for part := range slices.Chunk(body, 10_000) {
				fmt.Fprintf(c, "%x\r\n%s\r\n", len(part), part)
			}
			io.WriteString(c, "0\r\n\r\n")
		},
		"close": func(c net.Conn, coding string, body []byte) {
			fmt.Fprintf(c, head+"%s\r\n%s", coding, body)
		},
	}
	for framing, send := range framed {
		for _, c := range []struct {
			name, coding string
			sent         []byte
			bound        int64 // that Longer returns for what begins as body
			memory       int64
			length       int // of the body that is received
			truncated    string
		}{
			{"whole", "", body, 2 << 20, 0, len(body), ""},
			{"coded", "Content-Encoding: gzip\r\n", zipped.Bytes(), 2 << 20, 0, zipped.Len(), ""},
			{"exactly as long", "", body, int64(len(body)), 0, len(body), ""},
			{"a byte too long", "", body, int64(len(body)) - 1, 0, len(body) - 1, "length"},
			{"other", "", noise, 2 << 20, 0, 64 << 10, "length"},
			{"no memory", "", body, 2 << 20, 256 << 10, -1, "length"},
		} {
			t.Run(framing+"/"+c.name, func(t *testing.T) {
				s := serve(t, func(_ *server, conn net.Conn, _ *bufio.Reader) { send(conn, c.coding, c.sent) })
				cl := client(t, func(o *fetch.Options) {
					o.MaxBody, o.MaxDecoded, o.MemoryBytes = 64<<10, 64<<10, c.memory
					o.Longer = func(start []byte) int64 {
						if bytes.HasPrefix(start, []byte("<urlset>")) {
							return c.bound
						}
						return 0
					}
				})
				r := cl.Fetch(context.Background(), &fetch.Request{URL: s.url("/")})
				defer r.Release()
				if r.Truncated != c.truncated || c.length >= 0 && len(r.Body) != c.length ||
					!bytes.HasPrefix(c.sent, r.Body) {
					t.Fatalf("%d bytes, truncated %q, failure %q", len(r.Body), r.Truncated, r.Failure)
				}
				if _, limit := cl.Bodies(); c.length < 0 && int64(len(r.Body)) > limit+64<<10+1 {
					t.Errorf("%d bytes are more than memory permits", len(r.Body))
				}
				own := cl.Fetch(context.Background(), &fetch.Request{URL: s.url("/"), MaxBody: 1 << 10})
				defer own.Release()
				if len(own.Body) != 1<<10 || own.Truncated != "length" {
					t.Errorf("with a bound of its own: %d bytes, truncated %q, failure %q",
						len(own.Body), own.Truncated, own.Failure)
				}
			})
		}
	}
}

// TestContentFrom: what Content cuts off can be read on.
func TestContentFrom(t *testing.T) {
	text := bytes.Repeat([]byte("0123456789"), 1000)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write(text)
	z.Close()
	for coding, body := range map[string][]byte{"gzip": zipped.Bytes(), "identity": text} {
		s := serve(t, said("HTTP/1.1 200 OK\r\nContent-Encoding: "+coding+"\r\n\r\n"+string(body)))
		r := client(t, func(o *fetch.Options) { o.MaxDecoded = 1005 }).
			Fetch(context.Background(), &fetch.Request{URL: s.url("/")})
		defer r.Release()
		from, err := r.ContentFrom(1005)
		if err != nil {
			t.Fatal(coding, err)
		}
		if rest, err := io.ReadAll(from); err != nil || !bytes.Equal(rest, text[1005:]) {
			t.Errorf("%s: %d bytes, %v", coding, len(rest), err)
		}
	}
}
