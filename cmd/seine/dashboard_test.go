// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/seine-crawler/seine/engine"
)

// TestDashboard: every line, and that none exceeds the terminal.
func TestDashboard(t *testing.T) {
	p := engine.Progress{
		Phase: "crawling", Elapsed: 3723 * time.Second, Backlog: 1, MaxPages: 2_000_000,
		Fetched: 1_234_567, Bytes: 15 << 30, PagesPerSecond: 331.6, Discovered: 9_876_543, Indexed: 1_200_000,
		NotModified: 10, Redirected: 2000, RobotsDenied: 300, Gone: 40_000, Queued: 600_000, OverBudget: 3,
		Busy: 48, Fetchers: 64, Slowest: "politeness: every host waits for its delay",
		HostsReady: 12, HostsWaiting: 30_500, HostsThrottled: 500, HostsAsleep: 77, HostsDormant: 9,
		HostsActive: 31_000,
		HeapBytes:   700 << 20, MemoryLimit: 1 << 30, DiskFree: 52 << 30,
		Failures: map[string]uint64{
			"timeout_head": 700, "refused": 900, "dns_nx": 900, "reset": 3, "tls_verify": 2, "too_slow": 1,
		},
		Stages: engine.StageCPU{
			{Stage: "parse", Seconds: 40}, {Stage: "warc", Seconds: 30},
			{Stage: "fetch", Seconds: 29.9}, {Stage: "gc", Seconds: 0.1},
		},
	}
	want := `crawling   1:02:03   1,234,567 pages   340/s now   332/s since the start   ▄██
  speed    4.3 MB/s   15 GB received   9,876,543 discovered   1,200,000 indexed   62% of 2,000,000 pages, 0:38:28 to go
  fetchers ████████░░ 48 of 64 busy   1 segments behind
  hosts    12 ready   30000 waiting   500 throttled   77 asleep   9 dormant   held back by budgets 3 times
  URLs     600,000 queued   10 not modified   2,000 redirected   300 denied by robots.txt   40,000 gone
  errors   dns_nx 900   refused 900   timeout_head 700   reset 3   tls_verify 2   1 other kinds
  CPU      parse 40%   warc 30%   fetch 30%
  machine  heap 700 MB of 1024 MB   disk 52 GB free
  held up  by politeness: every host waits for its delay`
	if got := strings.Join(dashboard(p, []float64{170, 300, 340}, 200, 50), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, size := range [][2]int{{20, 4}, {80, 24}, {1, 1}, {0, 0}} {
		for _, p := range []engine.Progress{p, {}} {
			lines := dashboard(p, nil, size[0], size[1])
			for _, line := range lines {
				if size[0] > 2 && utf8.RuneCountInString(line) >= size[0] || strings.Contains(line, "\n") {
					t.Errorf("%dx%d: too long: %q", size[0], size[1], line)
				}
			}
			if size[1] > 2 && len(lines) >= size[1] {
				t.Errorf("%dx%d: %d lines", size[0], size[1], len(lines))
			}
		}
	}
}

// TestDraw: a drawing replaces the one before, also a longer one.
func TestDraw(t *testing.T) {
	var b strings.Builder
	p := &progress{w: &b, terminal: true}
	p.draw([]string{"one", "two"})
	p.draw([]string{"three"})
	if want := "\r\x1b[2Kone\n\r\x1b[2Ktwo\n\x1b[2A\r\x1b[2Kthree\n\r\x1b[2K\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}
