// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// sending brings one index writer up to date. What it has acknowledged is in the store, by URL key with the stamp of
// the document; the index's directory has the stamps that it should have. The difference is what is sent:
//
//	index directory  a 5   b 7        d 2 ┐
//	sent             a 5   b 6   c 4      ┴▶ write b, delete c, write d ──acknowledged──▶ sent  a 5  b 7  d 2
//
// So nothing needs to note who changed a document, or why: deletions by dedup, by Delete or by a filter all show. A
// crash or an outage costs at most one batch that is sent twice: before a batch is written its documents are noted with
// the stamp 0, which no document has. Each batch is read from a snapshot of its own.
type sending struct {
	w      *work
	writer policy.IndexWriter
	number uint32 // of the writer
	x      indexing
	o      *sendOptions
	report SendReport
	named  int // refusals that were reported by a warning
}

// Bounds of sending.
const (
	refusalsTold  = 10   // refusals of one run that are reported one by one
	writerNameMax = 1024 // bytes of an index writer's name
	refusedAll    = 10   // a batch of as many of which all are refused ends the run: the fault is not a document's
)

// sendOptions say how documents are sent.
type sendOptions struct {
	resend  bool                              // all of them
	begins  func(writer string, at time.Time) // is called before each writer, unless nil
	longest time.Duration                     // for one Write, one Commit, and another call that sends; 0: no bound
}

// errSlowWriter is why the context of a Write or Commit ended.
var errSlowWriter = errors.New("it took too long")

// bound returns a context for one step of sending.
func (o *sendOptions) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.longest == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, o.longest, fmt.Errorf("%w (%s)", errSlowWriter, o.longest))
}

// endedBy adds to the error of a step why its context ended.
func endedBy(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errSlowWriter) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// sendAll brings every index writer up to date, one after another. Only pages of the segments are looked at; nil means
// all. The error is that of the first writer that failed; the others are brought up to date all the same.
func (w *work) sendAll(ctx context.Context, segments []uint32, o sendOptions) (reports []SendReport, err error) {
	if len(w.o.IndexWriters) == 0 || w.o.ReadOnly {
		return nil, nil
	}
	if err := w.awaitSending(ctx, &o); err != nil {
		return nil, &sendError{w.o.IndexWriters[0].Name(), err}
	}
	defer w.sendMu.Unlock()
	for _, iw := range w.o.IndexWriters {
		start := w.now()
		if o.begins != nil {
			o.begins(iw.Name(), start)
		}
		s := sending{w: w, writer: iw, o: &o, report: SendReport{Writer: iw.Name()}}
		failed := s.run(ctx, segments)
		s.report.Took = w.took(start)
		if failed != nil {
			s.report.Failed = failed.Error()
			failed = &sendError{iw.Name(), failed}
			if err == nil {
				err = failed
			}
		}
		if more := int(s.report.Refused) - s.named; more > 0 {
			w.warn(fmt.Errorf("%s refuses %d more changes", iw.Name(), more))
		}
		reports = append(reports, s.report)
	}
	return reports, err
}

