// SPDX-License-Identifier: Apache-2.0

package urlkey

import (
	"strconv"
	"strings"
)

// URL is a canonical http or https URL. Only Parse, Resolve and Key.URL make one, so every URL has
// a host, a path that begins with '/', no fragment, no user information, and only printable ASCII:
// it can be written into a request line as it is. The zero URL is invalid. URLs are immutable and
// may be compared with ==.
type URL struct {
	s        string // canonical spelling
	hostEnd  uint16 // end of the host in s; it begins after "://"
	pathAt   uint16 // begin of the path in s; between hostEnd and pathAt is ":port" or nothing
	queryAt  uint16 // index of '?' in s, or len(s)
	port     uint16 // effective port
	isSecure bool   // https
}

// Error says why a text is no URL of a crawl.
type Error struct {
	URL    string // as given, cut to a readable length
	Reason string // "scheme", "host", "port", "too long", …
}

func (e *Error) Error() string { return "URL " + strconv.Quote(e.URL) + ": " + e.Reason }

func fail(raw, reason string) *Error {
	const quoted = 120
	if len(raw) > quoted {
		raw = raw[:quoted] + "…"
	}
	return &Error{URL: raw, Reason: reason}
}

// Parse parses an absolute URL as the WHATWG URL standard has it and brings it into canonical form.
// The error is an *Error.
func Parse(raw string) (URL, error) { return parse(raw, nil) }

// Resolve parses ref as a link on the page base, as the WHATWG URL standard has it, and brings it
// into canonical form. It takes time linear in the length of ref.
func (base URL) Resolve(ref string) (URL, error) { return parse(ref, &base) }

// String returns the canonical spelling.
func (u URL) String() string { return u.s }

// IsZero reports whether u is the invalid zero URL.
func (u URL) IsZero() bool { return u.s == "" }

// Scheme returns "http" or "https".
func (u URL) Scheme() string {
	if u.isSecure {
		return "https"
	}
	return "http"
}

func (u URL) hostAt() int {
	if u.isSecure {
		return len("https://")
	}
	return len("http://")
}

// Host returns the canonical host: "docs.python.org", "127.0.0.1", "[::1]".
func (u URL) Host() string { return u.s[u.hostAt():u.hostEnd] }

// Port returns the port in effect, written or not.
func (u URL) Port() uint16 { return u.port }

// Authority returns the host, with ":port" when that is not the scheme's default: the Host header.
func (u URL) Authority() string { return u.s[u.hostAt():u.pathAt] }

// Path returns the path, escaped, beginning with '/'.
func (u URL) Path() string { return u.s[u.pathAt:u.queryAt] }

// Query returns what follows '?', escaped, and whether there is a '?' at all.
func (u URL) Query() (q string, has bool) {
	if int(u.queryAt) == len(u.s) {
		return "", false
	}
	return u.s[u.queryAt+1:], true
}

// RequestTarget returns path and query as they go into a request line.
func (u URL) RequestTarget() string { return u.s[u.pathAt:] }

// defaultPort returns the port that is not written.
func defaultPort(secure bool) uint16 {
	if secure {
		return 443
	}
	return 80
}

// index fills in the offsets of a canonical spelling. It trusts its input: only the parser and
// Key.URL, which have just built the spelling, call it.
func index(s string) URL {
	u := URL{s: s, isSecure: s[4] == 's'}
	at := u.hostAt()
	end := at + strings.IndexByte(s[at:], '/')
	u.pathAt = uint16(end)
	u.hostEnd = u.pathAt
	u.port = defaultPort(u.isSecure)
	if colon := strings.LastIndexByte(s[at:end], ':'); colon >= 0 && s[end-1] != ']' {
		u.hostEnd = uint16(at + colon)
		port, _ := strconv.ParseUint(s[at+colon+1:end], 10, 16)
		u.port = uint16(port)
	}
	u.queryAt = uint16(len(s))
	if q := strings.IndexByte(s[end:], '?'); q >= 0 {
		u.queryAt = uint16(end + q)
	}
	return u
}
