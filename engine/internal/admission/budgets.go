// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// A trap or a link farm can generate pages and hosts without end, but not links from other people's domains. So a
// registered domain may have domainBase pages, and as many again for each other domain that links to it (the idea of
// IRLbot's STAR: Lee, Leonard, Wang, Loguinov, "IRLbot: scaling to 6 billion pages and beyond", 2008). Seeds' domains
// are the operator's choice and have no such bound. What is beyond a budget stays due in crawldb and is offered again
// when the domain has earned more. Budgets of bytes and of fetchers' time are set by the operator alone, for hosts and
// domains.
//
// The number of domains that link to one is estimated from 64 bits, one for each linking domain by hash (linear
// counting: Whang, Vander-Zanden, Taylor, 1990): within 10 percent up to 100, and at most 267.
const (
	domainBase = 10_000
	// domainHostsMax is the number of a domain's hosts that are added up; the others cost nothing.
	domainHostsMax = 10_000
	// budgetHolds is how long a domain's sum is used before it is computed again. Where the operator has set a limit
	// for domains, the sum of up to domainHostsFew hosts is always computed: a domain whose hosts leave the frontier,
	// because nothing of them is due, would otherwise be given its budget again when they come back.
	budgetHolds    = 10 * time.Minute
	domainHostsFew = 100
	// domainHostSteps is how many hosts are passed on the way to a domain's first one before it is sought, which costs
	// as much.
	domainHostSteps = 8
	// domainsRemembered is the number of domains in each memory of domains. A full memory is emptied.
	domainsRemembered = 1 << 16
)

// Cost is what requests have cost, or may cost. Bytes are those received.
type Cost struct {
	URLs  int64 // that were requested, each counted once
	Bytes int64
	Time  time.Duration // of fetchers
}

// Budget is a limit and what is used of it. Zero fields of Limit mean no bound.
type Budget struct{ Limit, Used Cost }

// Spent reports whether the bytes or the time are used up: then nothing of the host or domain may be requested.
func (b *Budget) Spent() bool {
	l, u := &b.Limit, &b.Used
	return l.Bytes > 0 && u.Bytes >= l.Bytes || l.Time > 0 && u.Time >= l.Time
}

// Left returns how many URLs that were never requested may be, unless Spent; those that were may be requested again in
// any case.
func (b *Budget) Left() int64 {
	if b.Limit.URLs > 0 {
		return max(b.Limit.URLs-b.Used.URLs, 0)
	}
	return math.MaxInt64
}

// budgets remembers the budgets of domains, each of which takes a scan of the domain's hosts.
type budgets struct {
	store        storage.Reader
	now          func() time.Time
	host, domain Cost // limits
	isSeedDomain func(domain string) bool

	mu      sync.Mutex
	domains map[string]heldBudget
}

type heldBudget struct {
	Budget
	until time.Time
}

// ofHost returns the budget of a host with settings of its own, or nil for none.
func (bs *budgets) ofHost(rd storage.Reader, h urlkey.HostKey, set *policy.HostSettings) (b Budget, err error) {
	b.Limit = bs.host
	if set != nil {
		b.Limit.URLs = max(cmp.Or(set.MaxPages, b.Limit.URLs), 0)
		b.Limit.Bytes = max(cmp.Or(set.MaxBytes, b.Limit.Bytes), 0)
		b.Limit.Time = max(cmp.Or(set.MaxTime, b.Limit.Time), 0)
	}
	if b.Limit == (Cost{}) {
		return b, nil
	}
	var c storage.HostCounts
	value, ok, err := rd.Get(storage.HostCountsRange(), []byte(h), nil)
	if err == nil && ok {
		err = storage.DecodeHostCounts(value, &c)
	}
	if err != nil {
		return b, fmt.Errorf("hostdb counts of %s: %w", h, err)
	}
	b.Used = costOf(&c)
	return b, nil
}

