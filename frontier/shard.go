// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seine-crawler/seine/storage/invariants"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// shard is a part of the frontier as a pure state machine: each method is something that happens at a
// time, and what is to be done about it is appended to ready, refills, moves, dropped and told. It
// never waits, starts nothing and reads no clock, so a simulation drives the very code that crawls.
type shard struct {
	o         *Options // but for Delay and what depends on it: see pace
	pace      *pace    // in force for this step
	names     *registry
	home      func(netip.Addr) *shard // the shard that owns an address
	rng       *rand.Rand
	began     moment
	addresses map[netip.Addr]*address
	wheel     wheel
	inbox     inbox
	bell      chan struct{} // the inbox is no longer empty, or the ring has room again
	mu        sync.Mutex    // held by the shard's goroutine while it works, and by Stats
	backlog   atomic.Bool   // visits wait for room in the ring

	lateBacklog atomic.Bool // visits of slow hosts wait for one of their fetchers

	counts    [placeCount]int
	queued    int // URLs in windows
	refilling int
	far       int // waiting hosts that have to wait long
	withheld  int // URLs of those
	throttled int // of far, those that asked for it (429, 503)
	punished  int // URLs of those
	stale     int // addresses without hosts that must be remembered for a moment
	over      uint64
	visits    uint64
	urls      uint64
	forgotten bool // a host was forgotten: there is room for another

	ready   readyQueue
	late    readyQueue    // visits of slow hosts
	refills []*visitState // wanted, each host once
	moves   []*visitState // to the shard that owns their address
	dropped []drop        // given up, to be told to the source
	told    []hostNews
}

// drop is a call of Options.OnDrop.
type drop struct {
	host urlkey.HostKey
	urls []Candidate
}

// hostNews is a call of Options.OnHost.
type hostNews struct {
	state     *visitState
	notBefore moment
	s         HostState
}

func newShard(o *Options, p *pace, names *registry, home func(netip.Addr) *shard, n int, began moment) *shard {
	s := &shard{
		o: o, pace: p, names: names, home: home, began: began,
		rng:       rand.New(rand.NewPCG(o.Seed, uint64(n))),
		addresses: map[netip.Addr]*address{},
		bell:      make(chan struct{}, 1),
	}
	s.wheel.now = uint64(began) >> tickBits
	return s
}

// put moves a visit state into another place. Waiting and sleeping states have a timer at a time, and
// so do dormant ones with something to come.
func (s *shard) put(v *visitState, to place, at moment) {
	s.counts[v.place]--
	s.counts[to]++
	v.place = to
	if v.far {
		s.notFar(v)
	}
	if to == waiting || to == asleep || to == dormant && at != 0 {
		s.wheel.set(v, at)
	} else {
		s.wheel.stop(v)
	}
}

// waitFar counts a waiting host as one that has to wait long.
func (s *shard) waitFar(v *visitState) {
	v.far, v.punished = true, v.throttles > 0
	s.far++
	if v.punished {
		s.throttled++
	}
	s.withhold(v, v.urls())
}

func (s *shard) notFar(v *visitState) {
	s.withhold(v, -v.urls())
	s.far--
	if v.punished {
		s.throttled--
	}
	v.far, v.punished = false, false
}

// withhold counts n URLs more of a host, if it has to wait long.
func (s *shard) withhold(v *visitState, n int) {
	if v.far {
		s.withheld += n
	}
	if v.punished {
		s.punished += n
	}
}

// wake: the host may have due URLs.
func (s *shard) wake(v *visitState, now moment) {
	s.bear(v)
	switch {
	case v.refilling:
		v.rewake = true
	case v.place == asleep:
		// It is asked when it wakes up, not before.
	default:
		v.more = true
		s.maybeRefill(v)
	}
	if v.place == dormant && !v.refilling && !v.timer.on {
		s.put(v, dormant, now.add(time.Second)) // to be forgotten
	}
}

// bear counts a host that is new here.
func (s *shard) bear(v *visitState) {
	if !v.born {
		v.born = true
		s.counts[dormant]++
	}
}

