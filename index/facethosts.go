// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// hostFacet counts the hosts. A host is an interval of documents, so it counts bits and reads no column. Names are read
// for the most frequent ones only: of those that are as frequent as the last, it takes the ones with the least hashes.
type hostFacet struct {
	parts []partHosts // the last one is being counted
}

// partHosts are the hosts of a part that have matches, in the order of their documents.
type partHosts struct {
	part  *part
	table *hostTable // nil: the budget is over
	hosts []hostMatches
}

type hostMatches struct {
	host uint32 // its place in the table
	n    uint32
}

// hostCount is a host of all parts.
type hostCount struct {
	id   uint64
	n    int
	part *part
	doc  uint32 // of the host in the part
}

func (f *hostFacet) begin(x *execution, p *part) error {
	table, err := p.hosts(x.work)
	f.parts = append(f.parts, partHosts{part: p, table: table})
	return err
}

func (f *hostFacet) count(w *window) error {
	if p := &f.parts[len(f.parts)-1]; p.table != nil {
		p.count(w)
	}
	return nil
}

// count counts the matches of a window. Windows come in order.
func (p *partHosts) count(w *window) {
	host := 0
	if n := len(p.hosts); n > 0 {
		host = int(p.hosts[n-1].host)
	}
	for at := nextBit(w.bits, 0); at >= 0; {
		host = p.table.next(host, w.from+uint32(at))
		_, to := p.table.interval(host, p.part.docs)
		upTo := min(int(to-w.from), 64*len(w.bits))
		matches := uint32(countBits(w.bits, at, upTo))
		if n := len(p.hosts); n > 0 && p.hosts[n-1].host == uint32(host) { // it began in the window before
			p.hosts[n-1].n += matches
		} else {
			p.hosts = append(p.hosts, hostMatches{uint32(host), matches})
		}
		if upTo == 64*len(w.bits) {
			return
		}
		at = nextBit(w.bits, upTo)
	}
}

func (f *hostFacet) join(other facet) { f.parts = append(f.parts, other.(*hostFacet).parts...) }

func (f *hostFacet) values(x *execution, most int) (list []FacetValue, distinct int, err error) {
	best, distinct := f.best(most, x.work)
	for _, c := range best {
		if !x.work.spend(readUnits) {
			break
		}
		key, err := c.part.key(c.doc)
		if err != nil {
			return nil, 0, err
		}
		list = append(list, FacetValue{urlkey.Key(key).HostKey().String(), c.n})
	}
	return list, distinct, nil
}

// hostUnit is how many hosts cost as much as a decoded block.
const hostUnit = 16

// best returns the most frequent hosts, and how many there are. When the search is to end, it counts no more.
func (f *hostFacet) best(most int, work *budget) (best []hostCount, distinct int) {
	f.parts = slices.DeleteFunc(f.parts, func(p partHosts) bool { return len(p.hosts) == 0 })
	if len(f.parts) == 1 {
		p := &f.parts[0]
		top := newTopHosts(most, len(p.hosts))
		for _, h := range p.hosts {
			top.add(p.of(h))
		}
		return top.sorted(), len(p.hosts)
	}
	slices.SortFunc(f.parts, func(a, b partHosts) int { return cmp.Compare(a.part.number, b.part.number) })
	sums := hostSumsPool.Get().(*hostSums)
	defer sums.release()
	all := 0
	for i := range f.parts {
		all += len(f.parts[i].hosts)
	}
	sums.begin(all)
	for i := range f.parts {
		for n, h := range f.parts[i].hosts {
			if n%hostUnit == 0 && !work.spend(1) {
				break
			}
			sums.add(f.parts[i].of(h))
		}
	}
	top := newTopHosts(most, len(sums.list))
	for _, c := range sums.list {
		top.add(c)
	}
	return top.sorted(), len(sums.list)
}

// hostSums adds up what hosts have in several parts: a map of their hashes, which need no other hash. Searches share
// them through a pool, since a map made anew was a fifth of the memory that a page of hits allocated.
type hostSums struct {
	list   []hostCount
	places []uint32 // 1 more than the place in list, under the hash of a host or behind it; 0: none
}

