// SPDX-License-Identifier: Apache-2.0

package relevance

import (
	"math"
	"slices"
)

// Gains are the judgements of one topic: document → degree of relevance. A document counts as relevant from degree 1;
// degrees below and documents that are not judged count as not relevant, as in trec_eval.
type Gains map[string]int

// relevant is the number of relevant documents.
func (g Gains) relevant() (n int) {
	for _, gain := range g {
		if gain >= 1 {
			n++
		}
	}
	return n
}

// AveragePrecision returns the mean, over all relevant documents of the topic, of the precision at the rank of each
// (0 for those that are not in the list): the measure map of trec_eval. It is 0 without relevant documents.
func AveragePrecision(ranked []string, g Gains) float64 {
	sum, found := 0.0, 0
	for i, id := range ranked {
		if g[id] >= 1 {
			found++
			sum += float64(found) / float64(i+1)
		}
	}
	if n := g.relevant(); n > 0 {
		return sum / float64(n)
	}
	return 0
}

// Precision returns the share of relevant documents among the first k; a list that is shorter is filled up with
// documents that are not relevant: the measure P_k of trec_eval.
func Precision(ranked []string, g Gains, k int) float64 {
	found := 0
	for _, id := range ranked[:min(k, len(ranked))] {
		if g[id] >= 1 {
			found++
		}
	}
	return float64(found) / float64(k)
}

// NDCG returns the discounted cumulative gain of the first k documents, divided by that of the best possible list. The
// gain is the degree and the discount log2(rank+1): the measure ndcg_cut_k of trec_eval, after Järvelin and Kekäläinen,
// "Cumulated gain-based evaluation of IR techniques", 2002. It is 0 without relevant documents.
func NDCG(ranked []string, g Gains, k int) float64 {
	var got []int
	for _, id := range ranked[:min(k, len(ranked))] {
		got = append(got, max(g[id], 0))
	}
	var ideal []int
	for _, gain := range g {
		ideal = append(ideal, max(gain, 0))
	}
	slices.SortFunc(ideal, func(a, b int) int { return b - a })
	best := discounted(ideal[:min(k, len(ideal))])
	if best == 0 {
		return 0
	}
	return discounted(got) / best
}

func discounted(gains []int) (sum float64) {
	for i, gain := range gains {
		sum += float64(gain) / math.Log2(float64(i+2))
	}
	return sum
}

// Rank returns the rank of the first document that right accepts, from 1; 0 if there is none.
func Rank(ranked []string, right func(id string) bool) int {
	return slices.IndexFunc(ranked, right) + 1
}

// ReciprocalRank returns 1/rank, and 0 for rank 0.
func ReciprocalRank(rank int) float64 {
	if rank == 0 {
		return 0
	}
	return 1 / float64(rank)
}
