// SPDX-License-Identifier: Apache-2.0

package index

// The fields of a document. Numbers are on disk.
const (
	fieldBody = iota
	fieldTitle
	fieldAnchor
	fieldURL
	fieldAround // words of the page around its main content: menus, footers, banners
	fieldHeadings
	fieldCount
)

// BM25F (Robertson and Zaragoza, 2009) weights a term's frequencies in the fields, normalises them by field length,
// adds them, and only then saturates the sum, so a word in title and body does not count as two words. The weights were
// tuned manually on software manuals, where titles name the thing and anchors say what others call it. A word around
// the content counts half as much as one in it: then a page can still be found by its menu if no page is about the
// word, and content that was mistaken for a menu is not lost. A word of a heading counts there and in the body.
var (
	fieldWeight = [fieldCount]float64{1, 6, 3, 2, 0.5, 2}
	fieldB      = [fieldCount]float64{0.45, 0.5, 0.4, 0.3, 0.45, 0.5}
)

// k1 is the weighted frequency that scores half of what ever more would. Like the weight of titles and the b of texts,
// it was tuned on the odd-numbered topics of Cranfield and CACM.
const k1 = 2

// collection holds the statistics that scores depend on, summed over all index segments, so that scores do not depend
// on how documents are spread over segments.
type collection struct {
	docs   uint64
	totals [fieldCount]uint64
}

func (c *collection) add(d collection) {
	c.docs += d.docs
	for f := range c.totals {
		c.totals[f] += d.totals[f]
	}
}
