// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
)

// dnsClient asks recursive name servers. Nothing of it outlives a call.
type dnsClient struct {
	servers func() ([]netip.AddrPort, error)
	turn    atomic.Uint32 // which server is asked first
}

// dnsAnswer is what a lookup came to and how long that holds.
type dnsAnswer struct {
	addrs []netip.Addr
	ttl   time.Duration
	err   error
}

func newDNSClient(servers []netip.AddrPort) *dnsClient {
	if len(servers) > 0 {
		return &dnsClient{servers: func() ([]netip.AddrPort, error) { return servers, nil }}
	}
	return &dnsClient{servers: sync.OnceValues(systemServers)}
}

// systemServers are those of /etc/resolv.conf.
func systemServers() (servers []netip.AddrPort, err error) {
	config, err := dns.ClientConfigFromFile(resolvConf)
	if err != nil {
		return nil, fmt.Errorf("no name servers: %w: name one with --resolver", err)
	}
	for _, s := range config.Servers {
		if addr, err := netip.ParseAddr(s); err == nil {
			servers = append(servers, netip.AddrPortFrom(addr, dnsPort))
		}
	}
	if len(servers) == 0 {
		return nil, fmt.Errorf("no name servers in %s: name one with --resolver", resolvConf)
	}
	return servers, nil
}

// ParseServers reads a list of name servers, "9.9.9.9,[2620:fe::fe]:53,127.0.0.1:5353".
func ParseServers(list string) (servers []netip.AddrPort, err error) {
	for _, s := range strings.Split(list, ",") {
		s = strings.TrimSpace(s)
		if ap, err := netip.ParseAddrPort(s); err == nil {
			servers = append(servers, ap)
			continue
		}
		addr, err := netip.ParseAddr(strings.Trim(s, "[]"))
		if err != nil {
			return nil, fmt.Errorf("name server %q: want an address, with a port or without", s)
		}
		servers = append(servers, netip.AddrPortFrom(addr, dnsPort))
	}
	return servers, nil
}

// lookup finds the addresses of a name. IPv4 and IPv6 are asked for at once; either will do.
func (c *dnsClient) lookup(ctx context.Context, host string) dnsAnswer {
	if _, ok := dns.IsDomainName(host); !ok || len(host) > maxDNSName || host == "" {
		return dnsAnswer{err: &fault{FailDNSNotFound, fmt.Errorf("%q is no name of DNS", host)}, ttl: resolveNegativeMax}
	}
	servers, err := c.servers()
	if err != nil {
		return dnsAnswer{err: &fault{FailDNS, err}, ttl: resolveFailTTL}
	}
	name := dns.Fqdn(host) // search domains are never tried
	six := make(chan dnsAnswer, 1)
	go func() { six <- c.resolve(ctx, servers, name, dns.TypeAAAA) }()
	v4, v6 := c.resolve(ctx, servers, name, dns.TypeA), <-six
	switch {
	case v4.err == nil && v6.err == nil:
		return dnsAnswer{addrs: append(v4.addrs[:min(len(v4.addrs), maxAddresses-1)], v6.addrs...), ttl: min(v4.ttl, v6.ttl)}
	case v4.err == nil:
		return v4
	case v6.err == nil:
		return v6
	case isNotFound(v4.err) && !isNotFound(v6.err):
		return v6 // there may be an address of IPv6: not knowing is not the same as there being none
	}
	return v4
}

func isNotFound(err error) bool {
	var f *fault
	return errors.As(err, &f) && f.failure == FailDNSNotFound
}

// resolve asks for one type of address and follows aliases that the server did not.
func (c *dnsClient) resolve(ctx context.Context, servers []netip.AddrPort, name string, qtype uint16) dnsAnswer {
	ttl := resolveTTLMax
	seen := []string{}
	for range maxAliases {
		m, err := c.ask(ctx, servers, name, qtype)
		if err != nil {
			return dnsAnswer{err: err, ttl: resolveFailTTL}
		}
		a, alias := readAnswer(m, name, qtype)
		a.ttl = min(a.ttl, ttl)
		if alias == "" {
			return a
		}
		ttl = a.ttl
		if seen = append(seen, dns.CanonicalName(name)); slices.Contains(seen, dns.CanonicalName(alias)) {
			break
		}
		name = alias
	}
	return dnsAnswer{err: &fault{FailDNS, errors.New("aliases go round in a circle or on for too long")}, ttl: resolveNegativeMax}
}

