// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// OrphanOptions say when a page that nothing links to any more changes its status; 0: never (Nutch: scoring-orphan).
type OrphanOptions struct {
	GoneAfter   time.Duration // it is db_gone
	OrphanAfter time.Duration // it is db_orphan, which comes before db_gone
}

// Orphaned counts what MarkOrphans did.
type Orphaned struct {
	Unlinked  uint64 // pages without a link now
	Gone      uint64 // that became db_gone
	Orphans   uint64 // that became db_orphan
	Linked    uint64 // that are linked again: they are due
	Documents uint64 // that left the index
	// Signatures are those of pages that became db_gone or db_orphan, as in Deleted.
	Signatures []storage.Signature
}

// MarkOrphans joins crawldb with linkdb and notes in the record of each page since when nothing links to it. After some
// time of that the page is gone, after more it is an orphan, and its document leaves the index in the same ingestion.
// A page that is linked again loses the note and is due now.
//
//	crawldb ──────────┐                      ┌▶ records, host counts
//	linkdb, redirects ┴▶ linked or not since ┴▶ documents that go
//
// Seeds and sitemaps (of depth 0) and what redirects lead to are never orphans: linkdb has no links of that kind.
// Nutch takes the time since a fetch of a page last brought a link, so a page whose linking pages are not fetched for
// long becomes an orphan. Here a link counts until its page is fetched again without it, also where the page redirects
// by then or is gone, or is deleted. (linkdb keeps the links of such a page: a 304 may confirm them again.)
func (p *Phases) MarkOrphans(ctx context.Context, o OrphanOptions) (Orphaned, error) {
	ing := p.env.Store.NewIngestion()
	defer ing.Abort()
	m := orphanMarks{
		p: p, o: o, now: p.now(), records: ing.Table(storage.Crawldb()), hosts: p.newHostTally(ing),
		documents: p.env.Deletes(ing), signatures: p.env.Sorter(storage.FoldLast),
		links: p.env.Store.Scan(storage.Linkdb(), nil, nil), targets: p.env.Sorter(foldOrphanFlags),
	}
	defer m.targets.Close()
	m.result.Signatures = []storage.Signature{}
	defer m.hosts.close()
	defer m.documents.Abort()
	defer m.signatures.Close()
	err := m.hosts.keepRefreshed(ing)
	if err == nil {
		err = m.run(ctx)
	}
	err = errors.Join(err, m.links.Close())
	if err == nil {
		err = m.hosts.finish()
	}
	if err == nil {
		m.result.Documents, err = m.documents.Finish()
	}
	if err == nil {
		err = writeSignatures(ctx, m.signatures, ing)
	}
	if err == nil && m.written > 0 {
		err = ing.Commit()
	}
	if err != nil {
		return m.result, fmt.Errorf("marking orphans: %w", err)
	}
	return m.result, nil
}

// orphanMarks is one run of MarkOrphans.
type orphanMarks struct {
	p          *Phases
	o          OrphanOptions
	now        int64 // ms
	records    *storage.TableWriter
	hosts      *hostTally
	documents  Deletes
	signatures *storage.Sorter
	links      *storage.Scanner
	targets    *storage.Sorter // keys that redirects lead to, or links that ended → byte of flags
	result     Orphaned
	written    int
	foreign    bool // linkdb may have links of other stores: no parse record tells where these ended
	began      bool // the first row of linkdb was sought
	more       bool // links is at a row
	value      []byte
}

// What is known of a key before linkdb is asked.
const (
	orphanRedirected = 1 << iota // a redirect leads to it
	orphanDoubtful               // some of the links to it ended
)

func foldOrphanFlags(dst, a, b []byte) []byte { return append(dst, a[0]|b[0]) }

// ended reports whether the links of a page ended with its last fetch, which found a redirect, or that it is gone. One
// that MarkOrphans made db_gone has them.
func ended(r *storage.Record) bool {
	switch r.Status {
	case storage.StatusRedirTemp, storage.StatusRedirPerm:
		return true
	case storage.StatusGone:
		return r.HTTPStatus >= 400 || r.Retries >= retryMax
	}
	return false
}

