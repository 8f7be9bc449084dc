// SPDX-License-Identifier: Apache-2.0

package urlkey

import "strings"

// Classes of bytes in a path or query.
const (
	special  = iota // needs a rule: the full parser's
	plain           // stands as it is, and means nothing to the parser
	slash           // begins a segment
	dot             // may be, or begin, a segment of dots
	question        // begins the query; plain inside it
	colon           // ends a scheme, when no slash comes before
)

// classes has the class of each byte. A link of plain bytes, slashes and harmless dots, which nearly all
// are, needs one pass over it and a copy.
var classes = func() (s [256]uint8) {
	for c := range 256 {
		if pathSet[c] == keep && querySet[c] == keep {
			s[c] = plain
		}
	}
	s['/'], s['.'], s['?'], s[':'] = slash, dot, question, colon
	return s
}()

// Resolver resolves references as URL.Resolve does, without an allocation for each: URLs are cut from
// chunks of memory, each of which lives as long as one of its URLs. The zero value is ready. One
// goroutine; not to be copied.
type Resolver struct {
	chunk strings.Builder
	once  bool // no other link will come
}

// resolverChunk is the size of a chunk: the links of a page or two.
const resolverChunk = 4 << 10

// Resolve parses ref as a link on the page base, see URL.Resolve.
func (r *Resolver) Resolve(base *URL, ref string) (URL, error) {
	if u, ok := r.fast(base, ref); ok {
		return u, nil
	}
	return parseFully(ref, base)
}

// fast resolves the ordinary kinds of link: "page.html", "dir/page.html?q=1", "../page", "/abs/page" and
// absolute URLs in canonical form. ok is false when the link needs the full parser.
func (r *Resolver) fast(base *URL, ref string) (URL, bool) {
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
	case ref[0] == 'h' && len(ref) > 7 && (ref[4] == ':' || ref[5] == ':'):
		return fastParse(ref)
	default:
		dir = base.s[:int(base.pathAt)+strings.LastIndexByte(base.Path(), '/')+1]
		for len(ref) > 1 && ref[0] == '.' {
			if ref[1] == '/' {
				ref = ref[2:]
			} else if len(ref) > 2 && ref[1] == '.' && ref[2] == '/' {
				ref = ref[3:]
				if up := strings.LastIndexByte(dir[:len(dir)-1], '/'); up >= int(base.pathAt) {
					dir = dir[:up+1]
				}
			} else {
				break
			}
		}
	}
	query, ok := plainPath(ref)
	n := len(dir) + len(ref)
	if !ok || n > MaxLength {
		return URL{}, false
	}
	if r.chunk.Cap()-r.chunk.Len() < n {
		r.chunk = strings.Builder{}
		if r.once {
			r.chunk.Grow(n)
		} else {
			r.chunk.Grow(max(n, resolverChunk))
		}
	}
	at := r.chunk.Len()
	r.chunk.WriteString(dir)
	r.chunk.WriteString(ref)
	return URL{s: r.chunk.String()[at:], hostEnd: base.hostEnd, pathAt: base.pathAt, queryAt: uint16(len(dir) + query),
		port: base.port, isSecure: base.isSecure}, true
}

// fastParse takes absolute URLs that are canonical already, as most external links are.
func fastParse(s string) (URL, bool) {
	rest, ok := strings.CutPrefix(s, "http://")
	if !ok {
		if rest, ok = strings.CutPrefix(s, "https://"); !ok {
			return URL{}, false
		}
	}
	path := strings.IndexByte(rest, '/')
	if path <= 0 || len(s) > MaxLength {
		return URL{}, false
	}
	if _, ok := plainPath(rest[path:]); !ok {
		return URL{}, false
	}
	host := rest[:path]
	if port := strings.IndexByte(host, ':'); port >= 0 {
		if !plainPort(host[port+1:]) {
			return URL{}, false
		}
		host = host[:port]
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

// plainHost accepts lower-case ASCII names whose last label begins and ends with a letter, so that no
// number or punycode rule applies.
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
	last, first := h[len(h)-1], h[len(h)-max(label, 1)]               // label is now the length of the last one
	return 'a' <= last && last <= 'z' && 'a' <= first && first <= 'z' // "0xab" is a number
}

// plainPath accepts a path and query in which no byte needs a rule, and returns where the query begins,
// len(s) if there is none. A colon before the first slash would be a scheme, and a segment of dots would
// be resolved.
func plainPath(s string) (query int, ok bool) {
	i := 0
	for ; i < len(s); i++ {
		switch classes[s[i]] {
		case plain, slash:
		case dot:
			if i == 0 || s[i-1] == '/' {
				return 0, false
			}
		case colon:
			if s[0] != '/' && strings.IndexByte(s[:i], '/') < 0 {
				return 0, false
			}
		case question:
			for j := i + 1; j < len(s); j++ {
				if classes[s[j]] == special {
					return 0, false
				}
			}
			return i, true
		default:
			return 0, false
		}
	}
	return i, true
}
