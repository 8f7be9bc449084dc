// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// registry finds a host's visit state, and a domain's numbers, by name. It is used when hosts are woken and forgotten,
// not when they are visited, so striped mutexes suffice.
type registry struct {
	hosts   atomic.Int64
	most    int                     // hosts in memory
	resting [restCount]atomic.Int64 // forgotten hosts that rest, by reason
	stripe  [stripes]stripe
	names   [stripes]domainStripe
	limit   atomic.Pointer[Cost] // the last one given: most domains have the same
}

// limitOf returns a pointer to a limit, shared if possible; nil if it bounds nothing.
func (r *registry) limitOf(c Cost) *Cost {
	if c == (Cost{}) {
		return nil
	}
	if last := r.limit.Load(); last != nil && *last == c {
		return last
	}
	r.limit.Store(&c)
	return &c
}

// window returns how many URLs a host may have in memory: an even share of maxQueued, and at most ahead, which is
// how many visits to it windowTime allows.
func (r *registry) window(maxQueued, ahead int) int {
	n := maxQueued / int(max(r.hosts.Load(), 1))
	return min(max(min(n, ahead), windowMin), windowMax)
}

type stripe struct {
	mu sync.Mutex
	by map[urlkey.HostKey]*visitState
	// resting are forgotten hosts that rest, by hash.
	resting map[uint64]resting
}

type domainStripe struct {
	mu sync.Mutex
	by map[string]*domain
}

func newRegistry(most int) *registry {
	r := &registry{most: most}
	for i := range r.stripe {
		r.stripe[i].by = map[urlkey.HostKey]*visitState{}
		r.names[i].by = map[string]*domain{}
	}
	return r
}

func hostHash(h urlkey.HostKey) uint64 { return xxh3.HashString(string(h)) }

// wake finds the state of a host, or creates one if there is room, and counts an event that the caller will send to
// it, so that it is not forgotten before. It returns nil if there is no room, or if the host was forgotten and rests.
func (r *registry) wake(h urlkey.HostKey, now moment, home func() *shard) (_ *visitState, rests bool) {
	hash := hostHash(h)
	s := &r.stripe[hash%stripes]
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.by[h]
	if v == nil {
		if r.rests(s, hash, now) {
			return nil, true
		}
		if r.hosts.Load() >= int64(r.most) {
			return nil, false
		}
		v = &visitState{host: h, domain: r.domain(h.DomainKey())}
		v.shard.Store(home())
		s.by[h] = v
		r.hosts.Add(1)
	}
	v.wakes.Add(1)
	return v, false
}

// find returns the state of a host, nil if it is not in memory, and counts an event as wake does.
func (r *registry) find(h urlkey.HostKey) *visitState {
	s := &r.stripe[hostHash(h)%stripes]
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.by[h]
	if v != nil {
		v.wakes.Add(1)
	}
	return v
}

// forget drops a state, and notes its rest if it is a long one. It returns false if an event is on its way to it.
func (r *registry) forget(v *visitState, of resting) bool {
	hash := hostHash(v.host)
	s := &r.stripe[hash%stripes]
	s.mu.Lock()
	defer s.mu.Unlock()
	if v.wakes.Load() > 0 {
		return false
	}
	delete(s.by, v.host)
	r.hosts.Add(-1)
	if s.rest(hash, of, max(restsKept*r.most/stripes, stripes)) {
		r.resting[of.why()].Add(1)
	}
	d := &r.names[xxh3.HashString(v.domain.name)%stripes]
	d.mu.Lock()
	defer d.mu.Unlock()
	if v.domain.refs--; v.domain.refs == 0 {
		delete(d.by, v.domain.name)
	}
	return true
}

// domain returns the numbers of a domain and counts one more host in it.
func (r *registry) domain(name string) *domain {
	s := &r.names[xxh3.HashString(name)%stripes]
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.by[name]
	if d == nil {
		d = &domain{name: name}
		s.by[name] = d
	}
	d.refs++
	return d
}
