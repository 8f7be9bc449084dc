// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
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
func (e *Engine) compareLogs() error {
	list, err := e.store.SegmentList()
	if err != nil {
		return err
	}
	known := make(map[uint32]bool, len(list))
	for _, s := range list {
		known[s.Number] = true
	}
	names, err := e.warcFS.List(e.warcDir())
	if err != nil {
		return fmt.Errorf("listing %s: %w", e.warcDir(), err)
	}
	for _, name := range names {
		number, ok := fileSegment(name)
		if !ok || known[number] {
			continue
		}
		known[number] = true
		e.warn(fmt.Errorf("segment %d is in %s but not in the store: taking it up again", number, name))
		if err := e.store.PutSegment(storage.Segment{Number: number, State: storage.SegmentOpen, Created: e.o.Now()}); err != nil {
			return err
		}
	}
	for _, s := range list[max(0, len(list)-comparedSegments):] {
		if err := e.compareFiles(s); err != nil {
			return err
		}
	}
	return nil
}

// comparedSegments is the number of newest segments whose files are looked at when opening.
const comparedSegments = 64

func (e *Engine) compareFiles(s storage.Segment) error {
	for _, f := range s.WARC {
		path := e.warcDir() + "/" + f.Name
		size, err := e.warcFS.Size(path)
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

// Recover finishes what an earlier process left behind: it seals open segments and runs every phase
// that is due. Crawl does so by itself.
func (e *Engine) Recover(ctx context.Context) error {
	if err := e.recoverOpen(ctx); err != nil {
		return err
	}
	return e.settle(ctx)
}

// recoverOpen seals the open segments that an earlier process left behind, but for fetchlists that
// nobody has begun to fetch. Pages that were in flight are simply due again.
func (e *Engine) recoverOpen(ctx context.Context) error {
	list, err := e.store.SegmentList()
	if err != nil {
		return err
	}
	for _, s := range list {
		if s.State != storage.SegmentOpen {
			continue
		}
		names, err := e.segmentFiles(s.Number)
		if err != nil {
			return err
		}
		if s.Batch && len(names) == 0 {
			continue
		}
		if _, err := e.Seal(ctx, s.Number); err != nil {
			return err
		}
	}
	return nil
}
