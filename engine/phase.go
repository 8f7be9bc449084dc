// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"

	"github.com/seine-crawler/seine/storage"
)

// phase is one row of the table of phases: what takes a segment from one state to the next.
type phase struct {
	name     string
	from, to storage.SegmentState
	run      func(e *Engine, ctx context.Context, segments []uint32) (Report, error)
	// batch is the number of segments the phase takes at once.
	batch int
}

// phases is the whole life of a segment after generate, in order. `seine updatedb` runs one row
// for one segment; Crawl is a conductor that runs whichever rows are due; recovery is the
// conductor started again. A phase never knows who called it.
//
//	open ──seal──▶ sealed ──updatedb──▶ updated ──invertlinks──▶ linked ──index──▶ indexed
//
// Each row ingests its tables together with the new state, so a crash leaves it done or not begun.
var phases = [...]phase{
	{"parse", storage.SegmentOpen, storage.SegmentSealed, one((*Engine).Seal), 1},
	{"updatedb", storage.SegmentSealed, storage.SegmentUpdated, one((*Engine).UpdateDB), 1},
	{"invertlinks", storage.SegmentUpdated, storage.SegmentLinked, one((*Engine).InvertLinks), 1},
	{"index", storage.SegmentLinked, storage.SegmentIndexed, runIndex, indexBatchMax},
}

// one adapts a phase that takes a single segment.
func one[R Report](f func(*Engine, context.Context, uint32) (R, error)) func(*Engine, context.Context, []uint32) (Report, error) {
	return func(e *Engine, ctx context.Context, segments []uint32) (Report, error) {
		r, err := f(e, ctx, segments[0])
		return r, err
	}
}

func runIndex(e *Engine, ctx context.Context, segments []uint32) (Report, error) {
	r, err := e.Index(ctx, IndexOptions{Segments: segments})
	return r, err
}

// inState returns the numbers of the segments in a state, oldest first.
func (e *Engine) inState(state storage.SegmentState) ([]uint32, error) {
	list, err := e.store.SegmentList()
	if err != nil {
		return nil, err
	}
	var numbers []uint32
	for _, s := range list {
		if s.State == state {
			numbers = append(numbers, s.Number)
		}
	}
	return numbers, nil
}

// NewestSegment returns the newest segment in a state. The error of a store without one says which
// phase makes such a segment.
func (e *Engine) NewestSegment(state storage.SegmentState) (uint32, error) {
	numbers, err := e.inState(state)
	if err != nil {
		return 0, err
	}
	if len(numbers) == 0 {
		before := "generate"
		for _, p := range phases {
			if p.to == state {
				before = p.name
			}
		}
		return 0, fmt.Errorf("no segment is %s: run %q first", state, before)
	}
	return numbers[len(numbers)-1], nil
}

// segmentFor loads a segment and checks that a phase may run on it.
func (e *Engine) segmentFor(number uint32, phase string, states ...storage.SegmentState) (storage.Segment, error) {
	s, ok, err := e.store.Segment(number)
	if err != nil {
		return s, err
	}
	if !ok {
		return s, fmt.Errorf("%s: there is no segment %d", phase, number)
	}
	for _, state := range states {
		if s.State == state {
			return s, nil
		}
	}
	return s, fmt.Errorf("%s: segment %d is %s, want %s", phase, number, s.State, states[0])
}

// settle runs every due row until no segment is left between states: what recovery does before a
// crawl goes on.
func (e *Engine) settle(ctx context.Context) error {
	for _, p := range phases {
		if p.to == storage.SegmentIndexed && e.o.NoIndex {
			continue
		}
		numbers, err := e.inState(p.from)
		if err != nil {
			return err
		}
		for len(numbers) > 0 {
			n := min(p.batch, len(numbers))
			if _, err := p.run(e, ctx, numbers[:n]); err != nil {
				return err
			}
			numbers = numbers[n:]
		}
	}
	return nil
}