var hostSumsPool = sync.Pool{New: func() any { return &hostSums{} }}

// hostSumsKept is the number of hosts up to which sums are kept for another search.
const hostSumsKept = 1 << 16

// begin makes room for a number of hosts.
func (s *hostSums) begin(hosts int) {
	s.list = slices.Grow(s.list[:0], hosts)
	size := 2 << bits.Len(uint(hosts)) // at most half of the places are taken
	s.places = slices.Grow(s.places[:0], size)[:size]
	clear(s.places)
}

// add adds what a host has in a part. Its name is read where the first part has it.
func (s *hostSums) add(c hostCount) {
	mask := uint64(len(s.places) - 1)
	for at := c.id & mask; ; at = (at + 1) & mask {
		switch i := s.places[at]; {
		case i == 0:
			s.list = append(s.list, c)
			s.places[at] = uint32(len(s.list))
			return
		case s.list[i-1].id == c.id:
			s.list[i-1].n += c.n
			return
		}
	}
}

// release gives the sums to another search. They keep no part alive.
func (s *hostSums) release() {
	if cap(s.list) <= hostSumsKept {
		clear(s.list)
		hostSumsPool.Put(s)
	}
}

// matchesOf returns the numbers of matches that some hosts have; counted is false if no facet has counted them all.
func (x *execution) matchesOf(of map[uint64]bool) (matches map[uint64]int, counted bool) {
	matches = map[uint64]int{}
	at := slices.IndexFunc(x.counting, func(f facet) bool { _, ok := f.(*hostFacet); return ok })
	if at < 0 || x.work.over {
		return matches, false
	}
	some := uint64(0) // bits that a hash must have one of: most hosts are passed without a look into the map
	for id := range of {
		some |= 1 << (id & 63)
	}
	for _, p := range x.counting[at].(*hostFacet).parts {
		for _, h := range p.hosts {
			if id := p.table.ids[h.host]; some>>(id&63)&1 != 0 && of[id] {
				matches[id] += int(h.n)
			}
		}
	}
	return matches, true
}

func (p *partHosts) of(h hostMatches) hostCount {
	return hostCount{p.table.ids[h.host], int(h.n), p.part, p.table.first[h.host]}
}

// topHosts keeps the most frequent hosts: of a million, a sort would compare each with some twenty others.
type topHosts struct {
	most  int
	list  []hostCount // sorted up to most whenever it was full
	least int         // count below which a host is not among them
}

// topHostsSpare is how many hosts more than are wanted are kept until they are sorted, at least.
const topHostsSpare = 64

// newTopHosts keeps most of all hosts.
func newTopHosts(most, all int) *topHosts {
	most = min(most, all)
	return &topHosts{most: most, list: make([]hostCount, 0, min(2*most+topHostsSpare, all+1))}
}

func (t *topHosts) add(c hostCount) {
	if c.n < t.least {
		return
	}
	if t.list = append(t.list, c); len(t.list) < cap(t.list) {
		return
	}
	if t.list = t.sorted(); len(t.list) > 0 {
		t.least = t.list[len(t.list)-1].n
	}
}

// sorted returns the hosts by falling count, equal counts by hash.
func (t *topHosts) sorted() []hostCount {
	slices.SortFunc(t.list, func(a, b hostCount) int {
		return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.id, b.id))
	})
	return t.list[:min(t.most, len(t.list))]
}

// nextBit returns the place of the first bit from a place on, or -1.
func nextBit(words []uint64, from int) int {
	if from >= 64*len(words) {
		return -1
	}
	w := words[from/64] &^ (1<<(from%64) - 1)
	for at := from / 64; ; w = words[at] {
		if w != 0 {
			return at*64 + bits.TrailingZeros64(w)
		}
		if at++; at == len(words) {
			return -1
		}
	}
}

// countBits counts the bits from a place (inclusive) to another (exclusive).
func countBits(words []uint64, from, to int) (n int) {
	for from < to {
		w := words[from/64] >> (from % 64)
		if rest := to - from; rest < 64-from%64 {
			return n + bits.OnesCount64(w&(1<<rest-1))
		}
		n += bits.OnesCount64(w)
		from = (from/64 + 1) * 64
	}
	return n
}
