// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// specialNames are the ends of names that no public server has: the special-use names of IANA's registry (RFC 6761 and
// those after it) without those that are only reserved for documents, and the names that RFC 6762, ICANN and common
// routers leave to private networks. Nobody but a proxy inside such a network could resolve them.
var specialNames = map[string]bool{
	"alt": true, "arpa": true, "example": true, "invalid": true, "local": true, "localhost": true, "onion": true,
	"test": true, "corp": true, "domain": true, "home": true, "internal": true, "intranet": true, "lan": true,
	"localdomain": true, "mail": true, "private": true, "workgroup": true,
}

// checkName refuses a name that a proxy, which resolves names itself, might take for a host of its own network. A name
// of Options.Hosts is permitted, with AllowPrivate every name. A crawler without a contact gets those of loopback only.
func (o *Options) checkName(host string) error {
	if err := checkDNSName(host); err != nil {
		return err // a SOCKS5 proxy would take a longer one for another, which begins as it does
	}
	host = strings.ToLower(strings.TrimRight(host, "."))
	if o.LoopbackOnly && !isLocalhost(host) && !o.Hosts.onLoopback(host) {
		err := fmt.Errorf("%q is resolved by the proxy, and no contact is set: set one with --contact", host)
		return &fault{FailContact, err}
	}
	if o.AllowPrivate || len(o.Hosts[host]) > 0 {
		return nil
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last != host && !specialNames[last] {
		return nil
	}
	err := fmt.Errorf("%q is not the name of a public host, and the proxy may know a private one: "+
		"--allow-private permits it, and so does a line in --hosts", host)
	return &fault{FailAddress, err}
}

// ownNetworks are the networks of this machine's interfaces. It is safe for concurrent use.
type ownNetworks struct {
	list func() ([]netip.Prefix, error)
	now  func() time.Time

	mu    sync.Mutex
	since time.Time
	nets  []netip.Prefix
}

// refresh lists the networks. After an error the earlier ones stay.
func (n *ownNetworks) refresh() error {
	nets, err := n.list()
	if err != nil {
		return fmt.Errorf("listing the networks of this machine: %w", err)
	}
	n.nets = n.nets[:0]
	for _, p := range nets {
		a := p.Addr().Unmap()
		most := ownNet4
		if a.Is6() {
			most = ownNet6
		}
		if p.Bits() < most { // a tunnel to everywhere, and not a network with neighbours
			p = netip.PrefixFrom(a, a.BitLen())
		}
		n.nets = append(n.nets, p)
	}
	return nil
}

// of returns the network of this machine that contains an address.
func (n *ownNetworks) of(a netip.Addr) (netip.Prefix, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now := n.now(); now.Sub(n.since) >= ownRefresh {
		n.since = now
		_ = n.refresh() // networks that were known a minute ago are better than none
	}
	for _, p := range n.nets {
		if p.Contains(a) {
			return p, true
		}
	}
	return netip.Prefix{}, false
}

// interfaceNetworks asks the system.
func interfaceNetworks() (nets []netip.Prefix, err error) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			nets = append(nets, netip.PrefixFrom(p.Addr().Unmap(), p.Bits()))
		}
	}
	return nets, nil
}

// check is Options.check, and refuses this machine's own networks unless private ones are permitted.
func (c *Client) check(a netip.Addr) error {
	if err := c.o.check(a); err != nil || c.o.AllowPrivate {
		return err
	}
	if p, ok := c.own.of(a.Unmap()); ok {
		return &fault{FailAddress, fmt.Errorf("address %s is in a network of this machine, %s: "+
			"--allow-private permits it", a, p)}
	}
	return nil
}
