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

// stemmer reduces English words to their stems (Porter's second algorithm, snowballstem.org). It caches every word,
// also one that is its own stem, so that a caller who attaches a Note to a word needs one lookup, not two.
//
// The cache is an open-addressed table with the word itself in the slot. With a map of strings the lookup took a third
// of all indexing time, 42 µs a page instead of 13 on an earlier host: at a thousand words a page, its three memory
// accesses (group, string and value) all miss the processor's cache.
type stemmer struct {
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
func (s *stemmer) stem(w []byte) *Word {
	if len(w) > stemKeepMax {
		s.other = Word{term: stemOf(w)}
		return &s.other
	}
	return s.kept(eight(w, 0), eight(w, 8), len(w))
}

// kept is stem for a word of n bytes in the form of a slot.
func (s *stemmer) kept(lo, hi uint64, n int) *Word {
	if 2*s.used >= len(s.slots) {
		s.grow()
	}
	slot := s.find(lo, hi)
	if slot.word == nil {
		w := make([]byte, 0, stemKeepMax)
		w = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(w, lo), hi)
		*slot = stemSlot{lo, hi, &Word{term: stemOf(w[:n])}}
		s.used++
	}
	return slot.word
}

// find returns the slot of a word, a free one if the word is not cached.
func (s *stemmer) find(lo, hi uint64) *stemSlot {
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
func (s *stemmer) grow() {
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

// Language is a language whose words are stemmed. Numbers are on disk.
type Language uint8

// The languages.
const (
	Unknown Language = iota // no stemming
	English
)

// LanguageOf returns the language of a code like "en" or "en-GB", Unknown for others.
func LanguageOf(code string) Language {
	if code == "en" || len(code) > 2 && code[:3] == "en-" {
		return English
	}
	return Unknown
}

// Stemmer reduces words to their stems. The zero value is ready to use. One goroutine at a time may use it.
type Stemmer struct{}

// Stem appends the stem of a folded word of a language to dst.
func (*Stemmer) Stem(dst []byte, lang Language, word []byte) []byte {
	if lang != English {
		return append(dst, word...)
	}
	return append(dst, stemOf(word)...)
}
