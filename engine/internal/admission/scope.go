// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"sync"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// scopes are the scope of the crawl and those of single hosts. Each of them gets every seed. Safe for concurrent use.
type scopes struct {
	own   policy.Scope
	hosts policy.HostPolicy // nil: no host has a scope of its own
	urls  policy.URLPolicy  // the same; nil: no URL has one that is not its host's
	by    map[policy.Scope]*policy.ScopeFilter

	seeds seedURLs

	seedMu      sync.RWMutex
	seedDomains map[string]bool // registered domains of seeds
}

func newScopes(own policy.Scope, hosts policy.HostPolicy) *scopes {
	s := &scopes{own: own, hosts: hosts, by: map[policy.Scope]*policy.ScopeFilter{}, seedDomains: map[string]bool{}}
	s.by[own] = policy.NewScopeFilter(own)
	if hosts == nil {
		return s
	}
	s.urls, _ = hosts.(policy.URLPolicy)
	for _, scope := range policy.Scopes() {
		if s.by[scope] == nil {
			s.by[scope] = policy.NewScopeFilter(scope)
		}
	}
	return s
}

// settings returns the settings of a URL, nil for the crawl's own.
func (s *scopes) settings(u urlkey.URL) *policy.HostSettings {
	switch {
	case s.urls != nil:
		return s.urls.URLSettings(u)
	case s.hosts != nil:
		return s.hosts.Settings(u.HostKey())
	}
	return nil
}

// of returns the scope of what has these settings.
func (s *scopes) of(set *policy.HostSettings) *policy.ScopeFilter {
	if set != nil && set.Scope != nil {
		if f := s.by[*set.Scope]; f != nil { // nil: there is no such scope
			return f
		}
	}
	return s.by[s.own]
}

func (s *scopes) accepts(u urlkey.URL) bool {
	f := s.by[s.own]
	if s.hosts != nil { // else the host's key is not needed
		f = s.of(s.settings(u))
	}
	if f.NeedsURLs() {
		s.seeds.complete(s.admitURL)
	}
	return f.Accept(u) == ""
}

// hasHost reports whether some URL of a host may be in scope. Scans call it to skip hosts without looking at their
// URLs.
func (s *scopes) hasHost(h urlkey.HostKey) bool {
	if s.hosts == nil {
		return s.by[s.own].Has(h)
	}
	return s.urls != nil && s.urls.HasURLs(h) || s.of(s.hosts.Settings(h)).Has(h)
}

// needsURLs reports whether a scope in use must know the seeds' URLs.
func (s *scopes) needsURLs() bool {
	for _, f := range s.by {
		if f.NeedsURLs() {
			return true
		}
	}
	return false
}

// admitHost takes a seed's host into every scope and reports whether it is new to one of them.
func (s *scopes) admitHost(h urlkey.HostKey) (news bool) {
	for _, f := range s.by {
		if f.Admit(h) {
			news = true
		}
	}
	s.seedMu.Lock()
	s.seedDomains[h.DomainKey()] = true
	s.seedMu.Unlock()
	return news
}

func (s *scopes) admitURL(u urlkey.URL) {
	for _, f := range s.by {
		if f.NeedsURLs() {
			f.AdmitURL(u)
		}
	}
}

// isSeedDomain reports whether a seed is of a registered domain.
func (s *scopes) isSeedDomain(domain string) bool {
	s.seedMu.RLock()
	defer s.seedMu.RUnlock()
	return s.seedDomains[domain]
}

func (s *scopes) load(store storage.Reader) error {
	err := scan(store, seedHostPrefix, func(host string) error {
		s.admitHost(urlkey.HostKey(host))
		return nil
	})
	if err == nil {
		err = s.seeds.load()
	}
	if err != nil || !s.needsURLs() {
		return err
	}
	return scan(store, seedURLPrefix, func(key string) error {
		u, err := urlkey.Key(key).URL()
		if err != nil {
			return fmt.Errorf("%w: seed %q: %w", storage.ErrCorrupt, key, err)
		}
		s.admitURL(u)
		return nil
	})
}

// reach returns the prefix of the keys that a seed of a host may bring into scope. With scopes of single hosts that is
// the domain: a host of it may have ScopeDomain.
func (s *scopes) reach(h urlkey.HostKey) string {
	if s.own == policy.ScopeDomain || s.hosts != nil {
		return h.DomainKey()
	}
	return string(h)
}
