// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// resolver knows one address for each host, but for some.
type resolver map[string]netip.Addr

func (r resolver) Lookup(_ context.Context, host string) ([]netip.Addr, error) {
	if a, ok := r[host]; ok {
		return []netip.Addr{a}, nil
	}
	return nil, errors.New("no such host")
}

// TestRefill: a refill has the host's best URLs, its address, its delay, its budgets and its priority. What it handed
// out is taken until it is released or forgotten.
func TestRefill(t *testing.T) {
	w := newWorld(t, admission.Options{
		Hosts:  settings{"own.example": {Delay: 7 * time.Second, MaxPages: 3}, "fast.example": {Delay: -1}},
		Host:   admission.Cost{URLs: 9, Bytes: 8, Time: 7},
		Domain: admission.Cost{URLs: 90, Bytes: 80},
	})
	addr := netip.MustParseAddr("192.0.2.1")
	w.env.Resolver = resolver{"own.example": addr}
	var busy []string
	w.env.Busy = func() func() {
		busy = append(busy, "begin")
		return func() { busy = append(busy, "end") }
	}
	l := newList(w)
	for i := range 3 {
		u := w.url(fmt.Sprintf("https://own.example/%d?q", i))
		l.add(Choice{Key: u.Key(), Score: 4095, Depth: 2, Known: i == 1})
	}
	l.add(Choice{Key: w.url("http://fast.example/").Key(), Score: 1})
	s := NewSource(NewHosts(w.env), l.supply())
	refill := func(host string, limit int) frontier.Refill {
		t.Helper()
		r, err := s.Refill(context.Background(), w.host(host), limit)
		w.must(err)
		return r
	}
	r := refill("own.example", 2)
	if len(r.URLs) != 2 || !r.More || r.Addr != addr || r.Delay != 7*time.Second || r.Priority != 1 ||
		r.HostLimit != (frontier.Cost{URLs: 3, Bytes: 8, Time: 7}) ||
		r.DomainLimit != (frontier.Cost{URLs: 90, Bytes: 80}) {
		t.Errorf("%+v", r)
	}
	for i, c := range r.URLs {
		want := frontier.Candidate{Rest: fmt.Sprintf("/%d?q https", i), Score: 4095, Depth: 2, Tag: uint8(i)}
		if c != want || c.Key(w.host("own.example")) != w.url(fmt.Sprintf("https://own.example/%d?q", i)).Key() {
			t.Errorf("%+v, want %+v", c, want)
		}
	}
	if r := refill("own.example", 2); len(r.URLs) != 1 || r.More {
		t.Errorf("the rest: %+v", r)
	}
	if r := refill("own.example", 2); len(r.URLs) != 0 || r.More || r.Priority != 0 {
		t.Errorf("nothing: %+v", r)
	}
	s.Release(w.host("own.example"), r.URLs[:1])
	if again := refill("own.example", 2); len(again.URLs) != 1 || again.URLs[0] != r.URLs[0] {
		t.Errorf("after the release: %+v", again.URLs)
	}
	s.Forget(1, []uint64{xxh3.HashString(string(w.url("https://own.example/1?q").Key()))})
	if again := refill("own.example", 2); len(again.URLs) != 1 || again.URLs[0] != r.URLs[1] {
		t.Errorf("after the update: %+v", again.URLs)
	}
	w.must(s.Take([]byte(w.url("http://fast.example/").Key()), 1, frontier.Cost{URLs: 1}))
	if r := refill("fast.example", 2); len(r.URLs) != 0 || r.Delay != -1 || r.Addr.IsValid() {
		t.Errorf("%+v", r)
	}
	for i, what := range busy {
		if what != []string{"begin", "end"}[i%2] {
			t.Errorf("%q", busy)
		}
	}
	if len(busy) != 2*6 {
		t.Errorf("%q", busy)
	}
}

