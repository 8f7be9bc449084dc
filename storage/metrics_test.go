// SPDX-License-Identifier: Apache-2.0

package storage

import (
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

func TestDiskFree(t *testing.T) {
	s, err := Open(t.TempDir()+"/a/b/store", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if free, total, err := s.DiskFree(); err != nil || free == 0 || total < free {
		t.Errorf("%d of %d, %v", free, total, err)
	}
}
