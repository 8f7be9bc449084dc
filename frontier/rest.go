// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"time"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// A host that must not be visited for long may not keep the place of one that may. So when more than half of
// Options.MaxHosts are in memory, a host that begins such a rest is forgotten: what it must be remembered for was
// reported to Options.OnHost, and Refill.NotBefore brings it back. Of a forgotten host only a hash and the end of its
// rest are kept. Until then it is counted in Stats as if it were in memory, and wakes of it are ignored; afterwards
// Source.Hosts names it again.

// rest is why a host is not visited for long.
type rest uint8

const (
	restNone      rest = iota
	restIdle           // it has nothing to visit: not remembered
	restAsleep         // it failed too often
	restThrottled      // it demanded a pause
	restBudget         // it has cost as much as it may, or its domain has
	restCount
)

// resting is when a forgotten host's rest ends, with the reason in the lowest bits.
type resting moment

const restMask = 7

func newResting(until moment, why rest) resting { return resting(until&^restMask) | resting(why) }

func (r resting) until() moment { return moment(r &^ restMask) }
func (r resting) why() rest     { return rest(r & restMask) }

// rests: a host has begun to rest. If that lasts long and the memory is more than half full, it is forgotten in the
// next step, when Options.OnHost has been called.
func (s *shard) rests(v *visitState, why rest, now moment) {
	full := s.names.hosts.Load() > int64(s.o.MaxHosts/2)
	if full && v.restsUntil(why).sub(now) >= restMin && v.active == 0 && !v.refilling && v.fromAsk == 0 {
		v.leaving = why
		s.wheel.set(v, now+1)
	}
}

func (v *visitState) restsUntil(why rest) moment {
	if why == restBudget {
		return v.due
	}
	return v.next
}

// leave forgets a host that rests. False: the rest is over.
func (s *shard) leave(v *visitState, now moment) bool {
	until := v.restsUntil(v.leaving)
	if until <= now {
		v.leaving = restNone
		return false
	}
	if v.active > 0 || v.refilling || v.fromAsk > 0 || !s.names.forget(v, newResting(until, v.leaving)) {
		s.wheel.set(v, min(until, now.add(time.Second)))
		return true
	}
	s.handBack(v)
	s.gone(v, now)
	return true
}

// rest notes a forgotten host by hash, if there is room; else the source names it too early, and it is forgotten again.
// r.mu is held.
func (r *stripe) rest(hash uint64, of resting, most int) (noted bool) {
	if of.why() <= restIdle || len(r.resting) >= most {
		return false
	}
	if r.resting == nil {
		r.resting = map[uint64]resting{}
	}
	r.resting[hash] = of
	return true
}

// rests reports whether a forgotten host rests.
func (r *registry) rests(s *stripe, hash uint64, now moment) bool {
	of, ok := s.resting[hash]
	if !ok || of.until() > now {
		return ok
	}
	delete(s.resting, hash)
	r.resting[of.why()].Add(-1)
	return false
}

// sleeps reports whether a host sleeps and was forgotten.
func (r *registry) sleeps(h urlkey.HostKey) bool {
	hash := hostHash(h)
	s := &r.stripe[hash%stripes]
	s.mu.Lock()
	defer s.mu.Unlock()
	of, ok := s.resting[hash]
	return ok && of.why() == restAsleep
}

// forgive ends the sleep of a forgotten host, if it is not over.
func (r *registry) forgive(h urlkey.HostKey) {
	hash := hostHash(h)
	s := &r.stripe[hash%stripes]
	s.mu.Lock()
	defer s.mu.Unlock()
	if of, ok := s.resting[hash]; ok && of.why() == restAsleep {
		delete(s.resting, hash)
		r.resting[restAsleep].Add(-1)
	}
}

// sweep forgets the rests that ended before a time. Their hosts were named since, or have nothing due.
func (r *registry) sweep(before moment) {
	for i := range r.stripe {
		s := &r.stripe[i]
		s.mu.Lock()
		for hash, of := range s.resting {
			if of.until() < before {
				delete(s.resting, hash)
				r.resting[of.why()].Add(-1)
			}
		}
		s.mu.Unlock()
	}
}
