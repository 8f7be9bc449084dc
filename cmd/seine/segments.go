// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
)

// segmentChoice says which segments a phase takes: those that are named, or all that are due, or the newest of these.
type segmentChoice struct {
	flag []uint // --segment
	all  bool
	from storage.SegmentState // that the phase takes
	// before, if not nil, returns segments that come before those in the state from, when any are there.
	before func(*engine.Inspector) ([]uint32, error)
}

// segmentUse is how the phases name segments, in their help.
const segmentUse = " [SEGMENT…]"

func (s *segmentChoice) add(cmd *cobra.Command, newest string) {
	cmd.Flags().UintSliceVar(&s.flag, "segment", nil, "`numbers` of segments, as arguments are (default: "+newest+")")
	cmd.Flags().BoolVar(&s.all, "all", false, "all segments that need it, oldest first")
}

// named returns the segments that the command line names, in its order.
func (s *segmentChoice) named(args []string) (numbers []uint32, err error) {
	for _, n := range s.flag {
		args = append(args, strconv.FormatUint(uint64(n), 10))
	}
	for _, a := range args {
		n, err := strconv.ParseUint(a, 10, 32)
		if err != nil || n == 0 {
			return nil, &usageError{fmt.Errorf("segment %q: want a number from 1, as \"seine readseg\" lists them", a)}
		}
		numbers = append(numbers, uint32(n))
	}
	if s.all && len(numbers) > 0 {
		return nil, &usageError{errors.New("give segments or --all, not both")}
	}
	return numbers, nil
}

// segmentReader knows segments: a store, or an Inspector.
type segmentReader interface {
	Segment(number uint32) (engine.SegmentView, error)
}

// existing returns an error if one of the segments that the command line names does not exist.
func existing(in segmentReader, numbers ...uint32) error {
	for _, n := range numbers {
		_, err := in.Segment(n)
		if errors.Is(err, engine.ErrNotFound) {
			return &usageError{fmt.Errorf("there is no segment %d: \"seine readseg\" lists them", n)}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// choose returns the segments to take. If none is due the error is errNoneDue and says which command comes first.
func (s *segmentChoice) choose(e *engine.Engine, args []string) ([]uint32, error) {
	numbers, err := s.named(args)
	if err != nil {
		return nil, err
	}
	if len(numbers) > 0 {
		return numbers, existing(e.Inspect(), numbers...)
	}
	var due []uint32
	if s.before != nil {
		due, err = s.before(e.Inspect())
	}
	if err == nil && len(due) == 0 {
		due, err = e.Inspect().DueSegments(s.from)
	}
	if errors.Is(err, engine.ErrNoSegment) {
		return nil, fmt.Errorf("%w: %w", errNoneDue, err)
	}
	if err != nil || s.all {
		return due, err
	}
	return due[len(due)-1:], nil
}

// phaseFunc runs one phase on one segment.
type phaseFunc func(ctx context.Context, e *engine.Engine, segment uint32) (engine.Report, error)

// phaseCommand is a command that runs one phase on segments, one after another, and prints a report for each. It ends
// at the first error; what was done stays.
func phaseCommand(
	c *console, command uses, choice segmentChoice, use, short string, run phaseFunc,
) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   use + segmentUse,
		Short: short,
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := choice.named(args); err != nil {
				return err
			}
			return withEngine(cmd, &f, func(e *engine.Engine) error {
				numbers, err := choice.choose(e, args)
				if err != nil {
					return err
				}
				for _, n := range numbers {
					r, err := run(cmd.Context(), e, n)
					if err == nil {
						err = c.report(r, f.json)
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	f.settings(cmd, command)
	f.report(cmd)
	choice.add(cmd, "the newest that needs it")
	return cmd
}
