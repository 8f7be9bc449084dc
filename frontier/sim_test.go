// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"container/heap"
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// sim drives shards on a virtual clock with random hosts, addresses, domains and outcomes, and checks every invariant
// after every step against a model of its own. It replaces the ring, the fetchers, the source and the network; the
// shards are those of a crawl.
type sim struct {
	c      simConfig
	rng    *rand.Rand
	o      Options
	delay  time.Duration // in force, as in Options
	names  *registry
	shards []*shard
	now    moment
	hosts  []hostModel
	keys   []urlkey.HostKey
	next   int // number of the next URL
	addrs  []addrModel
	doms   []domModel

	flights  flights // visits with fetchers, by when they end
	answers  answers // refills in progress, by when they are answered
	refused  bool    // there was no room for a host
	pull     moment  // when the source names hosts next
	bounced  int     // visits that met a pause before they began
	latest   moment  // when the visit that became ready last of those taken so far did so
	steps    int
	fetched  int
	dropped  int
	moved    int
	asked    int
	exact    bool            // keep every URL's name and check that none comes twice
	loose    []string        // dropped, to be given again
	seen     map[string]bool // URLs whose outcome is known
	faults   []string
	sabotage func(*sim) // breaks something before each step
	spoil    func(*Outcome)
}

// simConfig is a world.
type simConfig struct {
	seed                  uint64
	hosts, addrs, domains int
	each                  int // most URLs of a host; the average is half
	fetchers, shards      int
	delay                 time.Duration // as in Options
	own                   bool          // hosts have delays of their own, which change
	live                  bool          // the delay of all others changes, too
	perDomain             int
	perHost               int  // as in Options
	several               bool // hosts have bounds of their own on visits at once
	budget                Cost // of a domain; that of a host is half
	exact                 bool
	window                int
}

type hostModel struct {
	used        Cost
	left, given int32 // URLs of the source; URLs of the frontier
	active      int16
	fails       int16
	throttles   int16
	refilling   bool
	refilled    *visitState   // the last that was, without an error
	perHost     int           // as in Refill
	over        moment        // when it used up its budget
	paused      moment        // no visit may start before
	asleep      moment        // it sleeps until then
	crawlBefore time.Duration // Crawl-delay in force when the last visit began
	facts       hostReport    // as Options.OnHost receives them
	dead        bool          // most of its visits fail
	addr, dom   int32
	own         time.Duration // as in Refill
	started     moment
	ended       moment
	least       time.Duration // from started: the configured delay when the visit ended
	owed        time.Duration // from ended: the delay that must follow
	crawlDelay  time.Duration
	responded   time.Duration
}

type addrModel struct {
	active together
	ended  moment
	owed   time.Duration // from ended
	late   bool          // at ended it became known that a visit had been here: others may have been made before
}

type domModel struct {
	active together
	used   Cost
	over   moment // when it used up its budget
}

type flight struct {
	end   moment
	visit *Visit
}

type flights []flight

func (f flights) Len() int           { return len(f) }
func (f flights) Less(i, j int) bool { return f[i].end < f[j].end }
func (f flights) Swap(i, j int)      { f[i], f[j] = f[j], f[i] }
func (f *flights) Push(x any)        { *f = append(*f, x.(flight)) }
func (f *flights) Pop() any {
	old := *f
	x := old[len(old)-1]
	*f = old[:len(old)-1]
	return x
}

type answer struct {
	at moment
	v  *visitState
}

type answers []answer

func (f answers) Len() int           { return len(f) }
func (f answers) Less(i, j int) bool { return f[i].at < f[j].at }
func (f answers) Swap(i, j int)      { f[i], f[j] = f[j], f[i] }
func (f *answers) Push(x any)        { *f = append(*f, x.(answer)) }
func (f *answers) Pop() any {
	old := *f
	x := old[len(old)-1]
	*f = old[:len(old)-1]
	return x
}

type nothing struct{}

func (nothing) Refill(context.Context, urlkey.HostKey, int) (Refill, error) { return Refill{}, nil }
func (nothing) Hosts(context.Context, int) ([]urlkey.HostKey, error)        { return nil, nil }

