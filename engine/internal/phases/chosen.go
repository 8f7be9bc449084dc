// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sort"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Keys are URLs by their keys, in order, each once. Any goroutine may read them.
type Keys struct {
	bytes []byte
	ends  []int
}

// Len returns their number.
func (k *Keys) Len() int { return len(k.ends) }

func (k *Keys) at(i int) []byte {
	start := 0
	if i > 0 {
		start = k.ends[i-1]
	}
	return k.bytes[start:k.ends[i]]
}

// add adds a key that comes after all others.
func (k *Keys) add(key []byte) {
	k.bytes = append(k.bytes, key...)
	k.ends = append(k.ends, len(k.bytes))
}

// size is the memory that they take.
func (k *Keys) size() int64 { return int64(len(k.bytes) + 8*len(k.ends)) }

// search returns the number of the first key from a number on that is not less than key.
func (k *Keys) search(from int, key []byte) int {
	return from + sort.Search(k.Len()-from, func(i int) bool { return bytes.Compare(k.at(from+i), key) >= 0 })
}

// Has reports whether a key is one of them.
func (k *Keys) Has(key []byte) bool {
	i := k.search(0, key)
	return i < k.Len() && bytes.Equal(k.at(i), key)
}

// scan is that of Targets. It seeks from the next key to the next row and back, so it costs what the fewer of the two
// cost.
func (k *Keys) scan(
	rd storage.Reader, r storage.Range, url func(key []byte) ([]byte, error), fn func(url, key, value []byte) error,
) error {
	if k.Len() == 0 {
		return nil
	}
	sc := rd.Scan(r, nil, nil)
	defer sc.Close()
	for i, ok := 0, sc.SeekGE(k.at(0)); ok && i < k.Len(); {
		u, err := url(sc.Key())
		if err != nil {
			return err
		}
		switch order := bytes.Compare(u, k.at(i)); {
		case order > 0:
			i = k.search(i+1, u)
		case order < 0:
			ok = sc.SeekGE(k.at(i))
		default:
			if err := fn(u, sc.Key(), sc.Value()); err != nil {
				return err
			}
			ok = sc.Next()
		}
	}
	return sc.Err()
}

// Unwanted says which URLs are.
type Unwanted struct {
	// Statuses are those of records of crawldb.
	Statuses []storage.Status
	// Accept, if not nil, returns the key by which a URL is to be known, and false if it is refused. Unwanted are those
	// that are refused, or known by another key: of crawldb, then such as only withheld links, inlinks, links of other
	// directories or fetchlists are known of.
	Accept func(key []byte) (as []byte, ok bool)
}

// UnwantedScan finds unwanted URLs, as many at a time as fit into memory. One goroutine.
type UnwantedScan struct {
	p     *Phases
	what  Unwanted
	steps []func(ctx context.Context, keys *Keys) (full bool, err error)
	from  []byte // where the first step goes on
}

// Unwanted returns a scan of the store.
func (p *Phases) Unwanted(what Unwanted) *UnwantedScan {
	f := &UnwantedScan{p: p, what: what}
	if len(what.Statuses) > 0 {
		f.steps = append(f.steps, f.byStatus)
	}
	if what.Accept != nil {
		f.steps = append(f.steps, f.refused(storage.Crawldb(), wholeKey),
			f.refused(storage.WithheldRange(), linkdbTarget), f.refused(storage.Linkdb(), linkdbTarget),
			f.sources, f.lists)
	}
	return f
}

// Next returns the next URLs; none at the end. Those that it returned before may be deleted meanwhile.
func (f *UnwantedScan) Next(ctx context.Context) (*Keys, error) {
	for len(f.steps) > 0 {
		var keys Keys
		full, err := f.steps[0](ctx, &keys)
		if err != nil {
			return nil, fmt.Errorf("looking for unwanted URLs: %w", err)
		}
		if full {
			f.from = append(bytes.Clone(keys.at(keys.Len()-1)), 0)
		} else {
			f.steps, f.from = f.steps[1:], nil
		}
		if keys.Len() > 0 {
			return &keys, nil
		}
	}
	return new(Keys), nil
}

// add adds a key and reports whether memory is full.
func (f *UnwantedScan) add(keys *Keys, key []byte) (full bool) {
	keys.add(key)
	return keys.size() >= f.p.env.TableBytes
}

