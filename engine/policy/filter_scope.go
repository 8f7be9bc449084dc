// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strings"
	"sync"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// Scope says how far a crawl may go from its seeds.
type Scope uint8

// The scopes.
const (
	ScopeHost   Scope = iota // the seeds' hosts
	ScopeDomain              // the seeds' registered domains
	ScopeAny                 // everywhere
	ScopePage                // the seeds themselves
	ScopePrefix              // what lies in the seeds' folders: their URLs up to the last slash of the path
)

var scopeNames = [...]string{"host", "domain", "any", "page", "prefix"}

// String returns the scope's name on the command line.
func (s Scope) String() string { return scopeNames[s] }

// ParseScope is the inverse of String.
func ParseScope(s string) (Scope, error) {
	for i, name := range scopeNames {
		if s == name {
			return Scope(i), nil
		}
	}
	return 0, fmt.Errorf("scope %q: want page, prefix, host, domain or any", s)
}

// ScopeFilter accepts the URLs within Scope of the hosts it was told of. Admit may be called while
// others ask: a seed's redirect widens the scope during the crawl.
type ScopeFilter struct {
	scope Scope
	mu    sync.RWMutex
	in    map[string]struct{} // host keys, or domain keys under ScopeDomain
	urls  map[string]struct{} // under ScopePage and ScopePrefix: seeds, or their folders
}

// NewScopeFilter returns a filter that admits nothing yet, unless scope is ScopeAny.
func NewScopeFilter(scope Scope) *ScopeFilter {
	return &ScopeFilter{scope: scope, in: make(map[string]struct{}), urls: make(map[string]struct{})}
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

// NeedsURLs reports whether the scope is told of seeds' URLs, not only of their hosts.
func (f *ScopeFilter) NeedsURLs() bool { return f.scope == ScopePage || f.scope == ScopePrefix }

// AdmitURL takes a seed into the scope, its host too.
func (f *ScopeFilter) AdmitURL(u urlkey.URL) {
	f.Admit(u.HostKey())
	if !f.NeedsURLs() {
		return
	}
	s := u.String()
	if f.scope == ScopePrefix {
		s = folder(u)
	}
	f.mu.Lock()
	f.urls[s] = struct{}{}
	f.mu.Unlock()
}

// folder is a URL up to the last slash of its path.
func folder(u urlkey.URL) string {
	s, _, _ := strings.Cut(u.String(), "?")
	return s[:strings.LastIndexByte(s, '/')+1]
}

// hasURL reports whether a URL is a seed, or lies in a seed's folder or below it.
func (f *ScopeFilter) hasURL(u urlkey.URL) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.scope == ScopePage {
		_, ok := f.urls[u.String()]
		return ok
	}
	for s := folder(u); strings.Count(s, "/") >= 3; s = s[:strings.LastIndexByte(s[:len(s)-1], '/')+1] {
		if _, ok := f.urls[s]; ok {
			return true
		}
	}
	return false
}

// Accept refuses, with reason "scope", what lies outside.
func (f *ScopeFilter) Accept(u urlkey.URL) string {
	if f.NeedsURLs() {
		if f.hasURL(u) {
			return ""
		}
		return "scope"
	}
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
