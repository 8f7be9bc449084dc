// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"
	"slices"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// StatusCounts counts records by status.
type StatusCounts [storage.StatusCount]uint64

// Stats sums crawldb up, as Nutch's readdb -stats does. Where there are no URLs everything is zero.
type Stats struct {
	URLs uint64
	// Fetch intervals, in seconds.
	ShortestInterval, LongestInterval uint32
	AvgInterval                       float64
	// When records are due, in ms since 1970.
	EarliestFetch, AvgFetch, LatestFetch int64
	Retries                              [256]uint64 // records by failed fetches in a row
	MinScore, AvgScore, MaxScore         float64
	Scores                               []float64 // a sample, sorted: see Quantile
	Status                               StatusCounts
	Hosts                                []HostStatus // in key order; nil unless requested
	// Failures counts the records whose last fetch brought no page, by the failure's name, or "http_" and the status. A
	// URL that robots.txt forbids is db_gone, as in Nutch; here it is told from one that does not exist.
	Failures map[string]uint64
}

// HostStatus counts the records of one host.
type HostStatus struct {
	Host   urlkey.HostKey
	Status StatusCounts
}

// Stats reads all of crawldb, and the outcomes of failed fetches. perHost adds the counts of each host.
func (in *Inspect) Stats(ctx context.Context, perHost bool) (s Stats, err error) {
	snapshot := in.env.Store.Snapshot()
	defer snapshot.Close()
	list, err := snapshot.SegmentList()
	if err != nil {
		return s, err
	}
	failed := recordBatch{newest: newOutcomes(snapshot, list), size: recordsBatchMin}
	count := func(r Record, _ error) bool {
		s.failure(&r)
		return true
	}
	var intervals, scores, fetches float64
	sample := sampler{limit: quantileSample, every: 1}
	for e, err := range crawldb(ctx, snapshot, "", "") {
		if err != nil {
			return s, err
		}
		r := e.value
		if s.URLs == 0 {
			s.ShortestInterval, s.EarliestFetch, s.LatestFetch = r.Interval, r.FetchTime, r.FetchTime
			s.MinScore, s.MaxScore = r.Score, r.Score
		}
		s.URLs++
		s.ShortestInterval, s.LongestInterval = min(s.ShortestInterval, r.Interval), max(s.LongestInterval, r.Interval)
		s.EarliestFetch, s.LatestFetch = min(s.EarliestFetch, r.FetchTime), max(s.LatestFetch, r.FetchTime)
		s.MinScore, s.MaxScore = min(s.MinScore, r.Score), max(s.MaxScore, r.Score)
		intervals, scores, fetches = intervals+float64(r.Interval), scores+r.Score, fetches+float64(r.FetchTime)
		s.Retries[r.Retries]++
		s.Status[r.Status]++
		if perHost {
			s.host(e.key).Status[r.Status]++
		}
		sample.add(r.Score)
		if mayHaveFailed(r) && failed.add(e.key, r) {
			if _, err := failed.flush(count); err != nil {
				return s, err
			}
		}
	}
	if _, err := failed.flush(count); err != nil {
		return s, err
	}
	if s.URLs > 0 {
		n := float64(s.URLs)
		s.AvgInterval, s.AvgScore, s.AvgFetch = intervals/n, scores/n, int64(fetches/n)
	}
	slices.Sort(sample.kept)
	s.Scores = sample.kept
	return s, nil
}

// mayHaveFailed reports whether a record may be of a URL whose last fetch brought no page.
func mayHaveFailed(r *storage.Record) bool {
	switch r.Status {
	case storage.StatusGone, storage.StatusParseFailed:
		return true
	}
	return r.Status == storage.StatusUnfetched && r.Retries > 0
}

// failureName is why the last fetch of a record brought no page: a failure, or "http_" and the status; "" if nothing is
// known of it.
func failureName(r *Record) string {
	switch o := r.Outcome; {
	case o != nil && o.Failure != "":
		return o.Failure
	case o == nil && r.Status == storage.StatusParseFailed: // its segment is purged
		return "parse_failed"
	case o != nil && o.HTTPStatus != 0:
		return fmt.Sprintf("http_%d", o.HTTPStatus)
	case r.HTTPStatus != 0: // its segment is purged
		return fmt.Sprintf("http_%d", r.HTTPStatus)
	}
	return ""
}

// failedWith is the failureName of a record that may have failed; "" if its last fetch brought a page or a redirect: it
// is gone because nothing links to it any more (phases.MarkOrphans).
func failedWith(r *Record) string {
	if r.Outcome != nil {
		if _, failed := storage.ErrorOf(r.Outcome); !failed {
			return ""
		}
	}
	return failureName(r)
}

// failure counts a record whose last fetch failed, with the outcome that is known of it.
func (s *Stats) failure(r *Record) {
	name := failedWith(r)
	if name == "" {
		return
	}
	if s.Failures == nil {
		s.Failures = map[string]uint64{}
	}
	s.Failures[name]++
}

// host returns the counts of a key's host. Keys come in order.
func (s *Stats) host(key []byte) *HostStatus {
	host := urlkey.HostKeyOf(key)
	if n := len(s.Hosts); n == 0 || string(s.Hosts[n-1].Host) != string(host) {
		s.Hosts = append(s.Hosts, HostStatus{Host: urlkey.HostKey(host)})
	}
	return &s.Hosts[len(s.Hosts)-1]
}

// Quantile returns the score below which the fraction q of the records is, 0 to 1. Of more than quantileSample records
// it is an estimate.
func (s *Stats) Quantile(q float64) float64 {
	if len(s.Scores) == 0 {
		return 0
	}
	return s.Scores[min(max(int(q*float64(len(s.Scores))), 0), len(s.Scores)-1)]
}

// sampler keeps every nth of the numbers that it is given. n doubles when limit numbers are kept.
type sampler struct {
	limit       int // even
	every, seen int
	kept        []float64
}

func (s *sampler) add(v float64) {
	if s.seen++; s.seen%s.every != 0 {
		return
	}
	if len(s.kept) == s.limit {
		for i := range s.limit / 2 {
			s.kept[i] = s.kept[2*i+1]
		}
		s.kept, s.every = s.kept[:s.limit/2], s.every*2
		if s.seen%s.every != 0 {
			return
		}
	}
	s.kept = append(s.kept, v)
}
