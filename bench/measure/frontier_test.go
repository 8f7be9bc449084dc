// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"container/heap"
	"context"
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// What is measured: a visit from Next to Done with all politeness: each host has an address of its own, rests a second
// between visits, and has URLs without end, so every visit goes once through the wheel of hosts that wait, the ring and
// the inbox of a shard. The clock is the benchmark's own and moves by two seconds divided by the hosts at each visit:
// hosts fall due in time to keep the one caller of Next busy. Refills, on goroutines of their own, are part of it
// (windows are of 256 URLs, of 4 at a million hosts); the source hands out prepared URLs, so the cost of
// a store is not.
//
// The floor is a container/heap of as many times, one popped and pushed a second later: politeness needs at least that.
// B/host and B/URL are computed from the live heap after two fillings with different numbers of URLs, keys and URLs
// included. How to run:
//
//	go test -run '^$' -bench Frontier ./bench/measure

// endless is a source in which each host has URLs without end and gives each of them at a time. Each host gets URLs in
// memory of its own only while memory is measured.
type endless struct {
	each  int
	own   bool
	more  bool
	ready []frontier.Candidate
}

func newEndless(b *testing.B, each int) *endless {
	s := &endless{each: each, more: true}
	for i := range each {
		s.ready = append(s.ready, frontier.Candidate{Rest: pathOf(i), Score: 1, Depth: 2})
	}
	return s
}

func pathOf(i int) string { return fmt.Sprintf("/articles/2026/%06d/index.html https", i) }

func (s *endless) Hosts(context.Context, int) ([]urlkey.HostKey, error) { return nil, nil }

func (s *endless) Refill(_ context.Context, host urlkey.HostKey, limit int) (frontier.Refill, error) {
	var n uint32
	for _, c := range []byte(host) {
		if c >= '0' && c <= '9' {
			n = 10*n + uint32(c-'0')
		}
	}
	r := frontier.Refill{More: s.more, Addr: netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)})}
	if !s.own {
		r.URLs = s.ready[:min(limit, s.each)]
		return r, nil
	}
	r.URLs = make([]frontier.Candidate, min(limit, s.each))
	var all []byte // as the engine does it
	for i := range r.URLs {
		all = append(all, pathOf(i)...)
	}
	rests := string(all)
	for i := range r.URLs {
		n := len(pathOf(i))
		r.URLs[i] = frontier.Candidate{Rest: rests[:n], Score: 1, Depth: 2}
		rests = rests[n:]
	}
	return r, nil
}

// manualClock stands still until it is moved.
type manualClock struct{ ns atomic.Int64 }

func (c *manualClock) now() time.Time { return time.Unix(0, c.ns.Load()) }

func hostKeys(b *testing.B, n int) []urlkey.HostKey {
	keys := make([]urlkey.HostKey, n)
	for i := range keys {
		var err error
		if keys[i], err = urlkey.ParseHost(fmt.Sprintf("www.site%d.example", i)); err != nil {
			b.Fatal(err)
		}
	}
	return keys
}

// fill makes a frontier and waits until each host has its first URLs.
func fill(b *testing.B, s *endless, hosts []urlkey.HostKey, clock *manualClock) *frontier.Frontier {
	f, err := frontier.New(frontier.Options{
		Source: s, MaxQueued: (s.each + 1) * len(hosts), MaxHosts: len(hosts), PerDomain: -1,
		ResponseFactor: -1, Now: clock.now,
	})
	if err != nil {
		b.Fatal(err)
	}
	f.Wake(hosts...)
	for st := f.Stats(); st.Queued < (s.each-1)*len(hosts) || st.Pending+st.Refilling > 0; st = f.Stats() {
		time.Sleep(time.Millisecond)
	}
	return f
}

