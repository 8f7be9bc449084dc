// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

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
	resumed  int    // URLs that the segment had already
	listed   uint64 // URLs of the fetchlist, those included
}

// attempt is one at a URL that was read back from a segment.
type attempt struct {
	key  []byte
	cost frontier.Cost
}

// startFetching opens a frontier over a supply and starts fetchers that store into seg. done is what seg has
// already. resume says that the hosts may have been visited just before, by an earlier process or phase. begun is
// called before the fetchers start; no setting changes until they have started.
func (w *work) startFetching(
	ctx context.Context, supply visit.Supply, seg *segment.Writer, done []attempt, l Limits, resume bool,
	begun func(*fetching),
) (*fetching, error) {
	f := &fetching{source: visit.NewSource(w.net.hosts, supply), began: w.now(), resumed: len(done)}
	if err := w.countUnseen(ctx, f.source, seg.Number()); err != nil && ctx.Err() == nil {
		w.warn(wrapf(err, "counting what fetches have cost that updatedb has not seen"))
	}
	w.net.hosts.ForgetRefused()
	w.live.mu.Lock()
	defer w.live.mu.Unlock()
	fetchers := int(w.live.fetchers.Load())
	files, err := shareFiles(openFiles())
	if err != nil {
		return nil, errors.Join(err, seg.Abandon())
	}
	f.frontier, err = frontier.New(frontier.Options{
		Source: f.source, Delay: time.Duration(w.live.delay.Load()), Fetchers: fetchers, PerHost: w.o.PerHost,
		MaxCrawlDelay: w.o.frontierCrawlDelay(), Extra: w.o.extraFetchers(files.conns),
		Refillers: frontierRefillers, Resume: resume, MaxHosts: w.o.shares().hosts, MaxQueued: w.o.shares().urls,
		Shards: w.o.Processors,
		Now:    w.o.Now, OnDrop: f.source.Release, OnHost: w.rememberHost, OnError: w.refillFailed,
		OnForgive: w.net.hosts.Forgive,
	})
	if err != nil {
		return nil, errors.Join(err, seg.Abandon())
	}
	f.pool = visit.NewPool(w.net.hosts, f.frontier, f.source, seg, visit.Limits(l))
	for _, d := range done {
		if err := f.source.Take(d.key, seg.Number(), d.cost); err != nil {
			w.warn(wrapf(err, "counting what the segment has cost"))
		}
	}
	begun(f)
	f.frontier.WakeAll()
	f.pool.Start(ctx, fetchers)
	return f, nil
}

// countUnseen tells a source what segments have cost that wait for updatedb, the one that is fetched aside. Those that
// wait for parse take reading their WARC files, so nothing is read where no budget is set.
func (w *work) countUnseen(ctx context.Context, source *visit.Source, current uint32) error {
	if !w.admission.Limits() {
		return nil
	}
	list, failed := w.store.SegmentList()
	for _, seg := range list {
		if seg.Number == current {
			continue
		}
		var err error
		switch seg.State {
		case storage.SegmentOpen:
			var unread error
			err = w.segments.Costs(ctx, seg.Number, func(key []byte, received int64, took time.Duration) {
				cost := frontier.Cost{URLs: 1, Bytes: received, Time: took}
				unread = cmp.Or(unread, source.Spent(key, seg.Number, cost))
			})
			err = cmp.Or(err, unread)
		case storage.SegmentSealed:
			err = w.countSealed(ctx, source, seg.Number)
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// countSealed is countUnseen for a sealed segment.
func (w *work) countSealed(ctx context.Context, source *visit.Source, number uint32) error {
	sc := w.store.Scan(storage.ParseLinks(number), nil, nil)
	defer sc.Close()
	var o storage.FetchOutcome
	var links storage.OutlinkReader
	for sc.Next() && ctx.Err() == nil {
		if err := storage.ReadFetchOutcome(sc.Value(), &o, &links); err != nil {
			return fmt.Errorf("parse record %s of segment %d: %w", sc.Key(), number, err)
		}
		took := time.Duration(o.TookMS) * time.Millisecond
		cost := frontier.Cost{URLs: 1, Bytes: int64(o.Bytes), Time: took}
		if err := source.Spent(sc.Key(), number, cost); err != nil {
			return err
		}
	}
	return sc.Err()
}

// refillFailed reports a host whose URLs could not be chosen; "": the hosts themselves. The host rests until something
// wakes it.
func (w *work) refillFailed(host urlkey.HostKey, err error) {
	switch {
	case errors.Is(err, context.Canceled):
	case host == "":
		w.warn(wrapf(err, "choosing hosts"))
	default:
		w.warn(wrapf(err, "choosing URLs of %s", host))
	}
}

// rememberHost keeps what the frontier learned about a host, for a later process.
func (w *work) rememberHost(host urlkey.HostKey, s frontier.HostState) {
	w.net.hosts.Remember(host, s)
	if s.Asleep && w.o.Events.HostAsleep != nil {
		why := Cause{Kind: CauseNoAnswer, Text: host.String() + " failed too often"}
		until := s.NotBefore
		if t := w.net.hosts.TroubleOf(host); t.Hosts > 0 {
			why = troubleCause(t)
			if t.RefusedHere() {
				until = time.Time{}
			}
		}
		w.o.Events.HostAsleep(host, until, why)
	}
}

// leavesOpen reports whether a fetch that stopped leaves its segment open: to be parsed later, or because it was
// interrupted and the next one goes on with it. Of pages without content nothing could be read back then.
func (w *work) leavesOpen(o FetchOptions, stopped StopReason) bool {
	return !o.parse && (w.o.ParseLater || stopped == StopInterrupted && !w.o.NoContent)
}
