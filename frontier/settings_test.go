// SPDX-License-Identifier: Apache-2.0

package frontier

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

	"github.com/seine-crawler/seine/storage/urlkey"
)

// sites is a source with a number of URLs for each host, all at once.
type sites struct {
	nothing
	each int
	more func(i int, r *Refill) // completes the refill of host i
}

func (s sites) Refill(_ context.Context, h urlkey.HostKey, _ int) (Refill, error) {
	i := index(h)
	r := Refill{Addr: netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})}
	for n := range s.each {
		r.URLs = append(r.URLs, Candidate{Rest: fmt.Sprintf("/%d", n)})
	}
	if s.more != nil {
		s.more(i, &r)
	}
	return r, nil
}

// start opens a frontier with some hosts whose URLs are all in memory.
func start(t *testing.T, o Options, hosts int) *Frontier {
	t.Helper()
	f, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	for i := range hosts {
		f.Wake(urlkey.HostKey(fmt.Sprintf("example,h%d,)", i)))
	}
	f.await(t, "all refills", func(s Stats) bool { return s.Pending == 0 && s.Refilling == 0 && s.Hosts == hosts })
	return f
}

func (f *Frontier) await(t *testing.T, what string, is func(Stats) bool) {
	t.Helper()
	for began := time.Now(); !is(f.Stats()); runtime.Gosched() {
		if time.Since(began) > time.Minute {
			t.Fatalf("%s did not come: %+v", what, f.Stats())
		}
	}
}

// ringHolds reports whether the ring has so many visits.
func (f *Frontier) ringHolds(n int) func(Stats) bool {
	return func(Stats) bool { return f.ring.Load().len() == n }
}

// TestSetFetchers: the ring and the share of slow hosts follow the number of fetchers up and down, with visits
// in them, and none is lost or handed out twice.
func TestSetFetchers(t *testing.T) {
	const hosts, each = 400, 3
	half := func(i int, r *Refill) {
		if i%2 == 0 {
			r.ResponseTime = 2 * time.Second // slow
		}
	}
	f := start(t, Options{
		Source:    sites{each: each, more: half},
		Delay:     -1,
		VisitURLs: 1,
		Fetchers:  64,
		Shards:    3,
	}, hosts)
	f.await(t, "a full ring", f.ringHolds(128))
	for _, c := range []struct{ set, cells, slow int }{
		{1, 2, 1},
		{2, 4, 1},
		{-7, 2, 1},
		{16, 32, 4},
		{0, 128, 16},
		{100, 256, 25},
		{8, 16, 2},
	} {
		f.SetFetchers(c.set)
		f.await(t, "a full ring", func(Stats) bool {
			r := f.ring.Load()
			return len(r.cells) == c.cells && r.len() >= min(c.cells, hosts/2)
		})
		if n := f.slow.Load(); int(f.slowMost.Load()) != c.slow || int(n) > c.slow {
			t.Errorf("%d fetchers: %d slow visits, at most %d; want at most %d", c.set, n, f.slowMost.Load(), c.slow)
		}
		if s := f.Stats(); s.Ready != hosts || s.InFlight != 0 || s.Queued != hosts*(each-1) {
			t.Errorf("%d fetchers: %+v", c.set, s)
		}
	}
	seen := map[string]int{}
	for range hosts * each {
		v, err := f.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		seen[string(v.Host)+v.URLs[0].Rest]++
		f.Done(v, Outcome{})
	}
	if len(seen) != hosts*each {
		t.Errorf("%d URLs were handed out, want %d", len(seen), hosts*each)
	}
	if n := f.slow.Load(); n != 0 {
		t.Errorf("%d visits to slow hosts are left", n)
	}
}

// TestSetWhileFetching: fetchers come and go and both settings change while they run; each URL is handed out once.
func TestSetWhileFetching(t *testing.T) {
	const hosts, each = 300, 100
	f := start(t, Options{
		Source:       sites{each: each},
		Delay:        -1,
		AddressDelay: -1,
		VisitURLs:    2,
		Fetchers:     4,
		Shards:       2,
	}, hosts)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var mu sync.Mutex
	seen := map[string]int{}
	var all atomic.Bool
	fetch := func(ctx context.Context) {
		for {
			v, err := f.Next(ctx)
			if err != nil {
				return
			}
			mu.Lock()
			for _, c := range v.URLs {
				seen[string(v.Host)+c.Rest]++
			}
			if len(seen) == hosts*each {
				all.Store(true)
				cancel()
			}
			mu.Unlock()
			f.Done(v, Outcome{})
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { fetch(ctx) })
	wg.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			f.SetFetchers(1 + i*7%40)
			f.SetDelay([]time.Duration{-1, time.Microsecond, time.Millisecond}[i%3])
			some, leave := context.WithCancel(ctx)
			var group sync.WaitGroup
			for range i * 7 % 40 {
				group.Go(func() { fetch(some) })
			}
			time.Sleep(200 * time.Microsecond)
			leave()
			group.Wait()
		}
	})
	wg.Wait()
	if !all.Load() {
		t.Fatalf("%d of %d URLs were handed out: %+v", len(seen), hosts*each, f.Stats())
	}
	for u, n := range seen {
		if n != 1 {
			t.Errorf("%s was handed out %d times", u, n)
		}
	}
}