// TestRefillFails: a refill that fails hands nothing out.
func TestRefillFails(t *testing.T) {
	w := newWorld(t, admission.Options{Host: admission.Cost{URLs: 9}})
	host := w.host("a.example")
	s := NewSource(NewHosts(w.env), newList(w, "http://a.example/").supply())
	for _, r := range []storage.Range{storage.HostCountsRange(), storage.HostFactsRange()} {
		key := []byte(host)
		if r == storage.HostFactsRange() {
			key = []byte(storage.HostStateKey(host))
		}
		w.must(w.store.Apply(func(b *storage.Batch) error { return b.Set(r, key, []byte("?")) }))
		got, err := s.Refill(context.Background(), host, 10)
		taken := s.taken([]byte(w.url("http://a.example/").Key()))
		if !errors.Is(err, storage.ErrCorrupt) || len(got.URLs) != 0 || taken {
			t.Errorf("%s: %+v, %v", r, got, err)
		}
		w.must(w.store.Apply(func(b *storage.Batch) error { return b.Delete(r, key) }))
	}
	if r, err := s.Refill(context.Background(), host, 10); err != nil || len(r.URLs) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	s.supply.Choose = func(storage.Reader, *Wanted) (Chosen, error) {
		return Chosen{}, errors.New("no")
	}
	if _, err := s.Refill(context.Background(), host, 10); err == nil {
		t.Error("no error")
	}
}

