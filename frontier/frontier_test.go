// SPDX-License-Identifier: Apache-2.0

package frontier_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage/urlkey"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pool is a source with so many URLs for each host.
type pool struct {
	mu    sync.Mutex
	left  map[urlkey.HostKey]int
	calls int
}

func (p *pool) Refill(_ context.Context, h urlkey.HostKey, limit int) (frontier.Refill, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	r := frontier.Refill{Addr: netip.MustParseAddr("127.0.0.1")}
	for ; p.left[h] > 0 && len(r.URLs) < limit; p.left[h]-- {
		u, err := urlkey.Parse(fmt.Sprintf("http://%s/%d", h, p.left[h]))
		if err != nil {
			return r, err
		}
		r.URLs = append(r.URLs, frontier.Candidate{URL: u})
	}
	r.More = p.left[h] > 0
	return r, nil
}

func hostKey(t testing.TB, name string) urlkey.HostKey {
	t.Helper()
	h, err := urlkey.ParseHost(name)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestFetchers: many fetchers on few hosts get every URL once, then the frontier is dry.
func TestFetchers(t *testing.T) {
	p := &pool{left: map[urlkey.HostKey]int{}}
	var hosts []urlkey.HostKey
	for i := range 5 {
		h := hostKey(t, fmt.Sprintf("h%d.example", i))
		p.left[h] = 300
		hosts = append(hosts, h)
	}
	f, err := frontier.New(frontier.Options{Source: p, Delay: -1, Window: 32})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithCancel(context.Background())
	var mu sync.Mutex
	seen := map[string]int{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				v, err := f.Next(ctx)
				if err != nil {
					if !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
					return
				}
				mu.Lock()
				seen[v.URL.String()]++
				mu.Unlock()
				f.Done(v, frontier.Outcome{Addr: v.Addr})
			}
		})
	}
	f.Wake(hosts...)
	for {
		<-f.Dry()
		if s := f.Stats(); s.Queued == 0 && s.InFlight == 0 && s.Refilling == 0 && s.Visits == 1500 {
			break
		}
	}
	cancel()
	wg.Wait()
	if len(seen) != 1500 {
		t.Errorf("%d URLs were visited, want 1500", len(seen))
	}
	for u, n := range seen {
		if n != 1 {
			t.Errorf("%s was visited %d times", u, n)
		}
	}
}

// TestClose: Close wakes fetchers that wait; a visit in flight may still be given back.
func TestClose(t *testing.T) {
	h := hostKey(t, "h.example")
	f, err := frontier.New(frontier.Options{Source: &pool{left: map[urlkey.HostKey]int{h: 1}}, Delay: -1})
	if err != nil {
		t.Fatal(err)
	}
	f.Wake(h)
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

// TestSleep: a host that fails too often falls asleep, and its URLs are handed back.
func TestSleep(t *testing.T) {
	h := hostKey(t, "h.example")
	dropped := 0
	var until time.Time
	now := time.Unix(1_700_000_000, 0)
	var mu sync.Mutex
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	f, err := frontier.New(frontier.Options{Source: &pool{left: map[urlkey.HostKey]int{h: 10}}, Delay: -1, MaxFailures: 1, Now: clock,
		OnDrop: func(c []frontier.Candidate) { dropped += len(c) }, OnSleep: func(_ urlkey.HostKey, t time.Time) { until = t }})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.Wake(h)
	v, err := f.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	f.Done(v, frontier.Outcome{Kind: frontier.HostFailure})
	if s := f.Stats(); s.Asleep != 1 || s.Queued != 0 || dropped != 9 || !until.After(now.Add(time.Minute)) {
		t.Errorf("%+v, %d dropped, asleep until %s", s, dropped, until)
	}
}

func BenchmarkVisits(b *testing.B) {
	for _, hosts := range []int{1, 1000, 100_000} {
		b.Run(fmt.Sprint(hosts), func(b *testing.B) {
			p := &pool{left: map[urlkey.HostKey]int{}}
			keys := make([]urlkey.HostKey, hosts)
			for i := range keys {
				keys[i] = hostKey(b, fmt.Sprintf("h%d.example", i))
				p.left[keys[i]] = b.N/hosts + 1
			}
			f, err := frontier.New(frontier.Options{Source: p, Delay: -1})
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			f.Wake(keys...)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				v, err := f.Next(context.Background())
				if err != nil {
					b.Fatal(err)
				}
				f.Done(v, frontier.Outcome{})
			}
		})
	}
}
