// SPDX-License-Identifier: Apache-2.0

package analysis

import (
	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// stemCacheMax bounds the cache: the words of a language are few, and a miss costs about a
// microsecond where a hit costs 40 ns.
const stemCacheMax = 1 << 16

// stemKeepMax is the longest word that is kept: longer ones hardly come again.
const stemKeepMax = 24

// stemmer reduces English words to their stems (Porter's second algorithm, snowballstem.org). It keeps
// every word that it has seen, those without a stem of their own too, so that a caller who notes what
// it knows of a word finds it by one lookup instead of two.
type stemmer struct {
	cache map[string]*Word
	other Word
}

// Word is what an Analyzer keeps of a word that it has seen. Note is the caller's: what it stores there
// comes back with the word's next token, unless the cache was emptied in between.
type Word struct {
	term []byte
	Note any
}

// stem returns what is kept of a lower-case word, valid until the next call.
func (s *stemmer) stem(w []byte) *Word {
	if kept, ok := s.cache[string(w)]; ok {
		return kept
	}
	if len(w) > stemKeepMax {
		s.other = Word{term: stemOf(w)}
		return &s.other
	}
	if s.cache == nil || len(s.cache) >= stemCacheMax {
		s.cache = make(map[string]*Word, 1024)
	}
	key := string(w)
	kept := &Word{term: stemOf([]byte(key))}
	s.cache[key] = kept
	return kept
}

// stemOf returns the stem of a word, or the word.
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
