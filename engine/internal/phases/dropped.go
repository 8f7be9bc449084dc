// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/seine-crawler/seine/storage"
)

// Links of replaced versions of pages are found in one of two ways, whichever is less work. Of few pages, the captures
// of each are looked up. Of many, all captures are read beside crawldb, from end to end: at the end of a crawl of 10^6
// pages in 66 segments, each of which is spread over all of crawldb, looking up took 28 of 737 seconds, to find none.

// metaDropped is the row of Meta with the newest segment up to which every link of a replaced version is out of linkdb.
const metaDropped = "linkdb/dropped"

// droppedUpTo is the newest segment up to which every link of a replaced version is out of linkdb; 0: none is known.
func (p *Phases) droppedUpTo() (uint32, error) {
	value, _, err := p.env.Store.Get(storage.Meta(), []byte(metaDropped), nil)
	after, _ := strconv.ParseUint(string(value), 10, 32) // of none: 0
	return uint32(after), err
}

// linksAnew has the next MergeLinks look at all segments again if the links of one come to linkdb that is below some
// that it has looked at: a fetchlist was fetched after later ones, or the store is being rebuilt.
func (p *Phases) linksAnew(segment uint32, ing *storage.Ingestion) error {
	upTo, err := p.droppedUpTo()
	if err != nil || segment > upTo {
		return err
	}
	return ing.Table(storage.Meta()).Delete([]byte(metaDropped))
}

// dropReplaced takes the links of replaced versions out of linkdb, and returns their number. newer: there were segments
// that it had not looked at.
func (p *Phases) dropReplaced(
	ctx context.Context, changed func([]byte) error,
) (dropped uint64, newer bool, err error) {
	store := p.env.Store
	after, err := p.droppedUpTo()
	if err != nil {
		return 0, false, err
	}
	list, err := store.SegmentList()
	if err != nil {
		return 0, false, fmt.Errorf("listing segments: %w", err)
	}
	d := dropping{p: p, links: p.env.Sorter(nil)}
	defer func() { err = errors.Join(err, d.links.Close()) }()
	upTo, newer, err := d.find(ctx, list, after)
	if err != nil || !newer {
		return 0, false, err
	}
	ing := store.NewIngestion()
	defer ing.Abort()
	if dropped, err = p.removeDropped(ctx, ing, d.links, changed); err != nil {
		return dropped, newer, err
	}
	text := strconv.AppendUint(nil, uint64(upTo), 10)
	if err := ing.Table(storage.Meta()).Set([]byte(metaDropped), text); err != nil {
		return dropped, newer, err
	}
	return dropped, newer, ing.Commit()
}

// removeDropped takes links out of linkdb with an ingestion, and returns their number.
func (p *Phases) removeDropped(
	ctx context.Context, ing *storage.Ingestion, links *storage.Sorter, changed func([]byte) error,
) (dropped uint64, err error) {
	run, err := links.Sort()
	if err != nil {
		return 0, fmt.Errorf("sorting links: %w", err)
	}
	defer run.Close()
	stale, err := p.keepRefreshed(ing)
	if err != nil {
		return 0, err
	}
	return ing.RemoveInlinks(ctx, run, func(target []byte) error {
		if changed == nil {
			return stale.page(target)
		}
		return errors.Join(stale.page(target), changed(target))
	})
}

