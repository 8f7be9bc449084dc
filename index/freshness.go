// SPDX-License-Identifier: Apache-2.0

package index

import (
	"math"
	"time"
)

// freshness prefers new documents. It multiplies a document's score by 1/2 + 2^(-age/half-life), from 3/2 for a new
// document down to 1/2 for a very old one: what is new counts the more, but never instead of the words. At the age of
// one half-life it is 1, and that is the factor of a document without a date. A date in the future counts as now.
type freshness struct {
	halfLife time.Duration
	now      int64 // milliseconds since 1970
}

// freshness returns what the options ask for, nil if dates do not matter.
func (o *SearchOptions) freshness() *freshness {
	if o.Freshness <= 0 {
		return nil
	}
	now := o.Now
	if now.IsZero() {
		now = time.Now()
	}
	return &freshness{o.Freshness, now.UnixMilli()}
}

// freshMost is the largest factor.
const freshMost = 1.5

// of returns the factor of a document with a number of the date column.
func (f *freshness) of(date uint64) float64 {
	ms, ok := columnTimeMS(date)
	if !ok {
		return 1
	}
	age := max(float64(f.now)-float64(ms), 0)
	return 0.5 + math.Exp2(-age/(float64(f.halfLife)/float64(time.Millisecond)))
}

// factors gives what a part's documents multiply their scores by: boost times freshness.
type factors struct {
	part  *part
	fresh *freshness // nil: off
	dates columnBlock
	block int64 // of dates; -1: none
	work  *budget
}

func newFactors(p *part, fresh *freshness, work *budget) factors {
	return factors{part: p, fresh: fresh, block: -1, work: work}
}

// most returns an upper bound of the part's factors, at least 1.
func (f *factors) most() float64 {
	if f.fresh == nil {
		return f.part.most
	}
	return min(f.part.most*freshMost, math.MaxFloat64)
}

// of returns boost and freshness of a document. Both are 1 for none.
func (f *factors) of(doc uint32) (boost, fresh float64) {
	boost, fresh = 1, 1
	if b, ok := f.part.boosts.factor(doc); ok {
		boost = b
	}
	if f.fresh != nil && f.load(int64(doc/normDocs)) {
		fresh = f.fresh.of(f.dates.numbers[doc%normDocs])
	}
	return boost, fresh
}

// load reads a block of dates; false means that the search is to end.
func (f *factors) load(block int64) bool {
	if f.block == block {
		return true
	}
	if !f.work.spend(valueUnits) {
		return false
	}
	if err := f.part.column(columnDate, uint32(block), &f.dates); err != nil {
		f.work.fail(err)
		return false
	}
	f.block = block
	return true
}

// score returns the score of a document whose words, and the second phase, give it base. It is finite: infinity is no
// number in JSON.
func (f *factors) score(doc uint32, base float64) float64 {
	boost, fresh := f.of(doc)
	return product(base, boost, fresh)
}

// product multiplies the factors first: so it is at most base times the largest factors, rounding included.
func product(base, boost, fresh float64) float64 {
	return min(base*min(boost*fresh, math.MaxFloat64), math.MaxFloat64)
}
