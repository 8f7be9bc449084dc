// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/binary"
	"reflect"
	"testing"
	"time"

	"github.com/seine-crawler/seine/storage/warc"
)

// TestWholeFiles: a segment of format 12 or before has whole files.
func TestWholeFiles(t *testing.T) {
	b := []byte{segmentVersionWhole, byte(SegmentSealed), 0}
	b = binary.AppendVarint(binary.AppendVarint(b, 5), 6)
	b = append(b, 1, 9, 2) // one count; two files
	b = append(b, 1, 'f', 77, 2, 1, 'g', 78, 3)
	want := Segment{
		Number: 4, State: SegmentSealed, Created: time.UnixMilli(5).UTC(), Sealed: time.UnixMilli(6).UTC(),
		WARC:   []WARCFile{{Name: "f", Size: 77, Records: 2}, {Name: "g", Size: 78, Records: 3}},
		Counts: SegmentCounts{Generated: 9},
	}
	if seg, err := DecodeSegment(4, b); err != nil || !reflect.DeepEqual(seg, want) {
		t.Errorf("%+v, %v", seg, err)
	}
}

func TestWARCFileHolds(t *testing.T) {
	f := WARCFile{Name: "f", Start: 10, Size: 5}
	for l, want := range map[warc.Location]bool{
		{File: "f", Offset: 10, Length: 5}: true,
		{File: "f", Offset: 12, Length: 3}: true,
		{File: "g", Offset: 12, Length: 3}: false,
		{File: "f", Offset: 9, Length: 3}:  false,
		{File: "f", Offset: 12, Length: 4}: false,
	} {
		if f.Holds(l) != want {
			t.Errorf("%+v: %t", l, !want)
		}
	}
}
