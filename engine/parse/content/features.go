// SPDX-License-Identifier: Apache-2.0

package content

import "slices"

// Levels of boxes around a block, and blocks before and after it, that features cover.
const (
	aroundLevels = 6
	besideBlocks = 3
)

// windows are the half widths, in blocks, of the windows around a block.
var windows = [...]int{3, 8, 20}

// group is all blocks of one sign, which are in similar boxes: the paragraphs of an article, the entries of a menu. The
// model judges them together. This is within a hundredth as good as one by one, and six times as fast.
type group struct {
	sum
	first, last                           int32 // blocks
	commas, digits, caps, links, lines, n int32
	longest                               int32 // words
	ended, asked, bars, copyrights, money int32 // blocks
}

// measure computes the features of every group into o.features, a row each, and returns the length of a row. nears are
// the kinds and groups of words for which the distance to the nearest box is a feature.
func (o *Outline) measure(nears []uint8) (width int) {
	if len(o.blocks) == 0 {
		o.groups = o.groups[:0]
		return 0
	}
	o.survey()
	page, n := &o.boxes[0].sum, float32(len(o.blocks))
	f := o.features[:0]
	for i := range o.groups {
		g := &o.groups[i]
		b := &o.blocks[g.first]
		x := &o.boxes[b.box]
		size, words, each := float32(g.bytes), float32(g.words), float32(g.n)
		f = append(f,
			words, size, float32(g.linked)/size, size/words,
			float32(g.ends), float32(g.ends)/words,
			float32(g.commas)/words, float32(g.digits)/size, float32(g.caps)/size,
			float32(g.ended)/each, float32(g.asked)/each,
			float32(g.links), float32(g.lines), words/float32(g.lines),
			float32(g.bars)/each, float32(g.copyrights)/each, float32(g.money)/each,
			each, words/each, float32(g.longest), part(g.words, page.words))
		before := o.sums[g.first].words
		f = append(f,
			float32(g.first)/n, float32(g.last)/n, float32(g.last-g.first+1)/n,
			part(before, page.words), part(page.words-before, page.words),
			float32(g.first), n-float32(g.last),
			float32(x.kind), float32(x.depth), float32(b.words), part(b.linked, b.to-b.from))
		f = o.around(f, b, page)
		f = o.beside(f, int(g.first))
		if o.heading < 0 {
			f = append(f, -9999, -9999)
		} else {
			f = append(f, float32(int(g.first)-o.heading), float32(int(g.last)-o.heading))
		}
		f = append(f, o.common...)
		for _, k := range nears {
			far := float32(0)
			if d := x.near[k]; d > 0 {
				far = float32(x.depth-d) + 1
			}
			f = append(f, far)
		}
		if i == 0 {
			width = len(f)
			f = slices.Grow(f, width*(len(o.groups)-1)+rowMax)
		}
	}
	o.features = f
	return width
}

// survey puts the blocks into groups and computes what the features compare with: o.sums, o.heading and o.common, the
// features that are the same for all groups.
func (o *Outline) survey() {
	if o.bySign == nil {
		o.bySign = map[uint32]int32{}
	}
	clear(o.bySign)
	for i := len(o.boxes) - 1; i > 0 && !o.summed; i-- { // a box comes after its parent
		o.boxes[o.boxes[i].parent].sum.plus(&o.boxes[i].sum)
	}
	o.summed = true
	o.groups = o.groups[:0]
	o.heading = -1
	money, lists, paragraphs, tables, inMain, inArticle, inNav := 0, 0, 0, 0, 0, 0, 0
	o.sums = append(o.sums[:0], sum{})
	for i := range o.blocks {
		b := &o.blocks[i]
		x := &o.boxes[b.box]
		at, known := o.bySign[x.sign]
		if !known {
			at = int32(len(o.groups))
			o.bySign[x.sign] = at
			o.groups = append(o.groups, group{first: int32(i)})
		}
		b.group = at
		o.groups[at].take(b, int32(i))
		s := o.sums[i]
		s.add(b)
		o.sums = append(o.sums, s)
		if o.heading < 0 && x.near[H1] > 0 {
			o.heading = i
		}
		money += bit(b.money)
		lists += bit(x.near[LI] > 0)
		paragraphs += bit(x.near[P] > 0)
		tables += bit(x.near[Table] > 0)
		inMain += bit(x.near[Main] > 0)
		inArticle += bit(x.near[Article] > 0)
		inNav += bit(x.near[Nav] > 0)
	}
	page, n := &o.boxes[0].sum, int32(len(o.blocks))
	c := o.common[:0]
	for _, t := range o.facts.types {
		c = append(c, flag(t))
	}
	o.common = append(c,
		float32(page.words), part(page.linked, page.bytes), float32(n), float32(len(o.groups)),
		part(int32(inMain), n), part(int32(inArticle), n), part(int32(inNav), n),
		part(int32(paragraphs), n), part(int32(lists), n), part(int32(tables), n),
		part(int32(money), n), part(page.ends, page.words))
}

