// SPDX-License-Identifier: Apache-2.0

package engine

import "time"

// index is the second lane. It inverts the links of updated segments at once, and takes them through dedup and index
// together, as many as gather.
//
// An index segment costs some tens of milliseconds whatever is in it, and later its share of merges. A polite crawl
// seals a few hundred pages every few seconds: they gather for as long as gathering says.
func (c *conductor) index(f *fetching) {
	defer c.lanes.Done()
	h := hooks{leaveLinked: c.ending.Load, indexed: func(d DedupReport, x IndexReport) {
		c.noteIndexed(d, x)
		c.merging.begin()
	}}
	var g gathering
	for {
		wait := time.NewTimer(g.left(c.w.now()))
		select {
		case number, ok := <-c.toIndex:
			wait.Stop()
			if !ok { // the end of the crawl indexes what is linked
				return
			}
			err := c.w.advance(c.abort, laneLink, &h, []uint32{number})
			if err == nil {
				err = g.add(c.w, number)
			}
			f.pool.Fail(err)
			f.pool.Notify() // a deletion may wait for it
		case <-wait.C:
		}
		start := c.w.now()
		if len(g.segments) == 0 || g.left(start) > 0 {
			continue
		}
		f.pool.Fail(c.w.advance(c.abort, laneIndex, &h, g.segments))
		g = gathering{took: c.w.now().Sub(start)}
	}
}

// gathering is linked segments that wait to be indexed together, and how long the last ones took.
type gathering struct {
	segments []uint32
	pages    uint64
	since    time.Time // when the first came
	took     time.Duration
}

// add adds a linked segment.
func (g *gathering) add(w *work, number uint32) error {
	seg, _, err := w.store.Segment(number)
	if err != nil {
		return err
	}
	if len(g.segments) == 0 {
		g.since = w.now()
	}
	g.segments = append(g.segments, number)
	g.pages += seg.Counts.Attempts()
	return nil
}

// left is how long the segments go on gathering. That is gatherShare times what indexing takes, so that it takes little
// of a polite crawl; but pages must be searchable in time, and many are worth an index segment at once.
func (g *gathering) left(now time.Time) time.Duration {
	switch {
	case len(g.segments) == 0:
		return time.Hour
	case len(g.segments) >= indexBatchMax || g.pages >= gatherPages:
		return 0
	}
	return min(gatherShare*g.took, gatherMax) - now.Sub(g.since)
}
