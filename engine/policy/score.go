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
	Internal, External float64 // weights of links within a host and between hosts; 0 means 1, < 0 none
}

// Inject returns given, rounded to the score grid.
func (s VoteScorer) Inject(given float64) float64 { return onGrid(given) }

// Distribute returns 1/p.Links of a vote times the weight, or 0 if the page has voted before.
func (s VoteScorer) Distribute(p Page, l Link) float64 {
	if !p.First || p.Links == 0 || l.Self {
		return 0
	}
	return onGrid(weight(l.Internal, s.Internal, s.External) / float64(p.Links))
}

// Update adds the votes.
func (s VoteScorer) Update(old, sum float64) float64 { return old + sum }

// OPICScorer is Nutch's scoring-opic, for comparisons with Nutch: a page with score s gives s/n to each of its n links
// and keeps s, at each fetch that finds content. Scores grow with every refetch and depend on the order of fetches.
//
// n counts links as Nutch does: a target that is linked to three times counts three times and gets three parts, links
// to parts of the page itself count and give to the page, links that a filter or the scope refuses do not count
// and get nothing, also when they are admitted later. The target of a redirect or refresh gets nothing by that. Nutch
// adds up in 32 bits, this in 64: scores agree to six digits.
//
// Two differences remain. s is the page's score when its segment comes to updatedb; Nutch takes that of generate, which
// differs when another segment was updated in between. And Nutch takes the first 100 links of a page unless
// db.max.outlinks.per.page is -1.
type OPICScorer struct {
	Internal, External float64 // db.score.link.internal and .external: weights of links; 0 means 1, < 0 none
	CountFiltered      bool    // db.score.count.filtered: n counts refused links too
}

// Inject returns given.
func (s OPICScorer) Inject(given float64) float64 { return given }

// Distribute returns the page's score divided by the number of its links, times the weight, for each link.
func (s OPICScorer) Distribute(p Page, l Link) float64 {
	n := p.Accepted
	if s.CountFiltered {
		n = p.All
	}
	if n == 0 || l.Refused {
		return 0
	}
	return p.Score / float64(n) * weight(l.Internal, s.Internal, s.External) * float64(l.Times)
}

// Update adds the links' scores.
func (s OPICScorer) Update(old, sum float64) float64 { return old + sum }

// DistinctOPICScorer is OPIC over distinct targets: a page with score s gives s/n to each of the n URLs that it links
// or redirects to, however often. A menu that is on a page twice gains nothing by that, and a page behind a redirect
// gets what the redirect got. Otherwise it is as OPICScorer.
type DistinctOPICScorer struct {
	Internal, External float64 // weights of links within a host and between hosts; 0 means 1, < 0 none
}

// Inject returns given.
func (s DistinctOPICScorer) Inject(given float64) float64 { return given }

// Distribute returns the page's score divided by the number of its targets, times the weight.
func (s DistinctOPICScorer) Distribute(p Page, l Link) float64 {
	if p.Links == 0 || l.Self {
		return 0
	}
	return p.Score * weight(l.Internal, s.Internal, s.External) / float64(p.Links)
}

// Update adds the links' scores.
func (s DistinctOPICScorer) Update(old, sum float64) float64 { return old + sum }

// BreadthScorer is for crawls in breadth: the score of a seed is 1, and each link from a seed halves it, whatever else
// links to a URL and whatever score its seed line gives. So each depth has a score class of its own, and generate and
// the frontier take all URLs of one depth that are due before those of the next, as far as politeness lets them.
//
// It is Nutch's scoring-depth, which sorts by 1 + scoring.depth.max - depth. That bound is Options.MaxDepth here. And
// where Nutch fetched a page before it knew of a shorter way to it, the depths of what the page links to stay; here
// they fall. Beyond 16 links the score stays at the least that storage keeps in few bytes; URLs of one host are still
// in the order of depth then.
type BreadthScorer struct{}

// Inject returns 1.
func (s BreadthScorer) Inject(float64) float64 { return s.AtDepth(0) }

// Distribute returns 0: links only say how deep their target is.
func (BreadthScorer) Distribute(Page, Link) float64 { return 0 }

// Update returns old; AtDepth replaces it.
func (BreadthScorer) Update(old, _ float64) float64 { return old }

// AtDepth returns 2^-depth, at least 2^-16.
func (BreadthScorer) AtDepth(depth uint16) float64 { return 1 / float64(uint32(1)<<min(depth, 16)) }

// weight returns the weight of a link: 0 means 1, negative means 0.
func weight(internal bool, in, ex float64) float64 {
	w := ex
	if internal {
		w = in
	}
	if w == 0 {
		return 1
	}
	return max(w, 0)
}

// onGrid rounds to the score grid. NaN and negative numbers become 0, large ones at most 2^32.
func onGrid(v float64) float64 {
	if !(v > 0) { // also NaN
		return 0
	}
	return math.Round(math.Min(v, 1<<32)*scoreGrid) / scoreGrid
}
