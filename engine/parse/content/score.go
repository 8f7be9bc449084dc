// SPDX-License-Identifier: Apache-2.0

package content

import (
	_ "embed"
	"encoding/binary"
	"math"
	"slices"
)

// modelFile is written by bench/training/content/train.py. All numbers are little-endian:
//
//	"scm1" | depth byte | nears byte | plain uint16 | trees uint16 | bias float32 | nears × kind or group byte
//	trees × (depth × feature byte | depth × border float32 | 2^depth × leaf float32)
//
// All nodes at one level of a tree ask the same question, so the answers, in binary, are the number of the leaf: there
// is no branch to mispredict. A score is the sum of the leaves, a logit (Prokhorenkova and others, "CatBoost: unbiased
// boosting with categorical features", 2018).
//
//go:embed model.bin
var modelFile []byte

const (
	modelDepth  = 6
	modelLeaves = 1 << modelDepth
)

type tree struct {
	borders  [modelDepth]float32
	features [modelDepth]uint8
	leaves   [modelLeaves]float32
}

type model struct {
	bias  float32
	nears []uint8
	trees []tree
	width int // of a row
}

var trained = readModel(modelFile)

// readModel reads the file that train.py wrote. It checks the version and panics if it does not match; the tests
// check the rest.
func readModel(b []byte) *model {
	if len(b) < 14 || string(b[:4]) != "scm1" || b[4] != modelDepth {
		panic("BUG: model.bin is not a model of this version")
	}
	number := func() float32 {
		v := math.Float32frombits(binary.LittleEndian.Uint32(b))
		b = b[4:]
		return v
	}
	nears, plain := int(b[5]), int(binary.LittleEndian.Uint16(b[6:]))
	m := &model{trees: make([]tree, binary.LittleEndian.Uint16(b[8:])), width: plain + nears}
	b = b[10:]
	m.bias = number()
	m.nears, b = b[:nears], b[nears:]
	for i := range m.trees {
		t := &m.trees[i]
		b = b[copy(t.features[:], b):]
		if int(slices.Max(t.features[:])) >= m.width {
			panic("BUG: model.bin uses a feature that rows do not have")
		}
		for d := range t.borders {
			t.borders[d] = number()
		}
		for l := range t.leaves {
			t.leaves[l] = number()
		}
	}
	return m
}

// rowMax exceeds the number of features in a row. A feature's number is a byte, so a row that is accessed as an array
// of this length needs no bounds checks; there would be six times 320.
const rowMax = 256

// scores appends the logits of consecutive rows of features.
func (m *model) scores(dst []float32, features []float32, rows int) []float32 {
	need := rows*m.width + rowMax // the array of the last row reaches beyond the row's end
	features = slices.Grow(features, max(0, need-len(features)))[:need]
	for i := range rows {
		a, sum := (*[rowMax]float32)(features[i*m.width:]), m.bias
		for n := range m.trees {
			t := &m.trees[n]
			// Unrolled: a loop costs half as much again.
			leaf := above(a[t.features[0]], t.borders[0]) | above(a[t.features[1]], t.borders[1])<<1 |
				above(a[t.features[2]], t.borders[2])<<2 | above(a[t.features[3]], t.borders[3])<<3 |
				above(a[t.features[4]], t.borders[4])<<4 | above(a[t.features[5]], t.borders[5])<<5
			sum += t.leaves[leaf&(modelLeaves-1)]
		}
		dst = append(dst, sum)
	}
	return dst
}

func above(x, border float32) int {
	if x > border {
		return 1
	}
	return 0
}

// Thresholds of content. Blocks above sure, the logit of 0.35, are content. If they have less than least percent of the
// page's words, because the model has seen few pages of this kind, blocks above likely, the logit of 0.2, are. A
// missing part of the content costs a searcher more than an extra menu. If no block is above likely, the page has no
// content: it is a form, an error, or an empty list.
const (
	sure   = -0.619
	likely = -1.386
	least  = 15 // percent
)

// The main content takes 28% of parsing on simweb's pages and 21% on Debian's Python manual: the model a third of that,
// boxes and blocks the rest. Of parsing, text takes 11%, links 11% and 7%, the language 8% and 4%.

// Select ends the last block and returns all blocks of the page, scored and marked as content or not. text is the
// page's whole text. Blocks do not begin with white space. They are valid until the outline is used again.
func (o *Outline) Select(text []byte) []Block {
	o.Cut(text)
	o.out = o.out[:0]
	o.measure(trained.nears)
	taken, all := 0, 0
	o.scores = trained.scores(o.scores[:0], o.features, len(o.groups))
	for i := range o.blocks {
		b := &o.blocks[i]
		s := o.scores[b.group]
		from := int(b.from)
		for from < int(b.to) && (text[from] == '\n' || text[from] == ' ') {
			from++
		}
		o.out = append(o.out, Block{From: from, To: int(b.to), Score: s, Content: s > sure})
		all += int(b.words)
		if s > sure {
			taken += int(b.words)
		}
	}
	if 100*taken < least*all {
		for i := range o.out {
			o.out[i].Content = o.out[i].Score > likely
		}
	}
	return o.out
}
