// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"context"
	"runtime"
	"time"
)

// run is the goroutine that owns a shard. Each turn is a step: events, then time, then the effects of both.
func (f *Frontier) run(ctx context.Context, s *shard) {
	defer f.wg.Done()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		s.wakes.Store(0) // whoever posts an event wakes it from now on
		s.late.Store(false)
		s.mu.Lock()
		now := f.now()
		handled := f.handle(s, now)
		s.tick(now)
		f.flush(s, now)
		next := s.wheel.next()
		dry := s.dry()
		s.mu.Unlock()
		f.applyEffects(s)
		f.pending.Add(int64(-handled)) // only now: their calls of OnHost count as pending
		if dry {
			signal(f.dry)
		}
		wait := time.Hour
		if next != 0 {
			wait = min(max(next.sub(now), 50*time.Microsecond), wait)
		}
		s.wakes.Store(int64(now.add(wait)))
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-s.wakeup:
		case <-timer.C:
		}
	}
}

// handle applies all events of the inbox. It forwards those about hosts that have moved to another shard.
func (f *Frontier) handle(s *shard, now moment) (handled int) {
	e := s.inbox.take()
	s.pace = f.pace.Load() // after taking: a visit that is returned after SetDelay gets the new delay
	for e != nil {
		next := e.next // the node is the sender's again once it is handled
		if to := e.state.shard.Load(); to != s && e.kind != moved {
			to.post(e)
		} else {
			f.handleOne(s, e, now)
			f.migrate(s) // before the next event, which may be about the same host
			handled++
		}
		e = next
	}
	return handled
}

func (f *Frontier) handleOne(s *shard, e *event, now moment) {
	v := e.state
	switch e.kind {
	case woken:
		v.wakes.Add(-1)
		s.wake(v, now)
	case refilled:
		r := e.refill
		s.refilled(v, r, f.moment(r.NotBefore), f.moment(r.NextDue), now)
	case returned:
		out := e.out
		s.done(e.visit, &out, f.moment(out.End), now)
	case moved:
		s.adopt(v, now)
	case asked:
		v.wakes.Add(-1)
		for _, c := range e.refill.URLs {
			s.ask(v, c)
		}
	case forgiven:
		v.wakes.Add(-1)
		s.forgive(v, now)
	case slowed:
		s.slowed(v)
	}
}

// flush moves ready visits into the ring while it has room, and wakes fetchers.
func (f *Frontier) flush(s *shard, now moment) {
	for len(s.slowReady) > 0 && f.handOver(s, &s.slowReady, now) {
	}
	for len(s.unknownReady) > 0 {
		// Those that became ready first go first, of either queue.
		for len(s.ready) > 0 && s.ready[0].key < s.unknownReady[0].key && f.handOver(s, &s.ready, now) {
		}
		if !f.handOver(s, &s.unknownReady, now) {
			break
		}
	}
	for len(s.ready) > 0 && f.handOver(s, &s.ready, now) {
	}
	s.shareBacklog.Store(len(s.slowReady)+len(s.unknownReady) > 0)
	s.backlog.Store(len(s.ready)+len(s.unknownReady) > 0)
	if ring := f.ring.Load(); len(s.ready) > 0 && ring.len() < len(ring.cells)/2 {
		signal(s.wakeup) // fetchers made room meanwhile
	}
}

// handOver moves the first visit of a queue into the ring. It returns false if the ring is full, or the share of the
// visit's class is used up.
func (f *Frontier) handOver(s *shard, q *readyQueue, now moment) bool {
	visit := (*q)[0].visit
	if !f.enterShare(visit) {
		return false
	}
	s.handedOver(visit, now) // before a fetcher can return it
	if !f.ring.Load().push(visit) {
		s.takenBack(visit)
		f.leaveShare(visit)
		return false
	}
	q.pop()
	f.wakeFetcher()
	return true
}

// migrate sends hosts to the shards that own their addresses. It changes a state's shard after it posted the
// event, so that no other event arrives there first: until then other senders post here, and handle forwards
// what they post.
func (f *Frontier) migrate(s *shard) {
	for _, v := range s.moves {
		to := f.home(addressKey(v.visit.Addr))
		for v.shard.Load() != s { // the shard it came from is about to store this one
			runtime.Gosched()
		}
		e := &v.visit.done // free: a host moves only while it has no visit
		*e = event{kind: moved, state: v}
		f.pending.Add(1)
		to.post(e)
		v.shard.Store(to)
	}
	s.moves = s.moves[:0]
}

// applyEffects does what a step of a shard left to be done outside of it.
func (f *Frontier) applyEffects(s *shard) {
	for _, n := range s.reports {
		if f.o.OnHost != nil {
			n.s.NotBefore = f.time(n.notBefore)
			f.o.OnHost(n.state.host, n.s)
		}
	}
	s.reports = s.reports[:0]
	if len(s.refills)+len(s.dropped) > 0 {
		f.jobs.add(s.refills, s.dropped)
		s.refills, s.dropped = s.refills[:0], nil
	}
	if s.forgotten {
		s.forgotten = false
		if f.refused.Load() > 0 || f.midway.Load() {
			signal(f.pull)
		}
	}
}

// post sends an event to a shard.
func (s *shard) post(e *event) {
	if s.inbox.push(e) || s.late.Load() {
		signal(s.wakeup)
	}
}

// postLate is post of an event of which the shard may learn patience later. It does not wake one that soon wakes.
//
// None is left lying: who finds the time at which a shard wakes has posted before it takes what is there, and a shard
// at work has no such time. Who posts behind a late event finds late, unless the shard is about to take both.
func (s *shard) postLate(e *event, now moment) {
	s.late.Store(true)
	s.inbox.push(e)
	if at := moment(s.wakes.Load()); at <= now || at.sub(now) > patience {
		signal(s.wakeup)
	}
}

// nudge wakes a shard that has not woken in time: a virtual clock fires no timer.
func (s *shard) nudge(now moment) {
	if moment(s.wakes.Load()) <= now { // or it is at work, with the time of before
		signal(s.wakeup)
	}
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
