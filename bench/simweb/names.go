// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"strconv"
	"strings"
)

// Names of domains, and of the hosts in a domain: the first is always www.
var (
	birds = []string{
		"kestrel", "petrel", "gannet", "puffin", "tern", "plover", "curlew", "dunlin",
		"fulmar", "avocet", "osprey", "merlin", "teal", "eider", "grebe", "heron",
	}
	subdomains = []string{"www", "blog", "docs", "shop", "news", "wiki", "forum", "maps"}
)

// hostNames is the bijection between hosts and names: www.kestrel-16.example, blog.kestrel-16.example.
// Domain d has the hosts from ⌈d·mean⌉ up to the next domain's first. The top-level domain is reserved for examples
// (RFC 2606), so no resolver will ever know these hosts.
type hostNames struct {
	hosts int
	mean  int // hosts per domain, in thousandths
}

func newHostNames(hosts int, perDomain float64) hostNames {
	return hostNames{hosts, max(int(perDomain*1000+0.5), 1000)}
}

func (n hostNames) first(domain int) int { return (domain*n.mean + 999) / 1000 }

func (n hostNames) domain(host int) int { return host * 1000 / n.mean }

func (n hostNames) append(dst []byte, host int) []byte {
	d := n.domain(host)
	if s := host - n.first(d); s < len(subdomains) {
		dst = append(dst, subdomains[s]...)
	} else {
		dst = strconv.AppendInt(append(dst, 'h'), int64(s), 10)
	}
	dst = append(append(dst, '.'), birds[d%len(birds)]...)
	dst = strconv.AppendInt(append(dst, '-'), int64(d), 10)
	return append(dst, ".example"...)
}

// find returns the host with a name, or -1. Case does not matter; the name has no port.
func (n hostNames) find(name []byte) int {
	sub, rest, ok := bytes.Cut(name, []byte{'.'})
	_, digits, ok2 := bytes.Cut(rest, []byte{'-'})
	digits, _, ok3 := bytes.Cut(digits, []byte{'.'})
	d, ok4 := parseNumber(digits)
	if !ok || !ok2 || !ok3 || !ok4 || d > n.hosts {
		return -1
	}
	s := -1
	for i, known := range subdomains {
		if strings.EqualFold(string(sub), known) {
			s = i
		}
	}
	if s < 0 && len(sub) > 1 {
		if s, ok = parseNumber(sub[1:]); !ok {
			return -1
		}
	}
	host := n.first(d) + s
	if s < 0 || host >= n.hosts || n.domain(host) != d {
		return -1
	}
	var buf [64]byte
	if !bytes.EqualFold(n.append(buf[:0], host), name) {
		return -1
	}
	return host
}

// parseNumber reads at most ten digits, without sign or leading zero.
func parseNumber(b []byte) (int, bool) {
	if len(b) == 0 || len(b) > 10 || b[0] == '0' && len(b) > 1 {
		return 0, false
	}
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// firstAddress is address number 0. 127.0.0.1 before it is the front, which answers for all hosts.
const firstAddress = 127<<24 + 2

// address returns the loopback address with a number, 127.0.0.2 and following.
func address(number int) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], uint32(firstAddress+number))
	return netip.AddrFrom4(b)
}

// addressNumber is the inverse of address. It returns a negative number for the front and for other addresses.
func addressNumber(a netip.Addr) int {
	a = a.Unmap()
	if !a.Is4() || !a.IsLoopback() {
		return -2
	}
	b := a.As4()
	return int(binary.BigEndian.Uint32(b[:])) - firstAddress
}
