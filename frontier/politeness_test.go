// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

// TestThrottle: after a 429 or 503 without Retry-After a host rests for ten delays, and twice as long after each more
// in a row, up to a day, also where a restart lies in between. Answers end that.
func TestThrottle(t *testing.T) {
	second := time.Second
	for name, c := range map[string]struct {
		delay, crawlDelay, response time.Duration
		earlier                     int // throttles that an earlier process counted
		first                       time.Duration
	}{
		"the default delay":      {delay: second, first: 10 * second},
		"a longer Crawl-delay":   {delay: second, crawlDelay: 30 * second, first: 300 * second},
		"a slow host":            {delay: second, response: 4 * second, first: 40 * second},
		"no delay":               {delay: -1, first: 2500 * time.Millisecond},
		"after a restart":        {delay: second, earlier: 3, first: 80 * second},
		"a bound of a whole day": {delay: second, earlier: 60, first: 24 * time.Hour},
	} {
		o, err := Options{Source: nothing{}, Delay: c.delay}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		p, rng := o.pace(c.delay), rand.New(rand.NewPCG(1, 2))
		names := newRegistry(o.MaxHosts)
		s := newShard(&o, p, names, func(netip.Addr) *shard { return nil }, 0, 0)
		v, _ := names.wake("com,a,)", 0, func() *shard { return s })
		v.refilling = true
		s.refilling++
		s.refilled(v, &Refill{CrawlDelay: c.crawlDelay, ResponseTime: c.response, Throttles: c.earlier}, 0, 0, 0)
		for i := range 4 {
			out := Outcome{Kind: Throttled}
			want := min(c.first<<i, retryMax)
			next, asleep := p.after(v, &out, 1, rng)
			if got := next.sub(1); got != want || asleep {
				t.Errorf("%s: pause %d is %s, want %s", name, i+1, got, want)
			}
		}
		for range slowMax + 1 { // as many answers until the delay is what it was
			p.after(v, &Outcome{Kind: Fetched, ResponseTime: max(c.response, time.Millisecond)}, 1, rng)
		}
		next, _ := p.after(v, &Outcome{Kind: Throttled}, 1, rng)
		if first := 10 * max(p.delayOf(v), failureBase); next.sub(1) != first {
			t.Errorf("%s: after an answer a pause takes %s, want %s", name, next.sub(1), first)
		}
		next, _ = p.after(v, &Outcome{Kind: Throttled, RetryAfter: 7 * time.Minute}, 1, rng)
		if next.sub(1) != 7*time.Minute {
			t.Errorf("%s: Retry-After of 7 minutes is a pause of %s", name, next.sub(1))
		}
		for _, kind := range []OutcomeKind{Throttled, HostFailure} {
			if next, _ = p.after(v, &Outcome{Kind: kind, RetryAfter: 99 * time.Hour}, 1, rng); next.sub(1) != retryMax {
				t.Errorf("%s: Retry-After of 99 hours is a pause of %s", name, next.sub(1))
			}
		}
	}
}

// TestPauseWithSeveralVisits: the pause that one of several visits at once has met holds for the host.
func TestPauseWithSeveralVisits(t *testing.T) {
	for name, c := range map[string]struct {
		delay time.Duration
		out   Outcome
		least time.Duration // from the outcome to the next visit
	}{
		"throttled": {time.Second, Outcome{Kind: Throttled, RetryAfter: time.Hour}, time.Hour},
		"failed":    {20 * time.Second, Outcome{Kind: HostFailure}, 20 * time.Second},
		"repeat":    {20 * time.Second, Outcome{Kind: Repeat, Left: 1}, 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, err := New(Options{
					Source: sites{each: 9}, Delay: c.delay, AddressDelay: -1, VisitURLs: 1, Fetchers: 4, PerHost: 2,
					Shards: 1,
				})
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				f.Wake("example,h1,)")
				v, err := f.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				c.out.End = began
				f.Done(v, c.out)
				v, err = f.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if waited := time.Since(began); waited < c.least {
					t.Errorf("the next visit comes after %s, want at least %s", waited, c.least)
				}
				f.Done(v, Outcome{Kind: Skipped})
			})
		})
	}
}

// TestPausesAreBounded: pauses that have doubled very often are the longest there are, whatever they began with.
func TestPausesAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		delay time.Duration
		kind  OutcomeKind
		least time.Duration // of the last pause
	}{
		"throttled": {1000 * time.Second, Throttled, retryMax},
		"failed":    {3 * time.Hour, HostFailure, 3 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, err := New(Options{
					Source: sites{each: 99}, Delay: c.delay, AddressDelay: -1, MaxFailures: 99, Shards: 1,
				})
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				f.Wake("example,h1,)")
				var ended time.Time
				for range 30 {
					v, err := f.Next(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					began := time.Now()
					f.Done(v, Outcome{Kind: c.kind, End: began})
					ended = began
				}
				if _, err := f.Next(t.Context()); err != nil {
					t.Fatal(err)
				}
				if pause := time.Since(ended); pause < c.least {
					t.Errorf("the pause after 30 in a row is %s, want at least %s", pause, c.least)
				}
			})
		})
	}
}

// TestHugeDelays: the longest delays that there are make pauses long, however often they are doubled, and none short.
func TestHugeDelays(t *testing.T) {
	const huge = time.Duration(math.MaxInt64)
	for name, c := range map[string]struct {
		o Options
		r Refill
	}{
		"of all hosts":   {o: Options{Delay: huge}},
		"of addresses":   {o: Options{Delay: huge, AddressDelay: huge}},
		"of a host":      {r: Refill{Delay: huge}},
		"of robots.txt":  {o: Options{MaxCrawlDelay: huge}, r: Refill{CrawlDelay: huge}},
		"of slow answer": {o: Options{Delay: huge}, r: Refill{ResponseTime: huge}},
	} {
		c.o.Source = nothing{}
		o, err := c.o.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		p := o.pace(o.Delay)
		s := newShard(&o, p, newRegistry(o.MaxHosts), func(netip.Addr) *shard { return nil }, 0, 0)
		v, _ := s.names.wake("com,a,)", 0, func() *shard { return s })
		v.refilling = true
		s.refilling++
		s.refilled(v, &c.r, 0, 0, 0)
		v.slow = slowMax
		const year = 365 * 24 * time.Hour
		if d := p.wait(v); d < year {
			t.Errorf("%s: the delay is %s", name, d)
		}
		for _, kind := range []OutcomeKind{Fetched, Throttled, HostFailure} {
			next, _ := p.after(v, &Outcome{Kind: kind}, moment(year), rand.New(rand.NewPCG(1, 2)))
			if pause := next.sub(moment(year)); pause <= 0 {
				t.Errorf("%s: the pause after outcome %d is %s", name, kind, pause)
			}
		}
	}
}
