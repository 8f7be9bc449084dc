// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/seine-crawler/seine/engine/internal/phases"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// A refresh of the index looks at all documents the first time, and leaves a mark. The next one looks at those that may
// be others since, unless IndexOptions.EveryDocument is set:
//
//	notes of pages (storage.Stale)     ─▶ these pages
//	links of segments linked since     ─▶ their targets
//	notes of hosts ─▶ what do its first pages' titles share?
//	                  other than before ─▶ the new rule, all pages of the host
//
// The phases of a crawl note what they change. Whatever else changes crawldb or linkdb, as Delete does, ends the mark.
// So both leave the same index. The value of the mark is indexing.mark and then
//
//	uvarint  newest segment
//	uvarint… segments before it whose links were not in linkdb yet

// linkedSegments are the segments whose links documents have.
type linkedSegments struct {
	newest uint32
	except []uint32 // ascending
}

func (l *linkedSegments) has(segment uint32) bool {
	_, excepted := slices.BinarySearch(l.except, segment)
	return segment <= l.newest && !excepted
}

func (l *linkedSegments) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(l.newest))
	for _, s := range l.except {
		dst = binary.AppendUvarint(dst, uint64(s))
	}
	return dst
}

func decodeLinkedSegments(b []byte) (l linkedSegments, ok bool) {
	for first := true; first || len(b) > 0; first = false {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(^uint32(0)) {
			return l, false
		}
		if b = b[size:]; first {
			l.newest = uint32(n)
		} else {
			l.except = append(l.except, uint32(n))
		}
	}
	return l, slices.IsSorted(l.except)
}

// linkedNow returns the segments whose links are in linkdb.
func linkedNow(list []storage.Segment) (l linkedSegments) {
	for _, s := range list {
		l.newest = max(l.newest, s.Number)
		if s.State < storage.SegmentLinked {
			l.except = append(l.except, s.Number)
		}
	}
	slices.Sort(l.except)
	return l
}

func (x *indexing) run(ctx context.Context, o IndexOptions) error {
	since := x.store.Moment()
	ing := x.store.NewIngestion()
	defer ing.Abort()
	had, ok, err := x.refreshed(ing)
	if err != nil {
		return err
	}
	x.changed = ok && x.refresh && !o.EveryDocument
	for _, number := range o.Segments {
		seg, err := phases.SegmentIn(x.store, number, "index", storage.SegmentLinked)
		if err != nil {
			return err
		}
		if err := x.addSegment(ctx, number); err != nil {
			return err
		}
		seg.State = storage.SegmentIndexed
		if err := ing.PutSegment(seg); err != nil {
			return err
		}
	}
	if x.refresh {
		some, err := x.addStale(ctx, ing, had, since)
		if err != nil {
			return err
		}
		if !some && len(o.Segments) == 0 {
			return nil
		}
	} else if x.keys.Len() == 0 && len(o.Segments) == 0 {
		return nil
	}
	if err := x.reanchor(ctx); err != nil {
		return err
	}
	if err := x.build(ctx, ing); err != nil {
		return err
	}
	if err := ing.Commit(); err != nil {
		return err
	}
	return x.index.Refresh()
}

// refreshVersion is the first byte of indexing.mark: raise it when documents are made differently of what they are made
// of.
const refreshVersion = 4

// addStale adds the keys of what a refresh looks at, and leaves the mark that says so. some is false if it would change
// nothing, not even the mark.
func (x *indexing) addStale(
	ctx context.Context, ing *storage.Ingestion, had linkedSegments, since uint64,
) (some bool, err error) {
	snap := x.store.Snapshot()
	defer snap.Close()
	list, err := snap.SegmentList()
	if err != nil {
		return false, err
	}
	if x.changed {
		some, err = x.addChanged(ctx, snap, list, had)
	} else {
		err = x.addPages(ctx, snap.Scan(storage.Crawldb(), nil, nil))
		some = x.keys.Len() > 0
	}
	if some && err == nil && x.mark != nil {
		has := linkedNow(list)
		ing.MarkRefreshed(has.append(slices.Clip(x.mark)), since)
	}
	return some, err
}

// addSegment adds the keys of a segment's pages.
func (x *indexing) addSegment(ctx context.Context, segment uint32) error {
	sc := x.store.Scan(storage.ParseLinks(segment), nil, nil)
	defer sc.Close()
	for n := 0; sc.Next(); n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := x.keys.Add(sc.Key(), nil); err != nil {
			return err
		}
	}
	return sc.Err()
}