// ofDomain returns the budget of a registered domain, as it was at most budgetHolds ago unless it has few hosts
// or is to be computed anew.
func (bs *budgets) ofDomain(rd storage.Reader, domain string, anew bool) (Budget, error) {
	bs.mu.Lock()
	held, ok := bs.domains[domain]
	bs.mu.Unlock()
	now := bs.now()
	if ok && !anew && now.Before(held.until) {
		return held.Budget, nil
	}
	b, hosts, err := bs.sum(rd, domain) // without the lock: it reads the disk
	if err != nil || bs.domain != (Cost{}) && hosts <= domainHostsFew {
		return b, err
	}
	bs.mu.Lock()
	defer bs.mu.Unlock()
	if bs.domains == nil || len(bs.domains) >= domainsRemembered {
		bs.domains = map[string]heldBudget{}
	}
	bs.domains[domain] = heldBudget{b, now.Add(budgetHolds)}
	return b, nil
}

// forget drops the sum that is held of a domain.
func (bs *budgets) forget(domain string) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	delete(bs.domains, domain)
}

// ofDomainNow computes the budget of a registered domain.
func (bs *budgets) ofDomainNow(domain string) (Budget, error) {
	b, _, err := bs.sum(bs.store, domain)
	return b, err
}

// sum is ofDomainNow with the number of the domain's hosts.
func (bs *budgets) sum(rd storage.Reader, domain string) (b Budget, hosts int, err error) {
	if b.Limit, err = bs.limitOf(domain, bs.referrers); err != nil || b.Limit == (Cost{}) {
		return b, 0, err
	}
	from, to := prefixBounds([]byte(domain))
	sc := rd.Scan(storage.HostCountsRange(), from, to)
	defer sc.Close()
	for at := sc.Next(); at && hosts < domainHostsMax; {
		if urlkey.HostKey(sc.Key()).DomainKey() != domain {
			at = passSuffix(sc, domain) && strings.HasPrefix(string(sc.Key()), domain)
			continue
		}
		if err := b.Used.addHost(sc); err != nil {
			return b, hosts, err
		}
		hosts++
		at = sc.Next()
	}
	return b, hosts, sc.Err()
}

// limitOf is the limit of a domain; referrers says who links to it.
func (bs *budgets) limitOf(domain string, referrers func(domain string) (uint64, error)) (Cost, error) {
	limit := bs.domain
	if limit.URLs == 0 && !bs.isSeedDomain(domain) {
		set, err := referrers(domain)
		if err != nil {
			return limit, err
		}
		limit.URLs = int64(domainBase * (1 + countReferrers(set)))
	}
	return limit, nil
}

// passSuffix moves a scanner from a host that has a domain's prefix and is of another domain. It is one of a public
// suffix below the domain, as a.s3.amazonaws.com is below amazonaws.com: all of these are passed at once.
func passSuffix(sc *storage.Scanner, domain string) bool {
	other := urlkey.HostKey(sc.Key()).DomainKey()
	suffix := other[:strings.LastIndexByte(other[:len(other)-1], ',')+1]
	if len(suffix) <= len(domain) {
		return sc.Next()
	}
	_, behind := prefixBounds([]byte(suffix))
	return sc.SeekGE(behind)
}

// addHost adds what the host at which a scanner of hosts' counts is has cost.
func (c *Cost) addHost(sc *storage.Scanner) error {
	var counts storage.HostCounts
	if err := storage.DecodeHostCounts(sc.Value(), &counts); err != nil {
		return fmt.Errorf("hostdb counts of %s: %w", sc.Key(), err)
	}
	cost := costOf(&counts)
	c.URLs += cost.URLs
	c.Bytes += cost.Bytes
	c.Time += cost.Time
	return nil
}

// DomainBudgets computes the budgets of many domains without the memory of earlier answers. It is fast where domains
// ascend: what it reads stays open, and mostly the next domain begins where the last one ended. One goroutine. Close
// it.
type DomainBudgets struct {
	bs        *budgets
	hosts     *storage.Scanner
	at        bool   // hosts is at a host
	passed    []byte // the last host that was read
	referrers *storage.Finder
	last      string // domain
}

