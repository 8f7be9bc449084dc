// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strings"
	"time"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// HostSettings are what differs for one host from the crawl's own settings. The zero value changes nothing.
//
// Its texts (String, GoString) never show the password or the value of a header or cookie.
type HostSettings struct {
	// Delay is the pause between two requests to the host; 0 means the crawl's, negative means none. A longer
	// Crawl-delay of robots.txt still wins.
	Delay time.Duration

	// Header fields are sent with each request to the host, over http and https alike.
	Header []HeaderField
	// Cookies are names and values. They are sent with each request, in one Cookie header.
	Cookies []HeaderField
	// Username and Password are for basic authentication. With both empty there is none. They are sent over https
	// only, unless PlainAuth is set.
	Username, Password string
	// PlainAuth also sends Username and Password over http, where anyone on the way can read them.
	PlainAuth bool

	// Scope decides over URLs of this host in place of the crawl's scope; nil means the crawl's.
	Scope *Scope

	// MaxPages, MaxBytes and MaxTime are budgets of the host: pages fetched, bytes received, and time spent on
	// requests. 0 means the crawl's.
	MaxPages, MaxBytes int64
	MaxTime            time.Duration
}

// HeaderField is one header field of a request, or one cookie. Its text shows the name only: a value may be a secret.
type HeaderField struct{ Name, Value string }

// String returns the name.
func (f HeaderField) String() string { return f.Name + ": …" }

// GoString returns the name, for %#v.
func (f HeaderField) GoString() string {
	return fmt.Sprintf("policy.HeaderField{Name: %q, …}", f.Name)
}

// String lists the settings that differ from the zero value, without secrets: "delay 2s, header X-Token: …".
func (s HostSettings) String() string {
	var parts []string
	add := func(set bool, format string, args ...any) {
		if set {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(s.Delay > 0, "delay %s", s.Delay)
	add(s.Delay < 0, "no delay")
	for _, f := range s.Header {
		add(true, "header %s", f)
	}
	for _, f := range s.Cookies {
		add(true, "cookie %s", f)
	}
	add(s.hasAuth(), "username %q, password …", s.Username)
	add(s.PlainAuth, "plain authentication")
	if s.Scope != nil {
		add(true, "scope %s", *s.Scope)
	}
	add(s.MaxPages != 0, "at most %d pages", s.MaxPages)
	add(s.MaxBytes != 0, "at most %d bytes", s.MaxBytes)
	add(s.MaxTime != 0, "at most %s", s.MaxTime)
	if len(parts) == 0 {
		return "the crawl's settings"
	}
	return strings.Join(parts, ", ")
}

// GoString is String in a form that names the type, for %#v.
func (s HostSettings) GoString() string { return "policy.HostSettings{" + s.String() + "}" }

func (s *HostSettings) hasAuth() bool { return s.Username != "" || s.Password != "" }

// HostPolicy gives the settings of a host.
//
// Law: the answer depends on the host alone. Nobody changes what Settings returned. Any goroutine may call it, about
// once per refill of the host's URLs and once per request; it must not block, do I/O or allocate.
//
// A policy should also have a method Fingerprint() uint64, as HostTable has: equal settings have the same fingerprint
// in every process. Without it, each start looks at all withheld links again, since their hosts' scopes may differ.
type HostPolicy interface {
	// Settings returns the settings of a host, nil for the crawl's own.
	Settings(h urlkey.HostKey) *HostSettings
}

// HostPolicyFunc makes a function a HostPolicy.
type HostPolicyFunc func(h urlkey.HostKey) *HostSettings

// Settings calls f.
func (f HostPolicyFunc) Settings(h urlkey.HostKey) *HostSettings { return f(h) }
