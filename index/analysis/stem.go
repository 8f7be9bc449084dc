// SPDX-License-Identifier: Apache-2.0

package analysis

import (
	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// stemCacheMax bounds the cache: the words of a language are few, and a miss costs about a
// microsecond where a hit costs 40 ns.
const stemCacheMax = 1 << 16

// stemmer reduces English words to their stems (Porter's second algorithm, snowballstem.org).
type stemmer struct {
	cache map[string]string
	buf   []byte
}

// stem returns the stem of a lower-case word, valid until the next call.
func (s *stemmer) stem(w []byte) []byte {
	if len(w) < 3 || !letters(w) {
		return w
	}
	stem, ok := s.cache[string(w)]
	if !ok {
		env := snowballstem.NewEnv(string(w))
		english.Stem(env)
		stem = env.Current()
		if s.cache == nil || len(s.cache) >= stemCacheMax {
			s.cache = make(map[string]string, 1024)
		}
		s.cache[string(w)] = stem
	}
	s.buf = append(s.buf[:0], stem...)
	return s.buf
}

func letters(w []byte) bool {
	for _, c := range w {
		if c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}
