// SPDX-License-Identifier: Apache-2.0

package engine

import "context"

// settler settles what depends on all pages: ranks, if they are wanted, duplicates by the scores that they have then,
// anchors by linkdb as it is then. It reads what changed since that was done last.
type settler struct {
	w    *work
	note func(DedupReport, IndexReport)
}

// atEnd settles at the end of a crawl. merged waits for the last merges of the index, which the last step needs.
func (s settler) atEnd(ctx context.Context, merged func()) error {
	return s.settle(ctx, func() (x IndexReport, err error) {
		_, err = s.w.mergeLinks(ctx, linkRowsSettled)
		merged()
		if err == nil && !s.w.o.NoIndex {
			x, err = s.w.settleIndex(ctx)
		}
		return x, err
	})
}

// beside settles beside fetchers and lanes: in a crawl of weeks, pages would else have the anchors and ranks of the day
// on which they were fetched. No index segments may be merged meanwhile. It writes parts of the index again, so it is
// left to the end where the disk has no room for that.
func (s settler) beside(ctx context.Context) error {
	if room, err := s.w.hasRoomTwice(); err != nil || !room {
		return err
	}
	return s.settle(ctx, func() (x IndexReport, err error) {
		if err = s.w.mergeAllLinks(ctx); err == nil && !s.w.o.NoIndex {
			x, err = s.w.buildUnmerged(ctx, IndexOptions{Segments: []uint32{}, Refresh: true})
		}
		x.Segments = nil // index writers are to look at all documents: any may have changed
		return x, err
	})
}

func (s settler) settle(ctx context.Context, index func() (IndexReport, error)) error {
	if rank := s.w.o.LinkRank; rank != "" {
		if _, err := s.w.linkRank(ctx, rankOf(rank)); err != nil {
			return err
		}
	}
	d, err := s.w.dedup(ctx, DedupOptions{})
	if err != nil {
		return err
	}
	x, err := index()
	s.note(d, x)
	return err
}
