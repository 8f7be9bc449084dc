// SPDX-License-Identifier: Apache-2.0

package content

import (
	"cmp"
	"math"
	"slices"
)

// pageKinds is the number of types of pages: article, collection, documentation, forum, listing, product, service.
const pageKinds = 7

// Select ends the last block and returns all blocks of the page, scored and marked as content or not. text is the
// page's whole text. Blocks do not begin with white space. They are valid until the outline is used again.
func (o *Outline) Select(text []byte) []Block {
	o.Cut(text)
	o.judge(trained)
	least := o.threshold()
	o.out = o.out[:0]
	for i := range o.blocks {
		b := &o.blocks[i]
		from := int(b.from)
		for from < int(b.to) && (text[from] == '\n' || text[from] == ' ') {
			from++
		}
		o.out = append(o.out, Block{
			From: from, To: int(b.to), Score: o.scores[b.group], Content: o.groups[b.group].chance >= least,
		})
	}
	return o.out
}

// judge scores the groups into o.scores and sets their chances. The first pass sees each group and its place; the
// second also sees what the first said of the group's surroundings, so that content keeps together.
func (o *Outline) judge(m *models) {
	width := o.measure()
	o.scores, o.order = o.scores[:0], o.order[:0]
	if len(o.groups) == 0 {
		return
	}
	var types [pageKinds]float32
	m.types.classes(&types, o.page)
	stride := width + pageKinds + secondFeatures
	for i := range o.groups {
		copy(o.features[i*stride+width:], types[:])
	}
	n := len(o.groups)
	o.scores = m.first.scores(o.scores, o.features, n, stride)
	o.setChances()
	o.look(width+pageKinds, stride)
	o.scores = m.second.scores(o.scores[:0], o.features, n, stride)
	o.setChances()
}

// setChances sets the groups' probabilities of being content from o.scores, and sorts the groups by them into o.order.
func (o *Outline) setChances() {
	o.order = o.order[:0]
	for i := range o.groups {
		o.groups[i].chance = float32(1 / (1 + math.Exp(-float64(o.scores[i]))))
		o.order = append(o.order, int32(i))
	}
	slices.SortStableFunc(o.order, func(a, b int32) int { return cmp.Compare(o.groups[b].chance, o.groups[a].chance) })
}

// expected finds the groups that, taken together, have the best F1 measure that can be expected: those of at least
// chance cut. If S words are taken of which C may be expected to be content, and all the page may be expected to have G
// words of content, it is 2C/(S+G) (after Lewis, "Evaluating and optimizing autonomous text classification systems",
// 1995). factor is applied to G. It also sets the share of the page's words in groups of greater chance.
func (o *Outline) expected(factor float32) (best, cut, all, content float32) {
	for i := range o.groups {
		g := &o.groups[i]
		all += float32(g.words)
		content += float32(g.words) * g.chance
	}
	taken, good := float32(0), float32(0)
	for _, i := range o.order {
		g := &o.groups[i]
		g.before = taken / all
		taken += float32(g.words)
		good += float32(g.words) * g.chance
		if f := 2 * good / (taken + factor*content); f > best {
			best, cut = f, g.chance
		}
	}
	return best, cut, all, content
}

// shareSure makes threshold take a little less than what may be expected to be best: on unseen pages this is better,
// because groups of small chances together are not as much content as they say.
const shareSure = 0.85

// threshold returns the chance from which a group is content.
func (o *Outline) threshold() float32 {
	_, cut, _, _ := o.expected(shareSure)
	return cut
}

// secondFeatures is the number of features that look computes.
const secondFeatures = 29

// lookLevels and lookBlocks are the boxes around a group and the blocks beside it that look sees.
const lookLevels, lookBlocks, lookWide = 5, 3, 8

// look computes, at an offset of each row, the features of the second pass: chances of the group, of the page, and of
// what is before, behind, between and around the group's blocks.
func (o *Outline) look(at, stride int) {
	best, cut, all, content := o.expected(1)
	most := o.groups[o.order[0]].chance
	o.chances = o.chances[:0]
	o.inside = append(o.inside[:0], make([]inside, len(o.boxes))...)
	sum, words := float32(0), float32(0)
	for i := range o.blocks {
		b := &o.blocks[i]
		c := o.groups[b.group].chance
		o.chances = append(o.chances, chances{c, words, sum})
		words += float32(b.words)
		sum += c * float32(b.words)
		x := &o.inside[b.box]
		x.words += float32(b.words)
		x.sum += c * float32(b.words)
		x.most = max(x.most, c)
	}
	o.chances = append(o.chances, chances{-1, words, sum})
	for i := len(o.inside) - 1; i > 0; i-- { // a box comes after its parent
		x, up := &o.inside[i], &o.inside[o.boxes[i].parent]
		up.words += x.words
		up.sum += x.sum
		up.most = max(up.most, x.most)
	}
	n := len(o.blocks)
	for i := range o.groups {
		g := &o.groups[i]
		first, last := int(g.first), int(g.last)
		from := i*stride + at
		f := append(o.features[from:from], g.chance, g.chance/most, g.before, content/all, most, best, cut,
			g.chance-cut)
		for d := 1; d <= lookBlocks; d++ {
			f = append(f, o.chanceAt(first-d), o.chanceAt(last+d))
		}
		f = append(f, o.mean(first-lookWide, first), o.mean(last+1, last+1+lookWide), o.mean(first, last+1),
			o.mean(0, first), o.mean(last+1, n))
		box := o.blocks[first].box
		for range lookLevels {
			if box < 0 {
				f = append(f, -1, -1)
				continue
			}
			x := &o.inside[box]
			f = append(f, x.sum/x.words, x.most)
			box = o.boxes[box].parent
		}
	}
}

// chances are a block's chance, and sums over the blocks before it.
type chances struct{ own, words, sum float32 }

// inside sums the chances of the blocks in a box.
type inside struct{ words, sum, most float32 }

// chanceAt is the chance of a block, -1 if there is none at that place.
func (o *Outline) chanceAt(i int) float32 {
	if i < 0 || i >= len(o.blocks) {
		return -1
	}
	return o.chances[i].own
}

// mean is the mean chance of the words in blocks from to to, -1 for none.
func (o *Outline) mean(from, to int) float32 {
	from, to = max(from, 0), min(to, len(o.blocks))
	if from >= to {
		return -1
	}
	a, b := &o.chances[from], &o.chances[to]
	return (b.sum - a.sum) / (b.words - a.words)
}
