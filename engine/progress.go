// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"time"

	"github.com/seine-crawler/seine/engine/internal/visit"
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
