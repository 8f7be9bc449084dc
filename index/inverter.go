// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/zeebo/xxh3"
)

// inverter holds the words of the index segment under construction. Terms and occurrences lie in one arena without
// pointers, so that a million different words cost the garbage collector nothing, and a new word costs no object of its
// own: the term's bytes, and behind them the first of its slices. A slice that is full ends with the address of the
// next one, of twice its size up to sliceMost; Lucene's ByteBlockPool does the same.
//
// The occurrences of a term are in the order in which they were added: for each a uvarint of position<<4 | field<<1,
// plus 1 if it is the first of a document; then the gap to the document before follows.
//
// With a large vocabulary all time goes into waiting for memory, so what a word touches is counted: a set of wordCache,
// an entry, and the end of a slice; only a word that the cache does not have is looked up here.
type inverter struct {
	blocks  [][]byte // of arenaBlock bytes; an address is block<<16 | offset
	used    int      // of the last block
	slots   []uint64 // hash<<32 | place in entries plus 1; 0 is free; a power of two, at most 2/3 full
	entries [][]termEntry
	count   int   // of entries
	held    int64 // bytes of what is in memory beside the arena and the table
}

// termEntry is one term.
type termEntry struct {
	languages uint64 // of its documents, a bit each
	key       uint32 // address of the term; its first slice follows
	at        uint32 // address of the next byte
	lastDoc   uint32 // plus 1; 0 for none
	left      uint16 // bytes of the slice from at, without the place of the next one's address
	level     uint8  // of the slice, from 0 to levelMost
	length    uint8  // of the term
}

const (
	arenaBlock = 1 << 16
	sliceLeast = 16
	sliceMost  = 4 << 10
	levelMost  = 8 // sliceLeast<<levelMost is sliceMost
	sliceLink  = 4 // bytes of the address of the next slice
	entryBlock = 1 << 10
	entryBytes = 24
)

// reset begins an index segment. Blocks of the arena are used again.
func (inv *inverter) reset() {
	inv.blocks = inv.blocks[:min(len(inv.blocks), 1)]
	inv.used, inv.entries, inv.count, inv.held = 0, nil, 0, 0
	inv.slots = make([]uint64, 1<<12)
}

// bytes returns the memory in use.
func (inv *inverter) bytes() int64 {
	return inv.held + int64(len(inv.blocks))*arenaBlock + int64(len(inv.slots))*8 + int64(inv.count)*entryBytes
}

// room returns the address of n new bytes, which are in one block.
func (inv *inverter) room(n int) uint32 {
	if len(inv.blocks) == 0 || inv.used+n > arenaBlock {
		if len(inv.blocks) < cap(inv.blocks) && inv.blocks[:len(inv.blocks)+1][len(inv.blocks)] != nil {
			inv.blocks = inv.blocks[:len(inv.blocks)+1]
		} else {
			inv.blocks = append(inv.blocks, make([]byte, arenaBlock))
		}
		inv.used = 0
	}
	at := uint32(len(inv.blocks)-1)<<16 | uint32(inv.used)
	inv.used += n
	return at
}

// memory returns the arena from an address to the end of its block.
func (inv *inverter) memory(at uint32) []byte { return inv.blocks[at>>16][at&(arenaBlock-1):] }

func (inv *inverter) term(t *termEntry) []byte { return inv.memory(t.key)[:t.length:t.length] }

func (inv *inverter) entry(i uint32) *termEntry { return &inv.entries[i/entryBlock][i%entryBlock] }

// find returns the place of a term of at most 255 bytes in the entries, a new one if it has none.
func (inv *inverter) find(term []byte) uint32 {
	h := xxh3.Hash(term) >> 32
	mask := uint64(len(inv.slots) - 1)
	at := h
	for ; ; at++ {
		slot := inv.slots[at&mask]
		if slot == 0 {
			break
		}
		if slot>>32 == h {
			place := uint32(slot) - 1
			if bytes.Equal(inv.term(inv.entry(place)), term) {
				return place
			}
		}
	}
	if 3*inv.count >= 2*len(inv.slots) {
		inv.grow()
		return inv.find(term)
	}
	if inv.count%entryBlock == 0 {
		inv.entries = append(inv.entries, make([]termEntry, entryBlock))
	}
	place := uint32(inv.count)
	inv.count++
	inv.slots[at&mask] = h<<32 | uint64(inv.count)
	key := inv.room(len(term) + sliceLeast)
	copy(inv.memory(key), term)
	*inv.entry(place) = termEntry{
		key: key, length: uint8(len(term)), at: key + uint32(len(term)), left: sliceLeast - sliceLink,
	}
	return place
}

