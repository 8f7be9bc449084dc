// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"runtime"
	"time"

	"github.com/seine-crawler/seine/engine/internal/visit"
	"golang.org/x/sys/unix"
)

// Progress is a moment of a crawl, for people.
type Progress struct {
	Phase          string        `json:"phase"` // "crawling", "settling", "done"
	Elapsed        time.Duration `json:"elapsed"`
	Fetched        uint64        `json:"fetched"`
	Failed         uint64        `json:"failed"`
	Bytes          uint64        `json:"bytes"`
	PagesPerSecond float64       `json:"pages_per_second"` // since the start
	Discovered     uint64        `json:"discovered"`
	Indexed        uint64        `json:"indexed"`
	Busy           int64         `json:"busy"` // visits under way
	HostsReady     int           `json:"hosts_ready"`
	HostsWaiting   int           `json:"hosts_waiting"`
	HostsAsleep    int           `json:"hosts_asleep"`
	Queued         int           `json:"queued"`  // URLs in the frontier
	Backlog        int64         `json:"backlog"` // segments waiting for updatedb
	Slowest        string        `json:"slowest"` // what holds the crawl up
	HeapBytes      uint64        `json:"heap_bytes"`
	MemoryLimit    int64         `json:"memory_limit"`
	DiskFree       uint64        `json:"disk_free"` // bytes; 0: not known

	Fetchers       int               `json:"fetchers"`
	HostsActive    int               `json:"hosts_active"`    // in memory
	HostsDormant   int               `json:"hosts_dormant"`   // of these, without due URLs
	HostsThrottled int               `json:"hosts_throttled"` // told to come back later
	OverBudget     uint64            `json:"over_budget"`     // times a host was held back by a budget
	Outage         bool              `json:"outage"`          // the network here seems to be cut
	Paused         bool              `json:"paused,omitempty"`
	NotModified    uint64            `json:"not_modified"`
	Redirected     uint64            `json:"redirected"`
	RobotsDenied   uint64            `json:"robots_denied"`
	Gone           uint64            `json:"gone"`
	Failures       map[string]uint64 `json:"failures,omitempty"` // by kind
	Stages         StageCPU          `json:"stages"`             // processor time since the start
	MaxPages       int64             `json:"max_pages,omitempty"`
	MaxBytes       int64             `json:"max_bytes,omitempty"`
	MaxTime        time.Duration     `json:"max_time,omitempty"`
}

// ETA is the time to the nearest limit at the present rate and the share of it that is used up; 0 when there
// is no limit or no rate.
func (p Progress) ETA() (left time.Duration, share float64) {
	seconds := p.Elapsed.Seconds()
	for _, l := range []struct{ used, most float64 }{{float64(p.Fetched), float64(p.MaxPages)}, {float64(p.Bytes), float64(p.MaxBytes)}, {seconds, p.MaxTime.Seconds()}} {
		if l.most == 0 || l.used == 0 {
			continue
		}
		if s := min(l.used/l.most, 1); s > share {
			share, left = s, time.Duration(seconds*(1/s-1)*float64(time.Second))
		}
	}
	return left, share
}

// progress describes the crawl at one moment.
func (c *conductor) progress(phase string) Progress {
	w := c.e.w
	limits := c.limits.Load()
	p := Progress{Phase: phase, Elapsed: w.now().Sub(c.started), MaxPages: limits.MaxPages, MaxBytes: limits.MaxBytes,
		MaxTime: limits.MaxTime, Discovered: c.discovered.Load(), Indexed: c.indexed.Load(), Backlog: c.updating.Load(),
		Fetchers: int(w.net.fetchers.Load()), MemoryLimit: w.o.Memory, Stages: w.stageTimes().since(c.stages),
		Paused: c.e.paused.Load()}
	r := c.earlier
	if f := c.live.Load(); f != nil {
		r = r.Plus(f.pool.Counts())
		s := f.frontier.Stats()
		p.HostsReady, p.HostsWaiting, p.HostsAsleep, p.Queued = s.Ready, s.Waiting, s.Asleep, s.Queued
		p.HostsActive, p.HostsDormant, p.HostsThrottled = s.Hosts, s.Dormant, s.Throttled
		p.OverBudget, p.Outage, p.Busy = s.OverSpent, s.Outage, f.pool.Busy()
		p.Slowest = slowest(p, f.pool.Held())
	}
	p.Fetched, p.Failed, p.Bytes = r.Fetched, r.Failed, r.Bytes
	p.NotModified, p.Redirected, p.RobotsDenied, p.Gone, p.Failures = r.NotModified, r.Redirected, r.RobotsDenied, r.Gone, r.Failures
	p.PagesPerSecond = float64(r.Fetched) / max(p.Elapsed.Seconds(), 1e-3)
	if free, _, err := w.store.DiskFree(); err == nil {
		p.DiskFree = free
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	p.HeapBytes = m.HeapAlloc
	return p
}

// slowest names what holds the crawl up: the question people ask when it seems idle.
func slowest(p Progress, held visit.Holder) string {
	switch {
	case held&visit.HeldByPause != 0:
		return "paused"
	case held&visit.HeldByDisk != 0:
		return "the disk is nearly full: fetchers wait for space"
	case p.Outage:
		return "the network here seems to be cut: one host a second is tried"
	case held&visit.HeldByBacklog != 0:
		return "fetchers wait for updatedb"
	case p.Busy >= int64(p.Fetchers):
		return "all fetchers busy: slow servers, or raise --concurrency"
	case p.HostsReady == 0 && p.HostsWaiting > 0:
		return "politeness: every host waits for its delay"
	case p.HostsReady == 0 && p.HostsAsleep > 0:
		return fmt.Sprintf("%d hosts asleep after failures", p.HostsAsleep)
	}
	return "nothing"
}

// report is the sum of the crawl so far.
func (c *conductor) report() CrawlReport {
	w := c.e.w
	r := CrawlReport{Stopped: c.stopped, Discovered: c.discovered.Load(), Indexed: c.indexed.Load(), Segments: c.segments.Load()}
	if marked, restored := c.duplicates.Load(), c.restored.Load(); marked > restored {
		r.Duplicates = marked - restored
	}
	counts := c.earlier
	if f := c.live.Load(); f != nil {
		counts = counts.Plus(f.pool.Counts())
		r.HostsAsleep = uint64(f.frontier.Stats().Asleep)
	}
	r.FetchReport = fetchReport(0, counts)
	r.Took = w.took(c.started)
	r.CPUSeconds = (processCPU() - c.cpu).Seconds()
	r.CPUByStage = w.stageTimes().since(c.stages)
	if r.Took > 0 {
		r.PagesPerSecond = float64(r.Fetched) / r.Took.Seconds()
	}
	return r
}

// processCPU is the processor time of this process so far, user and system.
func processCPU() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
