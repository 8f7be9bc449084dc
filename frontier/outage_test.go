// SPDX-License-Identifier: Apache-2.0

package frontier_test

import (
	"context"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// settled waits until a frontier has handled everything.
func settled(f *frontier.Frontier) {
	for s := f.Stats(); s.Pending > 0 || s.Refilling > 0; s = f.Stats() {
		runtime.Gosched()
	}
}

// sleepers counts the hosts that are asleep by what OnHost says.
type sleepers struct {
	mu   sync.Mutex
	host map[urlkey.HostKey]bool
}

func (s *sleepers) onHost(h urlkey.HostKey, st frontier.HostState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.host == nil {
		s.host = map[urlkey.HostKey]bool{}
	}
	s.host[h] = st.Asleep
}

func (s *sleepers) count() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, asleep := range s.host {
		if asleep {
			n++
		}
	}
	return n
}

// TestNameServersDead: hosts without an address are not blamed when no name server answers, though hosts whose
// addresses are known go on answering; those go on as fast as before. When a name is found again, it is over.
func TestNameServersDead(t *testing.T) {
	const known, fresh = 5, 80
	p, hosts := newPool(known+fresh, 1000)
	old := map[urlkey.HostKey]bool{}
	for _, h := range hosts[:known] {
		old[h] = true
	}
	dead := true
	p.addr = func(h urlkey.HostKey) netip.Addr {
		if old[h] {
			return ownAddress(h)
		}
		return netip.Addr{}
	}
	var asleep sleepers
	c := &clock{}
	f := open(t, frontier.Options{
		Source: p, Delay: -1, MaxFailures: 1, VisitURLs: 1, Now: c.now, OnHost: asleep.onHost,
	})
	f.Wake(hosts[:known]...)
	settled(f)
	answers := map[urlkey.HostKey]int{}
	tried := 0
	visit := func() {
		t.Helper()
		v, err := f.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case old[v.Host] || !dead:
			answers[v.Host]++
			f.Done(v, frontier.Outcome{ResponseTime: time.Millisecond})
		default:
			tried++
			f.Done(v, frontier.Outcome{Kind: frontier.HostFailure, Local: true, NoDNS: true})
		}
	}
	for len(answers) < known {
		visit()
	}
	for some := range slices.Chunk(hosts[known:], 4) {
		f.Wake(some...)
		settled(f)
		for range 20 {
			visit()
			settled(f)
		}
	}
	if !f.Excuses(true) {
		t.Fatalf("%d lookups failed, and the name servers are not suspected", tried)
	}
	if s := f.Stats(); f.Outage() || f.Excuses(false) || s.Outage || !s.NoDNS {
		t.Errorf("hosts answer, and %+v", s)
	}
	settled(f)
	was := tried
	clear(answers)
	for range 500 { // at one moment
		visit()
	}
	if tried > was+1 || tried >= fresh || len(answers) < known {
		t.Errorf("%d lookups were tried at once, and %d hosts with addresses visited", tried-was, len(answers))
	}
	settled(f)
	if n := asleep.count(); n > 0 {
		t.Errorf("%d hosts are asleep because of dead name servers", n)
	}
	dead = false
	c.add(time.Minute)
	for i := 0; f.Excuses(true); i++ {
		if i == 10000 {
			t.Fatal("a host without an address answers, and lookups are still excused")
		}
		visit()
	}
	if s := f.Stats(); s.NoDNS {
		t.Errorf("name servers answer, and %+v", s)
	}
}

// TestNameServersDeadAtOnce: that many lookups fail before a host with a known address answers again does not blame the
// network, as long as it does answer; nor is that host kept waiting where a host with an address is dead besides, which
// does look like a cut network for a moment.
func TestNameServersDeadAtOnce(t *testing.T) {
	for name, dead := range map[string]int{"lookups alone": 0, "and a dead host": 1} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { testNameServersDead(t, dead) }) })
	}
}

func testNameServersDead(t *testing.T, dead int) {
	const fresh, delay, lookup = 200, 5 * time.Second, 20 * time.Millisecond
	const passes = 8 * time.Minute // an outage lasts longer
	p, hosts := newPool(1+dead+fresh, 1000)
	p.addr = func(h urlkey.HostKey) netip.Addr {
		if slices.Contains(hosts[:1+dead], h) {
			return ownAddress(h)
		}
		return netip.Addr{}
	}
	f := open(t, frontier.Options{Source: p, Delay: delay, AddressDelay: -1, VisitURLs: 1})
	defer f.Close()
	f.Wake(hosts...)
	answers, lookups, cut, unnamed := 0, 0, 0, 0
	for begin := time.Now(); time.Since(begin) < passes; {
		v, err := f.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(lookup)
		switch {
		case v.Host == hosts[0]:
			answers++
			f.Done(v, frontier.Outcome{ResponseTime: time.Millisecond})
		case v.Addr.IsValid():
			f.Done(v, frontier.Outcome{Kind: frontier.HostFailure, Local: true})
		default:
			lookups++
			f.Done(v, frontier.Outcome{Kind: frontier.HostFailure, Local: true, NoDNS: true})
		}
		synctest.Wait()
		s := f.Stats()
		if s.Outage {
			cut++
		}
		unnamed = max(unnamed, s.Unnamed)
	}
	if s := f.Stats(); !s.NoDNS || unnamed < fresh/2 || dead == 0 && cut > 0 {
		t.Errorf("%d times the network was blamed, %d hosts waited for name servers; %+v", cut, unnamed, s)
	}
	if least := int(passes / delay * 3 / 4); answers < least {
		t.Errorf("%d visits to the host that answers, and %d lookups; %d were due", answers, lookups, least)
	}
	if lookups < 100 || lookups > 100+int(passes/time.Second) {
		t.Errorf("%d lookups", lookups)
	}
}

// TestOutageAfterRestart: a new frontier that is told which hosts had answered waits for them as long as the old one.
func TestOutageAfterRestart(t *testing.T) {
	for _, answered := range []bool{false, true} {
		p, hosts := newPool(40, 100)
		p.addr = ownAddress
		c := &clock{}
		f := open(t, frontier.Options{
			Source: answering{p, answered}, Delay: -1, MaxFailures: 1, VisitURLs: 1, Now: c.now,
		})
		f.Wake(hosts...)
		settled(f)
		cut := func() {
			t.Helper()
			v, err := f.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			f.Done(v, frontier.Outcome{Kind: frontier.HostFailure, Local: true})
		}
		for i := 0; !f.Outage(); i++ {
			if i == 120 {
				t.Fatal("no outage begins")
			}
			cut()
		}
		settled(f)
		for range 30 { // hosts that are met in the outage
			c.add(2 * time.Second)
			cut()
		}
		c.add(time.Hour)
		cut()
		if f.Outage() != answered {
			t.Errorf("hosts answered before: %t; the outage lasts for an hour: %t", answered, f.Outage())
		}
	}
}

// answering is a pool whose hosts answered an earlier process, or not.
type answering struct {
	*pool
	answered bool
}

func (a answering) Refill(ctx context.Context, h urlkey.HostKey, limit int) (frontier.Refill, error) {
	r, err := a.pool.Refill(ctx, h, limit)
	r.Answered = a.answered && strings.HasPrefix(string(h), "example,")
	return r, err
}
