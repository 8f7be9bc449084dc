// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Reasons of refusals that this package decides. Filters have their own.
const (
	ReasonBlocked    = "blocked" // the operator has blocked the host
	ReasonSplit      = "split"   // the URL is of a part that was moved to another directory
	ReasonScope      = "scope"
	ReasonDuplicates = "duplicates"     // below a closed prefix
	ReasonDepth      = "depth"          // more links from a seed than MaxDepth
	ReasonChain      = "redirect_chain" // beyond the last redirect that is followed
	ReasonRobots     = "robots_denied"
	ReasonMalformed  = "malformed" // not a canonical URL
)

// Options of an Admission.
type Options struct {
	// Filters are values: their answer for a URL never changes, so a refusal is final.
	Filters policy.URLFilters
	// Live filters may change during a crawl, see Refresh. They decide again before each fetch.
	Live []policy.LiveFilter
	// Scope says how far from the seeds the crawl goes. Hosts may give a host a scope and budgets of its own; nil:
	// none. A policy with a method Fingerprint() uint64 can be compared with that of the last process. One without
	// makes everything pending at each start at which links are withheld.
	Scope policy.Scope
	Hosts policy.HostPolicy
	// MaxDepth is the greatest number of links from a seed; 0 means no bound. MaxRedirects is the longest chain of
	// redirects that is followed; 0 means none.
	MaxDepth, MaxRedirects int
	// TrapPercent is the percentage of copies among recent pages that closes a prefix; 0 or less: none is closed, and
	// those that are closed do not count.
	TrapPercent int
	// Host and Domain are what one of them may cost. Zero fields mean no bound, except Domain.URLs: 0 means that the
	// bound grows with the number of domains that link to the domain.
	Host, Domain Cost
	// Store holds meta and hostdb. Now is the engine's clock; nil means time.Now. Warn reports what stops nothing, on
	// the goroutine of Refresh or Changes.Commit; nil drops it.
	Store storage.Reader
	Now   func() time.Time
	Warn  func(error)
}

// Admission says which URLs may be crawled. It is safe for concurrent use, except Refresh, Page, Group and CloseTraps,
// which have one caller at a time.
type Admission struct {
	o       Options
	scopes  *scopes
	live    *live
	blocks  blocks
	splits  splits
	traps   traps
	budgets budgets
	pending pending
	version atomic.Uint64
}

// Version changes when the answer for some URL may have changed. Any goroutine may call it.
func (a *Admission) Version() uint64 { return a.version.Load() }

// Deepest is the number of links from a seed beyond which no URL is admitted, at most 255, which says that some may be.
// Any goroutine may call it.
func (a *Admission) Deepest() int {
	if a.o.MaxDepth <= 0 || a.HasSettings() {
		return math.MaxUint8
	}
	return min(a.o.MaxDepth, math.MaxUint8)
}

