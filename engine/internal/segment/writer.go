// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// Writer is one open segment. Store, KeepRobots, Sync and Size may be called from many goroutines. End, Finish, Abandon
// and Close come last, from one.
type Writer struct {
	s       *Segments
	seg     storage.Segment
	earlier []warc.FileInfo // what Resume read back
	closed  map[string]bool // names of files that this process mended or closed: they are sound
	lost    atomic.Int64    // pages read back that have no content
	// later, if not nil, parses and seals the segment at the end: Segments.Seal. Then nothing is parsed before.
	later func(context.Context, storage.Segment) (Sealed, error)
	again *Again // nil: this segment was never sealed before
	// When the first and the last record that was read back were written.
	began, ended time.Time

	stores bool // it is one of parts.writers
	alone  bool // it shares its files with no other segment
	begin  sync.Once
	warc   *warc.Writer // nil before the first record
	failed error        // of begin
	over   bool
	files  []warc.FileInfo // where the segment is, since it ended

	noted *noted       // of all fetches in the segment
	held  atomic.Int64 // bytes in the sorters

	mu               sync.Mutex // guards all below; sealing holds it
	links, text, cdx *storage.Sorter
	counts           Counts
	linkCount        uint64
	first            int64 // time of the first outcome, ms since 1970; 0: there is none
}

// Number returns the segment's number.
func (w *Writer) Number() uint32 { return w.seg.Number }

// Created returns when the segment was created.
func (w *Writer) Created() time.Time { return w.seg.Created }

// Store appends an attempt to the WARC, parses it and adds its parse record. It returns the outcome's status. Each
// goroutine brings a Scratch of its own. After an error that is not a *warc.InputError the writer is of no more use.
func (w *Writer) Store(a *Attempt, s *Scratch) (storage.FetchStatus, error) {
	env := &w.s.env
	t := w.s.clock.begin(env.Spent)
	defer t.stop(StepParse)
	if err := w.append(a, s); err != nil {
		return 0, fmt.Errorf("storing %s: %w", a.URL, err)
	}
	t.lap(StepWARC)
	if a.Parses != nil {
		a.Parses.Store(true)
	}
	if err := w.add(a, s); err != nil {
		return 0, fmt.Errorf("storing %s: %w", a.URL, err)
	}
	o := s.outcome
	o.Outlinks = nil
	n := w.noted
	n.mu.Lock()
	n.pending = append(n.pending, Stored{a.URL, o, a.digest})
	n.add(xxh3.Hash(s.key), a.location)
	n.mu.Unlock()
	return o.Status, nil
}

// errEnded is what storing into a writer returns that has ended before its first record.
var errEnded = errors.New("BUG: segment: a record for a writer that has ended")

// log returns the WARC. The first call begins the segment in it.
func (w *Writer) log() (*warc.Writer, error) {
	w.begin.Do(func() { w.warc, w.failed = w.s.take(w.seg.Number, w.alone) })
	return w.warc, w.failed
}

// append writes the WARC record of an attempt.
func (w *Writer) append(a *Attempt, s *Scratch) error {
	log, err := w.log()
	if err != nil {
		return err
	}
	took, wire := strconv.FormatInt(a.Took.Milliseconds(), 10), strconv.FormatInt(a.received(), 10)
	if a.Response == nil {
		s.fields = append(s.fields[:0], warc.Field{Name: fieldFailure, Value: string(a.Failure)},
			warc.Field{Name: fieldTookMS, Value: took}, warc.Field{Name: fieldWireLen, Value: wire})
		if !a.Instead.IsZero() {
			s.fields = append(s.fields, warc.Field{Name: fieldInstead, Value: a.Instead.String()})
		}
		a.location, err = log.WriteMetadata(a.URL.String(), a.At, s.fields)
		return err
	}
	s.fields = append(s.fields[:0], warc.Field{Name: fieldTook, Value: took}, warc.Field{Name: fieldWire, Value: wire})
	if clean := cleanPreferences(a.Preferences); clean != "" {
		value := strings.ReplaceAll(clean, "\n", preferenceBreak)
		s.fields = append(s.fields, warc.Field{Name: fieldPreferences, Value: value})
	}
	x := Exchange(a.URL, a.Response, s.fields...)
	if a.confirms() {
		return w.s.appendRevisit(log, a, x)
	}
	if w.s.env.NoContent && len(x.Body) > 0 {
		dropBody(x)
	}
	written, err := log.AppendExchange(x)
	a.location, a.digest = written.Response, written.PayloadSHA1
	return err
}

