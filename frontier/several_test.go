// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"context"
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestBegin: as soon as a shard sees that a visit was taken it sees when, so it never makes the next one too early.
func TestBegin(t *testing.T) {
	const rounds, delay = 20_000, 10 * time.Second
	o, err := Options{Source: nothing{}, Delay: delay, PerHost: 2}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	s := newShard(&o, o.pace(o.Delay), newRegistry(1), nil, 0, 1)
	v := &visitState{active: 1, several: &several{}}
	var made, taken atomic.Int64 // moments
	go func() {
		for last := int64(0); last >= 0; runtime.Gosched() {
			for range 1000 {
				if at := made.Load(); at != last {
					v.several.begin(moment(at))
					last = at
					taken.Store(at)
				}
			}
		}
	}()
	early, now := 0, moment(time.Hour)
	for range rounds {
		now = now.add(time.Minute)
		v.several.untaken.Add(1)
		made.Store(int64(now))
		for n := 0; moment(taken.Load()) != now; n++ {
			if s.nextStart(v, now) <= now {
				early++
			}
			if n%1000 == 999 {
				runtime.Gosched()
			}
		}
	}
	made.Store(-1)
	if early > 0 {
		t.Errorf("%d times in %d the next visit could start with the one before it", early, rounds)
	}
}

// TestFarBesideAVisit: a host that must wait long for its next visit has nothing to hand out soon, whether or not
// another visit to it is in flight.
func TestFarBesideAVisit(t *testing.T) {
	for _, perHost := range []int{1, 2} {
		f := start(t, Options{Source: sites{each: 5}, Delay: 2 * time.Minute, PerHost: perHost}, 1)
		v, err := f.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if perHost == 1 {
			f.Done(v, Outcome{})
		}
		f.await(t, "a long wait", func(s Stats) bool { return s.Pending == 0 && !s.Soon() })
		if s := f.Stats(); s.Waiting != 1 || s.Withheld != 4 {
			t.Errorf("%d visits at once: %+v", perHost, s)
		}
		if perHost > 1 {
			f.Done(v, Outcome{Left: 1})
			f.await(t, "the outcome", func(s Stats) bool { return s.Pending == 0 && s.Withheld == 5 && !s.Soon() })
		}
	}
}

// oneServer is a source of hosts without end on one address. The first may have perHost visits at once, without delay.
type oneServer struct {
	nothing
	perHost atomic.Int32

	mu   sync.Mutex
	now  map[int]int // visits in flight by host
	most map[string]int
	done map[int]int
}

func (o *oneServer) Refill(_ context.Context, h urlkey.HostKey, _ int) (Refill, error) {
	r := Refill{Addr: netip.AddrFrom4([4]byte{10, 0, 0, 1}), URLs: make([]Candidate, 20), More: true}
	if index(h) == 0 {
		r.PerHost, r.Delay = int(o.perHost.Load()), -1
	}
	return r, nil
}

// fetch takes visits of 100 ms until the frontier is closed.
func (o *oneServer) fetch(f *Frontier) {
	for {
		v, err := f.Next(context.Background())
		if err != nil {
			return
		}
		i := index(v.Host)
		o.mu.Lock()
		o.now[i]++
		all, others := 0, 0
		for host, n := range o.now {
			if all += n; host > 0 {
				others += n
			}
		}
		for what, n := range map[string]int{"all": all, "others": others, "own": o.now[0]} {
			o.most[what] = max(o.most[what], n)
		}
		o.mu.Unlock()
		time.Sleep(100 * time.Millisecond)
		o.mu.Lock()
		o.now[i]--
		o.done[i]++
		o.mu.Unlock()
		f.Done(v, Outcome{ResponseTime: time.Millisecond, Left: int32(len(v.URLs) - 1)})
	}
}

// forget begins to count anew.
func (o *oneServer) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.most)
	clear(o.done)
}

// TestOthersAtTheAddress: that one host may have several visits at once says nothing of the others at its address: they
// take turns, and get them. When it no longer may, all do.
func TestOthersAtTheAddress(t *testing.T) {
	for _, addressDelay := range []time.Duration{-1, 250 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			o := &oneServer{now: map[int]int{}, most: map[string]int{}, done: map[int]int{}}
			o.perHost.Store(4)
			f, err := New(Options{Source: o, AddressDelay: addressDelay, Fetchers: 8, Shards: 2})
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			defer wg.Wait()
			defer f.Close()
			for range 8 {
				wg.Go(func() { o.fetch(f) })
			}
			for i := range 5 {
				f.Wake(urlkey.HostKey(fmt.Sprintf("example,h%d,)", i)))
			}
			time.Sleep(2 * time.Minute)
			o.mu.Lock()
			if addressDelay < 0 && (o.most["own"] != 4 || o.most["all"] != 4) || o.most["others"] != 1 {
				t.Errorf("most visits at once: %v", o.most)
			}
			for i := range 5 {
				if o.done[i] < 40 {
					t.Errorf("host %d was visited %d times in two minutes", i, o.done[i])
				}
			}
			t.Logf("address delay %s: %v at once, visits %v", addressDelay, o.most, o.done)
			o.mu.Unlock()
			o.perHost.Store(1)
			time.Sleep(time.Minute)
			o.forget()
			time.Sleep(time.Minute)
			o.mu.Lock()
			if o.most["all"] != 1 || o.done[0] < 30 {
				t.Errorf("after the change: %v at once, visits %v", o.most, o.done)
			}
			o.mu.Unlock()
		})
	}
}

// TestPerHostBeyondPerDomain: a host may have as many visits at once as its own bound says, more than its domain has by
// default.
func TestPerHostBeyondPerDomain(t *testing.T) {
	for _, c := range []struct{ perDomain, want int }{{0, 12}, {3, 12}, {20, 12}} {
		synctest.Test(t, func(t *testing.T) {
			o := &oneServer{now: map[int]int{}, most: map[string]int{}, done: map[int]int{}}
			o.perHost.Store(12)
			f, err := New(Options{Source: o, AddressDelay: -1, PerDomain: c.perDomain, Fetchers: 16})
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			defer wg.Wait()
			defer f.Close()
			for range 16 {
				wg.Go(func() { o.fetch(f) })
			}
			f.Wake("example,h0,)")
			time.Sleep(10 * time.Second)
			o.mu.Lock()
			defer o.mu.Unlock()
			if o.most["own"] != c.want {
				t.Errorf("%d visits to a domain at once: %d to a host that may have 12", c.perDomain, o.most["own"])
			}
		})
	}
}