// TestRefillsAtOnce: however many refills there are, no more than Env.Refills read the store at once, and give way to
// searches when they have; the others end with their context.
func TestRefillsAtOnce(t *testing.T) {
	const all, most = 16, 3
	w := newWorld(t, admission.Options{})
	w.env.Refills = most
	var gaveWay atomic.Int64
	w.env.GiveWay = func(time.Duration) { gaveWay.Add(1) }
	var now atomic.Int64
	reads, release := make(chan bool, all), make(chan bool)
	s := NewSource(NewHosts(w.env), Supply{
		Choose: func(storage.Reader, *Wanted) (Chosen, error) {
			if n := now.Add(1); n > most {
				t.Errorf("%d refills read at once", n)
				return Chosen{}, nil
			}
			reads <- true
			<-release
			return Chosen{}, nil
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	ends := make(chan error, all)
	for i := range all {
		host := w.host(fmt.Sprintf("h%d.example", i))
		go func() {
			_, err := s.Refill(ctx, host, 1)
			ends <- err
		}()
	}
	for range most {
		<-reads
	}
	cancel()
	for range all - most {
		if err := <-ends; !errors.Is(err, context.Canceled) {
			t.Errorf("a refill that waited: %v", err)
		}
	}
	close(release)
	for range most {
		if err := <-ends; err != nil {
			t.Errorf("a refill that read: %v", err)
		}
	}
	if n := gaveWay.Load(); n != most {
		t.Errorf("%d refills gave way, not %d", n, most)
	}
}

// TestHosts: hosts are named in key order, from where the last call ended, and from the beginning after the last.
func TestHosts(t *testing.T) {
	w := newWorld(t, admission.Options{})
	l := newList(w)
	for i := range 5 {
		l.add(Choice{Key: w.url(fmt.Sprintf("http://h%d.example/", i)).Key()})
	}
	s := NewSource(NewHosts(w.env), l.supply())
	var sizes []int
	var all []urlkey.HostKey
	for range 4 {
		hosts, err := s.Hosts(context.Background(), 2)
		w.must(err)
		sizes, all = append(sizes, len(hosts)), append(all, hosts...)
	}
	if !slices.Equal(sizes, []int{2, 2, 1, 0}) || !slices.Equal(all, sorted(l.hosts)) {
		t.Errorf("%v: %q", sizes, all)
	}
	if hosts, err := s.Hosts(context.Background(), 9); err != nil || len(hosts) != 5 {
		t.Errorf("again: %q, %v", hosts, err)
	}
}

// TestReleaseDoesNotWait: the frontier gives URLs up without waiting for refills, which read the disk.
func TestReleaseDoesNotWait(t *testing.T) {
	w := newWorld(t, admission.Options{})
	l := newList(w, "http://a.example/", "http://b.example/")
	s := NewSource(NewHosts(w.env), l.supply())
	r, err := s.Refill(context.Background(), w.host("a.example"), 10)
	w.must(err)
	let, waits, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	s.supply.Choose = func(storage.Reader, *Wanted) (Chosen, error) {
		close(waits)
		<-let
		return Chosen{}, nil
	}
	go func() {
		defer close(done)
		_, _ = s.Refill(context.Background(), w.host("b.example"), 10)
	}()
	<-waits
	released := make(chan struct{})
	go func() {
		defer close(released)
		s.Release(w.host("a.example"), r.URLs)
	}()
	select {
	case <-released:
	case <-time.After(time.Minute):
		t.Error("it waits for the refill")
	}
	close(let)
	<-done
	<-released
}

// TestHandedOnce: whatever the order of refills, updates and releases, no URL is handed out before crawldb says that it
// is due again, and none is lost.
func TestHandedOnce(t *testing.T) {
	const hosts, pages, rounds = 4, 12, 3
	w := newWorld(t, admission.Options{})
	// Crawldb, for this test: key → how many times the URL was fetched; it is due until that is rounds.
	fetched := func(rd storage.Reader, key []byte) (n int) {
		value, ok, err := rd.Get(storage.Meta(), key, nil)
		if err != nil {
			t.Error(err)
		}
		if ok {
			n = int(value[0])
		}
		return n
	}
	choose := func(rd storage.Reader, want *Wanted) (c Chosen, err error) {
		for p := range pages {
			key := fmt.Sprintf("%s/%d http", string(want.Host), p)
			n := fetched(rd, []byte(key))
			time.Sleep(time.Duration(rand.IntN(20)) * time.Microsecond) // the older the snapshot, the better
			if n < rounds && !want.Taken([]byte(key)) && len(c.URLs) < want.Limit {
				c.URLs = append(c.URLs, Choice{Key: urlkey.Key(key)})
			}
		}
		return c, nil
	}
	s := NewSource(NewHosts(w.env), Supply{Choose: choose})
	var mu sync.Mutex
	out := map[urlkey.Key]bool{}  // handed out
	times := map[urlkey.Key]int{} // fetched, committed
	results := make(chan urlkey.Key, 1000)
	var left atomic.Int64
	left.Store(hosts * pages * rounds)
	var refillers, updater sync.WaitGroup
	for i := range hosts {
		host := w.host(fmt.Sprintf("h%d.example", i))
		refillers.Go(func() {
			for left.Load() > 0 && !t.Failed() {
				r, err := s.Refill(context.Background(), host, 1+rand.IntN(pages))
				if err != nil {
					t.Error(err)
					return
				}
				for _, c := range r.URLs {
					key := c.Key(host)
					mu.Lock()
					if out[key] || times[key] >= rounds {
						t.Errorf("%s is handed out again: out %t, fetched %d times", key, out[key], times[key])
					}
					out[key] = true
					mu.Unlock()
					if rand.IntN(4) > 0 {
						results <- key
						continue
					}
					mu.Lock()
					delete(out, key)
					mu.Unlock()
					s.Release(host, []frontier.Candidate{c})
				}
			}
		})
	}
	updater.Go(func() {
		for key := range results {
			keys := []urlkey.Key{key}
			for more := true; more && len(keys) < 5; {
				select {
				case k, ok := <-results:
					if more = ok; ok {
						keys = append(keys, k)
					}
				default:
					more = false
				}
			}
			err := w.store.Apply(func(b *storage.Batch) error {
				for _, k := range keys {
					mu.Lock()
					n := times[k] + 1
					mu.Unlock()
					if err := b.Set(storage.Meta(), []byte(k), []byte{byte(n)}); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			var hashes []uint64
			mu.Lock()
			for _, k := range keys {
				times[k]++
				delete(out, k)
				hashes = append(hashes, xxh3.HashString(string(k)))
			}
			mu.Unlock()
			s.Forget(1, hashes)
			left.Add(-int64(len(keys)))
		}
	})
	refillers.Wait()
	close(results)
	updater.Wait()
	for key, n := range times {
		if n != rounds {
			t.Errorf("%s was fetched %d times", key, n)
		}
	}
	if len(times) != hosts*pages {
		t.Errorf("%d URLs", len(times))
	}
}