// readAnswer takes the addresses of name out of an answer. Only what hangs on the name by a chain of
// aliases is believed. If the chain ends at another name without an address, that is returned as alias.
func readAnswer(m *dns.Msg, name string, qtype uint16) (a dnsAnswer, alias string) {
	if m.Rcode != dns.RcodeSuccess && m.Rcode != dns.RcodeNameError {
		return dnsAnswer{err: &fault{FailDNS, fmt.Errorf("the name server says %s", dns.RcodeToString[m.Rcode])}, ttl: resolveFailTTL}, ""
	}
	at, ttl := dns.CanonicalName(name), uint32(resolveTTLMax/time.Second)
	first := at
	for hops := 0; ; hops++ {
		next := ""
		for _, rr := range m.Answer {
			h := rr.Header()
			if h.Class != dns.ClassINET || dns.CanonicalName(h.Name) != at {
				continue
			}
			switch rr := rr.(type) {
			case *dns.A:
				if addr, ok := netip.AddrFromSlice(rr.A); ok && qtype == dns.TypeA && len(a.addrs) < maxAddresses {
					a.addrs, ttl = append(a.addrs, addr.Unmap()), min(ttl, h.Ttl)
				}
			case *dns.AAAA:
				if addr, ok := netip.AddrFromSlice(rr.AAAA); ok && qtype == dns.TypeAAAA && len(a.addrs) < maxAddresses {
					a.addrs, ttl = append(a.addrs, addr.Unmap()), min(ttl, h.Ttl)
				}
			case *dns.CNAME:
				next, ttl = dns.CanonicalName(rr.Target), min(ttl, h.Ttl)
			}
		}
		a.ttl = min(max(time.Duration(ttl)*time.Second, resolveTTLMin), resolveTTLMax)
		switch {
		case len(a.addrs) > 0:
			return a, ""
		case hops > maxAliases || next == first:
			return dnsAnswer{err: &fault{FailDNS, errors.New("aliases go round in a circle or on for too long")}, ttl: resolveNegativeMax}, ""
		case next != "":
			at = next
			continue
		case at != first && m.Rcode == dns.RcodeSuccess && !hasSOA(m):
			return a, at
		}
		return dnsAnswer{err: &fault{FailDNSNotFound, fmt.Errorf("%s of type %s", dns.RcodeToString[m.Rcode], dns.TypeToString[qtype])}, ttl: negativeTTL(m)}, ""
	}
}

func hasSOA(m *dns.Msg) bool {
	return slices.ContainsFunc(m.Ns, func(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeSOA })
}

// negativeTTL is how long "there is none" holds (RFC 2308, section 5).
func negativeTTL(m *dns.Msg) time.Duration {
	for _, rr := range m.Ns {
		if soa, ok := rr.(*dns.SOA); ok {
			return min(max(time.Duration(min(soa.Minttl, soa.Hdr.Ttl))*time.Second, resolveTTLMin), resolveNegativeMax)
		}
	}
	return resolveTTLMin
}

// ask puts one question to one server after the other until one gives an answer that can be used.
func (c *dnsClient) ask(ctx context.Context, servers []netip.AddrPort, name string, qtype uint16) (*dns.Msg, error) {
	q := new(dns.Msg)
	q.SetQuestion(name, qtype)
	q.SetEdns0(dnsUDPSize, false)
	first := int(c.turn.Add(1))
	var last error = &fault{failure: FailDNSTimeout}
	for try := range dnsTries * len(servers) {
		server := servers[(first+try)%len(servers)]
		q.Id = dns.Id()
		m, err := exchangeDNS(ctx, server, "udp", q)
		if err == nil && m.Truncated {
			m, err = exchangeDNS(ctx, server, "tcp", q)
		}
		switch {
		case err != nil:
			last = classify(err, FailDNSTimeout)
		case m.Rcode == dns.RcodeSuccess || m.Rcode == dns.RcodeNameError:
			return m, nil
		case m.Rcode == dns.RcodeFormatError && q.IsEdns0() != nil: // a server from before 1999
			q.Extra = nil
			last = &fault{FailDNS, errors.New("the name server does not understand the question")}
		default:
			last = &fault{FailDNS, fmt.Errorf("name server %s says %s", server, dns.RcodeToString[m.Rcode])}
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, last
}

// exchangeDNS sends a question from a port of its own and waits for the answer to it. What comes on the
// socket and is no such answer is dropped: it may be forged, or late from a name server that was asked
// from the same port before.
func exchangeDNS(ctx context.Context, server netip.AddrPort, network string, q *dns.Msg) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, dnsTryTime)
	defer cancel()
	var d net.Dialer
	raw, err := d.DialContext(ctx, network, server.String()) // UDP is connected: the kernel checks the sender
	if err != nil {
		return nil, err
	}
	defer raw.Close()
	end, _ := ctx.Deadline()
	if err := raw.SetDeadline(end); err != nil {
		return nil, err
	}
	conn := &dns.Conn{Conn: raw, UDPSize: dnsUDPSize}
	if err := conn.WriteMsg(q); err != nil {
		return nil, err
	}
	for range dnsStrays {
		m, err := conn.ReadMsg()
		if err != nil && m == nil {
			var net net.Error
			if errors.As(err, &net) || network == "tcp" {
				return nil, err
			}
			continue // garbage
		}
		if err == nil && isAnswer(q, m) {
			return m, nil
		}
		if network == "tcp" {
			break
		}
	}
	return nil, &fault{FailDNS, fmt.Errorf("name server %s sends no proper answer", server)}
}

// isAnswer reports whether m answers q.
func isAnswer(q, m *dns.Msg) bool {
	return m.Response && m.Id == q.Id && m.Opcode == dns.OpcodeQuery && len(m.Question) == 1 &&
		m.Question[0].Qtype == q.Question[0].Qtype && m.Question[0].Qclass == dns.ClassINET &&
		strings.EqualFold(m.Question[0].Name, q.Question[0].Name)
}
