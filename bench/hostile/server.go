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

// Options of a Server.
type Options struct {
	// Port of all hosts; 0: a free one.
	Port int
	// Scale multiplies every time that a server waits, so that tests with short deadlines meet the same
	// behaviour; 0: 1.
	Scale float64
	// Cases are those to serve; nil: all.
	Cases []Case
}

// Server plays each case on an address of its own in 127.9.0.0/16, over raw sockets, and logs every
// byte. Safe for concurrent use.
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

// Start serves until Close.
func Start(o Options) (*Server, error) {
	if o.Scale == 0 {
		o.Scale = 1
	}
	if o.Cases == nil {
		o.Cases = Cases()
	}
	s := &Server{o: o, port: o.Port, cases: o.Cases, log: newLog(), done: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	var err error
	if s.authority, err = newAuthority(); err != nil {
		return nil, err
	}
	for i := range s.cases {
		if strings.Contains(s.cases[i].Name, "bomb") {
			bombs() // beforehand: a server that thinks is not what these are about
		}
		if err := s.listen(i); err != nil {
			s.Close()
			return nil, fmt.Errorf("hostile web: %s: %w", s.cases[i].Name, err)
		}
	}
	return s, nil
}

// listen opens a case's address.
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

// address is that of the i-th case.
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
	conn := &Conn{Conn: nc, s: s, c: c, number: s.log.open(c.Name)}
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

// Close ends every conversation.
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

// Log returns the record of every byte.
func (s *Server) Log() *Log { return s.log }

// CA returns the certificate of the authority that the honest certificates are from, in PEM.
func (s *Server) CA() []byte { return s.authority.pem }

// URL returns what to fetch for a case.
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

// Seeds returns what to crawl: the URL of each case.
func (s *Server) Seeds() (urls []string) {
	for i := range s.cases {
		urls = append(urls, s.URL(&s.cases[i]))
	}
	return urls
}

// HostsFile writes the names of all cases in hosts(5) form, but for those that are about DNS.
func (s *Server) HostsFile(w io.Writer) error {
	b := bufio.NewWriter(w)
	for i := range s.cases {
		if s.cases[i].dns == nil {
			fmt.Fprintf(b, "%s %s\n", s.address(i), s.cases[i].Host())
		}
	}
	return b.Flush()
}

// LookUp resolves the names of the cases, as badly as those about DNS require; it is for
// fetch.ResolverOptions. A name that is no case's does not exist.
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
