// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"net/netip"
	"time"

	"github.com/miekg/dns"
)

// DNSAnswer is what ReadDNSAnswer found.
type DNSAnswer struct {
	Addrs []netip.Addr
	TTL   time.Duration
	Alias string
	Err   error
}

// ReadDNSAnswer is readAnswer, for the fuzz test.
func ReadDNSAnswer(m *dns.Msg, name string, qtype uint16) DNSAnswer {
	a, alias := readAnswer(m, name, qtype)
	return DNSAnswer{a.addrs, a.ttl, alias, a.err}
}

// SystemServers returns the function that knows the name servers of a resolv.conf.
func SystemServers(path string) func() ([]netip.AddrPort, error) {
	return (&systemServers{path: path}).list
}

// RequestHead is requestHead, for the allocation test.
func (c *Client) RequestHead(dst []byte, req *Request) (recorded, sent []byte) {
	return c.requestHead(dst, req)
}
