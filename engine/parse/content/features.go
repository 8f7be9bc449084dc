// SPDX-License-Identifier: Apache-2.0

package content

import (
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Levels of boxes around a block, and blocks before and after it, that features cover.
const (
	aroundLevels = 6
	besideBlocks = 3
)

// groupGap is the number of blocks in a row that a group may lack; after more, similar blocks are another group.
const groupGap = 15

// groupWords is the size from which a group is full: the similar blocks that follow are another group. Of long threads
// and lists, people often take the first entries only.
const groupWords = 250

// windows are the half widths, in blocks, of the windows around a block.
var windows = [...]int{3, 8, 20}

// group is blocks of one sign, which are in similar boxes: the paragraphs of an article, the entries of a menu. The
// model judges them together. This is within a hundredth as good as one by one, and six times as fast. All blocks of
// one sign without a gap are one group, or, beyond groupWords, several with one head.
type group struct {
	sum
	first, last                           int32 // blocks
	commas, digits, caps, links, lines, n int32
	longest                               int32 // words
	ended, asked, bars, copyrights        int32 // blocks
	doubles, again, echoes                int32 // as a block's
	under                                 int32 // the last block in a heading before it; -1 for none
	head                                  int32 // the first of the groups of one sign without a gap, itself or earlier
	number, before                        int32 // groups of the same head before it, and their words
	all, allWords                         int32 // of a head: blocks and words of its groups

	chance float32 // of being content
}

// measure computes the features of the groups [from, to) into o.features, a row each, and returns the number of
// features. Each row has room for those that judge adds; the last one has rowMax values. survey must precede it.
func (o *Outline) measure(from, to int) (width int) {
	page, n := &o.boxes[0].sum, float32(len(o.blocks))
	f := o.features[:0]
	for i := range o.groups[from:to] {
		g := &o.groups[from+i]
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
			each, words/each, float32(g.longest), part(g.words, page.words),
			part(g.doubles, g.words), part(g.again, g.words),
			part(g.echoes, g.words))
		before := o.sums[g.first].words
		f = append(f,
			float32(g.first)/n, float32(g.last)/n, float32(g.last-g.first+1)/n,
			part(before, page.words), part(page.words-before, page.words),
			float32(g.first), n-float32(g.last),
			float32(x.kind), float32(x.depth), float32(b.words), part(b.linked, b.to-b.from))
		f = o.around(f, b, page)
		f = o.beside(f, int(g.first))
		f = o.listed(f, g, b.box, page)
		f = o.headed(f, g)
		head := &o.groups[g.head]
		f = append(f, float32(g.number), float32(g.before), part(g.before, head.allWords), float32(head.all),
			float32(head.allWords), part(head.allWords, page.words))
		if o.heading < 0 {
			f = append(f, -9999, -9999, -1, -1, -1)
		} else {
			f = append(f, float32(int(g.first)-o.heading), float32(int(g.last)-o.heading))
			f = o.shared(f, b.box, page)
		}
		f = append(f, o.common...)
		for _, d := range x.near[:nears] {
			far := float32(0)
			if d > 0 {
				far = float32(x.depth-d) + 1
			}
			f = append(f, far)
		}
		if i == 0 {
			width = len(f)
			f = slices.Grow(f, (width+pageKinds)*(to-from-1)+rowMax)
		}
		f = f[:len(f)+pageKinds]
	}
	o.features = f[:len(f)+rowMax-pageKinds]
	return width
}

// headed appends features of the heading before a group.
func (o *Outline) headed(f []float32, g *group) []float32 {
	if g.under < 0 {
		return append(f, -1, -1, -1, -1)
	}
	b := &o.blocks[g.under]
	kind, deepest := None, uint8(0)
	for k := H1; k <= H6; k++ {
		if d := o.boxes[b.box].near[k]; d > deepest {
			kind, deepest = k, d
		}
	}
	return append(f, float32(g.first-g.under), float32(kind), float32(b.words), part(b.linked, b.to-b.from))
}

// shared appends features of the innermost box that is around both a block's box and the first h1.
func (o *Outline) shared(f []float32, at int32, page *sum) []float32 {
	steps := 0
	for with := o.blocks[o.heading].box; at != with; {
		if at > with { // a box comes after its parent
			at = o.boxes[at].parent
			steps++
		} else {
			with = o.boxes[with].parent
		}
	}
	x := &o.boxes[at]
	return append(f, float32(steps), float32(x.depth), part(x.sum.words, page.words))
}

