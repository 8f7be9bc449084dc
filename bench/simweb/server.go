// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// ServerOptions say how a site is served. The zero value listens on every address of the site, on a free port, without
// TLS or compression.
type ServerOptions struct {
	// Port of all addresses; 0: a port that is free on all of them.
	Port int
	// FrontOnly listens only on 127.0.0.1. A client names the host in the Host header, or uses the server as an HTTP
	// proxy.
	FrontOnly bool
	// AllInterfaces listens once, on 0.0.0.0, for webs with more than 4,096 addresses. The port is then open on every
	// interface of the machine, which is why this is not the default; a connection to an address that is not loopback
	// is closed before a byte is read.
	AllInterfaces bool
	// TLS makes every port speak TLS too, recognized by a connection's first byte, with certificates of the server's
	// own authority (CA). Hosts that are drawn for it (Params.HTTPS) then redirect plain requests.
	TLS bool
	// Gzip compresses responses at level 1, nginx's default, for clients that accept it. Prerendered pages are
	// compressed beforehand.
	Gzip bool
	// StaleHosts is the share of hosts that close a kept connection when its second request has come, without an
	// answer. The request counts.
	StaleHosts float64
	// Delay is the least time between the starts of two page requests to a host that the report calls polite; a host's
	// Crawl-delay counts if it is longer. 0: only Crawl-delays are judged.
	Delay time.Duration
	// Slack is how much earlier a request may come before it counts as too soon: a start is seen only when this process
	// is scheduled, so an interval may seem shorter than it was. 0: 20 ms.
	Slack time.Duration
	// Now is the clock of pages that change and of the report, called from any goroutine; nil: time.Now.
	Now func() time.Time
}

// Server plays a site on loopback addresses and counts what its visitors do. Start and Serve make one; its methods are
// safe for concurrent use.
type Server struct {
	Web  *Web  // the site, with the server's port in its URLs; nil if it is not a Web
	Docs *Docs // the same for Docs

	site   Site
	o      ServerOptions
	port   int
	ledger *ledger
	now    func() time.Time
	date   atomic.Pointer[dateText]

	authority *authority // nil without TLS
	tls       *tls.Config

	listeners []net.Listener
	done      chan struct{}  // closed by Close
	wg        sync.WaitGroup // every goroutine of the server
	closing   sync.Once

	mu    sync.Mutex // guards conns
	conns map[*conn]struct{}
}

// dateText is the value of a Date header for one second.
type dateText struct {
	second int64
	text   []byte
}

// Start makes a web and serves it with the zero ServerOptions on a port (0: a free one), until Close: each host at its
// address, and all of them at 127.0.0.1. Its errors are those of New and Serve.
func Start(p Params, port int) (*Server, error) {
	w, err := New(p, 0)
	if err != nil {
		return nil, err
	}
	return Serve(context.Background(), w, ServerOptions{Port: port})
}

// Serve serves a site until Close, or until ctx is done; Close must be called in either case. It returns when all
// addresses listen. It fails if the port is taken, if the site has more than 4,096 addresses without FrontOnly or
// AllInterfaces, or if options contradict each other.
func Serve(ctx context.Context, site Site, o ServerOptions) (*Server, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Slack == 0 {
		o.Slack = 20 * time.Millisecond
	}
	s := &Server{o: o, now: o.Now, done: make(chan struct{}), conns: map[*conn]struct{}{}}
	var err error
	if s.listeners, s.port, err = listen(site, o); err != nil {
		return nil, err
	}
	s.site = site.onPort(s.port)
	switch site := s.site.(type) {
	case *Web:
		s.Web = site
	case *Prerendered:
		s.Web = site.Web
		if o.Gzip {
			site.compress()
		}
	case *Docs:
		s.Docs = site
	}
	s.ledger = newLedger(site, o.Now())
	if o.TLS {
		if s.authority, err = newAuthority(s.site, o.Now()); err != nil {
			s.shut()
			return nil, fmt.Errorf("synthetic web: certificate authority: %w", err)
		}
		s.tls = s.authority.config()
	}
	for _, l := range s.listeners {
		s.wg.Add(1)
		go s.accept(l)
	}
	stop := context.AfterFunc(ctx, func() { s.shut() })
	s.wg.Add(1)
	go func() { // so that AfterFunc releases the server if it is closed first
		defer s.wg.Done()
		<-s.done
		stop()
	}()
	return s, nil
}

