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
	return &dnsClient{servers: (&systemServers{path: resolvConf}).list}
}

// systemServers are the name servers of a resolv.conf. The file is read again from time to time: a crawl lasts for
// weeks, and may begin before the machine has a network, or go on in another one.
type systemServers struct {
	path string

	mu      sync.Mutex
	read    time.Time // zero: never
	servers []netip.AddrPort
	err     error
}

// list returns the name servers. Those that were known stay where the file cannot be read any more, or has none.
func (s *systemServers) list() ([]netip.AddrPort, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.read.IsZero() || time.Since(s.read) >= resolvConfHold {
		servers, err := readServers(s.path)
		if err == nil || len(s.servers) == 0 {
			s.servers, s.err = servers, err
		}
		s.read = time.Now()
	}
	return s.servers, s.err
}

func readServers(path string) (servers []netip.AddrPort, err error) {
	config, err := dns.ClientConfigFromFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the name servers: %w: set one with the setting resolver", err)
	}
	for _, s := range config.Servers {
		if addr, err := netip.ParseAddr(s); err == nil {
			servers = append(servers, netip.AddrPortFrom(addr, dnsPort))
		}
	}
	if len(servers) == 0 {
		return nil, fmt.Errorf("no name servers in %s: set one with the setting resolver", path)
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

// checkDNSName returns an error for a name that no name server has.
func checkDNSName(host string) error {
	if _, ok := dns.IsDomainName(host); !ok || len(host) > maxDNSName || host == "" {
		return &fault{FailDNSNotFound, fmt.Errorf("%q is not a valid DNS name", host)}
	}
	return nil
}

// lookup finds the addresses of a name. It queries IPv4 and IPv6 at the same time and succeeds if either does. Where
// IPv4 has an address, IPv6 is waited for no longer than dnsTryTime: some servers do not answer what they do not know.
func (c *dnsClient) lookup(ctx context.Context, host string) dnsAnswer {
	if err := checkDNSName(host); err != nil {
		return dnsAnswer{err: err, ttl: resolveNegativeMax}
	}
	servers, err := c.servers()
	if err != nil {
		return dnsAnswer{err: &fault{FailDNS, err}, ttl: resolveFailTTL}
	}
	name := dns.Fqdn(host) // search domains are never tried
	six := make(chan dnsAnswer, 1)
	ctxSix, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { six <- c.resolve(ctxSix, servers, name, dns.TypeAAAA) }()
	v4 := c.resolve(ctx, servers, name, dns.TypeA)
	if v4.err == nil {
		defer time.AfterFunc(dnsTryTime, cancel).Stop()
	}
	v6 := <-six
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

// ask queries the servers in turn until one gives a usable answer: the next when one has failed, or has not answered
// for dnsTryTime. The one that was queried before may still answer, until ctx ends: a name server that is slow, or
// looks a name up far away, is waited for, unless all were queried and another says that it has failed.
func (c *dnsClient) ask(ctx context.Context, servers []netip.AddrPort, name string, qtype uint16) (*dns.Msg, error) {
	ctx, cancel := context.WithCancel(ctx)
	tries := dnsQueries{
		ctx: ctx, servers: servers, first: int(c.turn.Add(1)), name: name, qtype: qtype,
		replies: make(chan dnsReply, dnsTries*len(servers)),
	}
	defer tries.group.Wait()
	defer cancel()
	late := time.NewTimer(dnsTryTime)
	defer late.Stop()
	last := &fault{failure: FailDNSTimeout}
	waited := false // long enough for the last of all queries
	for tries.next(); len(tries.open) > 0; {
		select {
		case <-late.C:
			waited = tries.begun == cap(tries.replies)
		case r := <-tries.replies:
			if tries.ended(r); r.dropped {
				continue
			}
			f := tries.fault(r)
			if f == nil {
				return r.m, nil
			}
			// That a server has failed says more than that another was silent.
			if last.failure == FailDNSTimeout || f.failure != FailDNSTimeout {
				last = f
			}
		}
		switch {
		case ctx.Err() == nil && tries.next():
			late.Reset(dnsTryTime)
		case waited && last.failure != FailDNSTimeout:
			return nil, last
		}
	}
	return nil, last
}

// dnsQueries are the queries of one call of ask, a goroutine each. They end with ctx.
type dnsQueries struct {
	ctx     context.Context
	servers []netip.AddrPort
	first   int // place of the server that is queried first
	name    string
	qtype   uint16
	plain   bool // a server does not understand EDNS

	begun   int
	open    []openQuery // in the order in which they began
	group   sync.WaitGroup
	replies chan dnsReply // has room for all
}

// openQuery is one whose reply has not come.
type openQuery struct {
	number int
	drop   context.CancelFunc
}

// dnsReply is what a server said, or why it did not.
type dnsReply struct {
	m      *dns.Msg
	err    error
	server netip.AddrPort
	number int  // of the query, from 0
	plain  bool // the query was without EDNS
	// dropped says that the query gave way to later ones.
	dropped bool
}

// next queries the next server; false if each was queried dnsTries times. The oldest query gives way if more than
// dnsOpen would be open.
func (q *dnsQueries) next() bool {
	if q.begun == dnsTries*len(q.servers) {
		return false
	}
	r := dnsReply{server: q.servers[(q.first+q.begun)%len(q.servers)], number: q.begun, plain: q.plain}
	m := new(dns.Msg)
	m.SetQuestion(q.name, q.qtype)
	if m.Id = dns.Id(); !r.plain {
		m.SetEdns0(dnsUDPSize, false)
	}
	ctx, drop := context.WithCancel(q.ctx)
	if q.open = append(q.open, openQuery{r.number, drop}); len(q.open) > dnsOpen {
		q.open[0].drop()
	}
	q.begun++
	q.group.Go(func() {
		defer drop()
		r.m, r.err = exchangeDNS(ctx, r.server, "udp", m)
		if r.err == nil && r.m.Truncated {
			r.m, r.err = exchangeDNS(ctx, r.server, "tcp", m)
		}
		r.dropped = r.err != nil && ctx.Err() != nil && q.ctx.Err() == nil
		q.replies <- r
	})
	return true
}

// ended takes the query of a reply from those that are open.
func (q *dnsQueries) ended(r dnsReply) {
	q.open = slices.DeleteFunc(q.open, func(o openQuery) bool { return o.number == r.number })
}

// fault returns what is wrong with a reply, nil if it is usable.
func (q *dnsQueries) fault(r dnsReply) *fault {
	switch {
	case r.err != nil:
		return lookupFault(r.err)
	case r.m.Rcode == dns.RcodeSuccess || r.m.Rcode == dns.RcodeNameError:
		return nil
	case r.m.Rcode == dns.RcodeFormatError && !r.plain: // a server without EDNS
		q.plain = true
		return &fault{FailDNS, fmt.Errorf("name server %s does not understand the query", r.server)}
	}
	return &fault{FailDNS, fmt.Errorf("name server %s returned %s", r.server, dns.RcodeToString[r.m.Rcode])}
}

// exchangeDNS sends a query from a new port and waits for its answer until ctx ends. It drops every other datagram,
// which may be forged.
func exchangeDNS(ctx context.Context, server netip.AddrPort, network string, q *dns.Msg) (*dns.Msg, error) {
	var d net.Dialer
	raw, err := d.DialContext(ctx, network, server.String()) // UDP is connected: the kernel checks the sender
	if err != nil {
		return nil, err
	}
	defer raw.Close()
	if end, ok := ctx.Deadline(); ok {
		if err := raw.SetDeadline(end); err != nil {
			return nil, err
		}
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
