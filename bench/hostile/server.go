// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// Options of a Server. The zero value serves all cases on a free port without scaling time.
type Options struct {
	// Port of all hosts; 0: a free one.
	Port int
	// Scale multiplies every wait of a server, so that a client with short deadlines meets the same behavior in less
	// time; 0: 1.
	Scale float64
	// Cases are those to serve, each on an address of its own; nil: Cases().
	Cases []Case
}

// Server plays each case on an address of its own in 127.9.0.0/16, over raw sockets, and logs every byte. Its methods
// are safe for concurrent use.
type Server struct {
	o     Options
	port  int
	cases []Case
	log   *Log

	done chan struct{}
	wg   sync.WaitGroup // every goroutine

	mu        sync.Mutex // guards below
	closed    bool
	listeners []net.Listener
	conns     map[net.Conn]struct{}
	authority *authority
	filler    []net.Conn // keeps the black hole's queue full
}

// Start serves cases until Close, which the caller must call. It returns when all addresses listen. Its error names the
// case whose address cannot be listened on, because the port is taken or file descriptors ran out.
func Start(o Options) (*Server, error) {
	if o.Scale == 0 {
		o.Scale = 1
	}
	if o.Cases == nil {
		o.Cases = Cases()
	}
	s := &Server{
		o: o, port: o.Port, cases: o.Cases, log: newLog(), done: make(chan struct{}),
		conns: map[net.Conn]struct{}{},
	}
	var err error
	if s.authority, err = newAuthority(); err != nil {
		return nil, err
	}
	for i := range s.cases {
		if strings.Contains(s.cases[i].Name, "bomb") {
			bombs() // before the first request: making them takes a second
		}
		if err := s.listen(i); err != nil {
			s.Close()
			return nil, fmt.Errorf("hostile web: %s: %w", s.cases[i].Name, err)
		}
	}
	return s, nil
}

// listen opens the address of a case.
func (s *Server) listen(i int) error {
	c := &s.cases[i]
	at := netip.AddrPortFrom(s.address(i), uint16(s.port)).String()
	if c.Name == "refuse" { // nobody listens
		return nil
	}
	if c.Name == "syn-blackhole" {
		return s.blackhole(at)
	}
	l, err := net.Listen("tcp4", at)
	if err != nil {
		return err
	}
	s.port = l.Addr().(*net.TCPAddr).Port
	s.listeners = append(s.listeners, l)
	var t *tlsServer
	if c.tls != nil {
		t = c.tls(s, c.Host())
	}
	s.wg.Go(func() { s.accept(l, c, t) })
	return nil
}

// address is the address of the i-th case.
func (s *Server) address(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, 9, byte(i / 250), byte(i%250 + 1)})
}

func (s *Server) accept(l net.Listener, c *Case, t *tlsServer) {
	for n := 0; ; n++ {
		nc, err := l.Accept()
		if err != nil {
			select {
			case <-s.done:
				return
			case <-time.After(5 * time.Millisecond): // out of descriptors, most likely
				continue
			}
		}
		s.mu.Lock()
		if s.closed || len(s.conns) >= maxConns {
			s.mu.Unlock()
			nc.Close()
			continue
		}
		s.conns[nc] = struct{}{}
		s.wg.Add(1)
		s.mu.Unlock()
		go s.converse(nc, c, t)
	}
}

// converse plays a case on one connection.
func (s *Server) converse(nc net.Conn, c *Case, t *tlsServer) {
	defer s.wg.Done()
	conn := &conn{Conn: nc, s: s, c: c, number: s.log.open(c.Name)}
	defer func() {
		conn.Conn.Close()
		s.mu.Lock()
		delete(s.conns, nc)
		s.mu.Unlock()
		s.log.close(conn.number)
	}()
	nc.SetDeadline(time.Now().Add(connTime))
	if t != nil && !t.handshake(conn) {
		return
	}
	conn.r = bufio.NewReaderSize(readLogger{conn}, 4096)
	if c.atAccept {
		c.serve(conn, nil)
		return
	}
	for {
		q, ok := conn.next()
		if !ok {
			return
		}
		if q.Path == "/robots.txt" && !c.robots {
			if !conn.say("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n") {
				return
			}
			s.log.answered(conn.number)
			continue
		}
		c.serve(conn, q)
		s.log.answered(conn.number)
		if conn.over {
			return
		}
	}
}

// Close ends every connection and waits for the goroutines. It may be called twice; the error is always nil, and there
// for io.Closer.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.done)
	for _, l := range s.listeners {
		l.Close()
	}
	for c := range s.conns {
		c.Close()
	}
	for _, c := range s.filler {
		c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
	return nil
}

// Port returns the port of all hosts.
func (s *Server) Port() int { return s.port }

// Log returns the log of this server.
func (s *Server) Log() *Log { return s.log }

// CA returns the certificate of the authority that signed the honest certificates, in PEM, for a client to trust.
func (s *Server) CA() []byte { return s.authority.pem }

// URL returns the URL to fetch for a case of this server.
func (s *Server) URL(c *Case) string {
	if c.URL != "" {
		return strings.ReplaceAll(c.URL, "PORT", fmt.Sprint(s.port))
	}
	scheme := "http"
	if c.TLS {
		scheme = "https"
	}
	path := c.Path
	if path == "" {
		path = "/"
	}
	return fmt.Sprintf("%s://%s:%d%s", scheme, c.Host(), s.port, path)
}

// Seeds returns the URL of each case, in the order of Options.Cases, for a crawl of them all.
func (s *Server) Seeds() (urls []string) {
	for i := range s.cases {
		urls = append(urls, s.URL(&s.cases[i]))
	}
	return urls
}

// HostsFile writes the addresses and names of all cases in hosts(5) form, except those about DNS. It returns w's error.
func (s *Server) HostsFile(w io.Writer) error {
	b := bufio.NewWriter(w)
	for i := range s.cases {
		if s.cases[i].dns == nil {
			fmt.Fprintf(b, "%s %s\n", s.address(i), s.cases[i].Host())
		}
	}
	return b.Flush()
}

// LookUp resolves the host names of the cases, without a port; cases about DNS resolve as badly as they must: slowly,
// with errors, to thousands of addresses. A name of no case is a net.DNSError with IsNotFound. It ends with ctx.
func (s *Server) LookUp(ctx context.Context, host string) ([]netip.Addr, error) {
	for i := range s.cases {
		switch c := &s.cases[i]; {
		case c.Host() != host && !(c.Name == "wildcard-hosts" && strings.HasSuffix(host, ".evil.test")):
		case c.dns != nil:
			return c.dns(ctx, s)
		default:
			return []netip.Addr{s.address(i)}, nil
		}
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// addressOf returns the address of a case by name.
func (s *Server) addressOf(name string) netip.Addr {
	for i := range s.cases {
		if s.cases[i].Name == name {
			return s.address(i)
		}
	}
	return netip.Addr{}
}
