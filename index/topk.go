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
	// language is that of all documents; "" if there are several, or none.
	language string
	open     func(term string) (list, error)
	keys     func(from, to string) (first, behind uint32, err error)       // documents with keys of an interval
	hostKeys func(from, to string, work *budget) ([]urlkey.HostKey, error) // hosts with keys of an interval
	key      func(doc uint32) (urlkey.Key, error)
	column   func(letter byte, block uint32, dst *columnBlock) error
	// columnOf is column of the documents whose bits are set; the numbers of others are any.
	columnOf func(letter byte, block uint32, bits []uint64, dst *columnBlock) error
	value    func(letter byte, doc uint32) (uint64, error) // one value of a column
	text     func(letter byte, doc uint32) (string, error) // of a column of texts
	hosts    func(work *budget) (*hostTable, error)        // nil: the budget is over
	lists    func(from, to string, work *budget) *rowLists // of an interval of terms, to exclusive
	freqs    *recent[uint64]                               // used if there are deleted documents
	held     *heldWords                                    // nil: none
}

func (p *part) alive(doc uint32) bool { return p.dead == nil || p.dead[doc>>6]&(1<<(doc&63)) == 0 }

// candidate is a document among the best so far.
type candidate struct {
	order int64   // what comes before the score; 0 unless SearchOptions.Order asks for a value
	score float64 // base times the document's boost and freshness; finite
	base  float64 // of the words, times gain
	gain  gained  // by the second phase
	part  *part
	doc   uint32
	key   urlkey.Key // "" until it is needed

	host, group uint64 // where hits of one are limited: hostID, Document.Group
	known       bool   // host and group have been read
	more        int    // matches of the host that were left out
	same        int    // near-duplicates that were left out for it
}

// topK keeps the best k candidates, by order, falling score and then by key, with a heap of their places in which the
// worst of them is first: a place is a thirtieth of a candidate, and offering these was a tenth of a search for two
// words. Numbers of documents are in the order of keys within a segment, so a key is read only where candidates of two
// segments tie. It takes segments one after the other, each in the order of documents.
type topK struct {
	k     int
	best  []candidate
	heap  []int32 // places in best
	crowd *crowd  // in place of best where hosts or groups have a limit
	work  *budget

	floor   *floor     // of goroutines side by side; nil: there are none
	fresh   *freshness // nil: off
	now     *part      // the segment that is searched
	factors factors
	most    float64 // of factors
	// A document of it with this order and score lost to the worst by key, as all that follow with them will.
	lostOrder int64
	lostAt    float64
}

// begin announces the documents of a segment.
func (t *topK) begin(p *part) {
	t.now, t.factors, t.lostAt = p, newFactors(p, t.fresh, t.work), -1
	t.most = t.factors.most()
}

// worst returns the worst of the best, nil as long as there are fewer than k.
func (t *topK) worst() *candidate {
	switch {
	case t.crowd != nil:
		return t.crowd.worst(t.k)
	case len(t.best) < t.k || t.k == 0:
		return nil
	}
	return &t.best[t.heap[0]]
}

// need returns the least points that a further document of the segment must have to be among the best: a document with
// less cannot be; one with as many may be.
func (t *topK) need() points {
	if t.k == 0 {
		return math.MaxInt64
	}
	worst, score := t.worst(), t.floor.score()
	if worst != nil {
		score = max(score, worst.score)
	}
	least := math.Ceil(score / t.most * pointScale)
	switch {
	case score == 0 && worst == nil:
		return 0
	case least > maxSum:
		return maxSum + 1
	case t.most > 1:
		return points(least) - 2 // for rounding
	case worst != nil && score == worst.score && least == score*pointScale && t.tieLoses(worst):
		return points(least) + 1
	}
	return points(least)
}

// tieLoses reports whether further documents of the segment with the worst candidate's order and score come after it by
// key.
func (t *topK) tieLoses(worst *candidate) bool {
	return worst.part == t.now || worst.score == t.lostAt && worst.order == t.lostOrder
}