// listen opens the listeners of a site on one port.
func listen(site Site, o ServerOptions) ([]net.Listener, int, error) {
	if o.AllInterfaces && o.FrontOnly {
		return nil, 0, errors.New("synthetic web: AllInterfaces and FrontOnly exclude each other")
	}
	var at []string
	switch {
	case o.AllInterfaces:
		at = []string{"0.0.0.0"}
	case o.FrontOnly:
		at = []string{"127.0.0.1"}
	default:
		at = []string{"127.0.0.1"}
		last := -1
		for h := range site.Hosts() {
			if a := site.addressOf(h); a > last { // the numbers of new addresses only grow
				at, last = append(at, address(a).String()), a
			}
			if len(at) > maxListeners {
				return nil, 0, fmt.Errorf("synthetic web: more than %d addresses to listen on: "+
					"use AllInterfaces or FrontOnly, or let hosts share addresses", maxListeners)
			}
		}
	}
	// A port that is free on the first address may be taken on another.
	const tries = 16
	for try := 1; ; try++ {
		ls, port, err := listenAll(at, o.Port)
		if err == nil {
			return ls, port, nil
		}
		if o.Port != 0 || try == tries || !errors.Is(err, syscall.EADDRINUSE) {
			return nil, 0, fmt.Errorf("synthetic web: %w", err)
		}
	}
}

func listenAll(at []string, port int) (ls []net.Listener, _ int, err error) {
	for _, a := range at {
		l, err := net.Listen("tcp4", net.JoinHostPort(a, strconv.Itoa(port)))
		if err != nil {
			for _, l := range ls {
				l.Close()
			}
			return nil, 0, err
		}
		ls = append(ls, l)
		port = l.Addr().(*net.TCPAddr).Port
	}
	return ls, port, nil
}

// accept takes connections of one listener until it is closed.
func (s *Server) accept(l net.Listener) {
	defer s.wg.Done()
	for {
		nc, err := l.Accept()
		if err != nil {
			select {
			case <-s.done:
				return
			case <-time.After(5 * time.Millisecond): // most likely out of file descriptors: some will be closed
				continue
			}
		}
		local, ok := nc.LocalAddr().(*net.TCPAddr)
		if !ok || !local.IP.IsLoopback() || !s.register(nc, local.AddrPort().Addr()) {
			s.ledger.refused.Add(1)
			nc.Close()
		}
	}
}

// register starts serving a connection, unless there are too many or the server is closing.
func (s *Server) register(nc net.Conn, local netip.Addr) bool {
	c := &conn{s: s, raw: nc, nc: nc, number: addressNumber(local)}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.done:
		return false
	default:
	}
	if len(s.conns) >= maxConns {
		return false
	}
	s.conns[c] = struct{}{}
	s.ledger.connections.Add(1)
	s.wg.Add(1)
	go c.serve()
	return true
}

func (s *Server) forget(c *conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
}

// shut closes the listeners and wakes every connection. It does not wait.
func (s *Server) shut() {
	s.closing.Do(func() {
		close(s.done)
		for _, l := range s.listeners {
			l.Close()
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for c := range s.conns {
			c.raw.SetReadDeadline(time.Unix(1, 0)) // an idle one ends at once
			c.raw.SetWriteDeadline(time.Now().Add(closeGrace))
		}
	})
}

// Close ends the server and waits for its goroutines. Clients have two seconds to read the responses that are being
// written. It may be called twice; the error is always nil, and there for io.Closer.
func (s *Server) Close() error {
	s.shut()
	s.wg.Wait()
	return nil
}

// Site returns the site with the server's port in its URLs.
func (s *Server) Site() Site { return s.site }

// Port returns the port of all hosts.
func (s *Server) Port() int { return s.port }

// Front returns the host:port at which every host answers requests that name it. It is also the address of the HTTP
// proxy.
func (s *Server) Front() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// URL returns the URL of a path, which begins with a slash, on a host.
func (s *Server) URL(host int, path string) string {
	return scheme(s.site.https(host)) + string(s.site.appendAuthority(nil, host)) + path
}

// HostsFile writes the addresses and names of all hosts in hosts(5) form, a line each in order of their numbers. With
// FrontOnly the address is always 127.0.0.1. It returns w's error.
func (s *Server) HostsFile(w io.Writer) error {
	b := bufio.NewWriterSize(w, 64<<10)
	var line []byte
	for h := range s.site.Hosts() {
		line = append(line[:0], "127.0.0.1"...)
		if !s.o.FrontOnly {
			line = address(s.site.addressOf(h)).AppendTo(line[:0])
		}
		line = append(append(append(line, ' '), s.site.Host(h)...), '\n')
		if _, err := b.Write(line); err != nil {
			return fmt.Errorf("writing the hosts file: %w", err)
		}
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("writing the hosts file: %w", err)
	}
	return nil
}

// least is the time in ns between two starts that a host requires, less the slack.
func (s *Server) least(host int) int64 {
	d := max(s.o.Delay, s.site.CrawlDelay(host))
	if d == 0 {
		return 0
	}
	return max(int64(d-s.o.Slack), 0)
}

// since is the time of the ledger: nanoseconds since the server started.
func (s *Server) since(t time.Time) int64 {
	return min(int64(t.Sub(s.ledger.began)), math.MaxInt64-1)
}
