// SPDX-License-Identifier: Apache-2.0

package index

import "math/bits"

// What StaticBoost adds for each doubling. That of texts was tuned on one half of the known items of bench/measure
// (KnownItem): .05 is better by .004 there, but larger boosts leave less to prune. PageRank, votes and the number of
// linking pages lose there: they raise tables of contents above what they list. No collection here has enough domains
// to tune the other weight: it is as large, and has more steps, since nobody has many domains.
const (
	staticTexts, staticTextsMost     = 0.03, 6 // up to 32 texts and more
	staticDomains, staticDomainsMost = 0.03, 10
)

// StaticBoost is the boost that a document gets for the links to it, whatever the query: texts counts their distinct
// texts, and domains the registered domains other than its own that they come from. It is from 1 to 1.48 and grows with
// the logarithms of both, a saturating form as that which Craswell, Robertson, Zaragoza and Taylor found for inlinks
// ("Relevance weighting for query independent evidence", SIGIR 2005). It grows in steps, by whole doublings: so a
// document must be indexed again only when its links have doubled, not for each new one.
func StaticBoost(texts, domains int) float64 {
	return 1 + staticTexts*doublings(texts, staticTextsMost) + staticDomains*doublings(domains, staticDomainsMost)
}

// doublings returns how often 0 must be doubled, the first time to 1, to be more than n; at most most.
func doublings(n, most int) float64 { return float64(min(bits.Len(uint(max(n, 0))), most)) }
