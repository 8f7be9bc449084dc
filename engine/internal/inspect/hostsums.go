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

// domainSum is the sum of a domain's hosts, by its number.
type domainSum struct {
	HostSum
	number int
}

// Domains sums up hosts by their registered domains: the limit domains with the most URLs, most first; all, in the
// order of their first hosts' keys, if limit is 0. Memory holds at most twice limit domains, and those around them.
func (in *Inspect) Domains(ctx context.Context, limit int) ([]HostSum, error) {
	var walk urlkey.DomainWalk
	var list []domainSum
	for e, err := range in.hostCounts(ctx, "") {
		if err != nil {
			return nil, err
		}
		host := urlkey.HostKey(e.key)
		number, first := walk.Next(host)
		if first {
			if limit > 0 && len(list) >= 2*limit {
				list = mostURLs(list, limit, walk.Within)
			}
			list = append(list, domainSum{HostSum{Name: host.Domain()}, number})
		}
		for i := len(list) - 1; i >= 0; i-- {
			if list[i].number == number {
				list[i].add(e.value)
				break
			}
		}
	}
	if limit > 0 {
		list = mostURLs(list, limit, nil)
	}
	var sums []HostSum
	for i := range list {
		sums = append(sums, list[i].HostSum)
	}
	return sums, nil
}

// mostURLs keeps the limit domains with the most URLs, most first, and after them those that keep names.
func mostURLs(list []domainSum, limit int, keep func(number int) bool) []domainSum {
	slices.SortFunc(list, func(a, b domainSum) int {
		return cmp.Or(cmp.Compare(b.URLs, a.URLs), cmp.Compare(a.Name, b.Name))
	})
	limit = min(limit, len(list))
	rest := list[limit:]
	list = list[:limit]
	for _, d := range rest {
		if keep != nil && keep(d.number) {
			list = append(list, d)
		}
	}
	return list
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