// grow doubles the table. A slot has all of its hash that the table uses, so no term is read for it.
func (inv *inverter) grow() {
	old := inv.slots
	inv.slots = make([]uint64, 2*len(old))
	mask := uint64(len(inv.slots) - 1)
	for _, slot := range old {
		if slot == 0 {
			continue
		}
		at := slot >> 32
		for inv.slots[at&mask] != 0 {
			at++
		}
		inv.slots[at&mask] = slot
	}
}

// add adds an occurrence of a term.
func (inv *inverter) add(t *termEntry, doc uint32, field int, position uint32) {
	v := uint64(position)<<4 | uint64(field)<<1
	if t.lastDoc == doc+1 {
		if v < shortVarint {
			inv.writeShort(t, shortUvarint(v), shortSize(v))
			return
		}
		var buf [binary.MaxVarintLen64]byte
		inv.write(t, binary.AppendUvarint(buf[:0], v))
		return
	}
	gap := uint64(doc + 1 - t.lastDoc)
	t.lastDoc = doc + 1
	if v |= 1; v < shortVarint && gap < shortVarint {
		n := shortSize(v)
		inv.writeShort(t, shortUvarint(v)|shortUvarint(gap)<<(8*n&63), n+shortSize(gap))
		return
	}
	var buf [2 * binary.MaxVarintLen64]byte
	inv.write(t, binary.AppendUvarint(binary.AppendUvarint(buf[:0], v), gap))
}

// shortVarint bounds the numbers that take three bytes at most as uvarints.
const shortVarint = 1 << 21

// shortUvarint returns the uvarint of a number below shortVarint, little-endian. It has no branch: sizes of positions
// and gaps cannot be predicted.
func shortUvarint(v uint64) uint64 {
	more := lessThan(1<<7-1, v)
	most := lessThan(1<<14-1, v)
	return v&0x7f | more<<7 | v<<1&0x7f00 | most<<15 | v<<2&0x7f0000
}

// shortSize returns the bytes of shortUvarint.
func shortSize(v uint64) uint { return uint(1 + lessThan(1<<7-1, v) + lessThan(1<<14-1, v)) }

// lessThan returns 1 if a is less than b, else 0; both are below 1<<63.
func lessThan(a, b uint64) uint64 { return (a - b) >> 63 }

// writeShort appends the n low bytes of x, at most six. Where eight bytes do not reach beyond the slice and the place
// of the next one's address behind it, it writes them at once: whose bytes are not used are written later.
func (inv *inverter) writeShort(t *termEntry, x uint64, n uint) {
	if left := uint(t.left); left >= n && left >= 8-sliceLink {
		binary.LittleEndian.PutUint64(inv.memory(t.at), x)
		t.at += uint32(n)
		t.left -= uint16(n)
		return
	}
	var buf [8]byte
	binary.LittleEndian.PutUint64(buf[:], x)
	inv.write(t, buf[:n])
}

// write appends bytes to the slices of a term.
func (inv *inverter) write(t *termEntry, b []byte) {
	for {
		n := copy(inv.memory(t.at)[:t.left], b)
		t.at += uint32(n)
		t.left -= uint16(n)
		if b = b[n:]; len(b) == 0 {
			return
		}
		t.level = min(t.level+1, levelMost)
		size := sliceLeast << t.level
		next := inv.room(size)
		binary.LittleEndian.PutUint32(inv.memory(t.at), next)
		t.at, t.left = next, uint16(size-sliceLink)
	}
}

