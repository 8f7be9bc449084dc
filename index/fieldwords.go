// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"slices"
	"strings"

	"github.com/seine-crawler/seine/storage"
)

// The words of stored fields are no part of the vocabulary that lexicons hold: what a prefix or a fuzzy word in such a
// field stands for is read from the dictionary.

// fieldWords returns the words of a field that begin so, or are near: the nearest maxForms of them in the order of
// terms, whatever index segments they are in.
func (s *expander) fieldWords(n *node) ([]foundWord, error) {
	prefix := n.term
	if n.kind == nodeFuzzy {
		prefix = n.term[:fuzzyPrefix(n.term)]
	}
	var out []foundWord
	order := func(a, b foundWord) int {
		return cmp.Or(cmp.Compare(a.edits, b.edits), strings.Compare(a.term, b.term))
	}
	for _, seg := range s.st.segments {
		err := seg.terms(s.st.snap, prefix, s.work, func(term string) {
			edits := 0
			if n.kind == nodeFuzzy {
				edits = distance(n.term, term, n.edits)
			}
			if edits <= n.edits {
				out = append(out, foundWord{term: term, edits: edits})
			}
			if len(out) > 16*maxForms {
				out = nearest(out, order)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return nearest(out, order), nil
}

// nearest returns the first maxForms words, each once.
func nearest(list []foundWord, order func(a, b foundWord) int) []foundWord {
	slices.SortFunc(list, order)
	list = slices.Compact(list)
	return list[:min(len(list), maxForms)]
}

// termUnit is how many terms of a vocabulary cost as much as a decoded block.
const termUnit = 8

// terms calls fn with each term of an index segment that has a prefix, in order, until the budget is over.
func (seg *segment) terms(rd storage.Reader, prefix string, work *budget, fn func(term string)) error {
	terms := seg.vocabulary(rd, []byte(prefix), after([]byte(prefix)))
	defer terms.Close()
	for i := 0; terms.Next() && (i%termUnit != 0 || work.spend(1)); i++ {
		fn(string(terms.Term()))
	}
	return terms.Err()
}

// distance returns how many characters must be inserted, removed, replaced or swapped with their neighbor to make b of
// a (the optimal string alignment distance), or most+1 if that are more than most.
func distance(a, b string, most int) int {
	x, y := []rune(a), []rune(b)
	if len(x) > len(y)+most || len(y) > len(x)+most {
		return most + 1
	}
	var before, row []int
	next := make([]int, len(y)+1)
	for j := range next {
		next[j] = j
	}
	for i := range x {
		before, row, next = row, next, make([]int, len(y)+1)
		next[0] = i + 1
		best := next[0]
		for j := range y {
			d := row[j]
			if x[i] != y[j] {
				d++
			}
			d = min(d, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				d = min(d, before[j-1]+1)
			}
			next[j+1] = d
			best = min(best, d)
		}
		if best > most+1 {
			return most + 1
		}
	}
	return min(next[len(y)], most+1)
}
