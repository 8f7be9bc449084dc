// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/binary"
	"testing"

	"github.com/seine-crawler/seine/storage"
)

// TestLinkedSegments: the mark of a refresh says of each segment whether its links were in linkdb: those of segments
// that are gone were, those of later ones were not. What is no mark is none.
func TestLinkedSegments(t *testing.T) {
	now := linkedNow([]storage.Segment{
		{Number: 12, State: storage.SegmentSealed}, {Number: 300, State: storage.SegmentLinked},
		{Number: 5, State: storage.SegmentUpdated}, {Number: 9, State: storage.SegmentIndexed},
		{Number: 301, State: storage.SegmentOpen},
	})
	mark := now.append(nil)
	l, ok := decodeLinkedSegments(mark)
	if !ok {
		t.Fatalf("% x is not read", mark)
	}
	for segment, want := range map[uint32]bool{
		1: true, 5: false, 9: true, 12: false, 13: true, 300: true, 301: false, 302: false,
	} {
		if got := l.has(segment); got != want {
			t.Errorf("segment %d: %t", segment, got)
		}
	}
	none := linkedNow(nil)
	if l, ok := decodeLinkedSegments(none.append(nil)); !ok || l.has(1) {
		t.Errorf("without segments: %+v, %t", l, ok)
	}
	for _, bad := range [][]byte{
		nil, {0x80}, append(mark, 0x80), append(mark, 1), binary.AppendUvarint(nil, 1<<32),
	} {
		if l, ok := decodeLinkedSegments(bad); ok {
			t.Errorf("% x is %+v", bad, l)
		}
	}
}
