// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"sync"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// unseen counts what hosts and domains with budgets have cost that crawldb does not know yet: their requests under way,
// and those in segments that updatedb has not seen. The frontier counts too, but forgets hosts. At the
// beginning of a crawl nothing is unseen, since it first updates what is left of segments. A fetch is told of segments
// that wait for updatedb by Source.Take and Source.Spent.
type unseen struct {
	admission *admission.Admission

	mu sync.Mutex
	// in has the costs by segment, then by host key or domain key; underWay stands for a segment.
	in map[uint32]map[string]frontier.Cost
	// loose are bytes by host of requests without an outcome of their own: for robots.txt, and those that were cut off
	// or are sent again. The host's next outcome counts them.
	loose map[urlkey.HostKey]int64
}

const underWay = 0 // no segment has this number

// begin counts a request that begins: pages is 1 if the URL was never requested before, else 0.
func (n *unseen) begin(host urlkey.HostKey, pages int64) {
	n.add(host, pages, underWay, frontier.Cost{})
}

// end forgets a request that ended without an outcome.
func (n *unseen) end(host urlkey.HostKey, pages int64) {
	n.add(host, -pages, underWay, frontier.Cost{})
}

// stored moves a request under way to the segment that has its outcome.
func (n *unseen) stored(host urlkey.HostKey, segment uint32, o frontier.Cost) {
	n.add(host, -o.URLs, segment, o)
}

// add counts begun requests that begin, or no longer are under way, and what an outcome in a segment has cost.
func (n *unseen) add(host urlkey.HostKey, begun int64, segment uint32, c frontier.Cost) {
	ofHost, ofDomain := n.limits(host)
	if !ofHost && !ofDomain {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if ofHost {
		n.addTo(underWay, string(host), frontier.Cost{URLs: begun})
		n.addTo(segment, string(host), c)
	}
	if ofDomain {
		n.addTo(underWay, host.DomainKey(), frontier.Cost{URLs: begun})
		n.addTo(segment, host.DomainKey(), c)
	}
}

// limits reports whether there is a limit for a host, and one for its domain.
func (n *unseen) limits(host urlkey.HostKey) (ofHost, ofDomain bool) {
	return n.admission.LimitsHost(host), n.admission.LimitsDomains()
}

// addTo adds a cost. n.mu is held.
func (n *unseen) addTo(segment uint32, key string, c frontier.Cost) {
	costs := n.in[segment]
	if costs == nil {
		if n.in == nil {
			n.in = map[uint32]map[string]frontier.Cost{}
		}
		costs = map[string]frontier.Cost{}
		n.in[segment] = costs
	}
	sum := costs[key]
	sum.Add(c)
	if costs[key] = sum; sum == (frontier.Cost{}) {
		delete(costs, key)
	}
}

// forget drops a segment that is updated. No refill may have an older snapshot. The sums of domains that are held may
// be older, and would lack its costs.
func (n *unseen) forget(segment uint32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for key := range n.in[segment] { // of a host, or of a domain
		n.admission.ForgetSum(key)
	}
	delete(n.in, segment)
}

// of returns what a host and its domain have cost that crawldb does not know in a snapshot. stale says that the
// snapshot has costs of the domain which a sum that is held may lack.
func (n *unseen) of(
	snap *storage.Snapshot, host urlkey.HostKey, domain string,
) (h, d frontier.Cost, stale bool, err error) {
	type part struct {
		segment uint32
		h, d    frontier.Cost
	}
	var parts []part
	n.mu.Lock()
	h.Bytes = n.loose[host]
	for segment, costs := range n.in {
		p := part{segment, costs[string(host)], costs[domain]}
		if p.h != (frontier.Cost{}) || p.d != (frontier.Cost{}) {
			parts = append(parts, p)
		}
	}
	n.mu.Unlock()
	for _, p := range parts {
		seg, ok, err := snap.Segment(p.segment)
		if err != nil {
			return h, d, stale, err
		}
		if !ok || seg.State < storage.SegmentUpdated {
			h.Add(p.h)
			d.Add(p.d)
		} else if p.d != (frontier.Cost{}) {
			stale = true
		}
	}
	return h, d, stale, nil
}

// addLoose counts bytes of a request that has no outcome of its own.
func (n *unseen) addLoose(host urlkey.HostKey, bytes int64) {
	if bytes == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, known := n.loose[host]; !known && len(n.loose) >= looseMax {
		return
	}
	if n.loose == nil {
		n.loose = map[urlkey.HostKey]int64{}
	}
	n.loose[host] += bytes
}

// takeLoose returns them for an outcome of the host.
func (n *unseen) takeLoose(host urlkey.HostKey) int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	bytes := n.loose[host]
	delete(n.loose, host)
	return bytes
}
