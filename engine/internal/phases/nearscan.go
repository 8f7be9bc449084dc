// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"slices"

	"github.com/seine-crawler/seine/storage"
)

// What is added finds its neighbors in one of two ways. A few fingerprints are looked up, each in its neighborhoods of
// all tables (findInTable): the cost of one grows slowly with what is stored. For many it is cheaper to read one table
// from end to end, and to compare each fingerprint in it with those that are added and have one of its blocks, which
// neighbors do: that costs the same for any number of them. Of a crawl of 10^6 pages, 40,000 at a time, looking up
// took two thirds of dedup at the end.

// nearByScan calls found with all pairs of neighbors of which one is added, the other stored, some more than once. If a
// table has more keys than pays, it does so for none or some, remembers how many there are at least, and reports false.
func (p *Phases) nearByScan(
	ctx context.Context, added []storage.SimHash, found func(s, t storage.SimHash),
) (all bool, err error) {
	pays := int64(p.nearScanKeys) * int64(len(added))
	if p.nearStored.Load() > pays {
		return false, nil
	}
	sc := p.env.Store.Scan(storage.NearTable(0), nil, nil)
	defer sc.Close()
	blocks := newNearBlocks(added)
	way := storage.NewPacer(p.env.GiveWay)
	read := int64(0)
	for ; sc.Next(); read++ {
		way.Step()
		if read%ctxCheckKeys == 0 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		if read == pays {
			p.nearStored.Store(read + 1)
			return false, nil
		}
		t, err := storage.ReadSimHash(sc.Key())
		if err != nil {
			return false, err
		}
		blocks.near(t, found)
	}
	p.nearStored.Store(read)
	return true, sc.Err()
}

// nearBlocks finds, among some fingerprints, those that have a block of 16 bits in common with another.
type nearBlocks struct {
	turned [storage.NearTables][]storage.SimHash // rotated as in each table, ascending
	begins [storage.NearTables][]uint32          // where in turned those with a first block begin, for each block
	parts  []storage.SimHash
}

func newNearBlocks(all []storage.SimHash) *nearBlocks {
	b := &nearBlocks{}
	for n := range b.turned {
		turned, begins := make([]storage.SimHash, len(all)), make([]uint32, nearFirsts+1)
		for i, s := range all {
			turned[i] = s.Rotated(n)
			begins[firstBlock(turned[i])+1]++
		}
		slices.Sort(turned)
		for i := range nearFirsts {
			begins[i+1] += begins[i]
		}
		b.turned[n], b.begins[n] = turned, begins
	}
	return b
}

const nearFirsts = 1 << (64 / storage.NearTables) // different first blocks

func firstBlock(s storage.SimHash) int { return int(s >> (64 - 64/storage.NearTables)) }

// near calls found with each of the fingerprints that is a neighbor of t, and t, some more than once.
func (b *nearBlocks) near(t storage.SimHash, found func(s, t storage.SimHash)) {
	for n := range b.turned {
		turned := t.Rotated(n)
		first := firstBlock(turned)
		some := b.turned[n][b.begins[n][first]:b.begins[n][first+1]]
		if len(some) <= nearCrowd {
			for _, s := range some {
				if s.Near(turned) {
					found(s.Rotated(storage.NearTables-n), t)
				}
			}
			continue
		}
		b.parts = turned.Neighborhoods(b.parts[:0])
		for _, part := range b.parts {
			at, _ := slices.BinarySearch(some, part)
			for ; at < len(some) && some[at].Neighborhood() == part.Neighborhood(); at++ {
				if some[at].Near(turned) {
					found(some[at].Rotated(storage.NearTables-n), t)
				}
			}
		}
	}
}
