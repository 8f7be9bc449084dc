// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"net/netip"
	"time"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// Where is where a host is.
type Where uint8

// The places of a host.
const (
	Absent    Where = iota // not in memory
	Resting                // not in memory until Host.Next: it must not be visited for long
	Dormant                // without URLs
	Refilling              // without URLs; they have been requested from the source
	Waiting                // for its time
	Turn                   // its time has come; it waits for a host that shares its address
	Ready                  // has a visit, which waits for room before the fetchers
	InFlight               // its visit is with a fetcher, or is one of the next to be taken
	Asleep                 // until Host.Next: it failed too often
)

// Host is one host as the frontier has it. If it is not in memory, only Where is set, and Next if it rests.
type Host struct {
	Where    Where
	URLs     int           // in memory, those of visits that were not returned aside
	Visits   int           // made and not returned
	More     bool          // the source has more
	Next     time.Time     // it is not visited before; in the past, or zero: it may be
	Delay    time.Duration // from the end of a visit to the start of the next
	Because  HeldBecause   // what Delay, or a longer wait, comes from
	Addr     netip.Addr    // that it shares with others: see Options.AddressDelay; zero: not known
	Response time.Duration // of its last visit, to the last byte; 0: not known

	Failures, Throttles int // in a row
}

// Host describes one host. Any goroutine may call it. It waits for the steps in which the shards are.
func (f *Frontier) Host(h urlkey.HostKey) (host Host) {
	for _, s := range f.shards {
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	hash := hostHash(h)
	s := &f.names.stripe[hash%stripes]
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.by[h]
	if v == nil {
		if until, ok := s.resting[hash]; ok && until.until() > f.now() {
			return Host{Where: Resting, Next: f.time(until.until())}
		}
		return Host{}
	}
	p := f.pace.Load()
	host = Host{
		Where: v.where(), URLs: v.urls(), Visits: int(v.active), More: v.more,
		Delay: p.between(v), Because: p.because(v),
		Response: v.responseTime, Failures: int(v.failures), Throttles: int(v.throttles),
	}
	if v.next != 0 {
		host.Next = f.time(v.next)
	}
	if v.addr != nil {
		host.Addr = v.addr.key
	}
	return host
}

// where is the place of a host, for others.
func (v *visitState) where() Where {
	switch v.place {
	case waiting:
		return Waiting
	case blocked:
		return Turn
	case ready:
		return Ready
	case inFlight:
		return InFlight
	case asleep:
		return Asleep
	}
	if v.refilling {
		return Refilling
	}
	return Dormant
}