// loses reports whether a candidate of the segment is not among the best.
func (t *topK) loses(c *candidate) bool {
	worst := t.worst()
	switch {
	case t.k == 0:
		return true
	case worst == nil:
		return false
	case c.order != worst.order:
		return c.order < worst.order
	case c.score != worst.score:
		return c.score < worst.score
	case t.tieLoses(worst):
		return true
	case t.rank(c, worst) > 0:
		t.lostOrder, t.lostAt = c.order, c.score
		return true
	}
	return false
}

// offer takes a document, which is alive, if it is among the best. Documents come in order.
func (t *topK) offer(doc uint32, p points) { t.offerOrdered(doc, 0, p) }

// offerOrdered is offer of a document whose value comes before its score.
func (t *topK) offerOrdered(doc uint32, order int64, p points) {
	c := candidate{order: order, base: float64(p) / pointScale, part: t.now, doc: doc}
	c.score = t.factors.score(doc, c.base)
	switch {
	case t.loses(&c):
	case t.crowd != nil:
		t.crowd.add(t, &c)
	default:
		t.put(&c)
	}
	if t.floor != nil {
		if worst := t.worst(); worst != nil {
			t.floor.raise(worst.score)
		}
	}
}

// take takes a candidate that another topK of the same size kept.
func (t *topK) take(c *candidate) {
	if worst := t.worst(); t.k > 0 && (worst == nil || t.rank(c, worst) < 0) {
		t.put(c)
	}
}

// put takes a candidate, in place of the worst if there are k.
func (t *topK) put(c *candidate) {
	if len(t.best) < t.k {
		if t.best == nil {
			n := min(t.k, rerankDocs)
			t.best, t.heap = make([]candidate, 0, n), make([]int32, 0, n)
		}
		t.heap = append(t.heap, int32(len(t.best)))
		t.best = append(t.best, *c)
		t.up()
		return
	}
	t.best[t.heap[0]] = *c
	t.down()
}

// rank compares two candidates: below 0 when a comes before b in the result.
func (t *topK) rank(a, b *candidate) int {
	if a.order != b.order {
		return cmp.Compare(b.order, a.order)
	}
	switch { // scores are finite
	case a.score > b.score:
		return -1
	case a.score < b.score:
		return 1
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

// up restores the heap after its last place came.
func (t *topK) up() {
	i := len(t.heap) - 1
	at := t.heap[i]
	for i > 0 {
		above := (i - 1) / 2
		if t.rank(&t.best[t.heap[above]], &t.best[at]) > 0 {
			break
		}
		t.heap[i] = t.heap[above]
		i = above
	}
	t.heap[i] = at
}

// down restores the heap after its first candidate changed.
func (t *topK) down() {
	i, at := 0, t.heap[0]
	for {
		worst := 2*i + 1
		if worst >= len(t.heap) {
			break
		}
		if next := worst + 1; next < len(t.heap) && t.rank(&t.best[t.heap[next]], &t.best[t.heap[worst]]) > 0 {
			worst = next
		}
		if t.rank(&t.best[t.heap[worst]], &t.best[at]) <= 0 {
			break
		}
		t.heap[i] = t.heap[worst]
		i = worst
	}
	t.heap[i] = at
}

// sorted returns the best k candidates, best first. The heap ends with it.
func (t *topK) sorted() []candidate {
	if t.crowd != nil {
		t.best = t.crowd.all(t.best[:0])
		sortCandidates(t.best, t.rank)
		return t.best
	}
	arrange(t.best, t.heap, t.rank)
	t.heap = nil
	return t.best
}

// sortCandidates sorts candidates.
func sortCandidates(best []candidate, rank func(a, b *candidate) int) {
	places := make([]int32, len(best))
	for i := range places {
		places[i] = int32(i)
	}
	arrange(best, places, rank)
}

// arrange sorts candidates, of which it has the places in any order. A place is a thirtieth of a candidate, which is
// moved once.
func arrange(best []candidate, places []int32, rank func(a, b *candidate) int) {
	slices.SortFunc(places, func(a, b int32) int { return rank(&best[a], &best[b]) })
	for i := range places { // each cycle of places is moved round
		first, at := best[i], i
		for from := int(places[at]); from != i; at, from = from, int(places[from]) {
			best[at] = best[from]
			places[at] = int32(at)
		}
		best[at], places[at] = first, int32(at)
	}
}
