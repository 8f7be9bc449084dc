// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"net/netip"
	"time"

	"github.com/miekg/dns"
)

// ReadDNSAnswer is readAnswer, for the fuzzer.
func ReadDNSAnswer(m *dns.Msg, name string, qtype uint16) (addrs []netip.Addr, ttl time.Duration, alias string, err error) {
	a, alias := readAnswer(m, name, qtype)
	return a.addrs, a.ttl, alias, a.err
}

// RequestHead is requestHead, for the count of allocations.
func (c *Client) RequestHead(dst []byte, req *Request) (recorded, sent []byte) {
	return c.requestHead(dst, req)
}
