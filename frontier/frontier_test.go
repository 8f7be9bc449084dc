// SPDX-License-Identifier: Apache-2.0

package frontier_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage/urlkey"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pool is a source with a number of URLs for each host.
type pool struct {
	mu    sync.Mutex
	left  map[urlkey.HostKey]int
	addr  func(urlkey.HostKey) netip.Addr
	calls int
	all   []urlkey.HostKey
	named int // how many of all, since Hosts last returned none
}

func (p *pool) Refill(_ context.Context, h urlkey.HostKey, limit int) (frontier.Refill, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	r := frontier.Refill{Addr: netip.MustParseAddr("127.0.0.1")}
	if p.addr != nil {
		r.Addr = p.addr(h)
	}
	for ; p.left[h] > 0 && len(r.URLs) < limit; p.left[h]-- {
		r.URLs = append(r.URLs, frontier.Candidate{Rest: fmt.Sprintf("/%d http", p.left[h])})
	}
	r.More = p.left[h] > 0
	return r, nil
}

// Hosts names every host that has URLs left, then none, then all again.
func (p *pool) Hosts(_ context.Context, limit int) (hosts []urlkey.HostKey, _ error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for ; p.named < len(p.all) && len(hosts) < limit; p.named++ {
		if h := p.all[p.named]; p.left[h] > 0 {
			hosts = append(hosts, h)
		}
	}
	if len(hosts) == 0 {
		p.named = 0
	}
	return hosts, nil
}

func newPool(hosts, urls int) (*pool, []urlkey.HostKey) {
	p := &pool{left: map[urlkey.HostKey]int{}}
	var keys []urlkey.HostKey
	for i := range hosts {
		h, err := urlkey.ParseHost(fmt.Sprintf("h%d.example", i))
		if err != nil {
			panic(err)
		}
		p.left[h] = urls
		keys = append(keys, h)
	}
	p.all = keys
	return p, keys
}