// findTargets notes what the redirects of crawldb lead to, as of their last fetch, and where links ended.
func (m *orphanMarks) findTargets(ctx context.Context) (err error) {
	store := m.p.env.Store
	sc, captures := store.Scan(storage.Crawldb(), nil, nil), store.Scan(storage.CDXRange(), nil, nil)
	defer func() { err = errors.Join(err, sc.Close(), captures.Close()) }()
	var r storage.Record
	for n := 0; sc.Next(); n++ {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := storage.DecodeRecord(sc.Value(), &r); err != nil {
			return fmt.Errorf("crawldb record %s: %w", sc.Key(), err)
		}
		if ended(&r) && r.Segment != 0 {
			if err := m.end(sc.Key(), r.Segment); err != nil {
				return err
			}
		}
		if r.Status != storage.StatusRedirTemp && r.Status != storage.StatusRedirPerm {
			continue
		}
		newest, err := storage.NewestCapture(captures, sc.Key())
		if err != nil {
			return err
		}
		if err := m.target(sc.Key(), newest); err != nil {
			return err
		}
	}
	return sc.Err()
}

// target notes what a URL redirected to in a segment.
func (m *orphanMarks) target(key []byte, segment uint32) error {
	value, ok, err := m.p.env.Store.Get(storage.ParseLinks(segment), key, nil)
	if err != nil || !ok {
		return err
	}
	var o storage.FetchOutcome
	var links storage.OutlinkReader
	if err := storage.ReadFetchOutcome(value, &o, &links); err != nil {
		return fmt.Errorf("parse record %s: %w", key, err)
	}
	if o.Redirect == "" {
		return nil
	}
	return m.targets.Add([]byte(o.Redirect), []byte{orphanRedirected})
}

// end notes what a page linked to in the segment of its content.
func (m *orphanMarks) end(key []byte, segment uint32) error {
	value, ok, err := m.p.env.Store.Get(storage.ParseLinks(segment), key, nil)
	if err != nil || !ok {
		return err
	}
	var o storage.FetchOutcome
	var links storage.OutlinkReader
	err = storage.ReadFetchOutcome(value, &o, &links)
	for err == nil && links.Next() {
		err = m.targets.Add(links.Key(), []byte{orphanDoubtful})
	}
	if err = errors.Join(err, links.Err()); err != nil {
		return fmt.Errorf("parse record %s: %w", key, err)
	}
	return nil
}

func (m *orphanMarks) run(ctx context.Context) (err error) {
	if m.foreign, err = m.p.anyForeign(); err == nil {
		err = m.findTargets(ctx)
	}
	if err != nil {
		return err
	}
	targets, err := m.targets.Sort()
	if err != nil {
		return fmt.Errorf("sorting targets of redirects: %w", err)
	}
	more := targets.Next()
	sc := m.p.env.Store.Scan(storage.Crawldb(), nil, nil)
	defer func() { err = errors.Join(err, targets.Err(), targets.Close(), sc.Close()) }()
	var was storage.Record
	for n := 0; sc.Next(); n++ {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := storage.DecodeRecord(sc.Value(), &was); err != nil {
			return fmt.Errorf("crawldb record %s: %w", sc.Key(), err)
		}
		for more && bytes.Compare(targets.Key(), sc.Key()) < 0 {
			more = targets.Next()
		}
		flags := byte(0)
		if more && bytes.Equal(targets.Key(), sc.Key()) {
			flags = targets.Value()[0]
		}
		linked := was.Depth == 0 || was.Hops > 0 || flags&orphanRedirected != 0
		if !linked {
			if linked, err = m.linked(sc.Key(), flags&orphanDoubtful != 0); err != nil {
				return err
			}
		}
		if err := m.page(sc.Key(), &was, linked); err != nil {
			return err
		}
	}
	return sc.Err()
}

