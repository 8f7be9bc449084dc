// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"time"
)

// indexLane is the second lane of a crawl. It takes linked segments through dedup and index, as many at once as gather.
//
// An index segment costs some tens of milliseconds whatever is in it, and later its share of merges. A polite crawl
// seals a few hundred pages every few seconds: they gather for as long as gathering says.
type indexLane struct {
	w     *work
	ctx   context.Context
	hooks *hooks
	fail  func(error)        // is told every error, nil too
	done  func(segments int) // is told how many segments it is done with
}

// run takes segments until there are no more. The last ones are indexed at once: what the crawl settles then may take
// some seconds.
func (l *indexLane) run(segments <-chan uint32) {
	var g gathering
	for more := true; more; {
		wait := time.NewTimer(g.left(l.w.now()))
		select {
		case number, ok := <-segments:
			wait.Stop()
			if more = ok; more {
				l.fail(g.add(l.w, number))
			}
		case <-wait.C:
		}
		start := l.w.now()
		if len(g.segments) == 0 || more && (g.left(start) > 0 || len(segments) > 0 && g.room()) {
			continue
		}
		l.fail(l.w.advance(l.ctx, laneIndex, l.hooks, g.segments))
		l.done(len(g.segments))
		g = gathering{took: l.w.now().Sub(start)}
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

// room reports whether segments that came while others were indexed may join. With more pages, those that came first
// would wait for the last ones: taking as many as had come made pages of a crawl at full speed searchable 3.3 to 3.6 s
// after the seal in the median and 5.2 at most, beside 2.5 to 3.2 and 3.1 to 4.4 (300,000 documents, machine in use).
func (g *gathering) room() bool { return len(g.segments) < indexBatchMax && g.pages < gatherPages }

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
