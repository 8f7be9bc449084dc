// SPDX-License-Identifier: Apache-2.0

package robots

import (
	"strings"
	"time"
)

// Rules say what one agent may fetch from one host. They are immutable and safe for concurrent use. The zero value
// allows everything.
type Rules struct {
	rules    []rule
	delay    time.Duration
	hasCD    bool
	disallow bool // everything is disallowed

	preferences []preference
	licenses    []string // of the whole file
}

// AllowAll holds for a missing file, DisallowAll for an unreachable one.
var (
	AllowAll    = &Rules{}
	DisallowAll = &Rules{disallow: true}
)

// rule is one Allow or Disallow line.
type rule struct {
	allow    bool
	anchored bool   // ends in '$'
	wild     bool   // contains '*'
	pattern  string // normalised, without the '$'
	encoded  string // pattern with an encoded query
	length   int    // length of the line's pattern with its '$'; the longest wins
}

func newRule(allow bool, value string) rule {
	// A pattern that begins with neither '/' nor '*' matches no path (RFC 9309, section 2.2.2).
	r := rule{allow: allow}
	r.anchored, r.wild = strings.HasSuffix(value, "$"), strings.IndexByte(value, '*') >= 0
	r.pattern = normalise(strings.TrimSuffix(value, "$"), '*')
	r.encoded = encodeQuery(r.pattern)
	r.length = len(r.pattern)
	if r.anchored {
		r.length++
	}
	return r
}

// CrawlDelay returns the delay between requests that the file demands, at most 30 days, and whether it does.
func (r *Rules) CrawlDelay() (time.Duration, bool) { return r.delay, r.hasCD }

// Allowed reports whether a request target may be fetched: the path and query of a canonical URL. It is always
// true for /robots.txt.
func (r *Rules) Allowed(target string) bool {
	if target == "/robots.txt" {
		return true
	}
	if r.disallow {
		return false
	}
	if len(r.rules) == 0 {
		return true
	}
	target = normalise(target, 0)
	encoded := encodeQuery(target)
	best, allow := -1, true
	for i := range r.rules {
		rule := &r.rules[i]
		if rule.length < best || rule.length == best && allow {
			continue // cannot win
		}
		if rule.matches(target, encoded) {
			best, allow = rule.length, rule.allow
		}
	}
	return allow
}

// matches reports whether the pattern matches a target. encoded is the target with an encoded query: patterns with a
// query match that too, so that it does not matter how either is written.
func (r *rule) matches(target, encoded string) bool {
	if r.matchesAs(r.pattern, target) {
		return true
	}
	differ := len(r.encoded) != len(r.pattern) || len(encoded) != len(target)
	return differ && strings.IndexByte(r.pattern, '?') >= 0 && r.matchesAs(r.encoded, encoded)
}

// matchesAs reports whether a pattern matches a prefix of the target, or all of it if the rule is anchored. The part
// after each '*' matches at its earliest position. With '*' as the only wildcard no later position can do better, so
// there is no backtracking.
func (r *rule) matchesAs(pattern, s string) bool {
	if !r.wild {
		return strings.HasPrefix(s, pattern) && (!r.anchored || len(s) == len(pattern))
	}
	part, rest, more := strings.Cut(pattern, "*")
	if !strings.HasPrefix(s, part) {
		return false
	}
	s = s[len(part):]
	for more {
		part, rest, more = strings.Cut(rest, "*")
		if !more && r.anchored {
			return strings.HasSuffix(s, part)
		}
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return !r.anchored || s == ""
}

const upperHex = "0123456789ABCDEF"

// normalise brings percent-escapes into one form, so that patterns and paths compare octet by octet. It escapes
// bytes above ASCII, writes escapes in upper case, and undoes escapes of unreserved bytes. It escapes '*' and '$'
// too, because "%2A" and "%24" are how a pattern names them (RFC 9309, section 2.2.3), but not the wildcard of a
// pattern. If there is nothing to do it returns s itself.
func normalise(s string, wildcard byte) string {
	i := 0
	for i < len(s) && (s[i] == wildcard || isNormal(s[i])) {
		i++
	}
	if i == len(s) {
		return s
	}
	out := append(make([]byte, 0, len(s)+16), s[:i]...)
	for ; i < len(s); i++ {
		c := s[i]
		if c == '%' && i+2 < len(s) {
			hi, ok1 := unhex(s[i+1])
			lo, ok2 := unhex(s[i+2])
			if v := hi<<4 | lo; ok1 && ok2 {
				if unreserved(v) {
					out = append(out, v)
				} else {
					out = append(out, '%', upperHex[v>>4], upperHex[v&15])
				}
				i += 2
				continue
			}
		}
		if c != '%' && c != wildcard && !isNormal(c) {
			out = append(out, '%', upperHex[c>>4], upperHex[c&15])
			continue
		}
		out = append(out, c)
	}
	return string(out)
}

// encodeQuery percent-encodes the delimiters of URLs in the query of a normalised pattern or target, where they are
// data, as RFC 9309 does in its example: "?baz=http://foo.bar" is "?baz=http%3A%2F%2Ffoo.bar". If there is nothing to
// do it returns s itself.
func encodeQuery(s string) string {
	begin := strings.IndexByte(s, '?') + 1
	if begin == 0 || !strings.ContainsAny(s[begin:], queryDelimiters) {
		return s
	}
	out := append(make([]byte, 0, len(s)+16), s[:begin]...)
	for _, c := range []byte(s[begin:]) {
		if strings.IndexByte(queryDelimiters, c) >= 0 {
			out = append(out, '%', upperHex[c>>4], upperHex[c&15])
		} else {
			out = append(out, c)
		}
	}
	return string(out)
}

// queryDelimiters are the gen-delims of RFC 3986.
const queryDelimiters = ":/?#[]@"

// isNormal reports whether a byte that is no wildcard stands for itself.
func isNormal(c byte) bool { return c > ' ' && c < 0x7f && c != '%' && c != '*' && c != '$' }

func unreserved(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

func unhex(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}