// awaitSending takes sendMu, unless ctx ends first: another call may send for as long as its own context lets it.
func (w *work) awaitSending(ctx context.Context, o *sendOptions) error {
	ctx, cancel := o.bound(ctx)
	defer cancel()
	for !w.sendMu.TryLock() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("another call is sending: %w", context.Cause(ctx))
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

// sendError is an ErrNotSent with its cause.
type sendError struct {
	writer string
	err    error
}

func (e *sendError) Error() string   { return fmt.Sprintf("sending to %s: %v", e.writer, e.err) }
func (e *sendError) Unwrap() []error { return []error{ErrNotSent, e.err} }

func (s *sending) run(ctx context.Context, segments []uint32) (err error) {
	if s.number, err = s.w.store.SentNumber(s.writer.Name()); err != nil {
		return err
	}
	s.x = s.w.documentsOf()
	if s.o.resend {
		if err := s.forget(ctx); err != nil {
			return err
		}
	}
	if segments == nil {
		err = s.walk(ctx, index.Located(), storage.SentRange(s.number))
	}
	for _, number := range segments {
		if err == nil {
			err = s.walk(ctx, storage.ParseLinks(number))
		}
	}
	if err != nil {
		return err
	}
	st, err := s.w.store.SentState(s.number)
	if err != nil || !st.Uncommitted {
		return err
	}
	within, cancel := s.o.bound(ctx)
	defer cancel()
	if err := s.writer.Commit(within); err != nil {
		return endedBy(within, err)
	}
	st.Uncommitted = false
	return s.w.store.Apply(func(b *storage.Batch) error { return b.SetSentState(s.number, st) })
}

// forget makes all documents due. What was sent stays known, for deletions.
func (s *sending) forget(ctx context.Context) error {
	ing := s.w.store.NewIngestion()
	defer ing.Abort()
	table := ing.Table(storage.SentRange(s.number))
	sc := s.w.store.Scan(storage.SentRange(s.number), storage.SentFirst(), nil)
	defer sc.Close()
	none := storage.AppendSent(nil, 0)
	for n := 0; sc.Next(); n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := table.Set(sc.Key(), none); err != nil {
			return err
		}
	}
	if err := sc.Err(); err != nil {
		return err
	}
	return ing.Commit()
}

// walk sends what differs of the keys of some ranges, batch by batch.
func (s *sending) walk(ctx context.Context, of ...storage.Range) error {
	next := storage.SentFirst()
	for next != nil {
		c := newChanges(&s.x, storage.SentRange(s.number), int(s.w.o.shares().batch), next)
		err := c.collect(ctx, s.w.store, of)
		if err == nil {
			err = s.write(ctx, c)
		}
		if err != nil {
			return err
		}
		next = c.next
	}
	return nil
}

