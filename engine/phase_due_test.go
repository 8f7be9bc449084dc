// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/storage"
)

// TestDueSegments: which segments a phase takes, and which command comes first when there is none.
func TestDueSegments(t *testing.T) {
	seg := func(number uint32, state storage.SegmentState, batch bool) storage.Segment {
		return storage.Segment{Number: number, State: state, Batch: batch}
	}
	const open, sealed, updated = storage.SegmentOpen, storage.SegmentSealed, storage.SegmentUpdated
	const linked, indexed = storage.SegmentLinked, storage.SegmentIndexed
	fetched := seg(1, open, true)
	fetched.Counts.Failed = 1
	for _, c := range []struct {
		name  string
		list  []storage.Segment
		state storage.SegmentState
		begun []uint32
		want  []uint32
		first string // the command that comes first
	}{
		{"an empty store", nil, open, nil, nil, "generate"},
		{"an empty store", nil, sealed, nil, nil, "generate"},
		{"an empty store", nil, linked, nil, nil, "generate"},
		{"fetchlists", []storage.Segment{seg(1, open, true), seg(2, open, true)}, open, nil, []uint32{1, 2}, ""},
		{"a crawl's segment", []storage.Segment{seg(1, open, false)}, open, nil, nil, "generate"},
		{"a crawl's segment", []storage.Segment{seg(1, open, false)}, sealed, nil, nil, "crawl"},
		{"not fetched yet", []storage.Segment{seg(1, open, true)}, sealed, nil, nil, "fetch"},
		{"not fetched yet", []storage.Segment{seg(1, open, true)}, linked, nil, nil, "fetch"},
		{"stopped", []storage.Segment{seg(1, open, true)}, sealed, []uint32{1}, nil, "fetch"},
		{"to be parsed later", []storage.Segment{fetched}, sealed, []uint32{1}, nil, "parse"},
		{"to be parsed later", []storage.Segment{fetched}, open, []uint32{1}, nil, "parse"},
		{"sealed", []storage.Segment{seg(1, open, true), seg(2, sealed, true)}, updated, nil, nil, "updatedb"},
		{"updated", []storage.Segment{seg(1, updated, true), seg(2, sealed, true)}, linked, nil, nil, "invertlinks"},
		{"sealed", []storage.Segment{seg(1, sealed, true), seg(2, sealed, false)}, sealed, nil, []uint32{1, 2}, ""},
		{"all done", []storage.Segment{seg(1, indexed, true)}, sealed, nil, nil, "generate"},
		{"all done", []storage.Segment{seg(1, indexed, true)}, linked, nil, nil, "generate"},
	} {
		got, err := dueSegments(c.list, c.state, c.begun)
		if !slices.Equal(got, c.want) || (err == nil) != (c.first == "") {
			t.Errorf("%s, %s: %v %v", c.name, c.state, got, err)
		}
		first := `run "seine ` + c.first + `"`
		if err != nil && (!errors.Is(err, ErrNoSegment) || !strings.Contains(err.Error(), first)) {
			t.Errorf("%s, %s: %v, want %s first", c.name, c.state, err, c.first)
		}
	}
}