// occurrences returns all bytes of a term, in the memory of dst if they are in several slices.
func (inv *inverter) occurrences(t *termEntry, dst []byte) []byte {
	at := t.key + uint32(t.length)
	if t.level == 0 {
		return inv.memory(at)[:t.at-at]
	}
	for level := 0; ; level++ {
		n := uint32(sliceLeast<<min(level, levelMost) - sliceLink)
		if at <= t.at && t.at <= at+n && level >= int(t.level) {
			return append(dst, inv.memory(at)[:t.at-at]...)
		}
		b := inv.memory(at)
		if len(dst)+int(n) > cap(dst) { // append grows by a quarter and copies three times as much
			dst = slices.Grow(dst, len(dst)+int(n))
		}
		dst = append(dst, b[:n]...)
		at = binary.LittleEndian.Uint32(b[n:])
	}
}

// sorted returns the places of all entries in the order of their terms.
func (inv *inverter) sorted() []uint32 {
	type key struct {
		word  uint64 // the term's first eight bytes, big-endian
		place uint32
	}
	keys := make([]key, inv.count)
	for i := range keys {
		term := inv.term(inv.entry(uint32(i)))
		var word [8]byte
		copy(word[:], term)
		keys[i] = key{binary.BigEndian.Uint64(word[:]), uint32(i)}
	}
	slices.SortFunc(keys, func(a, b key) int {
		if a.word != b.word {
			return cmp.Compare(a.word, b.word)
		}
		return bytes.Compare(inv.term(inv.entry(a.place)), inv.term(inv.entry(b.place)))
	})
	places := make([]uint32, len(keys))
	for i, k := range keys {
		places[i] = k.place
	}
	return places
}

// occurrenceReader walks the documents of one term.
type occurrenceReader struct {
	b         []byte
	doc       uint32
	positions [fieldCount][]uint32
	freqs     [fieldCount]uint32
	numbers   []uint32 // as positions.go has them
}

func (r *occurrenceReader) reset(b []byte) { r.b, r.doc = b, ^uint32(0) }

// next reads the next document.
func (r *occurrenceReader) next() bool {
	if len(r.b) == 0 {
		return false
	}
	v, n := shortNumber(r.b)
	gap, m := shortNumber(r.b[n:])
	r.b = r.b[n+m:]
	r.doc += uint32(gap)
	if len(r.b) == 0 || r.b[0]&1 != 0 { // one occurrence
		r.freqs = [fieldCount]uint32{}
		r.freqs[v>>1&7] = 1
		r.numbers = append(r.numbers[:0], uint32(v>>4))
		return true
	}
	if r.oneField(v) {
		return true
	}
	for f := range r.positions {
		r.positions[f] = r.positions[f][:0]
	}
	for {
		f := v >> 1 & 7
		if len(r.positions[f]) < freqMax {
			r.positions[f] = append(r.positions[f], uint32(v>>4))
		}
		if len(r.b) == 0 || r.b[0]&1 != 0 {
			break
		}
		v, n = shortNumber(r.b)
		r.b = r.b[n:]
	}
	r.numbers = r.numbers[:0]
	for f, positions := range r.positions {
		r.freqs[f] = uint32(len(positions))
		last := uint32(0)
		for _, p := range positions {
			r.numbers = append(r.numbers, p-last)
			last = p
		}
	}
	return true
}

// oneField reads the rest of a document, which begins with the occurrence v, if all of it is in one field, as mostly.
// Else it reads nothing.
func (r *occurrenceReader) oneField(v uint64) bool {
	const field = (1<<3 - 1) << 1
	f, last := v&field, uint32(v>>4)
	b, numbers := r.b, append(r.numbers[:0], last)
	for len(b) > 0 && b[0]&1 == 0 {
		v, n := shortNumber(b)
		if v&field != f {
			return false
		}
		if b = b[n:]; len(numbers) < freqMax {
			numbers = append(numbers, uint32(v>>4)-last)
			last = uint32(v >> 4)
		}
	}
	r.b, r.numbers = b, numbers
	r.freqs = [fieldCount]uint32{}
	r.freqs[f>>1] = uint32(len(numbers))
	return true
}

// shortNumber is binary.Uvarint, for numbers that are mostly of one byte or two.
func shortNumber(b []byte) (v uint64, n int) {
	if b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	if len(b) > 1 && b[1] < 0x80 {
		return uint64(b[0]&0x7f) | uint64(b[1])<<7, 2
	}
	return binary.Uvarint(b)
}
