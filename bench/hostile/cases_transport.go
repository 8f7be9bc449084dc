// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"
)

// transportCases are servers that are silent, slow, or break off.
func transportCases() []Case {
	return slices.Concat(silentCases(), brokenCases(), slowCases(), earlyCases())
}

// unfetched is the status that a page keeps while it must be tried again.
var unfetched = []string{"db_unfetched"}

// silentCases do not answer.
func silentCases() []Case {
	return []Case{
		{
			Number: 1, Name: "accept-silent", Does: "accepts and says nothing",
			Want:  Want{Results: []string{"timeout_head"}, Within: "head", Crawl: unfetched},
			serve: func(c *conn, _ *request) { c.hang() },
		},
		{
			Number: 2, Name: "syn-blackhole", Does: "never answers a connection attempt",
			Want: Want{Results: []string{"timeout_dial"}, Requests: -1, Within: "dial", Crawl: unfetched},
		},
		{
			Number: 3, Name: "refuse", Does: "refuses connections",
			Want: Want{Results: []string{"refused"}, Requests: -1, Crawl: unfetched},
		},
	}
}

// brokenCases break off.
func brokenCases() []Case {
	return []Case{
		{
			Number: 4, Name: "rst-mid-head", Does: "half a head, then RST",
			Want: Want{Results: []string{"reset"}, Crawl: unfetched},
			serve: func(c *conn, _ *request) {
				c.say("HTTP/1.1 200 OK\r\nX-Ha")
				c.pause(50 * time.Millisecond)
				c.reset()
			},
		},
		{
			Number: 5, Name: "rst-mid-body", Does: "half a body, then RST",
			Want: Want{
				Results: []string{"200 disconnect"}, Body: "half", Crawl: []string{"db_fetched", "db_unfetched"},
			},
			serve: func(c *conn, _ *request) {
				c.say(ok, "Content-Length: 8\r\n\r\nhalf")
				c.pause(50 * time.Millisecond)
				c.reset()
			},
		},
		{
			Number: 6, Name: "fin-after-request", Does: "reads the request and closes",
			Want:  Want{Results: []string{"closed_no_response", "reset"}, Crawl: unfetched},
			serve: func(c *conn, _ *request) { c.end() },
		},
		{
			Number: 7, Name: "stale-keepalive",
			Does: "closes a connection that it promised to keep, as the next request comes",
			Want: Want{
				Results: []string{"200"}, Body: "hi", Requests: 1,
				Crawl: []string{"db_fetched", "db_duplicate"},
				Text:  "the next request is sent once more on a new connection, and no third time",
			},
			serve: func(c *conn, _ *request) { c.page("hi"); c.pause(20 * time.Millisecond); c.end() },
		},
	}
}

// slowCases send a little at a time.
func slowCases() []Case {
	return []Case{
		{
			Number: 8, Name: "trickle-body", Does: "a byte of the body each 100 ms, forever",
			Want: Want{Results: []string{"too_slow", "200 time"}, Within: "total", Closed: true},
			serve: func(c *conn, _ *request) {
				c.say(ok, "Content-Length: 1000000\r\n\r\n")
				c.drip("x", 100*time.Millisecond)
			},
		},
		{
			Number: 9, Name: "trickle-head", Does: "a byte of the head each 100 ms",
			Want:  Want{Results: []string{"too_slow", "timeout_head"}, Within: "head", Crawl: unfetched},
			serve: func(c *conn, _ *request) { c.say("HTTP/1.1 200 OK\r\nX: "); c.drip("x", 100*time.Millisecond) },
		},
		{
			Number: 10, Name: "trickle-fast-enough", Does: "2 KB a second, forever",
			Want: Want{Results: []string{"200 time"}, Within: "total", Closed: true},
			serve: func(c *conn, _ *request) {
				c.say(ok, "\r\n")
				c.drip(strings.Repeat("x", 256), 20*time.Millisecond)
			},
		},
		{
			Number: 11, Name: "trickle-robots", Does: "a byte of robots.txt each 100 ms", Path: "/page", robots: true,
			Want: Want{
				Results: []string{"200"}, Crawl: unfetched, CrawlRequests: 1,
				Text: "robots.txt counts as unreachable: nothing else is requested",
			},
			serve: func(c *conn, q *request) {
				if q.Path == "/robots.txt" {
					c.say(ok, "Content-Length: 10000\r\n\r\n")
					c.drip("#", 100*time.Millisecond)
					return
				}
				c.page("hi")
			},
		},
	}
}

// earlyCases act before they have read a request.
func earlyCases() []Case {
	return []Case{
		{
			Number: 13, Name: "window-zero", Does: "never reads",
			Want: Want{
				Results: []string{"timeout_write", "timeout_head"}, Requests: -1, Within: "head",
				Crawl: unfetched,
			},
			atAccept: true,
			serve: func(c *conn, _ *request) {
				if t, ok := c.Conn.(*net.TCPConn); ok {
					t.SetReadBuffer(1)
				}
				c.pause(time.Hour)
			},
		},
		{
			Number: 14, Name: "early-response", Does: "answers before it reads the request",
			Want:     Want{Results: []string{"200", "200 disconnect", "reset"}, Closed: true},
			atAccept: true,
			serve:    func(c *conn, _ *request) { c.page("hi"); c.pause(100 * time.Millisecond); c.next() },
		},
		{
			Number: 16, Name: "10k-tarpits", Does: "trickles, as ten thousand hosts do at once",
			Want: Want{
				Results: []string{"too_slow", "timeout_head", "200 time"}, Within: "total",
				Text: "many of these beside honest hosts leave those 90% of their throughput",
			},
			serve: func(c *conn, _ *request) { c.drip("H", time.Second) },
		},
	}
}

