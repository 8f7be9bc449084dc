// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"time"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/warc"
	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"
)

// readAhead is the number of attempts read back from a WARC file that wait for each parser. A full queue stops reading.
const readAhead = 32

// Each is called with every attempt that is read back from a segment: the key of its URL, the bytes that were received
// for it, and how long it took. Several goroutines call it; the key is valid during the call.
type Each func(key []byte, received int64, took time.Duration)

// readBack repairs the WARC files of w's segment and adds every attempt in them. each may be nil. torn is the number of
// bytes that were cut off.
func (g *Segments) readBack(
	ctx context.Context, w *Writer, each Each,
) (files []warc.FileInfo, torn int64, err error) {
	names, err := g.Files(w.seg.Number)
	if err != nil {
		return nil, 0, err
	}
	for _, name := range names {
		path := g.env.Dir + "/" + name
		var size, removed int64
		if w.closed[name] { // mending it would read it once more
			size, err = g.env.FS.Size(path)
		} else {
			size, removed, err = g.repair(path, w.seg.State)
		}
		if err != nil {
			return nil, torn, err
		}
		torn += removed
		records, err := g.readFile(ctx, path, size, w, each)
		if err != nil {
			return nil, torn, fmt.Errorf("reading %s back: %w", path, err)
		}
		files = append(files, warc.FileInfo{Name: name, Size: size, Records: records})
	}
	if lost := w.lost.Load(); lost > 0 {
		g.env.Warn(fmt.Errorf("segment %d was not sealed: %d of its pages, stored without content, are due again",
			w.seg.Number, lost))
	}
	return files, torn, nil
}

// repair makes a file of a segment readable from its first to its last byte. Off the end of a file it cuts what was not
// written completely. Of an open segment a crash may also have kept later blocks and lost earlier ones, none of them
// synced: what is readable behind such a hole is kept, what was in it is due again. A hole in a file of a sealed
// segment is damage, which reading it back reports.
func (g *Segments) repair(path string, state storage.SegmentState) (size, removed int64, err error) {
	if state != storage.SegmentOpen {
		size, removed, err = warc.Repair(g.env.FS, path)
		return size, removed, err
	}
	length, err := g.env.FS.Size(path)
	if err != nil {
		return 0, 0, fmt.Errorf("repairing %s: %w", path, err)
	}
	size, _, faults, err := warc.Mend(g.env.FS, path)
	for _, f := range faults {
		if !f.Tail {
			g.env.Warn(fmt.Errorf("reading %s back: %v: what was there is due again", path, f))
		}
	}
	if err == nil && size == 0 && length > 0 {
		g.env.Warn(fmt.Errorf("%s was never synced: its %d bytes are dropped and their pages are due again",
			path, length))
	}
	return size, length - size, err
}

// readFile adds every attempt of one WARC file. It returns the number of readable records.
func (g *Segments) readFile(
	ctx context.Context, path string, size int64, w *Writer, each Each,
) (records int64, err error) {
	f, err := g.env.FS.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r := warc.NewReaderOptions(f, size, warc.ReaderOptions{File: path})
	group, ctx := errgroup.WithContext(ctx)
	lanes := make([]chan *Attempt, runtime.GOMAXPROCS(0))
	for i := range lanes {
		lanes[i] = make(chan *Attempt, readAhead)
		group.Go(func() error { return addAll(w, lanes[i], each) })
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
		case errors.Is(err, io.EOF) || errors.Is(err, warc.ErrTorn):
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

// addAll adds attempts that were read back.
func addAll(w *Writer, lane chan *Attempt, each Each) error {
	var s Scratch
	read := readAttempts{w: w}
	defer read.flush()
	for a := range lane {
		if w.again != nil && w.again.Left != nil && w.again.Left(a.URL.AppendKey(nil)) {
			if a.Response != nil {
				a.Response.Release()
			}
			continue
		}
		if a.dropped > 0 && statusOf(a.Response.Status) == storage.FetchSuccess {
			a.Response.Release()
			if w.seg.State != storage.SegmentOpen {
				return fmt.Errorf("%s: %w", a.URL, ErrNoContent)
			}
			w.lost.Add(1)
			continue
		}
		if err := w.add(a, &s); err != nil {
			return fmt.Errorf("%s: %w", a.URL, err)
		}
		received := a.received()
		if a.Response != nil {
			a.Response.Release()
		}
		w.pendingMu.Lock()
		w.hashes = append(w.hashes, xxh3.Hash(s.key))
		w.pendingMu.Unlock()
		read.add(a, &s)
		if each != nil {
			each(s.key, received, a.Took)
		}
	}
	return nil
}

// readAttempts passes attempts on to Env.Log that were read back from the WARC of a segment that an earlier process left
// open.
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
