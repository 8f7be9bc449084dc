// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seine-crawler/seine/engine"
)

// sparkSeconds is the length of the dashboard's curve of pages per second: one character for each second.
const sparkSeconds = 30

// dashboard draws a crawl as lines that fit a terminal of width columns and height lines; 0 means 80 columns and any
// number of lines. keys says that keys are read. It is a pure function.
func dashboard(s engine.Progress, rates []float64, width, height int, keys bool) []string {
	if width <= 0 {
		width = 80
	}
	now := s.PagesPerSecond
	if len(rates) > 0 {
		now = rates[len(rates)-1]
	}
	phase := s.Phase
	if s.Paused {
		phase = "paused"
	}
	busy := max(s.Busy-int64(s.Slow), 0)
	lines := []string{
		fmt.Sprintf("%-9s %8s   %s pages   %.0f/s now   %.0f/s since the start   %s",
			phase, clockTime(s.Elapsed), thousands(s.Fetched), now, s.PagesPerSecond, spark(rates)),
		fmt.Sprintf("  speed    %.1f MB/s   %s received   %s discovered   %s indexed%s",
			float64(s.Bytes)/1e6/max(s.Elapsed.Seconds(), 1e-3), bytesText(s.Bytes),
			thousands(s.Discovered), thousands(s.Indexed), limitText(s)),
		fmt.Sprintf("  fetchers %s %d of %d busy%s   %d segments behind",
			bar(float64(busy)/float64(max(s.Fetchers, 1)), 10), busy, s.Fetchers, slowText(s), s.Backlog),
		fmt.Sprintf("  hosts    %d ready   %d waiting   %d throttled   %d asleep   %d dormant%s",
			s.HostsReady, s.HostsWaiting-s.HostsThrottled, s.HostsThrottled,
			s.HostsAsleep, s.HostsDormant, heldBack(s)),
		fmt.Sprintf("  URLs     %s queued   %s not modified   %s redirected   %s denied by robots.txt   %s gone (%s)",
			thousands(uint64(s.Queued)), thousands(s.NotModified), thousands(s.Redirected),
			thousands(s.RobotsDenied), thousands(s.Gone), goneText(s)),
		"  errors   " + errorsText(s),
		"  CPU      " + stagesText(s.Stages),
		fmt.Sprintf("  machine  heap %s of %s   %s",
			bytesText(s.HeapBytes), bytesText(uint64(s.MemoryLimit)), diskText(s.DiskFree)),
		"  held up  by " + plainLine(s.Cause.String()),
	}
	if s.Phase == "done" { // why it ended follows below
		lines = lines[:len(lines)-1]
	} else {
		for _, also := range s.Also {
			lines = append(lines, "       and by "+plainLine(also.String()))
		}
		for _, h := range s.Held {
			lines = append(lines, "           "+plainLine(h.String()))
		}
		if keys {
			lines = append(lines, keysHelp)
		}
	}
	if height > 2 {
		lines = lines[:min(len(lines), height-1)]
	}
	for i, line := range lines {
		lines[i] = cutText(line, width-1)
	}
	return lines
}

// isGone reports whether a kind of failure is the answer that a URL does not exist: every site has links to such, so
// they are no alarm.
func isGone(kind string) bool { return kind == "http_404" || kind == "http_410" }

// goneText lists the answers behind Gone.
func goneText(s engine.Progress) string {
	by := map[string]uint64{}
	for kind, n := range s.Failures {
		if isGone(kind) {
			by[strings.TrimPrefix(kind, "http_")] = n
		}
	}
	return failuresText(by)
}

// errorsText lists the failures. URLs that are gone count as failed in the report, so it says where they are.
func errorsText(s engine.Progress) string {
	by := failuresOnly(s)
	if len(by) == 0 && s.Gone > 0 {
		return "none but those that are gone"
	}
	return failuresText(by)
}

// failuresOnly are the failures that are none of those.
func failuresOnly(s engine.Progress) map[string]uint64 {
	by := map[string]uint64{}
	for kind, n := range s.Failures {
		if !isGone(kind) {
			by[kind] = n
		}
	}
	return by
}

