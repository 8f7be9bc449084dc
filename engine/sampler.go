// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"github.com/seine-crawler/seine/engine/internal/segment"
)

// sampler takes the samples of one crawl, on a goroutine of its own.
type sampler struct {
	c       *conductor
	h       *history
	before  reading
	flushed time.Time
	failed  bool // a flush failed, and was reported
	stop    chan struct{}
	done    chan struct{}
}

// reading is what a crawl has counted so far.
type reading struct {
	at                  time.Time
	counts              segment.Counts
	indexed, discovered int64
	stages              stageTimes
}

// startSampler begins to sample a crawl. The caller calls end.
func startSampler(c *conductor, h *history) (*sampler, error) {
	h.mu.Lock()
	err := h.begin(c.w.store)
	h.mu.Unlock()
	if err != nil {
		return nil, err
	}
	s := &sampler{c: c, h: h, stop: make(chan struct{}), done: make(chan struct{})}
	var none Sample
	s.before, s.flushed = s.read(&none), c.w.now()
	go s.run()
	return s, nil
}

func (s *sampler) run() {
	defer close(s.done)
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
		}
		s.take(sampleEvery / 2)
		if now := s.c.w.now(); now.Sub(s.flushed) >= flushEvery {
			s.flushed = now
			s.flush()
		}
	}
}

// end takes the last sample and stores what is new.
func (s *sampler) end() {
	close(s.stop)
	<-s.done
	s.take(time.Millisecond)
	s.h.end()
	s.flush()
}

func (s *sampler) flush() {
	if s.c.w.o.ReadOnly {
		return
	}
	if err := s.h.flush(s.c.w.store); err != nil && !s.failed {
		s.failed = true
		s.c.w.warn(err)
	}
}

// take adds a sample of the time since the last one, if that is long enough: a clock that stands still gives none.
func (s *sampler) take(least time.Duration) {
	var x Sample
	now := s.read(&x)
	span := now.at.Sub(s.before.at)
	if span < least {
		return
	}
	x.Time, x.Seconds = now.at.UTC(), span.Seconds()
	old := &s.before
	rate := func(now, before int64) float64 { return float64(now-before) / x.Seconds }
	x.PagesPerSecond = rate(int64(now.counts.Fetched), int64(old.counts.Fetched))
	x.FetchesPerSecond = rate(int64(now.counts.Attempts()), int64(old.counts.Attempts()))
	x.FailuresPerSecond = rate(int64(now.counts.Failed), int64(old.counts.Failed))
	x.BytesPerSecond = rate(int64(now.counts.Bytes), int64(old.counts.Bytes))
	x.IndexedPerSecond, x.DiscoveredPerSecond = rate(now.indexed, old.indexed), rate(now.discovered, old.discovered)
	x.CPU = now.stages.since(old.stages)
	for i := range x.CPU {
		x.CPU[i].Seconds /= x.Seconds
	}
	s.before = now
	s.h.add(&x)
}

// read reads what a crawl has counted, and puts what it is now into a sample. It costs the crawl some ten microseconds
// and waits for no phase.
func (s *sampler) read(x *Sample) reading {
	c, w := s.c, s.c.w
	r := reading{
		at: w.now(), indexed: c.indexed.Load(), discovered: int64(c.discovered.Load()),
		stages: w.stages.times(w.store),
	}
	heap, _ := goMemory()
	x.HeapBytes, x.Backlog, x.Fetchers = float64(heap), float64(c.updating.Load()), float64(w.live.fetchers.Load())
	if w.live.paused.Load() {
		x.Paused = 1
	}
	if disk, err := w.diskFree(); err == nil {
		x.DiskFreeBytes = float64(disk.Free)
	}
	if m, err := w.store.Counters(); err == nil {
		x.DebtBytes = float64(m.Debt)
	}
	x.Documents = float64(w.index.Stats().Documents)
	w.live.mu.Lock()
	defer w.live.mu.Unlock()
	r.counts = c.earlier
	if f := c.live.Load(); f != nil {
		r.counts = r.counts.Plus(f.pool.Counts())
		stats := f.frontier.Stats()
		x.Busy, x.Queued = float64(f.pool.Busy()), float64(stats.Queued)
		x.HostsReady, x.HostsWaiting = float64(stats.Ready), float64(stats.Waiting)
		x.HostsAsleep = float64(stats.Asleep)
	}
	return r
}
