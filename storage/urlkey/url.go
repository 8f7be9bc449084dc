// SPDX-License-Identifier: Apache-2.0

package urlkey

import (
	"strconv"
	"strings"
)

// URL is a canonical http or https URL. Only Parse, Resolve and Key.URL create one. So every URL has a
// host, a path that begins with '/', no fragment, no user information, and only printable ASCII: it can
// be written into a request line unchanged. URLs are immutable and may be compared with ==. The zero URL
// is invalid; only String and IsZero may be called on it.
type URL struct {
	s  string // canonical spelling
	at layout
}

// layout has the offsets of the parts of a spelling, the port and whether the scheme is https. It is one word,
// because URLs are passed by value, dozens for the links of a page.
type layout uint64

const (
	offsetBits = 14 // no spelling is longer, see AppendURL
	offsetMask = 1<<offsetBits - 1
)

func makeLayout(hostEnd, pathAt, queryAt int, port uint16, secure bool) layout {
	l := layout(hostEnd) | layout(pathAt)<<offsetBits | layout(queryAt)<<(2*offsetBits) | layout(port)<<(3*offsetBits)
	if secure {
		l |= 1 << 63
	}
	return l
}

// hostEnd is the end of the host, which begins after "://".
func (l layout) hostEnd() int { return int(l & offsetMask) }

// pathAt is where the path begins; between hostEnd and pathAt is ":port" or nothing.
func (l layout) pathAt() int { return int(l >> offsetBits & offsetMask) }

// queryAt is the index of '?', or the length of the spelling.
func (l layout) queryAt() int { return int(l >> (2 * offsetBits) & offsetMask) }

func (l layout) port() uint16 { return uint16(l >> (3 * offsetBits)) }

func (l layout) secure() bool { return l>>63 != 0 }

// withQueryAt returns the layout of another path and query.
func (l layout) withQueryAt(n int) layout {
	return l&^(offsetMask<<(2*offsetBits)) | layout(n)<<(2*offsetBits)
}

// Error says why a text is not a URL that can be crawled.
type Error struct {
	URL    string // as given, cut to a readable length
	Reason string // "scheme", "host", "port", "too long", …
}

func (e *Error) Error() string {
	text := "URL " + strconv.Quote(e.URL) + ": " + e.Reason
	if more := explained[e.Reason]; more != "" {
		text += ": " + more
	}
	return text
}

// explained says more of the reasons that are words.
var explained = map[string]string{
	"scheme":    "only http and https are crawled",
	"no scheme": "it must begin with https:// or http://",
	"host":      "that is no name or address of a host",
	"no host":   "a name or address of a host must follow the //",
	"port":      "want a number up to 65535",
	"too long":  "a URL has at most " + strconv.Itoa(MaxLength) + " bytes",
}

func fail(raw, reason string) *Error {
	const quoted = 120
	if len(raw) > quoted {
		raw = raw[:quoted] + "…"
	}
	return &Error{URL: raw, Reason: reason}
}

// Parse parses an absolute URL as the WHATWG URL standard requires and returns its canonical form. The
// error is an *Error.
func Parse(raw string) (URL, error) { return parse(raw, nil) }

// Resolve parses ref as a link on the page base, as the WHATWG URL standard requires, and returns its
// canonical form. It takes time linear in the length of ref. The error is an *Error.
func (base URL) Resolve(ref string) (URL, error) { return parse(ref, &base) }

// String returns the canonical spelling.
func (u URL) String() string { return u.s }

// IsZero reports whether u is the invalid zero URL.
func (u URL) IsZero() bool { return u.s == "" }

// Scheme returns "http" or "https".
func (u URL) Scheme() string {
	if u.at.secure() {
		return "https"
	}
	return "http"
}

func (u URL) hostAt() int { return hostAt(u.at.secure()) }

// hostAt returns where the host begins.
func hostAt(secure bool) int {
	if secure {
		return len("https://")
	}
	return len("http://")
}

// Host returns the canonical host: "docs.python.org", "127.0.0.1", "[::1]".
func (u URL) Host() string { return u.s[u.hostAt():u.at.hostEnd()] }

// Port returns the port, also when it is the scheme's default and the spelling omits it.
func (u URL) Port() uint16 { return u.at.port() }

// Authority returns the host, followed by ":port" if that is not the scheme's default: the Host header.
func (u URL) Authority() string { return u.s[u.hostAt():u.at.pathAt()] }

// Path returns the path, escaped, beginning with '/'.
func (u URL) Path() string { return u.s[u.at.pathAt():u.at.queryAt()] }

// Query returns what follows '?', escaped, and whether there is a '?' at all.
func (u URL) Query() (q string, has bool) {
	if u.at.queryAt() == len(u.s) {
		return "", false
	}
	return u.s[u.at.queryAt()+1:], true
}

// RequestTarget returns path and query, as written in a request line.
func (u URL) RequestTarget() string { return u.s[u.at.pathAt():] }

// defaultPort returns the scheme's default port.
func defaultPort(secure bool) uint16 {
	if secure {
		return 443
	}
	return 80
}

// index returns the URL of a canonical spelling. It trusts its input: only the parser and Key.URL call it,
// right after building the spelling.
func index(s string) URL {
	secure := s[4] == 's'
	at := hostAt(secure)
	pathAt := at + strings.IndexByte(s[at:], '/')
	hostEnd, port := pathAt, uint64(defaultPort(secure))
	if colon := strings.LastIndexByte(s[at:pathAt], ':'); colon >= 0 && s[pathAt-1] != ']' {
		hostEnd = at + colon
		port, _ = strconv.ParseUint(s[hostEnd+1:pathAt], 10, 16)
	}
	queryAt := len(s)
	if q := strings.IndexByte(s[pathAt:], '?'); q >= 0 {
		queryAt = pathAt + q
	}
	return URL{s, makeLayout(hostEnd, pathAt, queryAt, uint16(port), secure)}
}
