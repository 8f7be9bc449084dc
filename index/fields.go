// SPDX-License-Identifier: Apache-2.0

package index

import "math"

// The fields of a document. Numbers are on disk.
const (
	fieldBody = iota
	fieldTitle
	fieldAnchor
	fieldURL
	fieldAround // words of the page around its main content: menus, footers, banners
	fieldCount
)

// BM25F (Robertson and Zaragoza, 2009) weights a term's frequencies in the fields, normalises them by field length,
// adds them, and only then saturates the sum, so a word in title and body does not count as two words. The weights were
// tuned manually on software manuals, where titles name the thing and anchors say what others call it. A word around
// the content counts half as much as one in it: then a page can still be found by its menu if no page is about the
// word, and content that was mistaken for a menu is not lost.
var (
	fieldWeight = [fieldCount]float64{1, 5, 3, 2, 0.5}
	fieldB      = [fieldCount]float64{0.75, 0.5, 0.4, 0.3, 0.75}
)

// oldFields is the number of fields in index segments that do not state it. They are of format version 4 and before,
// where words around the content counted as body.
const oldFields = fieldAround

const k1 = 1.2

// lengths are the word counts of a document's fields.
type lengths [fieldCount]uint16

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

// scorer computes the score of one term.
type scorer struct {
	idf     float64
	boost   float64 // the query's
	average [fieldCount]float64
}

func newScorer(c *collection, df uint64) scorer {
	n := float64(c.docs)
	s := scorer{boost: 1, idf: math.Log(1 + (n-float64(df)+0.5)/(float64(df)+0.5))}
	for f := range s.average {
		s.average[f] = max(float64(c.totals[f])/max(n, 1), 1)
	}
	return s
}

// tf is the sum of a term's frequencies, weighted and normalised by the lengths of the fields.
func (s *scorer) tf(freqs *[fieldCount]uint32, l *lengths) (tf float64) {
	for f, n := range freqs {
		if n > 0 {
			tf += fieldWeight[f] * float64(n) / (1 - fieldB[f] + fieldB[f]*float64(l[f])/s.average[f])
		}
	}
	return tf
}

// of saturates the sum of frequencies.
func (s *scorer) of(tf float64) float64 { return s.boost * s.idf * tf * (k1 + 1) / (k1 + tf) }
