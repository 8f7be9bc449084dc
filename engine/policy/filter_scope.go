// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strings"
	"sync"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// Scope says how far a crawl may go from its seeds. The zero value is ScopeHost.
type Scope uint8

// The scopes.
const (
	ScopeHost   Scope = iota // the seeds' hosts
	ScopeDomain              // the seeds' registered domains
	ScopeAny                 // everywhere
	ScopePage                // the seeds themselves
	ScopePrefix              // the seeds' folders: all that begins with a seed's URL up to the last slash of its path
)

var scopeNames = [...]string{"host", "domain", "any", "page", "prefix"}

// String returns the scope's name: "host", "domain", "any", "page" or "prefix".
func (s Scope) String() string {
	if int(s) >= len(scopeNames) {
		return fmt.Sprintf("Scope(%d)", uint8(s))
	}
	return scopeNames[s]
}

// Scopes returns all scopes, narrowest first.
func Scopes() []Scope { return []Scope{ScopePage, ScopePrefix, ScopeHost, ScopeDomain, ScopeAny} }

// ParseScope is the inverse of String. The error names the text and the possible names.
func ParseScope(s string) (Scope, error) {
	for i, name := range scopeNames {
		if s == name {
			return Scope(i), nil
		}
	}
	return 0, fmt.Errorf("scope %q: want page, prefix, host, domain or any", s)
}

// ScopeFilter accepts URLs within a Scope of the seeds that it was given. Admit and AdmitURL widen the scope, for
// example after a seed's redirect. Any goroutine may call any method at any time.
type ScopeFilter struct {
	scope Scope
	mu    sync.RWMutex
	in    map[string]struct{} // host keys, or domain keys under ScopeDomain
	urls  map[string]struct{} // seeds under ScopePage, their folders under ScopePrefix
}

// NewScopeFilter returns a filter that accepts nothing yet, unless scope is ScopeAny.
func NewScopeFilter(scope Scope) *ScopeFilter {
	return &ScopeFilter{scope: scope, in: make(map[string]struct{}), urls: make(map[string]struct{})}
}

// Admit adds a seed's host to the scope. It reports whether the host, or under ScopeDomain its domain, is new.
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

// NeedsURLs reports whether the scope depends on the seeds' URLs, not only on their hosts: call AdmitURL then.
func (f *ScopeFilter) NeedsURLs() bool { return f.scope == ScopePage || f.scope == ScopePrefix }

// AdmitURL adds a seed and its host to the scope.
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

// folder returns a URL up to the last slash of its path.
func folder(u urlkey.URL) string {
	s, _, _ := strings.Cut(u.String(), "?")
	return s[:strings.LastIndexByte(s, '/')+1]
}

// hasURL reports whether a URL is a seed, or is in a seed's folder or below it.
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

// Accept refuses with reason "scope".
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

// Has reports whether a host is within the scope. Under ScopePage and ScopePrefix not all of its URLs need be.
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
