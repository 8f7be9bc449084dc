// SPDX-License-Identifier: Apache-2.0

package content

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// Bounds of an outline. What comes after them is text of the last box, and not content.
const (
	maxBoxes  = 1 << 16
	maxBlocks = 1 << 16
	maxOpen   = 256
	// keptBoxes and keptBlocks are how many an outline has room for from page to page.
	keptBoxes, keptBlocks = 1 << 15, 1 << 15
)

// Block is a run of a page's text between two boundaries.
type Block struct {
	From, To int     // in the text
	Score    float32 // how sure the model is that this is content: a logit
	Content  bool
}

// Outline is a page as boxes within boxes and the blocks of text in them. One goroutine; Reset makes it ready for
// the next page with the memory it has.
type Outline struct {
	boxes  []box
	open   []int32    // boxes that are open, the page's own first
	opened [kinds]int // of each kind
	extra  int        // elements that were opened beyond the bounds
	blocks []block
	from   int // where the text begins that is in no block yet
	link   int // where the open link began or was counted up to; -1: none
	linked int // bytes of links in the text that is in no block yet
	links  int // links that began there
	facts  facts
	summed bool // boxes know what is in the boxes in them

	// Scratch of measure.
	features []float32
	groups   []group
	bySign   map[uint32]int32
	sums     []sum // before each block
	heading  int   // the first block in an h1; -1: none
	common   []float32
	scores   []float32 // of groups

	out []Block
}

// near holds, for each kind and each group of words, the depth of the innermost box that has it, 0 for none.
type near [int(kinds) + maxGroups]uint8

const maxGroups = 48

type box struct {
	parent int32
	kind   Kind
	depth  uint8
	near   near
	top    [topLevels]int32 // boxes that hold it, the outermost after the page first
	names  uint32           // hash of its kind and first two words of class
	sign   uint32           // of it and the three around it

	sum sum
}

// topLevels is how many of the outermost boxes are told apart.
const topLevels = 5

// sum is what is in a box: its own text, and from survey on all that is in it.
type sum struct{ words, bytes, linked, blocks, ends int32 }

func (s *sum) plus(t *sum) {
	s.words += t.words
	s.bytes += t.bytes
	s.linked += t.linked
	s.blocks += t.blocks
	s.ends += t.ends
}

func (s *sum) add(b *block) {
	s.words += b.words
	s.bytes += b.to - b.from
	s.linked += b.linked
	s.blocks++
	s.ends += b.ends
}

type block struct {
	from, to                          int32
	box                               int32
	linked, links                     int32 // bytes, links
	words, ends, commas, digits, caps int32
	last                              byte
	lines                             int32 // that stand alike
	group                             int32
	bar, copyright, money             bool
}

// Reset makes the outline that of a page without text.
func (o *Outline) Reset() {
	if cap(o.boxes) > keptBoxes || cap(o.blocks) > keptBlocks {
		*o = Outline{}
	}
	o.opened = [kinds]int{}
	o.boxes, o.open, o.blocks = o.boxes[:0], o.open[:0], o.blocks[:0]
	o.extra, o.from, o.link, o.linked, o.links, o.facts, o.summed = 0, 0, -1, 0, 0, facts{}, false
	o.boxes = append(o.boxes, box{parent: -1})
	o.open = append(o.open, 0)
}

// Start opens a box. text is the page's text so far; class, id and role are attributes as they are written, nil
// where there are none.
func (o *Outline) Start(k Kind, text, class, id, role []byte) {
	o.Cut(text)
	for o.extra == 0 && len(o.open) > 1 && endsBy(o.boxes[o.open[len(o.open)-1]].kind, k) {
		o.close(len(o.open) - 1)
	}
	if len(o.open) == maxOpen || len(o.boxes) == maxBoxes {
		o.extra++
		return
	}
	at, next := o.open[len(o.open)-1], len(o.boxes)
	if next == cap(o.boxes) {
		o.boxes = append(o.boxes, box{})
	}
	o.boxes = o.boxes[:next+1]
	parent, b := &o.boxes[at], &o.boxes[next]
	b.parent, b.kind, b.depth, b.near, b.top, b.sum = at, k, uint8(min(int(parent.depth)+1, 255)), parent.near, parent.top, sum{}
	b.near[k] = b.depth
	n, mark := 0, uint32(k)*0x9e3779b1
	note := func(h uint32) {
		if n < 2 {
			mark = bits.RotateLeft32(mark, 7) ^ h
		}
		n++
		if g := words.group(h); g >= 0 {
			b.near[int(kinds)+g] = b.depth
		}
	}
	eachWord(class, note)
	b.names, b.sign = mark, mark
	n = 2
	eachWord(id, note)
	eachWord(role, note)
	for i, up := 0, at; i < 5 && up > 0; i, up = i+1, o.boxes[up].parent {
		b.sign = bits.RotateLeft32(b.sign, 5)*0x9e3779b1 ^ o.boxes[up].names
	}
	if d := int(b.depth) - 1; d < topLevels {
		b.top[d] = int32(next)
	}
	o.open = append(o.open, int32(next))
	o.opened[k]++
}