// dropForeign takes links that ImportLinks brought out of linkdb, of pages that were fetched here since: the versions
// here replaced those that had them.
func (p *Phases) dropForeign(ctx context.Context, changed func([]byte) error) (dropped uint64, err error) {
	some, err := p.anyForeign()
	if err != nil || !some {
		return 0, err
	}
	sources, links := p.env.Sorter(nil), p.env.Sorter(nil) // source → row of linkdb, and the other way round
	defer func() { err = errors.Join(err, sources.Close(), links.Close()) }()
	var row []byte
	err = p.eachLink(ctx, func(target, from []byte, segment uint32) error {
		if segment != importedSegment {
			return nil
		}
		row = storage.AppendLinkdbKey(row[:0], target, segment)
		return sources.Add(from, row)
	})
	if err != nil {
		return 0, err
	}
	run, err := sources.Sort()
	if err != nil {
		return 0, fmt.Errorf("sorting links: %w", err)
	}
	defer run.Close()
	store := p.env.Store
	var r storage.Record
	err = storage.MergeJoin(ctx, store, storage.Crawldb(), run, func(source []byte, rows [][]byte, old []byte) error {
		if old == nil {
			return nil
		}
		if err := storage.DecodeRecord(old, &r); err != nil {
			return fmt.Errorf("crawldb record %s: %w", source, err)
		}
		if r.Segment == 0 {
			return nil
		}
		for _, row := range rows {
			if err := links.Add(row, source); err != nil {
				return fmt.Errorf("sorting links: %w", err)
			}
		}
		return nil
	})
	if err != nil || links.Len() == 0 {
		return 0, err
	}
	ing := store.NewIngestion()
	defer ing.Abort()
	if dropped, err = p.removeDropped(ctx, ing, links, changed); err != nil {
		return dropped, err
	}
	return dropped, ing.Commit()
}

// dropping finds the links of replaced versions: of a page, every version but the newest is replaced.
type dropping struct {
	p     *Phases
	mu    sync.Mutex
	links *storage.Sorter // row of linkdb → source
}

// find finds the links of replaced versions of pages that were fetched in linked segments beyond after; some reports
// whether there are such segments. upTo is the newest one below which no links come meanwhile: of segments that are not
// updated they cannot, and linksAnew sees them when they come. (A fetchlist may never be fetched.)
func (d *dropping) find(
	ctx context.Context, list []storage.Segment, after uint32,
) (upTo uint32, some bool, err error) {
	upTo, whole := after, true
	var segments []uint32
	pages, all := uint64(0), uint64(0)
	for _, s := range list {
		all += s.Counts.Attempts()
		if s.State < storage.SegmentLinked {
			whole = whole && s.State < storage.SegmentUpdated
		} else if s.Number > after {
			segments = append(segments, s.Number)
			pages += s.Counts.Attempts()
			if whole {
				upTo = s.Number
			}
		}
	}
	switch {
	case len(segments) == 0:
		return after, false, nil
	case pages*d.p.captureSteps < all:
		err = d.each(ctx, segments)
	default:
		err = d.all(ctx, segments)
	}
	return upTo, true, err
}

// versions are the captures of one page after the other, beside its record.
type versions struct {
	captures *storage.Scanner
	records  *storage.Finder
	at       bool // captures stands at a key
	record   storage.Record
	capture  storage.CDX
	segments []uint32 // of the page's captures, each once
}

func (d *dropping) versions() *versions {
	store := d.p.env.Store
	return &versions{
		captures: store.Scan(storage.CDXRange(), nil, nil), records: storage.NewFinder(store, storage.Crawldb()),
	}
}

func (v *versions) close() error { return errors.Join(v.captures.Close(), v.records.Close()) }

// read reads the captures of a page, at the first of which captures stands, if it has any, and moves behind them.
func (v *versions) read(key []byte) error {
	v.segments = v.segments[:0]
	for ; v.at; v.at = v.captures.Next() {
		of, _, err := storage.SplitCDXKey(v.captures.Key())
		if err != nil {
			return err
		}
		if !bytes.Equal(of, key) {
			break
		}
		if err := storage.DecodeCDX(v.captures.Value(), &v.capture); err != nil {
			return fmt.Errorf("cdx of %s: %w", key, err)
		}
		if !slices.Contains(v.segments, v.capture.Segment) {
			v.segments = append(v.segments, v.capture.Segment)
		}
	}
	return v.captures.Err()
}

