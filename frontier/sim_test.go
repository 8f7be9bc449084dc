// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// sim drives one shard on a virtual clock with random hosts, addresses and outcomes, and checks every
// promise of politeness after each step, from records of its own.
type sim struct {
	t        *testing.T
	seed     uint64
	rng      *rand.Rand
	o        Options
	s        *shard
	now      time.Time
	pending  []urlkey.HostKey // refills asked for and not answered
	flying   []*Visit
	left     map[urlkey.HostKey]int // URLs the source still has
	given    map[urlkey.HostKey]int
	next     int
	addrs    map[urlkey.HostKey]netip.Addr
	delays   map[urlkey.HostKey]time.Duration // the least gap that is owed, after the last visit
	ends     map[urlkey.HostKey]time.Time
	addrEnds map[netip.Addr]time.Time
	busy     map[netip.Addr]bool
	inFlight map[urlkey.HostKey]bool
	readyAt  map[urlkey.HostKey]int // steps since the host became ready
	fetched  int
	dropped  int
	faults   []string
}

func newSim(t *testing.T, seed uint64, hosts int) *sim {
	rng := rand.New(rand.NewPCG(seed, 99))
	o, err := Options{Source: nothing{}, Delay: time.Second, Window: 8, Seed: seed}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	m := &sim{t: t, seed: seed, rng: rng, o: o, now: time.Unix(1_700_000_000, 0), left: map[urlkey.HostKey]int{}, given: map[urlkey.HostKey]int{},
		addrs: map[urlkey.HostKey]netip.Addr{}, delays: map[urlkey.HostKey]time.Duration{}, ends: map[urlkey.HostKey]time.Time{},
		addrEnds: map[netip.Addr]time.Time{}, busy: map[netip.Addr]bool{}, inFlight: map[urlkey.HostKey]bool{}, readyAt: map[urlkey.HostKey]int{}}
	m.s = newShard(&m.o)
	for i := range hosts {
		h, err := urlkey.ParseHost(fmt.Sprintf("h%d.example", i))
		if err != nil {
			t.Fatal(err)
		}
		m.left[h] = 1 + rng.IntN(30)
		m.addrs[h] = netip.AddrFrom4([4]byte{127, 0, byte(rng.IntN(1 + hosts/3)), 1}) // three hosts share an address
		m.s.wake(h, m.now)
	}
	return m
}

type nothing struct{ Source }

func (m *sim) fault(format string, args ...any) {
	m.faults = append(m.faults, fmt.Sprintf(format, args...))
}

// step makes one thing happen.
func (m *sim) step() {
	m.pending = append(m.pending, m.s.refills...)
	m.s.refills = m.s.refills[:0]
	switch n := m.rng.IntN(10); {
	case n < 2 && len(m.pending) > 0:
		i := m.rng.IntN(len(m.pending))
		h := m.pending[i]
		m.pending = append(m.pending[:i], m.pending[i+1:]...)
		m.refill(h)
	case n < 6:
		m.start()
	case n < 8 && len(m.flying) > 0:
		m.finish(m.rng.IntN(len(m.flying)))
	default:
		m.now = m.now.Add(time.Duration(m.rng.IntN(400)) * time.Millisecond)
		m.s.tick(m.now)
	}
	m.check()
}

func (m *sim) refill(h urlkey.HostKey) {
	r := Refill{Addr: m.addrs[h]}
	n := min(m.left[h], 1+m.rng.IntN(m.o.Window))
	for range n {
		u, err := urlkey.Parse(fmt.Sprintf("http://%s/%d", h, m.next))
		if err != nil {
			m.t.Fatal(err)
		}
		m.next++
		r.URLs = append(r.URLs, Candidate{URL: u})
	}
	m.left[h] -= n
	m.given[h] += n
	r.More = m.left[h] > 0
	m.s.refilled(h, &r, m.now)
}

// start takes a visit and checks that it may start now.
func (m *sim) start() {
	m.s.tick(m.now)
	v := m.s.take()
	if v == nil {
		return
	}
	m.given[v.Host]--
	if m.inFlight[v.Host] {
		m.fault("two visits at once to %s", v.Host)
	}
	if end, ok := m.ends[v.Host]; ok && m.now.Sub(end) < m.delays[v.Host] {
		m.fault("%s is visited %s after the last time, %s are owed", v.Host, m.now.Sub(end), m.delays[v.Host])
	}
	if m.busy[v.Addr] {
		m.fault("two visits at once to address %s", v.Addr)
	}
	if end, ok := m.addrEnds[v.Addr]; ok && m.now.Sub(end) < m.o.AddressDelay {
		m.fault("address %s is visited %s after the last time", v.Addr, m.now.Sub(end))
	}
	m.inFlight[v.Host], m.busy[v.Addr] = true, true
	m.flying = append(m.flying, v)
}

// finish ends a visit with a random outcome.
func (m *sim) finish(i int) {
	v := m.flying[i]
	m.flying = append(m.flying[:i], m.flying[i+1:]...)
	out := Outcome{End: m.now, Addr: v.Addr, ResponseTime: time.Duration(m.rng.IntN(3000)) * time.Millisecond}
	owed := max(m.o.Delay, out.ResponseTime)
	switch n := m.rng.IntN(20); {
	case n == 0:
		out.Kind, out.RetryAfter = Throttled, time.Duration(m.rng.IntN(20))*time.Second
		owed = max(m.o.Delay, out.RetryAfter)
	case n < 4:
		out.Kind = HostFailure
		owed = m.o.Delay
	case n == 4:
		out.Kind, out.Again = Skipped, true
		m.given[v.Host]++
		owed = -1
	case n == 5:
		out.CrawlDelay = time.Duration(m.rng.IntN(1000)) * time.Second
		owed = max(owed, min(out.CrawlDelay, m.o.MaxCrawlDelay))
	}
	m.inFlight[v.Host], m.busy[v.Addr] = false, false
	if owed >= 0 {
		m.ends[v.Host], m.delays[v.Host], m.addrEnds[v.Addr] = m.now, owed, m.now
		m.fetched++
	}
	m.s.done(v, &out, m.now)
}

