// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/seine-crawler/seine/storage"
)

// GroupNear brings the groups of near-duplicates up to date with the fingerprints of crawldb, see storage.SimHash, and
// reports how many fingerprints it looked at. The work is proportional to what changed and to the groups that it
// touches.
//
// keep leaves at least one fingerprint of each group that gained or lost a page or fingerprint in storage.NearChanged:
// whoever keeps them takes them off in the ingestion that has what follows from the groups, so that the next run finds
// them there after a crash.
func (p *Phases) GroupNear(ctx context.Context, keep bool) (looked uint64, err error) {
	return p.groupNear(ctx, nearPart, keep)
}

// groupNear is GroupNear with parts of some fingerprints.
func (p *Phases) groupNear(ctx context.Context, part int, keep bool) (looked uint64, err error) {
	var from []byte
	for {
		g := &nearing{
			p: p, ctx: ctx, keep: keep, before: map[storage.SimHash]storage.SimHash{},
			loaded: map[storage.SimHash][]storage.SimHash{}, root: map[storage.SimHash]storage.SimHash{},
		}
		if err := g.group(from, part); err != nil {
			return looked, fmt.Errorf("grouping near-duplicates: %w", err)
		}
		if looked += uint64(len(g.queue)); len(g.queue) < part {
			return looked, nil
		}
		from = append(g.queue[part-1].Append(from[:0]), 0) // behind it
	}
}

// nearing is one part of GroupNear: some fingerprints, in one ingestion.
type nearing struct {
	p              *Phases
	ctx            context.Context
	keep           bool
	queue          []storage.SimHash // gained or lost a page, ascending
	added, removed []storage.SimHash // of these, ascending: those that the tables lack, and those that no page has

	before map[storage.SimHash]storage.SimHash   // fingerprints of all groups that are touched, to their groups
	loaded map[storage.SimHash][]storage.SimHash // those groups, with their fingerprints

	// root is a forest of what is added, of its neighbors, and of their groups; each root is the least of its tree.
	root    map[storage.SimHash]storage.SimHash
	joining sync.Mutex // guards root while tables are searched
}

// neighbors joins the pairs of neighbors that one goroutine finds, some at a time. Pages that differ in a few words
// have hundreds of neighbors each: all pairs would not fit into memory.
type neighbors struct {
	g     *nearing
	found [][2]storage.SimHash
}

// add notes two neighbors of which the first is added, unless the second, which may be stored, goes.
func (n *neighbors) add(s, t storage.SimHash) {
	if _, goes := slices.BinarySearch(n.g.removed, t); goes {
		return
	}
	if n.found = append(n.found, [2]storage.SimHash{s, t}); len(n.found) >= nearHeld {
		n.join()
	}
}

// join joins what was noted.
func (n *neighbors) join() {
	n.g.joining.Lock()
	defer n.g.joining.Unlock()
	for _, pair := range n.found {
		n.g.meet(pair[0], pair[1])
	}
	n.found = n.found[:0]
}

// inTables calls work for each table, for those of a long queue at the same time.
func (g *nearing) inTables(work func(ctx context.Context, n int) error) error {
	several := min(g.p.sharers(uint64(len(g.queue))), storage.NearTables)
	return g.p.together(g.ctx, StepDedup, several, func(ctx context.Context, i int) (err error) {
		for n := i; n < storage.NearTables && err == nil; n += several {
			if err = ctx.Err(); err == nil {
				err = work(ctx, n)
			}
		}
		return err
	})
}

