// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
)

// pauseGrace is the grace of the clients below, after which the rate is checked first. A pause of pauseFirst is
// longer than that, and one of pauseNext longer than the second between later checks.
const (
	pauseGrace = 400 * time.Millisecond
	pauseFirst = 600 * time.Millisecond
	pauseNext  = 1200 * time.Millisecond
)

// paused writes the parts of a response with a pause after each but the last.
func paused(pause time.Duration, parts ...string) func(*server, net.Conn, *bufio.Reader) {
	return func(_ *server, c net.Conn, _ *bufio.Reader) {
		for i, part := range parts {
			if i > 0 {
				time.Sleep(pause)
			}
			io.WriteString(c, part)
		}
	}
}

// patient returns a client whose minimum rate in bytes per second a server can keep in spite of pauses.
func patient(t *testing.T, minRate int, change func(*fetch.Options)) *fetch.Client {
	return client(t, func(o *fetch.Options) {
		o.Grace, o.MinRate, o.TotalTimeout, o.HeadTimeout = pauseGrace, minRate, time.Minute, time.Minute
		if change != nil {
			change(o)
		}
	})
}

const chunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

// TestChunkLineAcrossTick: a body is complete even if the server pauses during a rate check, wherever that is in
// the chunk framing.
func TestChunkLineAcrossTick(t *testing.T) {
	first := "40\r\n" + strings.Repeat("a", 64) + "\r\n"
	rest := "1a;name=\"value\"\r\nabcdefghijklmnopqrstuvwxyz\r\n3\nxyz\n0;last\r\nTrailer: one\r\nOther: two\r\n\r\n"
	want := strings.Repeat("a", 64) + "abcdefghijklmnopqrstuvwxyz" + "xyz"
	cl := patient(t, 1, nil)
	var wg sync.WaitGroup
	for at := range len(rest) {
		s := serve(t, paused(pauseFirst, chunkedHead+first+rest[:at], rest[at:]))
		wg.Go(func() {
			r := cl.Fetch(context.Background(), &fetch.Request{URL: s.url("/")})
			checkBody(t, fmt.Sprintf("pause before %q", rest[at:]), r, want, "")
		})
	}
	wg.Wait()
}

// TestChunkLineAcrossManyTicks: the framing between two chunks lasts for three rate checks.
func TestChunkLineAcrossManyTicks(t *testing.T) {
	t.Parallel()
	first := chunkedHead + "40\r\n" + strings.Repeat("a", 64) + "\r"
	s := serve(t, paused(pauseNext, first, "\n10;x", "=y\r\n0123456789abcdef\r\n0\r\n\r\n"))
	r := patient(t, 8, nil).Fetch(context.Background(), &fetch.Request{URL: s.url("/")})
	checkBody(t, "three ticks", r, strings.Repeat("a", 64)+"0123456789abcdef", "")
}

// TestChunkLineTooSlow: a chunk line that comes byte by byte does not exempt a server from the minimum rate.
func TestChunkLineTooSlow(t *testing.T) {
	t.Parallel()
	s := serve(t, drip(chunkedHead+"2\r\nhi\r\n1;"))
	r := patient(t, 1024, nil).Fetch(context.Background(), &fetch.Request{URL: s.url("/")})
	defer r.Release()
	if r.Failure != fetch.FailTooSlow || r.Truncated != "" {
		t.Errorf("dripping: %q (%v), truncated %q", r.Failure, r.Err, r.Truncated)
	}
}

// TestChunkLineAcrossTickTLS: a rate check does not end a TLS connection either.
func TestChunkLineAcrossTickTLS(t *testing.T) {
	t.Parallel()
	plain := httptest.NewTLSServer(nil) // for its certificate
	defer plain.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: plain.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		r := bufio.NewReader(c)
		for line := ""; line != "\r\n"; {
			if line, err = r.ReadString('\n'); err != nil {
				return
			}
		}
		paused(pauseFirst, chunkedHead+"2\r\nhi\r\n1", "0\r\n0123456789abcdef\r\n0\r\n\r\n")(nil, c, r)
	}()
	cl := patient(t, 1, func(o *fetch.Options) { o.TLSInsecure = true })
	r := cl.Fetch(context.Background(), &fetch.Request{URL: mustParse(t, "https://"+l.Addr().String()+"/")})
	checkBody(t, "TLS", r, "hi0123456789abcdef", "")
	<-done
}

// TestChunkLineBounds: a line of the framing may have 4 KiB with its line end, however many pieces it comes in.
func TestChunkLineBounds(t *testing.T) {
	for _, c := range []struct {
		name    string
		length  int
		failure fetch.Failure
	}{{"at the bound", 4096, ""}, {"above it", 4097, fetch.FailChunk}} {
		line := "2;" + strings.Repeat("x", c.length-4) + "\r\n"
		for _, cut := range []int{len(line), 1000, 4095} {
			s := serve(t, paused(20*time.Millisecond, chunkedHead+line[:cut], line[cut:]+"hi\r\n0\r\n\r\n"))
			r := client(t, nil).Fetch(context.Background(), &fetch.Request{URL: s.url("/")})
			if r.Failure != c.failure || c.failure == "" && string(r.Body) != "hi" {
				t.Errorf("%s, cut at %d: %q (%v), body %q", c.name, cut, r.Failure, r.Err, r.Body)
			}
			r.Release()
		}
	}
	s := serve(t, said(chunkedHead+strings.Repeat("x", 4097))) // no line end at all
	r := client(t, nil).Fetch(context.Background(), &fetch.Request{URL: s.url("/")})
	defer r.Release()
	if r.Failure != fetch.FailChunk {
		t.Errorf("a line without end: %q (%v), truncated %q", r.Failure, r.Err, r.Truncated)
	}
}

// checkBody releases r.
func checkBody(t *testing.T, name string, r *fetch.Response, body, truncated string) {
	t.Helper()
	defer r.Release()
	if r.Failure != "" || string(r.Body) != body || r.Truncated != truncated {
		t.Errorf("%s: failure %q (%v), body %q, truncated %q; want %q, %q",
			name, r.Failure, r.Err, r.Body, r.Truncated, body, truncated)
	}
}

// TestTooSlowAtEnd: a body below the minimum rate is no page, also if the time for the whole fetch ends before the rate
// is checked, as on a busy machine.
func TestTooSlowAtEnd(t *testing.T) {
	for name, sent := range map[string]string{"no byte": chunkedHead + "2;", "some": chunkedHead + "2\r\nhi\r\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cl := patient(t, 1024, func(o *fetch.Options) { o.Grace, o.TotalTimeout = time.Hour, 2*time.Second })
			r := cl.Fetch(context.Background(), &fetch.Request{URL: serve(t, silent(sent)).url("/")})
			if r.Failure != fetch.FailTooSlow || r.Truncated != "" {
				t.Errorf("failure %q, truncated %q, want too_slow", r.Failure, r.Truncated)
			}
		})
	}
}