// blackhole makes an address that never answers: a listener that never accepts and whose queue is full.
func (s *Server) blackhole(at string) error {
	ap, err := netip.ParseAddrPort(at)
	if err != nil {
		return err
	}
	syscall.ForkLock.RLock() // no system but Linux takes SOCK_CLOEXEC here
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return err
	}
	s.wg.Go(func() {
		<-s.done
		syscall.Close(fd)
	})
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Port: int(ap.Port()), Addr: ap.Addr().As4()}); err != nil {
		return err
	}
	if err := syscall.Listen(fd, 0); err != nil {
		return err
	}
	// The kernel queues one more than requested; the first connection that it does not take shows that it is full.
	for range 8 {
		c, err := net.DialTimeout("tcp4", at, 100*time.Millisecond)
		if err != nil {
			return nil
		}
		s.mu.Lock()
		s.filler = append(s.filler, c)
		s.mu.Unlock()
	}
	return fmt.Errorf("the queue of %s is never full", at)
}

// honest serves a good page.
var honest = keeps(response("200 OK", "text/html", "hi"))

// self resolves a name to its own case's address.
func self(name string) func(context.Context, *Server) ([]netip.Addr, error) {
	return func(_ context.Context, s *Server) ([]netip.Addr, error) { return []netip.Addr{s.addressOf(name)}, nil }
}

// dnsCases are names that resolve badly. Their servers are honest.
func dnsCases() []Case { return append(badNameCases(), rebindCases()...) }

// badNameCases resolve slowly, not at all, or to too much.
func badNameCases() []Case {
	return []Case{
		{
			Number: 17, Name: "slow-dns", Does: "its name takes ten seconds",
			serve: honest,
			Want: Want{
				Results: []string{"dns_timeout"}, Requests: -1, Within: "dns", Crawl: []string{"db_unfetched"},
			},
			dns: func(ctx context.Context, s *Server) ([]netip.Addr, error) {
				t := time.NewTimer(time.Duration(10 * float64(time.Second) * s.o.Scale))
				defer t.Stop()
				select {
				case <-ctx.Done():
					return nil, ctx.Err()
				case <-t.C:
					return []netip.Addr{s.addressOf("slow-dns")}, nil
				}
			},
		},
		{
			Number: 18, Name: "dns-servfail", Does: "its name server fails",
			serve: honest,
			Want:  Want{Results: []string{"dns_fail"}, Requests: -1, Crawl: []string{"db_unfetched"}},
			dns: func(context.Context, *Server) ([]netip.Addr, error) {
				const name = "dns-servfail" + domain
				return nil, &net.DNSError{Err: "server misbehaving", Name: name, IsTemporary: true}
			},
		},
		{
			Number: 19, Name: "dns-nx", Does: "its name does not exist",
			serve: honest,
			Want:  Want{Results: []string{"dns_nx"}, Requests: -1, Crawl: []string{"db_unfetched", "db_gone"}},
			dns: func(context.Context, *Server) ([]netip.Addr, error) {
				return nil, &net.DNSError{Err: "no such host", Name: "dns-nx" + domain, IsNotFound: true}
			},
		},
		{
			Number: 20, Name: "dns-huge", Does: "has 4,000 addresses, of which the first answers",
			serve: honest,
			Want:  Want{Results: []string{"200"}, Alloc: 1 << 20, Text: "no more than 8 are tried"},
			dns: func(_ context.Context, s *Server) ([]netip.Addr, error) {
				out := []netip.Addr{s.addressOf("dns-huge")}
				for i := range 3999 {
					out = append(out, netip.AddrFrom4([4]byte{127, 10, byte(i / 250), byte(i%250 + 1)}))
				}
				return out, nil
			},
		},
		{
			Number: 22, Name: "dns-ttl-0", Does: "has another address for each query",
			serve: honest,
			Want:  Want{Results: []string{"200"}, Text: "politeness goes by the address that is dialed"},
			dns:   self("dns-ttl-0"),
		},
	}
}

// rebindCases resolve to addresses that a crawler must not touch.
func rebindCases() []Case {
	return []Case{
		{
			Number: 90, Name: "rebind", Does: "is public and then private", Policy: true,
			serve: honest,
			Want:  Want{Results: []string{"blocked_address", "blocked_port"}, Requests: -1},
			dns:   self("rebind"),
		},
		{
			Number: 90, Name: "rebind-mixed", Does: "is private in two ways at once", Policy: true,
			serve: honest,
			Want:  Want{Results: []string{"blocked_address", "blocked_port"}, Requests: -1},
			dns: func(_ context.Context, s *Server) ([]netip.Addr, error) {
				return []netip.Addr{s.addressOf("rebind-mixed"), netip.MustParseAddr("169.254.169.254")}, nil
			},
		},
	}
}
