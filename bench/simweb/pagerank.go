// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"context"
	"math"
)

// Constants of PageRank as published by its authors (Brin and Page 1998), and where iteration stops.
const (
	damping         = 0.85
	rankPrecision   = 1e-10 // sum of all changes in one round
	rankRoundsLimit = 500
)

// Scores computes PageRank over what a polite crawler reaches from some seeds. Nodes are the URLs of WalkSite; edges
// are the links and redirects that are followed, each pair once. A node without edges gives its rank to all nodes
// alike. Ranks add up to 1. URLs are returned in the order of the walk. Its errors are those of WalkSite.
func Scores(ctx context.Context, site Site, seeds []string) (urls []string, ranks []float64, err error) {
	number := map[string]uint32{}
	id := func(u string) uint32 {
		n, known := number[u]
		if !known {
			n = uint32(len(number))
			number[u] = n
		}
		return n
	}
	type node struct {
		id   uint32
		to   []uint32
		name string
	}
	var nodes []node
	err = WalkSite(ctx, site, seeds, func(v *SiteVisit) error {
		n := node{id: id(v.URL), name: v.URL}
		for _, to := range v.To {
			n.to = append(n.to, id(to))
		}
		nodes = append(nodes, n)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	links := make([][]uint32, len(number))
	for _, n := range nodes {
		links[n.id] = n.to
	}
	byID := pageRank(links)
	for _, n := range nodes {
		urls, ranks = append(urls, n.name), append(ranks, byID[n.id])
	}
	return urls, ranks, nil
}

// pageRank iterates from equal ranks until a round changes less than rankPrecision.
func pageRank(links [][]uint32) []float64 {
	n := float64(len(links))
	ranks, next := make([]float64, len(links)), make([]float64, len(links))
	for i := range ranks {
		ranks[i] = 1 / n
	}
	for range rankRoundsLimit {
		lost := 0.0
		clear(next)
		for i, to := range links {
			if len(to) == 0 {
				lost += ranks[i]
				continue
			}
			share := ranks[i] / float64(len(to))
			for _, j := range to {
				next[j] += share
			}
		}
		change := 0.0
		for i := range next {
			next[i] = (1-damping)/n + damping*(next[i]+lost/n)
			change += math.Abs(next[i] - ranks[i])
		}
		ranks, next = next, ranks
		if change < rankPrecision {
			break
		}
	}
	return ranks
}
