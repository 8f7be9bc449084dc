// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"time"

	"github.com/seine-crawler/seine/storage/invariants"
)

// admit: the host's own wait is over. It gets a visit, unless its address is busy or must wait, its domain has enough
// visits, or a budget is used up. The visit reserves the address: two hosts of one address are never ready together.
func (s *shard) admit(v *visitState, now moment) {
	a := v.addr
	if v.next > now { // with several visits at once, one of the others has met a pause since
		s.put(v, waiting, v.next)
		if v.next.sub(now) > longWait {
			s.waitFar(v)
		}
		s.passOn(a, now)
		return
	}
	switch {
	case a == nil:
	case a.busy >= s.o.PerHost:
		s.put(v, blocked, 0)
		a.enqueue(v)
		return
	case a.next > now:
		s.put(v, waiting, a.next)
		return
	}
	if !v.domain.enter(s.pace.perDomain) {
		s.put(v, waiting, now.add(domainRetry))
		s.passOn(a, now)
		return
	}
	n := 1
	if s.pace.wait(v) == 0 {
		n = min(s.o.VisitURLs, v.urls())
	}
	if n = v.spend(n); n == 0 {
		v.domain.active.Add(-1)
		s.overBudget(v, now)
		s.passOn(a, now)
		return
	}
	s.makeVisit(v, n, now)
}

// makeVisit queues a visit of n URLs, which may start now.
func (s *shard) makeVisit(v *visitState, n int, now moment) {
	if v.far {
		s.notFar(v)
	}
	visit := &v.visit
	if v.active > 0 {
		visit = &Visit{Addr: v.visit.Addr}
	}
	visit.Host, visit.state, visit.URLs = v.host, v, v.cut(n)
	visit.since = now
	visit.taken.Store(false)
	s.queued -= n
	s.visits++
	s.urls += uint64(n)
	if v.addr != nil {
		v.addr.busy++
	}
	v.active++
	visit.class, visit.dragged = v.class(), false
	s.enqueue(visit)
	s.put(v, ready, 0)
	if int(v.active) < s.o.PerHost && v.urls() > 0 {
		s.put(v, waiting, now.add(s.pace.wait(v)/time.Duration(s.o.PerHost)+1))
	}
	s.maybeRefill(v)
}

// enqueue puts a visit into the queue for the ring.
func (s *shard) enqueue(visit *Visit) {
	key, v := visit.since, visit.state
	if v.failures == 0 {
		key = key.add(-time.Duration(v.priority * float32(PriorityBonus)))
	}
	switch visit.class {
	case classSlow:
		s.slowReady.push(key, visit)
	case classUnknown:
		s.unknownReady.push(key, visit)
	default:
		s.ready.push(key, visit)
	}
}

// handedOver: the ring is about to take a visit.
func (s *shard) handedOver(visit *Visit) {
	v := visit.state
	if v.place != ready {
		return
	}
	if len(visit.URLs) > 1 && s.pace.wait(v) > 0 {
		s.shorten(visit)
	}
	s.put(v, inFlight, 0)
}

// shorten cuts a queued visit to one URL, because its host now has a delay.
func (s *shard) shorten(visit *Visit) {
	v, left := visit.state, visit.URLs[1:]
	visit.URLs = visit.URLs[:1:1]
	s.urls -= uint64(len(left))
	v.charge(&Outcome{Left: int32(len(left))})
	s.takeBack(v, left)
}

// takenBack: a visit that was handed over is not in the ring after all.
func (s *shard) takenBack(visit *Visit) {
	if v := visit.state; v.place == inFlight && visit == &v.visit {
		s.put(v, ready, 0)
	}
}

// overBudget: the host or its domain has cost as much as it may for now. After budgetRetry a refill shows whether it
// may have more.
func (s *shard) overBudget(v *visitState, now moment) {
	s.over++
	s.handBack(v)
	v.more = false
	v.due = now.add(budgetRetry)
	s.put(v, dormant, v.due)
}

