// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seine-crawler/seine/engine/internal/phases"
	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/engine/internal/visit"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// FetchOptions say what to fetch.
type FetchOptions struct {
	Segment uint32 // an open segment made by Generate
	Limits
	// Patience is as in CrawlOptions.
	Patience time.Duration
	// Progress, if not nil, is called about once a second on the goroutine that called Fetch.
	Progress func(FetchReport)
}

// fetch fetches a fetchlist and seals its segment.
func (w *work) fetch(ctx context.Context, o FetchOptions) (FetchReport, error) {
	start := w.now()
	err := o.Limits.validate()
	if err == nil {
		_, err = w.network()
	}
	var counts segment.Counts
	if err == nil {
		deliver := w.pages.start()
		counts, err = w.fetchSegment(ctx, o, func(*fetching) {})
		deliver.end()
	}
	r := fetchReport(o.Segment, counts)
	r.Took = w.took(start)
	if err != nil {
		return r, fmt.Errorf("fetching segment %d: %w", o.Segment, err)
	}
	w.done(r)
	return r, nil
}

// fetchSegment fetches a fetchlist, as far as the limits and ctx allow, and seals its segment. What an earlier process
// fetched of it is read back from its WARC. begun is called with the run of fetchers before it starts.
func (w *work) fetchSegment(ctx context.Context, o FetchOptions, begun func(*fetching)) (segment.Counts, error) {
	seg, err := phases.SegmentIn(w.store, o.Segment, "fetch", storage.SegmentOpen)
	if err != nil {
		return segment.Counts{}, err
	}
	if !seg.Batch {
		return segment.Counts{}, fmt.Errorf("%w: it was opened by a crawl: run crawl again to finish it", ErrWrongState)
	}
	hosts, err := phases.FetchlistHosts(ctx, w.store, o.Segment, "", 0)
	if err == nil {
		err = w.requireContact(ctx, hosts)
	}
	if err != nil {
		return segment.Counts{}, err
	}
	var done [][]byte
	writer, err := w.resumeSegment(ctx, seg, &done)
	if err != nil {
		return segment.Counts{}, err
	}
	f, err := w.newFetching(w.fetchlistSupply(o.Segment), writer, o.Limits, true)
	if err != nil {
		return segment.Counts{}, errors.Join(err, writer.Abandon())
	}
	for _, key := range done {
		f.source.Take(key)
	}
	begun(f)
	f.start(ctx, w)
	err = w.watchFetch(ctx, f, o)
	f.pool.Stop()
	start := w.now()
	sealed, sealErr := f.pool.Finish(context.WithoutCancel(ctx), writer)
	_, sealErr = w.sealed(sealed, start, sealErr)
	return f.pool.Counts(), errors.Join(err, f.pool.Err(), sealErr)
}

// resumeSegment opens a segment's WARC behind what it holds already, and collects the keys of that.
func (w *work) resumeSegment(ctx context.Context, seg storage.Segment, done *[][]byte) (*segment.Writer, error) {
	keys := make(chan []byte, 64)
	collected := make(chan struct{})
	go func() {
		defer close(collected)
		for key := range keys {
			*done = append(*done, key)
		}
	}()
	writer, err := w.segments.Resume(ctx, seg, func(key []byte) { keys <- append([]byte(nil), key...) })
	close(keys)
	<-collected
	return writer, err
}

// watchFetch returns when the fetchlist is used up, a limit is reached or ctx ends.
func (w *work) watchFetch(ctx context.Context, f *fetching, o FetchOptions) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	last := w.now()
	var seen watch
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-f.frontier.Dry():
		case <-f.pool.Changed():
		case <-tick.C:
		}
		now := w.now()
		if _, err := f.pool.Tick(now, o.Patience); err != nil {
			return err
		}
		if o.Progress != nil && now.Sub(last) >= time.Second {
			last = now
			o.Progress(fetchReport(o.Segment, f.pool.Counts()))
		}
		s := state{failed: f.pool.Err() != nil, limit: f.pool.Reached(), frontier: f.frontier.Stats(), busy: f.pool.Busy(),
			paused: f.pool.Held()&visit.HeldByPause != 0}
		q, t := seen.look(now, s)
		// The open segment does not count as work that is left: a fetchlist has one, and it is sealed at the end.
		if act, _ := decide(s, q, t, o.Patience); act == actEnd {
			return nil
		}
	}
}

// fetchlistSupply offers the URLs of a fetchlist.
func (w *work) fetchlistSupply(number uint32) visit.Supply {
	return visit.Supply{
		Choose: func(rd storage.Reader, host urlkey.HostKey, limit int, taken func([]byte) bool) (visit.Chosen, error) {
			best := phases.NewBest(limit)
			sel, err := phases.SelectFetchlist(rd, number, host, taken, best)
			return chosen(sel, best), err
		},
		Hosts: func(ctx context.Context, from urlkey.HostKey, limit int) ([]urlkey.HostKey, error) {
			return phases.FetchlistHosts(ctx, w.store, number, from, limit)
		},
	}
}
