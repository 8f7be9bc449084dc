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
//	document  = mask of fields | field, ascending, for each
//	field     = bytes of positions, unless it is the last | positions
//	positions = the first one, then gaps
//
// All but the mask are uvarints.
type heldPositions struct {
	ends  []uint32 // of each document, in bytes
	bytes []byte
}

const (
	// heldFoundUses is the number of uses from which a held word gets its positions: one more than it is held for.
	heldFoundUses = 3
	// heldFoundLargest is the part of all bytes that the positions of a word may take. Few words of a text are so
	// frequent that theirs take more, and those would leave no room for the others.
	heldFoundLargest = 64
	// heldFoundFree is the part of all bytes that is to stay free of positions: they take no room that words need,
	// which save more time for fewer bytes. At 10^6 documents and 1,200 words in turn, half of which have room,
	// positions in the place of words made two words that must occur slower by a seventh, two alternatives by a third.
	heldFoundFree = 2
	// heldFoundBytes is about what the positions take of a document.
	heldFoundBytes = 8
)

func (f *heldPositions) size() int64 { return int64(4*cap(f.ends) + cap(f.bytes)) }

// located reports whether the word has its positions.
func (h *heldWord) located() bool { return h.found != nil && len(h.found.ends) == len(h.places) }

// add adds the positions in the document that a word stands at. scratch is memory.
func (f *heldPositions) add(it wordIter, scratch []byte) []byte {
	mask := it.has()
	f.bytes = append(f.bytes, mask)
	for left := mask; left != 0; left &= left - 1 {
		scratch = scratch[:0]
		before := uint32(0)
		for _, at := range it.occurrences(bits.TrailingZeros8(left)) {
			scratch = binary.AppendUvarint(scratch, uint64(at-before))
			before = at
		}
		if left&(left-1) != 0 {
			f.bytes = binary.AppendUvarint(f.bytes, uint64(len(scratch)))
		}
		f.bytes = append(f.bytes, scratch...)
	}
	f.ends = append(f.ends, uint32(len(f.bytes)))
	return scratch
}

// of returns the fields of a word's i-th document, and what follows the mask.
func (f *heldPositions) of(i uint32) (mask uint8, b []byte) {
	from := uint32(0)
	if i > 0 {
		from = f.ends[i-1]
	}
	b = f.bytes[from:f.ends[i]]
	return b[0], b[1:]
}

// appendIn appends the positions in a field of a word's i-th document.
func (f *heldPositions) appendIn(dst []uint32, i uint32, field int) []uint32 {
	mask, b := f.of(i)
	if mask>>field&1 == 0 {
		return dst
	}
	for ; mask&(mask-1) != 0; mask &= mask - 1 {
		size, n := binary.Uvarint(b)
		b = b[n:]
		if bits.TrailingZeros8(mask) == field {
			b = b[:size]
			break
		}
		b = b[size:]
	}
	for at := uint32(0); len(b) > 0; {
		gap := uint32(b[0])
		if b = b[1:]; gap >= 0x80 {
			gap &= 0x7f
			for shift, more := 7, true; more; shift += 7 {
				gap |= uint32(b[0]&0x7f) << shift
				more = b[0] >= 0x80
				b = b[1:]
			}
		}
		at += gap
		dst = append(dst, at)
	}
	return dst
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
	if u.word.found != nil || u.uses < heldFoundUses || h.begun[key] || !h.fit(int64(len(u.word.places))) {
		return nil, false
	}
	h.begin(key)
	return u.word, true
}