// dropBody leaves the body out of an exchange. Its record says how long it was.
func dropBody(x *warc.Exchange) {
	x.Fields = append(x.Fields, warc.Field{Name: fieldDropped, Value: strconv.Itoa(len(x.Body))})
	if x.Body = nil; x.Truncated == "" {
		x.Truncated = truncatedByUs
	}
}

// Exchange returns a response in the form that the WARC writer takes. It shares the response's memory.
func Exchange(u urlkey.URL, r *fetch.Response, fields ...warc.Field) *warc.Exchange {
	return &warc.Exchange{URI: u.String(), Addr: r.Addr, Start: r.Start, Request: r.RequestHead, ResponseHead: r.Head,
		Body: r.Body, Truncated: r.Truncated, Fields: fields}
}

// KeepRobots appends the response to a request for robots.txt, with a mark that it is not a page.
func (w *Writer) KeepRobots(u urlkey.URL, r *fetch.Response) error {
	log, err := w.log()
	if err != nil {
		return err
	}
	_, err = log.WriteExchange(Exchange(u, r, warc.Field{Name: fieldRole, Value: roleRobots}))
	return err
}

// add makes the outcome of an attempt and adds its records. The outcome stays in s until the next call.
func (w *Writer) add(a *Attempt, s *Scratch) error {
	w.s.readOutcome(a, s, w.later == nil)
	o := &s.outcome
	s.key = a.URL.AppendKey(s.key[:0])
	if w.later != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.counts.Add(o)
		return nil
	}
	s.links = storage.AppendFetchOutcome(s.links[:0], o)
	s.body = s.body[:0]
	if hasText(o) {
		s.body = storage.AppendParseText(s.body, &s.text)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.links.Add(s.key, s.links); err != nil {
		return err
	}
	if len(s.body) > 0 {
		if err := w.text.Add(s.key, s.body); err != nil {
			return err
		}
	}
	if a.Response != nil {
		s.cdx = captureOf(w.seg.Number, a, o)
		if err := w.cdx.Add(storage.AppendCDXKey(nil, s.key, o.Time), storage.AppendCDX(nil, &s.cdx)); err != nil {
			return err
		}
	}
	w.held.Add(int64(3*len(s.key) + len(s.links) + len(s.body)))
	w.linkCount += uint64(len(o.Outlinks))
	w.counts.Add(o)
	if w.first == 0 || o.Time < w.first {
		w.first = o.Time
	}
	return nil
}

// captureOf is the capture of an attempt that has a response.
func captureOf(segment uint32, a *Attempt, o *storage.FetchOutcome) storage.CDX {
	c := storage.CDX{
		Segment: segment, Location: a.location, HTTPStatus: o.HTTPStatus, MediaType: o.MediaType, Digest: a.digest,
	}
	if a.revisit {
		c.MediaType = warc.MediaTypeRevisit
	}
	return c
}

// hasText reports whether the text of a page is kept beside its outcome: it can be found.
func hasText(o *storage.FetchOutcome) bool {
	return o.Status == storage.FetchSuccess && o.Flags&(storage.FlagNoIndex|storage.FlagNotParsed) == 0
}

// Sync makes everything that was stored durable and returns the outcomes that no earlier Sync returned, without their
// links. After an error none of them may be counted, and the writer is of no more use.
func (w *Writer) Sync() ([]Stored, error) {
	n := w.noted
	n.mu.Lock()
	stored, records := n.pending, len(n.places)
	n.pending = nil
	n.mu.Unlock()
	if len(stored) == 0 {
		return nil, nil
	}
	if err := w.warc.Sync(); err != nil {
		return nil, fmt.Errorf("syncing the WARC of segment %d: %w", w.seg.Number, err)
	}
	n.synced(records)
	if w.s.env.Log != nil {
		w.s.env.Log(&w.seg, stored, false)
	}
	return stored, nil
}

// Hashes returns the hashes of the keys of all URLs in the segment, those that Resume read back included. Nobody may be
// storing any more.
func (w *Writer) Hashes() []uint64 {
	w.noted.mu.Lock()
	defer w.noted.mu.Unlock()
	return w.noted.hashes
}

