// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"cmp"
	"container/list"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seine-crawler/seine/engine/fetch/robots"
	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Hosts is a bounded memory of the authorities (scheme, host, port) that are being visited: their robots rules and
// their facts in hostdb. What leaves it is written to hostdb if it changed, and read again when needed. It is safe for
// concurrent use, and one Hosts serves any number of runs.
type Hosts struct {
	env   Env
	size  int          // of authorities in memory
	most  int64        // bytes of them
	bytes atomic.Int64 // that they take: see weigh

	// writeMu is held while facts are read and written, so that older facts never replace newer ones in hostdb. Only
	// writers wait for it.
	writeMu sync.Mutex

	mu      sync.Mutex // guards all below; never held while the disk is waited for
	by      map[urlkey.HostKey]*list.Element
	lru     *list.List                    // of *authority, most recently used first
	leaving map[urlkey.HostKey]*authority // being written; get takes them back
	left    uint64                        // times that some of leaving were written and forgotten

	// soon are authorities that have demanded a rest: KeepDemands writes them.
	soonMu sync.Mutex
	soon   map[*authority]struct{}

	dead     deadAddrs
	sitemaps sitemaps // of robots.txt files
	slots    slots
	troubles troubles
}

// authority is one (scheme, host, port), or what is known of a host whatever the scheme. mu is never held while waiting
// for a server or for the disk: BenchmarkHonest found a stall of ten seconds at each seal when the writer of hostdb
// waited, with all hosts locked, for a server that did not finish its robots.txt.
type authority struct {
	key      urlkey.HostKey // storage.AuthorityKey or HostStateKey
	leavers  int            // writes under way for which it left the memory; guarded by Hosts.mu
	mu       sync.Mutex
	writers  int // writes under way that it must stay in memory for: what the store has is older
	facts    storage.HostFacts
	rules    *robots.Rules // nil until decided
	reason   reason        // why robots.txt was not usable when it was last requested
	dirty    bool
	weight   int64 // its part of Hosts.bytes; 0 while it is not in memory
	broken   bool  // the request for robots.txt broke off with its kept connection
	followed bool  // it was not made because the host has another address now
	// refusals are the times in a row that robots.txt was redirected to what the crawl's own settings refuse. It is
	// requested again at askedAgain.
	refusals   int
	askedAgain time.Time
	fetching   chan struct{}   // closed when the request for robots.txt ends; nil: none is under way
	deferred   *deferredRobots // the robots.txt that was redirected; nil: none is deferred
}

// NewHosts returns an empty memory.
func NewHosts(env Env) *Hosts {
	return &Hosts{env: env, size: hostsMax, most: cmp.Or(env.FactsBytes, factsBytes), soon: map[*authority]struct{}{},
		by: map[urlkey.HostKey]*list.Element{}, lru: list.New(),
		leaving: map[urlkey.HostKey]*authority{}, slots: newSlots(env.Slots)}
}

func authorityKey(u urlkey.URL) urlkey.HostKey { return storage.AuthorityKey(u.HostKey(), u.Scheme()) }

// get returns the authority with a key. It loads the facts of one that is not in memory.
func (h *Hosts) get(key urlkey.HostKey) (*authority, error) {
	for {
		h.mu.Lock()
		a, left := h.held(key), h.left
		h.mu.Unlock()
		if a != nil {
			return a, nil
		}
		loaded := &authority{key: key}
		if _, err := h.env.Store.HostFacts(key, &loaded.facts); err != nil {
			return nil, fmt.Errorf("hostdb facts of %s: %w", key, err)
		}
		h.mu.Lock()
		if a := h.held(key); a != nil { // another goroutine was faster
			h.mu.Unlock()
			return a, nil
		}
		if h.left != left { // what was read may be older than what was written since
			h.mu.Unlock()
			continue
		}
		h.by[key] = h.lru.PushFront(loaded)
		h.weigh(loaded)
		out := h.shrink(loaded)
		h.mu.Unlock()
		return loaded, h.write(out, true)
	}
}

// held returns the authority if it is in memory. h.mu is held.
func (h *Hosts) held(key urlkey.HostKey) *authority {
	if el, ok := h.by[key]; ok {
		h.lru.MoveToFront(el)
		return el.Value.(*authority)
	}
	if a := h.leaving[key]; a != nil {
		h.by[key] = h.lru.PushFront(a)
		a.mu.Lock()
		defer a.mu.Unlock()
		h.weigh(a)
		return a
	}
	return nil
}

// keeps reports whether an authority, whose robots.txt the caller is about to request, is the one in memory. If it has
// left the memory since get, it comes back, and what is learned of it is kept.
func (h *Hosts) keeps(a *authority) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if held := h.held(a.key); held != nil {
		return held == a
	}
	h.by[a.key] = h.lru.PushFront(a)
	a.mu.Lock()
	defer a.mu.Unlock()
	h.weigh(a)
	return true
}