// fit reports whether there is room for the positions in so many documents.
func (h *heldWords) fit(docs int64) bool {
	size := heldFoundBytes * docs
	return size <= h.most()/heldFoundLargest && h.size+size <= h.most()/heldFoundFree
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
	if w == nil || h.size+w.found.size() > h.most()/heldFoundFree && w.located() {
		u.uses = 0
		return
	}
	h.words[key] = &heldUse{word: w, uses: u.uses, size: u.size + w.found.size()}
	h.size += w.found.size()
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
	w = x.locate(p, n, w, p.held.most()/heldFoundLargest)
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
	w := &heldWord{
		starts: of.starts, places: of.places, codes: of.codes, most: of.most, tfs: of.tfs, found: &heldPositions{},
	}
	it, ends, scratch := x.openWord(p, n), make([]uint32, 0, len(w.places)), []byte(nil)
	f := &heldPositions{ends: ends, bytes: make([]byte, 0, heldFoundBytes/2*len(w.places))}
	for window := range len(w.starts) - 1 {
		from, to := w.in(window)
		for _, place := range w.places[from:to] {
			doc := uint32(window)*sumDocs + uint32(place)
			if it == nil || it.seek(doc) != doc {
				return nil
			}
			if scratch = f.add(it, scratch); f.size() > most {
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
	word *heldWord
	i    uint32   // of the document in the word's
	pos  []uint32 // scratch
}

func (l *heldLocator) seek(doc uint32) uint32 {
	for window := int(doc / sumDocs); window < len(l.word.starts)-1; window++ {
		first := uint32(window) * sumDocs
		from, to := l.word.in(window)
		from = max(from, min(l.i, to))
		n, _ := slices.BinarySearch(l.word.places[from:to], uint16(max(doc, first)-first))
		if l.i = from + uint32(n); l.i < to {
			return first + uint32(l.word.places[l.i])
		}
	}
	return end
}

func (*heldLocator) matches() bool { return true }

func (l *heldLocator) has() uint8 {
	mask, _ := l.word.found.of(l.i)
	return mask
}

func (l *heldLocator) occurrences(field int) []uint32 {
	l.pos = l.word.found.appendIn(l.pos[:0], l.i, field)
	return l.pos
}

// heldPhrase leaves the documents that have held words in a row.
type heldPhrase struct {
	words []*heldWord
	at    []int      // place of each in the phrase
	i     []uint32   // document of each in the words'
	pos   [][]uint32 // memory
	rest  [][]uint32 // of pos
	read  int        // positions that are not paid for yet
}

func newHeldPhrase(words []heldPart, at []int) *heldPhrase {
	p := &heldPhrase{at: at, i: make([]uint32, len(words)), pos: make([][]uint32, len(words))}
	p.rest = make([][]uint32, len(words))
	for _, w := range words {
		p.words = append(p.words, w.heldWord)
	}
	return p
}

// keep leaves the bits of those documents of a window that have the phrase. All of them have all words. When the search
// is to end, no others stay.
func (p *heldPhrase) keep(window int, s *sums, work *budget) {
	for k, w := range p.words {
		p.i[k], _ = w.in(window)
	}
	for at, some := range &s.bits {
		kept := uint64(0)
		for ; some != 0; some &= some - 1 {
			if !work.spend(1 + p.read/positionsUnit) {
				s.bits[at] = kept
				clear(s.bits[at+1:])
				return
			}
			p.read = 0
			place, fields := uint16(at*64+bits.TrailingZeros64(some)), uint8(1<<fieldCount-1)
			for k, w := range p.words {
				_, to := w.in(window)
				p.i[k] = gallop(w.places[:to], p.i[k], place)
				mask, _ := w.found.of(p.i[k])
				fields &= mask
			}
			for ; fields != 0; fields &= fields - 1 {
				if p.in(bits.TrailingZeros8(fields)) {
					kept |= some & -some
					break
				}
			}
		}
		s.bits[at] = kept
	}
}

// in reports whether a field of the current document has the phrase.
func (p *heldPhrase) in(field int) bool {
	for k, w := range p.words {
		p.pos[k] = w.found.appendIn(p.pos[k][:0], p.i[k], field)
		p.rest[k] = p.pos[k]
		p.read += len(p.pos[k])
	}
	return inRow(p.rest, p.at)
}

// gallop returns where a place is among ascending ones. It is there, and not before the i-th.
func gallop(places []uint16, i uint32, place uint16) uint32 {
	step := uint32(1)
	for int(i+step) < len(places) && places[i+step] <= place {
		i += step
		step *= 2
	}
	rest := places[i:min(int(i+step), len(places))]
	n, _ := slices.BinarySearch(rest, place)
	return i + uint32(n)
}

// inRow reports whether words are at their places from some position on. It shortens the lists of positions.
func inRow(pos [][]uint32, at []int) bool {
	for _, first := range pos[0] {
		found := true
		for k := 1; k < len(pos) && found; k++ {
			want, rest := int64(first)+int64(at[k]-at[0]), pos[k]
			for len(rest) > 0 && int64(rest[0]) < want {
				rest = rest[1:]
			}
			if pos[k] = rest; len(rest) == 0 {
				return false // later positions of the first word want even later ones
			}
			found = int64(rest[0]) == want
		}
		if found {
			return true
		}
	}
	return false
}
