// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// outage tells failures of hosts from a failure of the local network. It blames the network for many failures in a
// row on many hosts if a cut cable could have caused each of them and nothing answered in between. The failures are
// then taken back, and until something answers the frontier tries only one visit at a time. Failed lookups alone say
// nothing of the network: one failure at an address must be among them.
//
// A crawl may also be left with dead hosts alone, so an outage ends after a while without an answer. It goes on for
// long where many of the hosts had answered before: that all of these died at once is not likely.
//
// A second outage is that of name servers, of which hosts whose addresses are known notice nothing. It counts failed
// lookups only. It ends with the answer of a host that had no address, or had not answered before. It also begins with
// an outage of the network to which failed lookups led: these may have led to it wrongly, and hosts whose addresses are
// known, which can show that, must not wait behind those that are to be looked up.
type outage struct {
	names  bool // that of the name servers
	on     atomic.Bool
	streak atomic.Int32 // failures since the last answer

	mu      sync.Mutex
	hosts   []urlkey.HostKey // of the last failures of the streak, to be forgiven
	seen    uint64           // one bit per address, by hash
	lost    uint64           // of seen, those of hosts that had answered before
	proved  bool             // one of the streak was no lookup
	lookups bool             // one of it was
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
	o.forget()
	o.on.Store(false)
	o.mu.Unlock()
}

// forget drops what the streak has shown.
func (o *outage) forget() {
	o.hosts, o.seen, o.lost, o.proved, o.lookups = o.hosts[:0], 0, 0, false, false
}

// failure is one that the network may have caused.
type failure struct {
	host     urlkey.HostKey
	addr     string // or what stands for it
	answered bool   // the host had answered before
	lookup   bool   // of the host's name
}

// failed adds a failure to the streak. If an outage begins with it, the hosts to forgive are returned.
func (o *outage) failed(f failure, now moment) []urlkey.HostKey {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.expired {
		return nil
	}
	bit := uint64(1) << (xxh3.HashString(f.addr) & 63)
	o.seen |= bit
	if f.answered {
		o.lost |= bit
	}
	o.proved = o.proved || !f.lookup
	o.lookups = o.lookups || f.lookup
	if o.on.Load() {
		most := outageMax
		if bits.OnesCount64(o.lost) >= outageHosts {
			most = outageMaxLost
		}
		if now.sub(o.since) > most { // it may be the hosts after all
			o.on.Store(false)
			o.expired = true
			o.forget()
		}
		return nil
	}
	n := o.streak.Add(1)
	if len(o.hosts) == outageStreak { // the newest failures are the network's, if any are
		o.hosts = slices.Delete(o.hosts, 0, 1)
	}
	o.hosts = append(o.hosts, f.host)
	if n < outageStreak || bits.OnesCount64(o.seen) < outageHosts || !o.proved && !o.names {
		return nil
	}
	o.on.Store(true)
	o.since, o.probe = now, now
	return slices.Clone(o.hosts)
}

// beginWith begins an outage of the name servers with one of the network, if failed lookups led to that.
func (o *outage) beginWith(network *outage, now moment) {
	network.mu.Lock()
	lookups := network.lookups
	network.mu.Unlock()
	o.mu.Lock()
	if lookups && !o.on.Load() {
		o.forget() // the network's hosts are forgiven
		o.expired = false
		o.streak.Add(1) // an answer ends it, whatever was counted
		o.on.Store(true)
		o.since, o.probe = now, now
	}
	o.mu.Unlock()
}

// may reports whether an outage may begin: there is none, and none has lasted too long.
func (o *outage) may() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.on.Load() && !o.expired
}

// forgave: another outage forgave these hosts, so this one must not do it again.
func (o *outage) forgave(hosts []urlkey.HostKey) {
	o.mu.Lock()
	o.hosts = slices.DeleteFunc(o.hosts, func(h urlkey.HostKey) bool { return slices.Contains(hosts, h) })
	o.mu.Unlock()
}

// ready reports whether a visit may start now, and if not, when the next may.
func (o *outage) ready(now moment) (ok bool, at moment) {
	if !o.on.Load() {
		return true, 0
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return now >= o.probe, o.probe
}

// take is ready for a visit that does start. The next may after the usual time, times rarer.
func (o *outage) take(now moment, rarer time.Duration) (ok bool, at moment) {
	if !o.on.Load() {
		return true, 0
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if now < o.probe {
		return false, o.probe
	}
	o.probe = now.add(rarer * max(outageProbe, now.sub(o.since)/outageSlower))
	return true, 0
}
