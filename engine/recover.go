// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/seine-crawler/seine/storage"
)

// compareLogs holds the two records of the crawl, store and WARC files, against each other when an
// engine opens, so that neither can silently lose what the other remembers:
//
//   - A WARC file of a segment that the store does not know means that the store lost its last
//     writes. The segment is made known again, as open; the next crawl reads its WARC back.
//   - A WARC file that is shorter than the store remembers means that pages counted as fetched are
//     gone. The engine refuses to open and names the file.
//
// Only the newest segments are compared here, enough for what a crash can touch; Verify compares
// all.
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
		w.warn(fmt.Errorf("segment %d is in %s but not in the store: taking it up again", number, name))
		if err := w.store.PutSegment(storage.Segment{Number: number, State: storage.SegmentOpen, Created: w.o.Now()}); err != nil {
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

// comparedSegments is the number of newest segments whose files are looked at when opening.
const comparedSegments = 64

func (w *work) compareFiles(s storage.Segment) error {
	for _, f := range s.WARC {
		path := w.warcDir() + "/" + f.Name
		size, err := w.warcFS.Size(path)
		if err != nil {
			return fmt.Errorf("%w: the store remembers %s (%d bytes) of segment %d: %w", storage.ErrCorrupt, path, f.Size, s.Number, err)
		}
		if size < f.Size {
			return fmt.Errorf("%w: %s has %d bytes, the store remembers %d: restore it from a backup", storage.ErrCorrupt, path, size, f.Size)
		}
	}
	return nil
}

// fileSegment reads the segment number out of a WARC file name.
func fileSegment(name string) (uint32, bool) {
	rest, ok := strings.CutPrefix(name, "seine-")
	if !ok {
		return 0, false
	}
	digits, _, ok := strings.Cut(rest, "-")
	n, err := strconv.ParseUint(digits, 10, 32)
	return uint32(n), ok && err == nil
}