// unwanted reports whether a URL is refused, or known by another key.
func (f *UnwantedScan) unwanted(key []byte) bool {
	as, ok := f.what.Accept(key)
	return !ok || !bytes.Equal(as, key)
}

// refused returns a step through a range. url cuts the URL's key out of a key.
func (f *UnwantedScan) refused(
	r storage.Range, url func([]byte) ([]byte, error),
) func(context.Context, *Keys) (bool, error) {
	return func(ctx context.Context, keys *Keys) (full bool, err error) {
		sc := f.p.env.Store.Scan(r, f.from, nil)
		defer func() { err = errors.Join(err, sc.Close()) }()
		var last []byte
		for n := 0; sc.Next(); n++ {
			if n%ctxCheckKeys == 0 && ctx.Err() != nil {
				return false, ctx.Err()
			}
			u, err := url(sc.Key())
			if err != nil {
				return false, err
			}
			if n > 0 && bytes.Equal(u, last) {
				continue
			}
			last = append(last[:0], u...)
			if f.unwanted(u) && f.add(keys, u) {
				return true, nil
			}
		}
		return false, sc.Err()
	}
}

// lists adds a step through each fetchlist: FreeGenerate makes some of URLs that crawldb does not know.
func (f *UnwantedScan) lists(context.Context, *Keys) (full bool, err error) {
	list, err := f.p.env.Store.SegmentList()
	if err != nil {
		return false, fmt.Errorf("listing segments: %w", err)
	}
	for _, s := range list {
		if s.State == storage.SegmentOpen {
			f.steps = append(f.steps, f.refused(storage.Fetchlist(s.Number), wholeKey))
		}
	}
	return false, nil
}

// sources is a step through the pages that ImportLinks brought links of, which crawldb need not know.
func (f *UnwantedScan) sources(ctx context.Context, keys *Keys) (full bool, err error) {
	some, err := f.p.anyForeign()
	if err != nil || !some {
		return false, err
	}
	pages := f.p.env.Sorter(storage.FoldLast)
	defer func() { err = errors.Join(err, pages.Close()) }()
	from := string(f.from)
	err = f.p.eachLink(ctx, func(_, source []byte, segment uint32) error {
		if segment != importedSegment || string(source) < from {
			return nil
		}
		return pages.Add(source, nil)
	})
	if err != nil {
		return false, err
	}
	run, err := pages.Sort()
	if err != nil {
		return false, fmt.Errorf("sorting pages: %w", err)
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	for n := 0; run.Next(); n++ {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		if f.unwanted(run.Key()) && f.add(keys, run.Key()) {
			return true, nil
		}
	}
	return false, run.Err()
}

// byStatus reads the records of the hosts that have such ones.
func (f *UnwantedScan) byStatus(ctx context.Context, keys *Keys) (full bool, err error) {
	hosts := f.p.env.Store.Scan(storage.HostCountsRange(), urlkey.HostKeyOf(f.from), nil)
	defer func() { err = errors.Join(err, hosts.Close()) }()
	var c storage.HostCounts
	for n := 0; hosts.Next(); n++ {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		if err := storage.DecodeHostCounts(hosts.Value(), &c); err != nil {
			return false, fmt.Errorf("hostdb counts of %s: %w", hosts.Key(), err)
		}
		some := uint32(0)
		for _, s := range f.what.Statuses {
			some += c.ByStatus[s]
		}
		if some == 0 {
			continue
		}
		if full, err := f.ofHost(ctx, hosts.Key(), keys); full || err != nil {
			return full, err
		}
	}
	return false, hosts.Err()
}

func (f *UnwantedScan) ofHost(ctx context.Context, host []byte, keys *Keys) (full bool, err error) {
	from := host
	if bytes.Compare(f.from, from) > 0 {
		from = f.from
	}
	sc := f.p.env.Store.Scan(storage.Crawldb(), from, PrefixEnd(host))
	defer func() { err = errors.Join(err, sc.Close()) }()
	var r storage.Record
	for n := 0; sc.Next(); n++ {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		if err := storage.DecodeRecord(sc.Value(), &r); err != nil {
			return false, fmt.Errorf("crawldb record %s: %w", sc.Key(), err)
		}
		for _, s := range f.what.Statuses {
			if r.Status == s {
				full = f.add(keys, sc.Key())
			}
		}
		if full {
			return true, nil
		}
	}
	return false, sc.Err()
}
