// SPDX-License-Identifier: Apache-2.0

package content

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
)

// tinyModel is a model with one tree of depth 1: 1 or 2 by whether feature 0 is above 0.5, for each of its classes.
func tinyModel(classes, width int) []byte {
	b := []byte{byte(classes), 1}
	b = binary.LittleEndian.AppendUint16(b, 1)
	b = binary.LittleEndian.AppendUint16(b, uint16(width))
	b = append(b, make([]byte, 4*classes)...) // bias
	b = binary.LittleEndian.AppendUint16(b, 0)
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(0.5))
	for _, leaf := range []float32{1, 2} {
		for range classes {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(leaf))
		}
	}
	return b
}

func tinyModels() []byte {
	return bytes.Join([][]byte{
		[]byte("scm3"), tinyModel(pageKinds, 3), tinyModel(1, 4),
	}, nil)
}

// TestReadModels: trees of fewer levels than the greatest depth are read, and damaged files are refused.
func TestReadModels(t *testing.T) {
	m, err := readModels(tinyModels())
	if err != nil {
		t.Fatal(err)
	}
	row := make([]float32, 2*rowMax)
	row[rowMax] = 1
	if got := m.groups.scores(nil, make([]uint64, len(m.groups.borders)), row, 2, rowMax); got[0] != 1 || got[1] != 2 {
		t.Errorf("scores %v, want 1 and 2", got)
	}
	var classes [pageKinds]float32
	if m.types.classes(&classes, row[:3]); math.Abs(float64(classes[0])-1.0/pageKinds) > 1e-6 {
		t.Errorf("probabilities %v, want them equal", classes)
	}
	for n := range len(tinyModels()) {
		if _, err := readModels(tinyModels()[:n]); err == nil {
			t.Errorf("the first %d bytes are taken for a model", n)
		}
	}
}

// TestModelFits: the built-in models are for as many features as the program computes.
func TestModelFits(t *testing.T) {
	var o Outline
	o.Reset()
	text := []byte("one two three")
	o.Start(P, nil, &Attributes{})
	o.Cut(text)
	rows, _ := o.Features()
	page := o.Page()
	if len(rows) != 1 || len(rows[0])+pageKinds != trained.groups.width || len(page) != trained.types.width {
		t.Errorf("%d rows of %d features and %d of the page; the models are for %d and %d",
			len(rows), len(rows[0]), len(page), trained.groups.width-pageKinds, trained.types.width)
	}
}

// FuzzReadModels reads any bytes as models.
func FuzzReadModels(f *testing.F) {
	f.Add(tinyModels())
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := readModels(b)
		if (m == nil) == (err == nil) {
			t.Fatalf("models %v and error %v", m, err)
		}
		if err == nil {
			m.groups.scores(nil, make([]uint64, len(m.groups.borders)), make([]float32, rowMax), 1, rowMax)
		}
	})
}

// manyRows are rows whose features are around the borders of the built-in model, some of them equal in all rows.
func manyRows(rng *rand.Rand, rows int) []float32 {
	m := trained.groups
	features := make([]float32, (rows-1)*m.width+rowMax)
	for _, q := range m.questions {
		same := rng.IntN(3) == 0
		for r := range rows {
			x := m.borders[int(q.from)+rng.IntN(int(q.to-q.from))] + float32(rng.IntN(3)-1)/8
			if same && r > 0 {
				x = features[int(q.feature)]
			}
			features[r*m.width+int(q.feature)] = x
		}
	}
	return features
}

// TestScores compares the scores of rows that are judged together with those of the trees, one by one.
func TestScores(t *testing.T) {
	m := trained.groups
	rng := rand.New(rand.NewPCG(3, 4))
	for rows := 1; rows < 30; rows++ {
		features := manyRows(rng, rows)
		if rows == 9 {
			features[3] = float32(math.NaN())
		}
		got := m.scores(nil, make([]uint64, len(m.borders)), features, rows, m.width)
		if len(got) != rows {
			t.Fatalf("%d scores of %d rows", len(got), rows)
		}
		for r := range rows {
			want := m.bias[0]
			for i := range m.trees {
				want += m.trees[i].leaves[m.trees[i].leaf((*[rowMax]float32)(features[r*m.width:]))]
			}
			if got[r] != want {
				t.Fatalf("row %d of %d: %v, want %v", r, rows, got[r], want)
			}
		}
	}
}