// linked reports whether linkdb has a link to a page that counts; where some ended, or may have, the record of each
// page that links is looked up until one has its links. Keys must increase from call to call.
func (m *orphanMarks) linked(key []byte, doubtful bool) (bool, error) {
	if !m.began {
		m.began, m.more = true, m.links.SeekGE(key)
	}
	for steps := 0; m.more; steps++ {
		target, segment, err := storage.SplitLinkdbKey(m.links.Key())
		if err != nil {
			return false, err
		}
		order := bytes.Compare(target, key)
		if order > 0 || order == 0 && !doubtful && !m.foreign {
			return order == 0, nil
		}
		if order == 0 {
			if some, err := m.holds(segment, doubtful); some || err != nil {
				return some, err
			}
		}
		if order == 0 || steps < orphanSteps {
			m.more = m.links.Next()
		} else {
			m.more = m.links.SeekGE(key)
		}
	}
	return false, m.links.Err()
}

// holds reports whether a link of the current row of linkdb is one of a page that has it, as far as crawldb knows. If
// not doubtful, pages that were fetched here have theirs.
func (m *orphanMarks) holds(segment uint32, doubtful bool) (some bool, err error) {
	var r storage.Record
	var failed error
	err = storage.VisitLinks(m.links.Value(), segment, func(from, _ []byte, of uint32) bool {
		if some = !doubtful && of != importedSegment; some {
			return false
		}
		value, known, err := m.p.env.Store.Get(storage.Crawldb(), from, nil)
		if err == nil && known {
			err = storage.DecodeRecord(value, &r)
		}
		some, failed = err == nil && !(known && ended(&r)), err
		return !some && err == nil
	})
	if err = errors.Join(err, failed); err != nil {
		return false, fmt.Errorf("inlinks at %q: %w", m.links.Key(), err)
	}
	return some, nil
}

// page writes what a record becomes, if it changes.
func (m *orphanMarks) page(key []byte, was *storage.Record, linked bool) error {
	r := *was
	since, noted := unlinkedSince(was)
	switch {
	case linked && !noted:
		return nil
	case linked:
		m.result.Linked++
		r.Meta = slices.DeleteFunc(slices.Clone(r.Meta), isUnlinked)
		if r.Status == storage.StatusGone || r.Status == storage.StatusOrphan {
			r.FetchTime = min(r.FetchTime, m.now)
		}
	case !noted:
		m.result.Unlinked++
		text := strconv.FormatInt(m.now/1000, 10)
		r.Meta = slices.DeleteFunc(slices.Clone(r.Meta), isUnlinked) // one that cannot be read
		if len(r.Meta) >= storage.MetaFieldsMax {
			return nil
		}
		r.Meta = append(r.Meta, storage.Field{Name: policy.MetaUnlinked, Value: text})
	default:
		m.result.Unlinked++
		r.Status = m.statusAfter(time.Duration(m.now/1000-since)*time.Second, r.Status)
		if r.Status == was.Status {
			return nil
		}
		if err := m.leaves(key, was, &r); err != nil {
			return err
		}
	}
	m.written++
	m.value = storage.AppendRecord(m.value[:0], &r)
	return errors.Join(noteSignature(m.signatures, key, was, &r), m.hosts.change(key, true, was, &r),
		m.records.Set(key, m.value))
}

// statusAfter is the status of a page without links for some time.
func (m *orphanMarks) statusAfter(elapsed time.Duration, was storage.Status) storage.Status {
	switch {
	case m.o.OrphanAfter > 0 && elapsed > m.o.OrphanAfter:
		return storage.StatusOrphan
	case m.o.GoneAfter > 0 && elapsed > m.o.GoneAfter && was != storage.StatusOrphan:
		return storage.StatusGone
	}
	return was
}

// leaves notes a page that becomes gone or an orphan.
func (m *orphanMarks) leaves(key []byte, was, r *storage.Record) error {
	if r.Status == storage.StatusGone {
		m.result.Gone++
	} else {
		m.result.Orphans++
	}
	m.result.Signatures = addSignature(m.result.Signatures, was.Signature)
	return m.documents.Delete(urlkey.Key(key))
}

func isUnlinked(f storage.Field) bool { return f.Name == policy.MetaUnlinked }

// unlinkedSince returns the time, in seconds, since which nothing links to a page; false if that is not noted.
func unlinkedSince(r *storage.Record) (int64, bool) {
	i := slices.IndexFunc(r.Meta, isUnlinked)
	if i < 0 {
		return 0, false
	}
	at, err := strconv.ParseInt(r.Meta[i].Value, 10, 64)
	return at, err == nil
}
