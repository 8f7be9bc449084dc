// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// RangeSize is the size on disk of all ranges of one kind, estimated from table indexes. It does not
// include recent small writes that are still in memory.
type RangeSize struct {
	Name  string // of the kind: "crawldb", "fetchlist" …
	Bytes uint64 // on disk, compressed
}

// Metrics describes a store at one moment. Counters count since Open.
type Metrics struct {
	Ranges       []RangeSize // in the order in which a URL passes through them
	TableBytes   uint64      // of all live tables
	Tables       uint64      // live tables
	LogBytes     uint64      // size of the write-ahead log on disk
	MemTable     uint64      // bytes of memtables
	CacheBytes   int64       // used by the block cache
	CacheHits    int64       // block reads served from the cache
	CacheMisses  int64       // block reads that were not
	ReadAmp      int         // places where a Get may have to look
	Debt         uint64      // bytes that compactions have yet to rewrite, estimated
	Compactions  int64
	Flushes      int64
	Ingestions   uint64 // of tables and, if small, of batches
	BytesWritten uint64 // to tables: by flushes, compactions and ingestions
	UserBytes    uint64 // that callers gave to Apply and ingestions
	Stalls       uint64 // times that writes had to wait for compactions
	Snapshots    int    // open now
	// BackgroundErrors counts failed flushes and compactions: above 0, check the disk.
	BackgroundErrors uint64
	SlowWrites       uint64        // disk operations that took longer than 5 s
	Uptime           time.Duration // since Open
}

// Metrics collects the numbers. It takes some milliseconds, mostly for the sizes of ranges. On error
// Ranges is incomplete.
func (s *Store) Metrics() (Metrics, error) {
	m, err := s.Counters()
	if err != nil {
		return m, err
	}
	for _, tag := range rangeTags() {
		size, err := s.db.EstimateDiskUsage([]byte{tag}, []byte{tag + 1})
		if err != nil {
			return m, fmt.Errorf("estimating the size of %s: %w", rangeName(tag), classified(err))
		}
		m.Ranges = append(m.Ranges, RangeSize{rangeName(tag), size})
	}
	return m, nil
}

// Counters is Metrics without Ranges: it reads no table.
func (s *Store) Counters() (Metrics, error) {
	if err := s.usable(); err != nil {
		return Metrics{}, err
	}
	p := s.db.Metrics()
	var written, ingested uint64 // not those of p.Total, which counts what comes in once more as flushed
	for i := range p.Levels {
		l := &p.Levels[i]
		written += l.TableBytesFlushed + l.TableBytesCompacted + l.TableBytesIngested
		ingested += l.TableBytesIngested
	}
	return Metrics{
		TableBytes: p.Table.Local.LiveSize, Tables: p.Table.Local.LiveCount,
		LogBytes: p.WAL.PhysicalSize, MemTable: p.MemTable.Size,
		CacheBytes: p.BlockCache.Size, CacheHits: p.BlockCache.Hits, CacheMisses: p.BlockCache.Misses,
		ReadAmp: p.ReadAmp(), Debt: p.Compact.EstimatedDebt, Compactions: p.Compact.Count,
		Flushes: p.Flush.Count, Ingestions: p.Ingest.Count + s.gathered.Load(),
		BytesWritten: written, UserBytes: p.WAL.BytesIn + ingested,
		Stalls: s.health.stalls.Load(), Snapshots: p.Snapshots.Count,
		BackgroundErrors: s.health.backgroundErrors.Load(), SlowWrites: s.health.slowWrites.Load(),
		Uptime: p.Uptime,
	}, nil
}

// RangeBytes estimates the size on disk of one range, in bytes. Recent small writes that are still in
// memory are not included.
func (s *Store) RangeBytes(r Range) (uint64, error) {
	if err := s.usable(); err != nil {
		return 0, err
	}
	size, err := s.db.EstimateDiskUsage(r.start(), r.end())
	if err != nil {
		return 0, fmt.Errorf("estimating the size of %s: %w", r, classified(err))
	}
	return size, nil
}

// DiskFree returns how many bytes the filesystem of the store, or of another directory, has free for this user, and how
// many it has in total. "" is the store's directory. The caller sets watermarks. They must be well above what Pebble
// needs for compactions: on a full disk it can't even delete.
func (s *Store) DiskFree(dir string) (free, total uint64, err error) {
	dir = cmp.Or(dir, s.dir)
	use, err := s.fs.GetDiskUsage(dir)
	if err != nil {
		return 0, 0, fmt.Errorf("reading the free space of %s: %w", dir, err)
	}
	return use.AvailBytes, use.TotalBytes, nil
}

// String returns the table that the command line prints, one metric per line.
func (m Metrics) String() string {
	var b strings.Builder
	row := func(name, value string) { fmt.Fprintf(&b, "%-18s %14s\n", name, value) }
	for _, r := range m.Ranges {
		row(r.Name, bytesText(r.Bytes))
	}
	b.WriteString(strings.Repeat("-", 33) + "\n")
	row("tables", fmt.Sprint(m.Tables))
	row("table bytes", bytesText(m.TableBytes))
	row("log", bytesText(m.LogBytes))
	row("memtables", bytesText(m.MemTable))
	row("cache", bytesText(uint64(m.CacheBytes)))
	row("cache hits", percentText(uint64(m.CacheHits), uint64(m.CacheHits+m.CacheMisses)))
	row("read amplification", fmt.Sprint(m.ReadAmp))
	row("write amplif.", ratioText(m.BytesWritten, m.UserBytes))
	row("compaction debt", bytesText(m.Debt))
	row("compactions", fmt.Sprint(m.Compactions))
	row("flushes", fmt.Sprint(m.Flushes))
	row("ingestions", fmt.Sprint(m.Ingestions))
	row("stalls", fmt.Sprint(m.Stalls))
	row("snapshots", fmt.Sprint(m.Snapshots))
	row("background errors", fmt.Sprint(m.BackgroundErrors))
	row("slow writes", fmt.Sprint(m.SlowWrites))
	row("uptime", m.Uptime.Round(time.Second).String())
	return b.String()
}

// bytesText writes a size in the largest binary unit that leaves at least 1.
func bytesText(n uint64) string {
	const units = "KMGTPE"
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	v, i := float64(n)/(1<<10), 0
	for v >= 1<<10 && i < len(units)-1 {
		v /= 1 << 10
		i++
	}
	return fmt.Sprintf("%.1f %ciB", v, units[i])
}

func percentText(part, whole uint64) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(whole))
}

func ratioText(a, b uint64) string {
	if b == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(a)/float64(b))
}
