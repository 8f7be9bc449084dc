// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/seine-crawler/seine/storage"
)

// InlinkDomains gives each page as its score the number of registered domains, its own left out, that link to it: the
// measure by which IRLbot gives domains their budgets (Lee, Leonard, Wang and Loguinov, "IRLbot: Scaling to 6 Billion
// Pages and Beyond", 2008), for pages. Pages of one site are cheap, domains are not, so it is hard to inflate. Of the
// options, Top, DryRun and Each count; ranks are the numbers themselves.
//
// The links are those of LinkRank: of the newest versions of pages, and redirects. The count is exact, and the same
// whatever the segments in which links were found: a domain counts once. (linkdb keeps rowLinksMax links of one segment
// to one page, and rowBytesMax bytes of them; a domain whose links are all beyond these does not count.)
//
//	linkdb, redirects ─▶ links between domains, sorted by source, as of a linkGraph
//	crawldb ───────────▶ number and state of the source; number of its domain ─▶ (target, domain), each once
//	sorted by target, beside crawldb ─▶ scores
//
// All of it is one ingestion. Beside it, phases that write crawldb must not run.
func (p *Phases) InlinkDomains(ctx context.Context, o LinkRankOptions) (result LinkRanked, err error) {
	o = LinkRankOptions{Top: o.Top, DryRun: o.DryRun, Each: o.Each}
	if err := p.inlinkDomains(ctx, &o, &result); err != nil {
		return result, fmt.Errorf("counting linking domains: %w", err)
	}
	return result, nil
}

func (p *Phases) inlinkDomains(ctx context.Context, o *LinkRankOptions, result *LinkRanked) (err error) {
	snapshot := p.env.Store.Snapshot()
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	pairs := p.env.Sorter(storage.FoldLast)
	defer func() { err = errors.Join(err, pairs.Close()) }()
	if result.Nodes, err = p.linkingDomains(ctx, snapshot, o, pairs); err != nil {
		return err
	}
	run, err := pairs.Sort()
	if err != nil {
		return fmt.Errorf("sorting domains by target: %w", err)
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	each := func(fn func(node int, rank float64) error) error {
		more := run.Next()
		for node := range int(result.Nodes) {
			domains := uint64(0)
			for ; more && int(binary.BigEndian.Uint32(run.Key())) == node; more = run.Next() {
				domains++
			}
			result.Edges += domains
			if err := fn(node, float64(domains)); err != nil {
				return err
			}
		}
		return run.Err()
	}
	return p.writeScores(ctx, snapshot, o, scores{each: each, unit: 1}, result)
}

// linkingDomains adds to pairs, for each page and each other domain that links to it, the number of the page and that
// of the domain, four bytes each. It returns the number of pages.
func (p *Phases) linkingDomains(
	ctx context.Context, rd storage.Reader, o *LinkRankOptions, pairs *storage.Sorter,
) (pages uint64, err error) {
	b := graphing{
		p: p, rd: rd, o: o, graph: &linkGraph{}, foreign: true,
		bySource: p.env.Sorter(nil), redirects: p.env.Sorter(nil),
	}
	defer func() { err = errors.Join(err, b.bySource.Close(), b.redirects.Close()) }()
	if err := b.census(ctx); err != nil {
		return 0, fmt.Errorf("numbering pages: %w", err)
	}
	if err := b.invert(ctx); err != nil {
		return 0, fmt.Errorf("sorting links by source: %w", err)
	}
	var pair []byte
	err = b.eachEdge(ctx, newDomainWalk(rd), func(edge []byte, domain int, r *storage.Record) error {
		to, _, ok := readEdge(edge, r)
		if !ok {
			return nil
		}
		pair = binary.BigEndian.AppendUint32(pair[:0], uint32(to))
		pair = binary.BigEndian.AppendUint32(pair, uint32(domain))
		return pairs.Add(pair, nil)
	})
	return uint64(b.graph.nodes), err
}
