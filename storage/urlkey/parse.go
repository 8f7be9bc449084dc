// SPDX-License-Identifier: Apache-2.0

package urlkey

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// parse is the WHATWG basic URL parser for http and https, written as a byte scanner instead of a state
// machine. It builds the canonical form as it parses. States of the standard that matter only to other
// schemes are left out.
func parse(raw string, base *URL) (URL, error) {
	if len(raw) > maxInput {
		return URL{}, fail(raw, "too long")
	}
	if base != nil {
		r := Resolver{once: true}
		if u, ok := r.fast(base, raw); ok {
			return u, nil
		}
	} else if u, ok := fastParse(raw, nil); ok {
		return u, nil
	}
	return parseFully(raw, base)
}

// parseFully is parse without the fast path.
func parseFully(raw string, base *URL) (URL, error) {
	if len(raw) > maxInput {
		return URL{}, fail(raw, "too long")
	}
	in := strip(raw)
	if i := strings.IndexByte(in, '#'); i >= 0 {
		in = in[:i]
	}
	var buf [512]byte
	b := builder{raw: raw, dst: buf[:0]}
	scheme, rest, ok := cutScheme(in)
	switch {
	case ok && (scheme == "http" || scheme == "https"):
		b.secure = scheme == "https"
		if base != nil && base.at.secure() == b.secure && !strings.HasPrefix(rest, "//") {
			// "http:page" on a page of the same scheme is relative: the standard keeps this legacy rule.
			return b.relative(rest, base)
		}
		return b.authority(strings.TrimLeft(rest, "/\\"))
	case ok:
		return URL{}, fail(raw, "scheme")
	case base == nil:
		return URL{}, fail(raw, "no scheme")
	}
	b.secure = base.at.secure()
	return b.relative(in, base)
}

// strip removes what browsers remove before parsing: control bytes and spaces at both ends, and tabs and
// line ends everywhere.
func strip(s string) string {
	s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	if strings.ContainsAny(s, "\t\r\n") {
		s = strings.NewReplacer("\t", "", "\r", "", "\n", "").Replace(s)
	}
	return s
}

// cutScheme splits "scheme:rest"; the scheme is lower-cased.
func cutScheme(s string) (scheme, rest string, ok bool) {
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c|0x20 && c|0x20 <= 'z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return strings.ToLower(s[:i]), s[i+1:], true
		default:
			return "", s, false
		}
	}
	return "", s, false
}

// builder writes a canonical spelling.
type builder struct {
	raw    string
	secure bool
	dst    []byte
}

func isSlash(c byte) bool { return c == '/' || c == '\\' }

// authority parses what follows "scheme://".
func (b *builder) authority(s string) (URL, error) {
	end := strings.IndexAny(s, "/\\?")
	if end < 0 {
		end = len(s)
	}
	auth, rest := s[:end], s[end:]
	if at := strings.LastIndexByte(auth, '@'); at >= 0 {
		auth = auth[at+1:] // user information is neither stored nor sent
	}
	host, port := auth, ""
	if colon := strings.LastIndexByte(auth, ':'); colon > strings.LastIndexByte(auth, ']') {
		host, port = auth[:colon], auth[colon+1:]
	}
	b.scheme()
	var reason string
	if b.dst, reason = appendHost(b.dst, host); reason != "" {
		return URL{}, fail(b.raw, reason)
	}
	if port != "" {
		// Leading zeros don't count. The appended zero makes "0" parse too; n is then ten times the port.
		n, err := strconv.ParseUint(strings.TrimLeft(port, "0")+"0", 10, 64)
		if n /= 10; err != nil || n > math.MaxUint16 || port[0] == '+' {
			return URL{}, fail(b.raw, "port")
		}
		if uint16(n) != defaultPort(b.secure) {
			b.dst = strconv.AppendUint(append(b.dst, ':'), n, 10)
		}
	}
	return b.pathAndQuery(rest, nil)
}

func (b *builder) scheme() {
	b.dst = append(b.dst, "http"...)
	if b.secure {
		b.dst = append(b.dst, 's')
	}
	b.dst = append(b.dst, "://"...)
}

// relative parses a reference without a scheme against base.
func (b *builder) relative(s string, base *URL) (URL, error) {
	if len(s) >= 2 && isSlash(s[0]) && isSlash(s[1]) {
		return b.authority(strings.TrimLeft(s, "/\\"))
	}
	b.dst = append(b.dst, base.s[:base.at.pathAt()]...)
	if s == "" {
		b.dst = append(b.dst, base.s[base.at.pathAt():]...)
		return b.finish()
	}
	if s[0] == '?' {
		b.dst = append(b.dst, base.Path()...)
		b.query(s)
		return b.finish()
	}
	if isSlash(s[0]) {
		return b.pathAndQuery(s, nil)
	}
	path := base.Path()
	return b.pathAndQuery(s, []byte(path[:strings.LastIndexByte(path, '/')+1]))
}

// pathAndQuery appends a path, resolved against the folder dir ("" or nil for none), and a query.
func (b *builder) pathAndQuery(s string, dir []byte) (URL, error) {
	path, query := s, ""
	if q := strings.IndexByte(s, '?'); q >= 0 {
		path, query = s[:q], s[q:]
	}
	root := len(b.dst)
	if len(dir) > 0 {
		b.dst = append(b.dst, dir[:len(dir)-1]...)
	} else if path != "" && isSlash(path[0]) {
		path = path[1:]
	}
	for {
		end := strings.IndexAny(path, "/\\")
		last := end < 0
		if last {
			end = len(path)
		}
		b.segment(root, path[:end], last)
		if len(b.dst) > maxInput {
			return URL{}, fail(b.raw, "too long")
		}
		if last {
			break
		}
		path = path[end+1:]
	}
	if query != "" {
		b.query(query)
	}
	return b.finish()
}

// segment appends one path segment with its slash and resolves dots. Each ".." scans back only over the
// bytes that it removes, so the whole path takes linear time.
func (b *builder) segment(root int, s string, last bool) {
	switch dots(s) {
	case 1:
		if last {
			b.dst = append(b.dst, '/')
		}
	case 2:
		if slash := bytes.LastIndexByte(b.dst[root:], '/'); slash >= 0 {
			b.dst = b.dst[:root+slash]
		}
		if last {
			b.dst = append(b.dst, '/')
		}
	default:
		b.dst = append(b.dst, '/')
		b.dst = appendEscaped(b.dst, s, pathSet)
	}
}

// dots returns 1 for "." and 2 for "..", with escaped dots too, else 0.
func dots(s string) int {
	n := 0
	for s != "" {
		switch {
		case s[0] == '.':
			s = s[1:]
		case len(s) >= 3 && s[0] == '%' && s[1] == '2' && s[2]|0x20 == 'e':
			s = s[3:]
		default:
			return 0
		}
		if n++; n > 2 {
			return 0
		}
	}
	return n
}

// query appends '?' and the query that s begins with.
func (b *builder) query(s string) {
	b.dst = append(b.dst, '?')
	b.dst = appendEscaped(b.dst, s[1:], querySet)
}

// finish checks the length and returns the URL.
func (b *builder) finish() (URL, error) {
	if len(b.dst) > MaxLength {
		return URL{}, fail(b.raw, "too long")
	}
	return index(string(b.dst)), nil
}
