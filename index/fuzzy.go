// SPDX-License-Identifier: Apache-2.0

package index

import "unicode/utf8"

// nearWalk computes how far the terms of a sorted vocabulary are from a word: how many characters must be inserted,
// removed, replaced or swapped with their neighbour (the optimal string alignment distance: no character is edited
// twice). It keeps one row of the matrix of Wagner and Fischer (1974) for each character of the current term, so that
// terms that begin alike share rows, and says which beginnings no near term has, so that all terms with them are
// passed. That makes of the sorted list what a Levenshtein automaton (Schulz and Mihov, 2002) makes of a trie. Rows are
// computed within edits of the diagonal alone. One goroutine at a time may use it.
type nearWalk struct {
	word  []rune
	edits int
	rows  [][]uint8 // by number of characters of the term
	least []uint8   // of each row
	runes []rune    // of the term
	ends  []int     // bytes of the term, by number of characters
	depth int
}

// maxNear bounds the characters of a word that near ones are searched for; longer words have none.
const maxNear = 64

// newNearWalk returns a walk, nil if the word is too long for one.
func newNearWalk(word string, edits int) *nearWalk {
	w := &nearWalk{word: []rune(word), edits: edits}
	if len(w.word) > maxNear {
		return nil
	}
	deep := len(w.word) + edits + 2
	cells := make([]uint8, deep*(len(w.word)+1))
	for i := range deep {
		w.rows = append(w.rows, cells[i*(len(w.word)+1):(i+1)*(len(w.word)+1)])
	}
	w.least, w.runes, w.ends = make([]uint8, deep), make([]rune, deep), make([]int, deep)
	for j := range w.rows[0] {
		w.rows[0][j] = uint8(j)
	}
	return w
}

// step moves to a term that shares bytes with the one before. It returns its distance, edits+1 if that is more than
// edits. dead is the length of a beginning of the term, in bytes, that no near term has, 256 if all of it may.
func (w *nearWalk) step(term []byte, shared int) (distance, dead int) {
	for w.depth > 0 && w.ends[w.depth] > shared {
		w.depth--
	}
	far := uint8(w.edits + 1)
	for at := w.ends[w.depth]; at < len(term); at = w.ends[w.depth] {
		i := w.depth + 1
		if i >= len(w.rows) {
			return w.edits + 1, at
		}
		r, n := utf8.DecodeRune(term[at:])
		w.runes[i], w.ends[i], w.depth = r, at+n, i
		row, before := w.rows[i], w.rows[i-1]
		from, to := max(0, i-w.edits), min(len(w.word), i+w.edits)
		least := far
		for j := from; j <= to; j++ {
			d := far
			if j == 0 {
				d = uint8(i)
			}
			if j < i+w.edits { // the row before ends there
				d = min(d, before[j]+1)
			}
			if j > from {
				d = min(d, row[j-1]+1)
			}
			if j > 0 {
				c := before[j-1]
				if w.word[j-1] != r {
					c++
				}
				d = min(d, c)
				if i > 1 && j > 1 && w.word[j-1] == w.runes[i-1] && w.word[j-2] == r {
					d = min(d, w.rows[i-2][j-2]+1)
				}
			}
			row[j] = d
			least = min(least, d)
		}
		// A swap reaches back two rows, so the row before counts too.
		if w.least[i] = least; least >= far && w.least[i-1]+1 >= far {
			return w.edits + 1, w.ends[i]
		}
	}
	if len(w.word) > w.depth+w.edits || w.depth > len(w.word)+w.edits {
		return w.edits + 1, 256
	}
	return int(min(w.rows[w.depth][len(w.word)], far)), 256
}
