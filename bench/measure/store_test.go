// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// What is measured: the ways in which phases read and write crawldb, on a million records of 5,000 hosts, in keys per
// second. B/key is the size of the tables on disk, keys included.
//
//	inject    a million new URLs in random order: sort, join with an empty crawldb, encode, write, commit
//	updatedb  250,000 outcomes, one known URL in five and 50,000 new ones: sort, join, decode, change, write, commit
//	generate  every other host: its records decoded, the due ones written as a fetchlist
//	scan      all records decoded
//
// seine is package storage's API as the phases use it. The floor is Pebble with the same table options: keys sorted in
// memory by slices.SortFunc, ready-made values, nothing decoded or checked, one sstable and Ingest, an iterator with
// SeekGE for each key (Pebble itself notices when a step is enough), and the same bytes written. How to run:
//
//	go test -run '^$' -bench Store ./bench/measure

const (
	storeHosts = 5_000
	hostPages  = 200
	storeKeys  = storeHosts * hostPages
	storeCache = 256 << 20
)

// crawl is the content of the stores; keys and hosts are in order.
type crawl struct {
	keys    [][]byte // of the records
	values  [][]byte
	inputs  []storage.Pair // of updatedb, in random order; values are the new records
	known   int            // inputs that are in keys
	hosts   []urlkey.HostKey
	entries [][]byte // of the fetchlist, by key: nil if not due or of a host that is left out
	due     int      // records of every other host that are due
	shuffle []int    // an order of keys
}

// dueNow is the time in ms at which three quarters of the records are due.
const dueNow = 1_770_000_000_000

// fetchedRecord is a record as updatedb writes it: 33 bytes and more.
func fetchedRecord(rng *rand.Rand) storage.Record {
	at := int64(dueNow) - rng.Int64N(40*86_400_000)
	r := storage.Record{
		Status: storage.StatusFetched, HTTPStatus: 200, Segment: 7,
		Depth: uint16(rng.IntN(6)), Score: float64(rng.IntN(1<<16)) / (1 << 16),
		LastFetch: at, ModifiedTime: at, FetchTime: at + 30*86_400_000, Interval: 30 * 86_400,
	}
	if rng.IntN(4) > 0 {
		r.FetchTime = at
	}
	for i := range r.Signature {
		r.Signature[i] = byte(rng.Uint32())
	}
	return r
}

func newCrawl() *crawl {
	rng := rand.New(rand.NewPCG(3, 4))
	c := &crawl{shuffle: rng.Perm(storeKeys)}
	var all []byte // side by side, as in a block
	add := func(p []byte) []byte {
		all = append(all, p...)
		return all[len(all)-len(p) : len(all) : len(all)]
	}
	for h := range storeHosts {
		host := fmt.Sprintf("com,example%04d,www,)", h)
		c.hosts = append(c.hosts, urlkey.HostKey(host))
		for p := range hostPages {
			r := fetchedRecord(rng)
			c.keys = append(
				c.keys,
				add(fmt.Appendf(nil, "%s/articles/2026/%06d/index.html https", host, 5000*p+rng.IntN(5000))),
			)
			c.values = append(c.values, add(storage.AppendRecord(nil, &r)))
			var entry []byte
			if h%2 == 0 && r.FetchTime <= dueNow {
				c.due++
				entry = storage.AppendFetchlistEntry(nil, storage.FetchlistEntry{Score: r.Score, Depth: r.Depth})
			}
			c.entries = append(c.entries, entry)
			r = fetchedRecord(rng)
			if value := storage.AppendRecord(nil, &r); p%5 == 0 {
				c.known++
				c.inputs = append(c.inputs, storage.Pair{Key: c.keys[len(c.keys)-1], Value: value})
				if p%20 == 0 {
					c.inputs = append(
						c.inputs,
						storage.Pair{Key: fmt.Appendf(nil, "%s/new/%06d.html https", host, p), Value: value},
					)
				}
			}
		}
	}
	rng.Shuffle(len(c.inputs), func(i, j int) { c.inputs[i], c.inputs[j] = c.inputs[j], c.inputs[i] })
	return c
}

// must ends the benchmark if there is an error.
func must(b *testing.B, errs ...error) {
	if err := errors.Join(errs...); err != nil {
		b.Helper()
		b.Fatal(err)
	}
}

