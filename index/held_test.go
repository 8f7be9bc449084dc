// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"math"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// hold lets searches of the world hold words, in some bytes for each part.
func (w *world) hold(bytes int64) {
	for _, p := range w.parts {
		p.held = ownHeld(new(atomic.Int64), 1)
		p.held.index.Store(bytes)
	}
}

// ownHeld holds what has room in a part of some bytes, without chunks.
func ownHeld(bytes *atomic.Int64, part float64) *heldWords {
	h := &heldWords{index: bytes}
	h.give(part)
	return h
}

// TestHeld: in several windows, a query whose words are held, all or some of them, finds what the naive searcher finds,
// as it does before they are held and when it holds them, and leaves no trace in the memory that it gives back. What is
// held is what was used twice.
func TestHeld(t *testing.T) {
	word := func(boost float64, forms ...string) *node {
		n := &node{kind: nodeAny, boost: boost}
		for i, f := range forms {
			weight := []float64{1, otherForm}[min(i, 1)]
			n.children = append(n.children, &node{kind: nodeTerm, term: f, weight: weight})
		}
		return n
	}
	term := func(s string) *node { return &node{kind: nodeTerm, term: s} }
	worlds := []*world{newSparseWorld(1, sumDocs+2000), windowsWorld(true, 300)}
	b := nodeBool
	for i, root := range []*node{
		word(1), term("c"), word(2, "a", "b", "c"), word(1, "none", "x"),
		{kind: b, should: []*node{word(1, "d", "a"), term("c"), term("x")}},
		{kind: b, should: []*node{word(1, "d", "b"), word(2.5, "c")}, not: []*node{word(1, "e")}, boost: 2},
		{kind: b, must: []*node{word(1, "a", "b"), term("c")}},
		{kind: b, must: []*node{word(1, "d", "b"), term("c")}, should: []*node{term("e")}, not: []*node{term("a")}},
		{kind: b, must: []*node{term("c"), term("d"), term("e")}, should: []*node{term("x"), word(1, "a", "b")}},
		{kind: nodePhrase, children: []*node{word(1, "c", "b"), word(1, "d", "e")}, at: []int{0, 1}},
		{kind: nodePhrase, children: []*node{term("b"), word(2, "c", "a"), term("d")}, at: []int{0, 1, 2}, boost: 3},
		{kind: nodePhrase, children: []*node{term("c"), term("e")}, at: []int{0, 3}},
		{kind: nodePhrase, children: []*node{term("d"), term("none")}, at: []int{0, 1}},
	} {
		for j, w := range worlds {
			want, total := (&naive{w, map[string]uint64{}}).search(root, 10)
			for _, bytes := range []int64{16 << 20, 50_000} { // in the second, words of half the documents do not fit
				w.hold(bytes)
				for run := range 6 {
					x := w.execution(10)
					x.exhaustive, x.side = run%3 == 2, []int{1, 2}[run/3]
					sameCandidates(t, x.run(root), want)
					if x.total != uint64(total) || x.work.over {
						t.Fatalf("query %d, world %d, run %d: %d matches, want %d", i, j, run, x.total, total)
					}
				}
				words := append(append(root.must[:len(root.must):len(root.must)], root.should...), root)
				if root.kind == nodePhrase {
					words = root.children
				}
				for _, n := range words {
					if !n.isHeldKind() {
						continue
					}
					u := w.parts[0].held.words[n.heldKey()]
					if bytes > 50_000 && (u == nil || u.word == nil || u.uses < 3) {
						t.Errorf("query %d, world %d: %s is not held, or not used: %+v", i, j, n.heldKey(), u)
					} else if bytes > 50_000 && root.kind == nodePhrase && !u.word.located() {
						t.Errorf("query %d, world %d: no positions of %s are held", i, j, n.heldKey())
					}
				}
				if h := w.parts[0].held; h.size > bytes {
					t.Errorf("query %d, world %d: %d bytes are held of %d", i, j, h.size, bytes)
				}
			}
		}
		s := sumsPool.Get().(*sums)
		for j, p := range s.score {
			if p != 0 || s.tf[j] != 0 || s.bits[j>>6]|s.touched[j>>6] != 0 {
				t.Fatalf("query %d: document %d of a window keeps %v, %v", i, j, p, s.tf[j])
			}
		}
		sumsPool.Put(s)
	}
}

