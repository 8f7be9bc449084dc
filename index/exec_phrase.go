// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"slices"
)

// wordIter is an iterator over the documents of one word, whose positions phrases compare: a term or its forms.
type wordIter interface {
	iterator
	has() uint8                     // the fields of the current document that have the word
	occurrences(field int) []uint32 // ascending, in one of these fields; valid until the next call
	// gaps returns the first of these and the gaps between them, unless they have to be put together first.
	gaps(field int) (gaps []uint32, ok bool)

	points() gain // of its weighted frequency
	// weighAt adds its weighted frequencies in the documents of a window whose bits are set to those of s.
	weighAt(s *sums, of *window)
}

func (it *termIter) has() uint8 {
	if !it.cursor.freqs() {
		return 0
	}
	return it.cursor.freq.mask[it.cursor.i]
}

func (it *termIter) occurrences(field int) []uint32 {
	if it.pos = it.pos[:0]; it.cursor.freqs() {
		it.pos = it.cursor.positions(field, it.pos)
	}
	return it.pos
}

func (it *termIter) gaps(field int) ([]uint32, bool) {
	if !it.cursor.freqs() {
		return nil, true
	}
	return it.cursor.gaps(field), true
}

// phraseIter walks the documents that have its words at the places that the phrase says, in one field. Its candidates
// are the documents that have all words, the rarest word first; only of these it reads positions. Its score is that of
// the words.
type phraseIter struct {
	node    *node
	words   []wordIter // the rarest first
	at      []int      // place of each word in the phrase
	slop    int
	fields  fieldMask
	doc     uint32
	begun   bool
	checked uint32 // document that found is about; end for none
	found   bool
	meet    *meeting   // finds candidates if it is not nil
	bounds  []points   // of words, in the stretch that bound was last called for
	pos     [][]uint32 // scratch
	taken   []int64
}

func newPhraseIter(words []wordIter, at []int, slop int, fields fieldMask) *phraseIter {
	order := make([]int, len(words))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(words[a].cost(), words[b].cost()) })
	it := &phraseIter{slop: slop, fields: fields, checked: end, pos: make([][]uint32, len(words))}
	for _, i := range order {
		it.words, it.at = append(it.words, words[i]), append(it.at, at[i])
	}
	return it
}

func (it *phraseIter) seek(doc uint32) uint32 {
	if it.begun && it.doc >= doc {
		return it.doc
	}
	it.begun = true
	it.doc = meetAt(it.meet, it.words, doc)
	return it.doc
}

// meet moves all iterators to the first document that is at least doc and a candidate of each.
func meet[I iterator](its []I, doc uint32) uint32 {
	for i := 0; i < len(its); {
		at := its[i].seek(doc)
		if at == end {
			return end
		}
		if at > doc {
			doc = at
			if i > 0 {
				i = 0
				continue
			}
		}
		i++
	}
	return doc
}

func (it *phraseIter) matches() bool {
	if it.checked != it.doc {
		it.checked, it.found = it.doc, it.find()
	}
	return it.found
}

// find looks for the phrase in each field that has all words. Without slop the fields of the third word and of those
// behind it are only looked at where the words before them stand as they should: they are the most frequent ones, and
// a block of 128 documents is decoded for each look.
func (it *phraseIter) find() bool {
	fields := it.fields.cut(1<<fieldCount - 1)
	for i, w := range it.words {
		if w.seek(it.doc) != it.doc { // a candidate of meet; else the work is over
			return false
		}
		if i >= 2 && it.slop == 0 {
			continue
		}
		if fields &= w.has(); fields == 0 {
			return false
		}
	}
	for f := range fieldCount {
		if fields&(1<<f) != 0 && it.inField(f) {
			return true
		}
	}
	return false
}

