// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/warc"
	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

// readAhead is the number of attempts read back from a WARC file that wait for each parser, and readAheadBytes how much
// memory their bodies take together, with those that are parsed. Full queues stop reading.
const (
	readAhead      = 32
	readAheadBytes = 16 << 20
)

// Each is called with every attempt that is read back from a segment: the key of its URL, the bytes that were received
// for it, and how long it took. Several goroutines call it; the key is valid during the call.
type Each func(key []byte, received int64, took time.Duration)

// readBack repairs the parts of WARC files that w's segment has and adds every attempt in them. each may be nil. torn
// is the number of bytes that were left out.
func (g *Segments) readBack(
	ctx context.Context, w *Writer, each Each,
) (files []warc.FileInfo, torn int64, err error) {
	parts, err := g.partsOf(&w.seg)
	if err != nil {
		return nil, 0, err
	}
	for _, part := range parts {
		path := g.env.Dir + "/" + part.Name
		sound := []warc.FileInfo{part}
		if !w.closed[part.Name] { // mending it would read it once more
			if w.seg.State == storage.SegmentOpen {
				// What a killed process wrote can be read and need not be on the disk yet; sealing it says that it is.
				// The sync comes first: if the disk refused something, what is read then lacks it.
				if err := g.syncFile(path); err != nil {
					return nil, torn, fmt.Errorf("syncing %s: %w", path, err)
				}
			}
			var removed int64
			if sound, removed, err = g.repair(path, part, &w.seg); err != nil {
				return nil, torn, err
			}
			torn += removed
		}
		for _, f := range sound {
			if f.Records, err = g.readFile(ctx, path, f, w, each); err != nil {
				return nil, torn, fmt.Errorf("reading %s back: %w", path, err)
			}
			files = append(files, f)
		}
	}
	if lost := w.lost.Load(); lost > 0 {
		g.env.Warn(fmt.Errorf("segment %d was not sealed: %d of its pages, stored without content, are due again",
			w.seg.Number, lost))
	}
	return files, torn, nil
}

// syncFile makes durable what a file has, and its name.
func (g *Segments) syncFile(path string) error {
	f, err := g.env.FS.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close(), g.env.FS.SyncDir(g.env.Dir))
}

// repair returns what of a part of a WARC file is readable from its first to its last byte. Of an open segment a crash
// may have kept later blocks and lost earlier ones, none of them synced: what is readable behind such a hole is kept,
// what was in it is due again. A hole in a sealed segment is damage, which reading it back reports.
//
// A file that is the segment's alone is mended. Of one with parts of other segments only what was not written
// completely is cut off its end; a hole stays, and belongs to no segment.
func (g *Segments) repair(
	path string, part warc.FileInfo, seg *storage.Segment,
) (sound []warc.FileInfo, removed int64, err error) {
	state := seg.State
	size, err := g.env.FS.Size(path)
	if err != nil {
		return nil, 0, fmt.Errorf("repairing %s: %w", path, err)
	}
	end := part.Start + part.Size
	switch {
	case state != storage.SegmentOpen && end > size:
		return nil, 0, fmt.Errorf("%s has %d bytes and should have %d", path, size, end)
	case state != storage.SegmentOpen:
		return []warc.FileInfo{part}, 0, nil
	}
	alone, err := g.alone(part.Name, seg.Number)
	if err != nil {
		return nil, 0, err
	}
	if end = min(end, size); !alone {
		if part.Size = end - part.Start; part.Size <= 0 {
			return nil, 0, nil
		}
		return g.soundIn(path, part, end == size && !g.parts.written(part.Name))
	}
	mended, _, faults, err := warc.Mend(g.env.FS, path)
	g.warnOf(path, faults)
	if err == nil && mended == 0 && size > 0 {
		g.env.Warn(fmt.Errorf("%s was never synced: its %d bytes are dropped and their pages are due again", path,
			size))
	}
	return []warc.FileInfo{{Name: part.Name, Size: mended}}, size - mended, err
}

// warnOf reports holes.
func (g *Segments) warnOf(path string, faults []warc.Fault) {
	for _, f := range faults {
		if !f.Tail {
			g.env.Warn(fmt.Errorf("reading %s back: %v: what was there is due again", path, f))
		}
	}
}

// soundIn returns the sound pieces of a part of a file. At the end of the file, what is not sound is cut off if last is
// set.
func (g *Segments) soundIn(
	path string, part warc.FileInfo, last bool,
) (sound []warc.FileInfo, removed int64, err error) {
	sound, faults, err := g.scanSound(path, part)
	if err != nil {
		return nil, 0, fmt.Errorf("repairing %s: %w", path, err)
	}
	g.warnOf(path, faults)
	removed = part.Size
	to := part.Start
	for _, piece := range sound {
		removed -= piece.Size
		to = piece.Start + piece.Size
	}
	if last && to < part.Start+part.Size {
		err = warc.Cut(g.env.FS, path, to)
	}
	return sound, removed, err
}

