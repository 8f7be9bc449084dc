// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/seine-crawler/seine/storage"
)

// compareLogs compares the store with the WARC files when an engine opens, so that neither loses silently what the
// other has:
//
//   - A WARC file of a segment that the store does not have means that the store lost its last writes. The segment is
//     registered again, as open, and the next crawl reads its WARC back.
//   - A WARC file that is shorter than the store says means that pages that count as fetched are gone. The engine
//     refuses to open and names the file.
//
// Only the newest segments are compared, more than a crash can affect; Inspector.Verify compares all.
func (w *work) compareLogs() error {
	list, err := w.store.SegmentList()
	if err != nil {
		return err
	}
	known := make(map[uint32]bool, len(list))
	for _, s := range list {
		known[s.Number] = true
	}
	names, err := w.warcFS.List(w.warcDir())
	if err != nil {
		return fmt.Errorf("listing %s: %w", w.warcDir(), err)
	}
	for _, name := range names {
		number, ok := fileSegment(name)
		if !ok || known[number] {
			continue
		}
		known[number] = true
		w.warn(fmt.Errorf("segment %d is in %s but not in the store: the next crawl reads it back", number, name))
		seg := storage.Segment{Number: number, State: storage.SegmentOpen, Created: w.now()}
		if err := w.store.PutSegment(seg); err != nil {
			return err
		}
	}
	for _, s := range list[max(0, len(list)-comparedSegments):] {
		if err := w.compareFiles(s); err != nil {
			return err
		}
	}
	return nil
}

// comparedSegments is the number of newest segments whose files are compared when an engine opens.
const comparedSegments = 64

func (w *work) compareFiles(s storage.Segment) error {
	for _, f := range s.WARC {
		path := w.warcDir() + "/" + f.Name
		size, err := w.warcFS.Size(path)
		if err != nil {
			return fmt.Errorf("%w: %s of segment %d should have %d bytes: %w: restore it from a backup",
				storage.ErrCorrupt, path, s.Number, f.Size, err)
		}
		if size < f.Size {
			return fmt.Errorf("%w: %s of segment %d has %d bytes and should have %d: restore it from a backup",
				storage.ErrCorrupt, path, s.Number, size, f.Size)
		}
	}
	return nil
}

// fileSegment returns the number of the segment that a WARC file belongs to, by its name.
func fileSegment(name string) (uint32, bool) {
	rest, ok := strings.CutPrefix(name, "seine-")
	if !ok {
		return 0, false
	}
	digits, _, ok := strings.Cut(rest, "-")
	n, err := strconv.ParseUint(digits, 10, 32)
	return uint32(n), ok && err == nil
}
