// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"container/heap"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/seine-crawler/seine/storage/invariants"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// shard is the frontier as a pure state machine: each method is something that happens at a time,
// and what is to be done about it is appended to ready, refills and dropped. It never waits, starts
// nothing and reads no clock, so a simulation drives the very code that crawls.
type shard struct {
	o         *Options
	rng       *rand.Rand
	hosts     map[urlkey.HostKey]*visitState
	addresses map[netip.Addr]*address
	timers    timerHeap
	counts    [placeCount]int
	queued    int
	refilling int
	refused   uint64
	visits    uint64
	throttled int // waiting hosts that were told to come back much later
	withheld  int // URLs of those

	ready   []*visitState // in the order of becoming ready; ready[readyHead:] are waiting for a fetcher
	head    int
	refills []urlkey.HostKey // wanted, each host once
	dropped []Candidate      // given up, to be told to the source
}

func newShard(o *Options) *shard {
	return &shard{o: o, rng: rand.New(rand.NewPCG(o.Seed, 2)), hosts: map[urlkey.HostKey]*visitState{}, addresses: map[netip.Addr]*address{}}
}

// move puts a visit state into another place. Places with a time have it in the timer heap.
func (s *shard) move(v *visitState, to place, at time.Time) {
	s.counts[v.place]--
	s.counts[to]++
	v.place = to
	if v.long {
		v.long = false
		s.throttled--
		s.withheld -= v.queued()
	}
	timed := to == waiting || to == asleep || to == dormant && !at.IsZero()
	switch {
	case timed && v.timer >= 0:
		v.at = at
		heap.Fix(&s.timers, v.timer)
	case timed:
		v.at = at
		heap.Push(&s.timers, v)
	case v.timer >= 0:
		heap.Remove(&s.timers, v.timer)
	}
}

// wake: the host may have due URLs. It reports whether there was room for it.
func (s *shard) wake(host urlkey.HostKey, now time.Time) bool {
	v := s.hosts[host]
	if v == nil {
		if len(s.hosts) >= s.o.MaxHosts {
			s.refused++
			return false
		}
		v = &visitState{host: host, timer: -1}
		s.hosts[host] = v
		s.counts[dormant]++
	}
	switch {
	case v.refilling:
		v.rewake = true
	case v.place == asleep:
		// It is asked when it wakes up, not before.
	default:
		v.more = true
		s.maybeRefill(v)
	}
	return true
}

// maybeRefill asks for more URLs when the window is low and there may be some.
func (s *shard) maybeRefill(v *visitState) {
	if v.refilling || !v.more || v.queued() > s.o.Window/4 {
		return
	}
	v.refilling = true
	s.refilling++
	s.refills = append(s.refills, v.host)
}

// refilled: the source answered for a host that refills named.
func (s *shard) refilled(host urlkey.HostKey, r *Refill, now time.Time) {
	v := s.hosts[host]
	invariants.Assert(v != nil && v.refilling, "refill of %q that was not asked for", host)
	v.refilling = false
	s.refilling--
	v.more = r.More || v.rewake
	v.rewake = false
	v.crawlDelay = max(v.crawlDelay, r.CrawlDelay)
	if r.NotBefore.After(v.next) {
		v.next = r.NotBefore
	}
	s.setAddress(v, r.Addr)
	v.due = r.NextDue
	v.add(r.URLs)
	s.queued += len(r.URLs)
	if v.long {
		s.withheld += len(r.URLs)
	}
	if v.place == asleep {
		s.giveUp(v)
		return
	}
	if v.place == dormant {
		s.park(v, now)
	}
	s.maybeRefill(v)
}

// setAddress makes a visit state refer to an address.
func (s *shard) setAddress(v *visitState, addr netip.Addr) {
	if !addr.IsValid() || v.addr != nil && (v.addr.addr == addr || v.place == blocked || v.place == ready || v.place == inFlight) {
		return
	}
	if v.addr != nil {
		s.leaveAddress(v)
	}
	a := s.addresses[addr]
	if a == nil {
		a = &address{addr: addr}
		s.addresses[addr] = a
	}
	a.hosts++
	v.addr = a
}

func (s *shard) leaveAddress(v *visitState) {
	a := v.addr
	v.addr = nil
	if a.hosts--; a.hosts == 0 {
		delete(s.addresses, a.addr)
	}
}

// park puts a host that is not in flight where it belongs: waiting if it has URLs, else dormant.
func (s *shard) park(v *visitState, now time.Time) {
	if v.queued() > 0 {
		s.move(v, waiting, v.next)
		if v.throttles > 0 && v.next.Sub(now) > longWait {
			v.long = true
			s.throttled++
			s.withheld += v.queued()
		}
		return
	}
	at := v.due
	if at.IsZero() {
		at = v.next // to be forgotten then
	} else if at.Before(v.next) {
		at = v.next
	}
	s.move(v, dormant, at)
}

