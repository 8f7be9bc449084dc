// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
)

// arenaChunkBytes is the size of an arena's chunks. With chunks, growing never copies existing pairs, and
// memory is allocated only as needed.
const arenaChunkBytes = 1 << 20

// arena holds pairs end to end in chunks: uvarint key length, uvarint value length, key, value. A pair's
// ref is its chunk's number and its offset in the chunk, so refs increase in the order of adding.
type arena struct {
	chunks     [][]byte // all full but the last in use
	n          int      // chunks in use
	chunkBytes int
	used       int64 // bytes of the chunks in use
}

func (a *arena) add(key, value []byte) (ref uint64) {
	need := len(key) + len(value) + 2*binary.MaxVarintLen32
	if a.n == 0 || len(a.chunks[a.n-1])+need > cap(a.chunks[a.n-1]) {
		a.grow(need)
	}
	c := a.chunks[a.n-1]
	ref = uint64(a.n-1)<<32 | uint64(len(c))
	c = binary.AppendUvarint(c, uint64(len(key)))
	c = binary.AppendUvarint(c, uint64(len(value)))
	c = append(append(c, key...), value...)
	a.chunks[a.n-1] = c
	return ref
}

// grow begins a chunk with room for need bytes. It reuses a chunk kept by reset if that is large enough.
func (a *arena) grow(need int) {
	size := max(need, a.chunkBytes)
	if a.n == len(a.chunks) {
		a.chunks = append(a.chunks, nil)
	}
	if cap(a.chunks[a.n]) < size {
		a.chunks[a.n] = make([]byte, 0, size)
	}
	a.used += int64(cap(a.chunks[a.n]))
	a.n++
}

// reset drops the pairs and keeps the chunks, except oversized ones.
func (a *arena) reset() {
	for i := range a.chunks {
		if a.chunks[i] = a.chunks[i][:0]; cap(a.chunks[i]) > a.chunkBytes {
			a.chunks[i] = nil
		}
	}
	a.n, a.used = 0, 0
}

func (a *arena) pair(ref uint64) (key, value []byte) {
	c := a.chunks[ref>>32][uint32(ref):]
	if k, v := int(c[0]), int(c[1]); k|v < 0x80 { // most are short
		return c[2 : 2+k : 2+k], c[2+k : 2+k+v : 2+k+v]
	}
	k, n := binary.Uvarint(c)
	v, m := binary.Uvarint(c[n:])
	c = c[n+m:]
	return c[:k:k], c[k : k+v : k+v]
}

// key is pair without the value.
func (a *arena) key(ref uint64) []byte {
	c := a.chunks[ref>>32][uint32(ref):]
	if c[0]|c[1] < 0x80 {
		return c[2 : 2+int(c[0])]
	}
	k, n := binary.Uvarint(c)
	_, m := binary.Uvarint(c[n:])
	return c[n+m : n+m+int(k)]
}

// sortEntry represents a pair while sorting: word is the part of its key being compared, ref its place in
// the arena.
type sortEntry struct{ word, ref uint64 }

const sortEntryBytes = 16

// indexRoomMin is the number of pairs for which an index gets room at least: 4 KiB.
const indexRoomMin = 256

// wordBytes is how much of a key goes into a word at a time.
const wordBytes = 7

// keyWord packs the next seven bytes of a key, followed by their number (8 = more follow). Words compare
// like the keys: first by the bytes; if one key is the other's prefix, or only zeros differ, by the
// number.
//
//	"com,exa"+"mple" → 'c' 'o' 'm' ',' 'e' 'x' 'a' 8
//	"com,"           → 'c' 'o' 'm' ','  0   0   0  4
func keyWord(key []byte) uint64 {
	if len(key) > wordBytes {
		return binary.BigEndian.Uint64(key)&^0xff | (wordBytes + 1)
	}
	var w uint64
	for _, b := range key {
		w = w<<8 | uint64(b)
	}
	return w<<(8*(8-len(key))) | uint64(len(key))
}

// keySort sorts entries by key, and entries of equal keys in the order of adding. It sorts by word, then each group of
// equal words by the next bytes in which its keys differ, and so on. URL keys of one host share dozens of bytes.
// Comparing whole keys would read those bytes in every comparison; this reads each byte once or twice (a caching
// multikey quicksort: Bentley and Sedgewick 1997, Ng and Kakehi 2007). Words of many entries are sorted by their bytes,
// without comparisons: most words of URLs differ in two or three bytes.
type keySort struct {
	arena *arena
	// scratch is what radix sorts beside; more entries than it has room for are first split by one byte. 16,384
	// entries and the scratch together fit into the processor's second cache.
	scratch []sortEntry
}

const (
	keySortScratch = 1 << 14
	// Groups of at most fewKeys are compared key by key, at most fewWords sorted by insertion, and fewer than manyWords
	// by comparing them.
	fewKeys, fewWords, manyWords = 4, 16, 160
)

