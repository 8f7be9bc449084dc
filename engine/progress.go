// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"runtime/metrics"
	"time"

	"github.com/seine-crawler/seine/engine/internal/visit"
)

// Progress is a crawl at one moment. Counts are of this crawl and only grow; what is marked "now" is the present state.
// Fetches are counted when they are on disk, up to 100 ms late. JSON has durations in nanoseconds.
type Progress struct {
	// Phase is "preparing" (what an earlier process left is finished and seeds are injected; only in Status),
	// "fetching" (a fetchlist that Generate made), "crawling", "settling" (what is left is brought into crawldb, linkdb
	// and index, and the whole is compared) or "done".
	Phase          string        `json:"phase"`
	Elapsed        time.Duration `json:"elapsed_ns"`       // since the start
	Fetched        uint64        `json:"fetched"`          // pages
	Failed         uint64        `json:"failed"`           // as in FetchReport
	Bytes          uint64        `json:"bytes"`            // received: heads, framing and TLS included
	PagesPerSecond float64       `json:"pages_per_second"` // Fetched, on average since the start
	Discovered     uint64        `json:"discovered"`       // URLs that became crawldb records
	Indexed        uint64        `json:"indexed"`          // documents added to the index, less those that left it
	Busy           int64         `json:"busy"`             // visits under way, now
	Slow           int           `json:"slow"`             // of Busy, those with extra fetchers in their place
	HostsReady     int           `json:"hosts_ready"`      // hosts that may be visited, now
	HostsWaiting   int           `json:"hosts_waiting"`    // hosts that wait for their delay, now
	HostsAsleep    int           `json:"hosts_asleep"`     // hosts that failed too often, now
	Queued         int           `json:"queued"`           // URLs in the frontier, now
	Backlog        int64         `json:"backlog"`          // sealed segments that updatedb has not finished, now
	Cause          Cause         `json:"cause"`            // what holds the crawl up now, or why it ended
	Also           []Cause       `json:"also,omitempty"`   // what holds it up besides, the greater first; of hosts only
	HeapBytes      uint64        `json:"heap_bytes"`       // of the process, now
	MemoryLimit    int64         `json:"memory_limit"`     // Options.Memory, in bytes
	DiskFree       uint64        `json:"disk_free"`        // bytes, now; 0: not known

	Fetchers       int               `json:"fetchers"`           // now
	HostsActive    int               `json:"hosts_active"`       // in memory, now
	HostsDormant   int               `json:"hosts_dormant"`      // of these, without due URLs
	HostsThrottled int               `json:"hosts_throttled"`    // that requested a pause (429, 503), now
	OverBudget     uint64            `json:"over_budget"`        // times that a budget held a host back
	Outage         bool              `json:"outage"`             // the local network seems to be cut, now
	NoDNS          bool              `json:"no_dns"`             // no name server seems to answer, now
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
	MaxTime        time.Duration     `json:"max_time_ns,omitempty"`

	doing *[visit.DoingCount]int // what the fetchers did at that moment, of which the cause is; nil: there were none
}

// Values of Progress.Phase.
const (
	phasePreparing = "preparing"
	phaseFetching  = "fetching"
	phaseCrawling  = "crawling"
	phaseSettling  = "settling"
	phaseDone      = "done"
)

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

// heapBytes is the size of the process's heap: objects, with those that are not freed yet.
func heapBytes() uint64 {
	heap, _ := goMemory()
	return heap
}

// goMemory returns the bytes of the process's heap, and of all memory that Go's runtime has from the system and has not
// given back. Unlike runtime.ReadMemStats it stops no goroutine.
func goMemory() (heap, all uint64) {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(samples)
	return samples[0].Value.Uint64(), samples[1].Value.Uint64() - samples[2].Value.Uint64()
}