// tick: time has passed. Every visit state whose time has come moves on.
func (s *shard) tick(now time.Time) {
	for len(s.timers) > 0 && !s.timers[0].at.After(now) {
		v := s.timers[0]
		switch v.place {
		case waiting:
			s.admit(v, now)
		case asleep:
			s.move(v, dormant, time.Time{})
			v.more = true
			s.maybeRefill(v)
		case dormant:
			s.dormantDue(v, now)
		}
	}
}

// dormantDue: something of a dormant host falls due, or there is nothing left to remember of it.
func (s *shard) dormantDue(v *visitState, now time.Time) {
	s.move(v, dormant, time.Time{})
	if !v.due.IsZero() && !v.due.After(now) {
		v.due = time.Time{}
		v.more = true
	}
	s.maybeRefill(v)
	if !v.refilling && v.due.IsZero() && v.failures == 0 && v.sleeps == 0 {
		if v.addr != nil {
			s.leaveAddress(v)
		}
		s.counts[dormant]--
		delete(s.hosts, v.host)
	}
}

// admit: a host's own time has come. It is ready unless its address is busy or must rest.
func (s *shard) admit(v *visitState, now time.Time) {
	a := v.addr
	switch {
	case a == nil:
	case a.busy != nil:
		s.move(v, blocked, time.Time{})
		a.queue = append(a.queue, v)
		return
	case a.next.After(now):
		s.move(v, waiting, a.next)
		return
	default:
		a.busy = v // reserved from here on: two hosts of one address are never ready together
	}
	s.move(v, ready, time.Time{})
	s.ready = append(s.ready, v)
}

// take: a fetcher takes the host that has been ready the longest; nil when none is.
func (s *shard) take() *Visit {
	if s.head == len(s.ready) {
		return nil
	}
	v := s.ready[s.head]
	s.ready[s.head] = nil
	if s.head++; s.head == len(s.ready) {
		s.ready, s.head = s.ready[:0], 0
	} else if s.head > 1024 && s.head > len(s.ready)/2 {
		s.ready, s.head = s.ready[:copy(s.ready, s.ready[s.head:])], 0
	}
	s.move(v, inFlight, time.Time{})
	c := v.take()
	s.queued--
	s.visits++
	s.maybeRefill(v)
	visit := &Visit{Candidate: c, Host: v.host, state: v}
	if v.addr != nil {
		visit.Addr = v.addr.addr
	}
	return visit
}

// done: a visit came back.
func (s *shard) done(visit *Visit, out *Outcome, now time.Time) (slept time.Time) {
	v := visit.state
	invariants.Assert(v.place == inFlight, "visit of %q given back from place %d", v.host, v.place)
	end := out.End
	if end.IsZero() || end.After(now) {
		end = now
	}
	if out.CrawlDelay > 0 {
		v.crawlDelay = out.CrawlDelay
	}
	if out.Kind == Fetched {
		v.responseTime, v.sleeps = out.ResponseTime, 0
	}
	next, sleep := s.o.after(v, out, end, s.rng)
	v.next = next
	s.releaseAddress(v, out, end, now)
	if out.Again {
		v.putBack(visit.Candidate)
		s.queued++
	}
	if sleep {
		v.sleeps++
		v.failures = 0
		s.giveUp(v)
		s.move(v, asleep, next)
		return next
	}
	s.park(v, now)
	s.maybeRefill(v)
	return time.Time{}
}

// giveUp hands a sleeping host's URLs back to the source.
func (s *shard) giveUp(v *visitState) {
	s.queued -= v.queued()
	s.dropped = append(s.dropped, v.drop()...)
}

// releaseAddress frees the address of a visit that ended and lets the next host in its queue go on.
func (s *shard) releaseAddress(v *visitState, out *Outcome, end, now time.Time) {
	a := v.addr
	if a != nil {
		a.busy = nil
		if out.Kind != Skipped {
			a.next = end.Add(s.o.AddressDelay)
		}
		if len(a.queue) > 0 {
			first := a.queue[0]
			a.queue = append(a.queue[:0], a.queue[1:]...)
			s.move(first, waiting, later(a.next, first.next))
		}
	}
	v.place = dormant // between two places, so that the address may change
	s.counts[inFlight]--
	s.counts[dormant]++
	s.setAddress(v, out.Addr)
	if v.addr != nil && v.addr != a && out.Kind != Skipped {
		v.addr.next = later(v.addr.next, end.Add(s.o.AddressDelay))
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// dry reports whether there is nothing to hand out until something is woken or falls due: no URL but
// those of hosts that asked to be left alone, and no refill that could bring one.
func (s *shard) dry() bool { return s.queued == s.withheld && s.refilling == 0 }

// nextTime is when tick has something to do; zero when never.
func (s *shard) nextTime() time.Time {
	if len(s.timers) == 0 {
		return time.Time{}
	}
	return s.timers[0].at
}
