// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"flag"
	"math"
	"testing"
	"time"
)

// check checks one visit state after an event: it is in exactly one place, and it holds what it was given.
func (m *sim) check(v *visitState) {
	i := index(v.host)
	h := &m.hosts[i]
	queuedAt := v.addr != nil && (v.addr.first == v || v.back != nil || v.queued != nil)
	switch v.place {
	case waiting:
		if !v.timer.on || v.urls() == 0 {
			m.fault("%s is waiting with %d URLs, timer %v", v.host, v.urls(), v.timer.on)
		}
		if left := v.timer.at.sub(m.now); left > longWait && !v.far {
			m.fault("%s waits %s more and does not count as far", v.host, left)
		}
	case blocked:
		if v.timer.on || v.urls() == 0 || !queuedAt {
			m.fault("%s is blocked with %d URLs, timer %v, in its address's queue %v",
				v.host, v.urls(), v.timer.on, queuedAt)
		}
	case ready, inFlight:
		if v.timer.on || v.active < 1 || int(v.active) > m.most(h) {
			m.fault("%s is %s with %d visits, timer %v", v.host, v.place, v.active, v.timer.on)
		}
	case asleep:
		if !v.timer.on || v.urls() != 0 {
			m.fault("%s is asleep with %d URLs, timer %v", v.host, v.urls(), v.timer.on)
		}
	case dormant:
		if v.urls() != 0 && !v.refilling {
			m.fault("%s is dormant with %d URLs", v.host, v.urls())
		}
	}
	if queuedAt && v.place != blocked {
		m.fault("%s is in its address's queue and %s", v.host, v.place)
	}
	dropped := 0
	for _, s := range m.shards {
		for _, d := range s.dropped {
			if index(d.host) == i {
				dropped += len(d.urls)
			}
		}
	}
	holds := v.urls() + dropped
	for _, s := range m.shards {
		for _, q := range []readyQueue{s.ready, s.unknownReady, s.slowReady} {
			for _, e := range q {
				if e.visit.state == v {
					holds += len(e.visit.URLs)
				}
			}
		}
	}
	if holds != int(h.given) {
		m.fault("%s holds %d URLs, was given %d", v.host, holds, h.given)
	}
	if v.urls() > windowMax {
		m.fault("%s holds %d URLs", v.host, v.urls())
	}
}

// checkDelays checks that a visit may start now, as far as host and address are concerned.
func (m *sim) checkDelays(visit *Visit, h *hostModel) {
	if int(h.active) >= m.most(h) {
		m.fault("%d visits at once to %s", h.active+1, visit.Host)
	}
	if m.most(h) > 1 {
		m.checkSeveral(visit, h)
	} else if h.ended != 0 && m.now.sub(h.ended) < h.owed {
		m.fault("%s is visited %s after the last time, %s are owed", visit.Host, m.now.sub(h.ended), h.owed)
	}
	if since := m.now.sub(h.started); m.most(h) == 1 && h.started != 0 && since < h.least {
		m.fault("%s is visited %s after its last visit began, its delay is %s", visit.Host, since, h.least)
	}
	if !visit.Addr.IsValid() {
		return
	}
	a := m.addrOf(visit)
	most := max(m.o.PerHost, 1)
	if m.c.several {
		most = 3
	}
	if n, bound := a.active.enter(m.most(h), 1); n > bound {
		m.fault("%d visits at once to hosts of address %s that may have %d", n, visit.Addr, bound)
	}
	began := m.now
	before := most > 1 || a.late // it may have been made before another visit to the address ended
	if before {
		began = visit.since
	}
	if since := began.sub(a.ended); a.ended != 0 && since < a.owed && (!before || since > 0) {
		m.fault("address %s is visited %s after the last time", visit.Addr, m.now.sub(a.ended))
	}
}

// together counts visits in flight by how many at once their hosts may have.
type together [5]int16

// enter counts a visit to a host that may have most at once. Hosts that may have n each may not have more together, or
// all if that is more. It returns a bound that is exceeded, or the last, and how many visits it is for.
func (c *together) enter(most, all int) (n, bound int) {
	c[most]++
	for i, of := range c {
		n, bound = n+int(of), max(i, all)
		if n > bound {
			break
		}
	}
	return n, bound
}