// refreshed returns the segments whose links all documents have, but for those that are noted as stale; ok is false if
// no refresh says so. The mark of one that made documents in another way goes with the ingestion.
func (x *indexing) refreshed(ing *storage.Ingestion) (l linkedSegments, ok bool, err error) {
	value, noted, marked, err := x.store.Refreshed()
	if err != nil || !marked {
		return l, false, err
	}
	if rest, same := bytes.CutPrefix(value, x.mark); same && x.mark != nil {
		l, ok = decodeLinkedSegments(rest)
		x.noted = noted
	}
	if !ok {
		ing.DropRefreshed()
	}
	return l, ok, nil
}

// addChanged adds the keys of all pages whose documents may be others than before, and the rules of hosts whose titles
// share something else; any is false if nothing changed. had are the segments whose links the documents have.
func (x *indexing) addChanged(
	ctx context.Context, rd storage.Reader, list []storage.Segment, had linkedSegments,
) (any bool, err error) {
	for _, s := range list {
		if s.State >= storage.SegmentLinked && !had.has(s.Number) {
			any = true
			if err := x.addTargets(ctx, rd, s.Number); err != nil {
				return any, fmt.Errorf("links of segment %d: %w", s.Number, err)
			}
		}
	}
	if !x.noted {
		return any, nil
	}
	notes, err := x.addNoted(ctx, rd)
	return any || notes > 0, err
}

// addTargets adds what the pages of a segment link to.
func (x *indexing) addTargets(ctx context.Context, rd storage.Reader, segment uint32) error {
	sc := rd.Scan(storage.ParseLinks(segment), nil, nil)
	defer sc.Close()
	var o storage.FetchOutcome
	var links storage.OutlinkReader
	for n := 0; sc.Next(); n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		err := storage.ReadFetchOutcome(sc.Value(), &o, &links)
		for err == nil && links.Next() {
			err = x.keys.Add(links.Key(), nil)
		}
		if err = errors.Join(err, links.Err()); err != nil {
			return fmt.Errorf("parse record %s: %w", sc.Key(), err)
		}
	}
	return sc.Err()
}

// addNoted adds what the notes say, and counts them. They come in the order of hosts.
func (x *indexing) addNoted(ctx context.Context, rd storage.Reader) (n int, err error) {
	notes := rd.Scan(storage.Stale(), nil, nil)
	defer func() { err = errors.Join(err, notes.Close()) }()
	more := notes.Next()
	if !more {
		return 0, nil
	}
	texts := newWalks(x.walked, storage.ParseTextRange)
	t := newTitles(rd)
	t.looks(texts)
	defer func() { err = errors.Join(err, texts.close()); t.close() }()
	var host []byte
	whole := false // all pages of the host are added
	for ; more; more = notes.Next() {
		if n++; n%1024 == 0 && ctx.Err() != nil {
			return n, ctx.Err()
		}
		key := notes.Key()
		if of := urlkey.HostKeyOf(key); !bytes.Equal(of, host) {
			host = append(host[:0], of...)
			whole = false
			other, err := x.addRule(t, host)
			if err == nil && other {
				whole, err = true, x.addHost(ctx, rd, host)
			}
			if err != nil {
				return n, err
			}
		}
		_, all := ruledHost(key)
		var err error
		switch {
		case whole || len(key) == len(host):
		case all:
			whole, err = true, x.addHost(ctx, rd, host)
		default:
			err = x.keys.Add(key, nil)
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// addRule adds the rule of a host if it is not the stored one; other reports whether it cuts something else off.
func (x *indexing) addRule(t *titles, host []byte) (other bool, err error) {
	old, err := t.enter(host)
	if err != nil {
		return false, err
	}
	rule, err := t.learned(old)
	if err != nil || rule == old {
		return false, err
	}
	var value []byte
	if rule != (titleRule{}) {
		value = rule.encode()
	}
	return !rule.cuts(&old), x.keys.Add(append(slices.Clip(host), storage.StaleHost), value)
}

// addHost adds the keys of a host's pages.
func (x *indexing) addHost(ctx context.Context, rd storage.Reader, host []byte) error {
	from, to := storage.HostBounds(urlkey.HostKey(host))
	return x.addPages(ctx, rd.Scan(storage.Crawldb(), from, to))
}

// addPages adds the keys of all records that have, or should have, a document. Whether a document changed, its stamp
// says, without its text being read.
func (x *indexing) addPages(ctx context.Context, sc *storage.Scanner) error {
	defer sc.Close()
	var r storage.Record
	for n := 0; sc.Next(); n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := storage.DecodeRecord(sc.Value(), &r); err != nil {
			return fmt.Errorf("crawldb record %s: %w", sc.Key(), err)
		}
		if r.Segment == 0 {
			continue
		}
		if err := x.keys.Add(sc.Key(), nil); err != nil {
			return err
		}
	}
	return sc.Err()
}
