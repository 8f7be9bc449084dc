// SPDX-License-Identifier: Apache-2.0

// Outline, the boxes and blocks of one page. (parse/outline.go gives it to training programs.)

package content

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/zeebo/xxh3"
)

// Bounds of an outline. Elements beyond them make no boxes; text beyond them is joined to the last block.
const (
	maxBoxes  = 1 << 16
	maxBlocks = 1 << 16
	maxLines  = 1 << 17
	maxOpen   = 256
	// keptBoxes and keptBlocks are the capacity that an outline keeps from page to page.
	keptBoxes, keptBlocks = 1 << 15, 1 << 15
)

// Block is a run of a page's text between two boundaries.
type Block struct {
	From, To int     // byte offsets in the text: the first byte, and one after the last
	Score    float32 // the model's logit that this is content: positive means more likely than not
	Content  bool    // part of the main content
}

// Outline is a page as nested boxes and the blocks of text in them. It belongs to one goroutine. Call Reset before
// the first page and before each further one; it keeps the memory.
//
// Methods with a parameter text need the page's text so far. It must only grow between calls; the Outline does not keep
// it.
type Outline struct {
	boxes  []box
	open   []int32    // open boxes, the page's own first
	opened [kinds]int // open boxes of each kind
	extra  int        // elements that were opened beyond the bounds
	blocks []block
	lines  []line
	from   int // offset of the text that is in no block yet
	link   int // offset at which the open link began or was counted up to; -1 for none
	linked int // bytes of links in the text that is in no block yet
	links  int // links that began there
	facts  facts
	summed bool // sums of boxes include the boxes in them

	// Scratch of measure.
	features []float32
	groups   []group
	bySign   map[uint32]int32
	sums     []sum     // of all blocks before each block
	texts    []int32   // for each value of a hash, the last line that begins a chain, plus one; 0 for none
	page     []float32 // features of the page
	heading  int       // the first block in an h1; -1 for none
	lists    []list
	main     int32 // the list with most words; 0 for none
	common   []float32
	scores   []float32 // of groups
	answers  []uint64  // scratch of model.scores
	order    []int32   // groups by chance

	out []Block
}

// near has, for each kind and each group of words, the depth of the innermost box with it, 0 for none.
type near [int(kinds) + maxGroups]uint8

const maxGroups = 60

type box struct {
	parent int32
	kind   Kind
	depth  uint8
	near   near
	top    [topLevels]int32 // boxes around it: the outermost below the page first
	names  uint32           // hash of its kind and the first two words of its class
	sign   uint32           // hash of names of this box and the five around it; boxes of one sign are similar

	list  int32 // that it is in
	lists int32 // of boxes in it: the last one

	sum sum
}

// topLevels is the number of outermost boxes that are distinguished.
const topLevels = 5

// sum counts the content of a box: its own text, and after survey everything inside it.
type sum struct{ words, bytes, linked, blocks, ends, prose, money int32 }

func (s *sum) plus(t *sum) {
	s.words += t.words
	s.bytes += t.bytes
	s.linked += t.linked
	s.blocks += t.blocks
	s.ends += t.ends
	s.prose += t.prose
	s.money += t.money
}

func (s *sum) add(b *block) {
	s.words += b.words
	s.bytes += b.to - b.from
	s.linked += b.linked
	s.blocks++
	s.ends += b.ends
	s.money += int32(bit(b.money))
}

type block struct {
	from, to                          int32
	box                               int32
	linked, links                     int32 // bytes, links
	words, ends, commas, digits, caps int32
	last                              byte
	lines                             int32 // that were joined, itself included
	group                             int32
	bar, copyright, money             bool
	// doubles are words of lines with a text that others have, again those with a text that earlier ones have, echoes
	// those of the latter that are long.
	doubles, again, echoes int32
}

// line is a block before it is joined.
type line struct {
	text         uint64 // hash
	block, words int32
	twin         int32 // the first line of this text, itself or an earlier one
	copies       int32 // of a first line: lines of this text
	next         int32 // of a first line: the next one in its chain plus one, 0 for none
}

// echoWords is the length, in words, from which a line that occurs again is a quotation rather than a label.
const echoWords = 6

// Reset makes the outline that of a page without text, and keeps its memory unless that is large.
func (o *Outline) Reset() {
	if cap(o.boxes) > keptBoxes || cap(o.blocks) > keptBlocks || cap(o.lines) > 2*keptBlocks {
		*o = Outline{}
	}
	o.opened = [kinds]int{}
	o.boxes, o.open, o.blocks = o.boxes[:0], o.open[:0], o.blocks[:0]
	o.lines = o.lines[:0]
	o.extra, o.from, o.link, o.linked, o.links, o.facts, o.summed = 0, 0, -1, 0, 0, facts{}, false
	o.boxes = append(o.boxes, box{parent: -1})
	o.open = append(o.open, 0)
}