func newSim(c simConfig) *sim {
	o, err := Options{
		Source:    nothing{},
		Delay:     c.delay,
		Seed:      c.seed,
		Shards:    c.shards,
		PerDomain: c.perDomain,
		PerHost:   c.perHost,
		MaxHosts:  c.hosts + 1,
		MaxQueued: max(c.window, windowMin) * c.hosts,
	}.withDefaults()
	if err != nil {
		panic(err)
	}
	m := &sim{
		c: c, o: o, delay: o.Delay, exact: c.exact,
		rng:   rand.New(rand.NewPCG(c.seed, 99)),
		now:   moment(time.Hour),
		names: newRegistry(o.MaxHosts),
		keys:  make([]urlkey.HostKey, c.hosts),
		hosts: make([]hostModel, c.hosts),
		addrs: make([]addrModel, c.addrs),
		doms:  make([]domModel, c.domains),
		seen:  map[string]bool{},
	}
	p := m.o.pace(m.delay)
	for i := range c.shards {
		m.shards = append(m.shards, newShard(&m.o, p, m.names, m.home, i, m.now))
	}
	for i := range m.hosts {
		h := &m.hosts[i]
		h.dead = c.seed%5 == 4 && i%4 == 0
		if c.several {
			h.perHost = i % 4
		}
		h.left, h.addr, h.dom = int32(1+m.rng.IntN(c.each)), int32(m.rng.IntN(c.addrs)), int32(m.rng.IntN(c.domains))
		m.keys[i] = urlkey.HostKey("example,d" + strconv.Itoa(int(h.dom)) + ",h" + strconv.Itoa(i) + ",)")
		m.wake(i)
	}
	return m
}

func (m *sim) home(key netip.Addr) *shard { return m.shards[int(key.As4()[3])%len(m.shards)] }

// index returns the number of a key's host.
func index[K ~string](key K) int {
	k := string(key)
	i, err := strconv.Atoi(k[strings.LastIndexByte(k, 'h')+1 : strings.IndexByte(k, ')')-1])
	if err != nil {
		panic(err)
	}
	return i
}

func (m *sim) addr(i int32) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
}

func (m *sim) wake(i int) {
	v, rests := m.names.wake(m.keys[i], m.now, func() *shard { return m.shards[i%len(m.shards)] })
	if v == nil {
		m.refused = m.refused || !rests
		return
	}
	v.wakes.Add(-1)
	s := v.shard.Load()
	s.wake(v, m.now)
}

// setDelay does what SetDelay does: each shard loads the new pace for its next step.
func (m *sim) setDelay(d time.Duration) {
	m.delay = d
	p := m.o.pace(d)
	for _, s := range m.shards {
		s.pace = p
	}
}

// delays has the values that are drawn for a host's own delay and for that of all hosts.
var delays = []time.Duration{0, -1, 100 * time.Millisecond, 3 * time.Second, 40 * time.Second}

// ask calls Ask for one of a host's URLs.
func (m *sim) ask(i int) {
	h := &m.hosts[i]
	if h.left == 0 {
		return
	}
	v, _ := m.names.wake(m.keys[i], m.now, func() *shard { return m.shards[i%len(m.shards)] })
	if v == nil {
		return
	}
	v.wakes.Add(-1)
	h.left--
	h.given++
	v.shard.Load().ask(v, Candidate{Rest: m.key(v.host)})
	m.asked++
}

// key returns a key for a URL of a host: one that was dropped, or a new one. It contains the host, for the checks.
func (m *sim) key(host urlkey.HostKey) string {
	if !m.exact {
		return string(host)
	}
	if n := len(m.loose); n > 0 && index(m.loose[n-1]) == index(host) {
		key := m.loose[n-1]
		m.loose = m.loose[:n-1]
		return key
	}
	m.next++
	return string(host) + "/" + strconv.Itoa(m.next)
}

func (m *sim) fault(format string, args ...any) {
	if len(m.faults) < 5 {
		m.faults = append(m.faults, fmt.Sprintf("at %s: ", time.Duration(m.now))+fmt.Sprintf(format, args...))
	}
}

// run steps until everything is visited, at most so often. It returns false if that is not reached.
func (m *sim) run(most int) bool {
	for range most {
		if m.sabotage != nil {
			m.sabotage(m)
		}
		if !m.step() {
			return len(m.faults) == 0
		}
		if len(m.faults) > 0 {
			return false
		}
	}
	return false
}

