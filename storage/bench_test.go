// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// What is measured: the ways in which phases read and write, in nanoseconds per key, compared with the
// cost of Pebble alone. Corpus: URL keys of hosts with some hundred pages, records of 33 bytes. Run:
//
//	go test -run '^$' -bench . ./storage
//
// Files are in the test's temporary directory; compare ratios, not the numbers.

const benchKeys = 300_000

// distinctKeys makes sorted URL keys.
func distinctKeys(n int) [][]byte {
	keys := urlKeys(n)
	slices.SortFunc(keys, slices.Compare[[]byte])
	keys = slices.CompactFunc(keys, slices.Equal[[]byte])
	var all []byte // adjacent keys, as in a run's block: otherwise the benchmark measures reading its input
	for i, k := range keys {
		all = append(all, k...)
		keys[i] = all[len(all)-len(k) : len(all) : len(all)]
	}
	return keys
}

func benchStore(b *testing.B, keys [][]byte) *Store {
	b.Helper()
	s, err := Open(b.TempDir(), Options{CacheBytes: 256 << 20})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	ingestKeys(b, s, keys)
	return s
}

func ingestKeys(b *testing.B, s *Store, keys [][]byte) {
	value := AppendRecord(nil, &exampleRecord)
	in := s.NewIngestion()
	w := in.Table(Crawldb())
	for _, k := range keys {
		if err := w.Set(k, value); err != nil {
			b.Fatal(err)
		}
	}
	if err := in.Commit(); err != nil {
		b.Fatal(err)
	}
}

func perKey(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/key")
}

// BenchmarkIngestion writes a crawldb and commits it.
func BenchmarkIngestion(b *testing.B) {
	keys := distinctKeys(benchKeys)
	for b.Loop() {
		s, err := Open(b.TempDir(), Options{})
		if err != nil {
			b.Fatal(err)
		}
		ingestKeys(b, s, keys)
		s.Close()
	}
	perKey(b, len(keys))
}

// BenchmarkIngestionFloor does the same with Pebble alone and the same table options.
func BenchmarkIngestionFloor(b *testing.B) {
	keys := distinctKeys(benchKeys)
	value := AppendRecord(nil, &exampleRecord)
	for b.Loop() {
		dir := b.TempDir()
		s, err := Open(dir, Options{})
		if err != nil {
			b.Fatal(err)
		}
		name := dir + "/floor"
		f, err := vfs.Default.Create(name, vfs.WriteCategoryUnspecified)
		if err != nil {
			b.Fatal(err)
		}
		w := sstable.NewWriter(objstorageprovider.NewFileWritable(f), s.tableOptions(Crawldb(), false))
		for _, k := range keys {
			if err := w.Set(k, value); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		if err := s.db.Ingest(context.Background(), []string{name}); err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
	perKey(b, len(keys))
}

// BenchmarkMergeJoin joins a crawldb with every nth of its keys, and with all keys of every 100th
// host.
func BenchmarkMergeJoin(b *testing.B) {
	keys := distinctKeys(benchKeys)
	s := benchStore(b, keys)
	every := func(n int) (pairs []Pair) {
		for i := 0; i < len(keys); i += n {
			pairs = append(pairs, Pair{Key: keys[i]})
		}
		return pairs
	}
	var hosts []Pair
	for _, k := range keys {
		if k[len("com,example")] == '7' && k[len("com,example")+1] == '7' {
			hosts = append(hosts, Pair{Key: k})
		}
	}
	for _, c := range []struct {
		name  string
		pairs []Pair
	}{{"all", every(1)}, {"1in3", every(3)}, {"1in20", every(20)}, {"1in1000", every(1000)}, {"someHosts", hosts}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				found := 0
				count := func(_ []byte, _ [][]byte, old []byte) error {
					if old != nil {
						found++
					}
					return nil
				}
				err := MergeJoin(context.Background(), s, Crawldb(), NewSliceRun(c.pairs), count)
				if err != nil || found != len(c.pairs) {
					b.Fatal(found, err)
				}
			}
			perKey(b, len(c.pairs))
		})
	}
}

func BenchmarkScan(b *testing.B) {
	keys := distinctKeys(benchKeys)
	s := benchStore(b, keys)
	for b.Loop() {
		sc := s.Scan(Crawldb(), nil, nil)
		for sc.Next() {
		}
		if err := sc.Close(); err != nil {
			b.Fatal(err)
		}
	}
	perKey(b, len(keys))
}

// BenchmarkGet looks up present and absent keys with a warm cache; "pebble" is Pebble's own Get, which
// does not use the last level's filters.
func BenchmarkGet(b *testing.B) {
	keys := distinctKeys(benchKeys)
	s := benchStore(b, keys)
	absent := make([][]byte, 0, len(keys))
	for _, k := range keys {
		absent = append(absent, append(k[:len(k)-len("https"):len(k)-len("https")], "http"...))
	}
	var buf []byte
	for name, list := range map[string][][]byte{"present": keys, "absent": absent} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				_, ok, err := s.Get(Crawldb(), list[i*7919%len(list)], buf)
				if err != nil || ok != (name == "present") {
					b.Fatal(ok, err)
				}
			}
		})
		b.Run(name+"/pebble", func(b *testing.B) {
			crawldb := Crawldb()
			for i := 0; b.Loop(); i++ {
				buf = crawldb.appendKey(buf[:0], list[i*7919%len(list)])
				if _, closer, err := s.db.Get(buf); err == nil {
					closer.Close()
				} else if err != pebble.ErrNotFound {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkApply writes one small value durably, from one goroutine and from many at once, which share
// a sync.
func BenchmarkApply(b *testing.B) {
	s := benchStore(b, nil)
	write := func(b *testing.B, i int) {
		set := func(batch *Batch) error { return batch.Set(Meta(), fmt.Appendf(nil, "%d", i%100), nil) }
		if err := s.Apply(set); err != nil {
			b.Error(err)
		}
	}
	b.Run("alone", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			write(b, i)
		}
	})
	b.Run("together", func(b *testing.B) {
		b.SetParallelism(64)
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				write(b, i)
			}
		})
	})
}
