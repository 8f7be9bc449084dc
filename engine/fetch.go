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
	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// fetching is one run of fetchers: that of a crawl over crawldb, or that of a fetch over a fetchlist.
type fetching struct {
	pool     *visit.Pool
	frontier *frontier.Frontier
	source   *visit.Source
	began    time.Time
}

// startFetching opens a frontier over a supply and starts fetchers that store into seg. done are keys that seg has
// already. resume says that the hosts may have been visited just before, by an earlier process or phase. begun, if not
// nil, is called before the fetchers start; no setting changes until they have started.
func (w *work) startFetching(
	ctx context.Context, supply visit.Supply, seg *segment.Writer, done [][]byte, l Limits, resume bool,
	begun func(*fetching),
) (*fetching, error) {
	w.live.mu.Lock()
	defer w.live.mu.Unlock()
	f := &fetching{source: visit.NewSource(w.net.hosts, supply), began: w.now()}
	fetchers := int(w.live.fetchers.Load())
	files, err := shareFiles(openFiles())
	if err != nil {
		return nil, errors.Join(err, seg.Abandon())
	}
	f.frontier, err = frontier.New(frontier.Options{
		Source: f.source, Delay: time.Duration(w.live.delay.Load()), Fetchers: fetchers, PerHost: w.o.PerHost,
		MaxCrawlDelay: w.o.frontierCrawlDelay(), Extra: w.o.extraFetchers(files.conns),
		Refillers: frontierRefillers, Resume: resume, MaxHosts: w.o.shares().hosts, MaxQueued: w.o.shares().urls,
		Now: w.o.Now, OnDrop: f.source.Release, OnHost: w.rememberHost, OnError: w.refillFailed,
	})
	if err != nil {
		return nil, errors.Join(err, seg.Abandon())
	}
	f.pool = visit.NewPool(w.net.hosts, f.frontier, f.source, seg, visit.Limits(l))
	for _, key := range done {
		f.source.Take(key)
	}
	if begun != nil {
		begun(f)
	}
	f.frontier.WakeAll()
	f.pool.Start(ctx, fetchers)
	return f, nil
}

// refillFailed reports a host whose URLs could not be chosen. The host rests until something wakes it.
func (w *work) refillFailed(host urlkey.HostKey, err error) {
	if !errors.Is(err, context.Canceled) {
		w.warn(wrapf(err, "choosing URLs of %s", host))
	}
}

// rememberHost keeps what the frontier learned about a host, for a later process.
func (w *work) rememberHost(host urlkey.HostKey, s frontier.HostState) {
	w.net.hosts.Remember(host, s)
	if s.Asleep && w.o.Events.HostAsleep != nil {
		w.o.Events.HostAsleep(host, s.NotBefore)
	}
}

// crawldbSupply offers what is due in crawldb.
func (w *work) crawldbSupply() visit.Supply {
	return visit.Supply{
		Choose: func(rd storage.Reader, host urlkey.HostKey, limit int, taken func([]byte) bool) (visit.Chosen, error) {
			best := phases.NewBest(limit)
			sel, err := w.phases.SelectHost(rd, host, w.now().UnixMilli(), taken, best)
			return chosen(sel, best), err
		},
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
		Choose: func(rd storage.Reader, host urlkey.HostKey, limit int, taken func([]byte) bool) (visit.Chosen, error) {
			// What the fetcher would refuse and hand back is not offered: it would come back for ever.
			skip := func(key []byte) bool { return taken(key) || w.refused(urlkey.Key(key)) }
			best := phases.NewBest(limit)
			sel, err := phases.SelectFetchlist(rd, number, host, skip, best)
			return chosen(sel, best), err
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
func chosen(sel phases.Selection, best *phases.Best) visit.Chosen {
	list := best.Sorted()
	out := visit.Chosen{URLs: make([]visit.Choice, len(list)), More: sel.Due > uint64(len(list)), NextDue: sel.NextDue}
	for i, c := range list {
		out.URLs[i] = visit.Choice{Key: c.Key, Score: c.Score, Depth: c.Depth, Known: c.Known}
	}
	return out
}

// fetch is Engine.Fetch.
func (w *work) fetch(ctx context.Context, o FetchOptions) (FetchReport, error) {
	start := w.now()
	err := o.Limits.validate()
	if err == nil {
		_, err = w.network()
	}
	var counts segment.Counts
	if err == nil {
		deliver := w.pages.start()
		counts, err = w.fetchSegment(ctx, context.Background(), o, nil)
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
// fetched of it is read back from its WARC. When abort ends, fetching ends at once and the segment stays open. begun is
// that of startFetching.
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
	var done [][]byte
	writer, err := w.resumeSegment(both, seg, &done)
	if err != nil {
		return none, err
	}
	f, err := w.startFetching(both, w.fetchlistSupply(o.Segment), writer, done, o.Limits, true, begun)
	if err != nil {
		return none, err
	}
	err = w.watchFetch(both, f, o)
	f.pool.Stop()
	if abort.Err() != nil {
		return f.pool.Counts(), errors.Join(abort.Err(), err, f.pool.Err(), f.pool.Abandon())
	}
	if w.o.ParseLater && begun == nil { // of a crawl the segment goes on to updatedb, so it is parsed now
		return f.pool.Counts(), errors.Join(err, f.pool.Err(), f.pool.Leave(writer))
	}
	start := w.now()
	sealed, sealErr := f.pool.Finish(abort, writer)
	_, sealErr = w.sealed(sealed, start, sealErr)
	return f.pool.Counts(), errors.Join(err, f.pool.Err(), sealErr)
}

// requireContactFor is network.requireContact for every host of a fetchlist.
func (w *work) requireContactFor(ctx context.Context, number uint32) error {
	if !w.o.needsContact() {
		return nil
	}
	hosts, err := phases.FetchlistHosts(ctx, w.store, number, "", 0)
	for _, h := range hosts {
		if err == nil {
			err = w.net.requireContact(ctx, &w.o, h)
		}
	}
	return err
}

// either is a context that ends with a or b.
func either(a, b context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(a)
	stop := context.AfterFunc(b, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// resumeSegment reads back what a segment's WARC holds, collects the keys of it, and opens a new file behind it.
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

// watchFetch returns when the fetchlist is fetched, a limit is reached or ctx ends.
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
		s := state{failed: f.pool.Err() != nil, limit: f.pool.Reached(), paused: f.pool.Held()&visit.HeldByPause != 0}
		s.frontier = f.frontier.Stats() // before busy: see conductor.look
		s.busy = f.pool.Busy()
		q, t := seen.look(now, s)
		// pages stays 0: a fetchlist has one segment, which is sealed at the end.
		if act, _ := decide(s, q, t, o.Patience); act == actEnd {
			return nil
		}
	}
}
