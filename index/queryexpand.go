// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/seine-crawler/seine/index/analysis"
	"github.com/seine-crawler/seine/storage"
)

// expander puts the terms of an index in place of the words of a query. It spends from the search's budget; when that
// is over, it expands no more.
type expander struct {
	st      *state
	work    *budget
	stemmer analysis.Stemmer
}

// expand returns a tree with the terms of this index in place of words: the forms of a word, and those that a prefix or
// a fuzzy word stands for. It changes nothing of n.
func (s *expander) expand(n *node) (*node, error) {
	if n == nil {
		return nil, nil
	}
	out := *n
	for _, list := range []*[]*node{&out.must, &out.should, &out.not, &out.children} {
		*list = slices.Clone(*list)
		for i, c := range *list {
			var err error
			if (*list)[i], err = s.expand(c); err != nil {
				return nil, err
			}
		}
	}
	var found []foundWord
	var err error
	switch n.kind {
	case nodeTerm:
		if strings.HasPrefix(n.term, fieldTermMark) {
			return &out, nil
		}
		return s.word(&out)
	case nodePrefix:
		found, err = s.vocabulary(func(v *words) ([]foundWord, error) { return v.expandPrefix(n.term, maxForms) })
	case nodeFuzzy:
		found, err = s.vocabulary(func(v *words) ([]foundWord, error) {
			return v.expandFuzzy(n.term, n.edits, maxForms)
		})
	default:
		return &out, nil
	}
	out.kind = nodeAny
	for _, w := range found {
		weight := 1.0
		if w.edits > 0 {
			weight = otherForm
		}
		out.children = append(out.children, &node{kind: nodeTerm, term: w.term, fields: n.fields, weight: weight})
	}
	return &out, err
}

// vocabulary looks words up in the vocabulary, until the search is to end. They come back in an order that does not
// depend on their frequencies, so that neither do scores, which are sums.
func (s *expander) vocabulary(look func(*words) ([]foundWord, error)) ([]foundWord, error) {
	if !s.work.spend(readUnits) {
		return nil, nil
	}
	v := &words{x: s.st.index, st: s.st, ctx: s.work.ctx, deadline: s.work.deadline, rare: true}
	found, err := look(v)
	s.work.over = s.work.over || v.partial
	slices.SortFunc(found, func(a, b foundWord) int {
		return cmp.Or(cmp.Compare(a.edits, b.edits), strings.Compare(a.term, b.term))
	})
	return found, err
}

// otherForm is the weight of a word that differs from the one typed.
const otherForm = 0.7

// word returns a word with its other forms in the languages of the index; a word without any as it is.
func (s *expander) word(n *node) (*node, error) {
	found := map[string]bool{}
	var list []string
	var stem []byte
	for _, lang := range s.st.languages() {
		stem = s.stemmer.Stem(stem[:0], lang, []byte(n.term))
		list = append(list[:0], string(stem)) // no row names the stem itself
		for _, seg := range s.st.segments {
			if !s.work.spend(readUnits) {
				break
			}
			var err error
			if list, err = seg.forms(s.st.snap, lang, stem, list); err != nil {
				return nil, err
			}
		}
		for _, f := range list {
			if f != n.term && analysis.Related(lang, n.term, f) {
				found[f] = true
			}
		}
	}
	if len(found) == 0 {
		return n, nil
	}
	others := slices.Sorted(maps.Keys(found))
	out := *n
	out.kind = nodeAny
	out.children = []*node{{kind: nodeTerm, term: n.term, fields: n.fields, weight: 1}}
	for _, f := range others[:min(len(others), maxForms-1)] {
		out.children = append(out.children, &node{kind: nodeTerm, term: f, fields: n.fields, weight: otherForm})
	}
	return &out, nil
}

// form is a word of the vocabulary and how far it is from the one typed.
type form struct {
	term  string
	edits int
}

// forms returns the terms with a prefix that match, the nearest maxForms of them in the order of terms, whatever index
// segments they are in.
func (s *expander) forms(prefix string, match func(term string) (edits int, ok bool)) ([]form, error) {
	var out []form
	order := func(a, b form) int { return cmp.Or(cmp.Compare(a.edits, b.edits), strings.Compare(a.term, b.term)) }
	for _, seg := range s.st.segments {
		err := seg.terms(s.st.snap, prefix, s.work, func(term string) {
			if edits, ok := match(term); ok {
				out = append(out, form{term, edits})
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

// nearest returns the first maxForms forms, each once.
func nearest(list []form, order func(a, b form) int) []form {
	slices.SortFunc(list, order)
	list = slices.Compact(list)
	return list[:min(len(list), maxForms)]
}

// termUnit is how many terms of a vocabulary cost as much as a decoded block.
const termUnit = 8

// terms calls fn with each term of an index segment that has a prefix, in order, until the budget is over.
func (seg *segment) terms(rd storage.Reader, prefix string, work *budget, fn func(term string)) error {
	return seg.termsBetween(rd, []byte(prefix), after([]byte(prefix)), work, fn)
}

// termsBetween is terms of an interval: from is inclusive, to exclusive, nil for no end.
func (seg *segment) termsBetween(rd storage.Reader, from, to []byte, work *budget, fn func(term string)) error {
	terms := seg.vocabulary(rd, from, to)
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
