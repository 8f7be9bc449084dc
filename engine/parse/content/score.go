// SPDX-License-Identifier: Apache-2.0

package content

import (
	"cmp"
	"math"
	"slices"
)

// pageKinds is the number of types of pages: article, collection, documentation, forum, listing, product, service.
const pageKinds = 7

// Select ends the last block and returns all blocks of the page, scored and marked as content or not. text is the
// page's whole text. Blocks do not begin with white space. They are valid until the outline is used again.
func (o *Outline) Select(text []byte) []Block {
	o.Cut(text)
	o.judge(trained)
	least := o.threshold()
	o.out = o.out[:0]
	for i := range o.blocks {
		b := &o.blocks[i]
		from := int(b.from)
		for from < int(b.to) && (text[from] == '\n' || text[from] == ' ') {
			from++
		}
		o.out = append(o.out, Block{
			From: from, To: int(b.to), Score: o.scores[b.group], Content: o.groups[b.group].chance >= least,
		})
	}
	return o.out
}

// judge scores the groups into o.scores and sets their chances.
func (o *Outline) judge(m *models) {
	o.survey()
	o.scores, o.order = o.scores[:0], o.order[:0]
	if len(o.groups) == 0 {
		return
	}
	var types [pageKinds]float32
	m.types.classes(&types, o.page)
	o.answers = slices.Grow(o.answers[:0], len(m.groups.borders))[:len(m.groups.borders)]
	for from := 0; from < len(o.groups); from += rowsHeld {
		rows := min(rowsHeld, len(o.groups)-from)
		width := o.measure(from, from+rows)
		stride := width + pageKinds
		for i := range rows {
			copy(o.features[i*stride+width:], types[:])
		}
		o.scores = m.groups.scores(o.scores, o.answers, o.features, rows, stride)
	}
	o.setChances()
}

// setChances sets the groups' probabilities of being content from o.scores, and sorts the groups by them into o.order.
func (o *Outline) setChances() {
	o.order = o.order[:0]
	for i := range o.groups {
		o.groups[i].chance = float32(1 / (1 + math.Exp(-float64(o.scores[i]))))
		o.order = append(o.order, int32(i))
	}
	slices.SortStableFunc(o.order, func(a, b int32) int { return cmp.Compare(o.groups[b].chance, o.groups[a].chance) })
}

// shareSure makes threshold take a little less than what may be expected to be best: on unseen pages this is better,
// because groups of small chances together are not as much content as they say.
const shareSure = 0.85

// threshold returns the chance from which a group is content: that of the groups that, taken together, have the best F1
// measure that can be expected. If S words are taken of which C may be expected to be content, and all the page may be
// expected to have G words of content, it is 2C/(S+G) (after Lewis, "Evaluating and optimizing autonomous text
// classification systems", 1995).
func (o *Outline) threshold() (cut float32) {
	content := float32(0)
	for i := range o.groups {
		content += float32(o.groups[i].words) * o.groups[i].chance
	}
	best, taken, good := float32(0), float32(0), float32(0)
	for _, i := range o.order {
		g := &o.groups[i]
		taken += float32(g.words)
		good += float32(g.words) * g.chance
		if f := 2 * good / (taken + shareSure*content); f > best {
			best, cut = f, g.chance
		}
	}
	return cut
}
