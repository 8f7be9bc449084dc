// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"runtime"
	"time"

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

// progress describes the crawl as it stands.
func (c *conductor) progress(phase string) Progress {
	p := Progress{Phase: phase, Elapsed: time.Since(c.started), MaxPages: c.o.MaxPages, MaxBytes: c.o.MaxBytes, MaxTime: c.o.MaxTime,
		Discovered: c.discovered.Load(), Indexed: c.indexed.Load(), Backlog: c.working.Load()}
	if c.f == nil {
		return p
	}
	r := c.f.counts()
	p.Fetched, p.Failed, p.Bytes = r.Fetched, r.Failed, r.Bytes
	p.PagesPerSecond = float64(r.Fetched) / max(p.Elapsed.Seconds(), 1e-3)
	s := c.f.frontier.Stats()
	p.HostsReady, p.HostsWaiting, p.HostsAsleep, p.Queued = s.Ready, s.Waiting, s.Asleep, s.Queued
	p.Busy = c.f.busy.Load()
	p.Fetchers, p.HostsActive, p.HostsDormant, p.HostsThrottled = c.e.o.Concurrency, s.Hosts, s.Dormant, s.Throttled
	p.OverBudget, p.Outage, p.MemoryLimit = s.OverSpent, s.Outage, c.e.o.Memory
	p.NotModified, p.Redirected, p.RobotsDenied, p.Gone, p.Failures = r.NotModified, r.Redirected, r.RobotsDenied, r.Gone, r.Failures
	p.Stages = c.e.stagesSince(c.stages)
	if free, _, err := c.e.store.DiskFree(); err == nil {
		p.DiskFree = free
	}
	p.Slowest = c.slowest(p)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	p.HeapBytes = m.HeapAlloc
	return p
}

// slowest names what holds the crawl up: the question people ask when it seems idle.
func (c *conductor) slowest(p Progress) string {
	switch {
	case p.Outage:
		return "the network here seems to be cut: one host a second is tried"
	case !c.f.gate.isOpen():
		return "pipeline behind: fetchers wait for updatedb or for disk space"
	case p.Busy >= int64(c.e.o.Concurrency):
		return "all fetchers busy: slow servers, or raise --concurrency"
	case p.HostsReady == 0 && p.HostsWaiting > 0:
		return "politeness: every host waits for its delay"
	case p.HostsReady == 0 && p.HostsAsleep > 0:
		return fmt.Sprintf("%d hosts asleep after failures", p.HostsAsleep)
	}
	return "nothing"
}

func (g *gate) isOpen() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut == nil
}

// cpuSeconds is the processor time of this process so far, user and system.
func cpuSeconds() float64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}
