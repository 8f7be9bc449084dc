// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// CrawldbStats is what `readdb --stats` prints: all that Nutch's prints.
type CrawldbStats struct {
	URLs             uint64                       `json:"urls"`
	ShortestInterval uint32                       `json:"shortest_interval"` // seconds
	AvgInterval      float64                      `json:"avg_interval"`
	LongestInterval  uint32                       `json:"longest_interval"`
	EarliestFetch    string                       `json:"earliest_fetch_time"`
	AvgFetch         string                       `json:"avg_fetch_time"`
	LatestFetch      string                       `json:"latest_fetch_time"`
	Retries          map[uint8]uint64             `json:"retries"`
	Quantiles        map[string]float64           `json:"score_quantiles"`
	MinScore         float64                      `json:"min_score"`
	AvgScore         float64                      `json:"avg_score"`
	MaxScore         float64                      `json:"max_score"`
	Status           map[string]uint64            `json:"status"`
	Hosts            map[string]map[string]uint64 `json:"hosts,omitempty"` // host → status → count
}

// scoreQuantiles are those that Nutch prints.
var scoreQuantiles = []float64{.01, .05, .1, .2, .25, .3, .4, .5, .6, .7, .75, .8, .9, .95, .99}

// quantileSample bounds the scores held in memory for quantiles: of larger crawldbs every nth
// record is taken, which in key order is an even sample.
const quantileSample = 1 << 20

// CrawldbStats walks crawldb. perHost adds counts by status for each host.
func (e *Engine) CrawldbStats(ctx context.Context, perHost bool) (CrawldbStats, error) {
	s := CrawldbStats{Retries: map[uint8]uint64{}, Quantiles: map[string]float64{}, Status: map[string]uint64{}}
	if perHost {
		s.Hosts = map[string]map[string]uint64{}
	}
	var intervals, scores float64
	var fetches float64
	var first, last int64
	sample := sampler{every: 1}
	err := e.eachRecord(ctx, "", func(key []byte, r *storage.Record) error {
		if s.URLs == 0 {
			s.ShortestInterval, first, last, s.MinScore, s.MaxScore = r.Interval, r.FetchTime, r.FetchTime, r.Score, r.Score
		}
		s.URLs++
		s.ShortestInterval, s.LongestInterval = min(s.ShortestInterval, r.Interval), max(s.LongestInterval, r.Interval)
		first, last = min(first, r.FetchTime), max(last, r.FetchTime)
		s.MinScore, s.MaxScore = min(s.MinScore, r.Score), max(s.MaxScore, r.Score)
		intervals, scores, fetches = intervals+float64(r.Interval), scores+r.Score, fetches+float64(r.FetchTime)
		s.Retries[r.Retries]++
		s.Status[r.Status.String()]++
		if perHost {
			h := urlkey.HostKey(urlkey.HostKeyOf(key)).String()
			if s.Hosts[h] == nil {
				s.Hosts[h] = map[string]uint64{}
			}
			s.Hosts[h][r.Status.String()]++
		}
		sample.add(r.Score)
		return nil
	})
	if err != nil || s.URLs == 0 {
		return s, err
	}
	n := float64(s.URLs)
	s.AvgInterval, s.AvgScore = intervals/n, scores/n
	s.EarliestFetch, s.AvgFetch, s.LatestFetch = timeText(first), timeText(int64(fetches/n)), timeText(last)
	slices.Sort(sample.kept)
	for _, q := range scoreQuantiles {
		s.Quantiles[fmt.Sprintf("%.2f", q)] = sample.kept[min(int(q*float64(len(sample.kept))), len(sample.kept)-1)]
	}
	return s, nil
}

// sampler keeps every nth of the numbers it is given, n doubling when it is full.
type sampler struct {
	every, seen int
	kept        []float64
}

func (s *sampler) add(v float64) {
	if s.seen++; s.seen%s.every != 0 {
		return
	}
	if len(s.kept) == quantileSample {
		for i := range quantileSample / 2 {
			s.kept[i] = s.kept[2*i]
		}
		s.kept, s.every = s.kept[:quantileSample/2], s.every*2
	}
	s.kept = append(s.kept, v)
}

// String is laid out as Nutch lays it out, since people have scripts that read it.
func (s CrawldbStats) String() string {
	var b strings.Builder
	line := func(name string, value any) { fmt.Fprintf(&b, "%s:\t%v\n", name, value) }
	line("TOTAL urls", s.URLs)
	line("shortest fetch interval", intervalText(float64(s.ShortestInterval)))
	line("avg fetch interval", intervalText(s.AvgInterval))
	line("longest fetch interval", intervalText(float64(s.LongestInterval)))
	line("earliest fetch time", s.EarliestFetch)
	line("avg of fetch times", s.AvgFetch)
	line("latest fetch time", s.LatestFetch)
	for n := range 256 {
		if c := s.Retries[uint8(n)]; c > 0 {
			line(fmt.Sprintf("retry %d", n), c)
		}
	}
	for _, q := range scoreQuantiles {
		line(fmt.Sprintf("score quantile %g", q), s.Quantiles[fmt.Sprintf("%.2f", q)])
	}
	line("min score", s.MinScore)
	line("avg score", s.AvgScore)
	line("max score", s.MaxScore)
	for _, st := range statuses() {
		n := s.Status[st.String()]
		if n == 0 {
			continue
		}
		line(fmt.Sprintf("status %d (%s)", st, st), n)
		var hosts []string
		for h := range s.Hosts {
			hosts = append(hosts, h)
		}
		slices.Sort(hosts)
		for _, h := range hosts {
			if n := s.Hosts[h][st.String()]; n > 0 {
				fmt.Fprintf(&b, "   %s :\t%d\n", h, n)
			}
		}
	}
	return b.String()
}

// intervalText writes seconds as Nutch does: "30 days, 00:00:00".
func intervalText(seconds float64) string {
	d := time.Duration(seconds) * time.Second
	days := d / (24 * time.Hour)
	d -= days * 24 * time.Hour
	return fmt.Sprintf("%d days, %02d:%02d:%02d", days, d/time.Hour, d/time.Minute%60, d/time.Second%60)
}
