// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"cmp"
	"slices"
	"time"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// Held is a host that has URLs and must wait, or that sleeps.
type Held struct {
	Host      urlkey.HostKey
	URLs      int           // in memory; a sleeping host has none there
	More      bool          // the source has more
	Next      time.Time     // when the host may be visited next; in the past: it is being visited, or its address is
	Delay     time.Duration // from the end of a visit to the start of the next
	Because   HeldBecause
	Remaining time.Duration // until its URLs in memory are fetched, if nothing changes
}

// HeldBecause says what the wait of a host comes from.
type HeldBecause uint8

// The reasons.
const (
	HeldByDelay        HeldBecause = iota // the configured delay
	HeldByCrawlDelay                      // that of its robots.txt
	HeldBySlowness                        // its own response time
	HeldByThrottle                        // it demanded a pause (429, 503)
	HeldByFailures                        // its last visits failed
	HeldByAddress                         // a host on the same address is being visited
	HeldByAddressDelay                    // Options.AddressDelay, which is longer than the host's own delay
	HeldByDNS                             // its name is to be looked up, and no name server answered
)

// Held returns the n hosts that will take the longest, the longest first, sleeping hosts last. With more than
// heldHostsMax hosts in memory it returns nil: no few of them hold up all, and looking at each would hold up the
// shards. Any goroutine may call it. It waits for the steps in which the shards are.
func (f *Frontier) Held(n int) []Held {
	if f.names.hosts.Load() > heldHostsMax {
		return nil
	}
	now := f.now()
	for _, s := range f.shards {
		s.mu.Lock()
	}
	p := f.pace.Load()
	var list []Held
	for i := range f.names.stripe {
		s := &f.names.stripe[i]
		s.mu.Lock()
		for _, v := range s.by {
			if h, ok := p.held(v, now); ok {
				h.Next = f.time(v.next)
				list = append(list, h)
			}
		}
		s.mu.Unlock()
	}
	for _, s := range f.shards {
		s.mu.Unlock()
	}
	slices.SortFunc(list, func(a, b Held) int {
		awake := func(h Held) int { return -min(h.URLs, 1) }
		return cmp.Or(cmp.Compare(awake(a), awake(b)), cmp.Compare(b.Remaining, a.Remaining),
			cmp.Compare(a.Host, b.Host))
	})
	return list[:min(n, len(list))]
}

// held describes a host; ok is false if nothing of it waits.
func (p *pace) held(v *visitState, now moment) (h Held, ok bool) {
	waits := v.urls() > 0 || v.place == inFlight || v.place == ready
	if !v.registered || v.place != asleep && !waits {
		return h, false
	}
	h = Held{Host: v.host, URLs: v.urls() + int(v.active), More: v.more, Delay: p.between(v), Because: p.because(v)}
	if v.place == asleep {
		h.URLs = 0
	}
	each := h.Delay + v.responseTime
	h.Remaining = max(v.next.sub(now), 0) + time.Duration(max(h.URLs-1, 0))*each
	return h, true
}

// because says what the wait of a host comes from.
func (p *pace) because(v *visitState) HeldBecause {
	crawlDelay := min(v.crawlDelay, p.o.MaxCrawlDelay)
	switch {
	case v.place == asleep || v.failures > 0:
		return HeldByFailures
	case v.throttles > 0:
		return HeldByThrottle
	case v.noDNS:
		return HeldByDNS
	case v.place == blocked:
		return HeldByAddress
	case p.between(v) > p.wait(v):
		return HeldByAddressDelay
	case v.responseTime > max(p.least(v), crawlDelay) || v.slow > 0:
		return HeldBySlowness
	case crawlDelay > p.least(v):
		return HeldByCrawlDelay
	}
	return HeldByDelay
}
