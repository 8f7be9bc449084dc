// SPDX-License-Identifier: Apache-2.0

package frontier

import "time"

// SetDelay replaces Options.Delay: 0 means 1 s, negative means none. AddressDelay, ResponseFactor and PerDomain
// keep the values that Options gave; those left at 0 get the default for the new delay, as in New. Hosts with a
// Refill.Delay keep that.
//
// The new delay follows each visit that is returned after SetDelay. It neither shortens nor extends a wait that
// has begun. Visits of several URLs that a fetcher has, or that are in the ring (see Options.Fetchers), keep them.
// Other queued visits are cut to one URL if their host now has a delay.
//
// Any goroutine may call it. It does not wait.
func (f *Frontier) SetDelay(d time.Duration) { f.pace.Store(f.o.pace(d)) }

// SetFetchers replaces Options.Fetchers, the expected number of callers of Next: 0 means 64; negative counts as 1,
// more than 1,048,576 as that. It starts and stops none: the caller starts more, or cancels the contexts of some.
// A visit that a fetcher has is not affected. When the number shrinks, visits to slow hosts may exceed their share
// of the fetchers until those in flight are returned.
//
// Any goroutine may call it. It waits for the steps in which the shards are.
func (f *Frontier) SetFetchers(n int) {
	if n == 0 {
		n = defaultFetchers
	}
	n = min(max(n, 1), maxFetchers)
	ring := newRing(2 * n)
	for _, s := range f.shards {
		s.mu.Lock() // shards put visits into the ring only while they hold it
	}
	f.fetchers.Store(int32(n))
	f.slowMost.Store(slowMost(n))
	if old := f.ring.Load(); len(ring.cells) != len(old.cells) {
		f.ring.Store(ring)
		for v := old.pop(); v != nil; v = old.pop() { // fetchers may take some out meanwhile
			tooSlow := v.class == classSlow && f.slow.Load() > f.slowMost.Load()
			if tooSlow || !ring.push(v) {
				f.requeue(v)
				continue
			}
			f.wakeFetcher()
		}
	}
	for _, s := range f.shards {
		s.mu.Unlock()
		signal(s.wakeup) // there may be room for its visits
	}
}

// requeue returns a visit from the ring to its shard, which is locked. A host does not change shards while it
// has a visit.
func (f *Frontier) requeue(v *Visit) {
	s := v.state.shard.Load()
	s.takenBack(v)
	s.enqueue(v)
	f.leaveShare(v)
}
