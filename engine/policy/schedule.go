// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"math"
	"time"

	"github.com/seine-crawler/seine/storage"
)

// Schedule defaults, as Nutch ships them. Seconds.
const (
	DefaultInterval    = 30 * 86400 // db.fetch.interval.default
	DefaultMaxInterval = 90 * 86400 // db.fetch.interval.max
)

// FixedSchedule fetches every page again after its record's interval (Nutch: DefaultFetchSchedule).
// The zero value uses the defaults.
type FixedSchedule struct {
	MaxInterval uint32 // seconds; 0 means DefaultMaxInterval
}

// Due reports whether the fetch time has come. A fetch time further away than the maximum interval
// counts as now: only a clock set back, or an interval lowered since, can have made it.
func (s FixedSchedule) Due(r *storage.Record, now int64) bool {
	if r.FetchTime-now > int64(orDefault(s.MaxInterval, DefaultMaxInterval))*1000 {
		return true
	}
	return r.FetchTime <= now
}

// Reschedule sets the fetch time one interval ahead.
func (s FixedSchedule) Reschedule(r *storage.Record, c Change, at int64) {
	r.Interval = orDefault(r.Interval, DefaultInterval)
	r.FetchTime = at + int64(r.Interval)*1000
	if r.ModifiedTime <= 0 || c == ChangeModified {
		r.ModifiedTime = at
	}
}

// AdaptiveSchedule shortens the interval of pages that change and lengthens that of pages that do
// not (Nutch: AdaptiveFetchSchedule), with one mend: the time to the next fetch is kept within
// [MinInterval, MaxInterval] after the shift toward the page's own rhythm, where Nutch clamps only
// the interval and could ask for a page again after minutes. Zero fields take Nutch's defaults.
type AdaptiveSchedule struct {
	IncRate, DecRate float64 // 0.4, 0.2
	MinInterval      uint32  // seconds; 60
	MaxInterval      uint32  // seconds; 365 days
	SyncDeltaRate    float64 // 0.3; negative switches the shift off
}

// Due is FixedSchedule's rule with this schedule's maximum.
func (s AdaptiveSchedule) Due(r *storage.Record, now int64) bool {
	return FixedSchedule{MaxInterval: s.maxInterval()}.Due(r, now)
}

func (s AdaptiveSchedule) maxInterval() uint32 { return orDefault(s.MaxInterval, 365*86400) }

// Reschedule adapts the interval by what the fetch found.
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
	lo, hi := float64(orDefault(s.MinInterval, 60)), float64(s.maxInterval())
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

// Seconds turns a duration into an interval, at least one second.
func Seconds(d time.Duration) uint32 {
	return uint32(min(max(int64(d/time.Second), 1), math.MaxUint32))
}
