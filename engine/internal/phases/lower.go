// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"errors"
	"fmt"

	"github.com/seine-crawler/seine/storage"
)

// A URL's depth is the least number of links from a seed, and its hops the least number of redirects in a row. Both may
// become known after the URL was fetched and its links were counted. The phase that finds that out lowers the record
// and notes the page in the lowered range, in one ingestion. lower then tells the page's links:
//
//	lowered ─▶ pages, those of least depth first
//	  cdx   ─▶ the segments in which each was fetched; all its links there count, as they did at first
//	  parse ─▶ depth + 1 for each link, depth and hops + 1 for a redirect
//	  crawldb, withheld ─▶ what that is less than; pages among it have links of their own: again
//	one ingestion: records, withheld links, host counts, what is told leaves the lowered range
//
// So depths and hops are those of a search in breadth through all links that were ever seen, in whatever order pages
// were fetched. Where the table of URLs is full, the pages that are left stay in the lowered range for the next round.
// After a crash, or an error, the next call does what is left.

// anyLowered reports whether a page waits for its links to be told.
func (p *Phases) anyLowered() (bool, error) {
	sc := p.env.Store.Scan(storage.LoweredRange(), nil, nil)
	any := sc.Next()
	if err := sc.Close(); err != nil {
		return false, fmt.Errorf("looking for lowered pages: %w", err)
	}
	return any, nil
}

// lower tells the links of all lowered pages.
func (p *Phases) lower(ctx context.Context) (Lowered, error) {
	var result Lowered
	for {
		any, err := p.anyLowered()
		if err == nil && !any {
			return result, nil
		}
		if err == nil {
			err = p.lowerOnce(ctx, &result)
		}
		if err != nil {
			return result, fmt.Errorf("passing on depths that fell: %w", err)
		}
	}
}

// lowerOnce is one round: what fits into the table.
func (p *Phases) lowerOnce(ctx context.Context, result *Lowered) (err error) {
	l := lowering{
		p: p, result: result, changes: p.env.Admission.NewChanges(), levels: map[uint16][]int{},
		segments: map[uint32]bool{}, created: map[int]creation{},
		cdx:      p.env.Store.Scan(storage.CDXRange(), nil, nil),
		withheld: p.env.Store.Scan(storage.WithheldRange(), nil, nil),
	}
	defer func() { err = errors.Join(err, l.cdx.Close(), l.withheld.Close()) }()
	list, err := p.env.Store.SegmentList()
	if err != nil {
		return fmt.Errorf("listing segments: %w", err)
	}
	for _, s := range list {
		l.segments[s.Number] = s.State >= storage.SegmentUpdated // others count their links when they are updated
	}
	if err := l.begin(ctx); err != nil {
		return err
	}
	if err := l.spread(ctx); err != nil {
		return err
	}
	return l.write(ctx)
}
