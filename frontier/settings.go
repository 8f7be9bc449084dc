// SPDX-License-Identifier: Apache-2.0

package frontier

import "time"

// SetDelay replaces Options.Delay: 0 means 1 s, negative none. AddressDelay, ResponseFactor and PerDomain keep
// what Options gave; those left at 0 get the default that goes with d, as in New. A host feels it from its next
// visit on: a wait that has begun is neither cut nor extended, and of the visits that fetchers have or may
// take at once, at most two for each fetcher, those of several URLs stay as they are. Hosts with
// a Refill.Delay keep theirs. It returns at once and may be called from any goroutine.
func (f *Frontier) SetDelay(d time.Duration) { f.pace.Store(f.o.pace(d)) }

// SetFetchers replaces Options.Fetchers: 0 means 64; negative counts as 1, more than maxFetchers as that. It
// says how many callers of Next to expect, and neither starts nor stops any: to have fewer, cancel the
// contexts of some. It waits until no shard is at work, some milliseconds at most, and may be called from any
// goroutine.
func (f *Frontier) SetFetchers(n int) {
	if n == 0 {
		n = defaultFetchers
	}
	n = min(max(n, 1), maxFetchers)
	ring := newRing(2 * n)
	for _, s := range f.shards {
		s.mu.Lock() // only shards at work put visits into the ring, and only under their lock
	}
	f.fetchers.Store(int32(n))
	f.slowMost.Store(slowMost(n))
	if old := f.ring.Load(); len(ring.cells) != len(old.cells) {
		f.ring.Store(ring)
		for v := old.pop(); v != nil; v = old.pop() { // fetchers may still take some out, too
			if tooSlow := v.slow && f.slow.Load() > f.slowMost.Load(); tooSlow || !ring.push(v) {
				f.requeue(v)
				continue
			}
			f.wakeFetcher()
		}
	}
	for _, s := range f.shards {
		s.mu.Unlock()
		signal(s.bell) // there may be room for its visits
	}
}

// requeue returns a visit from the ring to its shard, which is locked. A host does not change shards while it
// has a visit.
func (f *Frontier) requeue(v *Visit) {
	s := v.state.shard.Load()
	s.takenBack(v)
	s.enqueue(v)
	if v.slow {
		f.slow.Add(-1)
	}
}

// slowMost is how many of n fetchers slow hosts may have.
func slowMost(n int) int32 { return int32(max(n/slowShare, 1)) }