// heapBytes is the live heap.
func heapBytes() int64 {
	runtime.GC()
	runtime.GC() // frees what finalizers and pools kept in the first one
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// filledBytes is the heap in bytes that a frontier takes with each URLs a host.
func filledBytes(b *testing.B, hosts, each int) float64 {
	before := heapBytes()
	keys := hostKeys(b, hosts)
	f := fill(b, &endless{each: each, own: true}, keys, &manualClock{})
	if q := f.Stats().Queued; q < (each-1)*hosts {
		b.Fatalf("%d URLs are queued, want %d", q, each*hosts)
	}
	used := heapBytes() - before - int64(len(keys))*16 // the slice is ours, the keys are the frontier's
	f.Close()
	runtime.KeepAlive(keys)
	return float64(used)
}

// reportMemory fills two frontiers and solves for the bytes of a host and of a URL.
func reportMemory(b *testing.B, hosts, few, many int) {
	n := float64(hosts)
	a, c := filledBytes(b, hosts, few), filledBytes(b, hosts, many)
	perURL := (c - a) / n / float64(many-few)
	perHost := a/n - float64(few)*perURL
	if perURL < 50 || perHost < 50 {
		b.Fatalf("%.0f bytes a URL and %.0f a host can't be", perURL, perHost)
	}
	b.ReportMetric(perURL, "B/URL")
	b.ReportMetric(perHost, "B/host")
}

func benchmarkVisits(b *testing.B, hosts int) {
	clock := &manualClock{}
	clock.ns.Store(1e18)
	window := min(256, max(4, 1_000_000/hosts)) // the default, or what a million hosts leave room for
	f := fill(b, newEndless(b, window), hostKeys(b, hosts), clock)
	defer f.Close()
	step, n := 2*int64(time.Second)/int64(hosts), uint64(0)
	ctx := context.Background()
	visit := func() {
		v, err := f.Next(ctx)
		if err != nil {
			b.Fatal(err)
		}
		f.Done(v, frontier.Outcome{Addr: v.Addr})
		clock.ns.Add(step)
		n++
	}
	for range hosts { // all begin ready; after a round all but one wait
		visit()
	}
	runtime.GC() // else the garbage of filling is collected, for a second, within this short measurement
	b.ReportAllocs()
	for b.Loop() {
		visit()
	}
	rate(b, 1, "visits")
	for f.Stats().Pending > 0 { // the last visits are not yet taken back
		runtime.Gosched()
	}
	if s := f.Stats(); s.Visits < n || s.InFlight != 0 || s.Addresses != hosts {
		b.Fatalf("%d visits, %d in flight, %d addresses; want %d, 0, %d", s.Visits, s.InFlight, s.Addresses, n, hosts)
	}
}

// dueTimes is the minimum that a frontier must keep in order.
type dueTimes []*dueTime

type dueTime struct{ at time.Time }

func (h dueTimes) Len() int           { return len(h) }
func (h dueTimes) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h dueTimes) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *dueTimes) Push(x any)        { *h = append(*h, x.(*dueTime)) }
func (h *dueTimes) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func benchmarkHeap(b *testing.B, hosts int) {
	now := time.Unix(1e9, 0)
	step := time.Second / time.Duration(hosts)
	h := make(dueTimes, 0, hosts)
	for i := range hosts {
		h = append(h, &dueTime{now.Add(time.Duration(i-hosts) * step)})
	}
	b.ReportAllocs()
	for b.Loop() {
		d := heap.Pop(&h).(*dueTime)
		if d.at.After(now) {
			b.Fatal("no host is due")
		}
		d.at = now.Add(time.Second)
		heap.Push(&h, d)
		now = now.Add(step)
	}
	rate(b, 1, "visits")
}

func BenchmarkFrontier(b *testing.B) {
	for _, c := range []struct {
		name      string
		hosts     int
		few, many int // URLs a host while the memory is measured
	}{{"1-hosts", 1, 0, 0}, {"1e3-hosts", 1000, 1, 201}, {"1e6-hosts", 1_000_000, 1, 3}} {
		b.Run(c.name+"/seine", func(b *testing.B) {
			benchmarkVisits(b, c.hosts)
			if c.many > 0 { // of a single host they'd be noise
				reportMemory(b, c.hosts, c.few, c.many)
			}
		})
		b.Run(c.name+"/floor-heap", func(b *testing.B) { benchmarkHeap(b, c.hosts) })
	}
}

// BenchmarkNeverIdle: hosts with a delay of a second, and five hundred fetchers that take 200 ms a page. With a hundred
// thousand hosts there is always something to fetch: busy-% is the share of the time in which fetchers work. With a
// thousand, politeness is the limit: permitted-% is how often the hosts that are not slow are visited, of once in 1.2 s
// each, also when one host in ten takes two seconds.
func BenchmarkNeverIdle(b *testing.B) {
	for _, c := range []struct {
		name  string
		hosts int
		slow  int // every slow-th host is slow; 0: none
	}{{"1e5-hosts", 100_000, 0}, {"1e3-hosts", 1000, 0}, {"1e3-hosts-one-in-ten-slow", 1000, 10}} {
		b.Run(c.name, func(b *testing.B) { neverIdle(b, c.hosts, c.slow) })
	}
}

func neverIdle(b *testing.B, hosts, slow int) {
	const fetchers, latency = 500, 200 * time.Millisecond
	keys := hostKeys(b, hosts)
	isSlow := make(map[urlkey.HostKey]bool)
	for i := 0; slow > 0 && i < hosts; i += slow {
		isSlow[keys[i]] = true
	}
	f, err := frontier.New(frontier.Options{Source: newEndless(b, 100), PerDomain: -1, Fetchers: fetchers})
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithCancel(context.Background())
	var busy, quick, late atomic.Int64
	var measuring atomic.Bool
	var wg sync.WaitGroup
	for range fetchers {
		wg.Go(func() {
			for {
				v, err := f.Next(ctx)
				if err != nil {
					return
				}
				took := latency
				if isSlow[v.Host] {
					took = 2 * time.Second
				}
				time.Sleep(took)
				if measuring.Load() {
					busy.Add(int64(took))
					if isSlow[v.Host] {
						late.Add(1)
					} else {
						quick.Add(1)
					}
				}
				f.Done(v, frontier.Outcome{Addr: v.Addr, ResponseTime: took})
			}
		})
	}
	f.Wake(keys...)
	const settle, span = 1200 * time.Millisecond, 3600 * time.Millisecond // three rounds after the first
	time.Sleep(settle)
	measuring.Store(true)
	began := time.Now()
	time.Sleep(span)
	measuring.Store(false)
	elapsed := time.Since(began)
	cancel()
	wg.Wait()
	b.ReportMetric(100*float64(busy.Load())/float64(elapsed)/fetchers, "busy-%")
	permitted := float64(hosts-len(isSlow)) / (time.Second + latency).Seconds()
	if permitted < fetchers/latency.Seconds() {
		b.ReportMetric(100*float64(quick.Load())/elapsed.Seconds()/permitted, "permitted-%")
	}
	b.ReportMetric(float64(quick.Load()+late.Load())/elapsed.Seconds(), "visits/s")
	b.ReportMetric(0, "ns/op")
}