// weigh counts what an authority in memory takes: about 600 bytes, its robots.txt, and rules of about that size. a.mu
// is held, or nobody else has a yet.
func (h *Hosts) weigh(a *authority) {
	weight := 600 + 2*int64(len(a.facts.Robots))
	h.bytes.Add(weight - a.weight)
	a.weight = weight
}

// shrink takes the least recently used sixteenth out of a memory that is full, and returns those that must be
// written. An authority whose robots.txt is being requested stays: the answer would be lost. So do keep, and one that a
// Flush is writing. h.mu is held.
func (h *Hosts) shrink(keep *authority) (out []*authority) {
	if h.lru.Len() <= h.size && h.bytes.Load() <= h.most {
		return nil
	}
	room := func() bool { return h.lru.Len() <= h.size-h.size/16 && h.bytes.Load() <= h.most-h.most/16 }
	for el := h.lru.Back(); el != nil && !room(); {
		last := el
		a := last.Value.(*authority)
		el = el.Prev()
		a.mu.Lock()
		inUse, dirty := a.fetching != nil || a.deferred != nil || a.writers > 0 || a == keep, a.dirty
		if !inUse {
			h.bytes.Add(-a.weight)
			a.weight = 0
		}
		a.mu.Unlock()
		if inUse {
			continue
		}
		h.lru.Remove(last)
		delete(h.by, a.key)
		if dirty {
			h.leaving[a.key] = a
			a.leavers++
			out = append(out, a)
		}
	}
	return out
}

