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

// shard is a part of the frontier, as a pure state machine. Each method is an event at a given time; it appends
// its effects to ready, unknownReady, slowReady, refills, moves, dropped and reports. A shard never waits, starts
// nothing and reads no clock, so a simulation drives the same code as a crawl.
type shard struct {
	o         *Options // without Delay and what depends on it: see pace
	pace      *pace    // for this step
	names     *registry
	home      func(netip.Addr) *shard // the shard that owns an address
	rng       *rand.Rand
	began     moment
	addresses map[netip.Addr]*address
	wheel     wheel
	inbox     inbox
	wakeup    chan struct{} // receives when the inbox is no longer empty or the ring has room again
	wakes     atomic.Int64  // the moment when the shard's goroutine wakes by itself; 0: it is at work
	late      atomic.Bool   // the inbox has, or gets, an event of which wakeup receives nothing
	mu        sync.Mutex    // held by the shard's goroutine during a step, by Stats and by SetFetchers
	backlog   atomic.Bool   // visits wait for room in the ring

	shareBacklog atomic.Bool // visits wait, perhaps for their class's share of the fetchers

	counts    [placeCount]int
	queued    int // URLs in windows
	refilling int
	withheld  int    // URLs of waiting hosts whose wait is longer than longWait
	throttled int    // of those hosts, those whose servers demanded it (429, 503)
	punished  int    // URLs of those
	failing   int    // waiting and blocked hosts whose last visit failed
	unnamed   int    // the others of these that were to be looked up while no name server answered
	stale     int    // addresses without hosts, kept until they may be visited again
	over      uint64 // Stats.OverSpent
	visits    uint64
	urls      uint64
	forgotten bool // a host was forgotten: there is room for another

	ready        readyQueue    // visits of classQuick
	unknownReady readyQueue    // of classUnknown
	slowReady    readyQueue    // of classSlow
	refills      []*visitState // requested, each host once
	moves        []*visitState // to the shards that own their addresses
	dropped      []drop        // calls of Options.OnDrop to make
	reports      []hostReport  // calls of Options.OnHost to make
}

// drop is a call of Options.OnDrop.
type drop struct {
	host urlkey.HostKey
	urls []Candidate
}

// hostReport is a call of Options.OnHost.
type hostReport struct {
	state     *visitState
	notBefore moment
	s         HostState
}

func newShard(o *Options, p *pace, names *registry, home func(netip.Addr) *shard, n int, began moment) *shard {
	s := &shard{
		o: o, pace: p, names: names, home: home, began: began,
		rng:       rand.New(rand.NewPCG(o.Seed, uint64(n))),
		addresses: map[netip.Addr]*address{},
		wakeup:    make(chan struct{}, 1),
	}
	s.wheel.now = uint64(began) >> tickBits
	return s
}

// put moves a visit state to another place. A waiting or sleeping state has a timer, set to at; a dormant one has
// one if at is not 0. If it was its turn at its address, it no longer is: passOn gives it to the next.
func (s *shard) put(v *visitState, to place, at moment) {
	s.counts[v.place]--
	s.counts[to]++
	v.place = to
	s.countTrouble(v)
	v.leaving = restNone
	if v.far {
		s.notFar(v)
	}
	if v.addr != nil && v.addr.turn == v {
		v.addr.turn = nil
	}
	if to == waiting || to == asleep || to == dormant && at != 0 {
		s.wheel.set(v, at)
	} else {
		s.wheel.stop(v)
	}
}

// countTrouble keeps failing and unnamed right when the place, the failures or noDNS of a host have changed.
func (s *shard) countTrouble(v *visitState) {
	waits := v.place == waiting || v.place == blocked
	recount(&s.failing, &v.failing, waits && v.failures > 0)
	recount(&s.unnamed, &v.unnamed, waits && v.failures == 0 && v.noDNS)
}

// recount keeps a number right of which a host is counted or not.
func recount(n *int, counted *bool, is bool) {
	switch {
	case is && !*counted:
		*n++
	case !is && *counted:
		*n--
	}
	*counted = is
}

// waitFar counts a waiting host as one whose wait is longer than longWait.
func (s *shard) waitFar(v *visitState) {
	v.far, v.punished = true, v.throttles > 0
	if v.punished {
		s.throttled++
	}
	s.withhold(v, v.urls())
}

func (s *shard) notFar(v *visitState) {
	s.withhold(v, -v.urls())
	if v.punished {
		s.throttled--
	}
	v.far, v.punished = false, false
}

