// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"fmt"
	"net/netip"
)

// The addresses never to connect to. Go's own predicates (IsPrivate and others) permit 21 of 35 special
// addresses, among them cloud metadata services, so this table is explicit. For IPv4 it holds what IANA lists as
// special. For IPv6 it holds everything but global unicast, and the parts of that which embed other addresses or
// are for documentation.
var (
	deniedIPv4 = prefixes("0.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "192.0.0.0/24", "192.0.2.0/24",
		"192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3", "168.63.129.16/32")
	privateIPv4 = prefixes("10.0.0.0/8", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
	globalIPv6  = prefixes("2000::/3")
	deniedIPv6  = prefixes("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
	privateIPv6 = prefixes("::1/128", "fc00::/7")
)

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

func within(a netip.Addr, list []netip.Prefix) bool {
	for _, p := range list {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// CheckAddr returns an error if the client must not connect to an address. allowPrivate permits loopback and
// private networks. Link-local, multicast, reserved and embedded addresses are never permitted. CheckAddr is safe
// for concurrent use.
func CheckAddr(a netip.Addr, allowPrivate bool) error {
	if a.Zone() != "" {
		return fmt.Errorf("address %s has a zone", a)
	}
	a = a.Unmap()
	var ok bool
	switch {
	case !a.IsValid():
	case a.Is4() && within(a, privateIPv4), a.Is6() && within(a, privateIPv6):
		if !allowPrivate {
			return fmt.Errorf("address %s is private: --allow-private permits it", a)
		}
		ok = true
	case a.Is4():
		ok = !within(a, deniedIPv4)
	default:
		ok = within(a, globalIPv6) && !within(a, deniedIPv6)
	}
	if !ok {
		return fmt.Errorf("address %s is not a public host", a)
	}
	return nil
}

// check is CheckAddr with the client's options. It also keeps a crawler without a contact on loopback.
func (o *Options) check(a netip.Addr) error {
	if err := CheckAddr(a, o.AllowPrivate); err != nil {
		return &fault{FailAddress, err}
	}
	if o.LoopbackOnly && !a.Unmap().IsLoopback() {
		err := fmt.Errorf("address %s is not loopback, and no contact is set: set one with --contact", a)
		return &fault{FailContact, err}
	}
	return nil
}

// checkPort keeps links from reaching services other than web servers.
func (o *Options) checkPort(port uint16) error {
	if o.AllowPrivate || port == 80 || port == 443 {
		return nil
	}
	for _, p := range o.AllowPorts {
		if p == port {
			return nil
		}
	}
	return &fault{FailPort, fmt.Errorf("port %d is not 80 or 443", port)}
}
