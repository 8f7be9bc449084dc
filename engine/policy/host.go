// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// HostSettings are what differs for one host, a domain or the URLs below a prefix from the crawl's own settings. The
// zero value changes nothing.
//
// Its texts (String, GoString) never show the password or the value of a header or cookie.
type HostSettings struct {
	// Delay is the pause between two requests to the host; 0 means the crawl's, negative means none. A longer
	// Crawl-delay of robots.txt still wins.
	Delay time.Duration

	// PerHost is the number of simultaneous requests to the host, 1 to 64; 0 means the crawl's. More than 1 is for the
	// operator's own servers. Other hosts at the same address keep their own number.
	PerHost int

	// Header fields are sent with each request to the host, over http and https alike.
	Header []HeaderField
	// Cookies are names and values. They are sent with each request, in one Cookie header.
	Cookies []HeaderField
	// Username and Password are for basic authentication. With both empty there is none. They are sent over https
	// only, unless PlainAuth is set.
	Username, Password string
	// PlainAuth also sends Username and Password over http, where anyone on the way can read them.
	PlainAuth bool

	// UserAgent is sent in place of the crawl's; "" means the crawl's. Its product name selects the group of robots.txt
	// and of robots directives in pages. Only printable ASCII is allowed.
	UserAgent string

	// Scope decides over URLs of this host in place of the crawl's scope; nil means the crawl's.
	Scope *Scope
	// MaxDepth is the greatest number of links from a seed; 0 means the crawl's, negative no bound.
	MaxDepth int
	// Interval is the time between two fetches of a page, in whole seconds, whatever the schedule, unless its seed line
	// has fixed one; 0 means the crawl's.
	Interval time.Duration
	// MinInterval and MaxInterval bound the intervals that the schedule chooses, in whole seconds; 0 means no bound
	// beyond the crawl's. (Nutch: adaptive-host-specific-intervals.txt.)
	MinInterval, MaxInterval time.Duration

	// MaxPages, MaxBytes and MaxTime are budgets of the host: pages that are fetched, each as often as it is due, bytes
	// received, and time spent on requests. 0 means the crawl's, negative no bound.
	MaxPages, MaxBytes int64
	MaxTime            time.Duration
	// Timeout bounds one fetch, MaxBody the bytes received of one body, at most the crawl's; 0 means the crawl's.
	Timeout time.Duration
	MaxBody int64
}

// over returns s with what it leaves open from below: header fields and cookies one by one, and the login as a whole.
func (s HostSettings) over(below *HostSettings) HostSettings {
	if below == nil {
		return s
	}
	s.Delay, s.PerHost = cmp.Or(s.Delay, below.Delay), cmp.Or(s.PerHost, below.PerHost)
	s.Header, s.Cookies = fieldsOver(s.Header, below.Header), fieldsOver(s.Cookies, below.Cookies)
	if !s.hasAuth() && !s.hasField("Authorization") {
		s.Username, s.Password, s.PlainAuth = below.Username, below.Password, below.PlainAuth
	}
	if s.hasAuth() { // it is the Authorization field
		s.Header = slices.DeleteFunc(s.Header, func(f HeaderField) bool {
			return strings.EqualFold(f.Name, "Authorization")
		})
	}
	s.UserAgent = cmp.Or(s.UserAgent, below.UserAgent)
	s.Scope = cmp.Or(s.Scope, below.Scope)
	s.MaxDepth, s.Interval = cmp.Or(s.MaxDepth, below.MaxDepth), cmp.Or(s.Interval, below.Interval)
	s.MinInterval, s.MaxInterval = s.intervalsOver(below)
	s.MaxPages, s.MaxBytes = cmp.Or(s.MaxPages, below.MaxPages), cmp.Or(s.MaxBytes, below.MaxBytes)
	s.MaxTime, s.Timeout = cmp.Or(s.MaxTime, below.MaxTime), cmp.Or(s.Timeout, below.Timeout)
	s.MaxBody = cmp.Or(s.MaxBody, below.MaxBody)
	return s
}

// intervalsOver is over for the bounds of intervals. What s sets of the two moves the other one out of its way.
func (s *HostSettings) intervalsOver(below *HostSettings) (shortest, longest time.Duration) {
	shortest, longest = cmp.Or(s.MinInterval, below.MinInterval), cmp.Or(s.MaxInterval, below.MaxInterval)
	switch {
	case longest == 0 || shortest <= longest:
	case s.MaxInterval > 0:
		shortest = longest
	default:
		longest = shortest
	}
	return shortest, longest
}

func (s *HostSettings) hasField(name string) bool {
	return slices.ContainsFunc(s.Header, func(f HeaderField) bool { return strings.EqualFold(f.Name, name) })
}

// fieldsOver returns fields and those of below with other names.
func fieldsOver(fields, below []HeaderField) []HeaderField {
	own := len(fields)
	fields = slices.Clone(fields)
	for _, f := range below {
		if !slices.ContainsFunc(fields[:own], func(g HeaderField) bool { return strings.EqualFold(g.Name, f.Name) }) {
			fields = append(fields, f)
		}
	}
	return fields
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
	add(s.PerHost != 0, "at most %d requests at once", s.PerHost)
	for _, f := range s.Header {
		add(true, "header %s", f)
	}
	for _, f := range s.Cookies {
		add(true, "cookie %s", f)
	}
	add(s.hasAuth(), "username %q, password …", s.Username)
	add(s.PlainAuth, "plain authentication")
	add(s.UserAgent != "", "user agent %q", s.UserAgent)
	if s.Scope != nil {
		add(true, "scope %s", *s.Scope)
	}
	add(s.MaxDepth > 0, "at most %d links from a seed", s.MaxDepth)
	add(s.MaxDepth < 0, "any depth")
	add(s.Interval != 0, "fetched again after %s", s.Interval)
	add(s.MinInterval != 0, "fetched again after %s at the earliest", s.MinInterval)
	add(s.MaxInterval != 0, "fetched again after %s at the latest", s.MaxInterval)
	add(s.MaxPages > 0, "at most %d pages", s.MaxPages)
	add(s.MaxPages < 0, "any number of pages")
	add(s.MaxBytes > 0, "at most %d bytes", s.MaxBytes)
	add(s.MaxBytes < 0, "any number of bytes")
	add(s.MaxTime > 0, "at most %s", s.MaxTime)
	add(s.MaxTime < 0, "any time")
	add(s.Timeout != 0, "at most %s for a fetch", s.Timeout)
	add(s.MaxBody != 0, "at most %d bytes of a body", s.MaxBody)
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

// URLPolicy is a HostPolicy that also has settings for some URLs of a host. The laws of HostPolicy hold.
type URLPolicy interface {
	HostPolicy
	// URLSettings returns the settings of a URL: those of its host, with what differs for the URL; nil for the crawl's
	// own. The host's delay, PerHost, budgets and user agent hold for all its URLs.
	URLSettings(u urlkey.URL) *HostSettings
	// HasURLs reports whether some URLs of a host have settings of their own.
	HasURLs(h urlkey.HostKey) bool
}

// HostPolicyFunc makes a function a HostPolicy.
type HostPolicyFunc func(h urlkey.HostKey) *HostSettings

// Settings calls f.
func (f HostPolicyFunc) Settings(h urlkey.HostKey) *HostSettings { return f(h) }
