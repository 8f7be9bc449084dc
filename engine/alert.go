// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/seine-crawler/seine/engine/internal/visit"
)

// Bounds of alerts.
const (
	// alertSpan is the span of samples that alerts look at; less than alertSpanMin of it says nothing of the disk.
	alertSpan    = 30 * time.Minute
	alertSpanMin = 3 * time.Minute
	// alertDiskWithin is how soon the disk must be full.
	alertDiskWithin = 24 * time.Hour
	// alertFailures fetches in alertFailuresSpan are the fewest of which half must not fail.
	alertFailuresSpan = 5 * time.Minute
	alertFailures     = 100
)

// dnsDeadHelp helps where name servers do not answer at all.
const dnsDeadHelp = "check the network and its name servers, or give others with --set resolver=ADDRESS"

// outageText says that the local network is away.
const outageText = "the local network seems to be cut: at most one host a second is tried"

// alerts says what is wrong, the worst first. recent are samples of the running crawl, oldest first; writers are the
// reports of its index writers. It is a pure function.
func alerts(s *Status, recent []Sample, writers []SendReport) (list []Alert) {
	add := func(kind AlertKind, level AlertLevel, help, format string, args ...any) {
		list = append(list, Alert{kind, level, fmt.Sprintf(format, args...), help})
	}
	if s.Running && s.Progress != nil {
		c := s.Progress.Cause
		switch c.Kind {
		case CauseDiskFull:
			add(AlertDiskFull, AlertBroken, c.Help, "%s", c.Text)
		case CauseDiskSilent:
			add(AlertDiskSilent, AlertBroken, c.Help, "%s", c.Text)
		}
		if s.Progress.Outage {
			add(AlertNetwork, AlertBroken, "", outageText) // it need not be the cause: a crawl may be paused, too
		} else if s.Progress.NoDNS { // hosts whose addresses are known go on, so it need not be the cause
			add(AlertNetwork, AlertBroken, dnsDeadHelp, "DNS does not answer: hosts whose addresses are not known wait")
		}
		if left, rate, ok := diskLasts(s, recent); ok && c.Kind != CauseDiskFull && hasRoom(s) {
			add(AlertDiskFull, AlertLook, "free some space on it, or stop the crawl",
				"the disk is full in %s at this rate: %s free, %s less each hour", hours(left),
				size(float64(s.Store.DiskFreeBytes)), size(rate*3600))
		}
	}
	// A crawl that the disk ended indexes what it has, and then often goes with its process: who looks must see why.
	if full := s.Running && s.Progress != nil && s.Progress.Cause.Kind == CauseDiskFull; !full && !hasRoom(s) {
		add(AlertDiskFull, AlertLook, "free some space on it: with "+
			size(float64(s.Store.disk().Enough()))+" a crawl goes on",
			"the disk is nearly full: %s are free, with which nothing is fetched", size(float64(s.Store.DiskFreeBytes)))
	}
	if s.Stopped == StopFailed {
		add(AlertCrawl, AlertBroken, "", "the last crawl failed: %s", s.Error)
	}
	if s.Stopped == StopKilled {
		add(AlertCrawl, AlertLook, "run it again: it goes on where it was, and nothing that was stored is lost",
			"the last crawl was cut off: its process was killed, or the machine went down")
	}
	t := &s.Store.Tables
	if t.BackgroundErrors > 0 {
		add(AlertStore, AlertBroken, "check the disk",
			"%s in the background failed since the store was opened", count(t.BackgroundErrors, "write"))
	}
	if share, fetches := failedShare(s, recent); share >= 0.5 {
		add(AlertFailures, AlertLook, `"seine readdb --stats" says why`,
			"%.0f%% of the %.0f fetches in the last %s failed", 100*share, fetches, alertFailuresSpan)
	}
	if m := &s.Memory; m.LimitBytes > 0 && m.GoBytes > uint64(m.LimitBytes) {
		add(AlertMemory, AlertLook, "a greater --memory, or less --concurrency",
			"%s of memory is in use, the limit is %s", size(float64(m.GoBytes)), size(float64(m.LimitBytes)))
	}
	for _, r := range writers {
		if r.Failed != "" {
			add(AlertWriter, AlertLook, "the next run sends the rest", "%s does not take what is sent: %s", r.Writer,
				r.Failed)
		}
	}
	if t.SlowWrites > 0 {
		add(AlertDiskSilent, AlertLook, "", "%s took longer than 5 s since the store was opened",
			count(t.SlowWrites, "disk operation"))
	}
	slices.SortStableFunc(list, func(a, b Alert) int {
		rank := func(l AlertLevel) int {
			if l == AlertBroken {
				return 0
			}
			return 1
		}
		return rank(a.Level) - rank(b.Level)
	})
	return list
}

// disk is what a run of fetchers compares.
func (s *StoreStatus) disk() visit.Disk {
	return visit.Disk{Free: s.DiskFreeBytes, Total: s.DiskTotalBytes, Pending: s.DiskPendingBytes}
}

// hasRoom reports whether the disk has the space that fetching needs, as far as is known.
func hasRoom(s *Status) bool {
	return s.Store.DiskTotalBytes == 0 || s.Store.DiskFreeBytes >= s.Store.disk().Low()
}

// diskLasts returns how long the disk lasts until fetchers must wait, and the bytes by which its free space shrinks
// each second. ok is false if that is longer than alertDiskWithin, or if too little is known.
func diskLasts(s *Status, recent []Sample) (left time.Duration, rate float64, ok bool) {
	if len(recent) < 2 || s.Store.DiskTotalBytes == 0 {
		return 0, 0, false
	}
	first, last := &recent[0], &recent[len(recent)-1]
	span := last.Time.Sub(first.Time)
	rate = (first.DiskFreeBytes - last.DiskFreeBytes) / span.Seconds()
	if span < alertSpanMin || rate <= 0 {
		return 0, 0, false
	}
	room := max(float64(s.Store.DiskFreeBytes)-float64(s.Store.disk().Low()), 0)
	seconds := room / rate
	return time.Duration(seconds * float64(time.Second)), rate, seconds < alertDiskWithin.Seconds()
}

// failedShare returns the share of the last fetches that failed, 0 to 1, and their number; 0 if they are few.
func failedShare(s *Status, recent []Sample) (share, fetches float64) {
	var failed float64
	for i := range recent {
		if x := &recent[i]; s.Running && s.Time.Sub(x.Time) < alertFailuresSpan {
			fetches += x.Seconds * x.FetchesPerSecond
			failed += x.Seconds * x.FailuresPerSecond
		}
	}
	if fetches < alertFailures {
		return 0, fetches
	}
	return failed / fetches, fetches
}

// hours writes how long something lasts, as far as it can be known: in minutes or hours.
func hours(d time.Duration) string {
	if d < time.Hour {
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return fmt.Sprintf("%.0f h", d.Hours())
}

// size writes bytes in a unit that leaves 1 to 1,000.
func size(bytes float64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	i := 0
	for ; bytes >= 1000 && i < len(units)-1; i++ {
		bytes /= 1000
	}
	return fmt.Sprintf("%.3g %s", bytes, units[i])
}
