// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// rewriting writes one WARC file again, without the records of deleted pages: responses that cdx does not have, their
// requests, and failures without a parse record. Everything else that belongs to a segment is copied byte by byte.
type rewriting struct {
	s        *Segments
	ctx      context.Context
	dropped  uint64          // responses and failures
	run      *storage.Run    // places of the captures in the file
	captures *storage.Sorter // key of cdx → its new value
	moved    *storage.Sorter // segment, URL key → where a record was and is
	cdx      *storage.Scanner
	out      *warc.Writer
	kept     bool // the store has the new files, or may have them

	// The segment whose part is read.
	segment  uint32
	outcomes *storage.Scanner // nil before the first part
	// The request that the next record may answer, or the end of the last one that was copied.
	request     warc.Location
	row         storage.CDX
	place, pair []byte
}

func (g *Segments) newRewriting(ctx context.Context, run *storage.Run) *rewriting {
	return &rewriting{
		s: g, ctx: ctx, run: run, captures: g.env.Sorter(storage.FoldLast), moved: g.env.Sorter(nil),
		cdx: g.env.Store.Scan(storage.CDXRange(), nil, nil),
	}
}

func (w *rewriting) close() {
	w.captures.Close()
	w.moved.Close()
	w.cdx.Close()
	if w.outcomes != nil {
		w.outcomes.Close()
	}
	if w.out != nil && !w.kept {
		w.discard()
	}
}

// discard removes what was written before an error. What a crash leaves, the next Purge removes; but a disk that was
// filled up would stay full until then, and the store might not open for it.
func (w *rewriting) discard() {
	files, _ := w.out.Close() // whoever wrote has returned the error
	for _, f := range files {
		if err := w.s.env.FS.Remove(w.s.env.Dir + "/" + f.Name); err != nil {
			w.s.env.Warn(fmt.Errorf("removing %s, which was not written to its end: %w", f.Name, err))
		}
	}
}

// file writes the parts of a file again and returns where they are now. They are on disk.
func (w *rewriting) file(name string, parts []storage.WARCPart) (now []storage.WARCPart, err error) {
	env := &w.s.env
	path := env.Dir + "/" + name
	defer func() {
		if err != nil {
			err = fmt.Errorf("rewriting %s: %w", path, err)
		}
	}()
	f, err := env.FS.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w.out, err = warc.NewWriter(warc.WriterOptions{
		FS: env.FS, Dir: env.Dir, Prefix: filePrefix(parts[0].Segment), Now: env.Now, Info: env.Info,
		MaxFileBytes: env.FileBytes,
	})
	if err != nil {
		return nil, err
	}
	end := func() {
		for _, f := range w.out.EndPart() {
			now = append(now, storage.WARCPart{Segment: w.segment, WARCFile: storedPart(f)})
		}
	}
	for _, part := range parts {
		if part.Segment != w.segment {
			end()
			if err := w.begin(part.Segment); err != nil {
				return nil, err
			}
		}
		if err := w.part(f, part); err != nil {
			return nil, err
		}
	}
	end()
	_, err = w.out.Close()
	return now, err
}

// begin begins the part of a segment.
func (w *rewriting) begin(segment uint32) error {
	if w.outcomes != nil {
		w.outcomes.Close()
	}
	w.segment = segment
	w.outcomes = w.s.env.Store.Scan(storage.ParseLinks(segment), nil, nil)
	return w.out.BeginPart(filePrefix(segment), segmentField(segment))
}

// part copies what stays of a part.
func (w *rewriting) part(f warc.File, part storage.WARCPart) error {
	r := warc.NewReaderOptions(f, part.End(), warc.ReaderOptions{File: part.Name, Start: part.Start})
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

// record copies a record or leaves it out. A request waits for its response. What says that a segment begins is left
// out, because the new file says so itself.
func (w *rewriting) record(f warc.File, rec *warc.Record) error {
	if rec.Length <= 0 {
		return fmt.Errorf("it shares its gzip member with others, as only other tools write them")
	}
	if _, ok := beginsSegment(rec); ok {
		return nil
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
		w.place = appendPlace(w.place[:0], rec.File, rec.Offset)
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
	w.pair = appendPlace(w.pair[:0], rec.File, rec.Offset)
	w.pair = binary.LittleEndian.AppendUint16(w.pair, uint16(len(w.pair)))
	w.pair = append(binary.LittleEndian.AppendUint64(w.pair, uint64(now.Offset)), now.File...)
	w.place = binary.BigEndian.AppendUint32(w.place[:0], w.segment)
	if err := w.moved.Add(u.AppendKey(w.place), w.pair); err != nil {
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
	if err := w.writeOutcomes(ing, moved); err != nil {
		return err
	}
	return errors.Join(captures.Err(), moved.Err())
}

// writeOutcomes writes the new places into parse records, segment by segment.
func (w *rewriting) writeOutcomes(ing *storage.Ingestion, moved *storage.Run) error {
	var of uint32
	var known *storage.Finder
	var table *storage.TableWriter
	defer func() {
		if known != nil {
			known.Close() // Find has returned its error
		}
	}()
	for n := 0; moved.Next(); n++ {
		if n%4096 == 0 && w.ctx.Err() != nil {
			return w.ctx.Err()
		}
		if number := binary.BigEndian.Uint32(moved.Key()); known == nil || number != of {
			if known != nil {
				known.Close()
				if err := table.CloseFile(); err != nil {
					return err
				}
			}
			of, known = number, storage.NewFinder(w.s.env.Store, storage.ParseLinks(number))
			table = ing.Table(storage.ParseLinks(number))
		}
		key := moved.Key()[4:]
		old, err := known.Find(key)
		if err != nil {
			return err
		}
		if old == nil { // of a version whose parse record was purged
			continue
		}
		var o storage.FetchOutcome
		if err := storage.DecodeFetchOutcome(old, &o); err != nil {
			return fmt.Errorf("parse record %s: %w", key, err)
		}
		w.place = appendPlace(w.place[:0], o.Location.File, o.Location.Offset)
		w.place = binary.LittleEndian.AppendUint16(w.place, uint16(len(w.place)))
		now, ok := bytes.CutPrefix(moved.Value(), w.place)
		if !ok { // of two fetches of a URL in one segment, the record names one
			continue
		}
		o.Location.Offset, o.Location.File = int64(binary.LittleEndian.Uint64(now)), string(now[8:])
		if err := table.Set(key, storage.AppendFetchOutcome(nil, &o)); err != nil {
			return err
		}
	}
	return nil
}

// appendPlace appends a place in a WARC file so that places sort by file and offset.
func appendPlace(dst []byte, file string, offset int64) []byte {
	dst = append(append(dst, file...), 0)
	return binary.BigEndian.AppendUint64(dst, uint64(offset))
}

// isRobots reports whether a record is a response that is not a page.
func isRobots(rec *warc.Record) bool { return strings.TrimSpace(rec.Field(fieldRole)) != "" }