// ourStore opens a store and, with filled, fills it with the crawl.
func ourStore(b *testing.B, c *crawl, filled bool) *storage.Store {
	dir := b.TempDir()
	s, err := storage.Open(dir, storage.Options{CacheBytes: storeCache})
	must(b, err)
	if filled {
		in := s.NewIngestion()
		w := in.Table(storage.Crawldb())
		for i, k := range c.keys {
			must(b, w.Set(k, c.values[i]))
		}
		counts := in.Table(storage.HostCountsRange())
		for i, h := range c.hosts {
			n := storage.HostCounts{NextDue: dueNow + 1}
			if i%2 == 0 {
				n.NextDue = dueNow - 1
			}
			n.ByStatus[storage.StatusFetched] = hostPages
			must(b, counts.Set([]byte(h), storage.AppendHostCounts(nil, &n)))
		}
		must(b, in.Commit())
	}
	return s
}

// sorted sorts pairs with a sorter.
func sorted(
	b *testing.B, s *storage.Store, n int, pair func(i int) (key, value []byte),
) (*storage.Sorter, *storage.Run) {
	sorter := storage.NewSorter(storage.SorterOptions{Dir: s.SortDir(), MemoryBytes: 256 << 20})
	for i := range n {
		if err := sorter.Add(pair(i)); err != nil {
			b.Fatal(err)
		}
	}
	run, err := sorter.Sort()
	must(b, err)
	return sorter, run
}

// mergeOurs joins inputs with crawldb and writes their records: what inject and updatedb do.
func mergeOurs(b *testing.B, s *storage.Store, n int, pair func(i int) (key, value []byte)) (known int) {
	sorter, run := sorted(b, s, n, pair)
	in := s.NewIngestion()
	defer in.Abort()
	w := in.Table(storage.Crawldb())
	var was, r storage.Record
	var value []byte
	must(b, storage.MergeJoin(context.Background(), s, storage.Crawldb(), run, func(
		key []byte, values [][]byte, old []byte,
	) error {
		if err := storage.DecodeRecord(values[0], &r); err != nil {
			return err
		}
		if old != nil {
			known++
			if err := storage.DecodeRecord(old, &was); err != nil {
				return err
			}
			r.Depth = min(r.Depth, was.Depth)
		}
		value = storage.AppendRecord(value[:0], &r)
		return w.Set(key, value)
	}), run.Close(), in.Commit(), sorter.Close())
	return known
}

// generateOurs chooses the due URLs of the hosts that have any.
func generateOurs(b *testing.B, s *storage.Store, segment uint32) (seen, due int) {
	snap := s.Snapshot()
	in := s.NewIngestion()
	defer in.Abort()
	w := in.Table(storage.Fetchlist(segment))
	hosts := snap.Scan(storage.HostCountsRange(), nil, nil)
	var counts storage.HostCounts
	var r storage.Record
	var value []byte
	for hosts.Next() {
		if must(b, storage.DecodeHostCounts(hosts.Value(), &counts)); counts.NextDue > dueNow {
			continue
		}
		from, to := storage.HostBounds(urlkey.HostKey(hosts.Key()))
		sc := snap.Scan(storage.Crawldb(), from, to)
		for sc.Next() {
			seen++
			if err := storage.DecodeRecord(sc.Value(), &r); err != nil {
				b.Fatal(err)
			}
			if r.FetchTime > dueNow {
				continue
			}
			due++
			value = storage.AppendFetchlistEntry(value[:0], storage.FetchlistEntry{Score: r.Score, Depth: r.Depth})
			if err := w.Set(sc.Key(), value); err != nil {
				b.Fatal(err)
			}
		}
		must(b, sc.Close())
	}
	must(b, hosts.Close(), snap.Close(), in.Commit())
	return seen, due
}

func scanOurs(b *testing.B, s *storage.Store) (seen int) {
	sc := s.Scan(storage.Crawldb(), nil, nil)
	var r storage.Record
	for sc.Next() {
		if err := storage.DecodeRecord(sc.Value(), &r); err != nil {
			b.Fatal(err)
		}
		seen++
	}
	must(b, sc.Close())
	return seen
}

