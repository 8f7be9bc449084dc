// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// outage tells failures of hosts from a failure of the local network. It blames the network for many failures in a
// row on many hosts if a cut cable could have caused each of them and nothing answered in between. The failures are
// then taken back, and until something answers the frontier tries only one visit at a time.
//
// A crawl may also be left with dead hosts alone, so an outage ends after a while without an answer. It goes on for
// long where many of the hosts had answered before: that all of these died at once is not likely.
//
// A second outage is that of name servers, of which hosts whose addresses are known notice nothing. It counts failed
// lookups only. It ends with the answer of a host that had no address, or had not answered before.
type outage struct {
	on     atomic.Bool
	streak atomic.Int32 // failures since the last answer

	mu      sync.Mutex
	hosts   []urlkey.HostKey // of the last failures of the streak, to be forgiven
	seen    uint64           // one bit per address, by hash
	lost    uint64           // of seen, those of hosts that had answered before
	since   moment
	probe   moment // when the next visit may be tried
	expired bool   // it lasted too long: hosts are blamed until one answers
}

// answered: some host answered, perhaps with a refusal.
func (o *outage) answered() {
	if o.streak.Load() == 0 {
		return
	}
	o.mu.Lock()
	o.expired = false
	o.streak.Store(0)
	o.hosts, o.seen, o.lost = o.hosts[:0], 0, 0
	o.on.Store(false)
	o.mu.Unlock()
}

// failed: a visit failed and the network may be the cause; answered says that its host had answered before. If an
// outage begins with that, it returns the hosts to forgive.
func (o *outage) failed(host urlkey.HostKey, addr string, answered bool, now moment) []urlkey.HostKey {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.expired {
		return nil
	}
	bit := uint64(1) << (xxh3.HashString(addr) & 63)
	o.seen |= bit
	if answered {
		o.lost |= bit
	}
	if o.on.Load() {
		most := outageMax
		if bits.OnesCount64(o.lost) >= outageHosts {
			most = outageMaxLost
		}
		if now.sub(o.since) > most { // it may be the hosts after all
			o.on.Store(false)
			o.expired = true
			o.hosts, o.seen, o.lost = o.hosts[:0], 0, 0
		}
		return nil
	}
	n := o.streak.Add(1)
	if len(o.hosts) == outageStreak { // the newest failures are the network's, if any are
		o.hosts = slices.Delete(o.hosts, 0, 1)
	}
	o.hosts = append(o.hosts, host)
	if n < outageStreak || bits.OnesCount64(o.seen) < outageHosts {
		return nil
	}
	o.on.Store(true)
	o.since, o.probe = now, now
	return slices.Clone(o.hosts)
}

// may reports whether a visit may start now, and if not, when the next may.
func (o *outage) may(now moment) (ok bool, at moment) {
	if !o.on.Load() {
		return true, 0
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if now >= o.probe {
		o.probe = now.add(max(outageProbe, now.sub(o.since)/outageSlower))
		return true, 0
	}
	return false, o.probe
}