// TestHeldAny: alternatives of held words, all or some of them, find and count what a search without held words and
// without pruning does, in windows of many documents and of few.
func TestHeldAny(t *testing.T) {
	worlds := []*world{newSparseWorld(1, sumDocs+2000), windowsWorld(true, 0)}
	rapid.Check(t, func(t *rapid.T) {
		w := worlds[rapid.IntRange(0, 1).Draw(t, "world")]
		word := func(label string) *node {
			n := &node{kind: nodeAny, boost: rapid.SampledFrom([]float64{0, 0, 0.125, 2.5}).Draw(t, "boost")}
			for i, form := range rapid.SliceOfNDistinct(rapid.IntRange(0, 5), 1, 2, rapid.ID).Draw(t, label) {
				weight := []float64{1, otherForm}[min(i, 1)]
				n.children = append(n.children, &node{kind: nodeTerm, term: string("abcdex"[form]), weight: weight})
			}
			return n
		}
		root := &node{kind: nodeBool}
		for range rapid.IntRange(1, 5).Draw(t, "words") {
			root.should = append(root.should, word("word"))
		}
		if rapid.IntRange(0, 3).Draw(t, "not") == 0 {
			root.not = append(root.not, word("excluded"))
		}
		k := rapid.IntRange(1, 40).Draw(t, "k")
		w.hold(0)
		x := w.execution(k)
		x.exhaustive = true
		want, total := x.run(root), x.total
		w.hold(rapid.SampledFrom([]int64{50_000, 1 << 20}).Draw(t, "bytes held"))
		for range 2 { // they are held from the second search on
			x = w.execution(k)
			x.enough = rapid.SampledFrom([]uint64{1, 500, math.MaxUint64}).Draw(t, "enough")
			sameCandidates(t, x.run(root), want)
			if x.total > total || x.total < min(total, x.enough) {
				t.Fatalf("%d matches of %d, %d are enough", x.total, total, x.enough)
			}
		}
	})
	s := sumsPool.Get().(*sums)
	defer sumsPool.Put(s)
	for j, p := range s.score {
		if p != 0 || s.tf[j] != 0 || s.bits[j>>6]|s.touched[j>>6] != 0 {
			t.Fatalf("document %d of a window keeps %v, %v", j, p, s.tf[j])
		}
	}
}

// TestHeldMeeting: a phrase of words that are held without their positions finds what the naive searcher finds, in one
// field and in any.
func TestHeldMeeting(t *testing.T) {
	term := func(s string) *node { return &node{kind: nodeTerm, term: s} }
	word := &node{kind: nodeAny, children: []*node{term("c"), {kind: nodeTerm, term: "b", weight: otherForm}}}
	for i, w := range []*world{newSparseWorld(1, sumDocs+2000), windowsWorld(true, 300)} {
		w.hold(1 << 20) // positions of 680 documents fit
		for range 2 {
			w.execution(10).run(&node{kind: nodeBool, must: []*node{word, term("d")}})
		}
		for _, fields := range []fieldMask{0, bodyMask} {
			root := &node{kind: nodePhrase, children: []*node{word, term("d")}, at: []int{0, 1}, fields: fields}
			want, total := (&naive{w, map[string]uint64{}}).search(root, 10)
			for _, side := range []int{1, 2} {
				x := w.execution(10)
				x.side = side
				sameCandidates(t, x.run(root), want)
				if x.total != uint64(total) || total == 0 {
					t.Errorf("world %d, fields %b: %d matches, want %d", i, fields, x.total, total)
				}
			}
		}
		for _, n := range []*node{word, term("d")} {
			frequent := false
			for _, p := range w.parts {
				held := p.held.peek(n.heldKey())
				frequent = frequent || held != nil && !held.located()
			}
			if !frequent {
				t.Errorf("world %d: %s is held nowhere, or with positions", i, n.heldKey())
			}
		}
	}
}

