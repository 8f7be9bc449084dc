// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
)

// TestReceived: a response counts every byte that came, once, whatever it was for.
func TestReceived(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, answer := range map[string]string{
		"length":  ok + "Content-Length: 2\r\n\r\nhi",
		"close":   ok + "\r\nhi",
		"chunks":  ok + "Transfer-Encoding: chunked\r\n\r\n1;x=y\r\nh\r\n1\r\ni\r\n0\r\nT: 1\r\n\r\n",
		"interim": "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + ok + "Content-Length: 2\r\n\r\nhi",
		"failure": ok + "Content-Length: -1\r\n\r\nhi",
		"cut":     ok + "Content-Length: 200\r\n\r\nhi",
	} {
		s := serve(t, said(answer))
		r := client(t, nil).Fetch(context.Background(), &fetch.Request{URL: s.url("/")})
		if r.Received != int64(len(answer)) {
			t.Errorf("%s: %d bytes received, want %d (%q)", name, r.Received, len(answer), r.Failure)
		}
		r.Release()
	}
	const page = ok + "Content-Length: 2\r\n\r\nhi"
	kept := serve(t, func(s *server, c net.Conn, r *bufio.Reader) {
		for again := true; again; again = s.head(r) {
			io.WriteString(c, page)
		}
	})
	cl := client(t, nil)
	for i := range 3 {
		r := cl.Fetch(context.Background(), &fetch.Request{URL: kept.url("/")})
		if r.Received != int64(len(page)) || r.Reused != (i > 0) {
			t.Errorf("exchange %d: %d bytes received, reused %t", i, r.Received, r.Reused)
		}
		r.Release()
	}
}

// sizedConn counts what is written to a connection.
type sizedConn struct {
	net.Conn
	n *atomic.Int64
}

func (c sizedConn) Write(b []byte) (int, error) {
	c.n.Add(int64(len(b))) // before the client can have them
	return c.Conn.Write(b)
}

type sizedListener struct {
	net.Listener
	n atomic.Int64
}

func (l *sizedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return sizedConn{c, &l.n}, err
}

// TestReceivedTLS: handshakes and records count, those of a handshake that fails too.
func TestReceivedTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, strings.Repeat("x", 1000))
	}))
	l := &sizedListener{Listener: s.Listener}
	s.Listener = l
	s.StartTLS()
	defer s.Close()
	trusting := client(t, func(o *fetch.Options) { o.TLSInsecure = true; o.HeadTimeout = 5 * time.Second })
	var sum int64
	for i := range 3 {
		r := trusting.Fetch(context.Background(), &fetch.Request{URL: mustParse(t, s.URL+"/")})
		if r.Failure != "" || i > 0 && !r.Reused || r.Received < 1000 || i == 0 && r.Received < 1500 {
			t.Errorf("exchange %d: %d bytes received, reused %t, %q", i, r.Received, r.Reused, r.Failure)
		}
		sum += r.Received
		r.Release()
	}
	if sent := l.n.Load(); sum != sent {
		t.Errorf("%d bytes received, %d sent", sum, sent)
	}
	r := client(t, nil).Fetch(context.Background(), &fetch.Request{URL: mustParse(t, s.URL+"/")})
	defer r.Release()
	if r.Failure != fetch.FailTLSUntrusted || r.Received < 500 {
		t.Errorf("untrusted: %d bytes received, %q", r.Received, r.Failure)
	}
}

// TestReceivedProxy: what a proxy itself says counts.
func TestReceivedProxy(t *testing.T) {
	const page = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
	s := serve(t, said(page))
	cl := client(t, func(o *fetch.Options) { o.Proxy = socksProxy(t, true) })
	r := cl.Fetch(context.Background(), &fetch.Request{URL: s.url("/")})
	defer r.Release()
	const login, connected = 2 + 2, 10
	if want := int64(login + connected + len(page)); r.Received != want {
		t.Errorf("%d bytes received, want %d: %q %v", r.Received, want, r.Failure, r.Err)
	}
}

