// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/storage"
)

// compareLogs compares the store with the WARC files when an engine opens, so that neither loses silently what the
// other has:
//
//   - A segment in the WARC files that the store does not have means that the store lost its last writes. The segment
//     is registered again, as open, and the next crawl reads its WARC back.
//   - A WARC file that is missing or shorter than the store says means that pages that count as fetched are gone. The
//     engine refuses to open and names the file, unless it is opened for reading only.
//
// Only the newest segments are compared, more than a crash can affect; Verify compares all.
func (w *work) compareLogs() error {
	list, err := w.store.SegmentList()
	if err != nil {
		return err
	}
	unknown, err := w.unknownSegments(list)
	if err != nil {
		return err
	}
	for _, number := range unknown {
		if w.o.ReadOnly {
			w.warn(fmt.Errorf("segment %d is in %s but not in the store", number, w.warcDir()))
			continue
		}
		if !w.o.rebuilding {
			w.warn(fmt.Errorf("segment %d is in %s but not in the store: the next crawl reads it back", number,
				w.warcDir()))
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

// unknownSegments returns the numbers of the segments that are in WARC files and not in a list, in order. For reading
// only, files are known by their names, and not read.
func (w *work) unknownSegments(list []storage.Segment) (unknown []uint32, err error) {
	if !w.o.ReadOnly {
		return w.segments.Survey(context.Background(), list)
	}
	names, err := w.warcFS.List(w.warcDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listing %s: %w", w.warcDir(), err)
	}
	for _, name := range names {
		number, ok := segment.NumberOf(name)
		if ok && !slices.ContainsFunc(list, func(s storage.Segment) bool { return s.Number == number }) {
			unknown = append(unknown, number)
		}
	}
	slices.Sort(unknown)
	return slices.Compact(unknown), nil
}

// comparedSegments is the number of newest segments whose files are compared when an engine opens.
const comparedSegments = 64

func (w *work) compareFiles(s storage.Segment) error {
	for _, f := range s.WARC {
		path := filepath.Join(w.warcDir(), f.Name)
		size, err := w.warcFS.Size(path)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return fmt.Errorf("%w: %s of segment %d, of %d bytes, is missing", ErrDamaged, path, s.Number, f.End())
		}
		if size < f.End() {
			return fmt.Errorf("%w: %s of segment %d has %d bytes and should have %d",
				ErrDamaged, path, s.Number, size, f.End())
		}
	}
	return nil
}
