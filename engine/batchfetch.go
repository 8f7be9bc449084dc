// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// FetchOptions say what to fetch.
type FetchOptions struct {
	Segment uint32 // an open segment made by Generate
	Limits
	// Patience is as in CrawlOptions.
	Patience time.Duration
	Progress func(FetchReport)
}

// Fetch fetches the fetchlist of an open segment and seals it. A fetch that was cut short goes on
// where it stopped: what is in the segment's WARC is not fetched again.
func (e *Engine) Fetch(ctx context.Context, o FetchOptions) (FetchReport, error) {
	if !e.fetchMu.TryLock() {
		return FetchReport{}, errors.New("fetching: a crawl or fetch is already running on this engine")
	}
	defer e.fetchMu.Unlock()
	if err := o.Limits.validate(); err != nil {
		return FetchReport{}, fmt.Errorf("fetching segment %d: %w", o.Segment, err)
	}
	start := time.Now()
	report, err := e.fetchSegment(ctx, o)
	report.Segment, report.Seconds = o.Segment, since(start)
	if err != nil {
		return report, fmt.Errorf("fetching segment %d: %w", o.Segment, err)
	}
	e.done(report)
	return report, nil
}

func (e *Engine) fetchSegment(ctx context.Context, o FetchOptions) (FetchReport, error) {
	seg, err := e.segmentFor(o.Segment, "fetch", storage.SegmentOpen)
	if err != nil {
		return FetchReport{}, err
	}
	if !seg.Batch {
		return FetchReport{}, errors.New("it was opened by a crawl: run crawl again to finish it")
	}
	if err := e.network(); err != nil {
		return FetchReport{}, err
	}
	hosts, err := e.fetchlistHosts(ctx, o.Segment, "", 0)
	if err != nil {
		return FetchReport{}, err
	}
	if err := e.requireContact(ctx, hosts); err != nil {
		return FetchReport{}, err
	}
	src := newSource(e, o.Segment)
	builder := newSegmentBuilder(e, seg)
	earlier, _, err := e.readBack(ctx, seg, builder, func(key []byte) { src.take(xxh3.Hash(key)) })
	if err != nil {
		builder.close()
		return FetchReport{}, err
	}
	open, err := e.openSegment(seg)
	if err != nil {
		builder.close()
		return FetchReport{}, err
	}
	open.builder.close()
	open.builder, open.earlier = builder, earlier
	front, err := e.newFrontier(src, true)
	if err != nil {
		return FetchReport{}, err
	}
	f := &fetching{e: e, frontier: front, source: src, seg: open, limits: o.Limits}
	front.WakeAll()
	f.start(ctx)
	err = f.waitDone(ctx, o)
	f.stop()
	_, sealErr := f.finish(context.WithoutCancel(ctx), open)
	return f.counts(), errors.Join(err, f.err(), sealErr)
}

// waitDone returns when the fetchlist is used up, the limit is reached or ctx ends.
func (f *fetching) waitDone(ctx context.Context, o FetchOptions) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	patience, last := o.Patience, time.Now()
	if patience == 0 {
		patience = defaultPatience
	}
	var quiet quietness
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-f.frontier.Dry():
		case <-f.changed:
		case <-tick.C:
		}
		if err := f.disk.tick(f, time.Now(), patience); err != nil {
			return err
		}
		if f.err() != nil || f.reached() != "" {
			return nil
		}
		f.followFilters()
		if o.Progress != nil && time.Since(last) >= time.Second {
			last = time.Now()
			r := f.counts()
			r.Segment = o.Segment
			o.Progress(r)
		}
		quiet.note(time.Now(), f.frontier.Stats(), f.busy.Load(), 0)
		if quiet.over(patience) {
			return nil
		}
	}
}

// fetchlistHosts lists the hosts of a fetchlist, in key order, from a key on; limit 0: all.
func (e *Engine) fetchlistHosts(ctx context.Context, segment uint32, from urlkey.HostKey, limit int) ([]urlkey.HostKey, error) {
	sc := e.store.Scan(storage.Fetchlist(segment), []byte(from), nil)
	defer sc.Close()
	var hosts []urlkey.HostKey
	for ok := sc.Next(); ok && (limit == 0 || len(hosts) < limit); {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		host := urlkey.HostKey(urlkey.HostKeyOf(sc.Key()))
		hosts = append(hosts, host)
		ok = sc.SeekGE(prefixEnd([]byte(host)))
	}
	return hosts, sc.Err()
}