// TestSetDelay: on a virtual clock, a new delay holds from the end of the next visit on, except for a host with a
// delay of its own.
func TestSetDelay(t *testing.T) {
	var ns atomic.Int64
	now := func() time.Time { return time.Unix(1_700_000_000, ns.Load()) }
	f := start(t, Options{Now: now, Source: sites{each: 1000, more: func(i int, r *Refill) {
		if i == 1 {
			r.Delay = 5 * time.Second
		}
	}}}, 2)
	next := func() *Visit {
		t.Helper()
		v, err := f.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	none := func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if v, err := f.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Next gave %v, %v", v, err)
		}
	}
	pass := func(d time.Duration) { ns.Add(int64(d + 2*time.Millisecond)) } // a timer is up to a tick late
	done := func(v *Visit) {
		f.Done(v, Outcome{})
		f.await(t, "the outcome", func(s Stats) bool { return s.Pending == 0 })
	}
	other, own := next(), next()
	if index(own.Host) == 0 {
		other, own = own, other
	}
	done(own)
	done(other)
	pass(time.Second)
	other = next()
	none()
	f.SetDelay(20 * time.Second)
	done(other)
	pass(4 * time.Second)
	own = next()
	if index(own.Host) != 1 {
		t.Fatalf("%s is visited, its delay is 20 s", own.Host)
	}
	done(own)
	pass(5 * time.Second)
	own = next()
	none()
	f.SetDelay(-1)
	done(own)
	pass(11 * time.Second)
	other, own = next(), next()
	if index(own.Host) == 0 {
		other, own = own, other
	}
	if len(other.URLs) != 16 || len(own.URLs) != 1 {
		t.Errorf("visits have %d and %d URLs, want 16 without a delay and 1 with", len(other.URLs), len(own.URLs))
	}
	f.SetDelay(0)
	done(own)
	done(other)
	pass(time.Second - 10*time.Millisecond)
	none()
	pass(10 * time.Millisecond)
	if other = next(); index(other.Host) != 0 || len(other.URLs) != 1 {
		t.Errorf("a visit of %d URLs to %s", len(other.URLs), other.Host)
	}
}

// TestLeave: a fetcher whose context ends just after a token woke it passes the token on.
func TestLeave(t *testing.T) {
	f := start(t, Options{Source: sites{each: 1}}, 0)
	got := make(chan error, 1)
	go func() {
		_, err := f.Next(t.Context())
		got <- err
	}()
	f.await(t, "a fetcher", func(Stats) bool { return f.waiting.Load() == 1 })
	f.fetchers.Store(-1) // no tokens: as if another fetcher had taken this one
	f.Wake("example,h0,)")
	f.await(t, "a visit", f.ringHolds(1))
	f.fetchers.Store(1)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Next(canceled); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	select {
	case err := <-got:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("there is a visit, and the fetcher that waits for one sleeps on")
	}
}

// TestPerHostTakesBack: of two visits to a host at once the later returns URLs, when the host has no others left.
func TestPerHostTakesBack(t *testing.T) {
	f := start(t, Options{Source: sites{each: 26}, Delay: -1, PerHost: 2}, 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	next := func(urls int) *Visit {
		t.Helper()
		v, err := f.Next(ctx)
		if err != nil {
			t.Fatalf("%v: %+v", err, f.Stats())
		}
		if len(v.URLs) != urls {
			t.Fatalf("a visit of %d URLs, want %d", len(v.URLs), urls)
		}
		return v
	}
	a, b := next(16), next(10)
	f.Done(a, Outcome{})
	f.await(t, "a dormant host", func(s Stats) bool { return s.Dormant == 1 })
	f.Done(b, Outcome{Left: 5})
	f.Done(next(5), Outcome{})
}
