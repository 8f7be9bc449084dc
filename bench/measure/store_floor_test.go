// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/seine-crawler/seine/storage"
)

// What is measured: the floor of store_test.go, which says what it does and leaves out: Pebble with the options of
// seine's tables, on keys, values and bounds that were made beforehand. How to run:
//
//	go test -run '^$' -bench Store/.*/floor ./bench/measure

// floor is Pebble alone.
type floor struct {
	db   *pebble.DB
	opts *pebble.Options
	dir  string
	key  []byte // built of a prefix and a key
	n    int    // tables made
}

// silent drops Pebble's messages.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}

// newFloor opens a database with the options of our store's tables.
func newFloor(b *testing.B, c *crawl, filled bool) *floor {
	f := &floor{dir: b.TempDir()}
	f.opts = &pebble.Options{CacheSize: storeCache, MemTableSize: storage.DefaultMemTableBytes, Logger: silent{},
		FormatMajorVersion: pebble.FormatMajorVersion(24)}
	f.opts.Experimental.ValidateOnIngest = false
	for i := range f.opts.Levels {
		l := &f.opts.Levels[i]
		l.BlockSize, l.IndexBlockSize, l.FilterPolicy = 16<<10, 64<<10, bloom.FilterPolicy(10)
		l.Compression = func() *sstable.CompressionProfile { return sstable.BalancedCompression }
	}
	f.opts.EnsureDefaults()
	var err error
	f.db, err = pebble.Open(filepath.Join(f.dir, "db"), f.opts)
	must(b, err)
	if filled {
		w, ingest := f.table(b)
		for i, k := range c.keys {
			must(b, w.Set(f.whole('c', k), c.values[i]))
		}
		ingest()
	}
	return f
}

func (f *floor) whole(prefix byte, key []byte) []byte {
	f.key = append(append(f.key[:0], prefix), key...)
	return f.key
}

// table begins a table; ingest ends and ingests it.
func (f *floor) table(b *testing.B) (w *sstable.Writer, ingest func()) {
	f.n++
	name := filepath.Join(f.dir, fmt.Sprintf("%d.sst", f.n))
	file, err := vfs.Default.Create(name, vfs.WriteCategoryUnspecified)
	must(b, err)
	w = sstable.NewWriter(objstorageprovider.NewFileWritable(file), f.opts.MakeWriterOptions(0, f.db.TableFormat()))
	return w, func() { must(b, w.Close(), f.db.Ingest(context.Background(), []string{name})) }
}

func (f *floor) iter(b *testing.B) *pebble.Iterator {
	it, err := f.db.NewIter(&pebble.IterOptions{LowerBound: []byte{'c'}, UpperBound: []byte{'d'}})
	must(b, err)
	return it
}

func (f *floor) merge(b *testing.B, pairs []storage.Pair) (known int) {
	slices.SortFunc(pairs, func(p, q storage.Pair) int { return bytes.Compare(p.Key, q.Key) })
	it := f.iter(b)
	w, ingest := f.table(b)
	for _, p := range pairs {
		whole := f.whole('c', p.Key)
		if it.SeekGE(whole) && bytes.Equal(it.Key(), whole) && len(it.Value()) > 0 {
			known++
		}
		if err := w.Set(whole, p.Value); err != nil {
			b.Fatal(err)
		}
	}
	must(b, it.Close())
	ingest()
	return known
}

// generate reads the records of every other host and writes the ones that are due.
func (f *floor) generate(b *testing.B, c *crawl) (seen, due int) {
	it := f.iter(b)
	w, ingest := f.table(b)
	var end, whole []byte
	for h := 0; h < len(c.hosts); h += 2 {
		_, to := storage.HostBounds(c.hosts[h])
		end = append(append(end[:0], 'c'), to...)
		i := h * hostPages
		for ok := it.SeekGE(f.whole('c', []byte(c.hosts[h]))); ok && bytes.Compare(it.Key(), end) < 0; ok = it.Next() {
			seen++
			if c.entries[i] != nil && len(it.Value()) > 0 {
				due++
				whole = append(append(whole[:0], 'f'), it.Key()[1:]...)
				if err := w.Set(whole, c.entries[i]); err != nil {
					b.Fatal(err)
				}
			}
			i++
		}
	}
	must(b, it.Close())
	ingest()
	return seen, due
}

func (f *floor) scan(b *testing.B) (seen int) {
	it := f.iter(b)
	total := 0
	for ok := it.First(); ok; ok = it.Next() {
		total += len(it.Value())
		seen++
	}
	must(b, it.Close())
	if total < 20*seen {
		b.Fatalf("%d bytes in %d values", total, seen)
	}
	return seen
}
