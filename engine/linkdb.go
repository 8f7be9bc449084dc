// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"io"
	"sync"
)

// Linkdb works on the links of a data directory: see Engine.Linkdb.
type Linkdb struct {
	w       *work
	g       *guard
	running *sync.Mutex
}

// Linkdb returns what works on all links of the data directory at once. It costs nothing, and works until Close.
func (e *Engine) Linkdb() *Linkdb { return &Linkdb{w: e.w, g: &e.guard, running: &e.running} }

// Rank computes PageRank over crawldb and linkdb, and writes it to crawldb as the scores of pages: the rank times the
// number of nodes, so that 1 is the mean. The best are fetched first from then on, and the next Index with Refresh
// ranks by them. What later fetches give to their links is added until the next Rank. All is one ingestion.
//
// By inlink domains, the score of a page is the number of other registered domains that link to it, exactly. Search
// ranks by that number whatever the scores, so these say only what is fetched first and which duplicate stays.
//
// A link counts if the newest version of its page has it, and each target once; so does a redirect. Ranks are in
// memory while they fit into its share of Options.Memory, else in temporary files, as edges are, in a byte or two each.
// (Nutch: webgraph, linkrank and scoreupdater.)
//
// Errors: ErrBusy while a crawl or fetch is running, which rank at their end (see Options.LinkRank), and beside other
// work that runs alone; one that says so beside a policy.DepthScorer, which writes scores too, unless it is a dry run.
func (l *Linkdb) Rank(ctx context.Context, o LinkRankOptions) (LinkRankReport, error) {
	leave, err := l.g.begin(ctx, "ranking links", !o.DryRun)
	if err != nil {
		return LinkRankReport{}, err
	}
	defer leave()
	if !l.running.TryLock() {
		return LinkRankReport{}, wrapf(ErrBusy, "ranking links")
	}
	defer l.running.Unlock()
	return l.w.linkRank(ctx, o)
}

// Merge brings linkdb into its smallest form: links that pages dropped go, and every target has one row with counts, or
// two. With MergeLinksOptions.Dirs it first adds the links that crawls in other data directories found (Nutch:
// mergelinkdb): those of pages that this one has not fetched. They count where links are shown, counted and ranked,
// and for the anchors of documents. Each directory is one ingestion; doing it again adds nothing.
//
// Errors: ErrBusy while a crawl, or other work that runs alone, is running; ErrNoStore if one of the directories has
// none, or is this one, before anything is added; ErrLocked and others of the other directories.
func (l *Linkdb) Merge(ctx context.Context, o MergeLinksOptions) (MergeLinksReport, error) {
	leave, err := l.g.begin(ctx, "merging linkdb", true)
	if err != nil {
		return MergeLinksReport{}, err
	}
	defer leave()
	if !l.running.TryLock() {
		return MergeLinksReport{}, wrapf(ErrBusy, "merging linkdb")
	}
	defer l.running.Unlock()
	return l.w.mergeLinkdb(ctx, o)
}

// Graph writes the graph of links between hosts ("host") or registered domains ("domain"), as the files of Common
// Crawl's graphs have it: vertices with a line for each node, its number from 0 and its name with labels reversed;
// edges with a line for each pair of numbers, sorted, and how many links between pages it stands for. Columns are apart
// by tabs. Nodes without links are vertices too, and those that are only linked to. Memory is bounded; it runs beside
// any phase.
func (l *Linkdb) Graph(ctx context.Context, graph string, vertices, edges io.Writer) (GraphReport, error) {
	leave, err := l.g.enter()
	if err != nil {
		return GraphReport{}, err
	}
	defer leave()
	return l.w.exportGraph(ctx, graph, vertices, edges)
}
