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

// dnsClient queries recursive name servers. It keeps no socket and no goroutine after a call.
type dnsClient struct {
	servers func() ([]netip.AddrPort, error)
	turn    atomic.Uint32 // chooses the server to query first
}

// dnsAnswer is the result of a lookup.
type dnsAnswer struct {
	addrs []netip.Addr
	ttl   time.Duration // how long the result may be cached
	err   error
}

func newDNSClient(servers []netip.AddrPort) *dnsClient {
	if len(servers) > 0 {
		return &dnsClient{servers: func() ([]netip.AddrPort, error) { return servers, nil }}
	}
	return &dnsClient{servers: sync.OnceValues(systemServers)}
}

// systemServers returns the name servers of /etc/resolv.conf.
func systemServers() (servers []netip.AddrPort, err error) {
	config, err := dns.ClientConfigFromFile(resolvConf)
	if err != nil {
		return nil, fmt.Errorf("reading the name servers: %w: set one with the setting resolver", err)
	}
	for _, s := range config.Servers {
		if addr, err := netip.ParseAddr(s); err == nil {
			servers = append(servers, netip.AddrPortFrom(addr, dnsPort))
		}
	}
	if len(servers) == 0 {
		return nil, fmt.Errorf("no name servers in %s: set one with the setting resolver", resolvConf)
	}
	return servers, nil
}

// ParseServers parses a list of name servers, as in "9.9.9.9,[2620:fe::fe]:53,127.0.0.1:5353". The default port
// is 53. The error names the entry that is not an address.
func ParseServers(list string) (servers []netip.AddrPort, err error) {
	for _, s := range strings.Split(list, ",") {
		s = strings.TrimSpace(s)
		if ap, err := netip.ParseAddrPort(s); err == nil {
			servers = append(servers, ap)
			continue
		}
		addr, err := netip.ParseAddr(strings.Trim(s, "[]"))
		if err != nil {
			return nil, fmt.Errorf("name server %q: want an IP address, with or without a port", s)
		}
		servers = append(servers, netip.AddrPortFrom(addr, dnsPort))
	}
	return servers, nil
}

// lookup finds the addresses of a name. It queries IPv4 and IPv6 at the same time and succeeds if either does.
func (c *dnsClient) lookup(ctx context.Context, host string) dnsAnswer {
	if _, ok := dns.IsDomainName(host); !ok || len(host) > maxDNSName || host == "" {
		err := &fault{FailDNSNotFound, fmt.Errorf("%q is not a valid DNS name", host)}
		return dnsAnswer{err: err, ttl: resolveNegativeMax}
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
		addrs := append(v4.addrs[:min(len(v4.addrs), maxAddresses-1)], v6.addrs...)
		return dnsAnswer{addrs: addrs, ttl: min(v4.ttl, v6.ttl)}
	case v4.err == nil:
		return v4
	case v6.err == nil:
		return v6
	case isNotFound(v4.err) && !isNotFound(v6.err):
		return v6 // an IPv6 address may exist: this failure is not a negative answer
	}
	return v4
}

func isNotFound(err error) bool {
	var f *fault
	return errors.As(err, &f) && f.failure == FailDNSNotFound
}

// errAliases is the cause of the failure of a chain of CNAMEs that is circular or longer than maxAliases.
var errAliases = errors.New("the chain of CNAMEs is circular or too long")

// resolve queries one type of address, and follows aliases that the server did not follow.
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
	return dnsAnswer{err: &fault{FailDNS, errAliases}, ttl: resolveNegativeMax}
}

// readAnswer extracts the addresses of name from an answer. It believes only records that a chain of aliases
// connects to the name. If the chain ends at another name without an address, alias is that name.
func readAnswer(m *dns.Msg, name string, qtype uint16) (a dnsAnswer, alias string) {
	if m.Rcode != dns.RcodeSuccess && m.Rcode != dns.RcodeNameError {
		err := &fault{FailDNS, fmt.Errorf("the name server returned %s", dns.RcodeToString[m.Rcode])}
		return dnsAnswer{err: err, ttl: resolveFailTTL}, ""
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
				addr, ok := netip.AddrFromSlice(rr.A)
				if ok && qtype == dns.TypeA && len(a.addrs) < maxAddresses {
					a.addrs, ttl = append(a.addrs, addr.Unmap()), min(ttl, h.Ttl)
				}
			case *dns.AAAA:
				addr, ok := netip.AddrFromSlice(rr.AAAA)
				if ok && qtype == dns.TypeAAAA && len(a.addrs) < maxAddresses {
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
			return dnsAnswer{err: &fault{FailDNS, errAliases}, ttl: resolveNegativeMax}, ""
		case next != "":
			at = next
			continue
		case at != first && m.Rcode == dns.RcodeSuccess && !hasSOA(m):
			return a, at
		}
		err := fmt.Errorf("%s for type %s", dns.RcodeToString[m.Rcode], dns.TypeToString[qtype])
		return dnsAnswer{err: &fault{FailDNSNotFound, err}, ttl: negativeTTL(m)}, ""
	}
}

func hasSOA(m *dns.Msg) bool {
	return slices.ContainsFunc(m.Ns, func(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeSOA })
}

// negativeTTL returns how long a negative answer is valid (RFC 2308, section 5).
func negativeTTL(m *dns.Msg) time.Duration {
	for _, rr := range m.Ns {
		if soa, ok := rr.(*dns.SOA); ok {
			return min(max(time.Duration(min(soa.Minttl, soa.Hdr.Ttl))*time.Second, resolveTTLMin), resolveNegativeMax)
		}
	}
	return resolveTTLMin
}

// ask queries one server after the other until one gives a usable answer.
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
			last = lookupFault(err)
		case m.Rcode == dns.RcodeSuccess || m.Rcode == dns.RcodeNameError:
			return m, nil
		case m.Rcode == dns.RcodeFormatError && q.IsEdns0() != nil: // a server without EDNS
			q.Extra = nil
			last = &fault{FailDNS, fmt.Errorf("name server %s does not understand the query", server)}
		default:
			last = &fault{FailDNS, fmt.Errorf("name server %s returned %s", server, dns.RcodeToString[m.Rcode])}
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, last
}

// exchangeDNS sends a query from a new port and waits for its answer. It drops every other datagram: it may be
// forged, or a late answer to an earlier query from the same port.
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
	stop := context.AfterFunc(ctx, func() { raw.SetDeadline(time.Unix(1, 0)) })
	defer stop()
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
			continue // not a DNS message
		}
		if err == nil && isAnswer(q, m) {
			return m, nil
		}
		if network == "tcp" {
			break
		}
	}
	return nil, &fault{FailDNS, fmt.Errorf("name server %s sent no valid answer", server)}
}

// isAnswer reports whether m answers q.
func isAnswer(q, m *dns.Msg) bool {
	return m.Response && m.Id == q.Id && m.Opcode == dns.OpcodeQuery && len(m.Question) == 1 &&
		m.Question[0].Qtype == q.Question[0].Qtype && m.Question[0].Qclass == dns.ClassINET &&
		strings.EqualFold(m.Question[0].Name, q.Question[0].Name)
}
