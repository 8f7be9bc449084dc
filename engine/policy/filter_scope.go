// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"sync"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// Scope says how far a crawl may go from its seeds.
type Scope uint8

// The scopes, narrowest first.
const (
	ScopeHost   Scope = iota // the seeds' hosts
	ScopeDomain              // the seeds' registered domains
	ScopeAny                 // everywhere
)

var scopeNames = [...]string{"host", "domain", "any"}

// String returns the scope's name on the command line.
func (s Scope) String() string { return scopeNames[s] }

// ParseScope is the inverse of String.
func ParseScope(s string) (Scope, error) {
	for i, name := range scopeNames {
		if s == name {
			return Scope(i), nil
		}
	}
	return 0, fmt.Errorf("scope %q: want host, domain or any", s)
}

// ScopeFilter accepts the URLs within Scope of the hosts it was told of. Admit may be called while
// others ask: a seed's redirect widens the scope during the crawl.
type ScopeFilter struct {
	scope Scope
	mu    sync.RWMutex
	in    map[string]struct{} // host keys, or domain keys under ScopeDomain
}

// NewScopeFilter returns a filter that admits nothing yet, unless scope is ScopeAny.
func NewScopeFilter(scope Scope) *ScopeFilter {
	return &ScopeFilter{scope: scope, in: make(map[string]struct{})}
}

// Admit takes a seed's host into the scope and reports whether that was news.
func (f *ScopeFilter) Admit(h urlkey.HostKey) bool {
	if f.scope == ScopeAny {
		return false
	}
	k := f.unit(h)
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.in[k]; ok {
		return false
	}
	f.in[k] = struct{}{}
	return true
}

// Accept refuses, with reason "scope", what lies outside.
func (f *ScopeFilter) Accept(u urlkey.URL) string {
	if f.scope == ScopeAny || f.Has(u.HostKey()) {
		return ""
	}
	return "scope"
}

// Has reports whether a host lies within the scope.
func (f *ScopeFilter) Has(h urlkey.HostKey) bool {
	if f.scope == ScopeAny {
		return true
	}
	k := f.unit(h)
	f.mu.RLock()
	defer f.mu.RUnlock()
	_, ok := f.in[k]
	return ok
}

func (f *ScopeFilter) unit(h urlkey.HostKey) string {
	if f.scope == ScopeDomain {
		return h.DomainKey()
	}
	return string(h)
}
