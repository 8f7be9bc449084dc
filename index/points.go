// SPDX-License-Identifier: Apache-2.0

package index

import "math"

// points is a score in fixed point, in units of 1/pointScale. The score of a document is the sum of its terms' points:
// integers add up to the same sum in any order, so a search that skips terms and documents, takes the rarest term first
// or adds block by block gives every document the very score that a plain evaluation gives it, and ties are the same
// ties.
type points int64

const (
	// pointScale is large enough to tell any two scores apart that people could, and small enough that the sum of
	// maxTerms terms is exact as a float64.
	pointScale = 1 << 26
	// maxPoints bounds what one term adds: a score of 2^20, thousands of times what BM25F gives without a boost.
	maxPoints = 1 << 46
	// maxSum is above what a document can score: integers up to here are exact as float64.
	maxSum = 1 << 53
)

// averages returns the average lengths of the fields, in words, at least 1. They are rounded to 32 steps from one power
// of two to the next, as documents' lengths are coded: what depends on them, such as held words, is the same while a
// crawl adds pages.
func (c *collection) averages() (a [fieldCount]float64) {
	const step = 1 << (52 - 5) // in a float64's bits
	for f := range a {
		v := math.Float64bits(max(float64(c.totals[f])/max(float64(c.docs), 1), 1))
		a[f] = math.Float64frombits((v + step/2) &^ (step - 1))
	}
	return a
}

// weights returns what an occurrence adds to the weighted frequency of BM25F, by field and coded length. It depends on
// the averages of the collection alone, so a state has one table.
func (c *collection) weights() *impactTable {
	a := c.averages()
	return newImpactTable(&a)
}

// idf returns the weight of a term that df of the collection's documents have (Robertson and Zaragoza 2009, with the
// 1 + of Lucene, which keeps it positive).
func (c *collection) idf(df uint64) float64 {
	n, d := float64(c.docs), float64(min(df, c.docs))
	return math.Log(1 + (n-d+0.5)/(d+0.5))
}

// gain turns weighted frequencies of a term into points: it is the score that a term approaches as it repeats, in units
// of points.
type gain float64

// newGain makes the gain of a term of df documents, with a factor of the query.
func newGain(c *collection, df uint64, boost float64) gain {
	return gain(c.idf(df) * boost * (k1 + 1) * pointScale)
}

// frequency returns a weighted frequency up to which points are less than p; 0 if there is none. It is below the
// largest such by more than rounding adds.
func (g gain) frequency(p points) float64 {
	x := float64(p-2)/float64(g) - 1e-12
	switch {
	case x <= 0 || g <= 0:
		return 0
	case x >= 1:
		return math.MaxFloat64
	}
	return k1 * x / (1 - x)
}

// points saturates a weighted frequency (BM25). The result never falls when tf rises, rounding included, because each
// step keeps order: so the points of a bound are a bound of the points. tf may be infinite.
func (g gain) points(tf float64) points {
	if tf <= 0 {
		return 0
	}
	p := float64(float64(g) * (1 - k1/(k1+tf)))
	if p >= maxPoints {
		return maxPoints
	}
	return points(p + 0.5)
}
