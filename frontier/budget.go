// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"sync"
	"sync/atomic"
	"time"
)

// Cost is what visits cost, or in a limit what they may cost in all; in a limit 0 means no bound.
type Cost struct {
	URLs  int64         // requested
	Bytes int64         // received
	Time  time.Duration // fetchers were busy
}

// Add adds another cost.
func (c *Cost) Add(d Cost) {
	c.URLs += d.URLs
	c.Bytes += d.Bytes
	c.Time += d.Time
}

// spent reports whether a bound of bytes or time is reached. URLs are counted before they are handed out, and only when
// they are requested for the first time; bytes and time when a visit is returned: visits then in flight may exceed a
// bound.
func (c *Cost) spent(limit *Cost) bool {
	return limit.Bytes > 0 && c.Bytes >= limit.Bytes || limit.Time > 0 && c.Time >= limit.Time
}

// budget is what a host has cost and may cost.
type budget struct{ used, limit Cost }

// domain is a registered domain with hosts in memory. Its hosts may be on different shards, so its
// numbers are atomic; refs belongs to the domain's stripe.
type domain struct {
	name   string
	refs   int
	active atomic.Int32 // visits made and not returned
	known  sync.Once    // adds to used what the source knew
	used   sharedCost   // what was handed out, including that of earlier processes
	limit  atomic.Pointer[Cost]
}

// sharedCost is a Cost that several shards add to.
type sharedCost struct{ urls, bytes, time atomic.Int64 }

func (s *sharedCost) add(c Cost) {
	s.urls.Add(c.URLs)
	s.bytes.Add(c.Bytes)
	s.time.Add(int64(c.Time))
}

func (s *sharedCost) load() Cost {
	return Cost{s.urls.Load(), s.bytes.Load(), time.Duration(s.time.Load())}
}

// learn takes what the source knows of the domain's budget. It takes what was used only once: from then on the
// frontier counts, ahead of what crawldb has seen.
func (d *domain) learn(used Cost, limit *Cost) {
	if now := d.limit.Load(); now == nil || limit == nil || *now != *limit {
		d.limit.Store(limit)
	}
	d.known.Do(func() { d.used.add(used) }) // a shard that comes second spends after that
}

// enter counts a visit, unless the domain already has as many as it may have; most 0 means no bound.
func (d *domain) enter(most int) bool {
	if n := d.active.Add(1); most > 0 && int(n) > most {
		d.active.Add(-1)
		return false
	}
	return true
}

// spent reports whether a bound of bytes or time is reached.
func (d *domain) spent() bool {
	limit := d.limit.Load()
	if limit == nil {
		return false
	}
	used := d.used.load()
	return used.spent(limit)
}

// spend takes up to n URLs off the budget and returns how many it took.
func (d *domain) spend(n int) int {
	limit := d.limit.Load()
	if limit == nil {
		d.used.urls.Add(int64(n))
		return n
	}
	for {
		used, got := d.used.urls.Load(), int64(n)
		if limit.URLs > 0 {
			got = min(got, limit.URLs-used)
		}
		if got <= 0 {
			return 0
		}
		if d.used.urls.CompareAndSwap(used, used+got) {
			return int(got)
		}
	}
}

// learn takes what the source knows of a host's budget, and of its domain's.
func (v *visitState) learn(r *Refill, names *registry) {
	v.domain.learn(r.DomainUsed, names.limitOf(r.DomainLimit))
	if r.HostLimit == (Cost{}) {
		v.budget = nil
		return
	}
	if v.budget == nil {
		v.budget = &budget{used: r.HostUsed}
	}
	b := v.budget
	b.limit = r.HostLimit
	b.used = Cost{
		max(b.used.URLs, r.HostUsed.URLs),
		max(b.used.Bytes, r.HostUsed.Bytes),
		max(b.used.Time, r.HostUsed.Time),
	}
}

// spend takes the next n URLs off the budgets of the host and of its domain and returns how many of them may be
// requested. Those that are counted already cost nothing.
func (v *visitState) spend(n int) int {
	b := v.budget
	if b != nil && b.used.spent(&b.limit) || v.domain.spent() {
		return 0
	}
	next := v.window[v.head : int(v.head)+n]
	cost := uncounted(next)
	if cost == 0 {
		return n
	}
	got := cost
	if b != nil && b.limit.URLs > 0 {
		got = int(max(min(int64(got), b.limit.URLs-b.used.URLs), 0))
	}
	if got > 0 {
		got = v.domain.spend(got)
	}
	if b != nil {
		b.used.URLs += int64(got)
	}
	if got == cost {
		return n
	}
	for i := range next {
		if next[i].Counted {
			continue
		}
		if got == 0 {
			return i
		}
		got--
	}
	return n
}

// metered reports whether bytes or time of the host or of its domain are bounded. What a visit has cost of these is
// known when it is returned, so it has one URL: others would be requested although a bound was reached with the first.
func (v *visitState) metered() bool {
	bounds := func(c *Cost) bool { return c != nil && (c.Bytes > 0 || c.Time > 0) }
	return v.budget != nil && bounds(&v.budget.limit) || bounds(v.domain.limit.Load())
}

// uncounted returns how many of some URLs no budget counts yet.
func uncounted(urls []Candidate) (n int) {
	for i := range urls {
		if !urls[i].Counted {
			n++
		}
	}
	return n
}

// charge adds what a visit cost beside its URLs, and refunds those that were not requested: the last ones.
func (v *visitState) charge(out *Outcome, left []Candidate) {
	c := Cost{-int64(uncounted(left)), out.Bytes, out.Took}
	v.domain.used.add(c)
	if v.budget != nil {
		v.budget.used.Add(c)
	}
}
