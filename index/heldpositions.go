// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// A held word that is used again may have its positions beside its weights. Then a phrase is found, and the second
// phase of ranking sees how close words are, without a list: else each document that they look at has a block of 128
// decoded, in each form of each word.

// heldPositions has where a held word occurs in each of its documents. It never changes.
//
//	document  = 2 × bytes that follow | fields
//	          = 2 × bytes that follow + 1 | positions in the body, if it has no other field
//	fields    = mask of fields, 1 byte | field, ascending, for each
//	field     = bytes of positions, unless it is the last | positions
//	positions = the first one, then gaps
//
// All but the mask are uvarints. Example: a word at 3 and 5 in the body is 05 03 02.
type heldPositions struct {
	docs   int
	starts []uint32 // of each foundDocs documents, in bytes
	bytes  []byte
}

// foundDocs is the number of documents that have a start: those before one of them are passed one by one.
const foundDocs = 8

const (
	// heldFoundUses is the number of uses from which a held word gets its positions: one more than it is held for.
	heldFoundUses = 3
	// heldFoundLargest is the part of all bytes that the positions of a word may take. Few words of a text are so
	// frequent that theirs take more, and those would leave no room for the others: of 950 words in turn and 256 MiB
	// 709 have positions, 462 with twice the part, and 249 with four times. Positions take no room that words
	// need, which save more time for fewer bytes: they give way to each word. At 10^6 documents and 1,200 words in
	// turn, half of which have room, positions in the place of words made two words that must occur slower by a
	// seventh, two alternatives by a third.
	heldFoundLargest = 256
	// heldFoundBytes is about what the positions take of a document.
	heldFoundBytes = 6
)

func (f *heldPositions) size() int64 { return int64(4*cap(f.starts) + cap(f.bytes)) }

// located reports whether the word has its positions.
func (h *heldWord) located() bool { return h.found != nil && h.found.docs == h.len() }

// add adds the positions in the document that a word stands at. scratch is memory.
func (f *heldPositions) add(it wordIter, scratch *[2][]byte) {
	if f.docs%foundDocs == 0 {
		f.starts = append(f.starts, uint32(len(f.bytes)))
	}
	f.docs++
	mask := it.has()
	all := scratch[0][:0]
	if mask != 1<<fieldBody {
		all = append(all, mask)
	}
	for left := mask; left != 0; left &= left - 1 {
		one := scratch[1][:0]
		before := uint32(0)
		for _, at := range it.occurrences(bits.TrailingZeros8(left)) {
			one = binary.AppendUvarint(one, uint64(at-before))
			before = at
		}
		if left&(left-1) != 0 {
			all = binary.AppendUvarint(all, uint64(len(one)))
		}
		all = append(all, one...)
		scratch[1] = one
	}
	scratch[0] = all
	head := uint64(len(all)) << 1
	if mask == 1<<fieldBody {
		head++
	}
	f.bytes = append(binary.AppendUvarint(f.bytes, head), all...)
}

// of returns the fields of a word's document by its number, and what follows the mask.
func (f *heldPositions) of(number uint32) (mask uint8, b []byte) {
	b = f.bytes[f.starts[number/foundDocs]:]
	for skip := number % foundDocs; ; skip-- {
		head, n := uint64(b[0]), 1
		if head >= 0x80 {
			head, n = binary.Uvarint(b)
		}
		behind := n + int(head>>1)
		switch {
		case skip > 0:
			b = b[behind:]
		case head&1 != 0:
			return 1 << fieldBody, b[n:behind]
		default:
			return b[n], b[n+1 : behind]
		}
	}
}

// foundIn returns the positions in a field of a document, of which mask and b are what of returned.
func foundIn(mask uint8, b []byte, field int) []byte {
	if mask>>field&1 == 0 {
		return nil
	}
	for ; mask&(mask-1) != 0; mask &= mask - 1 {
		size, n := binary.Uvarint(b)
		b = b[n:]
		if bits.TrailingZeros8(mask) == field {
			return b[:size]
		}
		b = b[size:]
	}
	return b
}

