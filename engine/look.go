// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"time"
)

// look adds to a situation what a run of fetchers knows at this moment.
func (s *situation) look(w *work, f *fetching) {
	stats, now := f.frontier.Stats(), w.now()
	s.HostsReady, s.HostsWaiting, s.HostsAsleep, s.Queued = stats.Ready, stats.Waiting, stats.Asleep, stats.Queued
	s.HostsActive, s.HostsDormant, s.HostsThrottled = stats.Hosts, stats.Dormant, stats.Throttled
	s.OverBudget, s.Outage, s.NoDNS, s.Slow = stats.OverSpent, stats.Outage, stats.NoDNS, stats.Late
	s.Busy = int64(stats.InFlight) // of the same moment, or a host whose visit has just ended counts twice
	s.holders, s.syncing, s.silent = f.pool.Held(), f.pool.Syncing(now), f.pool.Silent(now)
	s.lookups, s.refills, s.failing, s.slow = f.source.Lookups(), stats.Refilling, stats.Failing, stats.SlowReady
	s.unnamed = stats.Unnamed
	s.doing, s.processors = f.pool.Doing(), w.busy.look(w.o.Processors)
	s.Progress.doing = &s.doing
	s.troubles = w.net.hosts.Troubles()
	s.delay = time.Duration(w.live.delay.Load())
	if stats.Ready == 0 || stats.Hosts <= heldHostsAlways {
		s.Held = w.heldHosts(f)
	}
}

// lookAtDisk adds the space on the disk.
func (s *situation) lookAtDisk(w *work) {
	if disk, err := w.diskFree(); err == nil {
		s.DiskFree, s.disk = disk.Free, disk
	}
}

// ended adds what only the end of a run depends on.
func (s *situation) ended(w *work, stopped StopReason) {
	s.stopped = stopped
	s.maxDepth = w.o.MaxDepth
	if stopped == StopDone {
		s.due = w.summarizeDue()
	}
}

// heldHosts returns the hosts that hold a run of fetchers up, with what crawldb has of them.
func (w *work) heldHosts(f *fetching) (list []HeldHost) {
	now := w.now()
	for _, h := range f.frontier.Held(heldHostsShown) {
		v := HeldHost{
			Host: h.Host.String(), URLs: uint64(h.URLs), Delay: Duration(h.Delay), Because: heldWords[h.Because],
			Wait: Duration(max(h.Next.Sub(now), 0)), Next: h.Next.UTC(),
		}
		if h.More || h.URLs == 0 {
			v.URLs = max(v.URLs, dueURLs(w.store, h.Host))
		}
		list = append(list, v)
	}
	return list
}

// fetchStop says why a fetch ended. A limit that is reached with the last URL of the fetchlist stops nothing. What was
// fetched is synced.
func fetchStop(ctx context.Context, f *fetching) StopReason {
	switch reason := limitReasons[f.pool.Reached()]; {
	case f.pool.Err() != nil:
		return StopFailed
	case ctx.Err() != nil:
		return StopInterrupted
	case reason != "" && uint64(f.resumed)+fetchReport(0, f.pool.Counts()).Attempts() < f.listed:
		return reason
	}
	return StopDone
}

// fetchCause is the cause of the end of a fetch.
func (w *work) fetchCause(f *fetching, r FetchReport, o FetchOptions, stopped StopReason) Cause {
	var s situation
	s.Fetched, s.Failed, s.NotModified, s.Redirected = r.Fetched, r.Failed, r.NotModified, r.Redirected
	s.RobotsDenied, s.delays, s.Failures = r.RobotsDenied, r.CrawlDelay, r.Failures
	s.look(w, f)
	if s.stopped = stopped; r.Attempts() == 0 { // else what crawldb has due is older than the fetch
		s.ended(w, stopped)
	}
	c := s.cause()
	left := w.leavesOpen(o, stopped)
	switch {
	case c.Kind == CauseDone && c.Help == "" && s.HostsAsleep == 0,
		c.Kind == CauseNothingDue && f.resumed > 0 && r.Attempts() == 0:
		c = Cause{Kind: CauseDone, Text: "the fetchlist is done"}
		if left {
			c.Help = `"seine parse" comes next`
		}
	case c.Kind != CauseLimit && c.Kind != CauseInterrupted:
	case left || f.resumed == 0 && r.Attempts() == 0: // nothing was requested, so the fetchlist stays
		c.Help = `"seine fetch" goes on with it`
	default:
		c.Help = "the rest of the fetchlist is due again after updatedb"
	}
	return c
}

// fetchProgress describes a fetch at one moment.
func (w *work) fetchProgress(f *fetching, o FetchOptions) Progress {
	var s situation
	r := fetchReport(o.Segment, f.pool.Counts())
	s.Progress = Progress{
		Phase: phaseFetching, Elapsed: w.now().Sub(f.began), Fetched: r.Fetched, Failed: r.Failed, Bytes: r.Bytes,
		NotModified: r.NotModified, Redirected: r.Redirected, RobotsDenied: r.RobotsDenied, Gone: r.Gone,
		Failures: r.Failures, Fetchers: int(w.live.fetchers.Load()), MemoryLimit: w.o.Memory,
		MaxPages: o.MaxPages, MaxBytes: o.MaxBytes, MaxTime: o.MaxTime,
	}
	seg, ok, err := w.store.Segment(o.Segment)
	if total := int64(seg.Counts.Generated); err == nil && ok && total > 0 {
		pages := max(total-int64(r.Attempts()-r.Fetched), 1) // as if all that are left were pages
		if o.MaxPages == 0 || pages < o.MaxPages {
			s.MaxPages = pages
		}
	}
	s.PagesPerSecond = float64(s.Fetched) / max(s.Elapsed.Seconds(), 1e-3)
	s.lookAtDisk(w)
	s.HeapBytes = heapBytes()
	s.look(w, f)
	s.Progress.Cause, s.Progress.Also = s.causes()
	return s.Progress
}
