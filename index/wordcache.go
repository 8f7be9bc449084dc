// SPDX-License-Identifier: Apache-2.0

package index

import (
	"math/bits"

	"github.com/seine-crawler/seine/index/analysis"
)

// wordCache knows the entries of short words in an inverter that were met lately. A word that it has costs one access
// to memory, one that it lacks three: a slot of the inverter's table, the entry and the term. It is a set-associative
// cache, as processors have them: words whose hash is the same share a set of one cache line.
type wordCache struct {
	sets  []wordSet // a power of two
	shift uint      // 64 less the logarithm of len(sets)
	most  int       // sets
}

// wordWays is how many words a set has, so that it is 64 bytes.
const wordWays = 3

// wordSet is some words. A word that is found moves one place to the front, so that frequent ones are found first.
type wordSet struct {
	low, high [wordWays]uint64
	place     [wordWays]uint32 // of the entry, plus 1; 0 is free
	_         uint32
}

// newWordCache makes a cache of at most so many bytes.
func newWordCache(bytes int64) wordCache {
	c := wordCache{most: 1 << max(bits.Len64(uint64(bytes)/wordSetBytes)-1, wordSetsLeast)}
	c.resize(1 << wordSetsLeast)
	return c
}

const (
	wordSetBytes  = 64
	wordSetsLeast = 10 // the logarithm of the sets of a new cache
)

func (c *wordCache) resize(sets int) {
	c.sets = make([]wordSet, sets)
	c.shift = uint(64 - bits.TrailingZeros(uint(sets)))
}

// reset forgets all words.
func (c *wordCache) reset() { clear(c.sets) }

// of returns the place of a word's set.
func (c *wordCache) of(w analysis.Word) uint32 {
	h := (w.Low ^ w.High*0x9e3779b97f4a7c15) * 0xc2b2ae3d27d4eb4f
	return uint32(h >> (c.shift & 63))
}

// find returns the place of the entry of a word that is not zero, plus 1; 0 if the set does not have it.
func (s *wordSet) find(w analysis.Word) uint32 {
	if s.low[0] == w.Low && s.high[0] == w.High {
		return s.place[0]
	}
	for i := 1; i < wordWays; i++ {
		if s.low[i] == w.Low && s.high[i] == w.High {
			j := i - 1
			s.low[j], s.low[i] = s.low[i], s.low[j]
			s.high[j], s.high[i] = s.high[i], s.high[j]
			s.place[j], s.place[i] = s.place[i], s.place[j]
			return s.place[j]
		}
	}
	return 0
}

// put adds a word that the set does not have behind the others, in place of the last one if the set is full.
func (s *wordSet) put(w analysis.Word, place uint32) {
	i := 0
	for i < wordWays-1 && s.place[i] > 0 {
		i++
	}
	s.low[i], s.high[i], s.place[i] = w.Low, w.High, place
}

// grow makes the cache twice as large, if it may, when it has met half as many words as it has sets: then most sets
// have one word at most.
func (c *wordCache) grow(words int) {
	if 2*words < len(c.sets) || len(c.sets) >= c.most {
		return
	}
	old := c.sets
	c.resize(2 * len(old))
	for i := range old {
		s := &old[i]
		for k := range wordWays {
			if s.place[k] > 0 {
				w := analysis.Word{Low: s.low[k], High: s.high[k]}
				c.sets[c.of(w)].put(w, s.place[k])
			}
		}
	}
}