// Attributes are what an outline reads of an element's attributes, as written; nil when absent.
type Attributes struct {
	Class, ID, Role []byte
	Item            []byte // itemprop
	Test            []byte // data-testid: often the only readable name where style sheets are generated
	Style           []byte
	AriaHidden      []byte
}

// hides reports whether the element is invisible, at least at first.
func (a *Attributes) hides() bool {
	if len(a.AriaHidden) > 0 && string(a.AriaHidden) == "true" {
		return true
	}
	if len(a.Style) == 0 {
		return false
	}
	style := a.Style[:min(len(a.Style), maxNames)]
	for _, property := range [...]string{"display", "visibility"} {
		i := bytes.Index(style, []byte(property))
		if i < 0 {
			continue
		}
		value := bytes.TrimLeft(style[i+len(property):], ": ")
		if bytes.HasPrefix(value, []byte("none")) || bytes.HasPrefix(value, []byte("hidden")) {
			return true
		}
	}
	return false
}

// Start opens a box and ends the current block. text is the page's text so far.
func (o *Outline) Start(k Kind, text []byte, a *Attributes) {
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
	b.parent, b.kind, b.depth = at, k, uint8(min(int(parent.depth)+1, 255))
	b.near, b.top, b.sum = parent.near, parent.top, sum{}
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
	eachWord(a.Class, note)
	b.names, b.sign = mark, mark
	n = 2
	eachWord(a.ID, note)
	eachWord(a.Role, note)
	eachWord(a.Item, note)
	eachWord(a.Test, note)
	if a.hides() {
		b.near[nearHidden] = b.depth
	}
	for i, up := 0, at; i < 5 && up > 0; i, up = i+1, o.boxes[up].parent {
		b.sign = bits.RotateLeft32(b.sign, 5)*0x9e3779b1 ^ o.boxes[up].names
	}
	if d := int(b.depth) - 1; d < topLevels {
		b.top[d] = int32(next)
	}
	o.open = append(o.open, int32(next))
	o.opened[k]++
}

// close closes the boxes from an index in the stack on.
func (o *Outline) close(from int) {
	for _, i := range o.open[from:] {
		o.opened[o.boxes[i].kind]--
	}
	o.open = o.open[:from]
}

// End closes the innermost box of a kind, and all boxes that are open inside it. It does nothing if there is none.
// Nothing that began outside a table's cell closes the cell, except a row or table.
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

// IsOpen reports whether a box of a kind is open, or may be open beyond the bounds.
func (o *Outline) IsOpen(k Kind) bool { return o.opened[k] > 0 || o.extra > 0 }

// StartLink begins a link at the end of text. Links do not nest: EndLink must end it before the next one.
func (o *Outline) StartLink(text []byte) { o.link, o.links = len(text), o.links+1 }

// EndLink ends the open link at the end of text. Without an open link it does nothing.
func (o *Outline) EndLink(text []byte) {
	if o.link >= 0 {
		o.linked += len(text) - max(o.link, o.from)
		o.link = -1
	}
}

// Cut ends the current block at the end of text: the text that follows is on a line of its own, or in another cell.
func (o *Outline) Cut(text []byte) {
	if len(text) <= o.from {
		return
	}
	if o.link >= 0 {
		o.linked += len(text) - max(o.link, o.from)
		o.link = len(text)
	}
	b := block{
		from: int32(o.from), to: int32(len(text)), box: o.open[len(o.open)-1],
		linked: int32(o.linked), links: int32(o.links), lines: 1,
	}
	if b.read(text[o.from:]); b.words > 0 {
		o.boxes[b.box].sum.add(&b)
		if o.boxes[b.box].near[P] > 0 {
			o.boxes[b.box].sum.prose += b.words
		}
		n := len(o.blocks)
		if n > 0 && (n == maxBlocks || o.boxes[o.blocks[n-1].box].sign == o.boxes[b.box].sign) {
			o.blocks[n-1].join(&b)
		} else {
			o.blocks = append(o.blocks, b)
		}
		if len(o.lines) < maxLines {
			o.lines = append(o.lines, line{
				text: xxh3.Hash(bytes.TrimSpace(text[o.from:])), block: int32(len(o.blocks) - 1), words: b.words,
			})
		}
	}
	o.from, o.linked, o.links = len(text), 0, 0
}

// join adds the line that follows.
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

// What a byte counts for, in fields of ten bits: one addition per byte counts everything in a run of up to 1,023 bytes.
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

// read counts words, marks and the rest in a block's text.
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
		b.money = bytes.IndexByte(text, '$') >= 0 ||
			bytes.Contains(text, []byte("€")) || bytes.Contains(text, []byte("£"))
	}
}
