// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// A host may have several addresses. Its visits keep to one of them, so that hosts at the same address take turns: the
// one at which it was reached last, or else the first, also to request robots.txt. An address that takes no connection,
// or must not be dialled, is left aside for a while: the next visit is to another one.

// deadAddrs are the addresses at which hosts could not be reached lately. It is safe for concurrent use.
type deadAddrs struct {
	mu    sync.Mutex
	until map[deadAddr]time.Time // bounded by deadAddrsMax: beyond it all are forgotten
}

type deadAddr struct {
	host urlkey.HostKey
	addr netip.Addr
}

func (d *deadAddrs) note(host urlkey.HostKey, addr netip.Addr, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.until == nil || len(d.until) >= deadAddrsMax {
		d.until = map[deadAddr]time.Time{}
	}
	d.until[deadAddr{host, addr}] = now.Add(deadAddrHold)
}

// choose returns the address of a host for its visits: the last one that answered, if that is still among addrs, or
// else the first. If all are dead it returns the first all the same; zero: there are none.
func (d *deadAddrs) choose(host urlkey.HostKey, addrs []netip.Addr, last netip.Addr, now time.Time) netip.Addr {
	if len(addrs) == 0 {
		return netip.Addr{}
	}
	alive := func(a netip.Addr) bool { return d.alive(host, a, now) }
	if slices.Contains(addrs, last) && alive(last) {
		return last
	}
	if at := slices.IndexFunc(addrs, alive); at >= 0 {
		return addrs[at]
	}
	return addrs[0]
}

// alive reports whether an address of a host took connections lately, or was not tried.
func (d *deadAddrs) alive(host urlkey.HostKey, addr netip.Addr, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !now.Before(d.until[deadAddr{host, addr}])
}
