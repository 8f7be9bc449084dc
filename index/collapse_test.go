// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/seine-crawler/seine/storage"
)

// TestIdentifyByBlock: a long page reads the groups of its candidates a block at a time, not one by one, and in no
// order of its own: it keeps the candidates that the plain rule keeps.
func TestIdentifyByBlock(t *testing.T) {
	for seed := range uint64(200) {
		w := newValuedWorld(seed)
		root := &node{kind: nodeTerm, term: "a"}
		all, _ := (&naive{w.world, map[string]uint64{}}).search(root, math.MaxInt)
		reads := 0
		for _, p := range w.parts {
			value, column := p.value, p.columnOf
			p.value = func(letter byte, doc uint32) (uint64, error) {
				reads++
				return value(letter, doc)
			}
			p.columnOf = func(letter byte, block uint32, bits []uint64, dst *columnBlock) error {
				reads++
				return column(letter, block, bits, dst)
			}
		}
		x := w.execution(1000)
		x.crowding = crowding{collapse: true}
		got := x.run(root)
		want := w.thinned(all, x.crowding)
		if len(got) != min(1000, len(want)) {
			t.Fatalf("world %d: %d hits, want %d", seed, len(got), len(want))
		}
		// Of the up to 4 parts, all of one block: at most 3 values or a block each time, of 64, 128 … 2,000 candidates.
		if most := 6 * 4 * (fewValues - 1); reads > most {
			t.Errorf("world %d: %d reads for the groups of %d matches, want at most %d", seed, reads, len(all), most)
		}
	}
}

// TestHostsInPieces: searches without time read the hosts of a segment together, a block each; then all have them.
func TestHostsInPieces(t *testing.T) {
	s := memoryStore(t)
	x, err := Open(s, Options{FS: storage.NewMemFS()})
	if err != nil {
		t.Fatal(err)
	}
	var docs []Document
	for i := range 2*normDocs + 10 {
		docs = append(docs, numbered(t, i, "net"))
	}
	slices.SortFunc(docs, func(a, b Document) int { return cmp.Compare(a.Key, b.Key) })
	addDocuments(t, s, x, docs)
	st, err := x.acquire()
	if err != nil {
		t.Fatal(err)
	}
	over := newBudget(context.Background(), time.Now().Add(-time.Hour))
	over.spend(clockUnits + 1)
	calls := 1
	for ; ; calls++ {
		table, err := st.segments[0].hosts(st.snap, over)
		if err != nil {
			t.Fatal(err)
		}
		if table != nil {
			if len(table.first) != len(table.ids) || len(table.ids) == 0 {
				t.Errorf("%d hosts with %d names", len(table.first), len(table.ids))
			}
			break
		}
	}
	if calls != 4 {
		t.Errorf("the hosts of 3 blocks were there at call %d, want 4", calls)
	}
	if err := errors.Join(x.release(st), x.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
}