// inField reads the positions word by word, and stops at the first word that no place of the words before allows.
func (it *phraseIter) inField(f int) bool {
	if it.slop > 0 {
		return it.near(f)
	}
	if len(it.words) == 2 {
		if a, ok := it.words[0].gaps(f); ok {
			if b, ok := it.words[1].gaps(f); ok {
				return follows(a, b, int64(it.at[1]-it.at[0]))
			}
		}
	}
	starts := it.taken[:0] // where the phrase could begin
	for i, w := range it.words {
		if i >= 2 && w.has()>>f&1 == 0 {
			return false
		}
		pos, at := w.occurrences(f), int64(it.at[i])
		if i == 0 {
			for _, p := range pos {
				starts = append(starts, int64(p)-at)
			}
			it.taken = starts
			continue
		}
		kept, j := starts[:0], 0
		for _, s := range starts {
			for j < len(pos) && int64(pos[j])-at < s {
				j++
			}
			if j == len(pos) {
				break
			}
			if int64(pos[j])-at == s {
				if kept = append(kept, s); i == len(it.words)-1 {
					return true // one place is enough
				}
			}
		}
		if starts = kept; len(starts) == 0 {
			return false
		}
	}
	return len(starts) > 0
}

// follows reports whether any position of b is one of a plus a distance. Both are the first position and gaps.
func follows(a, b []uint32, distance int64) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	x, y := int64(a[0])+distance, int64(b[0])
	for i, j := 0, 0; x != y; {
		if x < y {
			if i++; i == len(a) {
				return false
			}
			x += int64(a[i])
		} else {
			if j++; j == len(b) {
				return false
			}
			y += int64(b[j])
		}
	}
	return true
}

// near reports whether the words are in the field with a slop: each word's position less its place in the phrase lies
// in some interval of this length. Words of different places need different positions.
func (it *phraseIter) near(f int) bool {
	for i, w := range it.words {
		if it.pos[i] = append(it.pos[i][:0], w.occurrences(f)...); len(it.pos[i]) == 0 {
			return false
		}
	}
	return withinSlop(it.pos, it.at, it.slop)
}

// withinSlop tries every position as the one that begins the interval. The words then take their first free position in
// the interval, in the order of their places: since all intervals have one length, the first to end chooses first.
func withinSlop(pos [][]uint32, at []int, slop int) bool {
	order := make([]int, len(pos))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(at[a], at[b]) })
	taken := make([]int64, len(pos))
	try := func(low int64) bool {
		for n, i := range order {
			from := low + int64(at[i])
			j, _ := slices.BinarySearch(pos[i], uint32(max(from, 0)))
		next:
			for ; ; j++ {
				if j == len(pos[i]) || int64(pos[i][j]) > from+int64(slop) {
					return false
				}
				for k := range n {
					if taken[k] == int64(pos[i][j]) && at[order[k]] != at[i] {
						continue next
					}
				}
				break
			}
			taken[n] = int64(pos[i][j])
		}
		return true
	}
	for i, p := range pos {
		for _, v := range p {
			if try(int64(v) - int64(at[i])) {
				return true
			}
		}
	}
	return false
}

func (it *phraseIter) score() (sum points) {
	for _, w := range it.words {
		sum += w.score()
	}
	return sum
}

func (it *phraseIter) shallow(doc uint32) (from, upTo uint32) { return shallowAll(it.words, doc) }
func (it *phraseIter) cost() uint64                           { return it.words[0].cost() }
func (it *phraseIter) mark(w *window)                         { markEach(it, w) }
func (it *phraseIter) fill(s *sums)                           { fillEach(it, s) }
func (it *phraseIter) look(s *sums)                           { lookEach(it, s) }

func (it *phraseIter) bound(lo, hi uint32) (sum points) {
	it.bounds = it.bounds[:0]
	for _, w := range it.words {
		b := w.bound(lo, hi)
		it.bounds = append(it.bounds, b)
		sum += b
	}
	return sum
}

func (it *phraseIter) scoreAbove(need points) points {
	return scoresAbove(it.words, it.bounds, 0, need, false, it.doc)
}

func (it *phraseIter) most() (sum points) {
	for _, w := range it.words {
		sum += w.most()
	}
	return sum
}

// shallowAll is shallow for parts that must all match.
func shallowAll[I iterator](its []I, doc uint32) (from, upTo uint32) {
	from, upTo = doc, end
	for _, it := range its {
		f, u := it.shallow(doc)
		if f == end {
			return end, end
		}
		from, upTo = max(from, f), min(upTo, u)
	}
	return from, max(from, upTo)
}