// survey puts the blocks into groups and computes what the features compare with: o.sums, o.heading and o.common, the
// features that are the same for all groups.
func (o *Outline) survey() {
	if len(o.blocks) == 0 {
		o.groups, o.page = o.groups[:0], o.page[:0]
		return
	}
	if o.bySign == nil {
		o.bySign = map[uint32]int32{}
	}
	clear(o.bySign)
	o.pair()
	for i := len(o.boxes) - 1; i > 0 && !o.summed; i-- { // a box comes after its parent
		o.boxes[o.boxes[i].parent].sum.plus(&o.boxes[i].sum)
	}
	o.summed = true
	o.list()
	o.groups = o.groups[:0]
	o.heading = -1
	under := int32(-1)
	money, lists, paragraphs, tables, inMain, inArticle, inNav := 0, 0, 0, 0, 0, 0, 0
	s := sum{}
	o.sums = append(o.sums[:0], s)
	for i := range o.blocks {
		b := &o.blocks[i]
		x := &o.boxes[b.box]
		o.place(b, int32(i), under)
		s.add(b)
		o.sums = append(o.sums, s)
		if o.heading < 0 && x.near[H1] > 0 {
			o.heading = i
		}
		if x.heads() {
			under = int32(i)
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
	o.common = o.mainList(o.common, page)
	o.describe()
}

// place puts block i into the group of its sign. It begins another group if there is none, if the last one is too far
// back, or if that is full; of the latter it notes that it belongs to the same head.
func (o *Outline) place(b *block, i, under int32) {
	sign := o.boxes[b.box].sign
	at, known := o.bySign[sign]
	known = known && i-o.groups[at].last <= groupGap
	if !known || o.groups[at].words >= groupWords {
		g := group{first: i, under: under, head: int32(len(o.groups))}
		if known {
			full := &o.groups[at]
			g.head, g.number, g.before = full.head, full.number+1, full.before+full.words
		}
		at = int32(len(o.groups))
		o.bySign[sign] = at
		o.groups = append(o.groups, g)
	}
	b.group = at
	o.groups[at].take(b, i)
	head := &o.groups[o.groups[at].head]
	head.all++
	head.allWords += b.words
}

// textsFactor chooses the hash of texts at random, so that no page can be made of texts that share a chain
// (Dietzfelbinger and others, "A reliable randomized algorithm for the closest-pair problem", 1997).
var textsFactor = rand.Uint64() | 1

// pair finds the lines of the same text, by a hash table with chains of lines: with a map it takes half of measure's
// time.
func (o *Outline) pair() {
	size := bits.Len(uint(len(o.lines)))
	o.texts = slices.Grow(o.texts[:0], 1<<size)[:1<<size]
	clear(o.texts)
	for i := range o.lines {
		l := &o.lines[i]
		head := &o.texts[l.text*textsFactor>>(64-size)]
		at := *head
		for at > 0 && o.lines[at-1].text != l.text {
			at = o.lines[at-1].next
		}
		if at > 0 {
			l.twin = at - 1
			o.lines[l.twin].copies++
			continue
		}
		l.twin, l.copies, l.next = int32(i), 1, *head
		*head = int32(i) + 1
	}
	for i := range o.blocks {
		b := &o.blocks[i]
		b.doubles, b.again, b.echoes = 0, 0, 0
	}
	for i := range o.lines {
		l := &o.lines[i]
		if o.lines[l.twin].copies == 1 {
			continue
		}
		b := &o.blocks[l.block]
		b.doubles += l.words
		if int(l.twin) != i {
			b.again += l.words
			if l.words >= echoWords {
				b.echoes += l.words
			}
		}
	}
}

// heads reports whether a box is in a heading.
func (b *box) heads() bool {
	for k := H1; k <= H6; k++ {
		if b.near[k] > 0 {
			return true
		}
	}
	return false
}

// describe computes o.page, the features of the page as a whole, from which its type is predicted: common, the largest
// groups, and how much of the page is near each kind and group of words.
func (o *Outline) describe() {
	page := &o.boxes[0].sum
	f := append(o.page[:0], o.common...)
	var most, largest, prose *group
	var near [int(kinds) + maxGroups]int32
	for i := range o.groups {
		g := &o.groups[i]
		if most == nil || g.n > most.n {
			most = g
		}
		if largest == nil || g.words > largest.words {
			largest = g
		}
		if prose == nil || g.unlinked() > prose.unlinked() {
			prose = g
		}
		for k, d := range &o.boxes[o.blocks[g.first].box].near {
			if d > 0 {
				near[k] += g.words
			}
		}
	}
	for _, g := range [...]*group{most, largest, prose} {
		f = append(f, float32(g.n), float32(g.words), part(g.words, page.words), part(g.linked, g.bytes),
			part(g.words, g.n), part(g.money, g.n), part(g.ends, g.words), part(g.digits, g.bytes),
			part(g.last-g.first, int32(len(o.blocks))))
	}
	for _, words := range near[:nears] {
		f = append(f, part(words, page.words))
	}
	o.page = f
}

// unlinked is the number of bytes of text that are in no link.
func (g *group) unlinked() int32 { return g.bytes - g.linked }

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
	g.doubles += b.doubles
	g.again += b.again
	g.echoes += b.echoes
}

// around appends the sums of the boxes around a block: from the innermost outwards, then from the outermost inwards.
func (o *Outline) around(f []float32, b *block, page *sum) []float32 {
	at := b.box
	for range aroundLevels {
		if at < 0 {
			f = append(f, -1, -1, -1, -1, -1, -1, -1)
			continue
		}
		s := &o.boxes[at].sum
		f = append(f,
			float32(s.words), part(s.linked, s.bytes), float32(s.blocks), part(s.ends, s.words),
			part(s.words, page.words), part(s.words, s.blocks), part(s.prose, s.words))
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

// nears is the number of features at the end of each row that are distances: to the nearest box around the group of
// each kind, and then of each group of words.
var nears = int(kinds) + len(groups)

// Features returns the features of every group of blocks, a row each, and the index of each block's group, for
// programs that train a model. rows is valid until the outline is used again.
func (o *Outline) Features() (rows [][]float32, groups []int) {
	o.survey()
	if len(o.groups) == 0 {
		return nil, nil
	}
	width := o.measure(0, len(o.groups))
	for i := range o.groups {
		rows = append(rows, o.features[i*(width+pageKinds):][:width])
	}
	for i := range o.blocks {
		groups = append(groups, int(o.blocks[i].group))
	}
	return rows, groups
}

// Page returns the features of the page as a whole, for programs that train a model. It must follow Features. The
// result is valid until the outline is used again.
func (o *Outline) Page() []float32 { return o.page }

// Blocks returns the blocks without judging them: Score is 0 and Content is false. They are valid until the outline is
// used again.
func (o *Outline) Blocks() []Block {
	o.out = o.out[:0]
	for i := range o.blocks {
		o.out = append(o.out, Block{From: int(o.blocks[i].from), To: int(o.blocks[i].to)})
	}
	return o.out
}
