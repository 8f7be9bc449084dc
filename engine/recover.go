// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/storage"
)

// compareLogs compares the store with the WARC files when an engine opens, so that neither loses silently what the
// other has:
//
//   - A WARC file of a segment that the store does not have means that the store lost its last writes. The segment is
//     registered again, as open, and the next crawl reads its WARC back.
//   - A WARC file that is missing or shorter than the store says means that pages that count as fetched are gone. The
//     engine refuses to open and names the file, unless it is opened for reading only.
//
// Only the newest segments are compared, more than a crash can affect; Verify compares all.
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
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("listing %s: %w", w.warcDir(), err)
	}
	for _, name := range names {
		number, ok := segment.NumberOf(name)
		if !ok || known[number] {
			continue
		}
		known[number] = true
		if w.o.ReadOnly {
			w.warn(fmt.Errorf("segment %d is in %s but not in the store", number, name))
			continue
		}
		if !w.o.rebuilding {
			w.warn(fmt.Errorf("segment %d is in %s but not in the store: the next crawl reads it back", number, name))
		}
		seg := storage.Segment{Number: number, State: storage.SegmentOpen, Created: w.now()}
		if err := w.store.PutSegment(seg); err != nil {
			return err
		}
	}
	for _, s := range list[max(0, len(list)-comparedSegments):] {
		err := w.compareFiles(s)
		switch {
		case err != nil && w.o.ReadOnly:
			w.warn(err)
		case err != nil:
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
			if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return fmt.Errorf("%w: %s of segment %d, of %d bytes, is missing", ErrDamaged, path, s.Number, f.Size)
		}
		if size < f.Size {
			return fmt.Errorf("%w: %s of segment %d has %d bytes and should have %d",
				ErrDamaged, path, s.Number, size, f.Size)
		}
	}
	return nil
}