// write writes the changed ones of some authorities in one batch. leaving says that they left the memory: they are
// forgotten then, unless they cannot be written.
func (h *Hosts) write(some []*authority, leaving bool) error {
	if len(some) == 0 {
		return nil
	}
	h.writeMu.Lock()
	defer h.writeMu.Unlock()
	values := make([][]byte, len(some))
	for i, a := range some {
		a.mu.Lock()
		if a.dirty {
			a.dirty = false
			values[i] = storage.AppendHostFacts(nil, &a.facts)
		}
		a.writers++
		a.mu.Unlock()
	}
	err := h.env.Store.Apply(func(b *storage.Batch) error {
		for i, a := range some {
			if values[i] == nil {
				continue
			}
			if err := b.Set(storage.HostFactsRange(), []byte(a.key), values[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("writing hostdb facts: %w", err)
	}
	for i, a := range some {
		a.mu.Lock()
		a.writers--
		a.dirty = a.dirty || err != nil && values[i] != nil
		a.mu.Unlock()
	}
	if leaving {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.left++
		for _, a := range some {
			if err != nil && h.by[a.key] == nil {
				h.by[a.key] = h.lru.PushFront(a)
			}
			if a.leavers--; a.leavers == 0 { // it may have come back and left again meanwhile
				delete(h.leaving, a.key)
			}
		}
	}
	return err
}

// Flush writes every changed authority to hostdb. What changed since the last Flush, and is still in memory, is lost in
// a crash.
func (h *Hosts) Flush() error {
	h.mu.Lock()
	var dirty []*authority
	for el := h.lru.Front(); el != nil; el = el.Next() {
		a := el.Value.(*authority)
		a.mu.Lock()
		if a.dirty {
			dirty = append(dirty, a)
		}
		a.mu.Unlock()
	}
	h.mu.Unlock()
	return h.write(dirty, false)
}

// demands notes that what is known of an authority holds a rest that it demanded.
func (h *Hosts) demands(a *authority) {
	h.soonMu.Lock()
	defer h.soonMu.Unlock()
	h.soon[a] = struct{}{}
}

// keepDemands writes to hostdb what authorities have demanded since the last call, so that a crash does not break it.
// Flush is for all else: what a crash loses of that costs a request.
func (h *Hosts) keepDemands() error {
	h.soonMu.Lock()
	some := slices.Collect(maps.Keys(h.soon))
	clear(h.soon)
	h.soonMu.Unlock()
	return h.write(some, false)
}

// peek returns the authority with a key if it is in memory.
func (h *Hosts) peek(key urlkey.HostKey) *authority {
	h.mu.Lock()
	defer h.mu.Unlock()
	if el, ok := h.by[key]; ok {
		return el.Value.(*authority)
	}
	return h.leaving[key]
}

// Remember stores what the frontier learned of a host, so that it survives a restart: the frontier's Options.OnHost. It
// may read the store. An error is reported to Env.Warn. A host that only the crawl's own settings refuse is not
// remembered: the next process may have others.
func (h *Hosts) Remember(host urlkey.HostKey, s frontier.HostState) {
	if r, ok := h.troubles.of(host); ok && refusedHere(r.failure) {
		return
	}
	a := h.change(host, func(f *storage.HostFacts) {
		if s.Forgiven {
			f.NextFetch, f.Failures, f.Sleeps = s.NotBefore.UnixMilli(), 0, max(f.Sleeps, 1)-1
			return
		}
		f.NextFetch, f.Failures, f.Sleeps = s.NotBefore.UnixMilli(), uint16(s.Failures), uint16(s.Sleeps)
		f.Throttles, f.ResponseMS = uint16(s.Throttles), clampMS(s.ResponseTime)
	})
	if a != nil && s.Throttles > 0 {
		h.demands(a)
	}
}

// used notes an address at which a host was reached.
func (h *Hosts) used(host urlkey.HostKey, addr netip.Addr) {
	h.changeIf(host, func(f *storage.HostFacts) bool { return f.Used(addr) })
}

func clampMS(d time.Duration) uint32 { return uint32(min(max(d.Milliseconds(), 0), math.MaxUint32)) }

// change changes the facts of a host, whatever the scheme, and returns them; nil: they could not be read.
func (h *Hosts) change(host urlkey.HostKey, change func(*storage.HostFacts)) *authority {
	return h.changeIf(host, func(f *storage.HostFacts) bool {
		change(f)
		return true
	})
}

// changeIf is change for a function that reports whether it changed anything.
func (h *Hosts) changeIf(host urlkey.HostKey, change func(*storage.HostFacts) bool) *authority {
	a, err := h.get(storage.HostStateKey(host))
	if err != nil {
		h.env.Warn(err)
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if change(&a.facts) {
		a.dirty = true
	}
	return a
}

// stateOf returns what is known of a host, whatever the scheme.
func (h *Hosts) stateOf(host urlkey.HostKey) (f storage.HostFacts, err error) {
	if a := h.peek(storage.HostStateKey(host)); a != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.facts, nil
	}
	if _, err = h.env.Store.HostFacts(storage.HostStateKey(host), &f); err != nil {
		err = fmt.Errorf("hostdb facts of %s: %w", host, err)
	}
	return f, err
}

// recall fills in what an earlier visit or process learned of a host. It returns the address at which the host was
// reached last; zero: not known.
func (h *Hosts) recall(host urlkey.HostKey, r *frontier.Refill) (last netip.Addr, err error) {
	f, err := h.stateOf(host)
	if err != nil {
		return last, err
	}
	if f.NextFetch > 0 {
		if at := time.UnixMilli(f.NextFetch); at.Sub(h.env.Now()) < hostSleepMax {
			r.NotBefore = at
		}
	}
	r.Failures, r.Sleeps, r.Throttles = int(f.Failures), int(f.Sleeps), int(f.Throttles)
	r.Answered = f.Addr.IsValid()
	r.ResponseTime = time.Duration(f.ResponseMS) * time.Millisecond
	r.CrawlDelay = time.Duration(f.CrawlDelayMS) * time.Millisecond
	return f.Addr, nil
}

// Sitemaps returns the keys of the sitemaps that were found: the same again until done is called, for an update may
// fail. The caller must not change them. Any goroutine may call both.
func (h *Hosts) Sitemaps() (keys []urlkey.Key, done func()) { return h.sitemaps.found() }

// Bytes returns about what the facts in memory take, and what they may take. Any goroutine may call it.
func (h *Hosts) Bytes() (used, limit int64) { return h.bytes.Load(), h.most }

// Troubles returns why hosts give nothing, the reason with the most hosts first. Any goroutine may call it.
func (h *Hosts) Troubles() []Trouble { return h.troubles.list() }

// Begin begins a crawl or fetch: troubles that only earlier ones met are none of it. Any goroutine may call it.
func (h *Hosts) Begin() { h.troubles.begin() }

// ForgetRefused begins a run: the hosts that the settings forbade to reach in an earlier one are not counted in this
// one until it comes to them. Any goroutine may call it.
func (h *Hosts) ForgetRefused() { h.troubles.forgetRefused() }

// RefusedHere returns the number of hosts that the crawl's own settings forbid to reach, as far as the run came to
// them. Any goroutine may call it.
func (h *Hosts) RefusedHere() int { return int(h.troubles.refused.Load()) }

// TroubleOf returns why a host gives nothing; Hosts is 0 if nothing is known. Any goroutine may call it.
func (h *Hosts) TroubleOf(host urlkey.HostKey) (t Trouble) {
	if r, ok := h.troubles.of(host); ok {
		t = Trouble{Failure: r.failure, Robots: r.robots, Unanswered: r.unanswered, Hosts: 1, Example: host}
	}
	return t
}
