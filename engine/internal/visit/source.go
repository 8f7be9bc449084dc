// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Source gives the frontier the URLs of a host. It implements frontier.Source and is safe for concurrent use.
//
// What was handed out is remembered, by hash, until crawldb knows its outcome, so that no URL is handed out twice. The
// hard part is when to forget: a refill that began before an update was committed still sees the old record, and must
// still find the URL taken. So refills hold mu for reading from before their snapshot until their end, and Forget takes
// it for writing, after the commit. A supply reads little in between, however much a host has that is due.
type Source struct {
	h      *Hosts
	supply Supply
	reads  chan struct{} // one element for each refill that reads the store

	mu     sync.RWMutex
	handMu sync.Mutex // guards handed; nobody waits while holding it
	handed map[uint64]struct{}
	broken map[uint64]struct{} // those of handed whose request broke off with its kept connection, once

	deferred  deferrals
	unseen    unseen
	deletions deletions
	lookups   atomic.Int32 // refills that wait for an address

	cursorMu sync.Mutex
	cursor   urlkey.HostKey // where the next call of Hosts begins
}

// Tags of candidates.
const (
	tagNew    uint8 = iota
	tagKnown        // crawldb may hold validators of an earlier fetch
	tagRobots       // a deferred robots.txt, see deferred.go
)

// NewSource returns a source of what the supply offers.
func NewSource(h *Hosts, supply Supply) *Source {
	return &Source{
		h: h, supply: supply, reads: make(chan struct{}, cmp.Or(h.env.Refills, 2)),
		handed: map[uint64]struct{}{}, broken: map[uint64]struct{}{},
		unseen: unseen{admission: h.env.Admission},
	}
}

