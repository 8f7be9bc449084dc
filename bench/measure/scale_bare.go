// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// bareStore is Pebble without seine, with the options of its tables.
type bareStore struct {
	db   *pebble.DB
	opts *pebble.Options
	dir  string
	n    int // tables made
}

// noLog drops Pebble's messages.
type noLog struct{}

func (noLog) Infof(string, ...any)  {}
func (noLog) Errorf(string, ...any) {}
func (noLog) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}

func openBare(dir string, cache int64) (*bareStore, error) {
	s := &bareStore{dir: dir, opts: &pebble.Options{
		CacheSize: cache, Logger: noLog{}, FormatMajorVersion: pebble.FormatMajorVersion(24),
	}}
	s.opts.Experimental.ValidateOnIngest = false
	for i := range s.opts.Levels {
		l := &s.opts.Levels[i]
		l.BlockSize, l.IndexBlockSize, l.FilterPolicy = 16<<10, 64<<10, bloom.FilterPolicy(10)
		l.Compression = func() *sstable.CompressionProfile { return sstable.FastCompression }
	}
	s.opts.EnsureDefaults()
	var err error
	s.db, err = pebble.Open(filepath.Join(dir, "bare"), s.opts)
	return s, err
}

// write ingests what each gives, as one table.
func (s *bareStore) write(each func(set func(key, value []byte) error) error) error {
	s.n++
	name := filepath.Join(s.dir, fmt.Sprintf("%d.sst", s.n))
	file, err := vfs.Default.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(file), s.opts.MakeWriterOptions(0, s.db.TableFormat()))
	if err := errors.Join(each(w.Set), w.Close()); err != nil {
		return err
	}
	return s.db.Ingest(context.Background(), []string{name})
}

// bare measures the floor of updatedb: the distinct targets of the same segments, sorted beforehand, are joined with
// the same records, and each of them is written. What it does not do: decode, sum up, keep what is due and the counts
// of hosts.
func (o *ScaleOptions) bare(ctx context.Context, r *scaleRound) error {
	o.Log(fmt.Sprintf("%d URLs: bare Pebble", r.web.n))
	s, err := openBare(r.dir, o.Memory/10)
	if err != nil {
		return err
	}
	defer s.db.Close()
	err = s.write(func(set func(key, value []byte) error) error {
		var list []scaleEntry
		var value []byte
		for h := range r.web.hosts {
			host := &r.web.hosts[h]
			list = list[:0]
			for i := range host.n {
				list = append(list, scaleEntry{host.appendKey(nil, i), host.first + i})
			}
			slices.SortFunc(list, compareEntries)
			for _, e := range list {
				rec := newScaleRecord(e.number)
				value = storage.AppendRecord(value[:0], &rec)
				if err := set(e.key, value); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	var spent, all time.Duration
	var links, targets int
	for k := range o.Segments {
		pages := r.web.pages(o.Pages, k)
		links += len(pages) * o.Links
		keys := r.targets(pages, o.Links)
		targets += len(keys)
		if err := rest(ctx); err != nil {
			return err
		}
		began := cpuTime()
		if err := s.join(keys); err != nil {
			return err
		}
		spent += cpuTime() - began
		if err := rest(ctx); err != nil {
			return err
		}
		all += cpuTime() - began
	}
	r.add("bare-cpu-µs/link", float64(spent.Nanoseconds())/1000/float64(links))
	r.add("bare-all-cpu-µs/link", float64(all.Nanoseconds())/1000/float64(links))
	r.add("targets/link", float64(targets)/float64(links))
	return nil
}

// targets returns the distinct keys of a segment's pages and their links, in order.
func (r *scaleRound) targets(pages []scalePage, count int) []urlkey.Key {
	var all, links []urlkey.Key
	seen := map[urlkey.Key]struct{}{}
	add := func(k urlkey.Key) {
		if _, ok := seen[k]; !ok {
			seen[k] = struct{}{}
			all = append(all, k)
		}
	}
	for i := range pages {
		add(urlkey.Key(pages[i].key))
		links = r.web.links(links[:0], &pages[i], count)
		for _, k := range links {
			add(k)
		}
	}
	slices.Sort(all)
	return all
}

// joinSteps is how many keys a join passes one by one before it seeks.
const joinSteps = 8

// join looks up ascending keys and writes each with its value.
func (s *bareStore) join(keys []urlkey.Key) error {
	rec := newScaleRecord(0)
	fresh := storage.AppendRecord(nil, &rec)
	it, err := s.db.NewIter(nil)
	if err != nil {
		return err
	}
	valid := it.First()
	var key []byte
	err = s.write(func(set func(key, value []byte) error) error {
		for _, k := range keys {
			key = append(key[:0], k...)
			for n := 0; valid && bytes.Compare(it.Key(), key) < 0; n++ {
				if n == joinSteps {
					valid = it.SeekGE(key)
					break
				}
				valid = it.Next()
			}
			value := fresh
			if valid && bytes.Equal(it.Key(), key) {
				value = it.Value()
			}
			if err := set(key, value); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, it.Close())
}
