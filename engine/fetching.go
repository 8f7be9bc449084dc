// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"time"

	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/engine/internal/visit"
	"github.com/seine-crawler/seine/frontier"
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
		why := Cause{Kind: CauseNoAnswer, Text: host.String() + " failed too often"}
		if t := w.net.hosts.TroubleOf(host); t.Hosts > 0 {
			why = troubleCause(t)
		}
		w.o.Events.HostAsleep(host, s.NotBefore, why)
	}
}