// TestHeldWords: no more is held than there is room for; a word is held from its second use on, and stays while others
// are used once, twice, or less often than it.
func TestHeldWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.Int64Range(0, 20_000).Draw(t, "bytes")
		h := ownHeld(new(atomic.Int64), 0.5)
		h.index.Store(2 * most)
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			key, docs := fmt.Sprint(rapid.IntRange(0, 30).Draw(t, "key")), rapid.Int64Range(0, 500).Draw(t, "docs")
			if u, hold := h.use(key, 4*docs); hold {
				if u != nil {
					t.Fatal("what is held is to be held")
				}
				h.hold(key, &heldWord{heldDocs: heldDocs{places: make([]uint16, docs)}, codes: make([]uint16, docs)})
			}
			if rapid.IntRange(0, 20).Draw(t, "trim") == 0 {
				h.index.Store(most)
				h.trim()
			}
			sum := int64(0)
			for _, u := range h.words {
				sum += u.size
			}
			if sum != h.size || sum > h.most() {
				t.Fatalf("%d bytes of %d, counted as %d", sum, h.most(), h.size)
			}
		}
	})
	h := ownHeld(new(atomic.Int64), 1)
	h.index.Store(40 * heldPrice)
	for i := range 3000 {
		for _, key := range []string{"used", fmt.Sprint(i), fmt.Sprint(i)} {
			u, hold := h.use(key, 10)
			if i > 0 && key == "used" && u == nil && !hold {
				t.Fatalf("a word in use is not held after %d others", i)
			}
			if hold {
				h.hold(key, &heldWord{})
			}
		}
	}
	if len(h.words) < 5 {
		t.Errorf("%d words are held of words that were used twice", len(h.words))
	}
}

// TestHeldInTurn: where words are used in turn and half of them have room, those that are held stay, until others are
// used more than twice as often.
func TestHeldInTurn(t *testing.T) {
	h := ownHeld(new(atomic.Int64), 1)
	h.index.Store(20 * (heldPrice + 40))
	made := 0
	use := func(key string) {
		if _, hold := h.use(key, 10); hold {
			made++
			h.hold(key, &heldWord{})
		}
	}
	for range heldHalving / 40 { // and more, so that uses are halved
		for i := range 40 {
			use(fmt.Sprint("word", i))
		}
		for i := range 40 {
			use(fmt.Sprint("word", 39-i))
		}
	}
	if held := len(h.words); held < 15 || made > held {
		t.Errorf("%d words are held, which were made %d times", held, made)
	}
	for range 4 * heldHalving / 40 {
		use("often")
	}
	if h.words["often"] == nil {
		t.Error("a word that is used four times as often as others is not held")
	}
}

// TestHeldChunksApart: chunks take their part of the memory, however many are used how often, and words the rest; no
// use of a chunk makes a word forgotten.
func TestHeldChunksApart(t *testing.T) {
	bytes := new(atomic.Int64)
	bytes.Store(4 << 20)
	h := newHeldWords(bytes)
	h.give(1)
	for round := range 3 {
		for i := range 2 * heldSeen {
			if _, hold := h.chunk(kindPositions, 1, uint32(i)); hold {
				h.holdChunk(kindPositions, 1, uint32(i), make([]byte, listChunk))
			}
		}
		for range 40 {
			h.chunk(kindPositions, 1, 0)
		}
		if _, hold := h.use("word", 4000); hold {
			h.hold("word", &heldWord{heldDocs: heldDocs{places: make([]uint16, 1000)}, codes: make([]uint16, 1000)})
		} else if round == 1 {
			t.Error("a word is not held at its second use")
		}
	}
	if u, _ := h.use("word", 4000); u == nil {
		t.Error("chunks took the place of a word")
	}
	if h.chunks.size > bytes.Load()/heldChunks || len(h.chunks.words) == 0 {
		t.Errorf("%d chunks of %d bytes are held", len(h.chunks.words), h.chunks.size)
	}
}

