// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// HostsFilter denies the hosts of a list, or allows only them. An entry "example.org" means that host and all hosts
// below it, on every port; "com" means a whole top-level domain, "192.0.2.1" an address, "example.org:8080" that host
// on that port only. (Nutch: urlfilter-domain and urlfilter-domaindenylist.)
//
// A list of a million hosts takes 16 MB; a URL costs one lookup for each label of its host. The filter is immutable
// and is an Explainer and a HostFilter.
type HostsFilter struct {
	set   *hashSet
	allow bool
}

// DenyHosts refuses the given hosts. The error names each entry that is not a host.
func DenyHosts(hosts ...string) (*HostsFilter, error) { return listHosts(hosts, false) }

// AllowHosts refuses all but the given hosts. The error names each entry that is not a host.
func AllowHosts(hosts ...string) (*HostsFilter, error) { return listHosts(hosts, true) }

func listHosts(hosts []string, allow bool) (*HostsFilter, error) {
	f := &HostsFilter{newHashSet(len(hosts)), allow}
	var faults []error
	for _, host := range hosts {
		if err := f.add(host); err != nil {
			faults = append(faults, err)
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return f, nil
}

// ParseDeniedHosts reads a list of hosts to refuse, one per line; '#' begins a comment. The error names each line
// that is not a host, at most ten of them.
func ParseDeniedHosts(text []byte) (*HostsFilter, error) { return parseHosts(text, false) }

// ParseAllowedHosts reads a list of the only hosts to accept, in the format of ParseDeniedHosts.
func ParseAllowedHosts(text []byte) (*HostsFilter, error) { return parseHosts(text, true) }

func parseHosts(text []byte, allow bool) (*HostsFilter, error) {
	f := &HostsFilter{newHashSet(bytes.Count(text, []byte{'\n'}) + 1), allow}
	err := eachLine(text, func(_ int, line string) error {
		if line = withoutComment(line); line == "" {
			return nil
		}
		return f.add(line)
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// add takes ".example.org" and "*.example.org", too, which other lists use for a domain.
func (f *HostsFilter) add(entry string) error {
	host, err := parseEntry(strings.Trim(strings.TrimPrefix(entry, "*."), "."))
	if err != nil {
		return fmt.Errorf("%.80q is not a host: %w", entry, err)
	}
	f.set.add(xxh3.HashString(strings.TrimSuffix(string(host), ")")))
	return nil
}

// Accept refuses with reason "host_denied" or "host_not_allowed".
func (f *HostsFilter) Accept(u urlkey.URL) string {
	var room [256]byte
	return f.reason(f.match(u.AppendKey(room[:0])) > 0)
}

// AcceptHost refuses with the reasons of Accept.
func (f *HostsFilter) AcceptHost(h urlkey.HostKey) string {
	var room [256]byte
	return f.reason(f.match(append(room[:0], h...)) > 0)
}

func (f *HostsFilter) reason(listed bool) string {
	switch {
	case listed && !f.allow:
		return "host_denied"
	case !listed && f.allow:
		return "host_not_allowed"
	}
	return ""
}

// Explain returns the entry that the URL's host is under, "" if there is none.
func (f *HostsFilter) Explain(u urlkey.URL) string {
	key := u.AppendKey(nil)
	if n := f.match(key); n > 0 {
		return urlkey.HostKey(append(key[:n:n], ')')).String()
	}
	return ""
}

// match returns the length of the listed prefix of a key's host, 0 if there is none.
func (f *HostsFilter) match(key []byte) int {
	for i, c := range key {
		switch c {
		case ',':
			if f.set.has(xxh3.Hash(key[:i+1])) {
				return i + 1
			}
		case ')': // perhaps after a port
			if key[i-1] != ',' && f.set.has(xxh3.Hash(key[:i])) {
				return i
			}
			return 0
		}
	}
	return 0
}

// hashSet is an open-addressed set of hashes, at most half full. 0 marks a free slot, so it is never a member.
type hashSet struct{ slots []uint64 }

func newHashSet(n int) *hashSet {
	size := 16
	for size < 2*n {
		size *= 2
	}
	return &hashSet{make([]uint64, size)}
}

func (s *hashSet) slot(h uint64) *uint64 {
	mask := uint64(len(s.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		if s.slots[i] == h || s.slots[i] == 0 {
			return &s.slots[i]
		}
	}
}

func (s *hashSet) add(h uint64)      { *s.slot(h) = h }
func (s *hashSet) has(h uint64) bool { return h != 0 && *s.slot(h) == h }
