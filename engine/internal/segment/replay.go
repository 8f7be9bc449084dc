// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/warc"
	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"
)

// readAhead is the number of attempts read back from a WARC file that wait for each parser. A full queue stops reading.
const readAhead = 32

// readBack repairs the WARC files of w's segment and adds every attempt in them. each, if not nil, is called with the
// key of every URL, from several goroutines. torn is the number of bytes that were cut off.
func (g *Segments) readBack(
	ctx context.Context, w *Writer, each func(key []byte),
) (files []warc.FileInfo, torn int64, err error) {
	names, err := g.Files(w.seg.Number)
	if err != nil {
		return nil, 0, err
	}
	for _, name := range names {
		path := g.env.Dir + "/" + name
		size, removed, err := g.repair(path)
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

// repair cuts the torn tail off a file that was being written. A file that begins with zeros was never synced: its
// length reached the disk and its bytes did not, so nothing in it was acknowledged, and it is emptied.
func (g *Segments) repair(path string) (size, removed int64, err error) {
	size, removed, err = warc.Repair(g.env.FS, path)
	if err == nil {
		return size, removed, nil
	}
	f, ferr := g.env.FS.Open(path)
	if ferr != nil {
		return 0, 0, fmt.Errorf("repairing %s: %w", path, errors.Join(err, ferr))
	}
	var head [16]byte
	n, _ := f.ReadAt(head[:], 0)
	if ferr := f.Close(); ferr != nil || n < len(head) || head != [16]byte{} {
		return 0, 0, fmt.Errorf("repairing %s: %w", path, errors.Join(err, ferr))
	}
	length, err := g.env.FS.Size(path)
	if err == nil {
		err = g.env.FS.Truncate(path, 0)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("emptying %s, which was never synced: %w", path, err)
	}
	g.env.Warn(fmt.Errorf("%s was never synced: its %d bytes are dropped and their pages are due again", path, length))
	return 0, length, nil
}

// readFile adds every attempt of one WARC file. It returns the number of readable records.
func (g *Segments) readFile(
	ctx context.Context, path string, size int64, w *Writer, each func(key []byte),
) (records int64, err error) {
	f, err := g.env.FS.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	// A power loss may keep later blocks of a file and lose earlier ones, none of them synced. What is readable behind
	// such a hole is used. What was in it is due again.
	r := warc.NewReaderOptions(f, size, warc.ReaderOptions{File: path, Resync: true})
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
		var hole *warc.CorruptError
		switch {
		case err == nil:
			records++
		case errors.Is(err, io.EOF) || errors.Is(err, warc.ErrTorn):
			return records, nil
		case errors.As(err, &hole) && w.seg.State == storage.SegmentOpen:
			g.env.Warn(fmt.Errorf("reading back: %w", err))
			if hole.Next < 0 {
				return records, nil
			}
			continue
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

// addAll adds attempts that were read back.
func addAll(w *Writer, lane chan *Attempt, each func(key []byte)) error {
	var s Scratch
	for a := range lane {
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
		if a.Response != nil {
			a.Response.Release()
		}
		w.pendingMu.Lock()
		w.hashes = append(w.hashes, xxh3.Hash(s.key))
		w.pendingMu.Unlock()
		if each != nil {
			each(s.key)
		}
	}
	return nil
}