// TestHeldWorth: of words that are used as often the small ones are held. A word that is not made after all has cost
// none of the others their place.
func TestHeldWorth(t *testing.T) {
	h := ownHeld(new(atomic.Int64), 1)
	h.index.Store(100_000)
	use := func(key string, docs int) {
		if _, hold := h.use(key, int64(4*docs)); hold {
			h.hold(key, &heldWord{heldDocs: heldDocs{places: make([]uint16, docs)}, codes: make([]uint16, docs)})
		}
	}
	for range 40 {
		for i := range 12 {
			use(fmt.Sprint("large", i), 2500)
		}
		for i := range 100 {
			use(fmt.Sprint("small", i), 100)
		}
	}
	small := 0
	for key := range h.words {
		if key[0] == 's' {
			small++
		}
	}
	if small < 95 {
		t.Errorf("%d of 100 small words are held, and %d large ones", small, len(h.words)-small)
	}
	before := len(h.words)
	for range 1000 {
		if u, hold := h.use("often", 10_000); u == nil && hold {
			if len(h.words) != before {
				t.Error("a word that is not made took the place of another")
			}
		}
	}
	use("often", 2500)
	if h.words["often"] == nil {
		t.Error("a word that is used often is not held")
	}
}

// TestHeldPositionsGiveWay: positions take free room only, words take theirs, and they may come back when uses are
// halved.
func TestHeldPositionsGiveWay(t *testing.T) {
	h := ownHeld(new(atomic.Int64), 1)
	h.index.Store(1 << 20)
	word := func(docs int) *heldWord {
		return &heldWord{heldDocs: heldDocs{starts: []uint32{0, uint32(docs)}, places: make([]uint16, docs)}}
	}
	use := func(key string, docs int) {
		if _, hold := h.use(key, int64(2*docs)); hold {
			h.hold(key, word(docs))
		}
	}
	find := func(key string) (read bool) {
		w, read := h.find(key)
		if read {
			h.found(key, w.with(&heldPositions{docs: w.len(), bytes: make([]byte, 3*w.len())}))
		}
		return read
	}
	sum := func() (found int64) {
		for key, u := range h.words {
			if (u.found > 0) != h.located[key] || (u.found > 0) != u.word.located() {
				t.Fatalf("%s has %d bytes of positions", key, u.found)
			}
			found += u.found
		}
		return found
	}
	for range 3 {
		for i := range 400 {
			use(fmt.Sprint("first", i), 600)
		}
	}
	for i := range 400 {
		find(fmt.Sprint("first", i))
	}
	words := len(h.words)
	if got := sum(); got == 0 || got != h.foundSize || h.size > h.most() {
		t.Fatalf("%d bytes of positions, counted as %d, in %d bytes", got, h.foundSize, h.size)
	}
	for range 3 {
		for i := range 200 {
			use(fmt.Sprint("second", i), 600)
		}
	}
	if got := sum(); got != h.foundSize || len(h.words) < words+200 || h.size > h.most() {
		t.Fatalf("%d words in place of %d, and %d bytes of positions, counted as %d", len(h.words), words, got,
			h.foundSize)
	}
	gone := ""
	for key, u := range h.words {
		if u.gone {
			gone = key
		}
	}
	if gone == "" || find(gone) {
		t.Fatalf("%q has its positions again at once", gone)
	}
	for range heldHalving {
		use(gone, 600)
	}
	for key := range h.words {
		if key[0] == 's' {
			h.drop(key)
		}
	}
	if !find(gone) {
		t.Error("it never has its positions again")
	}
	h.index.Store(1 << 16)
	if h.trim(); sum() != h.foundSize || h.size > h.most() {
		t.Errorf("%d bytes are held of %d", h.size, h.most())
	}
}