// group does one part: fingerprints of the queue from a key on.
func (g *nearing) group(from []byte, part int) error {
	if err := g.readQueue(from, part); err != nil || len(g.queue) == 0 {
		return err
	}
	for _, step := range []func() error{g.classify, g.findStored, g.findAdded, g.connect, g.write} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (g *nearing) readQueue(from []byte, part int) error {
	sc := g.p.env.Store.Scan(storage.NearChanged(), from, nil)
	defer sc.Close()
	for len(g.queue) < part && sc.Next() {
		s, err := storage.ReadSimHash(sc.Key())
		if err != nil {
			return err
		}
		g.queue = append(g.queue, s)
	}
	return sc.Err()
}

// classify tells what became of each fingerprint: whether a page has it, and whether the tables have it.
func (g *nearing) classify() error {
	several := g.p.sharers(uint64(len(g.queue)))
	added, removed := make([][]storage.SimHash, several), make([][]storage.SimHash, several)
	err := g.p.together(g.ctx, StepDedup, several, func(ctx context.Context, i int) (err error) {
		part := g.queue[i*len(g.queue)/several : (i+1)*len(g.queue)/several]
		added[i], removed[i], err = g.classified(ctx, part)
		return err
	})
	g.added, g.removed = slices.Concat(added...), slices.Concat(removed...)
	return err
}

// classified is classify for a part of the queue.
func (g *nearing) classified(
	ctx context.Context, part []storage.SimHash,
) (added, removed []storage.SimHash, err error) {
	store := g.p.env.Store
	pages, table := store.Scan(storage.NearPages(), nil, nil), store.Scan(storage.NearTable(0), nil, nil)
	defer pages.Close()
	defer table.Close()
	var key []byte
	way := storage.NewPacer(g.p.env.GiveWay)
	for n, s := range part {
		way.Step()
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		key = s.Append(key[:0])
		wanted := pages.SeekGE(key) && bytes.HasPrefix(pages.Key(), key)
		known := table.SeekGE(key) && bytes.Equal(table.Key(), key)
		switch {
		case wanted && !known:
			added = append(added, s)
		case known && !wanted:
			removed = append(removed, s)
		}
	}
	return added, removed, errors.Join(pages.Err(), table.Err())
}

// findStored finds the neighbors of what is added among the fingerprints that stay.
func (g *nearing) findStored() error {
	for _, s := range g.added {
		g.root[s] = s
	}
	found := neighbors{g: g}
	all, err := g.p.nearByScan(g.ctx, g.added, found.add)
	if found.join(); all || err != nil {
		return err
	}
	return g.inTables(g.findInTable)
}

// rotated returns fingerprints as they are in a table, ascending.
func rotated(all []storage.SimHash, n int) []storage.SimHash {
	turned := make([]storage.SimHash, len(all))
	for i, s := range all {
		turned[i] = s.Rotated(n)
	}
	slices.Sort(turned)
	return turned
}

// findInTable looks what is added up in one table. It walks the keys of a neighborhood, and skips what is between two
// when that is long.
func (g *nearing) findInTable(ctx context.Context, n int) error {
	sc := g.p.env.Store.Scan(storage.NearTable(n), nil, nil)
	defer sc.Close()
	found := neighbors{g: g}
	defer found.join()
	var parts []storage.SimHash
	var key []byte
	way := storage.NewPacer(g.p.env.GiveWay)
	for i, s := range rotated(g.added, n) {
		way.Step()
		if i%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		parts = s.Neighborhoods(parts[:0])
		key = parts[0].Append(key[:0])
		steps := 0
		for ok := sc.SeekGE(key); ok; {
			t, err := storage.ReadSimHash(sc.Key())
			if err != nil {
				return err
			}
			if s.MayBeNear(t) {
				if steps = 0; s.Near(t) {
					found.add(s.Rotated(storage.NearTables-n), t.Rotated(storage.NearTables-n))
				}
				ok = sc.Next()
				continue
			}
			for len(parts) > 0 && parts[0] <= t {
				parts = parts[1:]
			}
			if len(parts) == 0 {
				break
			}
			if steps++; steps < nearSteps {
				ok = sc.Next()
				continue
			}
			steps = 0
			ok = sc.SeekGE(parts[0].Append(key[:0]))
		}
		if err := sc.Err(); err != nil {
			return err
		}
	}
	return nil
}

// findAdded finds the neighbors among what is added.
func (g *nearing) findAdded() error {
	return g.inTables(func(_ context.Context, n int) error {
		found := neighbors{g: g}
		nearPairs(g.added, n, found.add)
		found.join()
		return nil
	})
}

// nearPairs calls found with the pairs of neighbors among distinct fingerprints that one table shows. Each pair is in
// one table at least.
func nearPairs(all []storage.SimHash, n int, found func(s, t storage.SimHash)) {
	var parts []storage.SimHash
	turned := rotated(all, n)
	for i, s := range turned {
		parts = s.Neighborhoods(parts[:0])
		at := i + 1 // the pair with what is before has been found from there
		for _, part := range parts {
			if part <= s && part.Neighborhood() != s.Neighborhood() {
				continue
			}
			skipped, _ := slices.BinarySearch(turned[at:], part)
			for at += skipped; at < len(turned) && turned[at].Neighborhood() == part.Neighborhood(); at++ {
				if s.Near(turned[at]) {
					found(s.Rotated(storage.NearTables-n), turned[at].Rotated(storage.NearTables-n))
				}
			}
		}
	}
}

// connect loads the groups that are touched, and joins what is left of each.
func (g *nearing) connect() error {
	store := g.p.env.Store
	groups, members := store.Scan(storage.NearGroups(), nil, nil), store.Scan(storage.NearMembers(), nil, nil)
	defer groups.Close()
	defer members.Close()
	torn := map[storage.SimHash]bool{} // groups that lose a fingerprint: what held them together may be gone
	for _, s := range g.removed {
		group, err := g.load(groups, members, s)
		if err != nil {
			return err
		}
		torn[group] = true
	}
	for _, s := range slices.Sorted(maps.Keys(g.root)) {
		if _, fresh := slices.BinarySearch(g.added, s); !fresh {
			if _, err := g.load(groups, members, s); err != nil {
				return err
			}
		}
	}
	for group, list := range g.loaded {
		if !torn[group] {
			for _, s := range list {
				g.meet(s, group)
			}
			continue
		}
		list = slices.DeleteFunc(slices.Clone(list), func(s storage.SimHash) bool {
			_, goes := slices.BinarySearch(g.removed, s)
			return goes
		})
		for _, s := range list {
			g.meet(s, s)
		}
		for n := range storage.NearTables {
			nearPairs(list, n, g.meet)
		}
	}
	return errors.Join(groups.Err(), members.Err())
}

// load reads the group of a stored fingerprint, once.
func (g *nearing) load(groups, members *storage.Scanner, s storage.SimHash) (group storage.SimHash, err error) {
	if group, ok := g.before[s]; ok {
		return group, nil
	}
	key := s.Append(nil)
	if !groups.SeekGE(key) || !bytes.Equal(groups.Key(), key) {
		g.before[s], g.loaded[s] = s, []storage.SimHash{s}
		return s, groups.Err()
	}
	if group, err = storage.ReadSimHash(groups.Value()); err != nil {
		return 0, err
	}
	prefix := group.Append(nil)
	var list []storage.SimHash
	for ok := members.SeekGE(prefix); ok && bytes.HasPrefix(members.Key(), prefix); ok = members.Next() {
		_, member, err := storage.SplitNearMemberKey(members.Key())
		if err != nil {
			return 0, err
		}
		g.before[member] = group
		list = append(list, member)
	}
	g.before[s] = group // damage must not make this endless
	g.loaded[group] = list
	return group, members.Err()
}

// find is the least fingerprint that is connected with s.
func (g *nearing) find(s storage.SimHash) storage.SimHash {
	for g.root[s] != s {
		g.root[s] = g.root[g.root[s]]
		s = g.root[s]
	}
	return s
}

// meet connects two fingerprints, which may be new to the forest.
func (g *nearing) meet(s, t storage.SimHash) {
	for _, x := range [...]storage.SimHash{s, t} {
		if _, known := g.root[x]; !known {
			g.root[x] = x
		}
	}
	if s, t = g.find(s), g.find(t); s != t {
		g.root[max(s, t)] = min(s, t)
	}
}

// write ingests the tables and the groups that changed, and takes the fingerprints off the queue.
func (g *nearing) write() error {
	ing := g.p.env.Store.NewIngestion()
	defer ing.Abort()
	if err := g.writeTables(ing); err != nil {
		return err
	}
	ing.KeepRefreshed() // no document depends on what is near which
	size := map[storage.SimHash]int{}
	for s := range g.root {
		size[g.find(s)]++
	}
	after := func(s storage.SimHash) (group storage.SimHash, several bool) {
		if _, stays := g.root[s]; !stays {
			return s, false
		}
		group = g.find(s)
		return group, size[group] > 1
	}
	touched := slices.Clone(g.added)
	for s := range g.before {
		touched = append(touched, s)
	}
	slices.Sort(touched)
	groups, members := ing.Table(storage.NearGroups()), ing.Table(storage.NearMembers())
	type change struct {
		group, s storage.SimHash
		comes    bool
	}
	var changes []change
	for _, s := range touched {
		was, known := g.before[s]
		grouped := known && len(g.loaded[was]) > 1
		now, several := after(s)
		if grouped == several && (!several || was == now) {
			continue
		}
		var err error
		if several {
			err = groups.Set(s.Append(nil), now.Append(nil))
			changes = append(changes, change{now, s, true})
		} else {
			err = groups.Delete(s.Append(nil))
		}
		if grouped {
			changes = append(changes, change{was, s, false})
		}
		if err != nil {
			return err
		}
	}
	slices.SortFunc(changes, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.s, b.s))
	})
	for _, c := range changes {
		key := storage.AppendNearMemberKey(nil, c.group, c.s)
		err := error(nil)
		if c.comes {
			err = members.Set(key, nil)
		} else {
			err = members.Delete(key)
		}
		if err != nil {
			return err
		}
	}
	return g.p.commit(StepDedup, ing)
}

