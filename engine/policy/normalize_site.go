// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// SiteRules are texts of rules for hosts, in the formats of Nutch's urlnormalizer-host, -protocol and -slash. A line
// is a host and its value; '#' begins a comment. "*.example.com" means example.com and all hosts below it; a host's
// own line wins over those of the domains above it. An empty text has no rules.
type SiteRules struct {
	// HostAliases: "www.example.com example.com" moves URLs of the first host to the second.
	HostAliases []byte
	// Protocols: "*.example.com https" gives URLs without a port that scheme.
	Protocols []byte
	// Slashes: "example.com -" cuts slashes at the end of a path, except the root's; "example.com +" adds one where
	// the last segment has no dot.
	Slashes []byte
}

// SiteNormalizer brings URLs of listed hosts into the spelling that their sites use. It is immutable.
type SiteNormalizer struct{ aliases, protocols, slashes siteTable }

// ParseSiteRules reads the texts. The error names the text, "host aliases", "protocols" or "slashes", and each wrong
// line, at most ten of each text.
func ParseSiteRules(r SiteRules) (*SiteNormalizer, error) {
	isHost := func(s string) bool {
		h, err := parseEntry(s)
		return err == nil && h.Host() == s
	}
	isScheme := func(s string) bool { return s == "http" || s == "https" }
	isSign := func(s string) bool { return s == "+" || s == "-" }

	n := &SiteNormalizer{}
	var errs [3]error
	const name = "a host in canonical form, without a port"
	n.aliases, errs[0] = parseSiteTable("host aliases", r.HostAliases, isHost, name)
	n.protocols, errs[1] = parseSiteTable("protocols", r.Protocols, isScheme, "http or https")
	n.slashes, errs[2] = parseSiteTable("slashes", r.Slashes, isSign, "+ or -")
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return n, nil
}

// siteTable has the values of hosts; the key "*.example.com" is for a domain.
type siteTable map[string]string

func parseSiteTable(what string, text []byte, valid func(value string) bool, want string) (siteTable, error) {
	if len(text) > maxRuleText {
		return nil, fmt.Errorf("%s: %d bytes, at most %d are read", what, len(text), maxRuleText)
	}
	t := siteTable{}
	err := eachLine(text, func(_ int, line string) error {
		line = withoutComment(line)
		words := strings.Fields(line)
		if len(words) == 0 {
			return nil
		}
		if len(words) != 2 || !valid(words[1]) {
			return fmt.Errorf("%.80q: want a host and %s", line, want)
		}
		host, err := siteOf(words[0])
		if err != nil {
			return fmt.Errorf("%.80q: %w", line, err)
		}
		t[host] = words[1]
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return t, nil
}

// siteOf is the key of a line's host. URLs have the canonical form of it, on any port.
func siteOf(word string) (string, error) {
	name, below := strings.CutPrefix(word, "*.")
	h, err := parseEntry(name)
	switch {
	case err != nil:
		return "", err
	case splitHostKey(h).port != "":
		return "", errors.New("a rule is for all ports of a host: leave out the port")
	case below:
		return "*." + h.Host(), nil
	}
	return h.Host(), nil
}

// of returns the value of a host, "" if it has none.
func (t siteTable) of(host string) string {
	if len(t) == 0 {
		return ""
	}
	if v, ok := t[host]; ok {
		return v
	}
	for rest := host; ; {
		if v, ok := t["*."+rest]; ok {
			return v
		}
		i := strings.IndexByte(rest, '.')
		if i < 0 {
			return ""
		}
		rest = rest[i+1:]
	}
}

// Normalize applies the alias of the URL's host once, and then the protocol and slashes of the host that results. The
// error names a host that is the alias of an alias.
func (n *SiteNormalizer) Normalize(u urlkey.URL) (urlkey.URL, error) {
	host := u.Host()
	authority, scheme, path := u.Authority(), u.Scheme(), u.Path()
	if to := n.aliases.of(host); to != "" && to != host {
		if further := n.aliases.of(to); further != "" && further != to {
			return urlkey.URL{}, fmt.Errorf("%s: host %s is an alias of %s, and that of %s", u, host, to, further)
		}
		host, authority = to, to+strings.TrimPrefix(authority, host)
	}
	if p := n.protocols.of(host); p != "" && !strings.Contains(authority, ":") { // a port belongs to one protocol
		scheme = p
	}
	switch n.slashes.of(host) {
	case "-":
		if path = strings.TrimRight(path, "/"); path == "" {
			path = "/"
		}
	case "+":
		if last := path[strings.LastIndexByte(path, '/')+1:]; last != "" && !strings.Contains(last, ".") {
			path += "/"
		}
	}
	if authority == u.Authority() && scheme == u.Scheme() && path == u.Path() {
		return u, nil
	}
	return withPath(u, scheme, authority, path)
}
