// SPDX-License-Identifier: Apache-2.0

package policy

import "math"

// scoreGrid is the number of steps in a score of 1 that VoteScorer distinguishes. Multiples of 2^-16 add up exactly in
// a float64 (up to 2^37), so a sum does not depend on the order of its terms. Storage keeps such scores exactly, in few
// bytes.
const scoreGrid = 1 << 16

// VoteScorer is the default. Each page has one vote. It casts it at its first successful fetch and splits it evenly
// among its distinct links. A record's score is its seed score plus the votes for it.
//
// Why not OPIC, as in Nutch: there a page passes on the score that it has when it is fetched. The result depends on the
// order of fetches, two runs of one crawl differ, a crash changes scores, and each refetch inflates them without bound.
// One vote per page is the first step of PageRank from a uniform start. It needs no second pass, and the same web has
// the same scores whatever the order, the segment size or the number of restarts. Tests rely on that.
type VoteScorer struct {
	Internal, External float64 // weights of links within a host and between hosts; 0 means 1
}

// Inject returns given, rounded to the score grid.
func (s VoteScorer) Inject(given float64) float64 { return onGrid(given) }

// Distribute returns 1/p.Links of a vote times the weight, or 0 if the page has voted before.
func (s VoteScorer) Distribute(p Page, internal bool) float64 {
	if !p.First || p.Links == 0 {
		return 0
	}
	return onGrid(weight(internal, s.Internal, s.External) / float64(p.Links))
}

// Update adds the votes.
func (s VoteScorer) Update(old, sum float64) float64 { return old + sum }

// OPICScorer is Nutch's scoring-opic: a page with score s gives s/n to each of its n links and keeps s. Scores grow
// with every refetch and depend on the order of fetches. It exists for comparisons with Nutch.
type OPICScorer struct {
	Internal, External float64 // db.score.link.internal and .external: weights of links; 0 means 1
}

// Inject returns given.
func (s OPICScorer) Inject(given float64) float64 { return given }

// Distribute returns the page's score divided by the number of its links, times the weight.
func (s OPICScorer) Distribute(p Page, internal bool) float64 {
	if p.Links == 0 {
		return 0
	}
	return p.Score * weight(internal, s.Internal, s.External) / float64(p.Links)
}

// Update adds the links' scores.
func (s OPICScorer) Update(old, sum float64) float64 { return old + sum }

func weight(internal bool, in, ex float64) float64 {
	w := ex
	if internal {
		w = in
	}
	if w == 0 {
		return 1
	}
	return w
}

// onGrid rounds to the score grid. NaN and negative numbers become 0, large ones at most 2^32.
func onGrid(v float64) float64 {
	if !(v > 0) { // also NaN
		return 0
	}
	return math.Round(math.Min(v, 1<<32)*scoreGrid) / scoreGrid
}