// withhold counts n more URLs of a host, if its wait is long.
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
	s.register(v)
	switch {
	case v.refilling:
		v.rewake = true
	case v.place == asleep:
		// It is refilled when it wakes up.
	default:
		v.more = true
		s.maybeRefill(v)
	}
	if v.place == dormant && !v.refilling && !v.timer.on {
		s.put(v, dormant, now.add(time.Second)) // to be forgotten
	}
}

// register counts a new host.
func (s *shard) register(v *visitState) {
	if !v.registered {
		v.registered = true
		s.counts[dormant]++
	}
}

// ask: a URL of the host is to come before those of the source. A dormant host is refilled first, for its address and
// for what is known of it.
func (s *shard) ask(v *visitState, c Candidate) {
	s.register(v)
	if v.place == asleep || !v.prepend(c) {
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

// ahead returns how many visits to a host there may be in windowTime, which bounds its window.
func (s *shard) ahead(v *visitState) int {
	if d := s.pace.wait(v); d > 0 {
		return int(min(windowTime/d, windowMax))
	}
	return windowMax
}

// maybeRefill requests more URLs if the source may have some and the window is down to a quarter: of what it may hold,
// and of what it held after the last refill. Else each segment would have all hosts refilled that it has links to, most
// of which have little, for a URL or two.
func (s *shard) maybeRefill(v *visitState) {
	if v.refilling || !v.more {
		return
	}
	ahead := s.ahead(v)
	if left := v.urls() - int(v.fromAsk); left > s.names.window(s.o.MaxQueued, ahead)/4 || left > (int(v.held)+3)/4 {
		return
	}
	v.ahead = uint16(ahead)
	v.refilling = true
	s.refilling++
	s.refills = append(s.refills, v)
}

// refilled: the source returned a refill that was requested.
func (s *shard) refilled(v *visitState, r *Refill, notBefore, due, now moment) {
	invariants.Assert(v.refilling, "refill of %q that was not requested", v.host)
	v.refilling = false
	s.refilling--
	v.more = r.More || v.rewake
	v.rewake = false
	v.next = max(v.next, notBefore)
	if v.usualTime == 0 && v.failures == 0 && v.sleeps == 0 && v.throttles == 0 {
		v.responseTime, v.usualTime = r.ResponseTime, r.ResponseTime
		v.failures, v.sleeps = uint16(min(r.Failures, 1000)), uint16(min(r.Sleeps, 1000))
		v.throttles = uint16(min(r.Throttles, throttlesMax))
		v.reported = r.Failures > 0 || r.Sleeps > 0 || r.Throttles > 0
		s.countTrouble(v)
	}
	v.answered = v.answered || r.Answered
	v.crawlDelay = max(v.crawlDelay, r.CrawlDelay)
	if !r.failed {
		v.setDelay(r.Delay)
		s.setPerHost(v, r.PerHost)
		v.priority = r.Priority
		v.learn(r, s.names)
	}
	if s.o.Resume {
		v.next = max(v.next, s.began.add(s.pace.wait(v)))
	}
	v.due = due
	if r.Spent {
		s.over++
		if again := now.add(budgetRetry); due == 0 || due > again {
			v.due = again
		}
	}
	s.grow(v, r.URLs)
	v.held = uint16(min(v.urls(), windowMax))
	if v.place == dormant && v.active == 0 && r.Sleeps > 0 && notBefore > now {
		s.put(v, asleep, v.next) // as an earlier process left it
	}
	if v.place == asleep {
		s.handBack(v)
		s.rests(v, restAsleep, now)
		return
	}
	if v.place == dormant {
		if s.settle(v, r.Addr, 0, now) {
			return
		}
		if r.Spent && v.place == dormant && v.urls() == 0 && !v.more {
			s.restForBudget(v, now)
		}
	}
	s.maybeRefill(v)
}

// grow appends URLs to a window.
func (s *shard) grow(v *visitState, urls []Candidate) {
	v.add(urls)
	s.queued += len(urls)
	s.withhold(v, len(urls))
}

// settle gives a host without a visit in flight its address, and parks it. visited is when a visit to the host ended
// that has shown the address; 0: none has. If settle returns true, the host moves to the shard that owns the address
// and is no longer this one's.
func (s *shard) settle(v *visitState, addr netip.Addr, visited, now moment) (moving bool) {
	switch {
	case !addr.IsValid() || v.active > 0:
	case v.addr != nil && v.addr.key == addressKey(addr):
		v.visit.Addr = addr // of the same /64, perhaps another one
	default:
		if v.addr != nil {
			s.leaveAddress(v, now)
		}
		key := addressKey(addr)
		v.visit.Addr, v.visit.since = addr, visited
		if to := s.home(key); to != s {
			s.migrate(v)
			return true
		}
		s.joinAddress(v, key)
	}
	s.park(v, now)
	return false
}

// migrate takes a host out of this shard's counts; its visit state goes to the shard that owns its address.
func (s *shard) migrate(v *visitState) {
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

// joinAddress makes a host without a visit one of an address, which rests if it was just visited.
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
	if visited := v.visit.since; visited != 0 {
		a.next = max(a.next, visited.add(s.pace.addressDelay))
	}
}

func (s *shard) leaveAddress(v *visitState, now moment) {
	a := v.addr
	v.addr = nil
	a.hosts--
	s.passOn(a, now) // it may have been its turn
	switch {
	case a.hosts > 0:
	case a.next <= now:
		delete(s.addresses, a.key)
	default: // kept until it may be visited again
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

// park puts a host whose visit ended where it belongs: ready or waiting if it has URLs, else dormant.
func (s *shard) park(v *visitState, now moment) {
	if v.urls() > 0 {
		if v.next <= now {
			s.put(v, dormant, 0)
			s.admit(v, now)
			return
		}
		s.wait(v, v.next, now)
		return
	}
	at := max(v.next, now+1) // then it may be forgotten
	if v.addr != nil {
		at = max(at, v.addr.next)
	}
	if v.due != 0 && v.due.sub(now) <= rememberDue {
		at = max(v.due, at)
	}
	s.put(v, dormant, at)
	if v.throttles > 0 {
		s.rests(v, restIdle, now)
	}
}

// wait puts a host into the wheel until a time, and counts it as far if that is long.
func (s *shard) wait(v *visitState, until, now moment) {
	s.put(v, waiting, until)
	if until.sub(now) <= longWait {
		return
	}
	s.waitFar(v)
	if v.throttles > 0 {
		s.rests(v, restThrottled, now)
	}
}

// tick: time has passed. Every visit state whose timer has expired moves on.
func (s *shard) tick(now moment) {
	s.wheel.advance(now, func(v *visitState) {
		if v.leaving != restNone && s.leave(v, now) {
			return
		}
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

// dormantDue: a URL of a dormant host falls due, or the host may be forgotten.
func (s *shard) dormantDue(v *visitState, now moment) {
	if v.due != 0 && v.due <= now {
		v.due = 0
		v.more = true
	}
	s.maybeRefill(v)
	switch {
	case v.refilling:
	case v.active > 0:
		s.put(v, dormant, now.add(time.Second))
	case v.due != 0 && v.due.sub(now) <= rememberDue:
		s.put(v, dormant, v.due)
	default:
		s.forget(v, now)
	}
}

// forget drops a host whose waits have passed. The source knows the rest.
func (s *shard) forget(v *visitState, now moment) {
	if !s.names.forget(v, 0) {
		s.put(v, dormant, now.add(time.Second))
		return
	}
	s.gone(v, now)
}

// gone counts out a host that the registry has forgotten.
func (s *shard) gone(v *visitState, now moment) {
	s.put(v, dormant, 0)
	s.counts[dormant]--
	s.forgotten = true
	if v.addr != nil {
		s.leaveAddress(v, now)
	}
}

// handBack returns a host's URLs to the source, through Options.OnDrop.
func (s *shard) handBack(v *visitState) {
	s.queued -= v.urls()
	s.withhold(v, -v.urls())
	if left := v.drop(); len(left) > 0 {
		s.dropped = append(s.dropped, drop{v.host, left})
	}
}

// report records a call of Options.OnHost if the host is in trouble, or was when it was last reported.
func (s *shard) report(v *visitState, notBefore moment, asleep bool) {
	trouble := asleep || v.failures > 0 || v.throttles > 0
	if !trouble && !v.reported {
		return
	}
	v.reported = trouble
	s.reports = append(s.reports, hostReport{v, notBefore, HostState{
		Failures:     int(v.failures),
		Sleeps:       int(v.sleeps),
		Throttles:    int(v.throttles),
		ResponseTime: v.responseTime,
		Asleep:       asleep,
	}})
}

// dry reports whether there is nothing to hand out soon: no URLs except those of hosts with a long wait, and no refill
// that could bring one.
func (s *shard) dry() bool { return s.queued == s.withheld && s.refilling == 0 }