// close closes the boxes from a place in the stack on.
func (o *Outline) close(from int) {
	for _, i := range o.open[from:] {
		o.opened[o.boxes[i].kind]--
	}
	o.open = o.open[:from]
}

// End closes the innermost box of a kind and what is open in it. A table's cells are closed by nothing that began
// outside of them.
func (o *Outline) End(k Kind, text []byte) {
	o.Cut(text)
	if o.extra > 0 {
		o.extra--
		return
	}
	heading := k >= H1 && k <= H6
	if o.opened[k] == 0 && !heading {
		return
	}
	for i := len(o.open) - 1; i > 0; i-- {
		switch have := o.boxes[o.open[i]].kind; {
		case have == k, heading && have >= H1 && have <= H6:
			o.close(i)
			return
		case have == Table && k != Table, (have == TD || have == TH) && k != TR && k != Table:
			return
		}
	}
}

// IsOpen says that a box of a kind is open, or may be beyond the bounds.
func (o *Outline) IsOpen(k Kind) bool { return o.opened[k] > 0 || o.extra > 0 }

// StartLink and EndLink stand around the text of a link; links do not nest.
func (o *Outline) StartLink(text []byte) { o.link, o.links = len(text), o.links+1 }

// EndLink ends what StartLink began, if anything did.
func (o *Outline) EndLink(text []byte) {
	if o.link >= 0 {
		o.linked += len(text) - max(o.link, o.from)
		o.link = -1
	}
}

// Cut ends a block: what comes next stands on a line of its own, or in a cell.
func (o *Outline) Cut(text []byte) {
	if len(text) <= o.from {
		return
	}
	if o.link >= 0 {
		o.linked += len(text) - max(o.link, o.from)
		o.link = len(text)
	}
	b := block{from: int32(o.from), to: int32(len(text)), box: o.open[len(o.open)-1], linked: int32(o.linked), links: int32(o.links), lines: 1}
	if b.read(text[o.from:]); b.words > 0 {
		o.boxes[b.box].sum.add(&b)
		if n := len(o.blocks); n > 0 && (n == maxBlocks || o.boxes[o.blocks[n-1].box].sign == o.boxes[b.box].sign) {
			o.blocks[n-1].join(&b)
		} else {
			o.blocks = append(o.blocks, b)
		}
	}
	o.from, o.linked, o.links = len(text), 0, 0
}

// join adds the line that comes next.
func (b *block) join(c *block) {
	b.to = c.to
	b.linked += c.linked
	b.links += c.links
	b.words += c.words
	b.ends += c.ends
	b.commas += c.commas
	b.digits += c.digits
	b.caps += c.caps
	b.lines += c.lines
	b.last = c.last
	b.bar, b.copyright, b.money = b.bar || c.bar, b.copyright || c.copyright, b.money || c.money
}

// What a byte counts for, in fields of ten bits, so that a run of 1,023 bytes is counted with an addition each.
const (
	countWord = 1 << (10 * iota)
	countEnd
	countComma
	countDigit
	countCapital
	countMark // bytes of |, $, ©, €, £
)

const countRun = 1<<10 - 1

var counted = func() (t [256]uint64) {
	for _, c := range " \n" {
		t[c] = countWord
	}
	for c := 0xe3; c <= 0xed; c++ { // Han, Kana, Hangul: no spaces between words
		t[c] = countWord
	}
	for _, c := range ".!?" {
		t[c] = countEnd
	}
	t[','] = countComma
	for c := '0'; c <= '9'; c++ {
		t[c] = countDigit
	}
	for c := 'A'; c <= 'Z'; c++ {
		t[c] = countCapital
	}
	for _, c := range [...]byte{'|', '$', 0xc2, 0xe2} { // the last two begin ©, £ and €
		t[c] = countMark
	}
	return t
}()

// read counts what is in a block's text.
func (b *block) read(text []byte) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return
	}
	b.words, b.last = 1, text[len(text)-1]
	marks := false
	for rest := text; len(rest) > 0; {
		part := rest[:min(len(rest), countRun)]
		rest = rest[len(part):]
		var n, m uint64
		for len(part) >= 8 {
			x := binary.LittleEndian.Uint64(part)
			n += counted[byte(x)] + counted[byte(x>>8)] + counted[byte(x>>16)] + counted[byte(x>>24)]
			m += counted[byte(x>>32)] + counted[byte(x>>40)] + counted[byte(x>>48)] + counted[byte(x>>56)]
			part = part[8:]
		}
		for _, c := range part {
			n += counted[c]
		}
		n += m
		b.words += int32(n & countRun)
		b.ends += int32(n >> 10 & countRun)
		b.commas += int32(n >> 20 & countRun)
		b.digits += int32(n >> 30 & countRun)
		b.caps += int32(n >> 40 & countRun)
		marks = marks || n >= countMark
	}
	b.copyright = bytes.HasPrefix(text, []byte("Copyright"))
	if marks && len(text) < 400 {
		b.bar = bytes.IndexByte(text, '|') >= 0
		b.copyright = b.copyright || bytes.Contains(text, []byte("©"))
		b.money = bytes.IndexByte(text, '$') >= 0 || bytes.Contains(text, []byte("€")) || bytes.Contains(text, []byte("£"))
	}
}