// appendFound appends the positions that b has.
func appendFound(dst []uint32, b []byte) []uint32 {
	for at := uint32(0); len(b) > 0; {
		var gap uint32
		gap, b = nextGap(b)
		at += gap
		dst = append(dst, at)
	}
	return dst
}

// nextGap reads a gap that b begins with.
func nextGap(b []byte) (gap uint32, rest []byte) {
	gap = uint32(b[0])
	if gap < 0x80 {
		return gap, b[1:]
	}
	long, n := binary.Uvarint(b)
	return uint32(long), b[n:]
}

// find returns a held word with its positions, nil if they are not held. Then it reports whether the caller is to read
// them, and nobody else does; the caller calls found in the end.
func (h *heldWords) find(key string) (w *heldWord, read bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	u := h.words[key]
	switch {
	case u == nil || u.word == nil:
		return nil, false
	case u.word.located():
		return u.word, false
	}
	if u.word.found != nil || u.uses < heldFoundUses || h.begun[key] || !h.fit(int64(u.word.len())) {
		return nil, false
	}
	h.begin(key)
	return u.word, true
}

// fit reports whether there is free room for the positions in so many documents.
func (h *heldWords) fit(docs int64) bool {
	size := heldFoundBytes * docs
	return size <= h.most()/heldFoundLargest && h.size+size <= h.most()
}

// strip drops the positions of a word, and reports whether there were any. The word has none until uses are halved, or
// it would have them again before the room is taken.
func (h *heldWords) strip() bool {
	for key := range h.located {
		u := h.words[key]
		bare := u.as(u.word.with(&heldPositions{}), 0)
		bare.gone = true
		h.words[key] = bare
		h.size -= u.found
		h.foundSize -= u.found
		delete(h.located, key)
		return true
	}
	return false
}

// with returns the word with other positions, or none.
func (h *heldWord) with(found *heldPositions) *heldWord {
	return &heldWord{heldDocs: h.heldDocs, codes: h.codes, most: h.most, tfs: h.tfs, found: found}
}

// mayFind reports whether a word in about so many documents has its positions, or might get them.
func (h *heldWords) mayFind(key string, docs int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if u := h.words[key]; u != nil {
		return u.word != nil && (u.word.located() || u.word.found == nil && h.fit(docs))
	}
	return h.fit(docs)
}

// found puts a word with its positions in the place of the one without, if there is room for them. If there is none, or
// w is nil, it is tried again after as many uses as the first time.
func (h *heldWords) found(key string, w *heldWord) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.begun, key)
	u := h.words[key]
	if u == nil || u.word == nil {
		return
	}
	switch {
	case w != nil && !w.located(): // they are too large
		h.words[key] = u.as(w, 0)
	case w == nil || h.size+w.found.size() > h.most():
		u.uses = 0
	default:
		size := w.found.size()
		h.words[key] = u.as(w, size)
		h.size += size
		h.foundSize += size
		if h.located == nil {
			h.located = map[string]bool{}
		}
		h.located[key] = true
	}
}

// located returns the held word of a node with its positions, which it reads if they are to be held; nil if they are
// not.
func (x *execution) located(p *part, n *node) *heldWord {
	if p.held == nil || !n.isHeldKind() {
		return nil
	}
	key := n.heldKey()
	w, read := p.held.find(key)
	if !read {
		return w
	}
	most := p.held.most() / heldFoundLargest
	if x.holdLater(p, func(x *execution, p *part) { p.held.found(key, x.locate(p, n, w, most)) },
		func() { p.held.found(key, nil) }) {
		return nil
	}
	w = x.locate(p, n, w, most)
	p.held.found(key, w)
	if w == nil || !w.located() {
		return nil
	}
	return w
}

