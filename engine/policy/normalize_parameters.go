// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// trackingParameters say where a visitor came from, not which page a URL means: those of Google, Meta, Microsoft,
// Yandex, TikTok, X, LinkedIn, Mailchimp, HubSpot, Marketo, Adobe and Matomo. So do all names that begin with utm_ or
// mtm_.
var trackingParameters = set(`
	gclid gclsrc dclid gbraid wbraid fbclid msclkid yclid ysclid ttclid twclid igshid igsh li_fat_id mc_cid mc_eid
	_ga _gl _hsenc _hsmi __hssc __hstc __hsfp hsctatracking mkt_tok s_cid s_kwcid ef_id vero_id oly_anon_id oly_enc_id
	wickedid rb_clickid _openstat srsltid epik pk_campaign pk_kwd pk_source pk_medium`)

// sessionParameters name a visitor's session. Those of sessionLike are dropped only with a value that looks like a
// session's, since sites also use sid=7 for an article.
var (
	sessionParameters = set("jsessionid phpsessid aspsessionid cfid cftoken zenid oscsid")
	sessionLike       = set("sid lsid jsid bv_sid sess sessid session sessionid session_id s")
)

// sessionMin is the least length of a value that looks like a session's, in bytes.
const sessionMin = 16

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// ParameterNormalizer drops tracking parameters and session ids from URLs, including ";jsessionid=…" at the end of a
// path segment. Without it, each visit to a site that generates them would find all of its pages anew. It ignores the
// case of names. (Nutch: urlnormalizer-regex, with its rule for session ids.)
type ParameterNormalizer struct{}

// Normalize returns u itself if there is nothing to drop. It never fails.
func (ParameterNormalizer) Normalize(u urlkey.URL) (urlkey.URL, error) {
	query, has := u.Query()
	path := u.Path()
	short := withoutSession(path)
	if kept, dropped := keptParameters(query); dropped {
		query = kept
		has = kept != ""
	} else if len(short) == len(path) {
		return u, nil
	}
	ref := short
	if has {
		ref += "?" + query
	}
	// Not u.Resolve: it would take an empty first path segment for the mark of a host.
	next, err := urlkey.Parse(u.Scheme() + "://" + u.Authority() + ref)
	if err != nil {
		return u, nil // still a valid URL with its noise
	}
	return next, nil
}

// withoutSession cuts ";jsessionid=…" from a path.
func withoutSession(path string) string {
	for at := 0; ; {
		i := strings.IndexByte(path[at:], ';')
		if i < 0 {
			return path
		}
		at += i
		const name = ";jsessionid="
		if len(path)-at < len(name) || !strings.EqualFold(path[at:at+len(name)], name) {
			at++
			continue
		}
		end := at + 1
		for end < len(path) && path[end] != '/' && path[end] != ';' {
			end++
		}
		path = path[:at] + path[end:]
	}
}

// keptParameters returns a query without its noise, and whether it had any.
func keptParameters(query string) (kept string, dropped bool) {
	var b strings.Builder
	from := 0 // start of what is kept and not yet in b
	for at := 0; at < len(query); {
		end := at + strings.IndexByte(query[at:], '&')
		if end < at {
			end = len(query)
		}
		if isNoise(query[at:end]) {
			dropped = true
			b.WriteString(query[from:at])
			from = min(end+1, len(query))
		}
		at = end + 1
	}
	if !dropped {
		return query, false
	}
	b.WriteString(query[from:])
	return strings.TrimSuffix(b.String(), "&"), true
}

// isNoise reports whether a parameter "name=value" is dropped.
func isNoise(p string) bool {
	name, value, _ := strings.Cut(p, "=")
	const longest = 16
	if name == "" || len(name) > longest {
		return hasFold(name, "utm_") || hasFold(name, "mtm_") || hasFold(name, "aspsessionid")
	}
	var low [longest]byte
	for i := range len(name) {
		c := name[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		low[i] = c
	}
	n := low[:len(name)]
	switch {
	case trackingParameters[string(n)], sessionParameters[string(n)], hasFold(name, "utm_"), hasFold(name, "mtm_"):
		return true
	case sessionLike[string(n)]:
		return looksLikeSession(value)
	}
	return false
}

func hasFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// looksLikeSession reports whether a value is long, of letters, digits, - _ and . only, with at least three digits.
func looksLikeSession(v string) bool {
	digits := 0
	for i := range len(v) {
		switch c := v[i]; {
		case '0' <= c && c <= '9':
			digits++
		case 'a' <= c|0x20 && c|0x20 <= 'z' || c == '-' || c == '_' || c == '.':
		default:
			return false
		}
	}
	return len(v) >= sessionMin && digits >= 3
}
