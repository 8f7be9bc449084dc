// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"

	"github.com/seine-crawler/seine/engine/internal/phases"
)

// LinkRankOptions say how pages are ranked. The zero value ranks pages by all links between them.
type LinkRankOptions struct {
	// By is the measure. "pagerank" (and ""): PageRank, to which all fields belong. "inlink-domains": the number of
	// registered domains, its own left out, that link to a page; of the fields below only DryRun and Top may be set.
	By string
	// Graph says what is ranked: "page" (and ""), "host" or "domain", the registered one. A page of a host or domain
	// gets the rank of that. Between two hosts or domains, many links count as one.
	Graph string
	// Damping is the probability of following a link, above 0 and below 1; 0 means 0.85.
	Damping float64
	// HostDecay is the part of its rank that a link to another host loses, from 0 to 1, so that what is far from
	// trusted pages has little of their rank. The rest goes where walks begin.
	HostDecay float64
	// IgnoreInternal leaves out links within a host (Nutch: link.ignore.internal.host).
	IgnoreInternal bool
	// Trusted names the pages at which walks begin, as targets of Recrawl do: URLs, prefixes or hosts. FromSeeds begins
	// them at the seeds. Without either they begin anywhere. A target that names no page of crawldb is an error, and so
	// is FromSeeds where it has no seed.
	Trusted   []string
	FromSeeds bool
	// Tolerance ends the passes when all ranks, which add up to 1, change by less in sum; 0 means a millionth. Passes
	// bounds their number; 0 means 100.
	Tolerance float64
	Passes    int
	// DryRun leaves crawldb as it is. Top is how many of the best are reported.
	DryRun bool
	Top    int
}

// graphNodes are the names of graphs.
var graphNodes = map[string]phases.GraphNodes{
	"": phases.NodePages, "page": phases.NodePages, "host": phases.NodeHosts, "domain": phases.NodeDomains,
}

// The measures. A crawl is told rankInlinkDomains in place of a graph.
const (
	rankPageRank      = "pagerank"
	rankInlinkDomains = "inlink-domains"
)

// rankOf are the options of a crawl that ranks by Options.LinkRank at its end.
func rankOf(name string) LinkRankOptions {
	if name == rankInlinkDomains {
		return LinkRankOptions{By: name}
	}
	return LinkRankOptions{Graph: name}
}

func (o *LinkRankOptions) byInlinkDomains() bool { return o.By == rankInlinkDomains }

// onlyCounts reports whether nothing is set that belongs to PageRank alone.
func (o *LinkRankOptions) onlyCounts() bool {
	return o.Graph == "" && o.Damping == 0 && o.HostDecay == 0 && !o.IgnoreInternal && len(o.Trusted) == 0 &&
		!o.FromSeeds && o.Tolerance == 0 && o.Passes == 0
}

// options checks o and makes options of the phase.
func (o *LinkRankOptions) options(p *phases.Phases, memory int64) (r phases.LinkRankOptions, err error) {
	nodes, ok := graphNodes[o.Graph]
	switch by := o.byInlinkDomains(); {
	case !by && o.By != "" && o.By != rankPageRank:
		return r, fmt.Errorf("measure %q: want %s or %s", o.By, rankPageRank, rankInlinkDomains)
	case by && !o.onlyCounts():
		return r, fmt.Errorf("%s has no options but whether to write, and how many of the best to report",
			rankInlinkDomains)
	case !ok:
		return r, fmt.Errorf("graph %q: want page, host or domain", o.Graph)
	case !(o.Damping >= 0 && o.Damping < 1):
		return r, fmt.Errorf("damping %v: want above 0 and below 1", o.Damping)
	case !(o.HostDecay >= 0 && o.HostDecay <= 1):
		return r, fmt.Errorf("decay %v: want 0 to 1", o.HostDecay)
	case !(o.Tolerance >= 0) || o.Passes < 0 || o.Top < 0:
		return r, fmt.Errorf("tolerance %v, passes %d, top %d: want 0 or more", o.Tolerance, o.Passes, o.Top)
	}
	r = phases.LinkRankOptions{
		Nodes: nodes, Damping: o.Damping, OtherHosts: 1 - o.HostDecay, IgnoreInternal: o.IgnoreInternal,
		FromSeeds: o.FromSeeds, Tolerance: o.Tolerance, Passes: o.Passes, Memory: memory, DryRun: o.DryRun, Top: o.Top,
	}
	if r.Damping == 0 {
		r.Damping = defaultDamping
	}
	if r.Tolerance == 0 {
		r.Tolerance = defaultRankTolerance
	}
	if r.Passes == 0 {
		r.Passes = defaultRankPasses
	}
	if len(o.Trusted) > 0 {
		r.Trusted, err = p.Targets(o.Trusted)
	}
	return r, err
}