// storeRun measures one way of reading or writing. fresh makes what it works on, outside of the measured time: for
// every iteration, or once.
func storeRun[S any](
	b *testing.B, name string, keys int, each bool, fresh func(*testing.B) S, run func(*testing.B, S),
	drop func(*testing.B, S) (bytes float64),
) {
	b.Run(name, func(b *testing.B) {
		s := fresh(b)
		used := false
		b.ResetTimer()
		for b.Loop() {
			if used && each {
				b.StopTimer()
				drop(b, s)
				s = fresh(b)
				b.StartTimer()
			}
			run(b, s)
			used = true
		}
		rate(b, keys, "keys")
		per(b, keys, "key")
		b.ReportMetric(drop(b, s), "B/key")
	})
}

// dropOurs closes a store and returns the bytes of its tables for each record.
func dropOurs(keys int) func(*testing.B, *storage.Store) float64 {
	return func(b *testing.B, s *storage.Store) float64 {
		m, err := s.Metrics()
		must(b, err, s.Close())
		return float64(m.TableBytes) / float64(keys)
	}
}

func dropFloor(keys int) func(*testing.B, *floor) float64 {
	return func(b *testing.B, f *floor) float64 {
		size := f.db.Metrics().Table.Local.LiveSize
		must(b, f.db.Close())
		return float64(size) / float64(keys)
	}
}

func BenchmarkStore(b *testing.B) {
	c := newCrawl()
	want := func(b *testing.B, what string, got, want int) {
		if got != want {
			b.Fatalf("%d %s, want %d", got, what, want)
		}
	}
	ours := func(filled bool) func(*testing.B) *storage.Store {
		return func(b *testing.B) *storage.Store { return ourStore(b, c, filled) }
	}
	bare := func(filled bool) func(*testing.B) *floor {
		return func(b *testing.B) *floor { return newFloor(b, c, filled) }
	}
	shuffled := func(i int) (key, value []byte) { return c.keys[c.shuffle[i]], c.values[c.shuffle[i]] }
	input := func(i int) (key, value []byte) { return c.inputs[i].Key, c.inputs[i].Value }

	storeRun(b, "inject/seine", storeKeys, true, ours(false), func(b *testing.B, s *storage.Store) {
		want(b, "known", mergeOurs(b, s, storeKeys, shuffled), 0)
	}, dropOurs(storeKeys))
	storeRun(b, "inject/floor-pebble", storeKeys, true, bare(false), func(b *testing.B, f *floor) {
		pairs := make([]storage.Pair, storeKeys)
		for i := range pairs {
			pairs[i].Key, pairs[i].Value = shuffled(i)
		}
		want(b, "known", f.merge(b, pairs), 0)
	}, dropFloor(storeKeys))

	all := storeKeys + len(c.inputs) - c.known
	storeRun(b, "updatedb/seine", len(c.inputs), true, ours(true), func(b *testing.B, s *storage.Store) {
		want(b, "known", mergeOurs(b, s, len(c.inputs), input), c.known)
	}, dropOurs(all))
	storeRun(b, "updatedb/floor-pebble", len(c.inputs), true, bare(true), func(b *testing.B, f *floor) {
		want(b, "known", f.merge(b, slices.Clone(c.inputs)), c.known)
	}, dropFloor(all))

	storeRun(b, "generate/seine", storeKeys/2, true, ours(true), func(b *testing.B, s *storage.Store) {
		seen, due := generateOurs(b, s, 1)
		want(b, "records of hosts", seen, storeKeys/2)
		want(b, "due", due, c.due)
	}, dropOurs(storeKeys))
	storeRun(b, "generate/floor-pebble", storeKeys/2, true, bare(true), func(b *testing.B, f *floor) {
		seen, due := f.generate(b, c)
		want(b, "records of hosts", seen, storeKeys/2)
		want(b, "due", due, c.due)
	}, dropFloor(storeKeys))

	storeRun(b, "scan/seine", storeKeys, false, ours(true), func(b *testing.B, s *storage.Store) {
		want(b, "records", scanOurs(b, s), storeKeys)
	}, dropOurs(storeKeys))
	storeRun(b, "scan/floor-pebble", storeKeys, false, bare(true), func(b *testing.B, f *floor) {
		want(b, "records", f.scan(b), storeKeys)
	}, dropFloor(storeKeys))
}
