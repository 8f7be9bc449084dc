// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTally: a tally of words in two windows, from a word in few documents to one in half of them, with deleted
// documents and an exclusion, finds what the naive searcher finds, and leaves no trace in the memory that it gives
// back.
func TestTally(t *testing.T) {
	for seed := range uint64(2) {
		w := newSparseWorld(seed, sumDocs+2000)
		p := &w.parts[0].part
		word := func(boost float64, forms ...string) *node {
			n := &node{kind: nodeAny, boost: boost}
			for i, f := range forms {
				weight := []float64{1, otherForm}[min(i, 1)]
				n.children = append(n.children, &node{kind: nodeTerm, term: f, weight: weight})
			}
			return n
		}
		for i, root := range []*node{
			word(1, "a", "b", "c"),
			{kind: nodeBool, should: []*node{word(1, "d", "a"), word(2.5, "c")}},
			{
				kind:   nodeBool,
				should: []*node{word(1, "a", "b"), word(1, "c"), word(0.5, "d")}, not: []*node{word(1, "e")},
			},
		} {
			x := w.execution(10)
			r := ranker{part: p, top: &x.top, work: x.work}
			x.lists, x.freqs = []map[string]list{{}}, map[string]uint64{}
			x.count(root)
			words := []*node{root}
			if root.kind == nodeBool {
				words = root.should
			}
			if newTally(&r, &alternatives{words: x.openAll(p, words, 1)}) == nil {
				t.Fatal("a tally is not for these words")
			}
			x = w.execution(10)
			want, total := (&naive{w, map[string]uint64{}}).search(root, 10)
			sameCandidates(t, x.run(root), want)
			if x.total != uint64(total) {
				t.Fatalf("query %d: %d matches, want %d", i, x.total, total)
			}
			v := talliedPool.Get().(*talliedWindow)
			for j, tf := range v.tf {
				if tf != 0 || v.score[j] != 0 || v.rest[j] != 0 {
					t.Fatalf("query %d: document %d of a window keeps %v, %v, %v", i, j, tf, v.score[j], v.rest[j])
				}
			}
			talliedPool.Put(v)
		}
	}
}

// newSparseWorld makes one part of many documents of a few words.
func newSparseWorld(seed uint64, docs int) *world {
	rng := rand.New(rand.NewPCG(seed, 2))
	w := &world{}
	texts, keys := make([]memoryDoc, docs), make([]string, docs)
	for i := range texts {
		d := &texts[i]
		for j, every := range []int{500, 60, 30, 2, 20} {
			if rng.IntN(every) == 0 {
				for range 1 + rng.IntN(4) {
					d.fields[fieldBody] = append(d.fields[fieldBody], string("abcde"[j]))
				}
			}
		}
		for range rng.IntN(6) {
			d.fields[fieldBody] = append(d.fields[fieldBody], "z")
		}
		keys[i] = fmt.Sprintf("%06d", i)
		if d.dead = seed > 0 && rng.IntN(10) == 0; d.dead {
			continue
		}
		w.all.docs++
		for f := range d.fields {
			w.all.totals[f] += uint64(len(d.fields[f]))
		}
	}
	slices.Sort(keys)
	w.table = w.all.weights()
	w.parts = append(w.parts, newMemoryPart(0, texts, keys, blockDocs, true, w.table))
	return w
}
