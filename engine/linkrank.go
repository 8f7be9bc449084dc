// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seine-crawler/seine/engine/internal/phases"
)

// LinkRankReport says what LinkRank did.
type LinkRankReport struct {
	By      string       `json:"by"` // "pagerank" or "inlink-domains", which has no starts and no passes
	Nodes   uint64       `json:"nodes"`
	Edges   uint64       `json:"edges"`  // of inlink domains: each of them for each page
	Starts  uint64       `json:"starts"` // nodes at which walks begin
	Passes  int          `json:"passes"`
	Change  float64      `json:"change"`  // of all ranks, in the last pass
	Changed uint64       `json:"changed"` // records that have another score
	Top     []RankedNode `json:"top,omitempty"`
	Took    Duration     `json:"seconds"`
}

// RankedNode is a node of the link graph with its rank.
type RankedNode struct {
	Name string  `json:"name"` // a URL, a host or a domain
	Rank float64 `json:"rank"` // as a score: of PageRank 1 is the mean
}

func (r LinkRankReport) String() string {
	var b strings.Builder
	form := "\n%.4f\t%s"
	if r.By == rankInlinkDomains {
		form = "\n%.0f\t%s"
		fmt.Fprintf(&b, "linkrank: %d pages, %d times another domain links to one, %d scores changed in %.2fs",
			r.Nodes, r.Edges, r.Changed, r.Took.Seconds())
	} else {
		fmt.Fprintf(&b, "linkrank: %d nodes, %d edges, %d passes (last change %.2g), %d scores changed in %.2fs",
			r.Nodes, r.Edges, r.Passes, r.Change, r.Changed, r.Took.Seconds())
	}
	for _, n := range r.Top {
		fmt.Fprintf(&b, form, n.Rank, n.Name)
	}
	return b.String()
}

// linkRank is Linkdb.Rank.
func (w *work) linkRank(ctx context.Context, o LinkRankOptions) (LinkRankReport, error) {
	if !o.DryRun && w.o.byDepth() {
		return LinkRankReport{}, errors.New("linkrank: " + rankBesideDepth + ", or look only, by a dry run")
	}
	start := w.now()
	defer w.stages.time(stageInvertLinks)()
	w.crawldbMu.Lock()
	defer w.crawldbMu.Unlock()
	options, err := o.options(w.phases, w.o.shares().ranks)
	if err != nil {
		return LinkRankReport{}, fmt.Errorf("linkrank: %w", err)
	}
	by, rank := rankPageRank, w.phases.LinkRank
	if o.byInlinkDomains() {
		by, rank = rankInlinkDomains, w.phases.InlinkDomains
	}
	ranked, err := rank(ctx, options)
	r := LinkRankReport{
		By: by, Nodes: ranked.Nodes, Edges: ranked.Edges, Starts: ranked.Starts, Passes: ranked.Passes,
		Change: ranked.Change, Changed: ranked.Changed,
	}
	if err != nil {
		return r, err
	}
	unit := float64(ranked.Nodes)
	if o.byInlinkDomains() {
		unit = 1
	}
	for _, n := range ranked.Top {
		r.Top = append(r.Top, RankedNode{phases.NodeName(options.Nodes, []byte(n.Name)), n.Rank * unit})
	}
	r.Took = w.took(start)
	w.done(r)
	return r, nil
}
