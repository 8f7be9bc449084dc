// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// rewriting writes the WARC files of one segment again, without the records of deleted pages: responses that cdx does
// not have, their requests, and failures without a parse record. Everything else is copied byte by byte.
type rewriting struct {
	s        *Segments
	ctx      context.Context
	dropped  uint64 // responses and failures
	seg      storage.Segment
	run      *storage.Run    // places of the segment's captures
	captures *storage.Sorter // key of cdx → its new value
	moved    *storage.Sorter // URL key → where a record was and is
	cdx      *storage.Scanner
	outcomes *storage.Scanner
	out      *warc.Writer

	// The request that the next record may answer, or the end of the last one that was copied.
	request     warc.Location
	row         storage.CDX
	place, pair []byte
}

func (s *Segments) newRewriting(ctx context.Context, seg storage.Segment, run *storage.Run) *rewriting {
	store, sorter := s.env.Store, s.env.Sorter
	return &rewriting{
		s: s, ctx: ctx, seg: seg, run: run, captures: sorter(foldLast), moved: sorter(nil),
		cdx:      store.Scan(storage.CDXRange(), nil, nil),
		outcomes: store.Scan(storage.ParseLinks(seg.Number), nil, nil),
	}
}

func (w *rewriting) close() {
	w.captures.Close()
	w.moved.Close()
	w.cdx.Close()
	w.outcomes.Close()
	if w.out != nil {
		_, _ = w.out.Close() // after an error: what was written is removed by the next Purge
	}
}

// files writes the new files and returns them. They are on disk.
func (w *rewriting) files() (files []storage.WARCFile, err error) {
	env := &w.s.env
	old := slices.Clone(w.seg.WARC)
	slices.SortFunc(old, func(a, b storage.WARCFile) int { return strings.Compare(a.Name, b.Name) })
	if len(old) == 0 {
		return nil, nil
	}
	w.out, err = warc.NewWriter(warc.WriterOptions{
		FS: env.FS, Dir: env.Dir, Prefix: filePrefix(w.seg.Number), Now: env.Now, Info: env.Info,
	})
	if err != nil {
		return nil, err
	}
	for _, f := range old {
		if err := w.file(f); err != nil {
			return nil, fmt.Errorf("rewriting %s/%s: %w", env.Dir, f.Name, err)
		}
	}
	out := w.out
	w.out = nil
	written, err := out.Close()
	if err != nil {
		return nil, err
	}
	for _, f := range written {
		files = append(files, storage.WARCFile{Name: f.Name, Size: f.Size, Records: uint64(f.Records)})
	}
	return files, nil
}

// file copies what stays of one file.
func (w *rewriting) file(old storage.WARCFile) (err error) {
	env := &w.s.env
	path := env.Dir + "/" + old.Name
	f, err := env.FS.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r := warc.NewReaderOptions(f, old.Size, warc.ReaderOptions{File: old.Name})
	w.request = warc.Location{}
	for n := 0; ; n++ {
		if n%256 == 0 && w.ctx.Err() != nil {
			return w.ctx.Err()
		}
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := w.record(f, rec); err != nil {
			return fmt.Errorf("record at offset %d: %w", rec.Offset, err)
		}
	}
}

// record copies a record or leaves it out. A request waits for its response.
func (w *rewriting) record(f warc.File, rec *warc.Record) error {
	if rec.Length <= 0 {
		return fmt.Errorf("it shares its gzip member with others, as only other tools write them")
	}
	if rec.Type == warc.TypeRequest {
		w.request = rec.Location
		return nil
	}
	request := w.request
	w.request = warc.Location{}
	keep, err := w.keeps(rec)
	if err != nil {
		return err
	}
	if !keep {
		w.dropped++
		return nil
	}
	from, lengths := rec.Offset, []int64{rec.Length}
	if request.Length > 0 && request.Offset+request.Length == rec.Offset {
		from, lengths = request.Offset, []int64{request.Length, rec.Length}
	}
	at, err := w.out.CopyRecords(f, from, lengths...)
	if err != nil {
		return err
	}
	now := warc.Location{File: at.File, Offset: at.Offset + at.Length - rec.Length, Length: rec.Length}
	return w.note(rec, now)
}

