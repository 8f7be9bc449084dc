// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// slowWorld is a crowd of fetchers on a virtual clock. Of its hosts, the first are quick; the others answer robots.txt
// at once and then keep their fetcher for a minute, or until it is cut off.
type slowWorld struct {
	quick, slow, each int // hosts, hosts, URLs of a host
	fetchers, extra   int
	perHost           int
	late              bool // slow hosts answer their first ten pages quickly, so they have proven to be quick

	mu       sync.Mutex
	flying   map[*Visit]*slowFlight
	robots   map[string]bool
	pages    int           // of quick hosts
	slowDone int           // pages of slow hosts that came or were cut off
	held     time.Duration // the longest wait of a visit to a quick host that had proven to be one
	most     int           // fetchers at once
	running  int
}

type slowFlight struct {
	began time.Time
	cut   context.CancelFunc
}

const (
	slowAfter = 2 * time.Second // as the pool of package visit does
	lookEvery = 100 * time.Millisecond

	// fiveTurns is how long a host waits at most that has proven to be quick while all fetchers turn slow five times,
	// each time until the world looks: in the crowd of "two visits to a host" some do, in one of 150 runs.
	fiveTurns = 5 * (slowAfter + lookEvery)
)

// run crawls until all pages of quick hosts came, and returns the virtual time that it took.
func (w *slowWorld) run(t *testing.T) time.Duration {
	w.flying, w.robots = map[*Visit]*slowFlight{}, map[string]bool{}
	began := time.Now()
	f, err := New(Options{
		Source: sites{each: w.each}, Delay: -1, AddressDelay: -1, VisitURLs: 1, Fetchers: w.fetchers, Extra: w.extra,
		PerHost: w.perHost, Shards: 3, MaxQueued: 1 << 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range w.quick + w.slow {
		f.Wake(urlkey.HostKey(fmt.Sprintf("example,h%d,)", i)))
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	w.running = w.fetchers
	for range w.fetchers {
		wg.Go(func() { w.fetch(ctx, f) })
	}
	for done := false; !done; {
		time.Sleep(lookEvery)
		if time.Since(began) > 24*time.Hour {
			t.Fatalf("%d pages after a day: %+v", w.pages, f.Stats())
		}
		w.mu.Lock()
		for v, fl := range maps.All(w.flying) {
			if time.Since(fl.began) >= slowAfter {
				f.Slow(v)
			}
		}
		extra, over := f.Extra()
		for ; over > 0 && f.Ready(); over-- {
			var longest *slowFlight
			for v, fl := range w.flying {
				if v.class == classLate && (longest == nil || fl.began.Before(longest.began)) {
					longest = fl
				}
			}
			longest.began = time.Now() // not twice
			longest.cut()
		}
		for w.running < w.fetchers+extra {
			w.running++
			wg.Go(func() { w.fetch(ctx, f) })
		}
		w.most = max(w.most, w.running)
		done = w.pages == w.quick*w.each
		w.mu.Unlock()
	}
	took := time.Since(began)
	cancel()
	wg.Wait()
	f.Close()
	if s, u, l := f.slow.Load(), f.unknown.Load(), f.late.Load(); l != 0 || int(s+u) != f.ring.Load().count() {
		t.Errorf("%d slow, %d unknown and %d late visits are counted at the end", s, u, l)
	}
	return took
}

// count is the number of visits in the ring that have a share. It empties the ring.
func (r *ring) count() (n int) {
	for v := r.pop(); v != nil; v = r.pop() {
		if v.class != classQuick {
			n++
		}
	}
	return n
}

func (w *slowWorld) fetch(ctx context.Context, f *Frontier) {
	for {
		w.mu.Lock()
		if extra, _ := f.Extra(); ctx.Err() != nil || w.running > w.fetchers+extra {
			w.running--
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		v, err := f.Next(ctx)
		if err != nil {
			continue
		}
		out := w.visit(ctx, f, v)
		f.Done(v, out)
	}
}

func (w *slowWorld) visit(ctx context.Context, f *Frontier, v *Visit) Outcome {
	cut, cancel := context.WithCancel(ctx)
	defer cancel()
	i := index(v.Host)
	w.mu.Lock()
	if v.class == classQuick && i < w.quick {
		w.held = max(w.held, f.now().sub(v.since))
	}
	first := !w.robots[string(v.Host)]
	w.robots[string(v.Host)] = true
	w.flying[v] = &slowFlight{time.Now(), cancel}
	w.mu.Unlock()
	out := Outcome{ResponseTime: 20 * time.Millisecond}
	took := 50 * time.Millisecond
	switch {
	case first:
		out.Left = int32(len(v.URLs)) // robots.txt
	case i >= w.quick && (!w.late || len(v.URLs[0].Rest) > len("/9")):
		took = time.Minute
	}
	select {
	case <-time.After(took):
	case <-cut.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.flying, v)
	switch {
	case first, ctx.Err() != nil:
	case i < w.quick:
		w.pages++
	case took == time.Minute:
		w.slowDone++
	}
	return out
}

// TestSlowVisits: visits that become slow do not keep quick hosts from fetchers, however many they are: within the
// bound on extra fetchers none of them is cut off, beyond it a host that has proven to be quick waits for none.
func TestSlowVisits(t *testing.T) {
	for _, v := range []struct {
		name   string
		w      *slowWorld
		within time.Duration // for all pages of the quick hosts
		held   time.Duration // the longest wait of a host that has proven to be quick
		intact bool          // no slow page comes to its end meanwhile
	}{
		// A quick page takes 50 ms and robots.txt another 50, so 21 pages take 1.1 s alone. Until 64 slow visits show,
		// and the next 48, and so on, quick hosts may wait.
		{"within the bound", &slowWorld{quick: 25, slow: 175, each: 21, fetchers: 64, extra: 256},
			9 * time.Second, 9 * time.Second, true},
		// Among 3,000 unknown hosts, each of which costs a fetcher for two seconds, a quick one is found when its turn
		// comes.
		{"beyond the bound", &slowWorld{quick: 25, slow: 3000, each: 200, fetchers: 64, extra: 64},
			3 * time.Minute, fiveTurns, false},
		{"few fetchers", &slowWorld{quick: 3, slow: 100, each: 50, fetchers: 2, extra: 4},
			5 * time.Minute, fiveTurns, false},
		{"no extra", &slowWorld{quick: 5, slow: 300, each: 100, fetchers: 16},
			2 * time.Minute, fiveTurns, false},
		// Each of 300 hosts that turn slow costs a fetcher for two seconds, once.
		{"slow at last", &slowWorld{quick: 10, slow: 300, each: 1000, fetchers: 16, extra: 16, late: true},
			3 * time.Minute, time.Minute, false},
		{"two visits to a host", &slowWorld{quick: 10, slow: 100, each: 100, fetchers: 16, extra: 32, perHost: 2},
			time.Minute, fiveTurns, false},
	} {
		t.Run(v.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := v.w
				w.perHost = max(w.perHost, 1)
				took := w.run(t)
				t.Logf("%s, the longest wait %s, %d fetchers, %d slow pages", took, w.held, w.most, w.slowDone)
				if took > v.within || w.held > v.held {
					t.Errorf("the pages of quick hosts took %s, the longest wait was %s", took, w.held)
				}
				if v.intact && w.slowDone > 0 {
					t.Errorf("%d slow pages ended meanwhile", w.slowDone)
				}
				if most := w.fetchers + w.extra; w.most > most {
					t.Errorf("%d fetchers, more than %d", w.most, most)
				}
			})
		})
	}
}

// TestShareOfUnknown: while visits of unknown hosts have used up their share, those that wait for it count as ready,
// and a visit that turns out to be late makes room for one at once, whichever shard owns its host.
func TestShareOfUnknown(t *testing.T) {
	f := start(t, Options{Source: sites{each: 1}, Delay: -1, AddressDelay: -1, Fetchers: 4, Extra: 1, Shards: 3}, 0)
	homeOf := func(i int) *shard { return f.home(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})) }
	next := func(i int) *Visit {
		f.Wake(urlkey.HostKey(fmt.Sprintf("example,h%d,)", i)))
		f.await(t, "a visit", func(Stats) bool { return f.ring.Load().len() > 0 })
		v, err := f.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	first := next(0)
	f.Slow(first) // no further extra fetcher is left
	second := next(1)
	third := 2
	for homeOf(third) == homeOf(1) {
		third++
	}
	f.Wake(urlkey.HostKey(fmt.Sprintf("example,h%d,)", third)))
	f.await(t, "a visit that waits for its share", func(s Stats) bool {
		return s.Pending == 0 && s.Refilling == 0 && s.Ready == 1 && homeOf(third).shareBacklog.Load()
	})
	if n := f.ring.Load().len(); n != 0 || !f.Ready() {
		t.Errorf("one waits: %d in the ring, ready is %v", n, f.Ready())
	}
	f.Slow(second)
	f.await(t, "its turn", func(Stats) bool { return f.ring.Load().len() == 1 })
	f.Done(first, Outcome{})
	f.Done(second, Outcome{})
}
