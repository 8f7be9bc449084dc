// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"context"
	"slices"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// HostSum is the sum of hosts that have a name in common: a registered domain, a public suffix, a top-level domain.
type HostSum struct {
	Name        string
	Hosts, URLs uint64
	ByStatus    [storage.StatusCount]uint64
	Errors      uint64 // fetches so far
	Bytes       uint64
	TookMS      uint64
}

// add counts a host.
func (s *HostSum) add(c *storage.HostCounts) {
	s.Hosts++
	for i, n := range c.ByStatus {
		s.ByStatus[i] += uint64(n)
	}
	for _, n := range c.Errors {
		s.Errors += uint64(n)
	}
	s.URLs += totalURLs(c)
	s.Bytes += c.Bytes
	s.TookMS += c.TookMS
}

// Domains sums up hosts by their registered domains: the limit domains with the most URLs, most first; all in key order
// if limit is 0. A domain's hosts are neighbours in hostdb, so memory holds at most 2 × limit of them.
func (in *Inspect) Domains(ctx context.Context, limit int) (list []HostSum, err error) {
	byURLs := func(a, b HostSum) int {
		return cmp.Or(cmp.Compare(b.URLs, a.URLs), cmp.Compare(a.Name, b.Name))
	}
	domain := ""
	for e, err := range in.hostCounts(ctx, "") {
		if err != nil {
			return nil, err
		}
		host := urlkey.HostKey(e.key)
		if key := host.DomainKey(); key != domain || len(list) == 0 {
			if limit > 0 && len(list) >= 2*limit {
				slices.SortFunc(list, byURLs)
				list = list[:limit]
			}
			domain = key
			list = append(list, HostSum{Name: host.Domain()})
		}
		list[len(list)-1].add(e.value)
	}
	if limit > 0 {
		slices.SortFunc(list, byURLs)
		list = list[:min(limit, len(list))]
	}
	return list, nil
}

// HostSums sums up hosts by a name of theirs, of which there are few: most URLs first.
func (in *Inspect) HostSums(ctx context.Context, name func(urlkey.HostKey) string) ([]HostSum, error) {
	by := map[string]*HostSum{}
	for e, err := range in.hostCounts(ctx, "") {
		if err != nil {
			return nil, err
		}
		n := name(urlkey.HostKey(e.key))
		if by[n] == nil {
			by[n] = &HostSum{Name: n}
		}
		by[n].add(e.value)
	}
	return sortedBy(by, func(a, b *HostSum) int {
		return cmp.Or(cmp.Compare(b.URLs, a.URLs), cmp.Compare(a.Name, b.Name))
	}), nil
}

// Protocol counts what was answered by a protocol.
type Protocol struct {
	Protocol       storage.HostProtocol
	Hosts, Answers uint64
}

// Protocols counts answers by protocol, most first.
func (in *Inspect) Protocols(ctx context.Context) ([]Protocol, error) {
	var by [storage.HostProtocolCount]Protocol
	for e, err := range in.hostCounts(ctx, "") {
		if err != nil {
			return nil, err
		}
		for i, n := range e.value.Protocols {
			if n > 0 {
				by[i].Hosts++
				by[i].Answers += uint64(n)
			}
		}
	}
	var list []Protocol
	for i, p := range by {
		if p.Protocol = storage.HostProtocol(i); p.Hosts > 0 {
			list = append(list, p)
		}
	}
	slices.SortStableFunc(list, func(a, b Protocol) int { return cmp.Compare(b.Answers, a.Answers) })
	return list, nil
}
