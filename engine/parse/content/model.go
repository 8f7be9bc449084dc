// SPDX-License-Identifier: Apache-2.0

package content

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"math"
	"slices"
)

// modelFile is written by bench/training/content/train.py. All numbers are little-endian:
//
//	"scm3" | two models: of the page's type, of groups; each:
//	  classes byte | depth byte | trees uint16 | width uint16 | classes × bias float32
//	  trees × (depth × feature uint16 | depth × border float32 | 2^depth × classes × leaf float32)
//
// All nodes at one level of a tree ask the same question, so the answers, in binary, are the number of the leaf: there
// is no branch to mispredict. A score is the sum of the leaves, a logit (Prokhorenkova and others, "CatBoost: unbiased
// boosting with categorical features", 2018).
//
//go:embed model.bin
var modelFile []byte

// models are what modelFile has.
type models struct {
	types  *model // of the page's features: a logit for each type of page
	groups *model // of the rows of groups: one logit
}

const (
	maxDepth  = 6
	maxLeaves = 1 << maxDepth
	// rowMax exceeds the number of features in a row: a row that is accessed as an array of this length needs few
	// bounds checks.
	rowMax = 512
	// rowsAtOnce rows of features are in the processor's cache together.
	rowsAtOnce = 16
)

// A tree with fewer levels than maxDepth repeats feature 0 with a border of infinity.
type tree struct {
	borders  [maxDepth]float32
	features [maxDepth]uint16
	leaves   [maxLeaves]float32 // of a model of one class
	values   []float32          // of one of several classes: for each leaf, a value of each class
}

type model struct {
	bias  []float32 // of each class
	trees []tree
	width int // of a row
}

var trained = func() *models {
	m, err := readModels(modelFile)
	if err != nil {
		panic("BUG: model.bin: " + err.Error())
	}
	return m
}()

var errModel = errors.New("not a content model of this version")

// readModels reads the file that train.py wrote.
func readModels(b []byte) (m *models, err error) {
	if len(b) < 4 || string(b[:4]) != "scm3" {
		return nil, errModel
	}
	b, m = b[4:], new(models)
	for _, to := range [...]**model{&m.types, &m.groups} {
		if *to, b, err = readModel(b); err != nil {
			return nil, err
		}
	}
	if len(b) > 0 || len(m.types.bias) != pageKinds || len(m.groups.bias) != 1 {
		return nil, errModel
	}
	return m, nil
}

func readModel(b []byte) (*model, []byte, error) {
	if len(b) < 6 {
		return nil, nil, errModel
	}
	classes, depth, n := int(b[0]), int(b[1]), int(binary.LittleEndian.Uint16(b[2:]))
	m := &model{width: int(binary.LittleEndian.Uint16(b[4:]))}
	b = b[6:]
	leaves := classes << (depth & 7)
	if classes == 0 || depth > maxDepth || m.width > rowMax || len(b) < 4*classes+n*(6*depth+4*leaves) {
		return nil, nil, errModel
	}
	number := func() float32 {
		v := math.Float32frombits(binary.LittleEndian.Uint32(b))
		b = b[4:]
		return v
	}
	for range classes {
		m.bias = append(m.bias, number())
	}
	m.trees = make([]tree, n)
	for i := range m.trees {
		t := &m.trees[i]
		for d := range depth {
			t.features[d] = binary.LittleEndian.Uint16(b)
			b = b[2:]
		}
		if int(slices.Max(t.features[:])) >= m.width {
			return nil, nil, errModel
		}
		for d := range t.borders {
			if t.borders[d] = float32(math.Inf(1)); d < depth {
				t.borders[d] = number()
			}
		}
		values := t.leaves[:]
		if classes > 1 {
			t.values = make([]float32, maxLeaves*classes)
			values = t.values
		}
		for l := range leaves {
			values[l] = number()
		}
	}
	return m, b, nil
}

// leaf returns the number of the leaf that a row reaches.
func (t *tree) leaf(a *[rowMax]float32) int {
	leaf := 0
	for d := range t.borders {
		leaf |= above(a[t.features[d]&(rowMax-1)], t.borders[d]) << d
	}
	return leaf & (maxLeaves - 1)
}

// scores appends the logits of consecutive rows of features, stride apart; the last row must have rowMax values behind
// its start. Rows go through the trees some at a time, so that a tree is read into the processor's cache once for all
// of them: the trees are larger than its first level.
func (m *model) scores(dst []float32, features []float32, rows, stride int) []float32 {
	for from := 0; from < rows; from += rowsAtOnce {
		sums := [rowsAtOnce]float32{}
		n := min(rowsAtOnce, rows-from)
		for i := range n {
			sums[i] = m.bias[0]
		}
		for i := range m.trees {
			t := &m.trees[i]
			f, b := &t.features, &t.borders
			for r := range n {
				a := (*[rowMax]float32)(features[(from+r)*stride:])
				// leaf, unrolled: a loop costs half as much again, a call a third.
				leaf := above(a[f[0]&(rowMax-1)], b[0]) | above(a[f[1]&(rowMax-1)], b[1])<<1 |
					above(a[f[2]&(rowMax-1)], b[2])<<2 | above(a[f[3]&(rowMax-1)], b[3])<<3 |
					above(a[f[4]&(rowMax-1)], b[4])<<4 | above(a[f[5]&(rowMax-1)], b[5])<<5
				sums[r] += t.leaves[leaf&(maxLeaves-1)]
			}
		}
		dst = append(dst, sums[:n]...)
	}
	return dst
}

// classes computes the probability of each class for one row.
func (m *model) classes(dst *[pageKinds]float32, row []float32) {
	var a [rowMax]float32
	copy(a[:], row)
	copy(dst[:], m.bias)
	for i := range m.trees {
		t := &m.trees[i]
		for c, v := range (*[pageKinds]float32)(t.values[t.leaf(&a)*pageKinds:]) {
			dst[c] += v
		}
	}
	most, sum := slices.Max(dst[:]), float32(0)
	for c := range dst {
		dst[c] = float32(math.Exp(float64(dst[c] - most)))
		sum += dst[c]
	}
	for c := range dst {
		dst[c] /= sum
	}
}

func above(x, border float32) int {
	if x > border {
		return 1
	}
	return 0
}