// sortEntries sorts entries whose words are those of the keys' first bytes. Beside them it takes an eighth of their
// memory, at most 256 KiB.
func sortEntries(entries []sortEntry, a *arena) {
	s := keySort{arena: a, scratch: make([]sortEntry, min(len(entries)/8, keySortScratch))}
	s.sort(entries, 0)
}

// sort sorts entries whose keys agree in the first depth bytes and whose words start there.
func (s *keySort) sort(entries []sortEntry, depth int) {
	s.byWord(entries)
	for start := 0; start < len(entries); {
		word, end := entries[start].word, start+1
		for end < len(entries) && entries[end].word == word {
			end++
		}
		if group := entries[start:end]; len(group) > 1 {
			switch {
			case byte(word) <= wordBytes: // the keys are equal
				byRef(group)
			case len(group) <= fewKeys:
				s.byKey(group, depth+wordBytes)
			default:
				s.sort(group, s.deepen(group, depth+wordBytes))
			}
		}
		start = end
	}
}

// deepen sets the words of a group, whose keys agree in the first depth bytes, to those from the first byte on in which
// they differ, and returns where that is.
func (s *keySort) deepen(group []sortEntry, depth int) int {
	shared := s.arena.key(group[0].ref)[depth:]
	for i := 1; i < len(group) && len(shared) >= wordBytes; i++ {
		shared = shared[:sharedBytes(shared, s.arena.key(group[i].ref)[depth:])]
	}
	if len(shared) >= wordBytes { // else the words of all bytes take no longer
		depth += len(shared)
	}
	for i := range group {
		group[i].word = keyWord(s.arena.key(group[i].ref)[depth:])
	}
	return depth
}

// byKey sorts a few entries whose keys agree in the first depth bytes.
func (s *keySort) byKey(group []sortEntry, depth int) {
	for i := 1; i < len(group); i++ {
		e, at := group[i], i
		for key := s.arena.key(e.ref)[depth:]; at > 0; at-- {
			before := group[at-1]
			c := bytes.Compare(s.arena.key(before.ref)[depth:], key)
			if c < 0 || c == 0 && before.ref < e.ref {
				break
			}
			group[at] = before
		}
		group[at] = e
	}
}

// byRef sorts entries in the order of adding. Few are out of it, if any.
func byRef(group []sortEntry) {
	slices.SortFunc(group, func(x, y sortEntry) int { return cmp.Compare(x.ref, y.ref) })
}

// byWord sorts entries by word, those of equal words in any order.
func (s *keySort) byWord(entries []sortEntry) {
	switch n := len(entries); {
	case n <= fewWords:
		for i := 1; i < n; i++ {
			e, at := entries[i], i
			for ; at > 0 && entries[at-1].word > e.word; at-- {
				entries[at] = entries[at-1]
			}
			entries[at] = e
		}
	case n < manyWords:
		slices.SortFunc(entries, func(x, y sortEntry) int { return cmp.Compare(x.word, y.word) })
	default:
		s.radix(entries)
	}
}

// radix sorts entries by the bytes of words, from the last one in which they differ to the first.
func (s *keySort) radix(entries []sortEntry) {
	differ := uint64(0)
	for i := range entries {
		differ |= entries[i].word ^ entries[0].word
	}
	if differ == 0 {
		return
	}
	if len(entries) > len(s.scratch) {
		s.split(entries, (bits.Len64(differ)-1)&^7)
		return
	}
	from, to := entries, s.scratch[:len(entries)]
	for shift := 0; shift < 64; shift += 8 {
		if byte(differ>>shift) == 0 {
			continue
		}
		var at [256]int
		for i := range from {
			at[byte(from[i].word>>shift)]++
		}
		sum := 0
		for b := range at {
			at[b], sum = sum, sum+at[b]
		}
		for _, e := range from {
			b := byte(e.word >> shift)
			to[at[b]] = e
			at[b]++
		}
		from, to = to, from
	}
	if &from[0] != &entries[0] {
		copy(entries, from)
	}
}

// split sorts entries by one byte of their words, in place (the American flag sort: McIlroy, Bostic and McIlroy 1993),
// and then those of each byte.
func (s *keySort) split(entries []sortEntry, shift int) {
	var next, end [256]int
	for i := range entries {
		end[byte(entries[i].word>>shift)]++
	}
	sum := 0
	for b := range end {
		next[b] = sum
		sum += end[b]
		end[b] = sum
	}
	start := next
	for b := range 256 {
		for ; next[b] < end[b]; next[b]++ {
			e := entries[next[b]]
			for to := byte(e.word >> shift); int(to) != b; to = byte(e.word >> shift) {
				entries[next[to]], e = e, entries[next[to]]
				next[to]++
			}
			entries[next[b]] = e
		}
	}
	for b := range 256 {
		s.byWord(entries[start[b]:end[b]])
	}
}
