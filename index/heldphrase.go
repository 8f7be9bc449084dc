// SPDX-License-Identifier: Apache-2.0

package index

import (
	"math"
	"math/bits"
)

// phraseKeeper finds a phrase among documents that have all of its words.
type phraseKeeper interface {
	// keep leaves the bits of those documents of a window that have the phrase. When the search is to end, it may leave
	// any.
	keep(window int, s *sums, work *budget)
}

// listPhrase reads positions from lists: of words that are held without theirs.
type listPhrase struct{ places *places }

func (l *listPhrase) keep(n int, s *sums, _ *budget) {
	const words = meetDocs / 64
	for i := 0; i < len(s.bits); i += words {
		l.places.keep(&window{uint32(n)*sumDocs + uint32(i)*64, s.bits[i : i+words]})
	}
}

// heldWords returns the words of a phrase if all are held, nil if they are not. It uses none of them: they save little
// of what such a phrase takes.
func (x *execution) heldWords(p *part, phrase *node) (words []heldPart) {
	if p.held == nil || phrase.fields != 0 {
		return nil
	}
	for _, n := range phrase.children {
		if !n.isHeldKind() {
			return nil
		}
		held := p.held.peek(n.heldKey())
		if held == nil {
			return nil
		}
		g := newGain(&x.all, x.frequency(n), phrase.factor()*n.factor())
		words = append(words, heldPart{heldWord: held, gain: g})
	}
	return words
}

// heldPhrase leaves the documents that have held words in a row.
type heldPhrase struct {
	words   []*heldWord
	at      []int      // place of each in the phrase
	numbers [][]uint32 // of the documents that are looked at, in each word's
	mask    []uint8    // fields of each word in the current document
	found   [][]byte   // and what follows the mask
	pos     [][]uint32 // memory
	rest    [][]uint32 // of pos
	read    int        // bytes of positions that are not paid for yet
}

func newHeldPhrase(words []heldPart, at []int) *heldPhrase {
	p := &heldPhrase{
		at: at, numbers: make([][]uint32, len(words)), mask: make([]uint8, len(words)),
		found: make([][]byte, len(words)), pos: make([][]uint32, len(words)), rest: make([][]uint32, len(words)),
	}
	for _, w := range words {
		p.words = append(p.words, w.heldWord)
	}
	return p
}

// phraseUnit is how many documents are looked at for a phrase between two looks at the budget: as much work as a block
// that is decoded, beside their positions.
const phraseUnit = 16

// keep is phraseKeeper's. When the search is to end, no documents stay that were not looked at.
func (p *heldPhrase) keep(n int, s *sums, work *budget) {
	some := 0
	for _, b := range s.bits {
		some += bits.OnesCount64(b)
	}
	for k, word := range p.words {
		w := word.window(n)
		w.find(&s.bits, some, &s.found)
		p.numbers[k] = append(p.numbers[k][:0], s.found.number[:some]...)
	}
	clear(s.bits[:])
	for j, place := range s.found.place[:some] {
		if j%phraseUnit == 0 {
			if !work.spend(1 + p.read/positionsUnit) {
				return
			}
			p.read = 0
		}
		if p.has(j) {
			s.bits.set(uint32(place))
		}
	}
}

// has reports whether the j-th of the documents that are looked at has the phrase.
func (p *heldPhrase) has(j int) bool {
	if len(p.words) == 2 {
		return p.pair(j)
	}
	fields := uint8(1<<fieldCount - 1)
	for k, word := range p.words {
		p.mask[k], p.found[k] = word.found.of(p.numbers[k][j])
		fields &= p.mask[k]
		p.read += len(p.found[k])
	}
	for ; fields != 0; fields &= fields - 1 {
		for k := range p.words {
			p.pos[k] = appendFound(p.pos[k][:0], foundIn(p.mask[k], p.found[k], bits.TrailingZeros8(fields)))
			p.rest[k] = p.pos[k]
		}
		if inRow(p.rest, p.at) {
			return true
		}
	}
	return false
}

// pair is has of two words: most phrases have no more.
func (p *heldPhrase) pair(j int) bool {
	first, a := p.words[0].found.of(p.numbers[0][j])
	second, b := p.words[1].found.of(p.numbers[1][j])
	p.read += len(a) + len(b)
	for fields := first & second; fields != 0; fields &= fields - 1 {
		f := bits.TrailingZeros8(fields)
		if foundAt(foundIn(first, a, f), foundIn(second, b, f), int64(p.at[1]-p.at[0])) {
			return true
		}
	}
	return false
}

// foundAt reports whether a has a position that b has, so far behind.
func foundAt(a, b []byte, behind int64) bool {
	first, second := int64(0), int64(math.MinInt64) // b has not begun
	for len(a) > 0 {
		var gap uint32
		gap, a = nextGap(a)
		first += int64(gap)
		for second < first+behind {
			if len(b) == 0 {
				return false
			}
			gap, b = nextGap(b)
			second = max(second, 0) + int64(gap)
		}
		if second == first+behind {
			return true
		}
	}
	return false
}

// inRow reports whether words are at their places from some position on. It shortens the lists of positions.
func inRow(pos [][]uint32, at []int) bool {
	for _, first := range pos[0] {
		found := true
		for k := 1; k < len(pos) && found; k++ {
			want, rest := int64(first)+int64(at[k]-at[0]), pos[k]
			for len(rest) > 0 && int64(rest[0]) < want {
				rest = rest[1:]
			}
			if pos[k] = rest; len(rest) == 0 {
				return false // later positions of the first word want even later ones
			}
			found = int64(rest[0]) == want
		}
		if found {
			return true
		}
	}
	return false
}
