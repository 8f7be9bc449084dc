// SPDX-License-Identifier: Apache-2.0

package parse

import "strings"

// maxLinkField bounds a Link field of a header, in bytes; the rest is not read.
const maxLinkField = 16 << 10

// linkTo notes the canonical URL that a Link field of the response's header gives (RFC 6596), as a link and as
// Page.Canonical. It precedes that of the page, as the header precedes the body, and of several the first counts. Other
// relations are not read: in headers they are hints to the browser, such as what to load next.
func (p *Page) linkTo(field string) {
	rest := field[:min(len(field), maxLinkField)]
	for {
		target, parameters, ok := strings.Cut(rest, ">")
		if target = strings.TrimLeft(target, " \t,"); !ok || !strings.HasPrefix(target, "<") {
			return
		}
		rel, elsewhere := "", false
		rel, elsewhere, rest = linkParameters(parameters)
		if elsewhere || !hasAny([]byte(rel), "canonical") {
			continue
		}
		ref := strings.Trim(target[1:], " \t")
		u, err := p.Base.Resolve(ref)
		if ref == "" || len(ref) > maxRef || err != nil {
			continue
		}
		p.AddLink(ref, Outlink{Kind: LinkCanonical})
		if p.Canonical.IsZero() {
			p.Canonical = u
		}
	}
}

// linkParameters reads the parameters of one link (RFC 8288, appendix B.3) and returns its relations, and what follows
// it in the field. The first rel counts. elsewhere: an anchor says that it is a link of something else.
func linkParameters(s string) (rel string, elsewhere bool, rest string) {
	known := false
	for {
		s = strings.TrimLeft(s, " \t")
		if s == "" || s[0] != ';' {
			break
		}
		s = strings.TrimLeft(s[1:], " \t")
		end := strings.IndexAny(s, "=;,")
		if end < 0 {
			end = len(s)
		}
		name := strings.TrimRight(s[:end], " \t")
		s = s[end:]
		value := ""
		if strings.HasPrefix(s, "=") {
			value, s = parameterValue(strings.TrimLeft(s[1:], " \t"))
		}
		switch {
		case strings.EqualFold(name, "rel") && !known:
			rel, known = value, true
		case strings.EqualFold(name, "anchor"):
			elsewhere = true
		}
	}
	if at := strings.IndexByte(s, ','); at >= 0 {
		return rel, elsewhere, s[at+1:]
	}
	return rel, elsewhere, ""
}

// parameterValue reads a token or a quoted string, and returns what follows it.
func parameterValue(s string) (value, rest string) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s, ";,")
		if end < 0 {
			end = len(s)
		}
		return strings.TrimRight(s[:end], " \t"), s[end:]
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}