// write hands a batch to the writer and notes what it acknowledged.
func (s *sending) write(ctx context.Context, c *changes) error {
	if len(c.list) == 0 {
		return nil
	}
	st, err := s.w.store.SentState(s.number)
	if err != nil {
		return err
	}
	st.Version, st.Uncommitted = max(s.w.now().UnixMilli(), st.Version+1), true
	for i := range c.list {
		c.list[i].Version = st.Version
	}
	if err := s.announce(c, st); err != nil {
		return err
	}
	within, cancel := s.o.bound(ctx)
	defer cancel()
	refused, err := s.writer.Write(within, c.list)
	if err != nil {
		return endedBy(within, err)
	}
	no := map[int]bool{}
	for _, r := range refused {
		if r.Change < 0 || r.Change >= len(c.list) {
			return fmt.Errorf("BUG: the writer refuses change %d of %d", r.Change, len(c.list))
		}
		no[r.Change] = true
		if s.named < refusalsTold {
			s.named++
			s.w.warn(fmt.Errorf("%s refuses %s: %s", s.writer.Name(), c.list[r.Change].ID, r.Reason))
		}
	}
	s.report.Refused += uint64(len(no))
	if len(no) == len(c.list) && len(no) >= refusedAll {
		return fmt.Errorf("all %d changes of a batch were refused, such as %s: %s",
			len(no), c.list[refused[0].Change].ID, refused[0].Reason)
	}
	return s.w.store.Apply(func(b *storage.Batch) error {
		for i := range c.list {
			var err error
			switch gone := c.list[i].Document == nil; {
			case gone && no[i]: // it is tried again with the next run
				continue
			case gone:
				s.report.Deleted++
				err = b.Delete(storage.SentRange(s.number), c.keys[i])
			default:
				if !no[i] {
					s.report.Sent++
				}
				err = b.Set(storage.SentRange(s.number), c.keys[i], storage.AppendSent(nil, c.stamps[i]))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// announce notes what is about to be written as perhaps written: should the process end before the answer and the page
// then go away, its deletion is sent.
func (s *sending) announce(c *changes, st storage.SentState) error {
	perhaps := storage.AppendSent(nil, 0)
	return s.w.store.Apply(func(b *storage.Batch) error {
		for i := range c.list {
			if c.list[i].Document == nil {
				continue
			}
			if err := b.Set(storage.SentRange(s.number), c.keys[i], perhaps); err != nil {
				return err
			}
		}
		return b.SetSentState(s.number, st)
	})
}

// eachDocument is Inspector.Documents.
func (w *work) eachDocument(ctx context.Context, fn func(*policy.IndexChange) error) error {
	x, next := w.documentsOf(), storage.SentFirst()
	for next != nil {
		c := newChanges(&x, storage.Range{}, int(w.o.shares().batch), next)
		if err := c.collect(ctx, w.store, []storage.Range{index.Located()}); err != nil {
			return err
		}
		version := w.now().UnixMilli()
		for i := range c.list {
			c.list[i].Version = version
			if err := fn(&c.list[i]); err != nil {
				return err
			}
		}
		next = c.next
	}
	return nil
}

// documentsOf is an indexing that makes documents alone.
func (w *work) documentsOf() indexing {
	ranked, err := isRanked(w.store)
	w.warn(err)
	return indexing{
		ranked: ranked,
		store:  w.store, index: w.index, filters: w.o.IndexFilters, denied: w.admission.Denied, leftOut: w.leftOut,
		clock: &w.stages, inlinks: w.o.MaxInlinks, outcomes: newWalks(0, storage.ParseLinks),
	}
}

// changes is the batch under collection.
type changes struct {
	x      *indexing
	sent   storage.Range // zero: nothing was sent
	most   int           // bytes of texts
	list   []policy.IndexChange
	keys   [][]byte
	stamps []uint64
	bytes  int
	next   []byte // the first key that was not looked at; nil: none is left

	fetched *index.FetchTimes // of the snapshot that is looked at
}

func newChanges(x *indexing, sent storage.Range, most int, from []byte) *changes {
	return &changes{x: x, sent: sent, most: most, next: from}
}

// collect walks the keys of some ranges from c.next on, until the batch is full.
func (c *changes) collect(ctx context.Context, store *storage.Store, of []storage.Range) (err error) {
	snap := store.Snapshot()
	defer snap.Close()
	located := storage.NewFinder(snap, index.Located())
	defer located.Close()
	records := storage.NewFinder(snap, storage.Crawldb())
	defer records.Close()
	links := newTargets(snap)
	defer links.Close()
	c.x.titles = newTitles(snap)
	defer c.x.titles.close()
	var sent *storage.Finder
	if !c.sent.IsZero() {
		sent = storage.NewFinder(snap, c.sent)
		defer sent.Close()
	}
	if c.fetched, err = index.NewFetchTimes(snap); err != nil {
		return err
	}
	keys := newUnion(snap, of, c.next)
	defer keys.close()
	for n := 0; keys.next(); n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if len(c.list) == policy.IndexChangesMax || c.bytes >= c.most {
			c.next = bytes.Clone(keys.key)
			return nil
		}
		at, err := located.Find(keys.key)
		if err != nil {
			return err
		}
		was, known := uint64(0), false
		if sent != nil {
			value, err := sent.Find(keys.key)
			if err != nil {
				return err
			}
			if known = value != nil; known {
				if was, err = storage.DecodeSent(value); err != nil {
					return fmt.Errorf("what was sent of %s: %w", keys.key, err)
				}
			}
		}
		if err := c.compare(snap, records, links, keys.key, at, known, was); err != nil {
			return err
		}
	}
	c.next = nil
	return keys.err()
}

// compare adds a change if the document of a key differs from what was sent.
func (c *changes) compare(
	rd storage.Reader, records *storage.Finder, links *targets, key, located []byte, known bool, was uint64,
) error {
	if located == nil {
		if known {
			return c.add(key, nil, 0)
		}
		return nil
	}
	at, err := index.DecodeLocated(located)
	if err != nil {
		return fmt.Errorf("index directory entry of %s: %w", key, err)
	}
	if known && was == at.Stamp {
		return nil
	}
	record, err := records.Find(key)
	if err != nil || record == nil {
		return err
	}
	var r storage.Record
	if err := storage.DecodeRecord(record, &r); err != nil {
		return fmt.Errorf("crawldb record %s: %w", key, err)
	}
	// What the index does not have yet is sent as it will be; what it is about to delete waits for that.
	if !r.Findable() {
		return nil
	}
	if err := errors.Join(c.x.titles.begin(key), c.x.readAnchors(links, key)); err != nil {
		return err
	}
	text, found, err := rd.Get(storage.ParseTextRange(r.Segment), key, nil)
	if err == nil && found {
		err = c.x.readOutcome(rd, r.Segment, key)
	}
	if err != nil || !found {
		return err
	}
	sum := stamp{contentStamp(text, c.x.outcome.MediaType), c.x.ownStamp(&r), c.x.outsideStamp(&r)}.sum()
	if known && was == sum {
		return nil
	}
	d, err := c.x.sendable(key, text, &r, sum)
	if err != nil || d == nil {
		return err
	}
	if sum == at.Stamp { // the index has it, perhaps of an earlier fetch that found the same
		if t, err := c.fetched.Of(key, at); err != nil {
			return err
		} else if !t.IsZero() {
			d.FetchTime = t
		}
	}
	return c.add(key, d, sum)
}

func (c *changes) add(key []byte, d *policy.IndexDocument, stamp uint64) error {
	u, err := urlkey.Key(key).URL()
	if err != nil {
		return err
	}
	if d != nil {
		c.bytes += len(d.Text) + len(d.Content)
	}
	c.list = append(c.list, policy.IndexChange{ID: u.String(), Document: d})
	c.keys, c.stamps = append(c.keys, bytes.Clone(key)), append(c.stamps, stamp)
	return nil
}

// sendable is the document of a page as index writers get it, nil if there is none. Its outcome was read.
func (x *indexing) sendable(key, text []byte, r *storage.Record, stamp uint64) (*policy.IndexDocument, error) {
	d, err := x.document(key, text, r, stamp)
	if errors.Is(err, index.ErrDocument) {
		return nil, nil // the index refused it, with a warning
	}
	if err != nil || d == nil {
		return nil, err
	}
	u, err := urlkey.Key(key).URL()
	if err != nil {
		return nil, err
	}
	main := storage.ParseText{Text: d.Text, Content: d.Content}
	sent := &policy.IndexDocument{
		URL: d.URL, Host: u.Authority(), Title: d.Title, Text: d.Text, Content: main.MainText(), Anchors: d.Anchors,
		Language: d.Language, Type: d.Type, Date: d.Date, FetchTime: d.Fetched, Segment: r.Segment, Boost: d.Boost,
		Stored: d.Stored,
	}
	if sent.Boost == 0 {
		sent.Boost = 1
	}
	if !r.Signature.IsZero() {
		sent.Digest = r.Signature.String()
	}
	return sent, nil
}

// union walks the keys of several ranges together, each key once.
type union struct {
	scans []*storage.Scanner
	live  []bool // the scan is at a key that is not passed
	key   []byte // valid until next
}

func newUnion(rd storage.Reader, of []storage.Range, from []byte) *union {
	u := &union{}
	for _, r := range of {
		sc := rd.Scan(r, from, nil)
		u.scans, u.live = append(u.scans, sc), append(u.live, sc.Next())
	}
	return u
}

func (u *union) next() bool {
	var least []byte
	for i, sc := range u.scans {
		if u.live[i] && (least == nil || bytes.Compare(sc.Key(), least) < 0) {
			least = sc.Key()
		}
	}
	if least == nil || u.err() != nil {
		return false
	}
	u.key = append(u.key[:0], least...)
	for i, sc := range u.scans {
		if u.live[i] && bytes.Equal(sc.Key(), u.key) {
			u.live[i] = sc.Next()
		}
	}
	return true
}

func (u *union) err() (err error) {
	for _, sc := range u.scans {
		err = errors.Join(err, sc.Err())
	}
	return err
}

func (u *union) close() {
	for _, sc := range u.scans {
		sc.Close()
	}
}