// check holds the shard's own books against each other and against the simulation's.
func (m *sim) check() {
	for _, c := range m.s.dropped {
		m.left[c.URL.HostKey()]++
		m.given[c.URL.HostKey()]--
		m.dropped++
	}
	m.s.dropped = nil
	var counts [placeCount]int
	queued := 0
	for h, v := range m.s.hosts {
		counts[v.place]++
		queued += v.queued()
		if (v.place == waiting || v.place == blocked || v.place == ready) && v.queued() == 0 {
			m.fault("%s is in place %d without a URL", h, v.place)
		}
		if v.place == dormant && v.queued() > 0 {
			m.fault("%s is dormant with %d URLs", h, v.queued())
		}
		if (v.place == waiting || v.place == asleep) != (v.timer >= 0) && v.place != dormant {
			m.fault("%s is in place %d, timer %d", h, v.place, v.timer)
		}
		if v.place != inFlight && v.queued() != m.given[h] {
			m.fault("%s holds %d URLs, was given %d", h, v.queued(), m.given[h])
		}
	}
	if counts != m.s.counts || queued != m.s.queued {
		m.fault("counts %v, queued %d; the shard says %v, %d", counts, queued, m.s.counts, m.s.queued)
	}
	for i := m.s.head; i < len(m.s.ready); i++ {
		if m.s.ready[i].place != ready {
			m.fault("%s is in the ready queue, in place %d", m.s.ready[i].host, m.s.ready[i].place)
		}
	}
}

// run steps until everything is fetched; done is false when it never is.
func (m *sim) run(steps int) (done bool) {
	for range steps {
		m.step()
		if len(m.faults) > 0 {
			return false
		}
		if len(m.flying) == 0 && len(m.pending) == 0 && len(m.s.refills) == 0 && m.exhausted() {
			return true
		}
	}
	return false
}

func (m *sim) exhausted() bool {
	for h, n := range m.left {
		if n > 0 || m.given[h] > 0 {
			return false
		}
	}
	return true
}

// TestSimulation: many webs, each to its end: all URLs are visited, no host starves, no promise is
// broken. Sleeping hosts wake by themselves, so even they come to an end.
func TestSimulation(t *testing.T) {
	fetched, dropped := 0, 0
	for seed := range uint64(60) {
		m := newSim(t, seed, 3+int(seed%40))
		for range 400 { // jump over long sleeps and delays
			if m.run(2000) || len(m.faults) > 0 {
				break
			}
			if next := m.s.nextTime(); len(m.flying) == 0 && next.After(m.now) {
				m.now = next
			}
		}
		for _, f := range m.faults {
			t.Fatalf("seed %d: %s", seed, f)
		}
		if !m.exhausted() {
			t.Fatalf("seed %d: %d URLs are never visited; %v", seed, m.s.queued, m.s.counts)
		}
		if !m.s.dry() {
			t.Fatalf("seed %d: all is visited and the frontier is not dry", seed)
		}
		fetched += m.fetched
		dropped += m.dropped
	}
	if fetched < 10_000 || dropped == 0 {
		t.Errorf("only %d visits were simulated, %d URLs handed back", fetched, dropped)
	}
}

// TestSimulationCatches: a frontier that is broken on purpose does not pass.
func TestSimulationCatches(t *testing.T) {
	breaks := map[string]func(m *sim){
		"delay is half":         func(m *sim) { m.s.o = shortened(m.s.o, func(o *Options) { o.Delay /= 2; o.ResponseFactor = 0 }) },
		"Crawl-delay is cut":    func(m *sim) { m.s.o = shortened(m.s.o, func(o *Options) { o.MaxCrawlDelay = time.Second }) },
		"addresses do not rest": func(m *sim) { m.s.o = shortened(m.s.o, func(o *Options) { o.AddressDelay = 0 }) },
		"addresses are not known": func(m *sim) {
			for _, a := range m.s.addresses {
				a.busy = nil
			}
		},
		"a host is ready twice": func(m *sim) {
			for _, v := range m.s.hosts {
				if v.place == ready {
					m.s.ready = append(m.s.ready, v)
					return
				}
			}
		},
		"a URL is lost": func(m *sim) {
			for _, v := range m.s.hosts {
				if v.queued() > 1 {
					v.take()
					return
				}
			}
		},
	}
	for name, broken := range breaks {
		caught := false
		for seed := uint64(0); seed < 20 && !caught; seed++ {
			func() {
				defer func() {
					if recover() != nil { // the shard's own assertions, or an index out of range
						caught = true
					}
				}()
				m := newSim(t, seed, 12)
				for range 3000 {
					broken(m)
					m.step()
					if len(m.faults) > 0 {
						caught = true
						return
					}
				}
			}()
		}
		if !caught {
			t.Errorf("%s: nobody noticed", name)
		}
	}
}

func shortened(o *Options, change func(*Options)) *Options {
	c := *o
	c.Delay, c.AddressDelay, c.MaxCrawlDelay, c.ResponseFactor = time.Second, 250*time.Millisecond, 300*time.Second, 1
	change(&c)
	return &c
}
