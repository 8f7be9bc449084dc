// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"time"
)

// Sample says how a crawl went in a span of time. Every number is the mean over the span: rates are what happened,
// divided by its seconds; the others were looked at about once a second. So samples add up: weighted by their seconds,
// the numbers of several are those of all their spans together.
type Sample struct {
	Time    time.Time `json:"time"`    // the end of the span, in UTC
	Seconds float64   `json:"seconds"` // the length of the span, without the time in which no crawl ran

	PagesPerSecond      float64 `json:"pages_per_second"`      // fetched and on disk
	FetchesPerSecond    float64 `json:"fetches_per_second"`    // all outcomes: pages, redirects, failures and others
	FailuresPerSecond   float64 `json:"failures_per_second"`   // Failed, as in FetchReport
	BytesPerSecond      float64 `json:"bytes_per_second"`      // received: heads, framing and TLS included
	IndexedPerSecond    float64 `json:"indexed_per_second"`    // documents added to the index, less those that left it
	DiscoveredPerSecond float64 `json:"discovered_per_second"` // URLs that became crawldb records

	// CPU is the number of processors that each stage kept busy, as in Progress.Stages.
	CPU StageCPU `json:"cpu"`

	Busy          float64 `json:"busy"`                  // as in Progress
	Fetchers      float64 `json:"fetchers"`              // as in Progress
	Queued        float64 `json:"queued"`                // as in Progress
	HostsReady    float64 `json:"hosts_ready"`           // as in Progress
	HostsWaiting  float64 `json:"hosts_waiting"`         // as in Progress
	HostsAsleep   float64 `json:"hosts_asleep"`          // as in Progress
	Backlog       float64 `json:"backlog"`               // as in Progress
	Paused        float64 `json:"paused"`                // the part of the span in which the crawl was paused, 0 to 1
	HeapBytes     float64 `json:"heap_bytes"`            // as in MemoryStatus
	DiskFreeBytes float64 `json:"disk_free_bytes"`       // as in StoreStatus
	DebtBytes     float64 `json:"compaction_debt_bytes"` // as in StoreTables
	Documents     float64 `json:"documents"`             // as in StoreStatus
}

// numbers are all numbers of a sample but those of CPU. Their order is that of stored rows.
func (s *Sample) numbers() []*float64 {
	return []*float64{
		&s.PagesPerSecond, &s.FetchesPerSecond, &s.FailuresPerSecond, &s.BytesPerSecond, &s.IndexedPerSecond,
		&s.DiscoveredPerSecond, &s.Busy, &s.Fetchers, &s.Queued, &s.HostsReady, &s.HostsWaiting, &s.HostsAsleep,
		&s.Backlog, &s.Paused, &s.HeapBytes, &s.DiskFreeBytes, &s.DebtBytes, &s.Documents,
	}
}

// add makes s the mean of s and of a later sample.
func (s *Sample) add(later *Sample) {
	if s.Seconds <= 0 {
		*s = *later
		s.CPU = slices.Clone(later.CPU)
		return
	}
	share := later.Seconds / (s.Seconds + later.Seconds)
	mean := func(a *float64, b float64) { *a += (b - *a) * share }
	of := later.numbers()
	for i, a := range s.numbers() {
		mean(a, *of[i])
	}
	for i := range s.CPU {
		mean(&s.CPU[i].Seconds, later.CPU[i].Seconds)
	}
	s.Time, s.Seconds = later.Time, s.Seconds+later.Seconds
}
