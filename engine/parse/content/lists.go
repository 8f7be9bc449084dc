// SPDX-License-Identifier: Apache-2.0

package content

// list is the boxes of one parent with the same kind and class: the posts of a thread, the cards of a shop, the entries
// of a menu. Boxes without text do not count.
type list struct {
	sum
	names       uint32
	n           int32
	first, last int32 // boxes
	next        int32 // another list of the same parent, an earlier one; 0 for none
}

const (
	// maxLists bounds the lists of a parent that are searched for a box's. A list further back begins again.
	maxLists = 8
	// leastList is the length from which a list is more than chance.
	leastList = 3
)

// list puts the boxes into lists and finds the one with most words, o.main. Lists count from 1: list 0 is none.
func (o *Outline) list() {
	o.lists = append(o.lists[:0], list{})
	o.boxes[0].lists, o.main = 0, 0
	for i := 1; i < len(o.boxes); i++ {
		b := &o.boxes[i]
		b.list, b.lists = 0, 0
		if b.sum.words == 0 {
			continue
		}
		parent := &o.boxes[b.parent]
		at := parent.lists
		for tried := 1; at > 0 && o.lists[at].names != b.names; tried++ {
			if at = o.lists[at].next; tried == maxLists {
				at = 0
			}
		}
		if at == 0 {
			at = int32(len(o.lists))
			o.lists = append(o.lists, list{names: b.names, first: int32(i), next: parent.lists})
			parent.lists = at
		}
		l := &o.lists[at]
		l.plus(&b.sum)
		l.n++
		l.last, b.list = int32(i), at
	}
	for i := range o.lists {
		if l := &o.lists[i]; l.n > leastList && l.words > o.lists[o.main].words {
			o.main = int32(i)
		}
	}
}

// listed appends features of a group's lists, those of the boxes around it: the innermost, the longest and the
// outermost; and where it is beside the page's largest list.
func (o *Outline) listed(f []float32, g *group, at int32, page *sum) []float32 {
	x, head := &o.boxes[at], &o.groups[g.head]
	var found [3]int32 // boxes in the innermost, the longest and the outermost list
	inMain := false
	for up := at; up > 0; up = o.boxes[up].parent {
		in := o.boxes[up].list
		l := &o.lists[in]
		if l.n < leastList {
			continue
		}
		if found[0] == 0 {
			found[0], found[1] = up, up
		}
		if l.n > o.lists[o.boxes[found[1]].list].n {
			found[1] = up
		}
		found[2] = up
		inMain = inMain || in == o.main
	}
	for _, up := range found {
		if up == 0 {
			f = append(f, -1, -1, -1, -1, -1, -1, -1, -1, -1)
			continue
		}
		b := &o.boxes[up]
		l := &o.lists[b.list]
		f = append(f, float32(l.n), part(head.all, l.n), part(head.allWords, l.words),
			float32(x.depth-b.depth), float32(b.kind),
			part(l.words, l.n), part(l.words, page.words), part(l.linked, l.bytes), part(l.money, l.n))
	}
	side := float32(0)
	switch main := &o.lists[o.main]; {
	case o.main == 0 || inMain:
	case at < main.first:
		side = -1
	default:
		side = 1
	}
	return append(f, side, flag(inMain))
}

// mainList appends features of the page's largest list.
func (o *Outline) mainList(f []float32, page *sum) []float32 {
	l := &o.lists[o.main]
	if o.main == 0 {
		return append(f, 0, 0, 0, 0, 0, 0, 0)
	}
	return append(f, float32(l.n), part(l.words, l.n), part(l.words, page.words), part(l.linked, l.bytes),
		part(l.money, l.n), part(l.ends, l.words), float32(o.boxes[l.first].kind))
}
