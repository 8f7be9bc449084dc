// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"math"

	"github.com/seine-crawler/seine/storage"
)

// Schedule defaults, as Nutch ships them, in seconds.
const (
	DefaultInterval    = 30 * 86400 // db.fetch.interval.default
	DefaultMaxInterval = 90 * 86400 // db.fetch.interval.max
	DefaultMinInterval = 60         // db.fetch.schedule.adaptive.min_interval
)

// MetaFixedInterval is the name of the record's metadata field that holds the time between two fetches of the URL, in
// seconds, whatever the schedule, settings of hosts and hints say: what a seed line fixes by that name, Nutch's.
const MetaFixedInterval = "nutch.fetchInterval.fixed"

// MetaChangeEvery is the name of the record's metadata field that holds how often a sitemap says that the page changes,
// in seconds, while the page is to be fetched first: the hint counts after that fetch.
const MetaChangeEvery = "seine.every"

// FixedSchedule fetches every page again after its record's interval (Nutch: DefaultFetchSchedule). The zero value
// uses the defaults.
type FixedSchedule struct {
	MaxInterval uint32 // the longest time to the next fetch, in seconds; 0 means DefaultMaxInterval
}

// Due reports whether the fetch time has come.
//
// Nutch also returns true for a fetch time beyond the maximum interval, which only a clock set back or a lowered
// interval leaves behind. That breaks the law of Due, and with it the index of hosts that have something due. Such a
// record waits for its fetch time here.
func (s FixedSchedule) Due(r *storage.Record, now int64) bool { return r.FetchTime <= now }

// Reschedule sets the fetch time one interval ahead, at most MaxInterval.
func (s FixedSchedule) Reschedule(r *storage.Record, c Change, at int64) {
	r.Interval = orDefault(r.Interval, DefaultInterval)
	r.FetchTime = at + int64(min(r.Interval, orDefault(s.MaxInterval, DefaultMaxInterval)))*1000
	if r.ModifiedTime <= 0 || c == ChangeModified {
		r.ModifiedTime = at
	}
}

// AdaptiveSchedule shortens the interval of pages that change and lengthens that of pages that do not (Nutch:
// AdaptiveFetchSchedule). Nutch limits only the interval, so after the shift toward the page's own rhythm it may fetch
// a page again within minutes. Here the time to the next fetch, too, is between MinInterval and MaxInterval. Zero
// fields take Nutch's defaults.
type AdaptiveSchedule struct {
	IncRate       float64 // lengthens the interval by this share of it; 0 means 0.4
	DecRate       float64 // shortens the interval by this share of it; 0 means 0.2
	MinInterval   uint32  // seconds; 0 means DefaultMinInterval; at most the crawl's longest interval
	MaxInterval   uint32  // seconds; 0 means 365 days
	SyncDeltaRate float64 // share of the time since the last change to shift by; 0 means 0.3, negative: no shift
}

// Due reports whether the fetch time has come.
func (s AdaptiveSchedule) Due(r *storage.Record, now int64) bool { return r.FetchTime <= now }

// Reschedule adapts the interval to what the fetch found.
func (s AdaptiveSchedule) Reschedule(r *storage.Record, c Change, at int64) {
	inc, dec, rate := s.IncRate, s.DecRate, s.SyncDeltaRate
	if inc == 0 {
		inc = 0.4
	}
	if dec == 0 {
		dec = 0.2
	}
	if rate == 0 {
		rate = 0.3
	}
	lo, hi := float64(orDefault(s.MinInterval, DefaultMinInterval)), float64(orDefault(s.MaxInterval, 365*86400))
	interval := float64(orDefault(r.Interval, DefaultInterval))
	modified := r.ModifiedTime
	if modified <= 0 {
		modified = at
	}
	switch c {
	case ChangeModified:
		interval, modified = interval*(1-dec), at
	case ChangeNone:
		interval *= 1 + inc
	}
	ref := float64(at)
	if rate > 0 {
		delta := float64(at - modified)
		if delta > interval*1000 {
			interval = math.Floor(delta / 1000)
		}
		ref -= math.Min(math.Round(delta*rate), hi*1000)
	}
	interval = math.Round(min(max(interval, lo), hi))
	next := min(max(ref+interval*1000-float64(at), lo*1000), hi*1000)
	r.Interval, r.FetchTime, r.ModifiedTime = uint32(interval), at+int64(next), modified
}

func orDefault(v, d uint32) uint32 {
	if v == 0 {
		return d
	}
	return v
}
