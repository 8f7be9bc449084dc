// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seine-crawler/seine/engine/internal/phases"
	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/engine/internal/visit"
	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// crawldbSupply offers what is due in crawldb. It is for one source, the only one that hands URLs of crawldb out.
func (w *work) crawldbSupply() visit.Supply {
	w.phases.Anew()
	return visit.Supply{
		Choose: func(rd storage.Reader, want *visit.Wanted) (visit.Chosen, error) {
			now := w.now().UnixMilli()
			list, sel, err := w.phases.Window(rd, want.Host, now, want.Limit, want.Again, want.Taken, want.Mark)
			return chosen(sel, list), err
		},
		Mark: w.phases.Mark, Reoffer: w.phases.Reoffer,
		Hosts: func(ctx context.Context, from urlkey.HostKey, limit int) (hosts []urlkey.HostKey, err error) {
			now := w.now().UnixMilli()
			err = w.phases.DueHosts(ctx, w.store, from, now, limit, func(h urlkey.HostKey) error {
				hosts = append(hosts, h)
				return nil
			})
			return hosts, err
		},
	}
}

// fetchlistSupply offers the URLs of a fetchlist.
func (w *work) fetchlistSupply(number uint32) visit.Supply {
	return visit.Supply{
		Choose: func(rd storage.Reader, want *visit.Wanted) (visit.Chosen, error) {
			// What the fetcher would refuse and hand back is not offered: it would come back for ever.
			skip := func(key []byte) bool { return want.Taken(key) || w.refused(urlkey.Key(key)) }
			best := phases.NewBest(want.Limit)
			sel, err := phases.SelectFetchlist(rd, number, want.Host, want.Pages, want.Again, skip, best)
			return chosen(sel, best.Sorted()), err
		},
		Hosts: func(ctx context.Context, from urlkey.HostKey, limit int) ([]urlkey.HostKey, error) {
			return phases.FetchlistHosts(ctx, w.store, number, from, limit)
		},
	}
}

// refused reports whether a live filter or a closed trap refuses a URL by now.
func (w *work) refused(key urlkey.Key) bool {
	u, err := key.URL()
	return err == nil && !w.admission.Recheck(u).OK()
}

// chosen converts a selection to what a source takes.
func chosen(sel phases.Selection, list []phases.Choice) visit.Chosen {
	out := visit.Chosen{URLs: make([]visit.Choice, len(list)), More: sel.More, NextDue: sel.NextDue, Spent: sel.Spent}
	for i, c := range list {
		out.URLs[i] = visit.Choice{Key: c.Key, Score: c.Score, Depth: c.Depth, Known: c.Known, Counted: c.Counted}
	}
	return out
}

// fetch is Engine.Fetch. begun is called when the fetchers begin.
func (w *work) fetch(ctx context.Context, o FetchOptions, begun func(*fetching)) (FetchReport, error) {
	start := w.now()
	err := o.validate()
	var net *network
	if err == nil {
		net, err = w.network()
	}
	var counts segment.Counts
	var run *fetching
	if err == nil {
		net.hosts.Begin()
		deliver := w.pages.start()
		counts, err = w.fetchSegment(ctx, context.Background(), o, func(f *fetching) {
			run = f
			begun(f)
		})
		deliver.end()
	}
	r := fetchReport(o.Segment, counts)
	r.Took = w.took(start)
	if run != nil {
		stopped := fetchStop(ctx, run)
		if err != nil {
			stopped = StopFailed
		}
		r.Cause = w.fetchCause(run, r, o, stopped)
	}
	if err != nil {
		return r, fmt.Errorf("fetching segment %d: %w", o.Segment, err)
	}
	w.done(r)
	return r, nil
}

