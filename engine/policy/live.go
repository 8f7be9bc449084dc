// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"time"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// LiveFilter is a URLFilter whose answer for a URL may change while a crawl runs.
type LiveFilter interface {
	URLFilter
	Explain(u urlkey.URL) (rule string)
	Refresh() (changed bool, err error)
	Fingerprint() uint64
}

// HostFilter is a filter that can decide by host alone.
type HostFilter interface {
	AcceptHost(h urlkey.HostKey) (reason string)
}

// HeaderField is one header field.
type HeaderField struct{ Name, Value string }

// HostSettings are what differs for one host.
type HostSettings struct {
	Delay              time.Duration
	Header, Cookies    []HeaderField
	Username, Password string
	PlainAuth          bool
	Scope              *Scope
	MaxPages, MaxBytes int64
	MaxTime            time.Duration
}

// HostPolicy gives the settings of a host.
type HostPolicy interface {
	Settings(h urlkey.HostKey) *HostSettings
}

// Scopes lists all scopes.
func Scopes() []Scope { return []Scope{ScopeHost, ScopeDomain, ScopeAny, ScopePage, ScopePrefix} }
