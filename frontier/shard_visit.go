// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"time"

	"github.com/seine-crawler/seine/storage/invariants"
)

// admit: the host's own wait is over. It gets a visit, unless its address is busy or must wait, its domain has enough
// visits, or a budget is used up. The visit reserves the address: of hosts that may have one visit at once no two of
// one address are ready together.
func (s *shard) admit(v *visitState, now moment) {
	a := v.addr
	// With several visits at once, one of the others may have met a pause since.
	if v.next = max(v.next, s.nextStart(v, now)); v.next > now {
		s.wait(v, v.next, now)
		s.passOn(a, now)
		return
	}
	switch {
	case a == nil:
	case a.busy >= s.perHost(v) || a.turn != v && (a.turn != nil || a.first != nil):
		s.put(v, blocked, 0)
		a.enqueue(v)
		return
	case a.next > now:
		s.wait(v, a.next, now)
		a.turn = v
		return
	}
	ofDomain := s.pace.perDomain
	if ofDomain > 0 {
		ofDomain = max(ofDomain, s.perHost(v)) // the host is of the domain, whose bound is for many hosts
	}
	if !v.domain.enter(ofDomain) {
		s.wait(v, now.add(domainRetry), now)
		s.passOn(a, now)
		return
	}
	most := 1
	if s.pace.between(v) == 0 && !v.metered() {
		most = s.o.VisitURLs
	}
	n := v.spend(min(most, v.urls()))
	if n == 0 && s.dropUncounted(v) {
		n = v.spend(min(most, v.urls()))
	}
	if n == 0 {
		v.domain.active.Add(-1)
		s.overBudget(v, now)
		s.passOn(a, now)
		return
	}
	s.makeVisit(v, n, now)
	s.passOn(a, now) // to a host that may have several visits beside this one
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
	if v.several != nil {
		v.several.untaken.Add(1)
	}
	s.queued -= n
	s.visits++
	s.urls += uint64(n)
	if v.addr != nil {
		v.addr.busy++
	}
	v.active++
	visit.class, visit.dragged, visit.answered = v.class(), false, v.answered || v.usualTime > 0
	s.enqueue(visit)
	s.put(v, ready, 0)
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

// handedOver: the ring is about to take a visit. A host that may have several at once waits for the next.
func (s *shard) handedOver(visit *Visit, now moment) {
	v := visit.state
	if len(visit.URLs) > 1 && s.pace.between(v) > 0 && v.place != asleep {
		s.shorten(visit)
	}
	visit.patient = s.patient(v)
	if v.place != ready { // one of several
		return
	}
	s.put(v, inFlight, 0)
	if int(v.active) < s.perHost(v) && v.urls() > 0 {
		s.wait(v, max(v.next, s.nextStart(v, now), now+1), now)
	}
}

// patient reports whether nothing can begin within patientDelay of the end of a visit to a host that it holds up.
func (s *shard) patient(v *visitState) bool {
	alone := v.addr == nil || v.addr.hosts == 1
	return v.several == nil && s.pace.wait(v) >= patientDelay && (alone || s.pace.addressDelay >= patientDelay)
}

// shorten cuts a queued visit to one URL, because its host, or its address, now has a delay.
func (s *shard) shorten(visit *Visit) {
	v, left := visit.state, visit.URLs[1:]
	visit.URLs = visit.URLs[:1:1]
	s.urls -= uint64(len(left))
	v.charge(&Outcome{}, left)
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
	s.restForBudget(v, now)
}

// restForBudget: a host has nothing that its budgets allow before something falls due.
func (s *shard) restForBudget(v *visitState, now moment) {
	s.put(v, dormant, v.due)
	s.rests(v, restBudget, now)
}

// dropUncounted returns the URLs of a host to the source that no budget counts yet, if there are others. It reports
// whether it did.
func (s *shard) dropUncounted(v *visitState) bool {
	left := v.urls()
	n := uncounted(v.window[v.head:])
	if n == 0 || n == left {
		return false
	}
	fromAsk := int(v.fromAsk)
	fromAsk -= uncounted(v.window[v.head : int(v.head)+fromAsk])
	counted, dropped := make([]Candidate, 0, left-n), make([]Candidate, 0, n)
	for _, c := range v.drop() {
		if c.Counted {
			counted = append(counted, c)
		} else {
			dropped = append(dropped, c)
		}
	}
	v.add(counted)
	v.fromAsk, v.more = uint16(fromAsk), true
	s.over++
	s.queued -= n
	s.withhold(v, -n)
	s.dropped = append(s.dropped, drop{v.host, dropped})
	return true
}

// passOn gives the first host in the queue of an address its turn, if the one whose turn it was has used it or cannot.
func (s *shard) passOn(a *address, now moment) {
	if first := s.dequeue(a); first != nil {
		s.wait(first, max(a.next, now+1), now)
		a.turn = first
	}
}

// dequeue takes the first host out of the queue of an address, if there it may have one visit more now. Others wait
// behind it until then, even those that may have several at once: else these would never let the address rest.
func (s *shard) dequeue(a *address) *visitState {
	if a == nil || a.turn != nil || a.first == nil || a.busy >= s.perHost(a.first) {
		return nil
	}
	first := a.first
	a.unqueue(first)
	return first
}

// done: a visit was returned.
func (s *shard) done(visit *Visit, out *Outcome, end, now moment) {
	v := visit.state
	valid := v.active > 0 && (v.place == inFlight || v.several != nil)
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
	requested, slept := out.Kind != Skipped, v.place == asleep
	v.noteSpeed(visit, out)
	v.noDNS = out.Kind == Skipped && out.NoDNS
	sleep := s.rest(v, out, end)
	s.countTrouble(v)
	v.active--
	v.domain.active.Add(-1)
	left := visit.URLs[len(visit.URLs)-int(out.Left):]
	v.charge(out, left)
	s.takeBack(v, left)
	visit.URLs = nil
	s.releaseAddress(v, requested, end, now)
	switch {
	case sleep:
		s.fallAsleep(v, now)
	case slept:
		s.doneAsleep(v, now)
	}
	s.report(v, v.next, sleep)
	switch {
	case sleep, slept:
	case v.place != inFlight && (v.place != dormant || v.urls() == 0):
		// Another visit to the host is in flight or about to be, or there are no URLs for one.
		s.maybeRefill(v)
	default:
		s.put(v, dormant, 0)
		if !requested {
			s.park(v, now)
		} else if s.settle(v, out.Addr, end, now) {
			return
		}
		s.maybeRefill(v)
	}
}

// rest sets the time of a host's next visit by the outcome of one, and reports whether the host falls asleep.
func (s *shard) rest(v *visitState, out *Outcome, end moment) (sleep bool) {
	if v.place == asleep && out.Kind == HostFailure {
		return false // another visit failed with it
	}
	next, sleep := s.pace.after(v, out, end, s.rng)
	switch {
	case v.several == nil:
		v.next = next
		return sleep
	case out.Kind != Fetched && out.Kind != Skipped: // of several visits at once, the longest pause counts
		v.next = max(v.next, next)
	case out.Wait > 0:
		v.next = max(v.next, end.add(out.Wait))
	default:
		return false
	}
	v.several.pause.Store(int64(v.next))
	return sleep
}

// takeBack makes URLs of a visit that were not requested the host's next ones.
func (s *shard) takeBack(v *visitState, left []Candidate) {
	v.putBack(left)
	s.queued += len(left)
	s.withhold(v, len(left))
}

// fallAsleep stops visits to a host for long; its URLs return to the source.
func (s *shard) fallAsleep(v *visitState, now moment) {
	if v.place == blocked {
		v.addr.unqueue(v)
	}
	v.sleeps = min(v.sleeps+1, 1000)
	v.failures = 0
	s.handBack(v)
	s.put(v, asleep, v.next)
	s.passOn(v.addr, now)
	s.rests(v, restAsleep, now)
}

// forgive takes back a failure that the local network caused.
func (s *shard) forgive(v *visitState, now moment) {
	if v.failures == 0 && v.sleeps == 0 {
		return
	}
	v.failures = max(v.failures, 1) - 1
	s.countTrouble(v)
	switch {
	case v.several == nil:
		v.next = now
	case v.throttles == 0: // else another of its visits has met a rest that the host demands
		v.next = now
		v.several.pause.Store(0)
	}
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
	if first := s.dequeue(a); first != nil {
		s.put(first, dormant, 0)
		a.turn = first
		s.admit(first, now)
	}
}
