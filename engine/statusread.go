// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/visit"
)

// Status describes the engine now. It takes some milliseconds at most, also while a crawl runs, and waits for no phase.
// Any goroutine may call it.
func (i *Inspector) Status() (Status, error) {
	leave, err := i.g.enter()
	if err != nil {
		return Status{}, err
	}
	defer leave()
	w := i.w
	s := Status{Time: w.now().UTC()}
	if s.Store, err = i.census.latest(w, i.g.enter); err != nil {
		return s, err
	}
	tables, err := w.store.Counters()
	if err != nil {
		return s, err
	}
	s.Store.Tables = StoreTables{
		Count: tables.Tables, Bytes: tables.TableBytes, LogBytes: tables.LogBytes, DebtBytes: tables.Debt,
		ReadAmp: tables.ReadAmp, Compactions: tables.Compactions, Flushes: tables.Flushes,
		Ingestions: tables.Ingestions, WrittenBytes: tables.BytesWritten, Stalls: tables.Stalls,
		SlowWrites: tables.SlowWrites, BackgroundErrors: tables.BackgroundErrors,
		CacheHits: tables.CacheHits, CacheMisses: tables.CacheMisses,
	}
	if disk, err := w.diskFree(); err == nil {
		s.Store.DiskFreeBytes, s.Store.DiskTotalBytes, s.Store.DiskPendingBytes = disk.Free, disk.Total, disk.Pending
	}
	s.Store.Documents = w.index.Stats().Documents
	s.Store.IndexChanges = w.index.Generation() - 1 // the first is as it was opened
	shares := w.o.shares()
	s.Memory.LimitBytes = w.o.Memory
	s.Memory.HeapBytes, s.Memory.GoBytes = goMemory()
	cache := shares.cache
	if w.idle.Load() {
		cache = shares.idleCache
	}
	s.Memory.Shares = []MemoryShare{
		{"cache", tables.CacheBytes, cache},
		{"memtables", int64(tables.MemTable), memTables * shares.memTable},
	}
	used, limit := w.answers.Bytes()
	s.Memory.Shares = append(s.Memory.Shares, MemoryShare{"answers", used, limit})
	if c := i.crawl.Load(); c != nil {
		s.Running, s.Started, s.Stopping = true, c.started.UTC(), c.ctx.Err() != nil
		p := c.progressNow(func(f *fetching) { s.look(w, f, &shares) })
		s.running(&p)
		s.Newest = i.history.newest(c.started)
	} else if b := i.fetch.Load(); b != nil {
		s.Running, s.Started, s.Stopping = true, b.started.UTC(), b.ctx.Err() != nil
		p := b.progress(w, func(f *fetching) { s.look(w, f, &shares) })
		s.running(&p)
	} else if l := i.last.Load(); l != nil {
		s.addLast(&l.endedCrawl)
		p := l.progress
		p.doing = nil
		s.Progress, s.Newest = &p, i.history.newest(l.Started)
	} else if i.before != nil {
		s.addLast(i.before)
	}
	return s, i.addAlerts(&s)
}

// running adds what goes on.
func (s *Status) running(p *Progress) {
	if s.Progress = p; p.doing != nil {
		for doing, n := range p.doing {
			s.Fetchers = append(s.Fetchers, FetcherCount{doingNames[doing], n})
		}
		p.doing = nil
	}
}

// Paused reports whether crawls begin no requests, since Engine.Pause was called: the running one, and later ones.
func (i *Inspector) Paused() (bool, error) {
	leave, err := i.g.enter()
	if err != nil {
		return false, err
	}
	defer leave()
	return i.live.paused.Load(), nil
}

// addAlerts completes a status.
func (i *Inspector) addAlerts(s *Status) error {
	var recent []Sample
	var writers []SendReport
	if c := i.crawl.Load(); c != nil {
		var err error
		if recent, err = i.history.last(i.w.store, alertSpan); err != nil {
			return err
		}
		recent = slices.DeleteFunc(recent, func(x Sample) bool { return !x.Time.After(c.started) })
		writers = c.sends.all()
	}
	s.Alerts = alerts(s, recent, writers)
	return nil
}

// progressNow is progress of the phase that the crawl is in. It calls look with the run of fetchers, if there is one.
func (c *conductor) progressNow(look func(*fetching)) Progress {
	if f, _ := c.counted(); f != nil {
		look(f)
	}
	return c.progress(*c.phase.Load())
}

// look adds what a run of fetchers knows.
func (s *Status) look(w *work, f *fetching, shares *shares) {
	s.Refills, s.Lookups = f.frontier.Stats().Refilling, f.source.Lookups()
	s.HostsLimit, s.QueuedLimit = shares.hosts, shares.urls
	top, span := f.pool.Top(topHostsShown)
	for i := range top {
		s.TopHosts = append(s.TopHosts, hostRate(&top[i], span))
	}
	if c, ok := w.net.client.(*fetch.Client); ok {
		used, limit := c.Bodies()
		s.Memory.Shares = append(s.Memory.Shares, MemoryShare{"bodies", used, limit})
	}
	if held, ok := f.pool.SegmentHeld(); ok {
		s.Memory.Shares = append(s.Memory.Shares, MemoryShare{"segment", held, shares.segment})
	}
	used, limit := w.net.hosts.Bytes()
	s.Memory.Shares = append(s.Memory.Shares, MemoryShare{"hosts", used, limit})
}

// doingNames are the names of what fetchers do.
var doingNames = [visit.DoingCount]FetcherDoing{
	visit.DoingHeld: DoingHeld, visit.DoingIdle: DoingIdle, visit.DoingPrepare: DoingPrepare,
	visit.DoingRobots:  DoingRobots,
	visit.DoingRequest: DoingRequest, visit.DoingDNS: DoingDNS, visit.DoingConnection: DoingConnection,
	visit.DoingConnect: DoingConnect, visit.DoingTLS: DoingTLS, visit.DoingFirstByte: DoingFirstByte,
	visit.DoingBody: DoingBody, visit.DoingMemory: DoingMemory, visit.DoingSlot: DoingSlot,
	visit.DoingWrite: DoingWrite, visit.DoingParse: DoingParse, visit.DoingPage: DoingPage,
}

func hostRate(r *visit.Rate, span time.Duration) HostRate {
	v := HostRate{Host: r.Host.String(), Pages: r.Pages, Failed: r.Failed, Bytes: r.Bytes}
	if span > 0 {
		v.PagesPerSecond = float64(r.Pages) / span.Seconds()
	}
	return v
}

// History returns how the crawls of this data directory went in a span of time that ends with the newest sample, oldest
// sample first; 0 means all of it. Samples are of a second for a span of up to 10 minutes, of 15 seconds for one of up
// to 6 hours, and beyond that of a minute, or of 2, 4, 8 … minutes as the history grows: there are never more than
// 1,500. While no crawl runs nothing is sampled. Samples survive restarts; a crash loses those of the last 15 seconds.
// Any goroutine may call it, and change what it returns.
func (i *Inspector) History(span time.Duration) ([]Sample, error) {
	leave, err := i.g.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	return i.history.last(i.w.store, span)
}
