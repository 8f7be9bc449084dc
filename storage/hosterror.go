// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"strings"
)

// HostError is a kind of fetches that brought no page. The numbers are stored: append only.
type HostError uint8

// The kinds of errors. Failures are those of package fetch, and of the visit.
const (
	ErrorDNS      HostError = iota // dns_…: the name was not found
	ErrorConnect                   // refused, unreachable, proxy: there was no connection
	ErrorTLS                       // tls_…, without timeouts
	ErrorTimeout                   // a timeout at any stage, or too_slow
	ErrorBroken                    // the connection ended before the answer did
	ErrorProtocol                  // the answer was no HTTP, or larger than a head may be
	ErrorClient                    // 4xx
	ErrorServer                    // 5xx
	ErrorRobots                    // robots.txt forbids it, or demands a delay that is too long
	ErrorOther                     // anything else: a redirect without a target, a page that cannot be parsed …

	// HostErrorCount is the number of kinds.
	HostErrorCount = int(iota)
)

// String is the kind's name, as in JSON.
func (e HostError) String() string {
	names := [HostErrorCount]string{
		"dns", "connect", "tls", "timeout", "broken", "protocol", "http_4xx", "http_5xx", "robots", "other",
	}
	if int(e) < len(names) {
		return names[e]
	}
	return fmt.Sprintf("error %d", uint8(e))
}

// ErrorOf returns the kind of error that a fetch ended in; ok is false if it brought a page, a redirect or the news
// that nothing changed.
func ErrorOf(o *FetchOutcome) (kind HostError, ok bool) {
	if o.Failure != "" {
		return errorOfFailure(o.Failure), true
	}
	switch {
	case o.HTTPStatus >= 500:
		return ErrorServer, true
	case o.HTTPStatus >= 400:
		return ErrorClient, true
	}
	switch o.Status {
	case FetchRetry, FetchGone, FetchParseFailed:
		return ErrorOther, true
	}
	return 0, false
}

func errorOfFailure(name string) HostError {
	switch name {
	case "refused", "unreachable", "proxy":
		return ErrorConnect
	case "dns_timeout", "tls_timeout", "too_slow":
		return ErrorTimeout
	case "reset", "closed_no_response", "stale_conn":
		return ErrorBroken
	case "head_too_large":
		return ErrorProtocol
	case "robots_denied", "crawl_delay":
		return ErrorRobots
	}
	for _, of := range []struct {
		prefix string
		kind   HostError
	}{
		{"dns_", ErrorDNS}, {"tls_", ErrorTLS}, {"timeout_", ErrorTimeout}, {"protocol_error/", ErrorProtocol},
	} {
		if strings.HasPrefix(name, of.prefix) {
			return of.kind
		}
	}
	return ErrorOther
}

// HostProtocol is a scheme with a version of HTTP. The numbers are stored.
type HostProtocol uint8

// The protocols that answers came by.
const (
	ProtocolHTTP10 HostProtocol = iota
	ProtocolHTTP11
	ProtocolHTTPS10
	ProtocolHTTPS11

	// HostProtocolCount is the number of protocols.
	HostProtocolCount = int(iota)
)

// ProtocolOf returns the protocol of an answer to a request in a scheme.
func ProtocolOf(scheme string, o *FetchOutcome) HostProtocol {
	p := ProtocolHTTP10
	if scheme == "https" {
		p = ProtocolHTTPS10
	}
	if !o.HTTP10 {
		p++
	}
	return p
}

// Scheme is "http" or "https".
func (p HostProtocol) Scheme() string {
	if p >= ProtocolHTTPS10 {
		return "https"
	}
	return "http"
}

// Version is the version of HTTP, "1.0" or "1.1".
func (p HostProtocol) Version() string {
	if p%2 == 0 {
		return "1.0"
	}
	return "1.1"
}

// String is scheme and version, as in JSON: "https_1_1".
func (p HostProtocol) String() string { return p.Scheme() + "_1_" + p.Version()[2:] }
