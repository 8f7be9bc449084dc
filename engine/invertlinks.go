// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// InvertLinks turns the outlinks of an updated segment round: linkdb gains, for each target, the
// list of this segment's pages that link to it with their anchor texts. When a page is fetched
// again, its links come once more with the later segment, and readers take the newest of a source;
// Inlinks leaves out links that the newest version of their page no longer has (Nutch never
// removes a link).
//
// All links are kept, those within a host and those that leave the scope too: they are what the
// page said. What is done with them is decided where they are read.
func (e *Engine) InvertLinks(ctx context.Context, segment uint32) (InvertReport, error) {
	start := time.Now()
	defer e.clock.time(stageInvertLinks)()
	report := InvertReport{Segment: segment}
	seg, err := e.segmentFor(segment, "invertlinks", storage.SegmentUpdated)
	if err != nil {
		return report, err
	}
	ing := e.store.NewIngestion()
	defer ing.Abort()
	if err := e.invert(ctx, segment, ing, &report); err != nil {
		return report, fmt.Errorf("invertlinks of segment %d: %w", segment, err)
	}
	seg.State = storage.SegmentLinked
	if err := ing.PutSegment(seg); err != nil {
		return report, err
	}
	if err := ing.Commit(); err != nil {
		return report, fmt.Errorf("invertlinks of segment %d: %w", segment, err)
	}
	report.Seconds = since(start)
	e.reached(segment, storage.SegmentLinked)
	e.done(report)
	return report, nil
}

// invert sorts (target, source, anchor) and writes one linkdb value per target. The source is part
// of the sort key, so that a target's inlinks come out in source order and front-code well.
func (e *Engine) invert(ctx context.Context, segment uint32, ing *storage.Ingestion, report *InvertReport) error {
	sorter := e.newSorter(foldLast)
	defer sorter.Close()
	if err := e.collectLinks(ctx, segment, sorter); err != nil {
		return err
	}
	run, err := sorter.Sort()
	if err != nil {
		return err
	}
	defer run.Close()
	w := ing.Table(storage.Linkdb())
	var target, key, value []byte
	var inlinks []storage.Inlink
	flush := func() error {
		if len(inlinks) == 0 {
			return nil
		}
		report.Targets++
		report.Inlinks += uint64(len(inlinks))
		key = storage.AppendLinkdbKey(key[:0], target, segment)
		value = storage.AppendInlinks(value[:0], inlinks)
		inlinks = inlinks[:0]
		return w.Set(key, value)
	}
	for n := 0; run.Next(); n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		to, from, anchor := splitLink(run.Key())
		if string(to) != string(target) {
			if err := flush(); err != nil {
				return err
			}
			target = append(target[:0], to...)
		}
		if len(inlinks) < inlinksMax {
			inlinks = append(inlinks, storage.Inlink{From: urlkey.Key(from), Anchor: string(anchor)})
		}
	}
	if err := run.Err(); err != nil {
		return err
	}
	return flush()
}

// collectLinks adds one key per (target, source, anchor): the same pair with the same anchor
// counts once. NUL separates the parts, since no URL key and no anchor holds one.
func (e *Engine) collectLinks(ctx context.Context, segment uint32, sorter *storage.Sorter) error {
	sc := e.store.Scan(storage.ParseLinks(segment), nil, nil)
	defer sc.Close()
	var page storage.FetchOutcome
	var key []byte
	for n := 0; sc.Next(); n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := storage.DecodeFetchOutcome(sc.Value(), &page); err != nil {
			return fmt.Errorf("parse record %s: %w", sc.Key(), err)
		}
		for _, l := range page.Outlinks {
			if string(l.Key) == string(sc.Key()) {
				continue
			}
			key = append(append(key[:0], l.Key...), 0)
			key = append(append(key, sc.Key()...), 0)
			key = append(key, l.Anchor...)
			if err := sorter.Add(key, nil); err != nil {
				return err
			}
		}
	}
	return sc.Err()
}

func splitLink(key []byte) (to, from, anchor []byte) {
	i := bytes.IndexByte(key, 0)
	j := i + 1 + bytes.IndexByte(key[i+1:], 0)
	return key[:i], key[i+1 : j], key[j+1:]
}
