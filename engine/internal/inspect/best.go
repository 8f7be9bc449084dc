// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"container/heap"
)

// ranked is a key with what it is ranked by: higher scores first, then lower depths, then lesser keys.
type ranked struct {
	key   string
	score float64
	depth uint16
}

// best keeps the best limit of the keys that it is offered. The zero value keeps none.
type best struct {
	limit int
	worst worstFirst
}

// offer keeps a key, in place of the worst if there is no room, unless that is better.
func (b *best) offer(key []byte, score float64, depth uint16) {
	if len(b.worst) < b.limit {
		heap.Push(&b.worst, ranked{string(key), score, depth})
		return
	}
	if b.limit <= 0 || !b.worst[0].worse(key, score, depth) {
		return
	}
	b.worst[0] = ranked{string(key), score, depth}
	heap.Fix(&b.worst, 0)
}

// worse reports whether x ranks below a key, without making that a string.
func (x *ranked) worse(key []byte, score float64, depth uint16) bool {
	if x.score != score {
		return x.score < score
	}
	if x.depth != depth {
		return x.depth > depth
	}
	return x.key > string(key)
}

// sorted empties b and returns what it kept, best first.
func (b *best) sorted() []ranked {
	list := make([]ranked, len(b.worst))
	for i := len(list) - 1; i >= 0; i-- {
		list[i] = heap.Pop(&b.worst).(ranked)
	}
	return list
}

// worstFirst is a heap whose top is the key to give up next.
type worstFirst []ranked

func (h worstFirst) Len() int      { return len(h) }
func (h worstFirst) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h worstFirst) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].score, h[j].score), cmp.Compare(h[j].depth, h[i].depth),
		cmp.Compare(h[j].key, h[i].key)) < 0
}
func (h *worstFirst) Push(x any) { *h = append(*h, x.(ranked)) }
func (h *worstFirst) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
