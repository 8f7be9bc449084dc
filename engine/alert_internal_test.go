// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"testing"
	"time"
)

// TestAlerts: each alert comes when it should, with its numbers, and not before.
func TestAlerts(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	running := func(c CauseKind) Status {
		return Status{
			Time: now, Running: true, Progress: &Progress{Cause: Cause{c, "the cause", "the help"}},
			Memory: MemoryStatus{LimitBytes: 4e9, GoBytes: 3e9},
			Store:  StoreStatus{DiskFreeBytes: 100e9, DiskTotalBytes: 1000e9},
		}
	}
	// spaced are samples of 15 s, the newest now; free says what the disk has, by how many samples before now.
	spaced := func(n int, each func(before int, x *Sample)) (list []Sample) {
		for before := n - 1; before >= 0; before-- {
			x := Sample{Time: now.Add(-time.Duration(before) * 15 * time.Second), Seconds: 15, DiskFreeBytes: 100e9}
			each(before, &x)
			list = append(list, x)
		}
		return list
	}
	shrinks := func(perSecond float64) func(int, *Sample) {
		return func(before int, x *Sample) { x.DiskFreeBytes += perSecond * 15 * float64(before) }
	}
	fails := func(share float64) func(int, *Sample) {
		return func(before int, x *Sample) {
			if x.FetchesPerSecond = 10; before < 20 { // the last five minutes
				x.FailuresPerSecond = share * 10
			}
		}
	}
	quiet := spaced(120, shrinks(0))
	for _, c := range []struct {
		name   string
		change func(*Status)
		recent []Sample
		send   []SendReport
		want   string // kinds and levels, in order
		says   string // in the first text
	}{
		{"nothing", nil, quiet, nil, "", ""},
		{"no samples", nil, nil, nil, "", ""},
		{"disk full", func(s *Status) { s.Progress.Cause.Kind = CauseDiskFull }, spaced(120, shrinks(1e9)), nil,
			"disk_full broken", "the cause"},
		{"disk full without a crawl", func(s *Status) {
			s.Running, s.Progress, s.Store.DiskFreeBytes = false, nil, 30e6
		}, nil, nil, "disk_full look", "the disk is nearly full: 30 MB are free, with which nothing"},
		{"disk full while it ends", func(s *Status) { s.Store.DiskFreeBytes = 30e6 }, spaced(120, shrinks(100e6)), nil,
			"disk_full look", "the disk is nearly full: 30 MB are free, with which nothing"},
		{"room without a crawl", func(s *Status) { s.Running, s.Progress = false, nil }, nil, nil, "", ""},
		{"a disk that says nothing", func(s *Status) {
			s.Running, s.Progress, s.Store.DiskFreeBytes, s.Store.DiskTotalBytes = false, nil, 0, 0
		}, nil, nil, "", ""},
		// 99.7 GB at 10 MB/s are 2.77 hours.
		{"disk fills", nil, spaced(120, shrinks(10e6)), nil, "disk_full look",
			"in 3 h at this rate: 100 GB free, 36 GB"},
		{"disk fills soon", nil, spaced(120, shrinks(100e6)), nil, "disk_full look", "in 17 min at"},
		{"disk fills late", nil, spaced(120, shrinks(1e6)), nil, "", ""},
		{"too few samples", nil, spaced(12, shrinks(100e6)), nil, "", ""},
		{"disk grows", nil, spaced(120, shrinks(-10e6)), nil, "", ""},
		{"disk silent", func(s *Status) { s.Progress.Cause.Kind = CauseDiskSilent }, quiet, nil,
			"disk_silent broken", "the cause"},
		{"slow writes", func(s *Status) { s.Store.Tables.SlowWrites = 2 }, quiet, nil, "disk_silent look",
			"2 disk operations took longer"},
		{"background", func(s *Status) { s.Store.Tables.BackgroundErrors = 1 }, quiet, nil, "store broken",
			"1 write in the background failed"},
		{"memory", func(s *Status) { s.Memory.GoBytes = 5e9 }, quiet, nil, "memory look", "5 GB of memory"},
		{"outage", func(s *Status) { s.Progress.Outage = true }, quiet, nil, "network broken",
			"the local network seems"},
		{"outage of a paused crawl", func(s *Status) {
			s.Progress.Outage, s.Progress.Cause = true, Cause{CausePaused, "it is paused", "p goes on"}
		}, quiet, nil, "network broken", "the local network seems"},
		{"no DNS", func(s *Status) { s.Progress.NoDNS = true }, quiet, nil, "network broken",
			"DNS does not answer: hosts"},
		{"no DNS in an outage", func(s *Status) { s.Progress.Outage, s.Progress.NoDNS = true, true }, quiet, nil,
			"network broken", "the local network seems"},
		{"failures", nil, spaced(120, fails(.6)), nil, "failures look", "60% of the 3000 fetches in the last 5m0s"},
		{"fewer failures", nil, spaced(120, fails(.4)), nil, "", ""},
		{"few fetches", nil, spaced(1, func(_ int, x *Sample) { x.FetchesPerSecond, x.FailuresPerSecond = 6, 6 }), nil,
			"", ""},
		{"writer", nil, quiet, []SendReport{{Writer: "a"}, {Writer: "b", Failed: "refused"}}, "writer look",
			"b does not take what is sent: refused"},
		{"last crawl", func(s *Status) { s.Running, s.Stopped, s.Error = false, StopFailed, "no disk" }, nil, nil,
			"crawl broken", "the last crawl failed: no disk"},
		{"the worst first", func(s *Status) { s.Memory.GoBytes, s.Progress.Outage = 5e9, true }, quiet, nil,
			"network broken, memory look", ""},
	} {
		s := running(CauseNone)
		if c.change != nil {
			c.change(&s)
		}
		var got []string
		list := alerts(&s, c.recent, c.send)
		for _, a := range list {
			got = append(got, string(a.Kind)+" "+string(a.Level))
		}
		if strings.Join(got, ", ") != c.want || c.says != "" && !strings.Contains(list[0].Text, c.says) {
			t.Errorf("%s: %+v, want %s: %s", c.name, list, c.want, c.says)
		}
	}
}