// BenchmarkScores judges as many groups as a page of some menus and an article has.
func BenchmarkScores(b *testing.B) {
	features := manyRows(rand.New(rand.NewPCG(5, 6)), 20)
	answers, scores := make([]uint64, len(trained.groups.borders)), []float32(nil)
	for b.Loop() {
		scores = trained.groups.scores(scores[:0], answers, features, 20, trained.groups.width)
	}
}

// TestFullGroups: of many similar blocks with others between them, a group takes those up to groupWords and the next
// one the rest; groups of one sign know how much is before them, and no block is in two.
func TestFullGroups(t *testing.T) {
	var o Outline
	o.Reset()
	const posts, words = 30, 40
	var text []byte
	for range posts {
		o.Start(Div, text, &Attributes{Class: []byte("message")})
		text = append(text, bytes.Repeat([]byte("word "), words)...)
		o.End(Div, text)
		o.Start(P, text, &Attributes{Class: []byte("user")})
		text = append(text, "name "...)
		o.End(P, text)
	}
	o.Cut(text)
	o.Features()
	if len(o.blocks) != 2*posts {
		t.Fatalf("%d blocks, want %d", len(o.blocks), 2*posts)
	}
	users, number, before := o.blocks[1].group, int32(0), int32(0)
	for i := range o.blocks {
		b := &o.blocks[i]
		g := &o.groups[b.group]
		if i%2 == 1 {
			if b.group != users || g.number != 0 || g.n != posts {
				t.Fatalf("name %d is in group %d of %d blocks, want one group of %d", i/2, b.group, g.n, posts)
			}
			continue
		}
		if int32(i) == g.first {
			if g.head != 0 || g.number != number || g.before != before {
				t.Errorf("post %d begins group %d of head %d behind %d words, want %d of head 0 behind %d",
					i/2, g.number, g.head, g.before, number, before)
			}
			number++
			before += g.words
		}
		if g.words > groupWords+words {
			t.Errorf("a group has %d words, want %d at most", g.words, groupWords+words)
		}
	}
	if head := &o.groups[0]; number < 4 || head.all != posts || head.allWords != before {
		t.Errorf("%d groups; the head knows of %d blocks and %d words, want several, %d and %d",
			number, head.all, head.allWords, posts, before)
	}
}

// TestManyGroups: of a page of which no two parts are alike, the features of a few are in memory at once, and they are
// scored as all together are.
func TestManyGroups(t *testing.T) {
	var o Outline
	o.Reset()
	var text []byte
	const parts = 5_000
	for i := range parts {
		name := []byte{'n', 'a' + byte(i%26), 'a' + byte(i/26%26), 'a' + byte(i/26/26)}
		o.Start(P, text, &Attributes{Class: name})
		text = append(text, "one two\n"...)
	}
	o.Select(text)
	if n := len(o.groups); n != parts {
		t.Fatalf("%d groups of %d parts", n, parts)
	}
	if n := cap(o.features); n > 2*rowsHeld*rowMax {
		t.Errorf("memory for %d features of %d groups", n, parts)
	}
	rows, _ := o.Features()
	var types [pageKinds]float32
	trained.types.classes(&types, o.Page())
	for i, row := range rows {
		var whole [rowMax]float32
		copy(whole[copy(whole[:], row):], types[:])
		want := trained.groups.bias[0]
		for j := range trained.groups.trees {
			want += trained.groups.trees[j].leaves[trained.groups.trees[j].leaf(&whole)]
		}
		if o.scores[i] != want {
			t.Fatalf("group %d: %v, want %v", i, o.scores[i], want)
		}
	}
}