// TestOverhead: what comes beside a body is bounded, whatever it is. Small chunks of small pages are read.
func TestOverhead(t *testing.T) {
	const most = 3 << 20 // twice the largest body of these clients, and half of that for everything else
	ones := func(n int, extension string) string {
		return chunkedHead + strings.Repeat("1"+extension+"\r\nx\r\n", n) + "0\r\n\r\n"
	}
	for _, c := range []struct {
		name, answer string
		failure      fetch.Failure
		body         int
	}{
		{"100,000 chunks of one byte", ones(100_000, ""), "", 100_000},
		{"a million chunks of one byte", ones(1_000_000, ""), fetch.FailOverhead, 0},
		{"extensions of 4000 bytes", ones(10_000, ";"+strings.Repeat("x", 4000)), fetch.FailOverhead, 0},
		{"100 extensions of 4000 bytes", ones(100, ";"+strings.Repeat("x", 4000)), "", 100},
		{"interim heads of 60 KiB", strings.Repeat("HTTP/1.1 103 Early Hints\r\nX: "+
			strings.Repeat("x", 60<<10)+"\r\n\r\n", 9) + ones(0, ""), fetch.FailOverhead, 0},
	} {
		s := serve(t, said(c.answer))
		cl := client(t, func(o *fetch.Options) { o.HeadTimeout, o.Grace = 20*time.Second, 20*time.Second })
		r := cl.Fetch(context.Background(), &fetch.Request{URL: s.url("/")})
		if r.Failure != c.failure || c.failure == "" && len(r.Body) != c.body || r.Received > most {
			t.Errorf("%s: %q (%v), body of %d bytes, %d received", c.name, r.Failure, r.Err, len(r.Body), r.Received)
		}
		r.Release()
	}
}

// TestOverheadTLS: records of one byte are overhead too, which nothing above TLS could see.
func TestOverheadTLS(t *testing.T) {
	plain := httptest.NewTLSServer(nil) // for its certificate
	defer plain.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: plain.TLS.Certificates, DynamicRecordSizingDisabled: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		io.ReadFull(c, make([]byte, 10))
		io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		for {
			if _, err := c.Write([]byte("x")); err != nil {
				return
			}
		}
	}()
	cl := client(t, func(o *fetch.Options) {
		o.TLSInsecure, o.HeadTimeout, o.Grace, o.TotalTimeout = true, 20*time.Second, 20*time.Second, 20*time.Second
	})
	r := cl.Fetch(context.Background(), &fetch.Request{URL: mustParse(t, "https://"+l.Addr().String()+"/")})
	if r.Failure != fetch.FailOverhead || r.Received > 600<<10 {
		t.Errorf("%q (%v), %d bytes received", r.Failure, r.Err, r.Received)
	}
	r.Release()
	l.Close()
	<-done
}

// TestStale: a pooled connection that the server closes instead of a response is a failure of its own. Nothing is sent
// twice, and the server gets no kept connection again.
func TestStale(t *testing.T) {
	const page = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
	s := serve(t, func(s *server, conn net.Conn, r *bufio.Reader) {
		io.WriteString(conn, page)
		s.head(r) // the next request on this connection is read and not answered
	})
	cl := client(t, nil)
	for i, want := range []fetch.Failure{"", fetch.FailStale, "", "", ""} {
		r := cl.Fetch(context.Background(), &fetch.Request{URL: s.url("/")})
		if r.Failure != want || r.Reused != (want != "") || r.Failure.Kind() == fetch.KindPermanent {
			t.Errorf("fetch %d: %q %v, reused %v", i, r.Failure, r.Err, r.Reused)
		}
		r.Release()
		if n := s.count(); n != i+1 {
			t.Errorf("%d requests after %d fetches", n, i+1)
		}
	}
}

// TestClosedWhileIdle: a connection that is closed while nobody uses it costs nothing, and the server may be asked to
// keep the next one.
func TestClosedWhileIdle(t *testing.T) {
	idle, closed := make(chan bool), make(chan bool)
	s := serve(t, func(s *server, conn net.Conn, r *bufio.Reader) {
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
		if s.count() == 1 {
			<-idle
			conn.Close()
			closed <- true
			return
		}
		s.head(r)
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
	})
	cl := client(t, nil)
	for i := range 3 {
		r := cl.Fetch(context.Background(), &fetch.Request{URL: s.url("/")})
		if r.Failure != "" || r.Reused != (i == 2) {
			t.Errorf("fetch %d: %q %v, reused %v", i, r.Failure, r.Err, r.Reused)
		}
		r.Release()
		if i == 0 {
			idle <- true
			<-closed
		}
	}
}
