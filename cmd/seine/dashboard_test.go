// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
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
		Busy: 48, Fetchers: 64, Cause: engine.Cause{Kind: engine.CausePoliteness, Text: "politeness: every host waits"},
		Held: []engine.HeldHost{{
			Host: "slow.example", URLs: 300, Delay: engine.Duration(10 * time.Second), Because: "Crawl-delay",
		}},
		HostsReady: 12, HostsWaiting: 30_500, HostsThrottled: 500, HostsAsleep: 77, HostsDormant: 9,
		HostsActive: 31_000,
		HeapBytes:   700 << 20, MemoryLimit: 1 << 30, DiskFree: 52 << 30,
		Failures: map[string]uint64{
			"http_404": 39_000, "http_410": 1000,
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
  URLs     600,000 queued   10 not modified   2,000 redirected   300 denied by robots.txt   40,000 gone (` +
		`404 39,000   410 1,000)
  errors   dns_nx 900   refused 900   timeout_head 700   reset 3   tls_verify 2   1 other kinds
  CPU      parse 40%   warc 30%   fetch 30%
  machine  heap 700 MB of 1024 MB   disk 52 GB free
  held up  by politeness: every host waits
           slow.example: 300 URLs, one each 10s (Crawl-delay)
  keys     p pause or go on   + - more or fewer fetchers   q stop cleanly`
	if got := strings.Join(dashboard(p, []float64{170, 300, 340}, 200, 50, true), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	p.Phase, p.Failures = "done", map[string]uint64{"http_404": 40_000}
	got := strings.Join(dashboard(p, nil, 200, 50, true), "\n")
	if !strings.Contains(got, "errors   none but those that are gone\n") || strings.Contains(got, "politeness") {
		t.Errorf("at the end: %s", got) // the command says why it ended
	}
	for _, size := range [][2]int{{20, 4}, {80, 24}, {1, 1}, {0, 0}} {
		for _, p := range []engine.Progress{p, {}} {
			lines := dashboard(p, nil, size[0], size[1], true)
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

// TestCanDraw: a terminal that cannot move its cursor gets lines, as a file does.
func TestCanDraw(t *testing.T) {
	for kind, want := range map[string]bool{"": false, "dumb": false, "xterm-256color": true, "linux": true} {
		if canDraw(kind) != want {
			t.Errorf("TERM=%s: %t", kind, !want)
		}
	}
}

// TestScreen: a drawing replaces the one before, also a longer one, and what others write stays above it.
func TestScreen(t *testing.T) {
	var b strings.Builder
	s := &screen{w: &b}
	s.draw([]string{"one", "two"})
	s.draw([]string{"three"})
	fmt.Fprintln(s, "a warning")
	s.leave()
	fmt.Fprintln(s, "the end")
	want := "one\x1b[K\r\ntwo\x1b[K\r\n" + "\x1b[2A\r\x1b[J" + "three\x1b[K\r\n" +
		"\x1b[1A\r\x1b[Ja warning\nthree\x1b[K\r\n" + "the end\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

// TestLogLine: where stderr is no terminal, lines come at growing intervals, with rate and time to go.
func TestLogLine(t *testing.T) {
	var b strings.Builder
	p := newProgress(newScreen(&b), false)
	defer p.end()
	for s := range 3600 {
		p.show(engine.Progress{
			Phase: "crawling", Elapsed: time.Duration(s) * time.Second, Fetched: uint64(10 * s), MaxPages: 36_000,
			Failed: 3, Gone: 2, PagesPerSecond: 10, Queued: 5, HostsWaiting: 2,
			Cause: engine.Cause{Kind: engine.CauseDNS, Text: "a.example is not in DNS", Help: "check the spelling"},
		})
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	var at []string
	for _, line := range lines {
		at = append(at, strings.Fields(line)[1])
	}
	if got := strings.Join(at, " "); got != "15s 30s 1m0s 2m0s 4m0s 8m0s 13m0s 18m0s 23m0s 28m0s 33m0s 38m0s 43m0s "+
		"48m0s 53m0s 58m0s" {
		t.Errorf("lines at %s", got)
	}
	want := "seine: 30s crawling: 300 fetched (10.0/s, 0.0 MB), 1 failed, 2 gone, 0 discovered, 0 indexed; " +
		"5 URLs queued on 2 hosts; 1% of the limit, 59m30s to go; " +
		"held up by: a.example is not in DNS: check the spelling"
	if lines[1] != want {
		t.Errorf("got  %s\nwant %s", lines[1], want)
	}
}

// TestFrozen: an engine that does not report is shown as such.
func TestFrozen(t *testing.T) {
	var b strings.Builder
	p := &progress{out: newScreen(&b), nextLine: 0}
	p.present(engine.Progress{Phase: "crawling", Elapsed: time.Minute, Cause: frozen(12 * time.Second)})
	if !strings.Contains(b.String(), "held up by: no news for 12s") {
		t.Error(b.String())
	}
}