// step hands out visits while fetchers are free, moves the clock to the next event and handles what is due. It
// returns false if there is no next event.
func (m *sim) step() bool {
	m.steps++
	m.settle()
	if m.rng.IntN(20) == 0 {
		m.ask(m.rng.IntN(len(m.hosts)))
	}
	if m.c.live && m.rng.IntN(30) == 0 {
		m.setDelay(delays[m.rng.IntN(len(delays))])
	}
	for len(m.flights) < m.c.fetchers && m.start() {
	}
	m.settle()
	next := moment(0)
	sooner := func(at moment) {
		if at != 0 && (next == 0 || at < next) {
			next = at
		}
	}
	if len(m.flights) > 0 {
		sooner(m.flights[0].end)
	}
	if len(m.answers) > 0 {
		sooner(m.answers[0].at)
	}
	for _, s := range m.shards {
		sooner(s.wheel.next())
	}
	if m.toPull() {
		sooner(max(m.pull, m.now+1))
	}
	if next == 0 {
		return false
	}
	m.now = max(m.now, next)
	if m.toPull() && m.now >= m.pull {
		m.pullAll()
	}
	for len(m.flights) > 0 && m.flights[0].end <= m.now {
		m.finish(heap.Pop(&m.flights).(flight).visit)
	}
	for len(m.answers) > 0 && m.answers[0].at <= m.now {
		m.refill(heap.Pop(&m.answers).(answer).v)
	}
	for _, s := range m.shards {
		s.tick(m.now)
	}
	return true
}

// toPull reports whether hosts are not in memory that must come back.
func (m *sim) toPull() bool {
	n := int64(0)
	for i := range m.names.resting {
		n += m.names.resting[i].Load()
	}
	return n > 0 || m.refused
}

// pullAll wakes all hosts with URLs, as the puller does.
func (m *sim) pullAll() {
	m.pull, m.refused = m.now.add(pullEvery), false
	m.names.sweep(m.now.add(-2 * pullEvery))
	for i := range m.hosts {
		if m.hosts[i].left > 0 {
			m.wake(i)
		}
	}
}

// settle applies the effects of the shards.
func (m *sim) settle() {
	m.adoptMoved()
	for _, s := range m.shards {
		for _, v := range s.refills {
			h := &m.hosts[index(v.host)]
			if h.refilling {
				m.fault("a second refill of %s while one is in progress", v.host)
			}
			h.refilling = true
			heap.Push(&m.answers, answer{m.now.add(time.Duration(m.rng.IntN(int(20 * time.Millisecond)))), v})
		}
		s.refills = s.refills[:0]
		for _, d := range s.dropped {
			for _, c := range d.urls {
				m.dropOne(c)
			}
		}
		for _, r := range s.reports {
			m.hosts[index(r.state.host)].facts = r
		}
		s.dropped, s.reports = s.dropped[:0], s.reports[:0]
	}
}

// adoptMoved moves hosts to the shards of their addresses.
func (m *sim) adoptMoved() {
	for _, s := range m.shards {
		moves := s.moves
		s.moves = nil
		for _, v := range moves {
			m.moved++
			to := m.home(addressKey(v.visit.Addr))
			v.shard.Store(to)
			to.adopt(v, m.now)
		}
	}
}

// dropOne returns a URL to the source.
func (m *sim) dropOne(c Candidate) {
	h := &m.hosts[index(c.Rest)]
	h.left++
	h.given--
	m.dropped++
	if m.exact {
		m.loose = append(m.loose, c.Rest)
	}
}

// hostBudget returns what a host may cost.
func (c *simConfig) hostBudget() Cost {
	b := c.budget
	return Cost{b.URLs / 2, b.Bytes / 2, b.Time / 2}
}

// refill answers the request of a host.
func (m *sim) refill(v *visitState) {
	i := index(v.host)
	h := &m.hosts[i]
	h.refilling = false
	r := Refill{
		Addr:        m.addr(h.addr),
		DomainLimit: m.c.budget,
		DomainUsed:  m.doms[h.dom].used,
		HostLimit:   m.c.hostBudget(),
		HostUsed:    h.used,
		Priority:    float32(i%5) / 4,
		PerHost:     h.perHost,
		Failures:    h.facts.s.Failures,
		Sleeps:      h.facts.s.Sleeps,
		Throttles:   h.facts.s.Throttles,
		CrawlDelay:  h.crawlDelay,

		ResponseTime: h.facts.s.ResponseTime,
	}
	if m.rng.IntN(50) == 0 { // the host moves to another address
		h.addr = int32(m.rng.IntN(m.c.addrs))
		r.Addr = m.addr(h.addr)
	}
	if m.rng.IntN(8) == 0 {
		r.Addr = netip.Addr{} // not known
	}
	n := min(h.left, int32(1+m.rng.IntN(max(m.c.window, 1))))
	h.left -= n
	h.given += n
	if m.exact {
		for range n {
			r.URLs = append(r.URLs, Candidate{Rest: m.key(v.host)})
		}
	} else {
		r.URLs = m.same(i, int(n))
	}
	r.More = h.left > 0
	switch {
	case m.c.own && h.refilled == v && m.rng.IntN(10) == 0:
		r.failed = true // then these do not count
		r.Delay, r.HostLimit, r.DomainLimit = time.Millisecond, Cost{}, Cost{}
	case m.c.own && (h.own == 0 || m.rng.IntN(10) == 0):
		h.own = delays[m.rng.IntN(len(delays))]
		fallthrough
	default:
		r.Delay = h.own
		h.refilled = v
	}
	v.shard.Load().refilled(v, &r, h.facts.notBefore, 0, m.now)
	m.adoptMoved()
	m.check(v)
}

