// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// source gives the frontier the URLs of a host: from crawldb in continuous mode, from a fetchlist
// in batch mode.
//
// What was handed out is remembered, by hash, until crawldb knows its outcome, so that no URL is
// handed out twice. The hard part is the moment of forgetting: a refill that began before an
// update was committed still sees the old record, and must still find the URL taken. So refills
// hold mu for reading from before their snapshot until their end, and forgetting takes it for
// writing, after the commit.
type source struct {
	e         *Engine
	fetchlist uint32 // 0: crawldb

	mu     sync.RWMutex
	handMu sync.Mutex // guards handed; held for moments
	handed map[uint64]struct{}

	budgets budgets
	errands errands

	cursorMu sync.Mutex
	cursor   urlkey.HostKey // where Hosts goes on in hostdb or in the fetchlist
}

// Tags of candidates: whether crawldb holds an outcome of an earlier fetch.
const (
	tagNew uint16 = iota
	tagKnown
	tagErrand // a robots.txt on behalf of others, see robots.go
)

func newSource(e *Engine, fetchlist uint32) *source {
	return &source{e: e, fetchlist: fetchlist, handed: make(map[uint64]struct{})}
}

// Refill implements frontier.Source.
func (s *source) Refill(ctx context.Context, host urlkey.HostKey, limit int) (frontier.Refill, error) {
	out := frontier.Refill{Addr: s.e.address(ctx, host)}
	defer s.e.clock.time(stageRefill)()
	s.mu.RLock()
	defer s.mu.RUnlock()
	snap := s.e.store.Snapshot()
	defer snap.Close()
	keep := bestOf{limit: limit}
	sel, err := s.choose(snap, host, &keep)
	if err != nil {
		return out, err
	}
	out.More = sel.due > uint64(keep.heap.Len())
	if sel.nextDue > 0 {
		out.NextDue = time.UnixMilli(sel.nextDue)
	}
	out.URLs = s.hand(host, keep.sorted())
	if err := s.budget(snap, host, &out); err != nil {
		return out, err
	}
	return out, s.e.recall(host, &out)
}

// hand notes URLs of a host as handed out and makes candidates of them, cut from one string: a third of the
// memory of a key each.
func (s *source) hand(host urlkey.HostKey, chosen []choice) []frontier.Candidate {
	if len(chosen) == 0 {
		return nil
	}
	var all []byte
	for _, c := range chosen {
		all = append(all, c.key[len(host):]...)
	}
	rests := string(all)
	out := make([]frontier.Candidate, len(chosen))
	s.handMu.Lock()
	defer s.handMu.Unlock()
	for i, c := range chosen {
		n := len(c.key) - len(host)
		s.handed[xxh3.HashString(string(c.key))] = struct{}{}
		out[i] = frontier.Candidate{Rest: rests[:n], Score: float32(c.score), Depth: c.depth, Tag: c.tag}
		rests = rests[n:]
	}
	return out
}

// Hosts implements frontier.Source: hosts that have something due, in key order, from where the last
// call ended.
func (s *source) Hosts(ctx context.Context, limit int) (hosts []urlkey.HostKey, err error) {
	s.cursorMu.Lock()
	defer s.cursorMu.Unlock()
	if s.fetchlist == 0 {
		hosts, err = s.e.dueFrom(ctx, s.cursor, limit)
	} else {
		hosts, err = s.e.fetchlistHosts(ctx, s.fetchlist, s.cursor, limit)
	}
	s.cursor = ""
	if len(hosts) > 0 {
		s.cursor = urlkey.HostKey(prefixEnd([]byte(hosts[len(hosts)-1])))
	}
	return hosts, err
}

// dueFrom lists hosts from a key on that may have something due.
func (e *Engine) dueFrom(ctx context.Context, from urlkey.HostKey, limit int) (hosts []urlkey.HostKey, err error) {
	sc := e.store.Scan(storage.HostCountsRange(), []byte(from), nil)
	defer sc.Close()
	var counts storage.HostCounts
	now := e.nowMS()
	for n := 0; len(hosts) < limit && sc.Next(); n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := storage.DecodeHostCounts(sc.Value(), &counts); err != nil {
			return nil, fmt.Errorf("hostdb counts of %s: %w", sc.Key(), err)
		}
		if h := urlkey.HostKey(sc.Key()); counts.NextDue != 0 && counts.NextDue <= now && e.scope.Has(h) {
			hosts = append(hosts, h)
		}
	}
	return hosts, sc.Err()
}

func (s *source) choose(rd storage.Reader, host urlkey.HostKey, keep *bestOf) (selection, error) {
	if s.fetchlist == 0 {
		return s.e.selectHost(rd, host, s.e.nowMS(), s.taken, keep)
	}
	var sel selection
	sc := rd.Scan(storage.Fetchlist(s.fetchlist), []byte(host), prefixEnd([]byte(host)))
	defer sc.Close()
	for sc.Next() {
		if s.taken(sc.Key()) {
			continue
		}
		entry, err := storage.DecodeFetchlistEntry(sc.Value())
		if err != nil {
			return sel, fmt.Errorf("fetchlist entry %s: %w", sc.Key(), err)
		}
		sel.due++
		if keep.wants(sc.Key(), entry.Score, entry.Depth) {
			keep.add(choice{key: urlkey.Key(sc.Key()), score: entry.Score, depth: entry.Depth, tag: tagKnown})
		}
	}
	return sel, sc.Err()
}

func (s *source) taken(key []byte) bool {
	s.handMu.Lock()
	defer s.handMu.Unlock()
	_, ok := s.handed[xxh3.Hash(key)]
	return ok
}

func (s *source) take(hash uint64) {
	s.handMu.Lock()
	s.handed[hash] = struct{}{}
	s.handMu.Unlock()
}

// forget lets URLs be handed out again once crawldb says that they are due. The outcomes of these
// URLs must be committed.
func (s *source) forget(hashes []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handMu.Lock()
	defer s.handMu.Unlock()
	for _, h := range hashes {
		delete(s.handed, h)
	}
}

// release is forget for URLs that the frontier gave up without an outcome.
func (s *source) release(host urlkey.HostKey, dropped []frontier.Candidate) {
	var hashes []uint64
	for _, c := range dropped {
		if c.Tag == tagErrand {
			s.dropErrands(c.Key(host))
			continue
		}
		hashes = append(hashes, xxh3.HashString(string(c.Key(host))))
	}
	s.forget(hashes)
}

// address resolves a host ahead of its first visit, so that hosts that share an address take
// turns. A host without an address is visited all the same: the fetch finds out and records why.
func (e *Engine) address(ctx context.Context, host urlkey.HostKey) netip.Addr {
	if e.o.Protocol != nil && e.o.Resolver == nil || e.o.Proxy != "" {
		return netip.Addr{}
	}
	addrs, err := e.resolver.Lookup(ctx, host.Host())
	if err != nil || len(addrs) == 0 {
		return netip.Addr{}
	}
	return addrs[0]
}
