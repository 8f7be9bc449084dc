// SPDX-License-Identifier: Apache-2.0

package urlkey

import "strings"

// plain marks the bytes that stand as they are in path and query and mean nothing to the parser:
// no slash, dot, question mark, percent or hash. A link of plain bytes, slashes and harmless dots,
// which nearly all are, needs one pass and one allocation.
var plain = func() (s [256]bool) {
	for c := range 256 {
		s[c] = pathSet[c] == keep && querySet[c] == keep
	}
	for _, c := range "/.?" {
		s[c] = false
	}
	return s
}()

// fastResolve resolves the ordinary kinds of link: "page.html", "dir/page.html?q=1", "/abs/page".
// ok is false when the link needs the full parser.
func fastResolve(ref string, base *URL) (URL, bool) {
	if cut := strings.IndexByte(ref, '#'); cut >= 0 {
		ref = ref[:cut]
	}
	if ref == "" {
		return *base, base.s != "" && len(base.s) <= MaxLength
	}
	dir := base.s[:base.pathAt]
	switch {
	case ref[0] == '/':
		if len(ref) > 1 && isSlash(ref[1]) {
			return URL{}, false
		}
	case ref[0] == '?':
		return URL{}, false
	case ref[0] == 'h':
		if u, ok := fastParse(ref); ok {
			return u, true
		}
		fallthrough
	default:
		path := base.Path()
		dir = base.s[:int(base.pathAt)+strings.LastIndexByte(path, '/')+1]
	}
	if !plainPath(ref) || len(dir)+len(ref) > MaxLength {
		return URL{}, false
	}
	return index(dir + ref), true
}

// fastParse takes absolute URLs that are canonical already, as most external links are.
func fastParse(s string) (URL, bool) {
	rest, ok := strings.CutPrefix(s, "http://")
	if !ok {
		if rest, ok = strings.CutPrefix(s, "https://"); !ok {
			return URL{}, false
		}
	}
	slash := strings.IndexByte(rest, '/')
	if slash <= 0 || len(s) > MaxLength || !plainPath(rest[slash:]) {
		return URL{}, false
	}
	host := rest[:slash]
	if colon := strings.IndexByte(host, ':'); colon >= 0 {
		if !plainPort(host[colon+1:]) {
			return URL{}, false
		}
		host = host[:colon]
	}
	if host == "" || len(host) > maxHost || !plainHost(host) {
		return URL{}, false
	}
	return index(s), true
}

// plainPort accepts ports of four or five digits in their usual spelling, which no scheme has as its
// default.
func plainPort(p string) bool {
	if len(p) < 4 || len(p) > 5 || p[0] == '0' || len(p) == 5 && p > "65535" {
		return false
	}
	for i := range len(p) {
		if p[i] < '0' || p[i] > '9' {
			return false
		}
	}
	return true
}

// plainHost accepts lower-case ASCII names that end in a letter, so that no number or punycode
// rule applies.
func plainHost(h string) bool {
	label := 0
	for i := range len(h) {
		switch c := h[i]; {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_':
			label++
		case c == '-' && label > 0:
			if label >= 3 && h[i-1] == '-' { // perhaps "xn--"
				return false
			}
			label++
		case c == '.' && label > 0:
			label = 0
		default:
			return false
		}
		if label > maxLabel {
			return false
		}
	}
	last := h[len(h)-1]
	return 'a' <= last && last <= 'z'
}

// plainPath accepts a path and query in which no byte needs a rule. A colon before the first slash
// would be a scheme, and a segment of dots would be resolved.
func plainPath(s string) bool {
	start, query := true, false // start of a segment
	for i := range len(s) {
		c := s[i]
		switch {
		case plain[c]:
			if c == ':' && !query && s[0] != '/' && !strings.Contains(s[:i], "/") {
				return false
			}
			start = false
		case c == '/':
			start = true
		case c == '.':
			if start && !query {
				return false
			}
		case c == '?' && !query:
			query = true
		default:
			if c != '?' {
				return false
			}
		}
	}
	return true
}
