// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
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
// A link counts if the newest version of its page has it, and each target once; so does a redirect. Ranks are in
// memory while they fit into its share of Options.Memory, else in temporary files, as edges are, in a byte or two each.
// (Nutch: webgraph, linkrank and scoreupdater.)
//
// Errors: ErrBusy while a crawl or fetch is running, which rank at their end: see Options.LinkRank.
func (l *Linkdb) Rank(ctx context.Context, o LinkRankOptions) (LinkRankReport, error) {
	leave, err := l.g.enter()
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
