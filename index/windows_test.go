// SPDX-License-Identifier: Apache-2.0

package index

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// windowsWorld makes one part of several windows. The best documents come first, so that bounds pass most of the rest;
// the last window has the very best. smaller is the number of documents of a part before it and of one behind, whose
// documents are like those of its begin; 0 for none.
func windowsWorld(boosts bool, smaller int) *world {
	const docs = 3*meetDocs + 100
	rng := rand.New(rand.NewPCG(7, 7))
	w := &world{}
	texts, keys := make([]memoryDoc, docs), make([]string, docs)
	for i := range texts {
		d := &texts[i]
		d.dead = rng.IntN(20) == 0
		if boosts && rng.IntN(30) == 0 {
			d.boost = []float64{0.5, 2}[rng.IntN(2)]
		}
		for _, word := range []string{"a", "b", "c", "d", "e"} {
			if rng.IntN(12) == 0 {
				d.fields[fieldBody] = append(d.fields[fieldBody], word)
			}
		}
		if rng.IntN(50) == 0 {
			d.fields[fieldTitle] = []string{"a", "b"}
		}
		switch {
		case i < 60 || i == docs-1:
			d.fields[fieldBody] = slices.Repeat([]string{"a", "b", "c", "d"}, 4)
		case i > meetDocs && i < 2*meetDocs && i%500 != 0: // hardly anything: windows and blocks end early
			d.fields = [fieldCount][]string{}
		default:
			d.fields[fieldBody] = append(d.fields[fieldBody], slices.Repeat([]string{"z"}, 40)...)
		}
		keys[i] = string([]byte{byte(i >> 16), byte(i >> 8), byte(i), '0'})
	}
	parts := [][]memoryDoc{texts}
	if smaller > 0 {
		parts = [][]memoryDoc{texts[:smaller], texts, texts[:smaller]}
	}
	for _, docs := range parts {
		for i := range docs {
			if d := &docs[i]; !d.dead {
				w.all.docs++
				for f := range d.fields {
					w.all.totals[f] += uint64(len(d.fields[f]))
				}
			}
		}
	}
	w.table = w.all.weights()
	for n, docs := range parts {
		names := make([]string, len(docs))
		for i := range names {
			names[i] = keys[i][:3] + string(rune('0'+n))
		}
		w.parts = append(w.parts, newMemoryPart(n, docs, names, blockDocs, true, w.table))
	}
	return w
}

// TestWindows: what is ranked and counted window by window is what the naive searcher finds, where bounds pass windows
// and stretches of them, windows are empty, and the last one is not whole; and where goroutines search side by side,
// beside other parts or alone.
func TestWindows(t *testing.T) {
	word := func(term string) *node { return &node{kind: nodeTerm, term: term} }
	forms := &node{kind: nodeAny, children: []*node{word("a"), {kind: nodeTerm, term: "b", weight: otherForm}}}
	title := word("a")
	title.fields = 1 << fieldTitle
	worlds := []*world{windowsWorld(false, 0), windowsWorld(true, 0), windowsWorld(false, 300), windowsWorld(true, 300)}
	for name, root := range map[string]*node{
		"forms":           forms,
		"alternatives":    {kind: nodeBool, should: []*node{forms, word("c")}},
		"all of":          {kind: nodeBool, must: []*node{word("c"), word("d")}},
		"all of, with":    {kind: nodeBool, must: []*node{forms, word("c")}, should: []*node{word("d")}},
		"all of, without": {kind: nodeBool, must: []*node{forms, word("c")}, not: []*node{word("e")}},
		"in a field":      {kind: nodeBool, must: []*node{title, word("b")}},
		"phrase":          {kind: nodePhrase, children: []*node{word("a"), word("b")}, at: []int{0, 1}},
	} {
		for _, w := range worlds {
			want, total := (&naive{w, map[string]uint64{}}).search(root, 10)
			for run := range 4 {
				x := w.execution(10)
				x.exhaustive, x.side = run%2 == 1, []int{1, 3}[run/2]
				got := x.run(root)
				if x.work.err != nil || x.total != uint64(total) {
					t.Errorf("%s: %d matches, want %d, error %v", name, x.total, total, x.work.err)
				}
				sameCandidates(t, got, want)
				if beside := len(x.lists) - len(x.parts); (beside > 0) != (x.side > 1) {
					t.Errorf("%s: %d goroutines may search, lists of %d were opened", name, x.side, beside)
				}
			}
		}
	}
}

func sameCandidates(t rapid.TB, got, want []candidate) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d candidates, want %d", len(got), len(want))
	}
	for i := range got {
		if g, w := got[i], want[i]; g.part != w.part || g.doc != w.doc || g.score != w.score {
			t.Fatalf("place %d: document %d of %d with %v, want %d of %d with %v",
				i, g.doc, g.part.number, g.score, w.doc, w.part.number, w.score)
		}
	}
}
