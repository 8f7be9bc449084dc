// SPDX-License-Identifier: Apache-2.0

//go:build linux

package fetch_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seine-crawler/seine/engine/fetch"
)

const (
	firstPage  = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst"
	secondPage = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecond"
	smuggled   = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nSMUGGLED"
)

// TestLateResponse: a second response that comes while a connection is idle is never that of the next request, and the
// server gets no kept connection any more.
func TestLateResponse(t *testing.T) {
	idle, sent := make(chan bool), make(chan bool)
	s := serve(t, func(s *server, c net.Conn, r *bufio.Reader) {
		if s.count() > 1 {
			io.WriteString(c, secondPage)
			s.head(r)
			return
		}
		io.WriteString(c, firstPage)
		<-idle
		io.WriteString(c, smuggled)
		close(sent)
		s.head(r)
	})
	cl := client(t, nil)
	cl.Fetch(context.Background(), &fetch.Request{URL: s.url("/")}).Release()
	close(idle)
	<-sent
	for range 3 {
		r := cl.Fetch(context.Background(), &fetch.Request{URL: s.url("/")})
		if r.Failure != "" || r.Reused || string(r.Body) != "second" {
			t.Errorf("%q %v, reused %t, body %q", r.Failure, r.Err, r.Reused, r.Body)
		}
		r.Release()
	}
}

// slowWriter calls before ahead of its second write.
type slowWriter struct {
	*net.TCPConn
	writes int
	before func(c *net.TCPConn)
}

func (w *slowWriter) Write(b []byte) (int, error) {
	if w.writes++; w.writes == 2 {
		w.before(w.TCPConn)
	}
	return w.TCPConn.Write(b)
}

// holdsBytes reports whether something can be read.
func holdsBytes(c *net.TCPConn) (yes bool) {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	raw.Control(func(fd uintptr) {
		n, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
		yes = err == nil && n > 0
	})
	return yes
}

// deafen makes the kernel drop what comes to a socket from now on, so that it acknowledges nothing.
func deafen(c *net.TCPConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	nothing := unix.SockFprog{Len: 1, Filter: &unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K}}
	failed := raw.Control(func(fd uintptr) {
		err = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &nothing)
	})
	return errors.Join(failed, err)
}

// TestLateResponseWhileWriting: the second response comes after the connection was found quiet, as the next request is
// being written.
func TestLateResponseWhileWriting(t *testing.T) {
	now := make(chan bool)
	s := serve(t, func(s *server, c net.Conn, r *bufio.Reader) {
		io.WriteString(c, firstPage)
		if s.count() == 1 {
			<-now
			// On loopback the request would be acknowledged at once; on the web that takes a round trip.
			if err := deafen(c.(*net.TCPConn)); err != nil {
				t.Error(err)
			}
			io.WriteString(c, smuggled)
		}
		if s.head(r) {
			io.WriteString(c, secondPage)
		}
	})
	cl := client(t, func(o *fetch.Options) {
		o.Dialer = func(_ context.Context, ap netip.AddrPort) (net.Conn, error) {
			c, err := net.DialTCP("tcp", nil, net.TCPAddrFromAddrPort(ap))
			if err != nil {
				return nil, err
			}
			return &slowWriter{c, 0, func(c *net.TCPConn) {
				now <- true
				for !holdsBytes(c) {
					time.Sleep(time.Millisecond)
				}
			}}, nil
		}
	})
	for i, want := range []string{"first", "", "first", "first"} {
		r := cl.Fetch(context.Background(), &fetch.Request{URL: s.url("/")})
		failed := r.Failure == fetch.FailStale
		if failed != (i == 1) || !failed && string(r.Body) != want || i != 1 && r.Reused {
			t.Errorf("fetch %d: %q %v, reused %t, body %q", i, r.Failure, r.Err, r.Reused, r.Body)
		}
		r.Release()
	}
}

// TestLateResponseTLS: what came together with the last record of a response, and waits in the buffer of TLS, is seen.
func TestLateResponseTLS(t *testing.T) {
	plain := httptest.NewTLSServer(nil) // for its certificate
	defer plain.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 2 {
			raw, err := l.Accept()
			if err != nil {
				return
			}
			defer raw.Close()
			joined := &joiner{Conn: raw}
			c := tls.Server(joined, &tls.Config{Certificates: plain.TLS.Certificates})
			r := bufio.NewReader(c)
			for line := ""; line != "\r\n"; {
				if line, err = r.ReadString('\n'); err != nil {
					return
				}
			}
			joined.hold = true
			io.WriteString(c, firstPage)
			io.WriteString(c, smuggled)
			joined.flush()
		}
	}()
	cl := client(t, func(o *fetch.Options) { o.TLSInsecure, o.HeadTimeout = true, 5*time.Second })
	for range 2 {
		r := cl.Fetch(context.Background(), &fetch.Request{URL: mustParse(t, "https://"+l.Addr().String()+"/")})
		if r.Failure != "" || string(r.Body) != "first" || r.Reused {
			t.Errorf("%q %v, reused %t, body %q", r.Failure, r.Err, r.Reused, r.Body)
		}
		r.Release()
	}
	l.Close()
	<-done
}

// joiner joins what is written while hold is set into one write.
type joiner struct {
	net.Conn
	hold bool
	held []byte
}

func (j *joiner) Write(b []byte) (int, error) {
	if !j.hold {
		return j.Conn.Write(b)
	}
	j.held = append(j.held, b...)
	return len(b), nil
}

func (j *joiner) flush() { j.Conn.Write(j.held) }
