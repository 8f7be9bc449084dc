// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Budgets. A trap or a link farm can make up pages and hosts without end, but not links from other
// people's domains. So a registered domain may have domainBase pages, and as many again for each other
// domain that links to it (the idea of IRLbot's STAR: Lee, Leonard, Wang, Loguinov, "IRLbot: scaling to 6
// billion pages and beyond", 2008). Seeds' domains are the operator's word and have no such bound. What
// lies beyond a budget stays due in crawldb and is asked about again as the domain earns more. Budgets of
// bytes and of the time that fetchers spend are the operator's alone, for hosts and domains as for the crawl.
//
// How many domains link to one is estimated from 64 bits, one for each linking domain by hash (linear
// counting: Whang, Vander-Zanden, Taylor, 1990): within a tenth up to 100, and at most 267.

// referrersPrefix begins the meta keys that hold those bits: referrersPrefix, domain key → 8 bytes.
const referrersPrefix = "referrers/"

// referrers estimates the number of domains from their bits.
func referrers(set uint64) float64 {
	zero := max(64-bits.OnesCount64(set), 1)
	return 64 * math.Log(64/float64(zero))
}

// referral collects which domains link to which, over one segment.
type referral struct {
	bits    map[string]uint64         // target domain key → bits
	domains map[urlkey.HostKey]string // a memory of domains, which cost a microsecond to find
	source  urlkey.HostKey
	bit     uint64
	domain  string // of source
}

// domainOf is the domain of a host, remembered.
func (r *referral) domainOf(h urlkey.HostKey) string {
	d, ok := r.domains[h]
	if !ok {
		if r.domains == nil || len(r.domains) >= domainsRemembered {
			r.domains = map[urlkey.HostKey]string{}
		}
		d = h.DomainKey()
		r.domains[h] = d
	}
	return d
}

// from makes a host the source of the links that come next.
func (r *referral) from(host []byte) {
	if string(r.source) != string(host) {
		r.source = urlkey.HostKey(host)
		r.domain = r.domainOf(r.source)
		r.bit = 1 << (xxh3.HashString(r.domain) & 63)
	}
}

// add notes which domains link to one.
func (r *referral) add(domain string, bits uint64) {
	if r.bits == nil {
		r.bits = map[string]uint64{}
	}
	r.bits[domain] |= bits
}

// writeTo adds what was collected to what the store knows, in key order.
func (r *referral) writeTo(e *Engine, w *storage.TableWriter) error {
	var value [8]byte
	for _, d := range slices.Sorted(maps.Keys(r.bits)) {
		old, err := e.referrers(d)
		if err != nil {
			return err
		}
		if old|r.bits[d] == old {
			continue
		}
		binary.LittleEndian.PutUint64(value[:], old|r.bits[d])
		if err := w.Set([]byte(referrersPrefix+d), value[:]); err != nil {
			return err
		}
	}
	return nil
}

// referrers returns the bits of a domain.
func (e *Engine) referrers(domain string) (uint64, error) {
	value, ok, err := e.store.Get(storage.Meta(), []byte(referrersPrefix+domain), nil)
	if err != nil || !ok {
		return 0, err
	}
	if len(value) != 8 {
		return 0, fmt.Errorf("%w: referrers of %s: %d bytes", storage.ErrCorrupt, domain, len(value))
	}
	return binary.LittleEndian.Uint64(value), nil
}

// budgets knows what hosts and domains may still have.
type budgets struct {
	mu      sync.Mutex
	domains map[string]domainBudget
}

type domainBudget struct {
	limit, used frontier.Cost
	until       time.Time // when to look again
}

// budget tells the frontier what a host and its domain may have, and how much the host matters.
func (s *source) budget(rd storage.Reader, host urlkey.HostKey, r *frontier.Refill) error {
	e := s.e
	if len(r.URLs) > 0 {
		r.Priority = float32(min(math.Log2(1+float64(r.URLs[0].Score))/priorityBits, 1))
	}
	if r.HostLimit = (frontier.Cost{URLs: e.o.HostPages, Bytes: e.o.HostBytes, Time: e.o.HostTime}); r.HostLimit != (frontier.Cost{}) {
		var c storage.HostCounts
		if _, err := e.store.HostCounts(host, &c); err != nil {
			return err
		}
		r.HostUsed = costOf(&c)
	}
	domain := host.DomainKey()
	s.budgets.mu.Lock()
	defer s.budgets.mu.Unlock()
	b, ok := s.budgets.domains[domain]
	if now := e.o.Now(); !ok || now.After(b.until) {
		var err error
		if b, err = e.domainBudget(rd, domain); err != nil {
			return err
		}
		b.until = now.Add(budgetHolds)
		if s.budgets.domains == nil || len(s.budgets.domains) >= domainsRemembered {
			s.budgets.domains = map[string]domainBudget{}
		}
		s.budgets.domains[domain] = b
	}
	r.DomainLimit, r.DomainUsed = b.limit, b.used
	return nil
}

// domainBudget computes a domain's limit, and what it has used if there is one.
func (e *Engine) domainBudget(rd storage.Reader, domain string) (b domainBudget, err error) {
	b.limit = frontier.Cost{URLs: e.o.DomainPages, Bytes: e.o.DomainBytes, Time: e.o.DomainTime}
	if b.limit.URLs == 0 && !e.isSeedDomain(domain) {
		set, err := e.referrers(domain)
		if err != nil {
			return b, err
		}
		b.limit.URLs = int64(domainBase * (1 + referrers(set)))
	}
	if b.limit == (frontier.Cost{}) {
		return b, nil
	}
	sc := rd.Scan(storage.HostCountsRange(), []byte(domain), prefixEnd([]byte(domain)))
	defer sc.Close()
	var c storage.HostCounts
	for n := 0; n < domainHostsMax && sc.Next(); n++ {
		if err := storage.DecodeHostCounts(sc.Value(), &c); err != nil {
			return b, fmt.Errorf("hostdb counts of %s: %w", sc.Key(), err)
		}
		b.used.Add(costOf(&c))
	}
	return b, sc.Err()
}

// costOf is what a host has cost so far.
func costOf(c *storage.HostCounts) frontier.Cost {
	return frontier.Cost{URLs: visited(c), Bytes: int64(c.Bytes), Time: time.Duration(c.TookMS) * time.Millisecond}
}

// visited is how many of a host's URLs were asked for.
func visited(c *storage.HostCounts) (n int64) {
	for status, m := range c.ByStatus {
		if storage.Status(status) != storage.StatusUnfetched {
			n += int64(m)
		}
	}
	return n
}

// isSeedDomain reports whether some seed is of a domain.
func (e *Engine) isSeedDomain(domain string) bool {
	e.seedMu.Lock()
	defer e.seedMu.Unlock()
	return e.seedDomains[domain]
}

// noteSeed remembers the domain of a seed.
func (e *Engine) noteSeed(h urlkey.HostKey) {
	e.seedMu.Lock()
	defer e.seedMu.Unlock()
	if e.seedDomains == nil {
		e.seedDomains = map[string]bool{}
	}
	e.seedDomains[h.DomainKey()] = true
}
