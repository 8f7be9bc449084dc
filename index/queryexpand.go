// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/seine-crawler/seine/index/analysis"
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
	case nodePrefix, nodeFuzzy:
		if strings.HasPrefix(n.term, fieldTermMark) {
			found, err = s.fieldWords(n)
		} else {
			found, err = s.vocabulary(n)
		}
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

// vocabulary looks a prefix or a fuzzy word up in the vocabulary, until the search is to end. What it finds comes back
// in an order that does not depend on frequencies, so that neither do scores, which are sums.
func (s *expander) vocabulary(n *node) (found []foundWord, err error) {
	if !s.work.spend(readUnits) {
		return nil, nil
	}
	v := &words{x: s.st.index, st: s.st, ctx: s.work.ctx, deadline: s.work.deadline, rare: true}
	if n.kind == nodePrefix {
		found, err = v.expandPrefix(n.term, maxForms)
	} else {
		found, err = v.expandFuzzy(n.term, n.edits, maxForms)
	}
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
	others, ok := s.st.forms.get(n.term)
	if !ok {
		var err error
		if others, err = s.otherForms(n.term); err != nil {
			return nil, err
		}
	}
	if len(others) == 0 {
		return n, nil
	}
	out := *n
	out.kind = nodeAny
	nodes := make([]node, 1+len(others))
	out.children = make([]*node, len(nodes))
	for i := range nodes {
		nodes[i] = node{kind: nodeTerm, term: n.term, fields: n.fields, weight: 1}
		if i > 0 {
			nodes[i].term, nodes[i].weight = others[i-1], otherForm
		}
		out.children[i] = &nodes[i]
	}
	return &out, nil
}

// otherForms returns the other forms of a word, sorted, and keeps them: the state's index segments are the same to its
// end.
func (s *expander) otherForms(term string) ([]string, error) {
	found := map[string]bool{}
	var list []string
	var stem []byte
	for _, lang := range s.st.spoken {
		stem, list = s.stemmer.Stem(stem[:0], lang, []byte(term)), list[:0]
		for _, seg := range s.st.segments {
			if seg.spoken>>(lang&63)&1 == 0 {
				continue // its documents have no forms of this language
			}
			if !s.work.spend(readUnits) {
				break
			}
			var err error
			if list, err = seg.forms(s.st.snap, lang, stem, list); err != nil {
				return nil, err
			}
		}
		for _, f := range list {
			if f != term && !found[f] && analysis.Related(lang, term, f) {
				found[f] = true
			}
		}
		itself := string(stem) // no row names it
		if itself == term || found[itself] || !analysis.Related(lang, term, itself) {
			continue
		}
		var err error
		if found[itself], err = s.isWordOf(itself, lang); err != nil {
			return nil, err
		}
	}
	maps.DeleteFunc(found, func(_ string, is bool) bool { return !is })
	others := slices.Sorted(maps.Keys(found))
	others = others[:min(len(others), maxForms-1)]
	if !s.work.over {
		size := len(term) + recentBytes
		for _, f := range others {
			size += len(f) + 16
		}
		s.st.forms.add(term, others, int64(size))
	}
	return others, nil
}

// isWordOf reports whether a stem is a word of a language: whether a document in it has the word. A stem need not be
// one, and may be a word of another language: one Hungarian page made "national" find "nat", and "period" find "per".
// English stems count as words: a page that states no language is taken for English, and columns tell none.
func (s *expander) isWordOf(stem string, lang analysis.Language) (bool, error) {
	if lang == analysis.English {
		return true, nil
	}
	for _, seg := range s.st.segments {
		spoken := seg.spokenIn(lang)
		if spoken == 0 || !s.work.spend(readUnits) {
			continue
		}
		l, err := seg.openList(s.st.snap, stem)
		if err != nil {
			return false, err
		}
		if l == nil {
			continue
		}
		if spoken <= rareMax {
			docs, known, err := seg.rare(s.st.snap, lang, s.work)
			if err != nil {
				return false, err
			}
			if known {
				if s.meetOne(l, seg, docs) {
					return true, nil
				}
				continue
			}
		}
		if s.meet(l, s.filterOf(seg, lang)) {
			return true, nil
		}
	}
	return false, nil
}

// filterOf returns the filter of a language.
func (s *expander) filterOf(seg *segment, lang analysis.Language) *valueIter {
	n := &node{kind: nodeValue, value: valueLanguage}
	for code := range seg.info.Languages {
		if analysis.LanguageOf(code) == lang {
			n.add(code)
		}
	}
	p := &part{docs: seg.info.Docs, dead: seg.dead}
	p.column = func(letter byte, block uint32, dst *columnBlock) error {
		return seg.readColumn(s.st.snap, letter, block, dst)
	}
	return newValueIter(n, p, s.work)
}

// meet reports whether a document that is not deleted is in a list and fits a filter.
func (s *expander) meet(l list, it *valueIter) bool {
	c := newCursor(l, it.part.docs, s.work)
	defer func() {
		c.reset(nil, nil)
		cursorPool.Put(c)
	}()
	for doc := c.seek(0); doc != end; {
		fits := it.seek(doc)
		if fits == doc && it.part.alive(doc) {
			return true
		}
		if fits == end {
			return false
		}
		doc = c.seek(max(fits, doc+1))
	}
	return false
}
