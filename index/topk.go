// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"math"
	"slices"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// part is an index segment as execution sees it.
type part struct {
	number int    // place among the parts of a search
	docs   uint32 // number of documents, deleted ones included
	norms  *[fieldCount][]byte
	dead   []uint64 // a bit per deleted document; nil: none
	boosts boosts
	most   float64 // the largest boost, at least 1
	ratio  float64 // of impacts: see weigher.bound
	open   func(term string) (list, error)
	keys   func(from, to string) (first, behind uint32, err error) // documents with keys of an interval
	key    func(doc uint32) (urlkey.Key, error)
	column func(letter byte, block uint32, dst *columnBlock) error
	freqs  *freqCache // used if there are deleted documents
}

func (p *part) alive(doc uint32) bool { return p.dead == nil || p.dead[doc>>6]&(1<<(doc&63)) == 0 }

// candidate is a document among the best so far.
type candidate struct {
	score float64 // base times the document's boost and freshness; finite
	base  float64 // of the words, times gain
	gain  gained  // by the second phase
	part  *part
	doc   uint32
	key   urlkey.Key // "" until it is needed
}

// topK keeps the best k candidates, by falling score and then by key, in a heap with the worst of them first. Numbers
// of documents are in the order of keys within a segment, so a key is read only where candidates of two segments tie.
// Segments are searched one after the other, each in the order of documents.
type topK struct {
	k    int
	best []candidate
	work *budget

	fresh   *freshness // nil: off
	now     *part      // the segment that is searched
	factors factors
	most    float64 // of factors
	lostAt  float64 // a document of it with this score lost to the worst by key, as all that follow with it will
}

// begin announces the documents of a segment.
func (t *topK) begin(p *part) {
	t.now, t.factors, t.lostAt = p, newFactors(p, t.fresh, t.work), -1
	t.most = t.factors.most()
}

// need returns the least points that a further document of the segment must have to be among the best: a document with
// less cannot be; one with as many may be.
func (t *topK) need() points {
	if t.k == 0 {
		return math.MaxInt64
	}
	if len(t.best) < t.k {
		return 0
	}
	worst := &t.best[0]
	least := math.Ceil(worst.score / t.most * pointScale)
	switch {
	case least > maxSum:
		return maxSum + 1
	case t.most > 1:
		return points(least) - 2 // for rounding
	case least == worst.score*pointScale && t.tieLoses(worst):
		return points(least) + 1
	}
	return points(least)
}

// tieLoses reports whether further documents of the segment with the worst candidate's score come after it by key.
func (t *topK) tieLoses(worst *candidate) bool { return worst.part == t.now || worst.score == t.lostAt }

// offer takes a document, which is alive, if it is among the best. Documents come in order.
func (t *topK) offer(doc uint32, p points) {
	c := candidate{base: float64(p) / pointScale, part: t.now, doc: doc}
	c.score = t.factors.score(doc, c.base)
	if len(t.best) < t.k {
		t.best = append(t.best, c)
		t.up(len(t.best) - 1)
		return
	}
	if t.k == 0 || c.score < t.best[0].score || c.score == t.best[0].score && t.tieLoses(&t.best[0]) {
		return
	}
	if t.rank(&c, &t.best[0]) > 0 {
		t.lostAt = c.score
		return
	}
	t.best[0] = c
	t.down(0)
}

// rank compares two candidates: below 0 when a comes before b in the result.
func (t *topK) rank(a, b *candidate) int {
	if a.score != b.score {
		return cmp.Compare(b.score, a.score)
	}
	if a.part == b.part {
		return cmp.Compare(a.doc, b.doc)
	}
	return cmp.Compare(t.keyOf(a), t.keyOf(b))
}

// keyOf reads the key of a candidate. After an error or the deadline it is "".
func (t *topK) keyOf(c *candidate) urlkey.Key {
	if c.key == "" && t.work.spend(readUnits) {
		key, err := c.part.key(c.doc)
		if err != nil {
			t.work.fail(err)
		}
		c.key = key
	}
	return c.key
}

func (t *topK) up(i int) {
	for i > 0 {
		above := (i - 1) / 2
		if t.rank(&t.best[above], &t.best[i]) > 0 {
			return
		}
		t.best[i], t.best[above] = t.best[above], t.best[i]
		i = above
	}
}

func (t *topK) down(i int) {
	for {
		worst := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(t.best); c++ {
			if t.rank(&t.best[c], &t.best[worst]) > 0 {
				worst = c
			}
		}
		if worst == i {
			return
		}
		t.best[i], t.best[worst] = t.best[worst], t.best[i]
		i = worst
	}
}

// sorted returns the candidates, best first. The heap ends with it.
func (t *topK) sorted() []candidate {
	slices.SortFunc(t.best, func(a, b candidate) int { return t.rank(&a, &b) })
	return t.best
}