// Size is how full a segment is.
type Size struct {
	Pages uint64 // outcomes
	Bytes uint64 // received
	Held  int64  // bytes of parse records, in memory or spilled
}

// Size returns how full the segment is.
func (w *Writer) Size() Size {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Size{w.counts.Attempts(), w.counts.Bytes, w.held.Load()}
}

// Held returns Size.Held, and waits for nobody who stores or seals.
func (w *Writer) Held() int64 { return w.held.Load() }

// End ends the segment in the WARC: the next one may go on behind it. Nobody may be storing, or store any more. Finish,
// Abandon and Close include it; calling it again does nothing.
func (w *Writer) End() {
	if w.over {
		return
	}
	w.over = true
	w.begin.Do(func() { w.failed = errEnded })
	if w.stores {
		w.files = w.s.parts.leave(w.seg.Number, w.earlier, w.warc, w.alone)
	}
}

// Finish ends and seals the segment. Everything must be synced, and nobody may be storing. After an error
// the segment stays open: Seal reads it back later.
func (w *Writer) Finish(ctx context.Context) (Sealed, error) {
	defer w.Close()
	if err := w.closeWARC(); err != nil {
		return Sealed{}, err
	}
	if w.later != nil {
		w.closed = map[string]bool{}
		for _, f := range w.files {
			w.closed[f.Name] = true
		}
		return w.later(ctx, w.seg)
	}
	return w.seal(ctx, w.files)
}

// NoteFetched writes into the record of the open segment what was fetched, because its fetch has come to an end: it
// waits to be parsed. Everything must be synced.
func (w *Writer) NoteFetched() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	seg := w.seg
	seg.Counts = w.segmentCounts()
	return w.s.env.Store.PutSegment(seg)
}

// segmentCounts are the counts for the record of the segment. w.mu is held.
func (w *Writer) segmentCounts() storage.SegmentCounts {
	c := &w.counts
	return storage.SegmentCounts{
		Generated: w.seg.Counts.Generated, Fetched: c.Fetched, Failed: c.Failed, Redirected: c.Redirected,
		Gone: c.Gone, NotModified: c.NotModified, RobotsDenied: c.RobotsDenied, Links: w.linkCount, Bytes: c.Bytes,
	}
}

// Abandon closes the WARC and seals nothing. It is for the end after a failure, of the disk perhaps: what was stored is
// synced, nothing else is written. Seal reads the segment back later.
func (w *Writer) Abandon() error {
	defer w.Close()
	return w.closeWARC()
}

// closeWARC makes everything in the WARC durable. The log stays open for the segments that go on in it.
func (w *Writer) closeWARC() (err error) {
	w.End()
	if w.warc != nil {
		err = w.warc.Sync()
	}
	if w.stores {
		w.stores = false
		err = errors.Join(err, w.s.parts.close())
	}
	if err != nil {
		return fmt.Errorf("closing the WARC of segment %d: %w", w.seg.Number, err)
	}
	return nil
}

// Close gives back the memory of the sorters and ends the segment in the WARC. Finish and Abandon include it;
// calling it again does nothing.
func (w *Writer) Close() {
	if w.stores {
		// Finish and Abandon have done it and returned the error. Without them nothing depends on it: what was not
		// synced was not acknowledged.
		_ = w.closeWARC()
	}
	for _, s := range []*storage.Sorter{w.links, w.text, w.cdx} {
		s.Close()
	}
}

