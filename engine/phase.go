// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seine-crawler/seine/engine/internal/phases"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// lane is a part of what two goroutines do behind the fetchers of a crawl. Segments pass through one, then the other.
type lane uint8

const (
	laneUpdate lane = iota // what the next fetches depend on
	laneLink               // what a deletion waits for; it runs on the goroutine of laneUpdate
	laneIndex              // what only searches depend on
)

// phase is one row of the table: what takes a segment from one state to the next.
type phase struct {
	name     string
	from, to storage.SegmentState
	lane     lane
	batch    int // segments that the phase takes at once
	run      func(ctx context.Context, w *work, h *hooks, segments []uint32) error
}

// table is the life of a segment after generate, in order. `seine updatedb` runs one row for one segment, a crawl runs
// the rows that are due, lane behind lane, and recovery runs all. A phase does not know who called it.
//
//	open ──parse──▶ sealed ──updatedb──▶ updated ──invertlinks──▶ linked ──index──▶ indexed
//
// Each row ingests its tables together with the new state, so a crash leaves it done or not begun. Dedup runs with
// index: it has no state of its own.
var table = [...]phase{
	{"parse", storage.SegmentOpen, storage.SegmentSealed, laneUpdate, 1, runSeal},
	{"updatedb", storage.SegmentSealed, storage.SegmentUpdated, laneUpdate, 1, runUpdate},
	{"invertlinks", storage.SegmentUpdated, storage.SegmentLinked, laneLink, 1, runInvert},
	{"index", storage.SegmentLinked, storage.SegmentIndexed, laneIndex, indexBatchMax, runIndex},
}

// hooks are where a crawl differs from recovery. A nil function does nothing.
type hooks struct {
	// seal seals an open segment. Recovery reads its WARC back; a crawl has its parse records in memory.
	seal func(ctx context.Context, segment uint32) error
	// updated reports that crawldb knows the outcomes of a segment.
	updated func(segment uint32, r UpdateReport, woken []urlkey.HostKey)
	// indexed reports what dedup and index did.
	indexed func(d DedupReport, x IndexReport)
}

func runSeal(ctx context.Context, w *work, h *hooks, segments []uint32) error {
	if h.seal != nil {
		return h.seal(ctx, segments[0])
	}
	_, err := w.seal(ctx, segments[0])
	return err
}

func runUpdate(ctx context.Context, w *work, h *hooks, segments []uint32) error {
	r, woken, err := w.updateDB(ctx, segments[0])
	if err == nil && h.updated != nil {
		h.updated(segments[0], r, woken)
	}
	return err
}

func runInvert(ctx context.Context, w *work, _ *hooks, segments []uint32) error {
	_, err := w.invertLinks(ctx, segments[0])
	return err
}

func runIndex(ctx context.Context, w *work, h *hooks, segments []uint32) error {
	d, err := w.dedup(ctx, DedupOptions{Segments: segments})
	if err != nil {
		return err
	}
	var x IndexReport
	if !w.o.NoIndex {
		x, err = w.indexLinked(ctx, segments)
	}
	if err == nil && h.indexed != nil {
		h.indexed(d, x)
	}
	return err
}

// runAll takes segments through one row, as many at once as the row allows.
func (p *phase) runAll(ctx context.Context, w *work, h *hooks, segments []uint32) error {
	for len(segments) > 0 {
		n := min(p.batch, len(segments))
		if err := p.run(ctx, w, h, segments[:n]); err != nil {
			return err
		}
		segments = segments[n:]
	}
	return nil
}

// advance takes segments through the rows of a lane, in order.
func (w *work) advance(ctx context.Context, l lane, h *hooks, segments []uint32) error {
	for i := range table {
		if p := &table[i]; p.lane == l {
			if err := p.runAll(ctx, w, h, segments); err != nil {
				return err
			}
		}
	}
	return nil
}

// settle runs every due row until no segment is between states: what a crawl does first. Fetchlists that nobody has
// begun to fetch stay as they are, and with NoIndex linked segments.
func (w *work) settle(ctx context.Context, h *hooks) error {
	for i := range table {
		p := &table[i]
		if p.to == storage.SegmentIndexed && w.o.NoIndex {
			continue
		}
		due, err := w.inState(p.from)
		if err == nil {
			err = p.runAll(ctx, w, h, due)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dueSegments is Inspector.DueSegments.
func (w *work) dueSegments(state storage.SegmentState) ([]uint32, error) {
	list, err := w.store.SegmentList()
	if err != nil {
		return nil, err
	}
	begun, err := w.inState(storage.SegmentOpen)
	if err != nil {
		return nil, err
	}
	numbers, err := dueSegments(list, state, begun)
	if errors.Is(err, phases.ErrNoSegment) && w.crawling.Load() { // it takes its segments through all phases
		err = phases.WithText(phases.ErrNoSegment, "no segment is %s: wait for the crawl that is running", state)
	}
	return numbers, err
}

// dueSegments returns the segments in a state, oldest first; of open ones those of whose fetchlist something is left
// that can be fetched now. Without one, the error says which command comes first. begun are the open segments that
// somebody has begun to fetch.
func dueSegments(list []storage.Segment, state storage.SegmentState, begun []uint32) (numbers []uint32, err error) {
	for _, s := range list {
		if s.State == state && (state != storage.SegmentOpen || s.Batch && s.Counts.Attempts() == 0) {
			numbers = append(numbers, s.Number)
		}
	}
	if len(numbers) > 0 {
		return numbers, nil
	}
	return nil, phases.WithText(phases.ErrNoSegment, "no segment is %s: run %s first", state,
		commandBefore(list, state, begun))
}

// commandBefore is the command that takes the segment that is nearest before a state towards it; without one, the
// command that makes segments.
func commandBefore(list []storage.Segment, state storage.SegmentState, begun []uint32) string {
	nearest, command := storage.SegmentState(0), `"seine generate"`
	for _, s := range list {
		fetched := s.State == storage.SegmentOpen && s.Counts.Attempts() > 0
		if s.State >= state && !fetched || s.State <= nearest {
			continue
		}
		for _, p := range table {
			if p.from == s.State {
				nearest, command = s.State, fmt.Sprintf("%q", "seine "+p.name)
			}
		}
		switch {
		case s.State != storage.SegmentOpen:
		case !s.Batch:
			command = `"seine crawl"`
		case fetched: // its pages are to be parsed later
			command = `"seine parse"`
		case slices.Contains(begun, s.Number): // its fetch was cut short
			command = `"seine fetch" (or "seine parse", which makes the rest due again after updatedb)`
		default:
			command = `"seine fetch"`
		}
	}
	return command
}
