// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// SiteFiles name files of rules for hosts, in the formats of Nutch's urlnormalizer-host, -protocol and -slash. A line
// is a host and what holds for it; "*.example.com" is example.com and all below it, and a host's own line comes
// before those of what it is below. '#' begins a comment. "" means that there is no such file.
type SiteFiles struct {
	Hosts     string // "www.example.com example.com": URLs of the one are URLs of the other
	Protocols string // "*.example.com https"
	Slashes   string // "example.com -": slashes at a path's end go, but for the root's; "+": it comes where the last segment has no dot
}

// SiteNormalizer brings URLs of named hosts into the spelling that their sites use.
type SiteNormalizer struct{ hosts, protocols, slashes hostTable }

// NewSiteNormalizer reads the files. The error names file, line and what is wrong.
func NewSiteNormalizer(f SiteFiles) (*SiteNormalizer, error) {
	n := &SiteNormalizer{}
	var errs [3]error
	n.hosts, errs[0] = readHostTable(f.Hosts, func(s string) bool {
		u, err := urlkey.Parse("http://" + s + "/")
		return err == nil && u.Authority() == s
	}, "a host in canonical form")
	n.protocols, errs[1] = readHostTable(f.Protocols, func(s string) bool { return s == "http" || s == "https" }, "http or https")
	n.slashes, errs[2] = readHostTable(f.Slashes, func(s string) bool { return s == "+" || s == "-" }, "+ or -")
	return n, errors.Join(errs[:]...)
}

// hostTable has what holds for hosts, and below "*." for all below a host.
type hostTable map[string]string

func readHostTable(path string, good func(value string) bool, want string) (hostTable, error) {
	if path == "" {
		return nil, nil
	}
	text, err := readRuleFile(path, "rules for hosts")
	if err != nil {
		return nil, err
	}
	t := hostTable{}
	var faults []error
	sc := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; sc.Scan(); n++ {
		line, _, _ := strings.Cut(sc.Text(), "#")
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case len(words) != 2 || !good(words[1]):
			faults = append(faults, fmt.Errorf("rules for hosts %s, line %d: %.80q: want a host and %s", path, n, line, want))
		default:
			t[strings.ToLower(words[0])] = words[1]
		}
	}
	if err := sc.Err(); err != nil {
		faults = append(faults, fmt.Errorf("rules for hosts %s: %w", path, err))
	}
	return t, errors.Join(faults...)
}

// of returns what holds for a host, "" if nothing does.
func (t hostTable) of(host string) string {
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

// Normalize applies what holds for the URL's host, and then what holds for the one that it becomes, once.
func (n *SiteNormalizer) Normalize(u urlkey.URL) (urlkey.URL, error) {
	host := u.Host()
	authority, scheme, path := u.Authority(), u.Scheme(), u.Path()
	if to := n.hosts.of(host); to != "" && to != host {
		if further := n.hosts.of(to); further != "" && further != to {
			return urlkey.URL{}, fmt.Errorf("%s: rules make a host of %s that they make one of %s", u, host, to)
		}
		host, authority = to, to+strings.TrimPrefix(authority, host)
	}
	if p := n.protocols.of(host); p != "" && !strings.Contains(authority, ":") { // a port is one protocol's
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

// withPath is the URL with another scheme, host and path, and its query.
func withPath(u urlkey.URL, scheme, authority, path string) (urlkey.URL, error) {
	s := scheme + "://" + authority + path
	if query, has := u.Query(); has {
		s += "?" + query
	}
	next, err := urlkey.Parse(s)
	if err != nil {
		return urlkey.URL{}, fmt.Errorf("%s became %q: %w", u, s, err)
	}
	return next, nil
}

// SlashNormalizer makes one slash of several in a path. Most servers answer both spellings alike; some keep another
// URL behind two of them, so it is not on by default.
type SlashNormalizer struct{}

// Normalize returns u itself where there are none.
func (SlashNormalizer) Normalize(u urlkey.URL) (urlkey.URL, error) {
	path := u.Path()
	if !strings.Contains(path, "//") {
		return u, nil
	}
	parts := slices.DeleteFunc(strings.SplitAfter(path, "/")[1:], func(s string) bool { return s == "/" })
	return withPath(u, u.Scheme(), u.Authority(), "/"+strings.Join(parts, ""))
}

// QueryNormalizer puts a query's parameters in order by name (Nutch's urlnormalizer-querystring), for sites
// that write them in any. Parameters of a name keep theirs: it may mean something.
type QueryNormalizer struct{}

// Normalize returns u itself where they are in order.
func (QueryNormalizer) Normalize(u urlkey.URL) (urlkey.URL, error) {
	query, _ := u.Query()
	if !strings.Contains(query, "&") {
		return u, nil
	}
	parts := strings.Split(query, "&")
	name := func(p string) string {
		n, _, _ := strings.Cut(p, "=")
		return n
	}
	order := func(a, b string) int { return strings.Compare(name(a), name(b)) }
	if slices.IsSortedFunc(parts, order) {
		return u, nil
	}
	slices.SortStableFunc(parts, order)
	next, err := urlkey.Parse(u.Scheme() + "://" + u.Authority() + u.Path() + "?" + strings.Join(parts, "&"))
	if err != nil {
		return urlkey.URL{}, fmt.Errorf("%s: its query in order: %w", u, err)
	}
	return next, nil
}