// passOn gives the next host of an address its turn, when the one whose turn it was cannot use it.
func (s *shard) passOn(a *address, now moment) {
	if a == nil || a.busy > 0 || a.first == nil {
		return
	}
	first := a.first
	a.unqueue(first)
	s.put(first, waiting, max(a.next, now+1))
}

// done: a visit was returned.
func (s *shard) done(visit *Visit, out *Outcome, end, now moment) {
	v := visit.state
	valid := v.active > 0 && (v.place == inFlight || s.o.PerHost > 1)
	invariants.Assert(valid, "visit of %q returned while %s", v.host, v.place)
	if end == 0 || end > now {
		end = now
	}
	switch {
	case out.CrawlDelay > 0:
		v.crawlDelay = out.CrawlDelay
	case out.CrawlDelay < 0:
		v.crawlDelay = 0
	}
	requested := out.Kind != Skipped
	v.noteSpeed(visit, out)
	next, sleep := s.pace.after(v, out, end, s.rng)
	switch {
	case s.o.PerHost == 1:
		v.next = next
	case out.Kind != Fetched && out.Kind != Skipped: // of several visits at once, the longest pause counts
		v.next = max(v.next, next)
	}
	v.active--
	v.domain.active.Add(-1)
	v.charge(out)
	s.takeBack(v, visit.URLs[len(visit.URLs)-int(out.Left):])
	visit.URLs = nil
	s.releaseAddress(v, requested, end, now)
	if sleep {
		s.fallAsleep(v, next)
	}
	s.report(v, next, sleep)
	switch {
	case sleep:
	case v.place != inFlight && (v.place != dormant || v.urls() == 0):
		// Another visit to the host is in flight or about to be, or there are no URLs for one.
		s.maybeRefill(v)
	default:
		s.put(v, dormant, 0)
		elsewhere := requested && out.Addr.IsValid() && (v.addr == nil || v.addr.key != addressKey(out.Addr))
		if elsewhere && v.active == 0 {
			if s.settle(v, out.Addr, now) {
				return
			}
			v.addr.next = max(v.addr.next, end.add(s.pace.addressDelay))
		} else {
			s.park(v, now)
		}
		s.maybeRefill(v)
	}
}

// takeBack makes URLs of a visit that were not requested the host's next ones.
func (s *shard) takeBack(v *visitState, left []Candidate) {
	v.putBack(left)
	s.queued += len(left)
	s.withhold(v, len(left))
}

// fallAsleep stops visits to a host for long; its URLs return to the source.
func (s *shard) fallAsleep(v *visitState, until moment) {
	if v.place == blocked {
		v.addr.unqueue(v)
	}
	v.sleeps = min(v.sleeps+1, 1000)
	v.failures = 0
	s.handBack(v)
	s.put(v, asleep, until)
}

// forgive takes back a failure that the local network caused.
func (s *shard) forgive(v *visitState, now moment) {
	if v.failures == 0 && v.sleeps == 0 {
		return
	}
	v.failures = max(v.failures, 1) - 1
	v.next = now
	if v.place == asleep {
		v.sleeps = max(v.sleeps, 1) - 1
		v.failures = 0
		v.more = true
		s.put(v, dormant, now.add(time.Second))
		s.maybeRefill(v)
	}
	s.report(v, v.next, false)
}

// releaseAddress frees the address of a visit that ended and gives the next host in its queue its turn.
func (s *shard) releaseAddress(v *visitState, requested bool, end, now moment) {
	a := v.addr
	if a == nil {
		return
	}
	a.busy--
	if requested {
		a.next = max(a.next, end.add(s.pace.addressDelay))
	}
	if first := a.first; first != nil {
		a.unqueue(first)
		if at := max(a.next, first.next); at > now {
			s.put(first, waiting, at)
		} else {
			s.put(first, dormant, 0)
			s.admit(first, now)
		}
	}
}