func (g *nearing) writeTables(ing *storage.Ingestion) error {
	err := g.inTables(func(_ context.Context, n int) error { return g.writeTable(ing, n) })
	if err != nil {
		return err
	}
	return g.writeQueue(ing)
}

// writeTable writes what changes in one table.
func (g *nearing) writeTable(ing *storage.Ingestion, n int) error {
	type entry struct {
		s     storage.SimHash
		comes bool
	}
	var list []entry
	for _, s := range g.added {
		list = append(list, entry{s.Rotated(n), true})
	}
	for _, s := range g.removed {
		list = append(list, entry{s.Rotated(n), false})
	}
	slices.SortFunc(list, func(a, b entry) int { return cmp.Compare(a.s, b.s) })
	w := ing.Table(storage.NearTable(n))
	var key []byte
	for _, e := range list {
		key = e.s.Append(key[:0])
		err := error(nil)
		if e.comes {
			err = w.Set(key, nil)
		} else {
			err = w.Delete(key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeQueue takes the fingerprints off the queue. Those to keep are one of each group that was loaded or made, which
// is the group's number, and those that only gained or lost a page.
func (g *nearing) writeQueue(ing *storage.Ingestion) error {
	stays := map[storage.SimHash]bool{}
	if g.keep {
		for s := range g.root {
			stays[g.find(s)] = true
		}
	}
	list := slices.AppendSeq(slices.Clone(g.queue), maps.Keys(stays))
	slices.Sort(list)
	queue := ing.Table(storage.NearChanged())
	for _, s := range slices.Compact(list) {
		_, grouped := g.root[s]
		_, gone := slices.BinarySearch(g.removed, s)
		err := error(nil)
		switch {
		case stays[s]:
			err = queue.Set(s.Append(nil), nil)
		case !g.keep || grouped || gone:
			err = queue.Delete(s.Append(nil))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// nearGroup returns the fingerprints of a group, ascending.
func (p *Phases) nearGroup(group storage.SimHash) (list []storage.SimHash, err error) {
	from := group.Append(nil)
	sc := p.env.Store.Scan(storage.NearMembers(), from, nil)
	defer sc.Close()
	for sc.Next() && bytes.HasPrefix(sc.Key(), from) {
		_, s, err := storage.SplitNearMemberKey(sc.Key())
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	if len(list) == 0 {
		list = append(list, group)
	}
	return list, sc.Err()
}
