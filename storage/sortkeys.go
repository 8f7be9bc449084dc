// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"cmp"
	"encoding/binary"
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
	k, n := binary.Uvarint(c)
	v, m := binary.Uvarint(c[n:])
	c = c[n+m:]
	return c[:k:k], c[k : k+v : k+v]
}

// key is pair without the value.
func (a *arena) key(ref uint64) []byte {
	c := a.chunks[ref>>32][uint32(ref):]
	k, n := binary.Uvarint(c)
	if c[n] < 0x80 { // most values are short
		n++
	} else {
		_, m := binary.Uvarint(c[n:])
		n += m
	}
	return c[n : n+int(k)]
}

// sortEntry represents a pair while sorting: word is the part of its key being compared, ref its place in
// the arena.
type sortEntry struct{ word, ref uint64 }

const sortEntryBytes = 16

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

// sortEntries sorts entries whose keys agree in the first depth bytes and whose words start there. It
// sorts by word, then sorts each group of equal words by the next seven bytes, and so on. URL keys of one
// host share dozens of bytes. Comparing whole keys would read those bytes in every comparison; this
// algorithm reads each byte once (a caching multikey quicksort: Bentley and Sedgewick 1997, Ng and Kakehi
// 2007). Equal keys compare by ref, which keeps them in the order of adding.
func sortEntries(entries []sortEntry, a *arena, depth int) {
	for {
		slices.SortFunc(entries, compareEntries)
		rest := entries[:0]
		for start := 0; start < len(entries); {
			end := start + 1
			for end < len(entries) && entries[end].word == entries[start].word {
				end++
			}
			if group := entries[start:end]; len(group) > 1 && byte(group[0].word) > wordBytes {
				deepen(group, a, depth+wordBytes)
				if len(group) == len(entries) {
					rest = group // all keys agree so far: loop instead of recursing for common prefixes
				} else {
					sortEntries(group, a, depth+wordBytes)
				}
			}
			start = end
		}
		if len(rest) == 0 {
			return
		}
		depth += wordBytes
	}
}

func compareEntries(x, y sortEntry) int {
	if x.word != y.word {
		if x.word < y.word {
			return -1
		}
		return 1
	}
	return cmp.Compare(x.ref, y.ref)
}

// deepen sets the words of a group to the bytes from depth on.
func deepen(group []sortEntry, a *arena, depth int) {
	for i := range group {
		group[i].word = keyWord(a.key(group[i].ref)[depth:])
	}
}
