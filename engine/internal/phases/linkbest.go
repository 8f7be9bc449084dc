// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"cmp"
	"math"
	"slices"
)

// RankedNode is a node with its rank.
type RankedNode struct {
	Name string // a key, a host key, or the common prefix of a domain's keys
	Rank float64
}

// bestNodes keeps the nodes with the highest ranks, at most most, of equal ones the first by name. It holds up to twice
// as many and sorts when these are full: to keep them in order would move half of them for each node.
type bestNodes struct {
	most  int
	list  []RankedNode
	least float64 // a node of a lower or the same rank is not among them
}

func newBestNodes(most int) bestNodes { return bestNodes{most: most, least: math.Inf(-1)} }

// add adds a node. They come in the order of their names.
func (b *bestNodes) add(rank float64, name func() []byte) {
	if b.most == 0 || rank <= b.least {
		return
	}
	b.list = append(b.list, RankedNode{string(name()), rank})
	if len(b.list) == 2*b.most {
		b.list = b.sorted()
		b.least = b.list[b.most-1].Rank
	}
}

// sorted returns the nodes, best first.
func (b *bestNodes) sorted() []RankedNode {
	slices.SortStableFunc(b.list, func(x, y RankedNode) int { return cmp.Compare(y.Rank, x.Rank) })
	return b.list[:min(len(b.list), b.most)]
}