// slowText counts the visits that last long, which extra fetchers stand in for.
func slowText(s engine.Progress) string {
	if s.Slow == 0 {
		return ""
	}
	return fmt.Sprintf("   %d more wait for slow hosts", s.Slow)
}

// spark draws rates as a curve, one character each.
func spark(rates []float64) string {
	if len(rates) == 0 {
		return ""
	}
	most := max(slices.Max(rates), 1)
	var b strings.Builder
	for _, r := range rates {
		b.WriteRune([]rune("▁▂▃▄▅▆▇█")[min(int(r/most*7.999), 7)])
	}
	return b.String()
}

// bar draws a share of 0 to 1 as n characters.
func bar(share float64, n int) string {
	full := min(max(int(share*float64(n)+0.5), 0), n)
	return strings.Repeat("█", full) + strings.Repeat("░", n-full)
}

// failuresText lists the five most frequent kinds of failure.
func failuresText(by map[string]uint64) string {
	if len(by) == 0 {
		return "none"
	}
	kinds := slices.SortedFunc(maps.Keys(by), func(a, b string) int {
		return cmp.Or(cmp.Compare(by[b], by[a]), strings.Compare(a, b))
	})
	var parts []string
	for _, k := range kinds[:min(len(kinds), 5)] {
		parts = append(parts, fmt.Sprintf("%s %s", k, thousands(by[k])))
	}
	if len(kinds) > 5 {
		parts = append(parts, fmt.Sprintf("%d other kinds", len(kinds)-5))
	}
	return strings.Join(parts, "   ")
}

// stagesText lists the stages that take most of the processor time.
func stagesText(stages engine.StageCPU) string {
	var sum float64
	for _, s := range stages {
		sum += s.Seconds
	}
	if sum == 0 {
		return "-"
	}
	sorted := slices.SortedFunc(slices.Values(stages), func(a, b engine.StageSeconds) int {
		return cmp.Compare(b.Seconds, a.Seconds)
	})
	var parts []string
	for _, s := range sorted[:min(len(sorted), 6)] {
		if share := s.Seconds / sum; share >= 0.01 {
			parts = append(parts, fmt.Sprintf("%s %.0f%%", s.Stage, 100*share))
		}
	}
	return strings.Join(parts, "   ")
}

// limitText is how far the crawl is from its limits; "" without limits.
func limitText(s engine.Progress) string {
	var limits []string
	if s.MaxPages > 0 {
		limits = append(limits, thousands(uint64(s.MaxPages))+" pages")
	}
	if s.MaxBytes > 0 {
		limits = append(limits, bytesText(uint64(s.MaxBytes)))
	}
	if s.MaxTime > 0 {
		limits = append(limits, clockTime(s.MaxTime))
	}
	if len(limits) == 0 {
		return ""
	}
	left, share := s.ETA()
	text := fmt.Sprintf("   %.0f%% of %s", 100*share, strings.Join(limits, " or "))
	if left > 0 {
		text += ", " + clockTime(left) + " to go"
	}
	return text
}

// heldBack says how often budgets held hosts back; "" for never.
func heldBack(s engine.Progress) string {
	if s.OverBudget == 0 {
		return ""
	}
	return fmt.Sprintf("   held back by budgets %d times", s.OverBudget)
}

// diskText is the free space on the disk; "" if it is unknown.
func diskText(free uint64) string {
	if free == 0 {
		return ""
	}
	return "disk " + bytesText(free) + " free"
}

// clockTime is h:mm:ss, or days and hours from one day on.
func clockTime(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	if s >= 86_400 {
		return fmt.Sprintf("%dd%02dh", s/86_400, s%86_400/3600)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s%3600/60, s%60)
}

// thousands puts a comma between groups of three digits.
func thousands(n uint64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// bytesText is a number of bytes in MB or GB, powers of 1024.
func bytesText(n uint64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%d GB", n>>30)
	case n >= 10<<20:
		return fmt.Sprintf("%d MB", n>>20)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
}

// cutText shortens a line to n characters.
func cutText(s string, n int) string {
	if n < 1 || utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n])
}
