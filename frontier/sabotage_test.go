// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"testing"
	"time"
)

// some returns a visit state that satisfies is, or nil.
func (m *sim) some(is func(*visitState) bool) *visitState {
	for i := range m.hosts {
		if v := m.names.stripe[hostHash(m.keys[i])%stripes].by[m.keys[i]]; v != nil && is(v) {
			return v
		}
	}
	return nil
}

func at(p place) func(*visitState) bool {
	return func(v *visitState) bool { return v.place == p }
}

// ruder changes the pace of the shards, not that of the model.
func (m *sim) ruder(change func(*pace)) {
	o, p := m.o, m.o.pace(m.delay)
	p.o = &o
	change(p)
	for _, s := range m.shards {
		s.pace = p
	}
}

// sabotages break one invariant of doc.go each, in its order.
var sabotages = []struct {
	name  string
	world uint64 // 0 to 4, kinds of worlds; see world
	do    func(m *sim)
	spoil func(*Outcome)
}{
	{name: "a host is visited twice at once", do: func(m *sim) {
		if v := m.some(at(inFlight)); v != nil && v.urls() > 0 {
			m.home(addressKey(v.visit.Addr)).makeVisit(v, 1, m.now)
		}
	}},
	{name: "a host has more visits at once than its own bound", do: func(m *sim) {
		m.some(func(v *visitState) bool {
			if v.ownPerHost > 0 {
				v.ownPerHost = 4
			}
			return false
		})
	}},
	{name: "several visits start together", do: func(m *sim) {
		m.some(func(v *visitState) bool {
			if v.several != nil {
				v.several.started.Store(0)
				v.several.untaken.Store(0)
			}
			return false
		})
	}},
	{name: "a visit that was made before a pause starts in it", do: func(m *sim) {
		m.some(func(v *visitState) bool {
			if v.several != nil {
				v.several.pause.Store(0)
			}
			return false
		})
	}},
	{name: "an address is visited twice at once", do: func(m *sim) {
		for _, s := range m.shards {
			for _, a := range s.addresses {
				a.busy = 0
			}
		}
	}},
	{name: "a domain has more visits than it may", world: 2, do: func(m *sim) {
		m.ruder(func(p *pace) { p.perDomain = 3 })
	}},
	{name: "the delay is half", do: func(m *sim) { m.ruder(func(p *pace) { p.delay /= 2; p.factor = 0 }) }},
	{name: "the response time does not count", do: func(m *sim) { m.ruder(func(p *pace) { p.factor = 0 }) }},
	{name: "Crawl-delay is cut", do: func(m *sim) { m.ruder(func(p *pace) { p.o.MaxCrawlDelay = time.Second }) }},
	{name: "a host's own delay does not count", do: func(m *sim) {
		m.some(func(v *visitState) bool {
			v.ownDelay = min(v.ownDelay, 0)
			return false
		})
	}},
	{name: "SetDelay does not count", do: func(m *sim) { m.ruder(func(p *pace) { *p = *m.o.pace(m.c.delay) }) }},
	{name: "addresses do not rest", do: func(m *sim) { m.ruder(func(p *pace) { p.addressDelay = 0 }) }},
	{name: "Retry-After is not obeyed", spoil: func(o *Outcome) {
		if o.Kind == Throttled {
			o.Kind = Fetched
		}
	}},
	{name: "a pause does not double", do: func(m *sim) {
		m.some(func(v *visitState) bool {
			v.throttles = 0
			return false
		})
	}},
	{name: "failures do not count", spoil: func(o *Outcome) {
		if o.Kind == HostFailure {
			o.Kind = Fetched
		}
	}},
	{name: "a repeated request is none", spoil: func(o *Outcome) {
		if o.Kind == Repeat {
			o.Kind = Skipped
		}
	}},
	{name: "dead hosts do not sleep", world: 4, do: func(m *sim) { m.ruder(func(p *pace) { p.o.MaxFailures = 1000 }) }},
	{name: "a host that rests is forgotten for good", world: 4, do: func(m *sim) {
		for i := range m.names.stripe {
			for hash := range m.names.stripe[i].resting {
				m.names.stripe[i].resting[hash] = newResting(moment(365*24*time.Hour), restAsleep)
			}
		}
	}},
	{name: "a forgotten host does not rest", world: 4, do: func(m *sim) {
		for i := range m.hosts {
			m.hosts[i].facts.notBefore = 0
		}
		for i := range m.names.stripe {
			for hash, of := range m.names.stripe[i].resting {
				m.names.stripe[i].resting[hash] = newResting(m.now, of.why())
			}
		}
	}},
	{name: "what is ready last goes first", do: func(m *sim) {
		for _, s := range m.shards {
			for _, q := range []readyQueue{s.ready, s.unknownReady, s.slowReady} {
				for i := range q {
					q[i].key = -q[i].visit.since * 3
				}
			}
		}
	}},
	{name: "a URL is lost", do: func(m *sim) {
		if v := m.some(func(v *visitState) bool { return v.urls() > 1 }); v != nil {
			v.cut(1)
		}
	}},
	{name: "a URL is handed out twice", do: func(m *sim) {
		if v := m.some(func(v *visitState) bool { return v.head > 0 && v.active == 0 && v.urls() > 0 }); v != nil {
			v.head--
		}
	}},
	{name: "a host is refilled twice at once", do: func(m *sim) {
		if v := m.some(func(v *visitState) bool { return v.refilling }); v != nil {
			s := v.shard.Load()
			s.refills = append(s.refills, v)
		}
	}},
	{name: "a host is in two places", do: func(m *sim) {
		if v := m.some(at(blocked)); v != nil {
			v.shard.Load().wheel.set(v, m.now.add(time.Millisecond))
		}
	}},
	{name: "a timer is lost", do: func(m *sim) {
		if v := m.some(at(waiting)); v != nil {
			v.shard.Load().wheel.stop(v)
		}
	}},
	{name: "an address forgets its queue", do: func(m *sim) {
		if v := m.some(at(blocked)); v != nil {
			v.addr.first, v.addr.last = nil, nil
		}
	}},
	{name: "a wake-up during a refill is lost", do: func(m *sim) {
		if v := m.some(func(v *visitState) bool { return v.more && !v.refilling }); v != nil {
			v.more = false
		}
	}},
	{name: "budgets do not bind", world: 3, do: func(m *sim) {
		for i := range m.names.names {
			for _, d := range m.names.names[i].by {
				d.limit.Store(nil)
			}
		}
	}},
	{name: "the caller's own wait does not count", spoil: func(out *Outcome) { out.Wait = 0 }},
	{name: "a visit costs a host nothing", world: 3, do: func(m *sim) {
		m.some(func(v *visitState) bool {
			if v.budget != nil {
				v.budget.used = Cost{URLs: v.budget.used.URLs}
			}
			return false
		})
	}},
	{name: "a visit has many URLs despite a delay", do: func(m *sim) {
		v := m.some(func(v *visitState) bool { return v.place == waiting && v.urls() > 2 })
		if v != nil && v.addr != nil && v.addr.busy == 0 {
			v.shard.Load().makeVisit(v, 2, m.now)
		}
	}},
}

// TestSabotage checks that the simulation catches each broken invariant.
func TestSabotage(t *testing.T) {
	for _, b := range sabotages {
		caught := ""
		for seed := b.world; seed < 200 && caught == ""; seed += 5 {
			func() {
				defer func() {
					if r := recover(); r != nil { // the shard's own assertions, or an index out of range
						caught = "a panic"
					}
				}()
				m := newSim(world(seed))
				m.spoil = b.spoil
				m.sabotage = func(m *sim) {
					if b.do != nil {
						b.do(m)
					}
					m.checkAll()
				}
				ended := m.run(4000)
				if ended {
					m.end()
				}
				switch {
				case len(m.faults) > 0:
					caught = m.faults[0]
				case !ended && m.c.budget == (Cost{}) && m.steps >= 4000:
					caught = "no end"
				}
			}()
		}
		if caught == "" {
			t.Errorf("%s: nobody noticed", b.name)
		}
		t.Logf("%s: %s", b.name, caught)
	}
}
