// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"container/heap"
	"slices"
	"sync"
	"time"
)

// crowding keeps hits of one host, and hits of one text, from filling a page. The hits are those of the search without
// it, in their order, without each that has perHost hits of its host, or one of its group, before it. The zero value
// leaves out none.
type crowding struct {
	perHost  int  // 0: any number
	collapse bool // one of a group
	groupOf  func(group uint64) uint64
}

// of is the number that stands for a group.
func (c *crowding) of(group uint64) uint64 {
	if c.groupOf == nil || group == 0 {
		return group
	}
	return c.groupOf(group)
}

func (c *crowding) on() bool { return c.perHost > 0 || c.collapse }

// thinGrace is how much longer than its deadline a search may look at the groups of what it found.
const thinGrace = 2 * time.Millisecond

// thinned are candidates with those left out that crowd.
type thinned struct {
	kept      []candidate
	exhausted bool // a host that crowd cut short ran out of candidates: there may be better ones
}

// collapseHits leaves out the candidates that crowd. best is the ranking, all of it or the first x.top.k; of it the
// first `ranked` have been ranked again. If that leaves too few, it searches once more and has each host, or group,
// keep its best only: how many that must be is not known where both have a limit, so it tries more until they suffice.
func (x *execution) collapseHits(root *node, best []candidate, ranked int) []candidate {
	first := x.thin(best, nil)
	if len(first.kept) >= x.wanted || len(best) < x.top.k || x.work.over {
		return first.kept
	}
	total, enough, have := x.total, x.enough, map[docPlace]bool{}
	ranked = min(ranked, len(best))
	for _, c := range best[:ranked] {
		have[docPlace{c.part.number, c.doc}] = true
	}
	x.enough = 0 // counted before
	defer func() { x.total, x.enough = total, enough }()
	limit := max(x.perHost, 1)
	k := x.wanted + ranked
	if x.perHost > 0 && x.collapse {
		limit += 2
		k += x.wanted * limit / x.perHost
	}
	for {
		x.top = topK{k: k, work: x.work, fresh: x.top.fresh, crowd: newCrowd(limit, x.crowding)}
		x.rankAll(x.workers(), root)
		all := slices.Clone(best[:ranked])
		rest := x.top.sorted()
		for _, c := range rest {
			if !have[docPlace{c.part.number, c.doc}] {
				all = append(all, c)
			}
		}
		if x.work.over {
			return first.kept // the second search is not complete; what the first found is true
		}
		again := x.thin(all, x.top.crowd)
		if !again.exhausted && (len(again.kept) >= x.wanted || len(rest) < k) || x.work.over {
			return again.kept
		}
		if again.exhausted {
			limit *= 4
		}
		k *= 4
	}
}

// docPlace is a document of a search.
type docPlace struct {
	part int
	doc  uint32
}

// thin keeps the candidates that do not crowd, in their order, up to those that are wanted. When the deadline is over
// it goes on for thinGrace.
func (x *execution) thin(best []candidate, of *crowd) (t thinned) {
	deadline := x.work.deadline
	if x.work.over {
		deadline = x.work.now()
	}
	grace := newBudget(x.work.ctx, deadline.Add(thinGrace))
	grace.now = x.work.now
	hosts, groups := map[uint64]int{}, map[uint64]int{}
	var last *candidate
	known, batch := 0, min(x.wanted, firstIdentified)
	for i := 0; i < len(best) && len(t.kept) < x.wanted; i++ {
		if i == known {
			known = min(len(best), known+batch)
			batch *= 2
			if !x.identify(best[i:known], grace) {
				x.work.over = true
				return t
			}
		}
		last = &best[i]
		c := best[i]
		if x.perHost > 0 && hosts[c.host] >= x.perHost {
			continue
		}
		if at, ok := groups[c.group]; ok && x.collapse && c.group != 0 {
			t.kept[at].same++
			continue
		}
		hosts[c.host]++
		groups[c.group] = len(t.kept)
		t.kept = append(t.kept, c)
	}
	if of != nil && x.perHost > 0 && last != nil {
		for id, o := range of.owners {
			// What was cut comes after the limit's candidate, or, if that was removed from the heap since, after all.
			if o.cut && len(o.list) == of.limit && hosts[id] < x.perHost {
				t.exhausted = t.exhausted || x.top.rank(&o.list[of.limit-1].candidate, last) <= 0
			}
		}
	}
	return t
}

const (
	// firstIdentified is how many candidates are identified at once, from the best, or as many as are wanted; then it
	// is twice as many, and so on. So a page reads few more than it needs, and a long one each block a few times.
	firstIdentified = 64
	// fewValues of a block of a column are read one by one: that decodes no others.
	fewValues = 4
)