// ask: the caller wants a URL of the host asked for in its turn, before what the source gave. A host that
// is dormant is refilled first, for its address and for what is remembered of it.
func (s *shard) ask(v *visitState, c Candidate) {
	s.bear(v)
	if v.place == asleep || !v.askFor(c) {
		s.dropped = append(s.dropped, drop{v.host, []Candidate{c}})
		return
	}
	s.queued++
	s.withhold(v, 1)
	if v.place == dormant {
		v.more = true
		s.maybeRefill(v)
	}
}

// ahead is how many visits to a host there may be in windowTime, and so the bound of its window.
func (s *shard) ahead(v *visitState) int {
	if d := s.pace.wait(v); d > 0 {
		return int(min(windowTime/d, windowMax))
	}
	return windowMax
}

// maybeRefill asks for more URLs when the window is low and there may be some.
func (s *shard) maybeRefill(v *visitState) {
	if v.refilling || !v.more {
		return
	}
	ahead := s.ahead(v)
	if v.urls() > s.names.window(s.o.MaxQueued, ahead)/4 {
		return
	}
	v.ahead = int32(ahead)
	v.refilling = true
	s.refilling++
	s.refills = append(s.refills, v)
}

// refilled: the source answered for a host that refills named.
func (s *shard) refilled(v *visitState, r *Refill, notBefore, due, now moment) {
	invariants.Assert(v.refilling, "refill of %q that was not asked for", v.host)
	v.refilling = false
	s.refilling--
	v.more = r.More || v.rewake
	v.rewake = false
	v.next = max(v.next, notBefore)
	if v.usualTime == 0 && v.failures == 0 && v.sleeps == 0 {
		v.responseTime, v.usualTime = r.ResponseTime, r.ResponseTime
		v.failures, v.sleeps = uint16(min(r.Failures, 1000)), uint16(min(r.Sleeps, 1000))
		v.told = r.Failures > 0 || r.Sleeps > 0
	}
	v.crawlDelay = max(v.crawlDelay, r.CrawlDelay)
	if !r.failed {
		v.setDelay(r.Delay)
		v.priority = r.Priority
		v.learn(r, s.names)
	}
	if s.o.Resume {
		v.next = max(v.next, s.began.add(s.pace.wait(v)))
	}
	v.due = due
	s.grow(v, r.URLs)
	if v.place == asleep {
		s.giveUp(v)
		return
	}
	if v.place == dormant {
		if s.settle(v, r.Addr, now) {
			return
		}
	}
	s.maybeRefill(v)
}

// grow adds URLs to a window.
func (s *shard) grow(v *visitState, urls []Candidate) {
	v.add(urls)
	s.queued += len(urls)
	s.withhold(v, len(urls))
}

// settle gives a host that is in no address's hands its address, and parks it. It reports whether the
// host goes to another shard for that; then it is no longer this one's.
func (s *shard) settle(v *visitState, addr netip.Addr, now moment) (moving bool) {
	if addr.IsValid() && v.flying == 0 && (v.addr == nil || v.addr.key != addressKey(addr)) {
		if v.addr != nil {
			s.leaveAddress(v, now)
		}
		key := addressKey(addr)
		v.visit.Addr = addr
		if to := s.home(key); to != s {
			s.emigrate(v)
			return true
		}
		s.joinAddress(v, key)
	}
	s.park(v, now)
	return false
}

// emigrate takes a host out of this shard's books; its visit state goes to the one that owns its
// address.
func (s *shard) emigrate(v *visitState) {
	s.put(v, dormant, 0)
	s.counts[dormant]--
	s.queued -= v.urls()
	if v.refilling {
		s.refilling--
	}
	s.moves = append(s.moves, v)
}

// adopt: a host comes from another shard.
func (s *shard) adopt(v *visitState, now moment) {
	s.counts[dormant]++
	s.queued += v.urls()
	if v.refilling {
		s.refilling++
	}
	s.joinAddress(v, addressKey(v.visit.Addr))
	s.park(v, now)
	s.maybeRefill(v)
}