func open(t testing.TB, o frontier.Options) *frontier.Frontier {
	t.Helper()
	f, err := frontier.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// crawl visits all URLs with a number of fetchers and counts how often each was handed out.
func crawl(t *testing.T, f *frontier.Frontier, fetchers, want int,
	do func(*frontier.Visit) frontier.Outcome) map[urlkey.Key]int {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var mu sync.Mutex
	seen := map[urlkey.Key]int{}
	var wg sync.WaitGroup
	for range fetchers {
		wg.Go(func() {
			for {
				v, err := f.Next(ctx)
				if err != nil {
					if !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
					return
				}
				out := do(v)
				mu.Lock()
				for _, c := range v.URLs[:len(v.URLs)-int(out.Left)] {
					seen[c.Key(v.Host)]++
				}
				all := len(seen) >= want
				mu.Unlock()
				f.Done(v, out)
				if all {
					cancel()
				}
			}
		})
	}
	wg.Wait()
	return seen
}

// TestFetchers: many fetchers on many hosts get every URL exactly once, although visits return some and hosts turn
// out to be at other addresses; then nothing is left.
func TestFetchers(t *testing.T) {
	p, hosts := newPool(500, 60)
	p.addr = func(h urlkey.HostKey) netip.Addr { return netip.AddrFrom4([4]byte{127, 0, byte(len(h)), h[len(h)-3]}) }
	f := open(t, frontier.Options{Source: p, Delay: -1, MaxQueued: 500 * 20, Shards: 3, Fetchers: 8})
	f.Wake(hosts...)
	var n atomic.Int64
	seen := crawl(t, f, 8, 500*60, func(v *frontier.Visit) frontier.Outcome {
		out := frontier.Outcome{Addr: netip.AddrFrom4([4]byte{127, 1, 0, byte(len(v.Host))})}
		if n.Add(1)%7 == 0 {
			out.Left = int32(len(v.URLs) / 2)
		}
		if n.Load()%11 == 0 {
			out.Kind, out.Left = frontier.Skipped, int32(len(v.URLs))
		}
		return out
	})
	if len(seen) != 500*60 {
		t.Errorf("%d URLs were visited, want %d", len(seen), 500*60)
	}
	for u, n := range seen {
		if n != 1 {
			t.Errorf("%s was visited %d times", u, n)
		}
	}
	for began := time.Now(); ; {
		s := f.Stats()
		if time.Since(began) > time.Minute {
			t.Fatalf("%+v", s)
		}
		if s.Pending == 0 && s.InFlight == 0 && s.Ready == 0 && s.Refilling == 0 {
			if s.Soon() || s.Queued != 0 || s.URLs < 500*60 {
				t.Errorf("all is visited: %+v", s)
			}
			return
		}
		runtime.Gosched()
	}
}

// TestHostsBeyondTheBound: hosts for which there is no room are requested again and get their turn.
func TestHostsBeyondTheBound(t *testing.T) {
	p, hosts := newPool(300, 2)
	f := open(t, frontier.Options{Source: p, Delay: -1, MaxHosts: 32, Fetchers: 4, Shards: 2})
	f.Wake(hosts...)
	if s := f.Stats(); s.Hosts > 32 || s.Refused == 0 {
		t.Errorf("%d hosts in memory, %d refused", s.Hosts, s.Refused)
	}
	seen := crawl(t, f, 4, 600, func(v *frontier.Visit) frontier.Outcome { return frontier.Outcome{} })
	if len(seen) != 600 {
		t.Errorf("%d URLs were visited, want 600", len(seen))
	}
}

// TestRefusedBehindTheCursor: a host that falls due while there is no room gets its turn before all is done, though the
// source has gone past it and names others first.
func TestRefusedBehindTheCursor(t *testing.T) {
	p, hosts := newPool(100, 1)
	p.left[hosts[0]] = 0
	f := open(t, frontier.Options{Source: p, Delay: -1, MaxHosts: 32, Fetchers: 1, Shards: 1})
	fill := func(what string, least int) {
		t.Helper()
		for began := time.Now(); f.Stats().Hosts < least; time.Sleep(time.Millisecond) {
			if time.Since(began) > time.Minute {
				t.Fatalf("%s: %+v", what, f.Stats())
			}
		}
	}
	f.WakeAll()
	fill("hosts that the source names", 30)
	f.Wake(hosts[98:]...)
	fill("all hosts for which there is room", 32)
	p.mu.Lock()
	p.left[hosts[0]] = 1
	p.mu.Unlock()
	if f.Wake(hosts[0]); f.Stats().Refused == 0 {
		t.Fatalf("there was room: %+v", f.Stats())
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second) // the next regular call is later
	defer cancel()
	go func() { // as a crawl ends
		for s := f.Stats(); ctx.Err() == nil && (s.Soon() || s.Full || s.Ready+s.InFlight > 0); s = f.Stats() {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	seen := map[urlkey.HostKey]bool{}
	for {
		v, err := f.Next(ctx)
		if err != nil {
			break
		}
		seen[v.Host] = true
		f.Done(v, frontier.Outcome{})
	}
	if !seen[hosts[0]] || len(seen) != len(hosts) {
		t.Errorf("%d hosts of %d were visited, that which was refused: %v", len(seen), len(hosts), seen[hosts[0]])
	}
}

// namer is a pool that names hosts without URLs too.
type namer struct{ *pool }

func (p namer) Hosts(_ context.Context, limit int) (hosts []urlkey.HostKey, _ error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for ; p.named < len(p.all) && len(hosts) < limit; p.named++ {
		hosts = append(hosts, p.all[p.named])
	}
	if len(hosts) == 0 {
		p.named = 0
	}
	return hosts, nil
}

// TestNamedForNothing: a source that names more hosts than there is room for, though most have nothing left, does not
// keep a frontier from being done.
func TestNamedForNothing(t *testing.T) {
	p, hosts := newPool(100, 1)
	f := open(t, frontier.Options{Source: namer{p}, Delay: -1, MaxHosts: 32, Fetchers: 2, Shards: 2})
	f.WakeAll()
	seen := crawl(t, f, 2, 100, func(*frontier.Visit) frontier.Outcome { return frontier.Outcome{} })
	if len(seen) != 100 {
		t.Errorf("%d URLs of %d were visited", len(seen), len(hosts))
	}
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		s := f.Stats()
		if !s.Soon() && !s.Full && s.Ready+s.InFlight == 0 {
			return
		}
		if time.Since(began) > 30*time.Second {
			t.Fatalf("it is never done: %+v", s)
		}
	}
}

// TestClose: Close wakes fetchers that wait; a visit in flight may still be returned.
func TestClose(t *testing.T) {
	p, hosts := newPool(1, 1)
	f := open(t, frontier.Options{Source: p, Delay: -1})
	f.Wake(hosts...)
	v, err := f.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() {
		_, err := f.Next(context.Background())
		failed <- err
	}()
	f.Close()
	if err := <-failed; !errors.Is(err, frontier.ErrClosed) {
		t.Errorf("Next after Close: %v", err)
	}
	f.Done(v, frontier.Outcome{})
	f.Close()
}

// sleeper is a source whose hosts an earlier process left asleep.
type sleeper struct{ until time.Time }

func (s sleeper) Refill(context.Context, urlkey.HostKey, int) (frontier.Refill, error) {
	return frontier.Refill{URLs: []frontier.Candidate{{Rest: "/"}}, NotBefore: s.until, Sleeps: 1}, nil
}

func (s sleeper) Hosts(context.Context, int) ([]urlkey.HostKey, error) { return nil, nil }

// clock is a virtual clock.
type clock struct{ ns atomic.Int64 }

func (c *clock) now() time.Time      { return time.Unix(1_700_000_000, c.ns.Load()) }
func (c *clock) add(d time.Duration) { c.ns.Add(int64(d)) }

// TestSleep: a host that fails too often falls asleep and its URLs are dropped; OnHost receives that, and its
// recovery.
func TestSleep(t *testing.T) {
	p, hosts := newPool(1, 10)
	dropped, reports := make(chan int, 9), make(chan frontier.HostState, 9)
	c := &clock{}
	f := open(t, frontier.Options{
		Source:      p,
		Delay:       -1,
		MaxFailures: 1,
		Now:         c.now,
		OnDrop:      func(_ urlkey.HostKey, c []frontier.Candidate) { dropped <- len(c) },
		OnHost:      func(_ urlkey.HostKey, s frontier.HostState) { reports <- s },
	})
	f.Wake(hosts...)
	v, err := f.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	f.Done(v, frontier.Outcome{Kind: frontier.HostFailure, Left: int32(len(v.URLs) - 1)})
	if n := <-dropped; n != 9 {
		t.Errorf("%d URLs were dropped, want 9", n)
	}
	if s := <-reports; !s.Asleep || s.Sleeps != 1 || !s.NotBefore.After(c.now().Add(9*time.Minute)) {
		t.Errorf("OnHost received %+v", s)
	}
	if s := f.Stats(); s.Asleep != 1 || s.Queued != 0 {
		t.Errorf("%+v", s)
	}
	restarted := open(t, frontier.Options{
		Source: sleeper{until: c.now().Add(time.Minute)}, Now: c.now,
		OnDrop: func(_ urlkey.HostKey, c []frontier.Candidate) { dropped <- len(c) },
	})
	restarted.Wake(hosts...)
	if n := <-dropped; n != 1 {
		t.Errorf("%d URLs of a host that an earlier process left asleep were dropped, want 1", n)
	}
	if s := restarted.Stats(); s.Asleep != 1 || s.Queued != 0 {
		t.Errorf("a host that an earlier process left asleep: %+v", s)
	}
	p.mu.Lock()
	p.left[hosts[0]] = 1
	p.mu.Unlock()
	c.add(12 * time.Minute)
	if v, err = f.Next(context.Background()); err != nil {
		t.Fatal(err)
	}
	f.Done(v, frontier.Outcome{})
	if s := <-reports; s.Asleep || s.Sleeps != 0 || s.Failures != 0 {
		t.Errorf("after it answered, OnHost received %+v", s)
	}
}

// TestOutage: when every host fails at once as with a cut cable, the hosts are not blamed, and the frontier goes on
// when one answers again.
func TestOutage(t *testing.T) {
	for name, most := range map[string]int{"in memory": 1000, "forgotten": 100} {
		t.Run(name, func(t *testing.T) { testOutage(t, most) })
	}
}

// ownAddress is an address that no other host of a pool has.
func ownAddress(h urlkey.HostKey) netip.Addr {
	return netip.AddrFrom4([4]byte{127, 3, h[len(h)-4], h[len(h)-3]})
}

func testOutage(t *testing.T, most int) {
	p, hosts := newPool(80, 1)
	p.addr = ownAddress
	var asleep atomic.Int32
	c := &clock{}
	count := func(_ urlkey.HostKey, s frontier.HostState) {
		if s.Asleep {
			asleep.Add(1)
		} else {
			asleep.Add(-1)
		}
	}
	f := open(t, frontier.Options{Source: p, Delay: -1, MaxFailures: 1, Now: c.now, OnHost: count, MaxHosts: most})
	f.Wake(hosts...)
	for i := range 80 {
		if f.Outage() {
			break
		}
		v, err := f.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		f.Done(v, frontier.Outcome{Kind: frontier.HostFailure, Local: true})
		for s := f.Stats(); most == 100 && s.Hosts > max(79-i, 50) && !s.Outage; s = f.Stats() {
			c.add(2 * time.Millisecond) // until it is forgotten
			time.Sleep(time.Millisecond)
		}
	}
	if !f.Outage() {
		t.Fatal("80 hosts failed one after the other, and there is no outage")
	}
	for s := f.Stats(); s.Pending > 0 || s.Asleep > 0; s = f.Stats() {
		runtime.Gosched()
	}
	if n := asleep.Load(); n > 0 {
		t.Errorf("%d hosts are asleep because of an outage", n)
	}
	// If it lasts too long, the hosts may be the cause: they are blamed until one answers.
	c.add(11 * time.Minute)
	for range 40 {
		v, err := f.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		f.Done(v, frontier.Outcome{Kind: frontier.HostFailure, Local: true})
	}
	if f.Outage() {
		t.Error("the outage does not end")
	}
	v, err := f.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	f.Done(v, frontier.Outcome{})
	if f.Outage() {
		t.Error("a host answered, and the outage is not over")
	}
}

// TestLongOutage: hosts that answered before are not blamed for an outage of hours either, but for one of days.
func TestLongOutage(t *testing.T) {
	const many = 40
	p, hosts := newPool(many, 100)
	p.addr = ownAddress
	var asleep atomic.Int32
	c := &clock{}
	f := open(t, frontier.Options{
		Source: p, Delay: -1, MaxFailures: 1, VisitURLs: 1, Now: c.now,
		OnHost: func(_ urlkey.HostKey, s frontier.HostState) {
			if s.Asleep {
				asleep.Add(1)
			} else {
				asleep.Add(-1)
			}
		},
	})
	f.Wake(hosts...)
	visit := func(o frontier.Outcome) urlkey.HostKey {
		t.Helper()
		v, err := f.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		h := v.Host
		f.Done(v, o)
		return h
	}
	for s := f.Stats(); s.Pending > 0 || s.Refilling > 0 || s.Hosts < many; s = f.Stats() {
		runtime.Gosched()
	}
	heard := map[urlkey.HostKey]bool{}
	for len(heard) < many {
		heard[visit(frontier.Outcome{ResponseTime: time.Millisecond})] = true
	}
	cut := frontier.Outcome{Kind: frontier.HostFailure, Local: true}
	for i := 0; !f.Outage(); i++ {
		if i == 3*many {
			t.Fatal("no outage begins")
		}
		visit(cut)
	}
	for s := f.Stats(); s.Pending > 0 || s.Asleep > 0; s = f.Stats() {
		runtime.Gosched()
	}
	for hour := range 20 {
		c.add(time.Hour)
		for range 3 {
			visit(cut)
			c.add(3 * time.Minute)
		}
		if !f.Outage() {
			t.Fatalf("after %d hours hosts that had all answered are blamed", hour+1)
		}
	}
	if n := asleep.Load(); n > 0 {
		t.Errorf("%d hosts are asleep because of an outage", n)
	}
	c.add(5 * time.Hour)
	visit(cut)
	if f.Outage() {
		t.Error("the outage does not end")
	}
}

// TestStatsMissNothing: work that moves on inside the frontier while Stats is called is in one place or the other: a
// frontier whose hosts were just woken does not look dry before their URLs were handed out.
func TestStatsMissNothing(t *testing.T) {
	for i := range 3000 {
		h := urlkey.HostKey(fmt.Sprintf("example,h%d)", i))
		p := &pool{left: map[urlkey.HostKey]int{h: 1}, all: []urlkey.HostKey{h}}
		f, err := frontier.New(frontier.Options{Source: p, Delay: -1, Fetchers: 2})
		if err != nil {
			t.Fatal(err)
		}
		f.WakeAll()
		for s := f.Stats(); s.Soon() && s.Ready+s.InFlight == 0; {
			s = f.Stats()
		}
		p.mu.Lock()
		left := p.left[h]
		p.mu.Unlock()
		f.Close()
		if left > 0 {
			t.Fatalf("frontier %d looked dry before its host was asked for URLs", i)
		}
	}
}
