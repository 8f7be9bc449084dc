// SPDX-License-Identifier: Apache-2.0

package frontier

// Stats describes the frontier at one moment. Counters begin with New. Hosts that were forgotten while they rest count
// in Waiting, Throttled and Asleep too, though not in Hosts; of very many, those beyond twice Options.MaxHosts do not.
type Stats struct {
	Hosts     int // in memory
	Ready     int // hosts with a visit that a fetcher may take
	Waiting   int // hosts with URLs that wait for their delay or their address
	Throttled int // of Waiting, those that wait longer than a few seconds because their servers demand it (429, 503)
	Failing   int // of Waiting, those whose last visit failed
	Unnamed   int // of Waiting, those that were to be looked up while no name server answered
	InFlight  int // visits with fetchers
	Slow      int // of InFlight, those of slow hosts, or that became slow meanwhile
	Late      int // of Slow, the latter, which extra fetchers stand in for
	SlowReady int // of Ready, those of slow hosts, which wait for their share of the fetchers
	Refilling int
	Asleep    int    // hosts that failed too often
	Dormant   int    // hosts without due URLs
	Queued    int    // URLs in windows
	Withheld  int    // of Queued, those of hosts that must wait more than a few seconds
	Punished  int    // of Queued, those of Throttled hosts
	Addresses int    // in memory
	Visits    uint64 // made since New
	URLs      uint64 // of those
	OverSpent uint64 // times that the budget of a host or of its domain stopped a visit
	Refused   uint64 // wakes refused for lack of room
	// Pending counts events not handled, OnHost's calls included, and calls of Source.Hosts in progress or about
	// to be made.
	Pending int
	Outage  bool // the local network seems to be cut
	NoDNS   bool // no name server seems to answer; hosts whose addresses are known go on
	// Full says that wakes were refused and there is no room yet. Hosts in memory make some when their waits have
	// passed, within minutes; Source.Hosts is called then.
	Full bool
}

// Soon reports whether the frontier has something to hand out, or may have within seconds.
func (s *Stats) Soon() bool { return s.Queued > s.Withheld || s.Refilling > 0 || s.Pending > 0 }

// Stats returns the current numbers, consistent across all shards. Any goroutine may call it. It waits for the
// steps in which the shards are.
func (f *Frontier) Stats() Stats {
	// Work goes from refused to pulling, from there to pending, and from there to a shard. Each place counts it before
	// the one before forgets it, so they are read in this order: in another one a host that moves on meanwhile is
	// missed, and a crawl that has just begun looks done.
	refused, room := f.refused.Load() > 0 || f.midway.Load(), f.hasRoom()
	pulling := f.pulling.Load()
	for _, s := range f.shards {
		s.mu.Lock()
	}
	st := Stats{Hosts: int(f.names.hosts.Load()), Refused: f.refusedTotal.Load(), Outage: f.outage.on.Load()}
	st.NoDNS = f.noDNS.on.Load()
	slept, paused := int(f.names.resting[restAsleep].Load()), int(f.names.resting[restThrottled].Load())
	st.Asleep, st.Waiting, st.Throttled = slept, paused, paused
	st.Pending = int(f.pending.Load() + pulling)
	if st.Full = refused && !room; refused && room {
		st.Pending++
	}
	for _, s := range f.shards {
		st.Ready += s.counts[ready]
		st.InFlight += s.counts[inFlight]
		st.SlowReady += len(s.slowReady)
		st.Waiting += s.counts[waiting] + s.counts[blocked]
		st.Asleep += s.counts[asleep]
		st.Dormant += s.counts[dormant]
		st.Throttled += s.throttled
		st.Failing += s.failing
		st.Unnamed += s.unnamed
		st.Refilling += s.refilling
		st.Queued += s.queued
		st.Withheld += s.withheld
		st.Punished += s.punished
		st.Addresses += len(s.addresses)
		st.Visits += s.visits
		st.URLs += s.urls
		st.OverSpent += s.over
	}
	inRing := min(f.ring.Load().len(), st.InFlight)
	st.Ready, st.InFlight = st.Ready+inRing, st.InFlight-inRing
	st.Late = min(int(f.late.Load()), st.InFlight)
	st.Slow = min(st.Late+int(f.slow.Load()), st.InFlight)
	for _, s := range f.shards {
		s.mu.Unlock()
	}
	return st
}
