// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestMetricsTable compares the printed form with testdata/metrics.
func TestMetricsTable(t *testing.T) {
	datadriven.RunTest(t, "testdata/metrics", func(t *testing.T, d *datadriven.TestData) string {
		m := Metrics{}
		if d.Cmd == "busy" {
			m = Metrics{
				TableBytes: 45 << 30, Tables: 812, LogBytes: 3 << 20, MemTable: 8 << 20,
				CacheBytes: 64 << 20, CacheHits: 999, CacheMisses: 1, ReadAmp: 7, Debt: 1 << 29,
				Compactions: 1200, Flushes: 90, Ingestions: 345, BytesWritten: 300, UserBytes: 100,
				Stalls: 1, Snapshots: 2, BackgroundErrors: 3, SlowWrites: 4,
				Uptime: 26*time.Hour + 1500*time.Millisecond,
				Ranges: []RangeSize{{"crawldb", 1023}, {"parse", 1 << 40}},
			}
		}
		return m.String()
	})
}

// TestMetrics: the sizes of ranges show where a store has data.
func TestMetrics(t *testing.T) {
	s := openTest(t)
	sound(t, s)
	s.flush()
	m, err := s.Metrics()
	if err != nil || m.Ingestions != 1 || m.Tables == 0 || m.TableBytes == 0 {
		t.Errorf("%v\n%s", err, m)
	}
	for _, r := range m.Ranges {
		if r.Name == "crawldb" && r.Bytes == 0 {
			t.Error("crawldb takes no room")
		}
	}
	if n, err := s.RangeBytes(Crawldb()); n == 0 || err != nil {
		t.Errorf("crawldb takes %d bytes, %v", n, err)
	}
	if n, err := s.RangeBytes(ParseLinks(9)); n != 0 || err != nil {
		t.Errorf("an empty range takes %d bytes, %v", n, err)
	}
}

// TestAtRest: what an ingestion brings into an empty range is compressed as well as a compaction would do it, because
// none comes by. Bytes that were written once count once.
func TestAtRest(t *testing.T) {
	s := openTest(t)
	in := s.NewIngestion()
	defer in.Abort()
	const records = 50_000
	var raw, value []byte
	for i := range records {
		rec := Record{
			Status: StatusUnfetched, FetchTime: 1_750_000_000_000 + int64(i*i%1_000_000_007), Depth: 3, Score: .5,
			Interval: 30 * 24 * secondsPerHour,
		}
		value = AppendRecord(value[:0], &rec)
		key := fmt.Appendf(nil, "com,example%03d,www,)/articles/%05d/of-%d-things https", i/300, i, i*i%977)
		raw = append(append(raw, key...), value...)
		if err := in.Table(Crawldb()).Set(key, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.Commit(); err != nil {
		t.Fatal(err)
	}
	m, err := s.Counters()
	if err != nil || m.BytesWritten > m.UserBytes || 100*m.BytesWritten < 99*m.UserBytes { // some is in the log only
		t.Errorf("%d bytes were given and %d written, %v; want as many", m.UserBytes, m.BytesWritten, err)
	}
	first, err := s.RangeBytes(Crawldb())
	if err != nil || first > 40*records || first > uint64(len(raw))/2 {
		t.Errorf("%d records of %d bytes take %d, %v; want at most half of that and 40 each",
			records, len(raw), first, err)
	}
	all := Crawldb()
	if err := s.db.Compact(context.Background(), all.start(), all.end(), false); err != nil {
		t.Fatal(err)
	}
	if size, err := s.RangeBytes(Crawldb()); err != nil || 10*first > 11*size {
		t.Errorf("they took %d bytes, and take %d after a compaction, %v", first, size, err)
	}
}

func TestDiskFree(t *testing.T) {
	s, err := Open(t.TempDir()+"/a/b/store", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if free, total, err := s.DiskFree(""); err != nil || free == 0 || total < free {
		t.Errorf("%d of %d, %v", free, total, err)
	}
}