// blockPool has the memory of blocks of groups, 64 KiB each.
var blockPool = sync.Pool{New: func() any { return new(columnBlock) }}

// identify reads the hosts and the groups of candidates, block by block. It returns false if the search is to end.
func (x *execution) identify(list []candidate, work *budget) bool {
	order := make([]*candidate, 0, len(list))
	for i := range list {
		if !list[i].known {
			order = append(order, &list[i])
		}
	}
	slices.SortFunc(order, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(a.part.number, b.part.number), cmp.Compare(a.doc, b.doc))
	})
	groups := blockPool.Get().(*columnBlock)
	defer blockPool.Put(groups)
	for n := 0; len(order) > 0; order = order[n:] {
		first := order[0]
		for n = 1; n < len(order) && order[n].part == first.part && order[n].doc/normDocs == first.doc/normDocs; {
			n++
		}
		ok, err := x.identifyBlock(order[:n], groups, work)
		if err != nil {
			x.work.fail(err)
		}
		if !ok || err != nil {
			return false
		}
	}
	return true
}

// identifyBlock is identify for candidates of one block.
func (x *execution) identifyBlock(list []*candidate, groups *columnBlock, work *budget) (ok bool, err error) {
	p, block := list[0].part, list[0].doc/normDocs
	if x.perHost > 0 {
		t, err := p.hosts(work)
		if t == nil || err != nil {
			return false, err
		}
		for _, c := range list {
			c.host = t.ids[t.of(c.doc)]
		}
	}
	switch {
	case !x.collapse:
	case len(list) < fewValues:
		for _, c := range list {
			if !work.spend(readUnits) {
				return false, nil
			}
			if c.group, err = p.value(columnGroup, c.doc); err != nil {
				return false, err
			}
			c.group = x.of(c.group)
		}
	default:
		if !work.spend(valueUnits) {
			return false, nil
		}
		var wanted [normDocs / 64]uint64
		for _, c := range list {
			wanted[c.doc%normDocs/64] |= 1 << (c.doc % 64)
		}
		if err := p.columnOf(columnGroup, block, wanted[:], groups); err != nil {
			return false, err
		}
		for _, c := range list {
			c.group = x.of(groups.numbers[c.doc%normDocs])
		}
	}
	for _, c := range list {
		c.known = true
	}
	return true, nil
}

// crowd keeps the best candidates of which no host has more than limit, or without a limit for hosts no group: what
// was left out for better ones of its host can never be missed, so the worst of the best is a bound for all that
// follow. Where groups collapse too, a host keeps one of each group.
type crowd struct {
	crowding
	limit  int
	heap   crowdHeap
	owners map[uint64]*owner

	part   *part // of the host table and the block of groups below
	hosts  *hostTable
	block  int64
	groups columnBlock
}

// owner is a host or a group with its candidates, best first.
type owner struct {
	list []*crowded
	cut  bool // some were left out
}

type crowded struct {
	candidate
	at    int // in the heap
	owner *owner
}

func newCrowd(limit int, c crowding) *crowd {
	return &crowd{crowding: c, limit: limit, owners: map[uint64]*owner{}}
}

// worst returns the worst of k, nil as long as there are fewer.
func (c *crowd) worst(k int) *candidate {
	if len(c.heap.list) < k || k == 0 {
		return nil
	}
	return &c.heap.list[0].candidate
}

// all appends the candidates, in no order.
func (c *crowd) all(dst []candidate) []candidate {
	for _, e := range c.heap.list {
		dst = append(dst, e.candidate)
	}
	return dst
}

// add takes a candidate that is better than the worst, if its host and its group let it.
func (c *crowd) add(t *topK, d *candidate) {
	if c.identify(t, d) {
		c.put(t, d)
	}
}

// put is add of a candidate whose host and group are known.
func (c *crowd) put(t *topK, d *candidate) {
	c.heap.top = t
	e := &crowded{candidate: *d}
	id := d.host
	if c.perHost == 0 {
		id = d.group
	}
	if c.perHost > 0 || id != 0 {
		if e.owner = c.owner(id); !c.admit(t, e) {
			return
		}
	}
	heap.Push(&c.heap, e)
	if len(c.heap.list) > t.k {
		c.remove(c.heap.list[0])
	}
}

func (c *crowd) owner(id uint64) *owner {
	o := c.owners[id]
	if o == nil {
		o = &owner{}
		c.owners[id] = o
	}
	return o
}

// join takes in what another goroutine kept of other segments.
func (c *crowd) join(t *topK, other *crowd) {
	for _, e := range other.heap.list {
		c.put(t, &e.candidate)
	}
	for id, o := range other.owners {
		if o.cut {
			c.owner(id).cut = true
		}
	}
}

