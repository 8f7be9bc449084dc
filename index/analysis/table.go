// SPDX-License-Identifier: Apache-2.0

package analysis

import (
	"encoding/binary"
)

// wordsKept bounds the cached words of an Analyzer that states no bound, in 4 MB. A text has few different words; a hit
// costs ten nanoseconds, a miss what its caller does for a word that it does not know.
const wordsKept = 1 << 16

// stemKeepMax is the length of the longest cached word, in bytes: two machine words. One percent of words are longer.
const stemKeepMax = 16

// wordTable caches the words that an Analyzer meets, so that a caller who attaches a Note to a word needs one lookup,
// not two.
//
// It is an open-addressed table with the word itself and the Note in the slot, of half a cache line and without
// pointers. With a map of strings the lookup took a third of all indexing time, 42 µs a page instead of 13 on an
// earlier host: at a thousand words a page, its three memory accesses (group, string and value) all miss the
// processor's cache. A slot that pointed to the word and its Note still cost two misses more for each word of a large
// vocabulary, and the garbage collector a walk through all of them.
type wordTable struct {
	slots []Word // a power of two, at most half full
	used  int
	most  int // words; 0 means wordsKept
	other Word
}

// Word is an Analyzer's cache entry for a word. Note is the caller's: what it stores there comes back with the word's
// next token, unless the cache was emptied in between; then it is 0, as it is for a new word. Words of more than 16
// bytes are not cached.
type Word struct {
	text [stemKeepMax]byte // the word, zeros after it, which no word contains
	Note uint32
	size uint8 // of the word; 0: a free slot
}

func (w *Word) lo() uint64 { return binary.LittleEndian.Uint64(w.text[:8]) }
func (w *Word) hi() uint64 { return binary.LittleEndian.Uint64(w.text[8:]) }

// of returns the entry of a lower-case word and its term, both valid until the next call.
func (s *wordTable) of(w []byte) (*Word, []byte) {
	if len(w) == 0 || len(w) > stemKeepMax {
		s.other = Word{}
		return &s.other, w
	}
	entry := s.kept(eight(w, 0), eight(w, 8), len(w))
	return entry, entry.text[:len(w)]
}

// kept is of for a word of n bytes in the form of a slot.
func (s *wordTable) kept(lo, hi uint64, n int) *Word {
	if 2*s.used >= len(s.slots) {
		s.grow()
	}
	slot := s.find(lo, hi)
	if slot.size == 0 {
		binary.LittleEndian.PutUint64(slot.text[:8], lo)
		binary.LittleEndian.PutUint64(slot.text[8:], hi)
		slot.size = uint8(n)
		s.used++
	}
	return slot
}

// find returns the slot of a word, a free one if the word is not cached.
func (s *wordTable) find(lo, hi uint64) *Word {
	h := (lo ^ hi*0x9e3779b97f4a7c15) * 0xc2b2ae3d27d4eb4f
	mask := uint64(len(s.slots) - 1)
	for i := h >> 40; ; i++ {
		slot := &s.slots[i&mask]
		if slot.lo() == lo && slot.hi() == hi || slot.size == 0 {
			return slot
		}
	}
}

// grow doubles the table, or empties it if it has its full size.
func (s *wordTable) grow() {
	most := s.most
	if most == 0 {
		most = wordsKept
	}
	old := s.slots
	size := min(max(2*len(old), 1<<10), 2*most)
	s.slots = make([]Word, size) // a term that a caller still has stays in the old ones
	if len(old) == size {
		s.used = 0
		return
	}
	for i := range old {
		if w := &old[i]; w.size > 0 {
			*s.find(w.lo(), w.hi()) = *w
		}
	}
}