func (s *shard) joinAddress(v *visitState, key netip.Addr) {
	a := s.addresses[key]
	if a == nil {
		a = &address{key: key}
		if s.o.Resume {
			a.next = s.began.add(s.pace.addressDelay)
		}
		s.addresses[key] = a
	}
	a.hosts++
	v.addr = a
}

func (s *shard) leaveAddress(v *visitState, now moment) {
	a := v.addr
	v.addr = nil
	a.hosts--
	switch {
	case a.hosts > 0:
	case a.next <= now:
		delete(s.addresses, a.key)
	default: // it must not be forgotten before it may be asked again
		if s.stale++; s.stale > len(s.addresses)/2+1024 {
			s.stale = 0
			for key, a := range s.addresses {
				if a.hosts == 0 && a.next <= now {
					delete(s.addresses, key)
				}
			}
		}
	}
}

// park puts a host that may be visited again where it belongs: ready or waiting if it has URLs, else
// dormant.
func (s *shard) park(v *visitState, now moment) {
	if v.urls() > 0 {
		if v.next <= now {
			s.put(v, dormant, 0)
			s.admit(v, now)
			return
		}
		s.put(v, waiting, v.next)
		if v.next.sub(now) > longWait {
			s.waitFar(v)
		}
		return
	}
	at := max(v.next, now+1) // to be forgotten then
	if v.addr != nil {
		at = max(at, v.addr.next)
	}
	if v.due != 0 && v.due.sub(now) <= rememberDue {
		at = max(v.due, at)
	}
	s.put(v, dormant, at)
}

// tick: time has passed. Every visit state whose time has come moves on.
func (s *shard) tick(now moment) {
	s.wheel.advance(now, func(v *visitState) {
		switch v.place {
		case waiting:
			s.admit(v, now)
		case asleep:
			s.put(v, dormant, 0)
			v.more = true
			s.maybeRefill(v)
		case dormant:
			s.dormantDue(v, now)
		}
	})
}

// dormantDue: something of a dormant host falls due, or there is nothing left to remember of it.
func (s *shard) dormantDue(v *visitState, now moment) {
	if v.due != 0 && v.due <= now {
		v.due = 0
		v.more = true
	}
	s.maybeRefill(v)
	switch {
	case v.refilling:
	case v.flying > 0:
		s.put(v, dormant, now.add(time.Second))
	case v.due != 0 && v.due.sub(now) <= rememberDue:
		s.put(v, dormant, v.due)
	default:
		s.forget(v, now)
	}
}

// forget drops a host of which there is nothing to remember that the source does not know.
func (s *shard) forget(v *visitState, now moment) {
	if !s.names.forget(v) {
		s.put(v, dormant, now.add(time.Second))
		return
	}
	s.put(v, dormant, 0)
	s.counts[dormant]--
	s.forgotten = true
	if v.addr != nil {
		s.leaveAddress(v, now)
	}
}

// giveUp hands a host's URLs back to the source.
func (s *shard) giveUp(v *visitState) {
	s.queued -= v.urls()
	s.withhold(v, -v.urls())
	if left := v.drop(); len(left) > 0 {
		s.dropped = append(s.dropped, drop{v.host, left})
	}
}

// tell notes news of a host for the one who keeps them over restarts.
func (s *shard) tell(v *visitState, notBefore moment, asleep bool) {
	trouble := asleep || v.failures > 0 || v.throttles > 0
	if !trouble && !v.told {
		return
	}
	v.told = trouble
	s.told = append(s.told, hostNews{v, notBefore, HostState{Failures: int(v.failures), Sleeps: int(v.sleeps), ResponseTime: v.responseTime, Asleep: asleep}})
}

// dry reports whether there is nothing to hand out soon: no URL but those of hosts that have to wait
// long, and no refill that could bring one.
func (s *shard) dry() bool { return s.queued == s.withheld && s.refilling == 0 }