// checkSeveral checks that a visit may start now beside others to its host.
func (m *sim) checkSeveral(visit *Visit, h *hostModel) {
	since := m.now.sub(h.started)
	if least := m.least(h) / time.Duration(m.most(h)); h.started != 0 && since < least {
		m.fault("a visit to %s starts %s after another, its part of the delay is %s", visit.Host, since, least)
	}
	if least := min(h.crawlBefore, h.crawlDelay, m.o.MaxCrawlDelay); h.started != 0 && since < least {
		m.fault("a visit to %s starts %s after another, its Crawl-delay is %s", visit.Host, since, least)
	}
	if m.now < h.paused {
		m.fault("%s is visited %s before a pause is over", visit.Host, h.paused.sub(m.now))
	}
}

// checkBudgets checks that a visit may start now, as far as its domain and the budgets are concerned.
func (m *sim) checkBudgets(visit *Visit, h *hostModel) {
	d := &m.doms[h.dom]
	if n, bound := d.active.enter(m.most(h), m.o.PerDomain); m.o.PerDomain > 0 && n > bound {
		m.fault("%d visits at once to hosts of the domain of %s that may have %d", n, visit.Host, bound)
	}
	d.used.URLs += int64(len(visit.URLs))
	h.used.URLs += int64(len(visit.URLs))
	hosts, domains := m.c.hostBudget(), m.c.budget
	late := d.over != 0 && visit.since > d.over // made after the domain's other visits had cost enough
	if m.most(h) == 1 || h.over != 0 && visit.since > h.over {
		late = late || h.used.spent(&hosts)
	}
	if late ||
		domains.URLs > 0 && d.used.URLs > domains.URLs ||
		hosts.URLs > 0 && h.used.URLs > hosts.URLs {
		m.fault("%s cost %+v, its domain %+v, the budget is %+v", visit.Host, h.used, d.used, m.c.budget)
	}
}

// checkURLs checks how many URLs a visit has and which, and that it comes in its turn.
func (m *sim) checkURLs(visit *Visit, h *hostModel) {
	if n := len(visit.URLs); n == 0 || n > 1 && m.base(h) > 0 || n > m.o.VisitURLs {
		m.fault("a visit of %d URLs to %s, delay %s", n, visit.Host, m.base(h))
	}
	if since := visit.since; m.latest != 0 && since < m.latest.add(-PriorityBonus) {
		m.fault("%s, ready since %s, is visited after one that became ready at %s",
			visit.Host, time.Duration(since), time.Duration(m.latest))
	}
	for _, c := range visit.URLs {
		if index(c.Rest) != index(visit.Host) {
			m.fault("a URL of %s in a visit to %s", c.Rest, visit.Host)
		}
		if m.exact && m.seen[c.Rest] {
			m.fault("%s is handed out again", c.Rest)
		}
	}
}

// checkAll compares the counts of the shards with a count of everything.
func (m *sim) checkAll() {
	for n, s := range m.shards {
		var counts [placeCount]int
		queued, refilling, withheld, failing, unnamed := 0, 0, 0, 0, 0
		for i := range m.names.stripe {
			for _, v := range m.names.stripe[i].by {
				if v.shard.Load() != s {
					continue
				}
				counts[v.place]++
				queued += v.urls()
				if v.refilling {
					refilling++
				}
				if v.far {
					withheld += v.urls()
				}
				if v.place == waiting || v.place == blocked {
					switch {
					case v.failures > 0:
						failing++
					case v.noDNS:
						unnamed++
					}
				}
				m.check(v)
			}
		}
		if counts != s.counts || queued != s.queued || refilling != s.refilling ||
			withheld != s.withheld || failing != s.failing || unnamed != s.unnamed {
			m.fault("shard %d counts %v, %d queued, %d refilling, %d withheld, %d failing, "+
				"%d unnamed; there are %v, %d, %d, %d, %d, %d", n,
				s.counts, s.queued, s.refilling, s.withheld, s.failing, s.unnamed,
				counts, queued, refilling, withheld, failing, unnamed)
		}
	}
}

