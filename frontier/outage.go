// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// outage tells failures of hosts from a failure of the local network. It blames the network for many failures in a
// row on many hosts if a cut cable could have caused each of them and nothing answered in between. The failures are
// then taken back, and until something answers the frontier tries only one visit at a time.
type outage struct {
	on     atomic.Bool
	streak atomic.Int32 // failures since the last answer

	mu      sync.Mutex
	hosts   []urlkey.HostKey // of the streak, to be forgiven
	seen    uint64           // one bit per address, by hash
	since   moment
	probe   moment // when the next visit may be tried
	expired bool   // it lasted longer than outageMax: hosts are blamed until one answers
}

// answered: some host answered, perhaps with a refusal.
func (o *outage) answered() {
	if o.streak.Load() == 0 {
		return
	}
	o.mu.Lock()
	o.expired = false
	o.streak.Store(0)
	o.hosts, o.seen = o.hosts[:0], 0
	o.on.Store(false)
	o.mu.Unlock()
}

// failed: a visit failed and the network may be the cause. If an outage begins with that, it returns the hosts to
// forgive.
func (o *outage) failed(host urlkey.HostKey, addr string, now moment) []urlkey.HostKey {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.on.Load() {
		if now.sub(o.since) > outageMax { // it may be the hosts after all
			o.on.Store(false)
			o.expired = true
			o.hosts, o.seen = o.hosts[:0], 0
		}
		return nil
	}
	if o.expired {
		return nil
	}
	n := o.streak.Add(1)
	if len(o.hosts) < outageStreak {
		o.hosts = append(o.hosts, host)
	}
	o.seen |= 1 << (xxh3.HashString(addr) & 63)
	if n < outageStreak || bits.OnesCount64(o.seen) < outageHosts {
		return nil
	}
	o.on.Store(true)
	o.since, o.probe = now, now
	return append([]urlkey.HostKey(nil), o.hosts...)
}

// may reports whether a visit may start now, and if not, when the next may.
func (o *outage) may(now moment) (ok bool, at moment) {
	if !o.on.Load() {
		return true, 0
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if now >= o.probe {
		o.probe = now.add(outageProbe)
		return true, 0
	}
	return false, o.probe
}
