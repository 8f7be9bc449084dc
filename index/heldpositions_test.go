// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/binary"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/storage"
)

// TestHeldPositions: the positions that are held of a word are those of its lists, in every field and document, and
// seeking finds the same documents, those that are not deleted.
func TestHeldPositions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(rapid.Uint64Range(0, 5000).Draw(t, "world"))
		x := w.execution(10)
		x.freqs = map[string]uint64{}
		for range w.parts {
			x.lists = append(x.lists, map[string]list{})
		}
		p := &w.parts[0].part
		n := &node{kind: nodeAny}
		for _, form := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "f", "x"}), 1, 3,
			rapid.ID).Draw(t, "forms") {
			n.children = append(n.children, &node{kind: nodeTerm, term: form})
		}
		x.count(n)
		word, _ := x.newHeldWord(p, n)
		held := x.locate(p, n, word, 1<<20)
		if !held.located() {
			t.Fatal("no positions")
		}
		l, it := &heldLocator{word: held}, x.openWord(p, n)
		for doc := uint32(0); ; doc += rapid.Uint32Range(1, 9).Draw(t, "further") {
			at := uint32(end)
			for it != nil {
				if at = it.seek(max(doc, at+1)); at == end || p.alive(at) {
					break
				}
			}
			if doc = l.seek(doc); doc != at {
				t.Fatalf("document %d, want %d", doc, at)
			}
			if doc == end {
				break
			}
			if l.has() != it.has() {
				t.Fatalf("document %d: fields %b, want %b", doc, l.has(), it.has())
			}
			for f := range fieldCount {
				if it.has()>>f&1 != 0 && !slices.Equal(l.occurrences(f), it.occurrences(f)) {
					t.Fatalf("document %d, field %d: %v, want %v", doc, f, l.occurrences(f), it.occurrences(f))
				}
			}
		}
		if few := x.locate(p, n, held, 0); few.located() && held.len() > 0 {
			t.Fatal("positions take more than they may")
		}
	})
}

// farWord is a word at some positions in each field of a document.
type farWord struct {
	wordIter
	at [fieldCount][]uint32
}

func (w *farWord) occurrences(field int) []uint32 { return w.at[field] }

func (w *farWord) has() (mask uint8) {
	for f, at := range w.at {
		if len(at) > 0 {
			mask |= 1 << f
		}
	}
	return mask
}

// TestHeldPositionsFar: positions and gaps of any size are kept.
func TestHeldPositionsFar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var docs []farWord
		f, scratch := &heldPositions{}, [2][]byte{}
		for range rapid.IntRange(1, 3*foundDocs).Draw(t, "documents") {
			w := farWord{}
			for range rapid.IntRange(1, fieldCount).Draw(t, "fields") {
				at := rapid.SliceOfN(rapid.Uint32(), 1, 100).Draw(t, "positions")
				slices.Sort(at)
				w.at[rapid.SampledFrom([]int{fieldBody, 0, fieldCount - 1}).Draw(t, "field")] = at
			}
			docs = append(docs, w)
			f.add(&docs[len(docs)-1], &scratch)
		}
		for i := range docs {
			mask, b := f.of(uint32(i))
			if mask != docs[i].has() {
				t.Fatalf("document %d: fields %b, want %b", i, mask, docs[i].has())
			}
			for field, want := range docs[i].at {
				if got := appendFound(nil, foundIn(mask, b, field)); !slices.Equal(got, want) {
					t.Fatalf("document %d, field %d: %v, want %v", i, field, got, want)
				}
			}
		}
	})
}

// TestHeldSecondPhase: the second phase finds the same with positions that are held as with lists, and holds them.
func TestHeldSecondPhase(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(rapid.Uint64Range(0, 5000).Draw(t, "world"))
		root := &node{kind: nodeBool}
		for i := range rapid.IntRange(2, 3).Draw(t, "words") {
			n := &node{kind: nodeAny, children: []*node{{kind: nodeTerm, term: string("abcdefghi"[2*i])}}}
			if rapid.Bool().Draw(t, "forms") {
				other := &node{kind: nodeTerm, term: string("abcdefghi"[2*i+1]), weight: otherForm}
				n.children = append(n.children, other)
			}
			if root.must = append(root.must, n); i > 0 && rapid.Bool().Draw(t, "should") {
				root.must, root.should = root.must[:i], append(root.should, n)
			}
		}
		search := func() []candidate {
			x := w.execution(rapid.SampledFrom([]int{1, 10, 200}).Draw(t, "k"))
			x.onePhase = false
			return x.run(root)
		}
		want := w.execution(200)
		want.onePhase = false
		best := want.run(root)
		w.hold(16 << 20)
		for range 4 {
			got := search()
			sameCandidates(t, got, best[:len(got)])
		}
		for _, n := range slices.Concat(root.must, root.should) {
			if len(best) < 2 || len(root.should) > 0 { // else the best may have one word, whose positions nobody reads
				break
			}
			if u := best[0].part.held.words[n.heldKey()]; u != nil && !u.word.located() {
				t.Fatalf("%s has no positions", n.heldKey())
			}
		}
	})
}

func TestInRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var pos [][]uint32
		var at []int
		for range rapid.IntRange(1, 4).Draw(t, "words") {
			p := rapid.SliceOfNDistinct(rapid.Uint32Range(0, 30), 1, 20, rapid.ID).Draw(t, "positions")
			slices.Sort(p)
			pos, at = append(pos, p), append(at, rapid.IntRange(0, 6).Draw(t, "at"))
		}
		want := slices.ContainsFunc(pos[0], func(first uint32) bool {
			for k, p := range pos {
				v := int(first) + at[k] - at[0]
				if v < 0 || !slices.Contains(p, uint32(v)) {
					return false
				}
			}
			return true
		})
		if got := inRow(slices.Clone(pos), at); got != want {
			t.Fatalf("%v at %v: %v, want %v", pos, at, got, want)
		}
		if len(pos) == 2 {
			var coded [2][]byte
			for k, p := range pos {
				before := uint32(0)
				for _, v := range p {
					coded[k] = binary.AppendUvarint(coded[k], uint64(v-before))
					before = v
				}
			}
			if got := foundAt(coded[0], coded[1], int64(at[1]-at[0])); got != want {
				t.Fatalf("%v at %v, as they are held: %v, want %v", pos, at, got, want)
			}
		}
	})
}

// TestMaking: what is to be held may take a part of the time that a search has left, and an error of it ends the
// search; what was not made is made when it was used as often again.
func TestMaking(t *testing.T) {
	w := newWorld(1)
	x := w.execution(10)
	work, now := x.work, x.work.deadline.Add(-time.Minute)
	work.now = func() time.Time { return now }
	end := x.making()
	if got := x.work.deadline.Sub(now); got != time.Minute/heldTime {
		t.Errorf("it may take %v of a minute", got)
	}
	now = now.Add(time.Minute / 2)
	if x.work.spend(clockUnits + 1) {
		t.Error("it goes on after its time")
	}
	if end(); x.work != work || !work.spend(clockUnits+1) {
		t.Error("the search lost its time")
	}
	end = x.making()
	x.work.fail(storage.ErrCorrupt)
	if end(); work.err != storage.ErrCorrupt || work.spend(1) {
		t.Errorf("an error of it became %v", work.err)
	}
	h := ownHeld(new(atomic.Int64), 1)
	h.index.Store(1 << 20)
	for range 2 {
		if _, hold := h.use("word", 1); hold {
			t.Error("it is held at its first use")
		}
		if _, hold := h.use("word", 1); !hold {
			t.Error("it is not held at its second use")
		}
		h.forget("word")
	}
}
