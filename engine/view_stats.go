// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine/internal/inspect"
	"github.com/seine-crawler/seine/storage"
)

// CrawldbStats is all that Nutch's `readdb -stats` prints. Times are in UTC, to the millisecond; JSON leaves out those
// that are zero, which they are when crawldb is empty.
type CrawldbStats struct {
	URLs uint64 `json:"urls"`
	// Intervals between fetches; JSON: seconds.
	ShortestInterval Duration `json:"shortest_interval"`
	AvgInterval      Duration `json:"avg_interval"`
	LongestInterval  Duration `json:"longest_interval"`
	// When records are due.
	EarliestFetch time.Time `json:"earliest_fetch_time,omitzero"`
	AvgFetch      time.Time `json:"avg_fetch_time,omitzero"`
	LatestFetch   time.Time `json:"latest_fetch_time,omitzero"`
	// Retries counts records by failed fetches in a row.
	Retries map[uint8]uint64 `json:"retries"`
	// Quantiles are scores by quantile, "0.01" to "0.99". Of a large crawldb they are from a sample.
	Quantiles map[string]float64 `json:"score_quantiles"`
	MinScore  float64            `json:"min_score"`
	AvgScore  float64            `json:"avg_score"`
	MaxScore  float64            `json:"max_score"`
	// Status counts records by status, Hosts by host and status. Both have no zeros; Hosts is nil unless requested.
	Status map[storage.Status]uint64            `json:"status"`
	Hosts  map[string]map[storage.Status]uint64 `json:"hosts,omitempty"`
}

// scoreQuantiles are those that Nutch prints.
var scoreQuantiles = []float64{.01, .05, .1, .2, .25, .3, .4, .5, .6, .7, .75, .8, .9, .95, .99}

func quantileName(q float64) string { return fmt.Sprintf("%.2f", q) }

func viewStats(s *inspect.Stats, perHost bool) CrawldbStats {
	v := CrawldbStats{
		URLs:             s.URLs,
		ShortestInterval: Duration(time.Duration(s.ShortestInterval) * time.Second),
		AvgInterval:      Duration(s.AvgInterval * float64(time.Second)),
		LongestInterval:  Duration(time.Duration(s.LongestInterval) * time.Second),
		EarliestFetch:    timeOf(s.EarliestFetch),
		AvgFetch:         timeOf(s.AvgFetch),
		LatestFetch:      timeOf(s.LatestFetch),
		Retries:          map[uint8]uint64{},
		Quantiles:        map[string]float64{},
		MinScore:         s.MinScore,
		AvgScore:         s.AvgScore,
		MaxScore:         s.MaxScore,
		Status:           viewCounts(&s.Status),
	}
	for retries, n := range s.Retries {
		if n > 0 {
			v.Retries[uint8(retries)] = n
		}
	}
	if s.URLs > 0 {
		for _, q := range scoreQuantiles {
			v.Quantiles[quantileName(q)] = s.Quantile(q)
		}
	}
	if perHost {
		v.Hosts = map[string]map[storage.Status]uint64{}
		for i := range s.Hosts {
			v.Hosts[s.Hosts[i].Host.String()] = viewCounts(&s.Hosts[i].Status)
		}
	}
	return v
}

func viewCounts(counts *inspect.StatusCounts) map[storage.Status]uint64 {
	by := map[storage.Status]uint64{}
	for s, n := range counts {
		if n > 0 {
			by[storage.Status(s)] = n
		}
	}
	return by
}

// String has Nutch's layout, since people have scripts that read it. It ends with a line feed.
func (s CrawldbStats) String() string {
	var b strings.Builder
	line := func(name string, value any) { fmt.Fprintf(&b, "%s:\t%v\n", name, value) }
	line("TOTAL urls", s.URLs)
	line("shortest fetch interval", intervalText(s.ShortestInterval))
	line("avg fetch interval", intervalText(s.AvgInterval))
	line("longest fetch interval", intervalText(s.LongestInterval))
	line("earliest fetch time", timeText(s.EarliestFetch))
	line("avg of fetch times", timeText(s.AvgFetch))
	line("latest fetch time", timeText(s.LatestFetch))
	for _, n := range slices.Sorted(maps.Keys(s.Retries)) {
		line(fmt.Sprintf("retry %d", n), s.Retries[n])
	}
	for _, q := range scoreQuantiles {
		line(fmt.Sprintf("score quantile %g", q), s.Quantiles[quantileName(q)])
	}
	line("min score", s.MinScore)
	line("avg score", s.AvgScore)
	line("max score", s.MaxScore)
	hosts := slices.Sorted(maps.Keys(s.Hosts))
	for _, st := range slices.Sorted(maps.Keys(s.Status)) {
		line(fmt.Sprintf("status %d (%s)", uint8(st), st), s.Status[st])
		for _, h := range hosts {
			if n := s.Hosts[h][st]; n > 0 {
				fmt.Fprintf(&b, "   %s :\t%d\n", h, n)
			}
		}
	}
	return b.String()
}

// intervalText writes a duration as Nutch does: "30 days, 00:00:00".
func intervalText(interval Duration) string {
	d := time.Duration(interval)
	days := d / (24 * time.Hour)
	d -= days * 24 * time.Hour
	return fmt.Sprintf("%d days, %02d:%02d:%02d", days, d/time.Hour, d/time.Minute%60, d/time.Second%60)
}

// VerifyReport says what Verify read and what it found wrong.
type VerifyReport struct {
	Store     storage.VerifyReport `json:"store"`
	Captures  uint64               `json:"captures"`  // whose WARC record was read
	Documents uint64               `json:"documents"` // in the index
	Problems  uint64               `json:"problems"`
	Examples  []string             `json:"examples,omitempty"` // the first 20 problems
	Took      Duration             `json:"seconds"`
}

// String is one line of counts and time, and a line for each example.
func (r VerifyReport) String() string {
	s := fmt.Sprintf("verify: %d captures read, %d documents indexed, %d problems in %.2fs",
		r.Captures, r.Documents, r.Problems, time.Duration(r.Took).Seconds())
	for _, x := range r.Examples {
		s += "\n  " + x
	}
	return s
}

func viewVerified(v *inspect.Verified) VerifyReport {
	return VerifyReport{
		Store: v.Store, Captures: v.Captures, Documents: v.Documents, Problems: v.Problems, Examples: v.Examples,
		Took: Duration(v.Took),
	}
}