// seal writes all records as tables and the segment's new state, in one ingestion. The WARC files are closed and
// synced.
//
// Sealing took 14 µs a page and takes 28 since parse records are compressed well at once (2026-11-22); see
// storage/options.go. So tables of a large segment are written side by side.
func (w *Writer) seal(ctx context.Context, files []warc.FileInfo) (Sealed, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	timer := storage.StartCPUTimer()
	defer func() { w.s.env.Spent(StepSeal, timer.Stop()) }()
	if w.s.env.Flush != nil {
		w.s.env.Flush()
	}
	seg := w.sealedSegment(files)
	sealed := Sealed{Segment: seg.Number, Pages: w.counts.Attempts(), Links: w.linkCount, Bytes: w.counts.Bytes}
	ing := w.s.env.Store.NewIngestion()
	defer ing.Abort()
	for _, own := range []storage.Range{storage.ParseLinks(seg.Number), storage.ParseTextRange(seg.Number)} {
		if err := w.replace(ing, own); err != nil {
			return sealed, fmt.Errorf("sealing segment %d: %w", seg.Number, err)
		}
	}
	if err := w.writeTables(ctx, ing); err != nil {
		return sealed, fmt.Errorf("sealing segment %d: %w", seg.Number, err)
	}
	if err := ing.PutSegment(seg); err != nil {
		return sealed, err
	}
	if l := w.s.env.Replacing; l != nil && w.seg.State == storage.SegmentSealed {
		l.Lock()
		defer l.Unlock()
	}
	if err := ing.Commit(); err != nil {
		return sealed, fmt.Errorf("sealing segment %d: %w", seg.Number, err)
	}
	w.s.parts.sealed(seg.Number)
	return sealed, nil
}

// sealPart is how much of what is sorted is worth a goroutine, in bytes.
const sealPart = 4 << 20

// writeTables writes what is in the sorters. Of a large segment, as many goroutines as there are processors do it.
func (w *Writer) writeTables(ctx context.Context, ing *storage.Ingestion) (err error) {
	most := int64(max(w.s.env.Processors, 1))
	var all []storage.Part
	var tables []*storage.TableWriter
	defer func() { err = errors.Join(err, storage.CloseParts(all)) }()
	for _, t := range []struct {
		to     storage.Range
		sorter *storage.Sorter
	}{
		{storage.ParseTextRange(w.seg.Number), w.text}, // the largest first
		{storage.ParseLinks(w.seg.Number), w.links},
		{storage.CDXRange(), w.cdx},
	} {
		parts, err := storage.SortParts(int(min(most, 1+t.sorter.Bytes()/sealPart)), nil, t.sorter)
		if err != nil {
			return err
		}
		all, tables = append(all, parts...), append(tables, ing.TableParts(t.to, storage.Froms(parts))...)
	}
	if most == 1 || len(all) == 3 {
		for i := range all {
			if err := writeRun(ctx, all[i].Run, tables[i]); err != nil {
				return err
			}
		}
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(int(most))
	for i := range all {
		group.Go(func() error {
			timer := storage.StartCPUTimer()
			defer func() { w.s.env.Spent(StepSeal, timer.Stop()) }()
			return writeRun(ctx, all[i].Run, tables[i])
		})
	}
	return group.Wait()
}

// storedPart is a part of a file as the record of a segment has it.
func storedPart(f warc.FileInfo) storage.WARCFile {
	return storage.WARCFile{Name: f.Name, Start: f.Start, Size: f.Size, Records: uint64(f.Records)}
}

// sealedSegment returns the record of the sealed segment.
func (w *Writer) sealedSegment(files []warc.FileInfo) storage.Segment {
	seg := w.seg
	seg.State, seg.Sealed, seg.WARC = storage.SegmentSealed, w.s.env.Now(), nil
	if w.again != nil {
		seg.Sealed = cmp.Or(w.again.Sealed, w.ended, seg.Sealed)
	}
	// A request may have begun under the segment before, and the store may have lost a segment that is read back.
	if w.first != 0 && w.first < seg.Created.UnixMilli() {
		seg.Created = time.UnixMilli(w.first).UTC()
	}
	if !w.began.IsZero() && w.began.Before(seg.Created) {
		seg.Created = w.began
	}
	for _, f := range files {
		seg.WARC = append(seg.WARC, storedPart(f))
	}
	seg.Counts = w.segmentCounts()
	return seg
}

// replace deletes what an earlier parser made. An empty range, the usual case, is left alone: because of a tombstone
// its tables would be written again.
func (w *Writer) replace(ing *storage.Ingestion, r storage.Range) error {
	made := w.s.env.Store.Scan(r, nil, nil)
	defer made.Close()
	if !made.Next() {
		return made.Err()
	}
	return ing.DeleteRange(r)
}

// writeRun writes all of a run into a table.
func writeRun(ctx context.Context, run *storage.Run, to *storage.TableWriter) error {
	for n := 0; run.Next(); n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := to.Set(run.Key(), run.Value()); err != nil {
			return err
		}
	}
	return run.Err()
}
