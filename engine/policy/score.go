// SPDX-License-Identifier: Apache-2.0

package policy

import "math"

// scoreGrid is the grain of scores that VoteScorer gives: multiples of 2^-16 add up exactly in a
// float64 (up to 2^37), so a sum does not depend on the order of its terms. Storage keeps such
// scores exactly and in few bytes.
const scoreGrid = 1 << 16

// VoteScorer is the default: each page has one vote, split evenly among its distinct links, cast
// at its first successful fetch. A record's score is its seed score plus the votes it was given.
//
// Why not OPIC as Nutch has it: there a page passes on the score it has at the moment of its
// fetch, so the result depends on the order of fetches, two runs of one crawl differ, a crash
// changes scores, and each refetch inflates them without bound. One vote per page is the first
// step of PageRank from a uniform start: it needs no second pass, and the same web gives the same
// scores whatever the order, the segment size, or the number of restarts. Tests rely on that.
//
// Internal and External weigh links inside a host and between hosts; 0 means 1.
type VoteScorer struct {
	Internal, External float64
}

// Inject returns given on the score grid.
func (s VoteScorer) Inject(given float64) float64 { return onGrid(given) }

// Distribute returns 1/n of a vote, weighed, or 0 when the page voted before.
func (s VoteScorer) Distribute(p Page, internal bool) float64 {
	if !p.First || p.Links == 0 {
		return 0
	}
	return onGrid(weight(internal, s.Internal, s.External) / float64(p.Links))
}

// Update adds the votes.
func (s VoteScorer) Update(old, sum float64) float64 { return old + sum }

// OPICScorer is Nutch's scoring-opic: a page with score s gives s/n to each of its n links and
// keeps s. Scores grow with every refetch and depend on the order of fetches; it is here for
// people who compare with Nutch. Internal and External are db.score.link.internal and .external;
// 0 means 1.
type OPICScorer struct {
	Internal, External float64
}

// Inject returns given.
func (s OPICScorer) Inject(given float64) float64 { return given }

// Distribute returns the page's score divided by the number of its links, weighed.
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

// onGrid rounds to the score grid, away from NaN, infinities and negative numbers.
func onGrid(v float64) float64 {
	if !(v > 0) { // also NaN
		return 0
	}
	return math.Round(math.Min(v, 1<<32)*scoreGrid) / scoreGrid
}
