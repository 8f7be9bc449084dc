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
	// Failures counts the records whose last fetch brought no page, by kind: "http_404", "robots_denied" … A URL that
	// robots.txt forbids has the status db_gone, as in Nutch.
	Failures map[string]uint64 `json:"failures,omitempty"`
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
		Failures:         s.Failures,
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
	for _, kind := range slices.Sorted(maps.Keys(s.Failures)) {
		line("failure "+kind, s.Failures[kind])
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
	Ranges    []storage.RangeCount `json:"ranges,omitempty"` // of the store
	Files     uint64               `json:"files"`            // WARC files
	Bytes     uint64               `json:"bytes"`            // of them, all read
	Records   uint64               `json:"records"`          // in them, sound
	Captures  uint64               `json:"captures"`         // whose WARC record is sound
	Documents uint64               `json:"documents"`        // in the index
	// Torn are the bytes that a crash left at the ends of WARC files, which the next crawl cuts off. They are no
	// problem.
	Torn uint64 `json:"torn_bytes"`
	// Strays are WARC files that an interrupted purge left. They are no problem; the next purge removes them.
	Strays   uint64          `json:"stray_files,omitempty"`
	Problems uint64          `json:"problems"`
	Kinds    []ProblemsFound `json:"kinds,omitempty"` // of Problems
	Took     Duration        `json:"seconds"`
}

// ProblemsFound are the problems of one kind: a range or the tables of the store, WARC files, WARC records, captures,
// the index.
type ProblemsFound struct {
	Kind  string   `json:"kind"`
	Count uint64   `json:"count"`
	Found []string `json:"found"` // the first 10,000
}

// String is one line of counts and time, then for each kind of problem a line with its count and the first
// problemsShown problems.
func (r VerifyReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "verify: %s, %s, %s read, %s indexed, %s in %.2fs", count(r.Files, "WARC file"),
		count(r.Records, "record"), count(r.Captures, "capture"), count(r.Documents, "document"),
		count(r.Problems, "problem"), time.Duration(r.Took).Seconds())
	for _, k := range r.Kinds {
		fmt.Fprintf(&b, "\n%s: %s", k.Kind, count(k.Count, "problem"))
		n := min(len(k.Found), problemsShown)
		for _, x := range k.Found[:n] {
			b.WriteString("\n  " + x)
		}
		if uint64(n) < k.Count {
			fmt.Fprintf(&b, "\n  and %d more; --json lists them", k.Count-uint64(n))
		}
	}
	if r.Torn > 0 {
		fmt.Fprintf(&b, "\nthe next crawl cuts off %s that a crash left at the ends of WARC files",
			count(r.Torn, "byte"))
	}
	if r.Strays > 0 {
		fmt.Fprintf(&b, "\nthe next purge removes %s that an interrupted one left", count(r.Strays, "WARC file"))
	}
	return b.String()
}

func viewVerified(v *inspect.Verified) VerifyReport {
	r := VerifyReport{
		Ranges: v.Store.Ranges, Files: v.Files, Bytes: v.Bytes, Records: v.Records, Captures: v.Captures,
		Documents: v.Documents, Torn: v.Torn, Strays: v.Strays, Problems: v.Problems, Took: Duration(v.Took),
	}
	for _, k := range v.Kinds {
		r.Kinds = append(r.Kinds, ProblemsFound(k))
	}
	return r
}
