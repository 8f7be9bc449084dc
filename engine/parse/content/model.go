// SPDX-License-Identifier: Apache-2.0

package content

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"maps"
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
	// rowsAtOnce rows of features are judged together: their answers to a question are the bytes of a word.
	rowsAtOnce = 8
	// rowsHeld rows, of more than a kilobyte each, are in memory at once: a page may have 65,536.
	rowsHeld = 64 * rowsAtOnce
)

// A tree with fewer levels than maxDepth repeats feature 0 with a border of infinity.
type tree struct {
	asked    [maxDepth]uint16 // which of the model's borders
	borders  [maxDepth]float32
	features [maxDepth]uint16
	leaves   [maxLeaves]float32 // of a model of one class
	values   []float32          // of one of several classes: for each leaf, a value of each class
}

type model struct {
	bias  []float32 // of each class
	trees []tree
	width int // of a row

	// What the trees ask, each question once: half of theirs are others' as well.
	questions []question
	borders   []float32
}

// question is whether a feature is above each of the model's borders [from, to).
type question struct{ feature, from, to uint16 }

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
	if n*maxDepth > math.MaxUint16 || !m.ask() {
		return nil, nil, errModel
	}
	return m, b, nil
}

// ask collects the questions of the trees. It is false if one is not a question.
func (m *model) ask() bool {
	numbers := make([]map[float32]uint16, m.width)
	for i := range m.trees {
		for d, feature := range m.trees[i].features {
			if border := m.trees[i].borders[d]; border != border {
				return false
			}
			if numbers[feature] == nil {
				numbers[feature] = map[float32]uint16{}
			}
			numbers[feature][m.trees[i].borders[d]] = 0
		}
	}
	for feature, borders := range numbers {
		if len(borders) == 0 {
			continue
		}
		q := question{feature: uint16(feature), from: uint16(len(m.borders))}
		for _, border := range slices.Sorted(maps.Keys(borders)) {
			borders[border] = uint16(len(m.borders))
			m.borders = append(m.borders, border)
		}
		q.to = uint16(len(m.borders))
		m.questions = append(m.questions, q)
	}
	for i := range m.trees {
		t := &m.trees[i]
		for d, feature := range t.features {
			t.asked[d] = numbers[feature][t.borders[d]]
		}
	}
	return true
}

// leaf returns the number of the leaf that a row reaches.
func (t *tree) leaf(a *[rowMax]float32) int {
	leaf := 0
	for d := range t.borders {
		leaf |= int(above(a[t.features[d]&(rowMax-1)], t.borders[d])) << d
	}
	return leaf & (maxLeaves - 1)
}

// scores appends the logits of consecutive rows of features, stride apart; the last row must have rowMax values behind
// its start. Questions are answered for eight rows together, and a tree then needs six words to find the leaves of all
// of them, instead of 48 comparisons. answers is scratch, a word for each of m.borders.
func (m *model) scores(dst []float32, answers []uint64, features []float32, rows, stride int) []float32 {
	for from := 0; from < rows; from += rowsAtOnce {
		var sums [rowsAtOnce]float32
		var row [rowsAtOnce]*[rowMax]float32
		for r := range row {
			sums[r] = m.bias[0]
			row[r] = (*[rowMax]float32)(features[min(from+r, rows-1)*stride:]) // the last one fills the word up
		}
		m.answer(answers, &row)
		for i := range m.trees {
			t := &m.trees[i]
			leaf := answers[t.asked[0]] | answers[t.asked[1]]<<1 | answers[t.asked[2]]<<2 |
				answers[t.asked[3]]<<3 | answers[t.asked[4]]<<4 | answers[t.asked[5]]<<5
			for r := range sums {
				sums[r] += t.leaves[leaf&(maxLeaves-1)]
				leaf >>= 8
			}
		}
		dst = append(dst, sums[:min(rowsAtOnce, rows-from)]...)
	}
	return dst
}

// answer answers the model's questions for some rows: byte r of a word is 1 if row r is above the border.
func (m *model) answer(answers []uint64, row *[rowsAtOnce]*[rowMax]float32) {
	const all = 0x0101010101010101
	for _, q := range m.questions {
		at := q.feature & (rowMax - 1)
		a, b, c, d := row[0][at], row[1][at], row[2][at], row[3][at]
		e, f, g, h := row[4][at], row[5][at], row[6][at], row[7][at]
		borders := m.borders[q.from:q.to]
		to := answers[q.from:q.to][:len(borders)]
		if a == b && a == c && a == d && a == e && a == f && a == g && a == h { // a feature of the page
			for i, x := range borders {
				to[i] = above(a, x) * all
			}
			continue
		}
		for i, x := range borders {
			to[i] = above(a, x) | above(b, x)<<8 | above(c, x)<<16 | above(d, x)<<24 |
				above(e, x)<<32 | above(f, x)<<40 | above(g, x)<<48 | above(h, x)<<56
		}
	}
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

func above(x, border float32) uint64 {
	if x > border {
		return 1
	}
	return 0
}
