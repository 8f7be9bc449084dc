// SPDX-License-Identifier: Apache-2.0

package index

// tree adds what matches of a part of a query consist of. It is the only function of the marker that knows the tree.
func (m *marker) tree(n *node, phrase bool) {
	switch n.kind {
	case nodeNot, nodeSite:
	case nodeTerm:
		if w := m.word(n.term, false, -1); w >= 0 && !phrase {
			m.alone |= 1 << w
		}
	case nodePhrase:
		var p markPhrase
		for _, c := range n.children {
			m.tree(c, true)
			p.words = append(p.words, m.word(c.term, false, -1))
		}
		if len(p.words) > 1 && len(p.words) <= maxTerms {
			m.phrases = append(m.phrases, p)
		}
	default:
		for _, c := range n.children {
			m.tree(c, phrase)
		}
	}
}
