// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
)

// slowCloser is a connection that takes its time to close, as one over TLS may, whose peer does not read.
type slowCloser struct {
	net.Conn
	begun, end chan struct{}
}

func (c *slowCloser) Close() error {
	close(c.begun)
	<-c.end
	return c.Conn.Close()
}

// TestSlowClose: while the pool closes a connection for which it has no place any more, other fetches go on.
func TestSlowClose(t *testing.T) {
	t.Parallel()
	page := func(s *server, c net.Conn, r *bufio.Reader) {
		for ok := true; ok; ok = s.head(r) {
			io.WriteString(c, firstPage)
		}
	}
	slow, other := serve(t, page), serve(t, page)
	begun, end := make(chan struct{}), make(chan struct{})
	cl := client(t, func(o *fetch.Options) {
		o.MaxIdle = 1
		o.Dialer = func(ctx context.Context, ap netip.AddrPort) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, "tcp", ap.String())
			if err == nil && ap.Port() == slow.url("/").Port() {
				return &slowCloser{c, begun, end}, nil
			}
			return c, err
		}
	})
	get := func(s *server) {
		r := cl.Fetch(context.Background(), &fetch.Request{URL: s.url("/")})
		defer r.Release()
		if r.Failure != "" || string(r.Body) != "first" {
			t.Errorf("%q %v, body %q", r.Failure, r.Err, r.Body)
		}
	}
	get(slow)
	var running sync.WaitGroup
	running.Go(func() { get(other) }) // its connection takes the place
	<-begun
	get(other)
	get(other)
	close(end)
	running.Wait()
}

// TestIdleCloses: a connection that nobody uses is closed when it has been idle for long enough, although no other
// fetch comes.
func TestIdleCloses(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	s := serve(t, func(s *server, c net.Conn, r *bufio.Reader) {
		io.WriteString(c, firstPage)
		if !s.head(r) {
			close(ended)
		}
	})
	cl := client(t, func(o *fetch.Options) { o.IdleTimeout = 20 * time.Millisecond })
	r := cl.Fetch(context.Background(), &fetch.Request{URL: s.url("/")})
	defer r.Release()
	if r.Failure != "" {
		t.Fatal(r.Failure, r.Err)
	}
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("it stays open")
	}
}
