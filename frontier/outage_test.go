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