// same makes n candidates that share one key: a hundred million URLs would take too much memory.
func (m *sim) same(i, n int) []Candidate {
	c := make([]Candidate, n)
	for j := range c {
		c[j].Rest = string(m.keys[i])
	}
	return c
}

// start hands the first visit to a fetcher.
func (m *sim) start() bool {
	var from *shard
	var q *readyQueue
	for _, s := range m.shards {
		for _, of := range []*readyQueue{&s.ready, &s.unknownReady, &s.slowReady} {
			if len(*of) > 0 && (q == nil || (*of)[0].key < (*q)[0].key) {
				from, q = s, of
			}
		}
	}
	if q == nil {
		return false
	}
	visit := (*q)[0].visit
	from.handedOver(visit, m.now)
	q.pop()
	h := &m.hosts[index(visit.Host)]
	if several := visit.state.several; several != nil && !several.begin(m.now) { // as take does
		m.bounced++
		from.done(visit, &Outcome{Kind: Skipped, Left: int32(len(visit.URLs))}, m.now, m.now)
		m.adoptMoved()
		m.check(visit.state)
		return true
	}
	m.checkDelays(visit, h)
	m.checkBudgets(visit, h)
	m.checkURLs(visit, h)
	m.latest = max(m.latest, visit.since)
	h.given -= int32(len(visit.URLs))
	h.active++
	took := time.Duration(20+m.rng.IntN(2000)) * time.Millisecond
	if m.delay < 0 {
		took /= 100
	}
	h.started, h.crawlBefore = m.now, h.crawlDelay
	heap.Push(&m.flights, flight{m.now.add(took), visit})
	return true
}

// addrOf returns the address of a visit that has one.
func (m *sim) addrOf(visit *Visit) *addrModel {
	b := visit.Addr.As4()
	return &m.addrs[int(b[1])<<16|int(b[2])<<8|int(b[3])]
}

// finish ends a visit with a random outcome.
func (m *sim) finish(visit *Visit) {
	v := visit.state
	h := &m.hosts[index(visit.Host)]
	out := Outcome{
		End:          time.Unix(0, 1),
		Addr:         m.addr(h.addr),
		ResponseTime: time.Duration(m.rng.IntN(3000)) * time.Millisecond,
	}
	if visit.Addr.IsValid() {
		out.Addr = visit.Addr
	}
	if h.asleep > m.now && m.most(h) > 1 && m.rng.IntN(2) == 0 {
		out.Kind, out.Left = HostFailure, int32(len(visit.URLs)) // with the visit that put the host to sleep
	} else {
		m.outcome(h, &out, len(visit.URLs))
		m.pause(h, &out)
	}
	if out.Kind == Skipped {
		if h.active == 1 {
			h.started = 0 // nothing was requested
		}
	} else {
		h.ended, h.least = m.now, m.least(h)
		m.fetched += len(visit.URLs) - int(out.Left)
	}
	for _, c := range visit.URLs[:len(visit.URLs)-int(out.Left)] {
		if m.exact {
			m.seen[c.Rest] = true
		}
	}
	h.given += out.Left
	h.active--
	d := &m.doms[h.dom]
	d.active[m.most(h)]--
	out.Bytes, out.Took = int64(1000*(len(visit.URLs)-int(out.Left))), time.Second
	cost := Cost{-int64(out.Left), out.Bytes, out.Took}
	d.used.Add(cost)
	h.used.Add(cost)
	if limit := m.c.hostBudget(); h.over == 0 && h.used.spent(&limit) {
		h.over = m.now
	}
	if d.over == 0 && d.used.spent(&m.c.budget) {
		d.over = m.now
	}
	if visit.Addr.IsValid() {
		a := m.addrOf(visit)
		a.active[m.most(h)]--
		if out.Kind != Skipped {
			a.ended, a.owed, a.late = m.now, m.addressDelay(), false
		}
	} else if out.Kind != Skipped && m.most(h) == 1 { // with several, the address is taken when none is in flight
		a := &m.addrs[h.addr]
		a.ended, a.owed, a.late = m.now, m.addressDelay(), true
	}
	if m.spoil != nil {
		m.spoil(&out)
	}
	v.shard.Load().done(visit, &out, m.now, m.now)
	m.adoptMoved()
	m.check(v)
}