// keeps reports whether a record stays.
func (w *rewriting) keeps(rec *warc.Record) (bool, error) {
	switch {
	case isRobots(rec):
		return true, nil
	case rec.Type == warc.TypeResponse || rec.Type == warc.TypeRevisit:
		w.place = appendPlace(w.place[:0], w.seg.Number, rec.File, rec.Offset)
		for w.run.Key() != nil && bytes.Compare(w.run.Key(), w.place) < 0 {
			w.run.Next()
		}
		return bytes.Equal(w.run.Key(), w.place), w.run.Err()
	case rec.Type == warc.TypeMetadata && blockField(rec, fieldFailure) != "":
		u, err := urlkey.Parse(rec.URI)
		if err != nil {
			return false, err
		}
		key := []byte(u.Key())
		return w.outcomes.SeekGE(key) && bytes.Equal(w.outcomes.Key(), key), w.outcomes.Err()
	}
	return true, nil
}

// note notes where a record of a page is now.
func (w *rewriting) note(rec *warc.Record, now warc.Location) error {
	if rec.Type == warc.TypeWarcinfo || isRobots(rec) || rec.URI == "" {
		return nil
	}
	u, err := urlkey.Parse(rec.URI)
	if err != nil {
		return err
	}
	w.pair = appendPlace(w.pair[:0], 0, rec.File, rec.Offset)
	w.pair = binary.LittleEndian.AppendUint16(w.pair, uint16(len(w.pair)))
	w.pair = append(binary.LittleEndian.AppendUint64(w.pair, uint64(now.Offset)), now.File...)
	if err := w.moved.Add([]byte(u.Key()), w.pair); err != nil {
		return fmt.Errorf("sorting records: %w", err)
	}
	if rec.Type != warc.TypeResponse && rec.Type != warc.TypeRevisit {
		return nil
	}
	key := w.run.Value() // keeps found it
	if !w.cdx.SeekGE(key) || !bytes.Equal(w.cdx.Key(), key) {
		return errors.Join(fmt.Errorf("%w: cdx lost %q", storage.ErrCorrupt, key), w.cdx.Err())
	}
	if err := storage.DecodeCDX(w.cdx.Value(), &w.row); err != nil {
		return err
	}
	w.row.Location = now
	return w.captures.Add(key, storage.AppendCDX(nil, &w.row))
}

// writeRows writes the new places into cdx and parse records.
func (w *rewriting) writeRows(ing *storage.Ingestion) error {
	captures, err := w.captures.Sort()
	if err != nil {
		return fmt.Errorf("sorting captures: %w", err)
	}
	defer captures.Close()
	for table := ing.Table(storage.CDXRange()); captures.Next(); {
		if err := table.Set(captures.Key(), captures.Value()); err != nil {
			return err
		}
	}
	moved, err := w.moved.Sort()
	if err != nil {
		return fmt.Errorf("sorting records: %w", err)
	}
	defer moved.Close()
	outcomes := storage.ParseLinks(w.seg.Number)
	table := ing.Table(outcomes)
	join := func(key []byte, places [][]byte, old []byte) error {
		if old == nil { // of a version whose parse record was purged
			return nil
		}
		var o storage.FetchOutcome
		if err := storage.DecodeFetchOutcome(old, &o); err != nil {
			return fmt.Errorf("parse record %s: %w", key, err)
		}
		w.place = appendPlace(w.place[:0], 0, o.Location.File, o.Location.Offset)
		w.place = binary.LittleEndian.AppendUint16(w.place, uint16(len(w.place)))
		for _, p := range places {
			if now, ok := bytes.CutPrefix(p, w.place); ok && len(now) > 8 {
				o.Location.Offset, o.Location.File = int64(binary.LittleEndian.Uint64(now)), string(now[8:])
				return table.Set(key, storage.AppendFetchOutcome(nil, &o))
			}
		}
		return nil
	}
	err = storage.MergeJoin(w.ctx, w.s.env.Store, outcomes, moved, join)
	return errors.Join(err, captures.Err())
}

// appendPlace appends a place in a WARC file so that places sort by segment, file and offset.
func appendPlace(dst []byte, segment uint32, file string, offset int64) []byte {
	dst = append(binary.BigEndian.AppendUint32(dst, segment), file...)
	return binary.BigEndian.AppendUint64(append(dst, 0), uint64(offset))
}

// isRobots reports whether a record is a response that is not a page.
func isRobots(rec *warc.Record) bool { return strings.TrimSpace(rec.Field(fieldRole)) != "" }
