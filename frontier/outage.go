// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// outage tells failures of hosts from a failure of the network here. Many failures in a row on many
// hosts, each of a kind that a cut cable makes too and not one answer in between, are put down to the
// network: they are taken back, and until something answers again the frontier only tries one visit
// at a time.
type outage struct {
	on     atomic.Bool
	streak atomic.Int32 // failures since the last answer

	mu    sync.Mutex
	hosts []urlkey.HostKey // of the streak, to be forgiven
	seen  uint64           // a bit per address, by hash
	since moment
	probe moment // when the next visit may be tried
	tired bool   // it lasted too long: from now on hosts are blamed, until one answers
}

// answered: some host answered, if only with a refusal.
func (o *outage) answered() {
	if o.streak.Load() == 0 {
		return
	}
	o.mu.Lock()
	o.tired = false
	o.streak.Store(0)
	o.hosts, o.seen = o.hosts[:0], 0
	o.on.Store(false)
	o.mu.Unlock()
}

// failed: a visit failed in a way that may be the network's fault. It returns the hosts to forgive when
// that makes it an outage.
func (o *outage) failed(host urlkey.HostKey, addr string, now moment) []urlkey.HostKey {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.on.Load() {
		if now.sub(o.since) > outageMax { // it may be the hosts after all
			o.on.Store(false)
			o.tired = true
			o.hosts, o.seen = o.hosts[:0], 0
		}
		return nil
	}
	if o.tired {
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

// may reports whether a visit may start now, and if not, when to ask again.
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