// readFile adds every attempt in a part of a WARC file. It returns the number of readable records.
func (g *Segments) readFile(
	ctx context.Context, path string, part warc.FileInfo, w *Writer, each Each,
) (records int64, err error) {
	f, err := g.env.FS.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r := warc.NewReaderOptions(f, part.Start+part.Size, warc.ReaderOptions{File: path, Start: part.Start})
	group, ctx := errgroup.WithContext(ctx)
	lanes := make([]chan *Attempt, max(g.env.Processors, 1))
	room := semaphore.NewWeighted(readAheadBytes)
	for i := range lanes {
		lanes[i] = make(chan *Attempt, readAhead)
		group.Go(func() error { return addAll(w, lanes[i], room, each) })
	}
	defer func() {
		for _, lane := range lanes {
			close(lane)
		}
		if failed := group.Wait(); failed != nil {
			err = failed
		}
	}()
	for ctx.Err() == nil {
		rec, err := r.Next()
		switch {
		case err == nil:
			records++
			w.readRecord(rec.Date)
		case errors.Is(err, io.EOF):
			return records, nil
		default:
			return records, err
		}
		a, ok, err := storedAttempt(rec)
		if err != nil {
			return records, fmt.Errorf("record at offset %d: %w", rec.Location.Offset, err)
		}
		if !ok {
			continue
		}
		a.location.File = filepath.Base(path)
		if room.Acquire(ctx, a.held()) != nil {
			break
		}
		select { // attempts at one URL stay in order
		case lanes[xxh3.HashString(rec.URI)%uint64(len(lanes))] <- a:
		case <-ctx.Done():
		}
	}
	return records, ctx.Err()
}

// readRecord notes when a record was written.
func (w *Writer) readRecord(at time.Time) {
	if at.IsZero() {
		return
	}
	if w.began.IsZero() || at.Before(w.began) {
		w.began = at
	}
	if at.After(w.ended) {
		w.ended = at
	}
}

// held is the part of readAheadBytes that an attempt takes. One that is longer has all of it.
func (a *Attempt) held() int64 {
	if a.Response == nil {
		return 0
	}
	return min(int64(len(a.Response.Body)), readAheadBytes)
}

// addAll adds attempts that were read back. Their bodies leave room then.
func addAll(w *Writer, lane chan *Attempt, room *semaphore.Weighted, each Each) error {
	var s Scratch
	read := readAttempts{w: w}
	defer read.flush()
	for a := range lane {
		held := a.held()
		err := addRead(w, a, &s, &read, each)
		if a.Response != nil {
			a.Response.Release()
		}
		room.Release(held)
		if err != nil {
			return err
		}
	}
	return nil
}

// addRead adds an attempt that was read back, unless it was left out.
func addRead(w *Writer, a *Attempt, s *Scratch, read *readAttempts, each Each) error {
	if w.again != nil && w.again.Left != nil && w.again.Left(a.URL.AppendKey(nil)) {
		return nil
	}
	if a.dropped > 0 && statusOf(a.Response) == storage.FetchSuccess {
		if w.seg.State != storage.SegmentOpen {
			return fmt.Errorf("%s: %w", a.URL, ErrNoContent)
		}
		w.lost.Add(1)
		return nil
	}
	if err := w.add(a, s); err != nil {
		return fmt.Errorf("%s: %w", a.URL, err)
	}
	w.noted.mu.Lock()
	w.noted.add(xxh3.Hash(s.key), a.location)
	w.noted.mu.Unlock()
	read.add(a, s)
	if each != nil {
		each(s.key, a.received(), a.Took)
	}
	return nil
}

// readAttempts passes attempts on to Env.Log that were read back from the WARC of a segment that an earlier process
// left open.
type readAttempts struct {
	w    *Writer
	list []Stored
}

func (r *readAttempts) add(a *Attempt, s *Scratch) {
	w := r.w
	if w.s.env.Log == nil || w.again != nil || w.closed != nil || w.seg.State != storage.SegmentOpen {
		return
	}
	o := s.outcome
	o.Outlinks = nil
	if r.list = append(r.list, Stored{a.URL, o, a.digest}); len(r.list) == readLogged {
		r.flush()
	}
}

// readLogged is the number of attempts that are passed on together.
const readLogged = 1024

func (r *readAttempts) flush() {
	if len(r.list) > 0 {
		r.w.s.env.Log(&r.w.seg, r.list, true)
		r.list = nil
	}
}