// Refill implements frontier.Source. After an error nothing is handed out.
func (s *Source) Refill(ctx context.Context, host urlkey.HostKey, limit int) (frontier.Refill, error) {
	addrs := s.addresses(ctx, host)
	out := frontier.Refill{Addr: s.h.dead.choose(host, addrs, netip.Addr{}, s.h.env.Now())}
	if set := s.h.env.Admission.HostSettings(host); set != nil {
		out.Delay, out.PerHost = set.Delay, set.PerHost
	}
	select {
	case s.reads <- struct{}{}:
		defer s.read(time.Now())
	case <-ctx.Done():
		return out, ctx.Err()
	}
	last, err := s.h.recall(host, &out)
	if err != nil {
		return out, err
	}
	out.Addr = s.h.dead.choose(host, addrs, last, s.h.env.Now())
	if busy := s.h.env.Busy; busy != nil {
		defer busy()()
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	var mark uint64
	if s.supply.Mark != nil {
		mark = s.supply.Mark()
	}
	snap := s.h.env.Store.Snapshot()
	defer snap.Close()
	// A sleeping host too has budgets: that of its domain holds for the domain's other hosts in the frontier.
	over, err := s.budget(snap, host, &out)
	if err != nil {
		return out, err
	}
	if out.Sleeps > 0 && out.NotBefore.After(s.h.env.Now()) {
		s.h.troubles.sleeps(host)
		return out, nil // it sleeps, so its URLs would come back at once
	}
	taken := s.taken
	shut, until := s.h.shut(host)
	if shut != "" { // its URLs wait for their robots.txt, those of the other scheme do not wait for them
		end := []byte(" " + shut)
		taken = func(key []byte) bool { return bytes.HasSuffix(key, end) || s.taken(key) }
	}
	chosen, err := s.supply.Choose(snap, &Wanted{
		Host: host, Limit: limit, Taken: taken, Mark: mark,
		Pages: out.HostLimit.URLs > 0 || out.DomainLimit.URLs > 0, Again: over,
	})
	if err != nil {
		return out, err
	}
	out.More, out.Spent = chosen.More, chosen.Spent
	if chosen.NextDue > 0 {
		out.NextDue = time.UnixMilli(chosen.NextDue)
	}
	if shut != "" && (out.NextDue.IsZero() || until.Before(out.NextDue)) {
		out.NextDue = until
	}
	if len(chosen.URLs) > 0 {
		out.Priority = priority(chosen.URLs[0].Score)
	}
	out.URLs = s.hand(host, chosen.URLs)
	return out, nil
}

// read ends a refill's reading of the store, which began at a time.
func (s *Source) read(began time.Time) {
	if s.h.env.GiveWay != nil {
		s.h.env.GiveWay(time.Since(began))
	}
	<-s.reads
}

// priority returns the priority of a host, 0 to 1, by the score of its best URL.
func priority(score float64) float32 {
	return float32(min(math.Log2(1+score)/priorityBits, 1))
}

// budget tells the frontier what a host and its domain may cost, and have cost so far. over: they may have no more
// URLs that were never requested.
func (s *Source) budget(snap *storage.Snapshot, host urlkey.HostKey, r *frontier.Refill) (over bool, err error) {
	a, domain := s.h.env.Admission, host.DomainKey()
	b, err := a.HostBudgetIn(snap, host)
	if err != nil {
		return false, err
	}
	r.HostLimit, r.HostUsed = cost(b.Limit), cost(b.Used)
	ofHost, ofDomain, stale, err := s.unseen.of(snap, host, domain)
	if err != nil {
		return false, err
	}
	if b, err = a.DomainBudgetIn(snap, domain, stale); err != nil {
		return false, err
	}
	r.DomainLimit, r.DomainUsed = cost(b.Limit), cost(b.Used)
	r.HostUsed.Add(ofHost)
	r.DomainUsed.Add(ofDomain)
	return r.HostLimit.URLs > 0 && r.HostUsed.URLs >= r.HostLimit.URLs ||
		r.DomainLimit.URLs > 0 && r.DomainUsed.URLs >= r.DomainLimit.URLs, nil
}

// hand notes URLs of a host as handed out and makes candidates of them. These are cut from one string, which takes a
// third of the memory of a key for each.
func (s *Source) hand(host urlkey.HostKey, chosen []Choice) []frontier.Candidate {
	if len(chosen) == 0 {
		return nil
	}
	var all []byte
	for _, c := range chosen {
		all = append(all, c.Key[len(host):]...)
	}
	rests := string(all)
	out := make([]frontier.Candidate, len(chosen))
	s.handMu.Lock()
	defer s.handMu.Unlock()
	for i, c := range chosen {
		n := len(c.Key) - len(host)
		s.handed[xxh3.HashString(string(c.Key))] = struct{}{}
		out[i] = frontier.Candidate{Rest: rests[:n], Score: float32(c.Score), Depth: c.Depth, Counted: c.Counted}
		if c.Known {
			out[i].Tag = tagKnown
		}
		rests = rests[n:]
	}
	return out
}

// Hosts implements frontier.Source. It returns hosts in key order, from where the last call ended.
func (s *Source) Hosts(ctx context.Context, limit int) ([]urlkey.HostKey, error) {
	s.cursorMu.Lock()
	defer s.cursorMu.Unlock()
	hosts, err := s.supply.Hosts(ctx, s.cursor, limit)
	s.cursor = ""
	if len(hosts) > 0 {
		_, end := storage.HostBounds(hosts[len(hosts)-1])
		s.cursor = urlkey.HostKey(end)
	}
	return hosts, err
}

// Lookups returns the number of refills that wait for the address of a host. Any goroutine may call it.
func (s *Source) Lookups() int { return int(s.lookups.Load()) }

func (s *Source) taken(key []byte) bool {
	s.handMu.Lock()
	defer s.handMu.Unlock()
	_, ok := s.handed[xxh3.Hash(key)]
	return ok
}

// Take notes a URL, by its key, as handed out. Its outcome, of that cost, is in a segment that updatedb has not seen.
func (s *Source) Take(key []byte, segment uint32, cost frontier.Cost) error {
	s.handMu.Lock()
	s.handed[xxh3.Hash(key)] = struct{}{}
	s.handMu.Unlock()
	return s.Spent(key, segment, cost)
}

// Spent notes what an attempt at a URL, by its key, has cost that is in an earlier segment which updatedb has not seen:
// of URLs nothing if crawldb counts it already. It may be handed out.
func (s *Source) Spent(key []byte, segment uint32, cost frontier.Cost) error {
	host := urlkey.HostKey(urlkey.HostKeyOf(key))
	if ofHost, ofDomain := s.unseen.limits(host); !ofHost && !ofDomain {
		return nil
	}
	var r storage.Record
	ok, err := s.h.env.Store.Record(urlkey.Key(key), &r)
	if ok && !r.IsNew() {
		cost.URLs = 0
	}
	s.unseen.add(host, 0, segment, cost)
	return err
}

// Forget lets the URLs of a segment, by the hashes of their keys, be handed out again when crawldb says that they are
// due. Their outcomes must be committed. It waits for refills under way.
func (s *Source) Forget(segment uint32, hashes []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unseen.forget(segment)
	s.handMu.Lock()
	defer s.handMu.Unlock()
	for _, h := range hashes {
		delete(s.handed, h)
		delete(s.broken, h)
	}
	s.reoffer("")
}

// reoffer tells the supply that URLs of a host, "" of any, are not taken any more.
func (s *Source) reoffer(host urlkey.HostKey) {
	if s.supply.Reoffer != nil {
		s.supply.Reoffer(host)
	}
}

// mayReplay reports whether the request for a URL, by its key, may be sent again because its kept connection was
// closed. It may once.
func (s *Source) mayReplay(key urlkey.Key) bool {
	h := xxh3.HashString(string(key))
	s.handMu.Lock()
	defer s.handMu.Unlock()
	_, again := s.broken[h]
	s.broken[h] = struct{}{}
	return !again
}

// Release lets URLs be handed out again that have no outcome. It is the frontier's Options.OnDrop. It need not wait for
// refills, since the records of these URLs have not changed.
func (s *Source) Release(host urlkey.HostKey, dropped []frontier.Candidate) {
	for _, c := range dropped {
		key := c.Key(host)
		if c.Tag == tagRobots {
			s.deferred.drop(key)
			continue
		}
		s.handMu.Lock()
		delete(s.handed, xxh3.HashString(string(key)))
		delete(s.broken, xxh3.HashString(string(key)))
		s.handMu.Unlock()
	}
	s.reoffer(host)
}

// addresses resolves a host before its first visit. A host without an address is visited too: the fetch finds out why,
// and records it.
func (s *Source) addresses(ctx context.Context, host urlkey.HostKey) []netip.Addr {
	if s.h.env.Resolver == nil {
		return nil
	}
	s.lookups.Add(1)
	defer s.lookups.Add(-1)
	addrs, err := s.h.env.Resolver.Lookup(ctx, host.Host())
	if err != nil {
		return nil
	}
	return addrs
}