// newest returns the segment of a page's newest version; 0: there is none.
func (v *versions) newest(key []byte) (uint32, error) {
	v.record.Segment = 0
	value, err := v.records.Find(key)
	if err == nil && value != nil {
		err = storage.DecodeRecord(value, &v.record)
	}
	if err != nil {
		return 0, fmt.Errorf("crawldb record %s: %w", key, err)
	}
	return v.record.Segment, nil
}

// all reads all captures, and takes the pages that have a version of some segments, which ascend.
func (d *dropping) all(ctx context.Context, segments []uint32) (err error) {
	v := d.versions()
	defer func() { err = errors.Join(err, v.close()) }()
	fetched := func(s uint32) bool {
		_, ok := slices.BinarySearch(segments, s)
		return ok
	}
	var key []byte
	v.at = v.captures.Next()
	way := storage.NewPacer(d.p.env.GiveWay)
	for n := 0; v.at; n++ {
		way.Step()
		if n%ctxCheckPages == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		of, _, err := storage.SplitCDXKey(v.captures.Key())
		if err != nil {
			return err
		}
		key = append(key[:0], of...)
		if err := v.read(key); err != nil {
			return err
		}
		newest, err := v.newest(key)
		if err != nil {
			return err
		}
		if newest == 0 || !fetched(newest) && !slices.ContainsFunc(v.segments, fetched) {
			continue
		}
		if err := d.replaced(key, v.segments, newest); err != nil {
			return err
		}
	}
	return v.captures.Err()
}

// each looks at the pages of one segment after the other, on all processors: few pages have a replaced version, and
// finding none of one is a read.
func (d *dropping) each(ctx context.Context, segments []uint32) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var running sync.WaitGroup
	for range min(max(d.p.env.Processors, 1), len(segments)) {
		running.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(segments) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := d.segment(ctx, segments[i]); err != nil {
					cancel(fmt.Errorf("segment %d: %w", segments[i], err))
				}
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}

// segment looks up the pages that were fetched in a segment.
func (d *dropping) segment(ctx context.Context, number uint32) (err error) {
	pages, v := d.p.env.Store.Scan(storage.ParseLinks(number), nil, nil), d.versions()
	defer func() { err = errors.Join(err, pages.Close(), v.close()) }()
	var first []byte
	way := storage.NewPacer(d.p.env.GiveWay)
	for n := 0; pages.Next(); n++ {
		way.Step()
		if n%ctxCheckPages == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		key := pages.Key()
		newest, err := v.newest(key)
		if err != nil {
			return err
		}
		if newest == 0 {
			continue
		}
		// Mostly the captures of a page begin where those of the one before end, and a seek is not needed.
		first = storage.AppendCDXKey(first[:0], key, 0)
		if !v.at || bytes.Compare(v.captures.Key(), first) < 0 {
			v.at = v.captures.SeekGE(first)
		}
		if err := v.read(key); err != nil {
			return err
		}
		if err := d.replaced(key, v.segments, newest); err != nil {
			return err
		}
	}
	return pages.Err()
}

// replaced notes the links of the versions of a page but the newest.
func (d *dropping) replaced(key []byte, segments []uint32, newest uint32) error {
	for _, s := range segments {
		if s == newest {
			continue
		}
		if err := d.version(key, s); err != nil {
			return err
		}
	}
	return nil
}

// version notes the links of one version of a page.
func (d *dropping) version(key []byte, segment uint32) error {
	value, ok, err := d.p.env.Store.Get(storage.ParseLinks(segment), key, nil)
	if err != nil || !ok {
		return err
	}
	var o storage.FetchOutcome
	var links storage.OutlinkReader
	if err := storage.ReadFetchOutcome(value, &o, &links); err != nil {
		return fmt.Errorf("parse record %s: %w", key, err)
	}
	var row []byte
	for links.Next() {
		row = storage.AppendLinkdbKey(row[:0], links.Key(), segment)
		d.mu.Lock()
		err := d.links.Add(row, key)
		d.mu.Unlock()
		if err != nil {
			return fmt.Errorf("sorting links: %w", err)
		}
	}
	return links.Err()
}
