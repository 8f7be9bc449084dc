// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestHeldColumn: a column is held from its second use on, unless it has too many values for a byte, and counts what
// its values say, over blocks with one value and with several.
func TestHeldColumn(t *testing.T) {
	const docs = 2*normDocs + 300
	for _, letter := range []byte{columnLanguage, columnDate} {
		for _, most := range []int{1, 3, 250, 300} {
			rng := rand.New(rand.NewPCG(uint64(most), uint64(letter)))
			values := make([]columns, docs)
			for i := range values {
				if i >= normDocs { // documents of the first block have none
					n := rng.IntN(most)
					values[i].language = strconv.Itoa(n)
					values[i].date = timeNumber(time.Date(1800+n, 7, 1, 0, 0, 0, 0, time.UTC))
				}
			}
			m := &memoryPart{part: part{docs: docs, held: ownHeld(new(atomic.Int64), 1)}}
			m.held.index.Store(1 << 20)
			m.setValues(values, 1)
			x := &execution{work: newBudget(context.Background(), time.Now().Add(time.Hour))}
			var c *heldColumn
			for use, want := range []bool{false, most < 300, most < 300} {
				var err error
				if c, err = x.heldColumn(&m.part, letter); err != nil || (c != nil) != want {
					t.Fatalf("column %c of %d values, use %d: held: %v, %v", letter, most, use, c != nil, err)
				}
			}
			if c == nil {
				continue
			}
			want, got := map[string]int{}, map[string]int{}
			for block := range uint32(3) {
				bits, counts := make([]uint64, normDocs/64), codeCounts{}
				for i, v := range values[block*normDocs : min((block+1)*normDocs, docs)] {
					if rng.IntN(3) == 0 {
						bits[i/64] |= 1 << (i % 64)
						want[v.language]++
					}
				}
				c.count(block, bits, &counts)
				for code, n := range counts {
					switch {
					case n == 0:
					case letter == columnLanguage:
						got[c.texts[code]] += n
					case c.years[code] == noYear:
						got[""] += n
					default:
						got[strconv.Itoa(c.years[code]-1800)] += n
					}
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("column %c of %d values: %v, want %v", letter, most, got, want)
			}
		}
	}
}

// TestTopHosts: the most frequent hosts are those that sorting all of them finds, of few and of many, in any order.
func TestTopHosts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := make([]hostCount, rapid.IntRange(0, 400).Draw(t, "hosts"))
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		for i := range all {
			all[i] = hostCount{id: rng.Uint64(), n: 1 + rng.IntN(len(all)/10+1)}
		}
		if rapid.Bool().Draw(t, "rising") {
			slices.SortFunc(all, func(a, b hostCount) int { return cmp.Compare(a.n, b.n) })
		}
		most := rapid.SampledFrom([]int{1, 8, 100, 399, math.MaxInt}).Draw(t, "most")
		top := newTopHosts(most, len(all))
		for _, c := range all {
			top.add(c)
		}
		slices.SortFunc(all, func(a, b hostCount) int {
			return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.id, b.id))
		})
		if want := all[:min(most, len(all))]; !slices.Equal(top.sorted(), want) {
			t.Fatalf("%v, want %v", top.sorted(), want)
		}
	})
}

// TestHostSums: hosts of several parts are added up as in a map, the first part that has one giving its name, also
// where hashes share their low bits, and where sums were used before.
func TestHostSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sums, parts := hostSumsPool.Get().(*hostSums), []*part{{number: 0}, {number: 1}, {number: 2}}
		defer sums.release()
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		shift := rapid.SampledFrom([]int{0, 20, 60}).Draw(t, "shift")
		counts := rapid.IntRange(0, 300).Draw(t, "counts")
		want, distinct := map[uint64]hostCount{}, 0
		sums.begin(counts)
		for range counts {
			c := hostCount{rng.Uint64N(200) << shift, 1 + rng.IntN(9), parts[rng.IntN(3)], rng.Uint32()}
			sums.add(c)
			if was, ok := want[c.id]; ok {
				c.n, c.part, c.doc = c.n+was.n, was.part, was.doc
			} else {
				distinct++
			}
			want[c.id] = c
		}
		if len(sums.list) != distinct {
			t.Fatalf("%d hosts, want %d", len(sums.list), distinct)
		}
		for _, c := range sums.list {
			if c != want[c.id] {
				t.Fatalf("%+v, want %+v", c, want[c.id])
			}
		}
	})
}