// fetchSegment fetches a fetchlist, as far as the limits and ctx allow, and seals its segment unless leavesOpen says
// that it stays open. What an earlier call fetched of it is read back from its WARC. When abort ends, fetching ends at
// once and the segment stays open. begun is that of startFetching.
func (w *work) fetchSegment(ctx, abort context.Context, o FetchOptions, begun func(*fetching)) (segment.Counts, error) {
	var none segment.Counts
	seg, err := phases.SegmentIn(w.store, o.Segment, "fetch", storage.SegmentOpen)
	if err != nil {
		return none, err
	}
	if !seg.Batch {
		return none, fmt.Errorf("%w: a crawl opened it: run crawl again to finish it", ErrWrongState)
	}
	both, cancel := either(ctx, abort)
	defer cancel()
	if err := w.requireContactFor(both, o.Segment); err != nil {
		return none, err
	}
	var done []attempt
	writer, err := w.resumeSegment(both, seg, &done)
	if err != nil {
		return none, err
	}
	f, err := w.startFetching(both, w.fetchlistSupply(o.Segment), writer, done, o.Limits, true, begun)
	if err != nil {
		return none, err
	}
	f.listed = seg.Counts.Generated
	err = w.watchFetch(both, f, o)
	f.pool.Stop()
	if abort.Err() != nil {
		return f.pool.Counts(), errors.Join(abort.Err(), err, f.pool.Err(), f.pool.Abandon())
	}
	err = errors.Join(err, f.pool.Sync(writer)) // Counts has what is synced
	if stopped := fetchStop(both, f); w.leavesOpen(o, stopped) {
		err = errors.Join(err, f.pool.Err(), f.pool.Leave(writer, err == nil && stopped == StopDone))
		return f.pool.Counts(), err
	}
	if c := f.pool.Counts(); !o.parse && len(done) == 0 && c.Attempts() == 0 {
		return c, errors.Join(err, f.pool.Err(), f.pool.Abandon()) // nothing was requested: the fetchlist stays
	}
	start := w.now()
	sealed, sealErr := f.pool.Finish(abort, writer)
	_, sealErr = w.sealed(sealed, start, sealErr)
	return f.pool.Counts(), errors.Join(err, f.pool.Err(), sealErr)
}

// requireContactFor is network.requireContact for the hosts of a fetchlist.
func (w *work) requireContactFor(ctx context.Context, number uint32) error {
	return w.net.requireContact(ctx, &w.o, func(each func(urlkey.HostKey) error) error {
		hosts, err := phases.FetchlistHosts(ctx, w.store, number, "", 0)
		for _, h := range hosts {
			if err == nil {
				err = each(h)
			}
		}
		return err
	})
}

// resumeSegment reads back what a segment's WARC holds, collects it, and opens a new file behind it.
func (w *work) resumeSegment(ctx context.Context, seg storage.Segment, done *[]attempt) (*segment.Writer, error) {
	var mu sync.Mutex
	return w.segments.Resume(ctx, seg, func(key []byte, received int64, took time.Duration) {
		a := attempt{bytes.Clone(key), frontier.Cost{URLs: 1, Bytes: received, Time: took}}
		mu.Lock()
		*done = append(*done, a)
		mu.Unlock()
	})
}

// watchFetch returns when the fetchlist is fetched, a limit is reached or ctx ends.
func (w *work) watchFetch(ctx context.Context, f *fetching, o FetchOptions) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	last := w.now()
	var seen watch
	defer w.live.held.Store(0)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-f.frontier.Dry():
		case <-f.pool.Changed():
		case <-tick.C:
		}
		now := w.now()
		w.live.held.Store(f.pool.Segment().Held())
		if _, err := f.pool.Tick(now, o.Patience); err != nil {
			return err
		}
		if o.Progress != nil && now.Sub(last) >= time.Second {
			last = now
			o.Progress(w.fetchProgress(f, o))
		}
		s := state{failed: f.pool.Err() != nil, limit: f.pool.Reached(), paused: f.pool.Held()&visit.HeldByPause != 0}
		s.frontier = f.frontier.Stats() // before busy: see conductor.look
		s.busy, s.refused = f.pool.Busy(), w.net.hosts.RefusedHere()
		q, t := seen.look(now, s)
		// pages stays 0: a fetchlist has one segment, which is sealed at the end.
		if act, _ := decide(s, q, t, o.Patience); act == actEnd {
			return nil
		}
	}
}
