// SPDX-License-Identifier: Apache-2.0

package index

import "slices"

// tree adds what matches of a part of a query consist of. It is the only function of the marker that knows the tree.
func (m *marker) tree(n *node) {
	switch n.kind {
	case nodePhrase:
		p := markPhrase{slop: n.slop}
		for _, c := range n.children {
			p.words = append(p.words, m.leaf(c))
		}
		for _, w := range p.words {
			p.set |= 1 << max(w, 0)
		}
		if len(p.words) > 1 && len(p.words) <= maxTerms && slices.Min(p.words) >= 0 {
			m.phrases = append(m.phrases, p)
		}
	case nodeBool:
		for _, list := range [][]*node{n.must, n.should} {
			for _, c := range list {
				m.tree(c)
			}
		}
	default:
		if w := m.leaf(n); w >= 0 {
			m.alone |= 1 << w
		}
	}
}

// leaf adds the forms of a word, and returns the word's number; -1 for a filter.
func (m *marker) leaf(n *node) int {
	switch n.kind {
	case nodeTerm:
		return m.word(n.term, false, -1)
	case nodePrefix:
		return m.word(n.term, true, -1)
	case nodeAny:
		word := -1
		for _, c := range n.children {
			if w := m.word(c.term, false, word); word < 0 {
				word = w
			}
		}
		return word
	}
	return -1
}