func (g *group) take(b *block, at int32) {
	g.sum.add(b)
	g.last = at
	g.n++
	g.commas += b.commas
	g.digits += b.digits
	g.caps += b.caps
	g.links += b.links
	g.lines += b.lines
	g.longest = max(g.longest, b.words)
	g.ended += int32(bit(b.last == '.' || b.last == '!' || b.last == '?' || b.last == ':'))
	g.asked += int32(bit(b.last == '?'))
	g.bars += int32(bit(b.bar))
	g.copyrights += int32(bit(b.copyright))
	g.money += int32(bit(b.money))
}

// around appends the sums of the boxes around a block: from the innermost outwards, then from the outermost inwards.
func (o *Outline) around(f []float32, b *block, page *sum) []float32 {
	at := b.box
	for range aroundLevels {
		if at < 0 {
			f = append(f, -1, -1, -1, -1, -1, -1)
			continue
		}
		s := &o.boxes[at].sum
		f = append(f,
			float32(s.words), part(s.linked, s.bytes), float32(s.blocks), part(s.ends, s.words),
			part(s.words, page.words), part(s.words, s.blocks))
		at = o.boxes[at].parent
	}
	for _, top := range o.boxes[b.box].top {
		if top == 0 {
			f = append(f, -1, -1)
			continue
		}
		s := &o.boxes[top].sum
		f = append(f, part(s.words, page.words), part(s.linked, s.bytes))
	}
	return f
}

// beside appends the features of the blocks before and after block i, and of the windows around it.
func (o *Outline) beside(f []float32, i int) []float32 {
	n := len(o.blocks)
	for d := 1; d <= besideBlocks; d++ {
		for _, at := range [...]int{i - d, i + d} {
			if at < 0 || at >= n {
				f = append(f, -1, -1, -1, -1)
				continue
			}
			c := &o.blocks[at]
			f = append(f, float32(c.words), part(c.linked, c.to-c.from), float32(c.ends), float32(o.boxes[c.box].kind))
		}
	}
	for _, w := range windows {
		from, to := &o.sums[max(0, i-w)], &o.sums[min(n, i+w+1)]
		words := to.words - from.words
		f = append(f, float32(words), part(to.linked-from.linked, to.bytes-from.bytes), part(to.ends-from.ends, words))
	}
	return f
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func flag(b bool) float32 { return float32(bit(b)) }

func part(a, of int32) float32 {
	if of <= 0 {
		return 0
	}
	return float32(a) / float32(of)
}

// Nears is the number of features at the end of each row of Features that are distances: to the nearest box around
// the group of each kind, and then of each group of words. Read-only.
var Nears = len(allNears)

// allNears are all kinds and groups of words, as indexes of near.
var allNears = func() (all []uint8) {
	for k := range int(kinds) + len(groups) {
		all = append(all, uint8(k))
	}
	return all
}()

// Features returns the features of every group of blocks, a row each, and the index of each block's group, for
// programs that train a model. rows is valid until the outline is used again.
func (o *Outline) Features() (rows [][]float32, groups []int) {
	width := o.measure(allNears)
	for i := range o.groups {
		rows = append(rows, o.features[i*width:(i+1)*width])
	}
	for i := range o.blocks {
		groups = append(groups, int(o.blocks[i].group))
	}
	return rows, groups
}

// Blocks returns the blocks without judging them: Score is 0 and Content is false. They are valid until the outline is
// used again.
func (o *Outline) Blocks() []Block {
	o.out = o.out[:0]
	for i := range o.blocks {
		o.out = append(o.out, Block{From: int(o.blocks[i].from), To: int(o.blocks[i].to)})
	}
	return o.out
}
