// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// HostsFilter is a list of hosts in a file, one a line, '#' begins a comment: "example.org" means that host
// and all below it, "com" a whole top level, "192.0.2.1" an address, "example.org:8080" that port only.
// It either allows nothing else, or denies what it lists. (Nutch: urlfilter-domain and
// urlfilter-domaindenylist.) A million lines take 16 MB, and a URL one lookup for each label of its host.
//
// It may be asked while Refresh reads the file again.
type HostsFilter struct {
	watched[hashSet]
	allow bool
}

// NewAllowedHosts reads a file of the only hosts that are wanted, NewDeniedHosts one of those that are not.
// The error names file, line and what is wrong.
func NewAllowedHosts(path string) (*HostsFilter, error) { return newHostsFilter(path, true) }

// NewDeniedHosts is described with NewAllowedHosts.
func NewDeniedHosts(path string) (*HostsFilter, error) { return newHostsFilter(path, false) }

func newHostsFilter(path string, allow bool) (*HostsFilter, error) {
	f := &HostsFilter{allow: allow}
	if err := f.open(path, "the list of hosts", parseHosts); err != nil {
		return nil, err
	}
	return f, nil
}

// faultsMax is the number of wrong lines that an error quotes.
const faultsMax = 10

func parseHosts(path string, text []byte) (*hashSet, error) {
	set := newHashSet(bytes.Count(text, []byte{'\n'}) + 1)
	var faults []error
	sc := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; sc.Scan() && len(faults) < faultsMax; n++ {
		line, _, _ := strings.Cut(sc.Text(), "#")
		if line = strings.Trim(strings.TrimSpace(line), "."); line == "" {
			continue
		}
		host, err := urlkey.ParseHost(line)
		if err != nil {
			faults = append(faults, fmt.Errorf("list of hosts %s, line %d: %w", path, n, err))
			continue
		}
		set.add(xxh3.HashString(strings.TrimSuffix(string(host), ")")))
	}
	if err := sc.Err(); err != nil {
		faults = append(faults, fmt.Errorf("list of hosts %s: %w", path, err))
	}
	return set, errors.Join(faults...)
}

// Accept refuses with reason "host_denied" or "host_not_allowed".
func (f *HostsFilter) Accept(u urlkey.URL) string {
	var room [256]byte
	switch listed := f.match(u.AppendKey(room[:0])) > 0; {
	case listed && !f.allow:
		return "host_denied"
	case !listed && f.allow:
		return "host_not_allowed"
	}
	return ""
}

// Explain names the entry that a URL's host is under, "" if there is none.
func (f *HostsFilter) Explain(u urlkey.URL) string {
	key := u.AppendKey(nil)
	if n := f.match(key); n > 0 {
		return f.file.path + ": " + urlkey.HostKey(append(key[:n:n], ')')).String()
	}
	return ""
}

// match returns the length of the listed prefix of a key's host, 0 if there is none.
func (f *HostsFilter) match(key []byte) int {
	set := f.now.Load() // this to the end, whatever Refresh does
	for i, c := range key {
		switch c {
		case ',':
			if set.has(xxh3.Hash(key[:i+1])) {
				return i + 1
			}
		case ')': // perhaps with a port before it
			if key[i-1] != ',' && set.has(xxh3.Hash(key[:i])) {
				return i
			}
			return 0
		}
	}
	return 0
}

// hashSet is an open-addressed set of hashes, at most half full. 0 is never a member: it is a free slot.
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