// end checks that every URL was visited, except those beyond a budget.
func (m *sim) end() {
	m.checkAll()
	left := 0
	for i := range m.hosts {
		h := &m.hosts[i]
		left += int(h.left + h.given)
		if left > 0 && m.c.budget == (Cost{}) {
			m.fault("%d URLs of %s are never visited, it holds %d", h.left, m.keys[i], h.given)
			return
		}
	}
	for _, s := range m.shards {
		if !s.dry() {
			m.fault("all is visited and a shard is not dry: %d queued, %d withheld, %d refilling",
				s.queued, s.withheld, s.refilling)
		}
	}
}

// world draws a small world from a seed.
func world(seed uint64) simConfig {
	c := simConfig{
		seed:     seed,
		hosts:    3 + int(seed%40),
		each:     30,
		fetchers: 1 + int(seed%7),
		shards:   1 + int(seed%3),
		window:   8,
		exact:    true,
	}
	c.addrs, c.domains = 1+c.hosts/3, 1+c.hosts/4
	switch (seed/5 + seed/20) % 4 {
	case 0:
		switch seed / 5 % 3 {
		case 1:
			c.perHost = 2 + int(seed%3)
		case 2:
			c.several = true
		}
	case 1:
		c.own = true
	case 2:
		c.live = true
	case 3:
		c.own, c.live = true, true
	}
	switch seed % 5 {
	case 1:
		c.delay = -1
	case 2:
		c.perDomain = 2
	case 3:
		c.budget = []Cost{{URLs: 25}, {Bytes: 20_000}, {Time: 10 * time.Second}, {URLs: 30, Bytes: 30_000}}[seed/5%4]
	}
	return c
}

// TestSimulation runs many small worlds to their ends and checks everything after every step.
func TestSimulation(t *testing.T) {
	fetched, dropped, moved, asked, bounced, over := 0, 0, 0, 0, 0, uint64(0)
	seeds := uint64(300)
	if testing.Short() { // under the race detector, which finds nothing in a state machine without goroutines
		seeds = 30
	}
	for seed := range seeds {
		m := newSim(world(seed))
		m.sabotage = (*sim).checkAll
		most := 100_000
		if m.c.budget != (Cost{}) {
			most = 3000 // what is over budget is requested again without end
		}
		ended := m.run(most)
		for _, s := range m.shards {
			over += s.over
		}
		if ended {
			m.end()
		}
		for _, f := range m.faults {
			t.Fatalf("seed %d: %s", seed, f)
		}
		if !ended && m.c.budget == (Cost{}) {
			t.Fatalf("seed %d: no end after %d steps and %s, with %d URLs visited",
				seed, m.steps, time.Duration(m.now), m.fetched)
		}
		fetched, dropped, moved, asked = fetched+m.fetched, dropped+m.dropped, moved+m.moved, asked+m.asked
		bounced += m.bounced
	}
	none := dropped == 0 || moved == 0 || over == 0 || asked == 0 || bounced == 0 && !testing.Short()
	if none || fetched < 150*int(seeds) {
		t.Errorf("too little happened: %d visited, %d dropped, %d moved, %d over budget, %d from Ask, %d bounced",
			fetched, dropped, moved, over, asked, bounced)
	}
}

var simHosts = flag.Int("sim.hosts", 20_000, "hosts of TestSimulationLarge; 1000000 takes minutes")

// TestSimulationLarge runs a big world with shared addresses, once without and once with delays.
func TestSimulationLarge(t *testing.T) {
	n := *simHosts
	if testing.Short() {
		n /= 20 // under the race detector, which has nothing to find in one goroutine
	}
	for _, c := range []simConfig{
		{seed: 1, hosts: n, addrs: n, domains: n / 3, each: 200, fetchers: 2000, shards: 2, delay: -1, window: 100},
		{seed: 2, hosts: n, addrs: n / 2, domains: n / 2, each: 20, fetchers: n / 20, shards: 4, window: 10},
	} {
		start := time.Now()
		m := newSim(c)
		if !m.run(math.MaxInt) {
			for _, f := range m.faults {
				t.Error(f)
			}
			t.Fatalf("seed %d does not end: %d visited", c.seed, m.fetched)
		}
		m.end()
		for _, f := range m.faults {
			t.Error(f)
		}
		t.Logf("%d hosts, %d URLs visited in %d steps, virtual %s, real %s", c.hosts, m.fetched, m.steps,
			time.Duration(m.now).Round(time.Second), time.Since(start).Round(time.Millisecond))
	}
}