// Of returns the budget of a registered domain, by domain key.
func (d *DomainBudgets) Of(domain string) (b Budget, err error) {
	if domain < d.last {
		d.referrers.Restart()
	}
	d.last = domain
	if b.Limit, err = d.bs.limitOf(domain, d.referrersOf); err != nil || b.Limit == (Cost{}) {
		return b, err
	}
	if domain <= string(d.passed) { // it is within the last one, as a site of a public suffix that is a host too
		d.at = d.hosts.SeekGE([]byte(domain))
	}
	for n := 0; d.at && string(d.hosts.Key()) < domain; n++ {
		if n == domainHostSteps {
			d.at = d.hosts.SeekGE([]byte(domain))
			break
		}
		d.at = d.hosts.Next()
	}
	for n := 0; n < domainHostsMax && d.at && strings.HasPrefix(string(d.hosts.Key()), domain); {
		d.passed = append(d.passed[:0], d.hosts.Key()...)
		if urlkey.HostKey(d.passed).DomainKey() != domain {
			d.at = passSuffix(d.hosts, domain)
			continue
		}
		if err := b.Used.addHost(d.hosts); err != nil {
			return b, err
		}
		n++
		d.at = d.hosts.Next()
	}
	return b, d.hosts.Err()
}

func (d *DomainBudgets) referrersOf(domain string) (uint64, error) {
	value, err := d.referrers.Find([]byte(referrersPrefix + domain))
	if err != nil || value == nil {
		return 0, err
	}
	return decodeReferrers(domain, value)
}

// Close releases what it reads.
func (d *DomainBudgets) Close() {
	d.hosts.Close()
	d.referrers.Close()
}

// costOf is what a host has cost so far. Every URL that was requested counts.
func costOf(c *storage.HostCounts) (cost Cost) {
	for _, n := range c.ByStatus {
		cost.URLs += int64(n)
	}
	cost.URLs -= int64(c.New)
	cost.Bytes, cost.Time = int64(c.Bytes), time.Duration(c.TookMS)*time.Millisecond
	return cost
}

// countReferrers estimates the number of domains from their bits.
func countReferrers(set uint64) float64 {
	zero := max(64-bits.OnesCount64(set), 1)
	return 64 * math.Log(64/float64(zero))
}

func (bs *budgets) referrers(domain string) (uint64, error) {
	value, ok, err := bs.store.Get(storage.Meta(), []byte(referrersPrefix+domain), nil)
	if err != nil || !ok {
		return 0, err
	}
	return decodeReferrers(domain, value)
}

func decodeReferrers(domain string, value []byte) (uint64, error) {
	if len(value) != 8 {
		return 0, fmt.Errorf("%w: referrers of %s: %d bytes", storage.ErrCorrupt, domain, len(value))
	}
	return binary.LittleEndian.Uint64(value), nil
}

// Referral collects which domains link to which in one segment. The zero value is empty. It belongs to one goroutine.
type Referral struct {
	// Domain and Bit are the domain key and the bit of the source that From set last.
	Domain string
	Bit    uint64

	bits    map[string]uint64         // target domain key → bits
	domains map[urlkey.HostKey]string // a memory of domains, each of which takes a microsecond to find
	source  urlkey.HostKey
}

// From makes a host the source of the links that come next.
func (r *Referral) From(host []byte) {
	if string(r.source) != string(host) {
		r.source = urlkey.HostKey(host)
		r.Domain = r.DomainOf(r.source)
		r.Bit = 1 << (xxh3.HashString(r.Domain) & 63)
	}
}

// DomainOf returns the domain key of a host.
func (r *Referral) DomainOf(h urlkey.HostKey) string {
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

// Add adds the bits of domains that link to a domain.
func (r *Referral) Add(domain string, bits uint64) {
	if r.bits == nil {
		r.bits = map[string]uint64{}
	}
	r.bits[domain] |= bits
}

// rows adds a row for each domain with a bit that the store lacks.
func (r *Referral) rows(bs *budgets, rows map[string]string) error {
	for d, set := range r.bits {
		old, err := bs.referrers(d)
		if err != nil {
			return err
		}
		if old|set != old {
			rows[referrersPrefix+d] = string(binary.LittleEndian.AppendUint64(nil, old|set))
		}
	}
	return nil
}