// New returns an Admission without seeds. Load comes next.
func New(o Options) *Admission {
	if o.Warn == nil {
		o.Warn = func(error) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	a := &Admission{
		o:       o,
		scopes:  newScopes(o.Scope, o.Hosts),
		live:    newLive(o.Live, o.Scope, o.Hosts),
		traps:   traps{percent: o.TrapPercent},
		pending: pending{prefixes: map[string]bool{}},
	}
	a.scopes.seeds.store, a.scopes.seeds.warn = o.Store, o.Warn
	a.budgets = budgets{store: o.Store, now: o.Now, host: o.Host, domain: o.Domain, isSeedDomain: a.scopes.isSeedDomain}
	return a
}

// Verdict is the answer for one URL. The zero Verdict admits.
type Verdict struct {
	Reason string // a short constant that is counted and shown; "" admits
	Rule   string // the entry, rule or prefix that decided; only Explain fills it in
	Later  bool   // the refusal may end, by a wider scope or another version of a live filter
}

// OK reports whether the URL is admitted.
func (v Verdict) OK() bool { return v.Reason == "" }

// Robots is what robots.txt says of a URL.
type Robots uint8

// What robots.txt says.
const (
	RobotsUnknown Robots = iota // not requested yet: no reason to refuse
	RobotsAllowed
	RobotsDenied
)

// Facts are what only the caller knows of a URL. The zero value is a link of unknown depth.
type Facts struct {
	Seed   bool // a seed, or what one redirects to: in scope by definition
	Depth  int  // links from a seed
	Hops   int  // redirects in a row that lead to it
	Robots Robots
}

// Verdict decides. For a URL that is admitted, it allocates nothing but the key of the host, or under
// policy.ScopeDomain of the domain, where the scope depends on it. A refusal for good by the facts comes before one
// that may end: a withheld link must be admitted by all else.
func (a *Admission) Verdict(u urlkey.URL, f Facts) Verdict {
	if reason := a.o.Filters.Accept(u); reason != "" {
		return Verdict{Reason: reason}
	}
	v := a.Recheck(u)
	if v.OK() && !f.Seed && !a.scopes.accepts(u) {
		v = Verdict{Reason: ReasonScope, Later: true}
	}
	if v.OK() || v.Later {
		if final := a.ofFacts(u, f); !final.OK() {
			return final
		}
	}
	return v
}

// VerdictKey is Verdict for a URL known by its key.
func (a *Admission) VerdictKey(key urlkey.Key, f Facts) Verdict {
	u, err := key.URL()
	if err != nil {
		return Verdict{Reason: ReasonMalformed}
	}
	return a.Verdict(u, f)
}

// Recheck decides by what may have changed since a URL was chosen: parts that were moved, blocked hosts, live filters
// and traps.
func (a *Admission) Recheck(u urlkey.URL) Verdict {
	if a.splits.refuses(u) {
		return Verdict{Reason: ReasonSplit, Later: true}
	}
	if a.blocks.refuses(u) {
		return Verdict{Reason: ReasonBlocked, Later: true}
	}
	if reason := a.live.accept(u); reason != "" {
		return Verdict{Reason: reason, Later: true}
	}
	if a.traps.refuses(u) {
		return Verdict{Reason: ReasonDuplicates}
	}
	return Verdict{}
}

// Denied reports whether a live filter refuses a URL: what was fetched of it earlier is not to be found either. What
// was fetched of a blocked host stays to be found.
func (a *Admission) Denied(u urlkey.URL) bool {
	return len(a.o.Live) > 0 && a.live.accept(u) != ""
}

// LiveRules identifies the rules of the live filters that are in force, of which Denied depends.
func (a *Admission) LiveRules() uint64 { return a.live.sum.Load() }

// ofFacts decides by what the caller knows.
func (a *Admission) ofFacts(u urlkey.URL, f Facts) Verdict {
	depth := a.o.MaxDepth
	if set := a.URLSettings(u); set != nil && set.MaxDepth != 0 {
		depth = set.MaxDepth
	}
	switch {
	case depth > 0 && f.Depth > depth:
		return Verdict{Reason: ReasonDepth}
	case f.Hops > a.o.MaxRedirects:
		return Verdict{Reason: ReasonChain}
	case f.Robots == RobotsDenied:
		return Verdict{Reason: ReasonRobots}
	}
	return Verdict{}
}

// Explain is Verdict with the rule that decided, for people. It is slow. For a URL that is admitted, Rule is what the
// last live filter with a rule about it says.
func (a *Admission) Explain(u urlkey.URL, f Facts) Verdict {
	v := a.Verdict(u, f)
	for _, filter := range a.o.Filters {
		if reason := filter.Accept(u); reason != "" && reason == v.Reason {
			if e, ok := filter.(policy.Explainer); ok {
				v.Rule = e.Explain(u)
			}
			return v
		}
	}
	for _, l := range a.o.Live {
		switch reason := l.Accept(u); {
		case v.OK() && reason == "":
			if rule := l.Explain(u); rule != "" {
				v.Rule = rule
			}
		case reason != "" && reason == v.Reason:
			v.Rule = l.Explain(u)
			return v
		}
	}
	if v.Reason == ReasonSplit {
		part, _ := a.splits.of(u.HostKey())
		v.Rule = part.String() + " were moved to another directory"
	}
	if v.Reason == ReasonBlocked {
		v.Rule = "host " + u.HostKey().String()
	}
	if v.Reason == ReasonDuplicates {
		v.Rule = "closed: " + spellPrefix(a.traps.closing(u.AppendKey(nil)))
	}
	return v
}

// RefusesHost reports whether a host is blocked, in a part that was moved, or refused by a filter of hosts, live or
// not, whatever the URL. Not even robots.txt is requested from such a host.
func (a *Admission) RefusesHost(h urlkey.HostKey) bool {
	if a.blocks.has(h) || a.splits.has(h) {
		return true
	}
	for _, f := range a.o.Live {
		if refusesHost(f, h) {
			return true
		}
	}
	for _, f := range a.o.Filters {
		if refusesHost(f, h) {
			return true
		}
	}
	return false
}

func refusesHost(f policy.URLFilter, h urlkey.HostKey) bool {
	hosts, ok := f.(policy.HostFilter)
	return ok && hosts.AcceptHost(h) != ""
}

// HostSettings returns the settings that the policy of hosts has for a host, nil if there are none. The caller must not
// change them.
func (a *Admission) HostSettings(h urlkey.HostKey) *policy.HostSettings {
	if a.o.Hosts == nil {
		return nil
	}
	return a.o.Hosts.Settings(h)
}

// URLSettings returns the settings that the policy of hosts has for a URL, nil if there are none. The caller must not
// change them.
func (a *Admission) URLSettings(u urlkey.URL) *policy.HostSettings { return a.scopes.settings(u) }

// HasSettings reports whether some hosts or URLs may have settings of their own.
func (a *Admission) HasSettings() bool { return a.o.Hosts != nil }

// Load reads what earlier runs admitted and closed. It is called once, before everything else. The error says what
// could not be read; damage wraps storage.ErrCorrupt.
func (a *Admission) Load() error {
	if err := a.scopes.load(a.o.Store); err != nil {
		return fmt.Errorf("loading the scope: %w", err)
	}
	if err := a.blocks.load(a.o.Store); err != nil {
		return fmt.Errorf("loading blocked hosts: %w", err)
	}
	if err := a.splits.load(a.o.Store); err != nil {
		return fmt.Errorf("loading parts that were moved: %w", err)
	}
	if err := a.traps.load(a.o.Store); err != nil {
		return fmt.Errorf("loading closed prefixes: %w", err)
	}
	if err := a.pending.load(a.o.Store, a.live.fingerprint(), a.live.anyHosts()); err != nil {
		return fmt.Errorf("loading what came into scope: %w", err)
	}
	return nil
}

// HasHost reports whether some URL of a host may be in scope, and the host is neither blocked nor in a part that was
// moved. Scans call it to skip hosts without looking at their URLs.
func (a *Admission) HasHost(h urlkey.HostKey) bool {
	return a.scopes.hasHost(h) && !a.blocks.has(h) && !a.splits.has(h)
}

// HostReason is why HasHost is false of a host.
func (a *Admission) HostReason(h urlkey.HostKey) string {
	switch {
	case a.splits.has(h):
		return ReasonSplit
	case a.blocks.has(h):
		return ReasonBlocked
	}
	return ReasonScope
}

// Refresh puts new rules of the live filters in force, and reports whether there are any or whether hosts were blocked
// or unblocked since the last call. After new rules every withheld link is pending. A filter that cannot be read is
// reported through Options.Warn and keeps its rules. One goroutine at a time may call it.
func (a *Admission) Refresh() (changed bool) {
	if changed = a.live.refresh(a.o.Warn); changed {
		a.pending.refreshed()
		a.version.Add(1)
	}
	return a.blocks.changed.Swap(false) || changed
}

// Pending returns the prefixes of keys below which withheld links may be admitted by now, in key order. "" means
// everything, and is then the only one.
func (a *Admission) Pending() []string { return a.pending.list() }

// Closed returns the prefixes that were closed as traps, in order. Any goroutine may call it.
func (a *Admission) Closed() []Closed { return a.traps.list() }

// Page counts a page that was fetched in the segments of this Dedup, by its key.
func (a *Admission) Page(key []byte) { a.traps.page(key) }

// WatchesTraps reports whether Page and Copies count anything.
func (a *Admission) WatchesTraps() bool { return a.traps.percent > 0 }

// Copies counts pages with the same content that belong to one prefix (TrapPrefix): how many there are, and how many of
// them were fetched in the segments of this Dedup.
func (a *Admission) Copies(prefix []byte, all, fresh int) { a.traps.copies(prefix, all, fresh) }

// HostBudget returns the budget of a host. Without a limit, Used is not filled in. Any goroutine may call it; it may
// read the store.
func (a *Admission) HostBudget(h urlkey.HostKey) (Budget, error) {
	return a.HostBudgetIn(a.o.Store, h)
}

// HostBudgetIn is HostBudget as of a snapshot.
func (a *Admission) HostBudgetIn(rd storage.Reader, h urlkey.HostKey) (Budget, error) {
	return a.budgets.ofHost(rd, h, a.HostSettings(h))
}

// LimitsHost reports whether the operator has set a limit for a host. Any goroutine may call it.
func (a *Admission) LimitsHost(h urlkey.HostKey) bool {
	set := a.HostSettings(h)
	return a.o.Host != (Cost{}) || set != nil && (set.MaxPages > 0 || set.MaxBytes > 0 || set.MaxTime > 0)
}

// LimitsDomains reports whether the operator has set a limit for domains. Any goroutine may call it.
func (a *Admission) LimitsDomains() bool { return a.o.Domain != (Cost{}) }

// Limits reports whether the operator may have set a limit for some host or for domains. Any goroutine may call it.
func (a *Admission) Limits() bool {
	return a.o.Host != (Cost{}) || a.LimitsDomains() || a.HasSettings()
}

// DomainBudget returns the budget of a registered domain, by domain key, as it was at most ten minutes ago. Without a
// limit, Used is not filled in. Any goroutine may call it; it may read the store.
func (a *Admission) DomainBudget(domain string) (Budget, error) {
	return a.DomainBudgetIn(a.o.Store, domain, false)
}

// DomainBudgetIn is DomainBudget as of a snapshot, unless it was computed before and need not be computed anew.
func (a *Admission) DomainBudgetIn(rd storage.Reader, domain string, anew bool) (Budget, error) {
	return a.budgets.ofDomain(rd, domain, anew)
}

// ForgetSum makes DomainBudget compute the budget of a domain anew, by domain key. Any goroutine may call it.
func (a *Admission) ForgetSum(domain string) { a.budgets.forget(domain) }

// DomainBudgets is for the budgets of many domains, as of a snapshot.
func (a *Admission) DomainBudgets(rd storage.Reader) *DomainBudgets {
	hosts := rd.Scan(storage.HostCountsRange(), nil, nil)
	return &DomainBudgets{
		bs: &a.budgets, hosts: hosts, at: hosts.Next(), referrers: storage.NewFinder(rd, storage.Meta()),
	}
}

// DomainBudgetNow is DomainBudget without the memory of earlier answers, for people.
func (a *Admission) DomainBudgetNow(domain string) (Budget, error) {
	return a.budgets.ofDomainNow(domain)
}
