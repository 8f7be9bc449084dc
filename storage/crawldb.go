// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// Record reads the crawldb record of a URL into r and reports whether there is one; if not, r is
// unchanged. Use it for single URLs; phases use MergeJoin. The errors are those of Get.
func (v *reads) Record(key urlkey.Key, r *Record) (bool, error) {
	var room [128]byte
	value, ok, err := v.Get(Crawldb(), []byte(key), room[:0])
	if err != nil || !ok {
		return false, err
	}
	if err := DecodeRecord(value, r); err != nil {
		return false, fmt.Errorf("crawldb at %q: %w", key, err)
	}
	return true, nil
}

// Records reads the crawldb records of several URLs, in any order: records[i] is that of keys[i] if known[i] says that
// there is one. It opens crawldb once for all of them. The errors are those of Get.
func (v *reads) Records(keys []urlkey.Key) (records []Record, known []bool, err error) {
	if err := v.usable(); err != nil {
		return nil, nil, err
	}
	records, known = make([]Record, len(keys)), make([]bool, len(keys))
	order := make([]int, len(keys))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(keys[a], keys[b]) })
	err = v.probes(Crawldb(), func(probe probe) error {
		for _, i := range order {
			value, ok, err := probe([]byte(keys[i]))
			if err == nil && ok {
				known[i], err = true, DecodeRecord(value, &records[i])
			}
			if err != nil {
				return fmt.Errorf("at %q: %w", keys[i], err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("reading crawldb: %w", classified(err))
	}
	return records, known, nil
}

// ScanHost returns a Scanner over the crawldb records of one host, in order of URL key. Close it.
func (v *reads) ScanHost(host urlkey.HostKey) *Scanner {
	from, to := HostBounds(host)
	return v.Scan(Crawldb(), from, to)
}

// CrawldbStats are totals over crawldb records. All are 0 when there are none. (Nutch: readdb -stats.)
type CrawldbStats struct {
	URLs               uint64              // records
	ByStatus           [StatusCount]uint64 // indexed by Status
	Due                uint64              // records due at the time given to CrawldbStats
	Retried            [4]uint64           // by number of retries: 0, 1, 2, more
	ScoreMin, ScoreMax float64
	ScoreSum           float64
	DepthMax           uint16 // links from a seed
	FirstDue, LastDue  int64  // least and greatest Record.FetchTime, ms since 1970
	ValueBytes         uint64 // of the encoded records
	KeyBytes           uint64 // of the relative keys
}

// CrawldbStats reads all of crawldb, or only the keys with a given prefix (empty = all). It takes about
// 0.3 µs per record. now, in ms since 1970, decides which records are due. On error, also that of a
// canceled ctx, the totals cover what was read so far.
func (v *reads) CrawldbStats(ctx context.Context, prefix []byte, now int64) (CrawldbStats, error) {
	var st CrawldbStats
	var to []byte
	if len(prefix) > 0 {
		to = keyAfterPrefix(prefix)
	}
	sc := v.Scan(Crawldb(), prefix, to)
	defer sc.Close()
	var r Record
	for sc.Next() {
		if st.URLs%ctxCheckKeys == 0 && ctx.Err() != nil {
			return st, ctx.Err()
		}
		if err := DecodeRecord(sc.Value(), &r); err != nil {
			return st, fmt.Errorf("crawldb at %q: %w", sc.Key(), err)
		}
		st.add(&r, now)
		st.KeyBytes += uint64(len(sc.Key()))
		st.ValueBytes += uint64(len(sc.Value()))
	}
	return st, sc.Err()
}

func (st *CrawldbStats) add(r *Record, now int64) {
	if st.URLs == 0 {
		st.ScoreMin, st.ScoreMax, st.FirstDue, st.LastDue = r.Score, r.Score, r.FetchTime, r.FetchTime
	}
	st.URLs++
	st.ByStatus[r.Status]++
	st.Retried[min(int(r.Retries), len(st.Retried)-1)]++
	if r.FetchTime <= now {
		st.Due++
	}
	st.ScoreMin, st.ScoreMax = min(st.ScoreMin, r.Score), max(st.ScoreMax, r.Score)
	st.ScoreSum += r.Score
	st.DepthMax = max(st.DepthMax, r.Depth)
	st.FirstDue, st.LastDue = min(st.FirstDue, r.FetchTime), max(st.LastDue, r.FetchTime)
}
