// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// seedHostPrefix begins the meta keys of the seeds' hosts, which are the scope of every later run. seedURLPrefix begins
// those of the seeds, for scopes narrower than hosts. Both are followed by the key; the values are empty.
const (
	seedHostPrefix = "seed-host/"
	seedURLPrefix  = "seed-url/"
)

// scopeOf returns the scope of a host's URLs.
func (a *Admission) scopeOf(h urlkey.HostKey) *policy.ScopeFilter {
	if a.o.Hosts != nil {
		if s := a.o.Hosts.Settings(h); s != nil && s.Scope != nil {
			if f := a.scopes[*s.Scope]; f != nil { // nil: there is no such scope
				return f
			}
		}
	}
	return a.scopes[a.o.Scope]
}

func (a *Admission) inScope(u urlkey.URL) bool {
	if a.o.Hosts == nil { // the host's key is not needed
		return a.scopes[a.o.Scope].Accept(u) == ""
	}
	return a.scopeOf(u.HostKey()).Accept(u) == ""
}

// HasHost reports whether some URL of a host may be in scope. Scans call it to skip hosts without looking at their
// URLs.
func (a *Admission) HasHost(h urlkey.HostKey) bool { return a.scopeOf(h).Has(h) }

// needsURLs reports whether a scope in use must know the seeds' URLs.
func (a *Admission) needsURLs() bool {
	for _, f := range a.scopes {
		if f.NeedsURLs() {
			return true
		}
	}
	return false
}

// admitHost takes a seed's host into every scope and reports whether it is new to one of them.
func (a *Admission) admitHost(h urlkey.HostKey) (news bool) {
	for _, f := range a.scopes {
		if f.Admit(h) {
			news = true
		}
	}
	a.seedMu.Lock()
	a.seedDomains[h.DomainKey()] = true
	a.seedMu.Unlock()
	return news
}

func (a *Admission) admitURL(u urlkey.URL) {
	for _, f := range a.scopes {
		if f.NeedsURLs() {
			f.AdmitURL(u)
		}
	}
}

// isSeedDomain reports whether a seed is of a registered domain.
func (a *Admission) isSeedDomain(domain string) bool {
	a.seedMu.RLock()
	defer a.seedMu.RUnlock()
	return a.seedDomains[domain]
}

func (a *Admission) loadSeeds() error {
	err := a.scan(seedHostPrefix, func(host string) error {
		a.admitHost(urlkey.HostKey(host))
		return nil
	})
	if err != nil || !a.needsURLs() {
		return err
	}
	return a.scan(seedURLPrefix, func(key string) error {
		u, err := urlkey.Key(key).URL()
		if err != nil {
			return fmt.Errorf("%w: seed %q: %w", storage.ErrCorrupt, key, err)
		}
		a.admitURL(u)
		return nil
	})
}
