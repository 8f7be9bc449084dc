// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Progress is a crawl at one moment. Counts are of this crawl and only grow; what is marked "now" is the present state.
// Fetches are counted when they are on disk, up to 100 ms late. JSON has durations in nanoseconds.
type Progress struct {
	// Phase is "fetching" (a fetchlist that Generate made), "crawling", "settling" or "done".
	Phase          string        `json:"phase"`
	Elapsed        time.Duration `json:"elapsed"`          // since the start
	Fetched        uint64        `json:"fetched"`          // pages
	Failed         uint64        `json:"failed"`           // as in FetchReport
	Bytes          uint64        `json:"bytes"`            // of bodies, as received
	PagesPerSecond float64       `json:"pages_per_second"` // Fetched, on average since the start
	Discovered     uint64        `json:"discovered"`       // URLs that became crawldb records
	Indexed        uint64        `json:"indexed"`          // documents added to the index, less those that left it
	Busy           int64         `json:"busy"`             // visits under way, now
	Slow           int           `json:"slow"`             // of Busy, those that last long: extra fetchers stand in for them
	HostsReady     int           `json:"hosts_ready"`      // hosts that may be visited, now
	HostsWaiting   int           `json:"hosts_waiting"`    // hosts that wait for their delay, now
	HostsAsleep    int           `json:"hosts_asleep"`     // hosts that failed too often, now
	Queued         int           `json:"queued"`           // URLs in the frontier, now
	Backlog        int64         `json:"backlog"`          // sealed segments that updatedb has not finished, now
	Cause          Cause         `json:"cause"`            // what holds the crawl up now, or why it ended
	HeapBytes      uint64        `json:"heap_bytes"`       // of the process, now
	MemoryLimit    int64         `json:"memory_limit"`     // Options.Memory, in bytes
	DiskFree       uint64        `json:"disk_free"`        // bytes, now; 0: not known

	Fetchers       int               `json:"fetchers"`           // now
	HostsActive    int               `json:"hosts_active"`       // in memory, now
	HostsDormant   int               `json:"hosts_dormant"`      // of these, without due URLs
	HostsThrottled int               `json:"hosts_throttled"`    // that requested a pause (429, 503), now
	OverBudget     uint64            `json:"over_budget"`        // times that a budget held a host back
	Outage         bool              `json:"outage"`             // the local network seems to be cut, now
	Paused         bool              `json:"paused,omitempty"`   // now, by Engine.Pause
	NotModified    uint64            `json:"not_modified"`       // as in FetchReport
	Redirected     uint64            `json:"redirected"`         // as in FetchReport
	RobotsDenied   uint64            `json:"robots_denied"`      // as in FetchReport
	Gone           uint64            `json:"gone"`               // as in FetchReport
	Failures       map[string]uint64 `json:"failures,omitempty"` // Failed by kind
	Held           []HeldHost        `json:"held,omitempty"`     // hosts that hold the crawl up, the longest first
	Stages         StageCPU          `json:"stages"`             // processor time since the start
	MaxPages       int64             `json:"max_pages,omitempty"`
	MaxBytes       int64             `json:"max_bytes,omitempty"`
	MaxTime        time.Duration     `json:"max_time,omitempty"`
}

// ETA returns the time to the limit that is nearest at the average rate so far, and the share of it that is used, from
// 0 to 1. Both are 0 without a limit or a rate.
func (p Progress) ETA() (left time.Duration, share float64) {
	seconds := p.Elapsed.Seconds()
	for _, l := range []struct{ used, limit float64 }{
		{float64(p.Fetched), float64(p.MaxPages)},
		{float64(p.Bytes), float64(p.MaxBytes)},
		{seconds, p.MaxTime.Seconds()},
	} {
		if l.limit == 0 || l.used == 0 {
			continue
		}
		if s := min(l.used/l.limit, 1); s > share {
			share, left = s, time.Duration(seconds*(1/s-1)*float64(time.Second))
		}
	}
	return left, share
}

// look adds to a situation what a run of fetchers knows at this moment.
func (s *situation) look(w *work, f *fetching) {
	stats, now := f.frontier.Stats(), w.now()
	s.HostsReady, s.HostsWaiting, s.HostsAsleep, s.Queued = stats.Ready, stats.Waiting, stats.Asleep, stats.Queued
	s.HostsActive, s.HostsDormant, s.HostsThrottled = stats.Hosts, stats.Dormant, stats.Throttled
	s.OverBudget, s.Outage, s.Busy, s.Slow = stats.OverSpent, stats.Outage, f.pool.Busy(), stats.Late
	s.holders, s.syncing, s.silent = f.pool.Held(), f.pool.Syncing(now), f.pool.Silent(now)
	s.troubles = w.net.hosts.Troubles()
	s.delay, s.contact = time.Duration(w.live.delay.Load()), !w.o.needsContact()
	if stats.Ready == 0 || stats.Hosts <= heldHostsAlways {
		s.Held = w.heldHosts(f)
	}
}

// ended adds what only the end of a run depends on.
func (s *situation) ended(w *work, stopped StopReason) {
	s.stopped = stopped
	if s.Fetched+s.NotModified == 0 && stopped == StopDone {
		s.nextDue, s.empty = w.nextDue()
	}
}

// nextDue returns when something of the first dueHostsRead hosts is due, zero if nothing is, and whether crawldb is
// empty.
func (w *work) nextDue() (at time.Time, empty bool) {
	sc := w.store.Scan(storage.HostCountsRange(), nil, nil)
	defer sc.Close()
	var counts storage.HostCounts
	empty = true
	for n := 0; n < dueHostsRead && sc.Next(); n++ {
		empty = false
		if storage.DecodeHostCounts(sc.Value(), &counts) != nil || counts.NextDue == 0 {
			continue
		}
		if due := timeOf(counts.NextDue); at.IsZero() || due.Before(at) {
			at = due
		}
	}
	return at, empty
}

// dueURLs returns how many URLs of a host were not fetched yet, as of the last updatedb.
func (w *work) dueURLs(host urlkey.HostKey) uint64 {
	var c storage.HostCounts
	if ok, err := w.store.HostCounts(host, &c); err != nil || !ok {
		return 0
	}
	return uint64(c.ByStatus[storage.StatusUnfetched])
}
