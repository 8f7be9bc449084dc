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
type inverter struct {
	blocks  [][]byte // of arenaBlock bytes; an address is block<<16 | offset
	used    int      // of the last block
	slots   []uint64 // hash<<32 | place in entries plus 1; 0 is free; a power of two, at most 2/3 full
	entries [][]termEntry
	count   int    // of entries
	number  uint32 // of the index segment
	held    int64  // bytes of what is in memory beside the arena and the table
}

// termEntry is one term. It does not move, so a caller may keep its address while the index segment is built.
type termEntry struct {
	key       uint32 // address of the term
	first     uint32 // address of its first slice
	at, limit uint32 // addresses of the next byte and of the end of the slice, without the place of the next's address
	lastDoc   uint32 // plus 1; 0 for none
	number    uint32 // inverter.number
	languages uint64 // of its documents, a bit each
	level     uint32 // of the slice, from 0
	length    uint8  // of the term
}

const (
	arenaBlock   = 1 << 16
	sliceLeast   = 16
	sliceMost    = 4 << 10
	sliceLink    = 4 // bytes of the address of the next slice
	entryBlock   = 1 << 10
	entryBytes   = 48
	occurrenceAt = 2 * binary.MaxVarintLen32
)

// reset begins an index segment. Blocks of the arena are used again; entries are not, since a caller may still have
// addresses of the old ones.
func (inv *inverter) reset(number uint32) {
	inv.blocks = inv.blocks[:min(len(inv.blocks), 1)]
	inv.used, inv.entries, inv.count, inv.number, inv.held = 0, nil, 0, number, 0
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

// find returns the entry of a term of at most 255 bytes, a new one if it has none.
func (inv *inverter) find(term []byte) *termEntry {
	h := xxh3.Hash(term)
	tag := h << 32
	mask := uint64(len(inv.slots) - 1)
	at := h >> 32
	for ; ; at++ {
		slot := inv.slots[at&mask]
		if slot == 0 {
			break
		}
		if slot&^(1<<32-1) == tag {
			if t := inv.entry(uint32(slot) - 1); bytes.Equal(inv.term(t), term) {
				return t
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
	t := inv.entry(uint32(inv.count))
	inv.count++
	inv.slots[at&mask] = tag | uint64(inv.count)
	key := inv.room(len(term) + sliceLeast)
	copy(inv.memory(key), term)
	first := key + uint32(len(term))
	*t = termEntry{
		key: key, length: uint8(len(term)), first: first, at: first, limit: first + sliceLeast - sliceLink,
		number: inv.number,
	}
	return t
}

// grow doubles the table. A slot has the low half of a hash and lies by the high half, so terms are hashed again.
func (inv *inverter) grow() {
	old := inv.slots
	inv.slots = make([]uint64, 2*len(old))
	mask := uint64(len(inv.slots) - 1)
	for _, slot := range old {
		if slot == 0 {
			continue
		}
		at := xxh3.Hash(inv.term(inv.entry(uint32(slot)-1))) >> 32
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
		if t.limit > t.at && v < 1<<14 && t.limit-t.at >= 2 { // most occurrences
			b := inv.memory(t.at)
			if v < 1<<7 {
				b[0] = byte(v)
				t.at++
			} else {
				b[0], b[1] = byte(v)|0x80, byte(v>>7)
				t.at += 2
			}
			return
		}
		var buf [occurrenceAt]byte
		inv.write(t, binary.AppendUvarint(buf[:0], v))
		return
	}
	var buf [2 * binary.MaxVarintLen64]byte
	inv.write(t, binary.AppendUvarint(binary.AppendUvarint(buf[:0], v|1), uint64(doc+1-t.lastDoc)))
	t.lastDoc = doc + 1
}

// write appends bytes to the slices of a term.
func (inv *inverter) write(t *termEntry, b []byte) {
	for {
		n := copy(inv.memory(t.at)[:t.limit-t.at], b)
		t.at += uint32(n)
		if b = b[n:]; len(b) == 0 {
			return
		}
		t.level++
		size := sliceSize(t.level)
		next := inv.room(size)
		binary.LittleEndian.PutUint32(inv.memory(t.limit), next)
		t.at, t.limit = next, next+uint32(size-sliceLink)
	}
}

func sliceSize(level uint32) int { return min(sliceLeast<<min(level, 16), sliceMost) }

// occurrences appends all bytes of a term to dst.
func (inv *inverter) occurrences(t *termEntry, dst []byte) []byte {
	at := t.first
	for level := range t.level {
		n := sliceSize(level) - sliceLink
		b := inv.memory(at)
		dst = append(dst, b[:n]...)
		at = binary.LittleEndian.Uint32(b[n:])
	}
	return append(dst, inv.memory(at)[:t.at-at]...)
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
	v, n := binary.Uvarint(r.b)
	gap, m := binary.Uvarint(r.b[n:])
	r.b = r.b[n+m:]
	r.doc += uint32(gap)
	if len(r.b) == 0 || r.b[0]&1 != 0 { // one occurrence
		r.freqs = [fieldCount]uint32{}
		r.freqs[v>>1&7] = 1
		r.numbers = append(r.numbers[:0], uint32(v>>4))
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
		if r.b[0] < 0x80 {
			v, r.b = uint64(r.b[0]), r.b[1:]
		} else {
			v, n = binary.Uvarint(r.b)
			r.b = r.b[n:]
		}
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
