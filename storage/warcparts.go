// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"cmp"
	"slices"
)

// WARCPart is a part of a WARC file and the segment that has it.
type WARCPart struct {
	Segment uint32
	WARCFile
}

// WARCParts returns the parts of WARC files that the sealed segments of a list have, by file, in order.
func WARCParts(list []Segment) map[string][]WARCPart {
	all := map[string][]WARCPart{}
	for _, seg := range list {
		if seg.State < SegmentSealed {
			continue
		}
		for _, f := range seg.WARC {
			all[f.Name] = append(all[f.Name], WARCPart{seg.Number, f})
		}
	}
	for _, parts := range all {
		slices.SortFunc(parts, func(a, b WARCPart) int {
			return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Size, b.Size))
		})
	}
	return all
}

// WARCGaps calls each with the beginning and the end of what is in none of the parts of a file of size bytes, up to its
// first error. The parts are in order.
func WARCGaps(parts []WARCPart, size int64, each func(from, to int64) error) error {
	at := int64(0)
	for i := range parts {
		if p := &parts[i]; p.Start > at && at < size {
			if err := each(at, min(p.Start, size)); err != nil {
				return err
			}
		}
		at = max(at, parts[i].End())
	}
	if at < size {
		return each(at, size)
	}
	return nil
}