// locate reads the positions of a held word, which keeps none if they take more than some bytes; nil if that takes too
// much of the search's time.
func (x *execution) locate(p *part, n *node, of *heldWord, most int64) *heldWord {
	defer x.making()()
	w := of.with(&heldPositions{})
	it, scratch := x.openWord(p, n), [2][]byte{}
	f := &heldPositions{
		starts: make([]uint32, 0, (w.len()+foundDocs-1)/foundDocs), bytes: make([]byte, 0, heldFoundBytes/2*w.len()),
	}
	for number, n := uint32(0), 0; n < w.windows(); n++ {
		for window := w.window(n); number < window.to; number++ {
			doc := uint32(n)*sumDocs + window.place(number)
			if it == nil || it.seek(doc) != doc {
				return nil
			}
			if f.add(it, &scratch); f.size() > most {
				return w
			}
		}
		if x.work.over {
			return nil
		}
	}
	f.bytes = slices.Clone(f.bytes)
	w.found = f
	return w
}

// locator finds where a word occurs in documents, which come in rising order. It is a wordIter in part.
type locator interface {
	seek(doc uint32) uint32
	matches() bool
	has() uint8
	occurrences(field int) []uint32
}

// locator finds a word in a part, from memory if its positions are held; nil if the part lacks it.
func (x *execution) locator(p *part, n *node) locator {
	if held := x.located(p, n); held != nil {
		return &heldLocator{word: held}
	}
	if it := x.openWord(p, n); it != nil {
		return it
	}
	return nil
}

// openWord opens a word of any forms in a part; nil if the part lacks it.
func (x *execution) openWord(p *part, n *node) wordIter {
	if n.kind == nodeAny {
		return x.forms(p, n, 1)
	}
	if it := x.word(p, n, 1); it != nil {
		return it
	}
	return nil
}

// heldLocator walks a held word that has its positions.
type heldLocator struct {
	word   *heldWord
	number uint32 // of the document in the word's
	read   bool   // mask and found are its
	mask   uint8
	found  []byte
	pos    []uint32 // scratch

	next []placedDoc // documents that were read ahead and are not passed
	sum  byte
}

// placedDoc is a document of a held word.
type placedDoc struct{ doc, number uint32 }

// ahead reads ahead what is needed of documents that are looked at, which ascend. Each is somewhere else in memory:
// while nothing waits for what they are, the processor reads many of them together.
func (l *heldLocator) ahead(docs []uint32) {
	l.next = make([]placedDoc, 0, len(docs))
	for _, doc := range docs {
		w := l.word.window(int(doc / sumDocs))
		if number, at, ok := w.seek(doc % sumDocs); ok && at == doc%sumDocs {
			l.next = append(l.next, placedDoc{doc, number})
		}
	}
	f := l.word.found
	for _, d := range l.next {
		l.sum ^= f.bytes[f.starts[d.number/foundDocs]]
	}
}

func (l *heldLocator) seek(doc uint32) uint32 {
	for len(l.next) > 0 && l.next[0].doc < doc {
		l.next = l.next[1:]
	}
	if len(l.next) > 0 && l.next[0].doc == doc {
		l.read = l.read && l.number == l.next[0].number
		l.number = l.next[0].number
		return doc
	}
	place := doc % sumDocs
	for n := int(doc / sumDocs); n < l.word.windows(); n++ {
		w := l.word.window(n)
		if number, at, ok := w.seek(place); ok {
			l.read = l.read && l.number == number
			l.number = number
			return uint32(n)*sumDocs + at
		}
		place = 0
	}
	return end
}

func (*heldLocator) matches() bool { return true }

func (l *heldLocator) has() uint8 {
	if !l.read {
		l.mask, l.found = l.word.found.of(l.number)
		l.read = true
	}
	return l.mask
}

func (l *heldLocator) occurrences(field int) []uint32 {
	l.pos = appendFound(l.pos[:0], foundIn(l.has(), l.found, field))
	return l.pos
}
