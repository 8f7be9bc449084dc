// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// AppendSURT appends the sort key under which replay tools (pywb, OutbackCDX, the Wayback Machine) look a canonical URL
// up, as the Internet Archive's library surt makes it:
//
//	https://www.Example.org:8080/A//b/?y=2&x=1   →   org,example:8080)/a/b?x=1&y=2
//
// The scheme and "www." do not count, nor do case, empty path segments, the order of parameters and session IDs. Many
// URLs share a key.
func AppendSURT(dst []byte, url string) []byte {
	_, rest, _ := strings.Cut(url, "://")
	target := ""
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		rest, target = rest[:i], rest[i:]
	}
	dst = appendSURTHost(dst, rest)
	path, query, _ := strings.Cut(target, "?")
	dst = append(append(dst, ')'), surtPath(path)...)
	if query := surtQuery(query); len(query) > 0 {
		dst = append(append(dst, '?'), query...)
	}
	return dst
}

// appendSURTHost appends the labels of a host in reverse order, and its port.
func appendSURTHost(dst []byte, authority string) []byte {
	host, port := authority, ""
	if i := strings.LastIndexByte(authority, ':'); i > strings.LastIndexByte(authority, ']') {
		host, port = authority[:i], authority[i:]
	}
	host = strings.Trim(strings.ToLower(host), ".[]")
	if digits, ok := strings.CutPrefix(host, "www"); ok {
		if bare, ok := strings.CutPrefix(strings.TrimLeft(digits, "0123456789"), "."); ok {
			host = bare
		}
	}
	for {
		i := strings.LastIndexByte(host, '.')
		dst = append(dst, host[i+1:]...)
		if i < 0 {
			return append(dst, port...)
		}
		dst = append(dst, ',')
		host = host[:i]
	}
}

func surtPath(path string) []byte {
	p := surtEscape(cleanPath(unescapeAll(path)))
	p = bytes.ToLower(p)
	if bytes.Contains(p, []byte(".aspx")) {
		for _, id := range pathSessions {
			p = id.ReplaceAll(p, []byte("$1$2"))
		}
	}
	if n := len(p); n > 1 && p[n-1] == '/' {
		p = p[:n-1]
	}
	return p
}

// cleanPath leaves out empty and dot segments.
func cleanPath(path string) string {
	segments := strings.Split(path, "/")
	last := len(segments) - 1
	kept := segments[:0]
	for i, s := range segments {
		switch {
		case i == 0 || s == ".":
		case s != "..":
			kept = append(kept, s)
		case len(kept) > 0:
			kept = kept[:len(kept)-1]
		default:
			kept = append(kept, s)
		}
	}
	if last < 1 || len(kept) == 0 {
		return "/"
	}
	end := len(kept) - 1
	inner := slices.DeleteFunc(slices.Clone(kept[:end]), func(s string) bool { return s == "" })
	return "/" + strings.Join(append(inner, kept[end]), "/")
}

func surtQuery(query string) []byte {
	q := bytes.ToLower(surtEscape(unescapeAll(query)))
	if bytes.Contains(q, []byte("id=")) || bytes.Contains(q, []byte("aspsessionid")) {
		for _, id := range querySessions {
			q = id.ReplaceAll(q, []byte("$1$2"))
		}
	}
	parameters := bytes.Split(q, []byte("&"))
	slices.SortStableFunc(parameters, func(a, b []byte) int {
		aName, aValue, aHas := bytes.Cut(a, []byte("="))
		bName, bValue, bHas := bytes.Cut(b, []byte("="))
		switch c := bytes.Compare(aName, bName); {
		case c != 0 || aHas == bHas:
			return cmp.Or(c, bytes.Compare(aValue, bValue))
		case aHas:
			return 1
		}
		return -1
	})
	return bytes.Join(parameters, []byte("&"))
}

// The session IDs, in lower case, that surt leaves out.
var (
	pathSessions = []*regexp.Regexp{
		regexp.MustCompile(`^(.*/)\((?:[a-z]\([0-9a-z]{24}\))+\)/([^?]+\.aspx.*)$`),
		regexp.MustCompile(`^(.*/)\([0-9a-z]{24}\)/([^?]+\.aspx.*)$`),
	}
	querySessions = []*regexp.Regexp{
		regexp.MustCompile(`^(.*)jsessionid=[0-9a-z]{32}(?:&(.*))?$`),
		regexp.MustCompile(`^(.*)phpsessid=[0-9a-z]{32}(?:&(.*))?$`),
		regexp.MustCompile(`^(.*)sid=[0-9a-z]{32}(?:&(.*))?$`),
		regexp.MustCompile(`^(.*)aspsessionid[a-z]{8}=[a-z]{24}(?:&(.*))?$`),
		regexp.MustCompile(`^(.*)cfid=[^&]+&cftoken=[^&]+(?:&(.*))?$`),
	}
)

// unescapeAll undoes percent-encoding until there is none.
func unescapeAll(s string) string {
	for strings.IndexByte(s, '%') >= 0 {
		out := make([]byte, 0, len(s))
		for i := 0; i < len(s); i++ {
			if s[i] == '%' && i+2 < len(s) && unhex(s[i+1]) >= 0 && unhex(s[i+2]) >= 0 {
				out = append(out, byte(unhex(s[i+1])<<4|unhex(s[i+2])))
				i += 2
			} else {
				out = append(out, s[i])
			}
		}
		if len(out) == len(s) {
			break
		}
		s = string(out)
	}
	return s
}

// surtEscape percent-encodes what is not visible ASCII, and the signs of escapes and fragments.
func surtEscape(s string) []byte {
	out := make([]byte, 0, len(s)+8)
	for i := range len(s) {
		if c := s[i]; c > ' ' && c < 0x7f && c != '%' && c != '#' {
			out = append(out, c)
		} else {
			out = append(out, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return out
}