// admit puts a candidate into the list of its owner, and removes the one whose place it takes.
func (c *crowd) admit(t *topK, e *crowded) bool {
	o := e.owner
	if c.perHost > 0 && c.collapse && e.group != 0 {
		if i := slices.IndexFunc(o.list, func(other *crowded) bool { return other.group == e.group }); i >= 0 {
			if t.rank(&o.list[i].candidate, &e.candidate) < 0 {
				return false
			}
			c.remove(o.list[i])
		}
	}
	if len(o.list) == c.limit {
		o.cut = true
		last := o.list[len(o.list)-1]
		if t.rank(&last.candidate, &e.candidate) < 0 {
			return false
		}
		c.remove(last)
	}
	i, _ := slices.BinarySearchFunc(o.list, e, func(a, b *crowded) int { return t.rank(&a.candidate, &b.candidate) })
	o.list = slices.Insert(o.list, i, e)
	return true
}

// remove takes a candidate out of the heap and the list of its owner.
func (c *crowd) remove(e *crowded) {
	heap.Remove(&c.heap, e.at)
	if o := e.owner; o != nil {
		i := slices.Index(o.list, e)
		o.list = slices.Delete(o.list, i, i+1)
	}
}

// identify reads the host and the group of a document; documents come in their order.
func (c *crowd) identify(t *topK, d *candidate) bool {
	var err error
	if c.part != d.part {
		c.part, c.hosts, c.block = d.part, nil, -1
	}
	if c.perHost > 0 {
		if c.hosts == nil {
			c.hosts, err = d.part.hosts(t.work)
		}
		if err == nil && c.hosts != nil {
			d.host = c.hosts.ids[c.hosts.of(d.doc)]
		}
	}
	if block := int64(d.doc / normDocs); c.collapse && err == nil {
		if block != c.block && t.work.spend(valueUnits) {
			if err = d.part.column(columnGroup, uint32(block), &c.groups); err == nil {
				c.block = block
			}
		}
		if c.block == block {
			d.group = c.of(c.groups.numbers[d.doc%normDocs])
		}
	}
	if err != nil {
		t.work.fail(err)
	}
	d.known = !t.work.over
	return d.known
}

// crowdHeap is a heap with the worst candidate first, which knows where each is.
type crowdHeap struct {
	list []*crowded
	top  *topK
}

func (h *crowdHeap) Len() int { return len(h.list) }
func (h *crowdHeap) Less(i, j int) bool {
	return h.top.rank(&h.list[i].candidate, &h.list[j].candidate) > 0
}
func (h *crowdHeap) Swap(i, j int) {
	h.list[i], h.list[j] = h.list[j], h.list[i]
	h.list[i].at, h.list[j].at = i, j
}
func (h *crowdHeap) Push(e any) {
	c := e.(*crowded)
	c.at = len(h.list)
	h.list = append(h.list, c)
}
func (h *crowdHeap) Pop() any {
	last := h.list[len(h.list)-1]
	h.list = h.list[:len(h.list)-1]
	return last
}

// countMore counts, for the hits of a page, the matches of their hosts that perHost left out. Only blocks with such
// hosts are looked at.
func (x *execution) countMore(root *node, page []candidate) {
	if x.perHost == 0 || len(page) == 0 {
		return
	}
	shown := map[uint64]bool{}
	for i := range page {
		shown[page[i].host] = true
	}
	matches, counted := x.matchesOf(shown)
	if !counted {
		var mu sync.Mutex
		x.each(x.workers(), x.parts, func(w *execution, p *part) {
			w.countHosts(p, root, shown, func(host uint64, n int) {
				mu.Lock()
				defer mu.Unlock()
				matches[host] += n
			})
		})
	}
	for i := range page {
		page[i].more = max(0, matches[page[i].host]-x.perHost)
	}
}

// countHosts calls found with the numbers of a part's matches that hosts have.
func (x *execution) countHosts(p *part, root *node, of map[uint64]bool, found func(host uint64, n int)) {
	hosts, err := p.hosts(x.work)
	if err != nil {
		x.work.fail(err)
	}
	if hosts == nil || x.work.over {
		return
	}
	it := x.open(p, root, 1)
	if it == nil {
		return
	}
	w := window{bits: make([]uint64, normDocs/64)}
	marked := int64(-1)
	for i, id := range hosts.ids {
		if !of[id] {
			continue
		}
		for from, to := hosts.interval(i, p.docs); from < to && x.work.spend(1); {
			if block := int64(from / normDocs); block != marked {
				marked, w.from = block, from/normDocs*normDocs
				clear(w.bits)
				if at, _ := it.shallow(w.from); at <= w.last() {
					it.mark(&w)
					w.alive(p.dead)
				}
			}
			upTo := min(to, w.from+normDocs)
			found(id, countBits(w.bits, int(from-w.from), int(upTo-w.from)))
			from = upTo
		}
	}
}
