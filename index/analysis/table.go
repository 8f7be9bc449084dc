// SPDX-License-Identifier: Apache-2.0

package analysis

import (
	"encoding/binary"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// stemCacheMax bounds the cached words. A language has few words; a hit costs ten nanoseconds, a miss about a
// microsecond.
const stemCacheMax = 1 << 16

// stemKeepMax is the length of the longest cached word, in bytes: two machine words. One percent of words are longer.
const stemKeepMax = 16

// wordTable caches the words that an Analyzer meets, so that a caller who attaches a Note to a word needs one lookup,
// not two. It holds their terms: the words themselves or, for indexes of Version 1, their English stems.
//
// It is an open-addressed table with the word itself in the slot. With a map of strings the lookup took a third
// of all indexing time, 42 µs a page instead of 13 on an earlier host: at a thousand words a page, its three memory
// accesses (group, string and value) all miss the processor's cache.
type wordTable struct {
	stems bool       // a term is an English stem
	slots []stemSlot // a power of two, at most half full
	used  int
	other Word
}

// stemSlot holds a word of up to 16 bytes, padded with zeros, which no word contains. word is nil in a free slot.
type stemSlot struct {
	lo, hi uint64
	word   *Word
}

// Word is an Analyzer's cache entry for a word. Note is the caller's: what it stores there comes back with the word's
// next token, unless the cache was emptied in between. Words of more than 16 bytes are not cached.
type Word struct {
	term []byte
	Note any
}

// stem returns the entry of a lower-case word, valid until the next call.
func (s *wordTable) stem(w []byte) *Word {
	if len(w) > stemKeepMax {
		s.other = Word{term: s.term(w)}
		return &s.other
	}
	return s.kept(eight(w, 0), eight(w, 8), len(w))
}

// kept is stem for a word of n bytes in the form of a slot.
func (s *wordTable) kept(lo, hi uint64, n int) *Word {
	if 2*s.used >= len(s.slots) {
		s.grow()
	}
	slot := s.find(lo, hi)
	if slot.word == nil {
		w := make([]byte, 0, stemKeepMax)
		w = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(w, lo), hi)
		*slot = stemSlot{lo, hi, &Word{term: s.term(w[:n])}}
		s.used++
	}
	return slot.word
}

// find returns the slot of a word, a free one if the word is not cached.
func (s *wordTable) find(lo, hi uint64) *stemSlot {
	h := (lo ^ hi*0x9e3779b97f4a7c15) * 0xc2b2ae3d27d4eb4f
	mask := uint64(len(s.slots) - 1)
	for i := h >> 40; ; i++ {
		slot := &s.slots[i&mask]
		if slot.word == nil || slot.lo == lo && slot.hi == hi {
			return slot
		}
	}
}

// grow doubles the table, or empties it if it has its full size.
func (s *wordTable) grow() {
	old := s.slots
	s.slots = make([]stemSlot, min(max(2*len(old), 1<<10), 2*stemCacheMax))
	if len(old) == len(s.slots) {
		s.used = 0
		return
	}
	for _, slot := range old {
		if slot.word != nil {
			*s.find(slot.lo, slot.hi) = slot
		}
	}
}

// setStem chooses what terms are. A change empties the table.
func (s *wordTable) setStem(stems bool) {
	if stems != s.stems {
		*s = wordTable{stems: stems}
	}
}

func (s *wordTable) term(w []byte) []byte {
	if s.stems {
		return stemOf(w)
	}
	return w
}

// stemOf returns the stem of a word, or the word itself.
func stemOf(w []byte) []byte {
	if len(w) < 3 || !letters(w) {
		return w
	}
	env := snowballstem.NewEnv(string(w))
	english.Stem(env)
	return []byte(env.Current())
}

func letters(w []byte) bool {
	for _, c := range w {
		if c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}
