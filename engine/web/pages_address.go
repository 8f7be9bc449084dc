// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// The lengths to which addresses are shown.
const (
	hostShown    = 80
	segmentShown = 40
	segmentsMost = 5
	addressShown = 200
)

// breadcrumb is a URL as people read it: the host, then the parts of its path.
type breadcrumb struct {
	Host  string
	Parts []string
}

// crumbs makes a breadcrumb of a URL. The last part is the query, if there is one.
func crumbs(raw string) breadcrumb {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return breadcrumb{Host: clean(raw, addressShown)}
	}
	c := breadcrumb{Host: shownHost(u.Host)}
	for s := range strings.SplitSeq(strings.Trim(u.EscapedPath(), "/"), "/") {
		if s != "" {
			c.Parts = append(c.Parts, shownSegment(s))
		}
	}
	if n := len(c.Parts); n > segmentsMost {
		c.Parts = slices.Concat(c.Parts[:2], []string{"…"}, c.Parts[n-2:])
	}
	if u.RawQuery != "" {
		c.Parts = append(c.Parts, "?"+clean(readable(u.RawQuery), segmentShown))
	}
	return c
}

// shownURL is a URL with what may be decoded decoded.
func shownURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return clean(raw, addressShown)
	}
	text := u.Scheme + "://" + shownHost(u.Host) + readable(u.EscapedPath())
	if u.RawQuery != "" {
		text += "?" + readable(u.RawQuery)
	}
	return clean(text, addressShown)
}

func shownSegment(s string) string { return clean(readable(s), segmentShown) }

// readable decodes the percent escapes of letters, digits and marks that are not ASCII. All others stay: a decoded
// slash, space or quote would look like another URL.
func readable(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		end := i
		for end+2 < len(s) && s[end] == '%' {
			end += 3
		}
		if end == i {
			b.WriteByte(s[i])
			i++
			continue
		}
		raw, err := url.PathUnescape(s[i:end])
		if err != nil {
			b.WriteString(s[i:end])
			i = end
			continue
		}
		for k, size := 0, 0; k < len(raw); k += size {
			var r rune
			r, size = utf8.DecodeRuneInString(raw[k:])
			shown := unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
			if shown && r >= utf8.RuneSelf && r != utf8.RuneError {
				b.WriteRune(r)
			} else {
				b.WriteString(s[i+3*k : i+3*(k+size)])
			}
		}
		i = end
	}
	return b.String()
}

// shownHost decodes the punycode of a host, label by label, where the letters cannot be taken for others. A port
// stays.
func shownHost(host string) string {
	if !strings.Contains(host, "xn--") {
		return clean(host, hostShown)
	}
	name, port, _ := strings.Cut(host, ":")
	labels := strings.Split(name, ".")
	top := script(decoded(labels[len(labels)-1]))
	for i, label := range labels {
		text := decoded(label)
		switch s := script(text); s {
		case "":
		case "Cyrillic", "Greek": // some of their letters are shaped like Latin ones
			if s == top {
				labels[i] = text
			}
		default:
			labels[i] = text
		}
	}
	name = strings.Join(labels, ".")
	if port != "" {
		name += ":" + port
	}
	return clean(name, hostShown)
}

// decoded is a label without punycode, or as it is.
func decoded(label string) string {
	if !strings.HasPrefix(label, "xn--") {
		return label
	}
	text, err := idna.Punycode.ToUnicode(label)
	if err != nil {
		return label
	}
	return text
}

// scripts are those whose labels may be shown. Japanese and Korean mix several, which no other language does.
var scripts = []struct {
	name   string
	tables []*unicode.RangeTable
}{
	{"Latin", []*unicode.RangeTable{unicode.Latin}},
	{"Cyrillic", []*unicode.RangeTable{unicode.Cyrillic}},
	{"Greek", []*unicode.RangeTable{unicode.Greek}},
	{"Han", []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana}},
	{"Hangul", []*unicode.RangeTable{unicode.Hangul, unicode.Han}},
	{"Arabic", []*unicode.RangeTable{unicode.Arabic}},
	{"Hebrew", []*unicode.RangeTable{unicode.Hebrew}},
	{"Thai", []*unicode.RangeTable{unicode.Thai}},
	{"Devanagari", []*unicode.RangeTable{unicode.Devanagari}},
	{"Bengali", []*unicode.RangeTable{unicode.Bengali}},
	{"Tamil", []*unicode.RangeTable{unicode.Tamil}},
	{"Georgian", []*unicode.RangeTable{unicode.Georgian}},
}

// script is the one script of a label's letters; "" if there are several, or one that may mislead. Latin letters are
// those of the first two supplements, without some that look like others.
func script(label string) string {
	for _, s := range scripts {
		all := true
		for _, r := range label {
			switch {
			case r < utf8.RuneSelf && (r < 'a' || r > 'z'):
				continue // digits and hyphens
			case s.name == "Latin":
				all = all && (r < utf8.RuneSelf || r >= 0xdf && r <= 0x17e && !strings.ContainsRune("÷ıĸŀŉ", r))
			default:
				all = all && unicode.In(r, s.tables...) && r != 'ー' && r != 'ノ' && r != '〇' && r != '丶'
			}
		}
		if all {
			return s.name
		}
	}
	return ""
}
