// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Record returns the record of a URL. Where there is none, the error wraps ErrNotFound. Why there is none
// depends on the settings of the crawl, which who only reads need not have.
func (in *Inspect) Record(u urlkey.URL) (Record, error) {
	r := Record{Key: u.Key()}
	ok, err := in.env.Store.Record(r.Key, &r.Record)
	if err != nil {
		return r, err
	}
	if ok {
		return r, in.addOutcome(in.env.Store, &r)
	}
	return r, fmt.Errorf("looking up %s in crawldb: %w: \"seine check url --dir DIR URL\" says why", u, ErrNotFound)
}

// Filter chooses records. The zero value chooses all.
type Filter struct {
	// Prefix begins the URLs of the records if it has "://", whether or not "*" ends it, and else their keys. Without
	// "," and ")" it is the name of a host, with its port if that is not the scheme's own; a URL has its host whole.
	Prefix string
	// Statuses are those of the records; none: any.
	Statuses []storage.Status
	// URL matches the records' URLs; nil: any.
	URL *regexp.Regexp
	// Sample is the number of records to choose of those, always the same ones; 0: all.
	Sample int
	// After is a key: only records behind it are streamed, without a Sample; "": all.
	After string
}

// chooses reports whether a record is chosen, leaving aside the prefix and the sample.
func (f *Filter) chooses(key []byte, r *storage.Record) bool {
	if len(f.Statuses) > 0 && !slices.Contains(f.Statuses, r.Status) {
		return false
	}
	if f.URL == nil {
		return true
	}
	u, err := urlkey.AppendURL(nil, key)
	return err == nil && f.URL.Match(u)
}

// Records streams the chosen records in key order.
func (in *Inspect) Records(ctx context.Context, f Filter) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		none := true
		keys, host, err := keysOf(f.Prefix)
		if err == nil {
			err = in.records(ctx, keys, &f, func(r Record, err error) bool {
				none = false
				return yield(r, err)
			})
		}
		if err == nil && none && host != "" {
			err = in.onlyWithPort(host)
		}
		if err != nil {
			yield(Record{}, err)
		}
	}
}

// keyShape is what keys begin with and end with.
type keyShape struct{ begin, end string }

// has reports whether a key that begins so ends so, too.
func (k keyShape) has(key []byte) bool { return strings.HasSuffix(string(key), k.end) }

// keysOf returns the shape of the keys that a prefix means, and their host; "": they may have several.
func keysOf(prefix string) (keys keyShape, host urlkey.HostKey, err error) {
	switch {
	case strings.Contains(prefix, "://"):
		keys.begin, keys.end, err = urlkey.KeyPrefix(strings.TrimSuffix(prefix, "*"))
		host = urlkey.Key(keys.begin).HostKey()
	case prefix == "" || strings.ContainsAny(prefix, ",)"):
		keys.begin = prefix
	default:
		host, err = urlkey.ParseHost(prefix)
		keys.begin = string(host)
	}
	return keys, host, err
}

// onlyWithPort returns an error that wraps ErrNotFound if a host is known only with a port.
func (in *Inspect) onlyWithPort(host urlkey.HostKey) error {
	_, err := in.Host(host)
	if errors.Is(err, ErrNotFound) && in.WithPort(host) == "" {
		return nil
	}
	return err
}

// records is Records with the shape of the keys. It does not yield the error that it returns.
func (in *Inspect) records(
	ctx context.Context, keys keyShape, f *Filter, yield func(Record, error) bool,
) (err error) {
	snapshot := in.env.Store.Snapshot()
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	list, err := in.env.Store.SegmentList()
	if err != nil {
		return fmt.Errorf("listing segments: %w", err)
	}
	batch := recordBatch{newest: newOutcomes(snapshot, list), size: recordsBatchMin}
	chosen := crawldb(ctx, snapshot, keys.begin, f.After)
	if f.Sample > 0 {
		if chosen, err = sample(ctx, snapshot, keys, f); err != nil {
			return err
		}
	}
	for e, err := range chosen {
		if err != nil {
			return err
		}
		if !keys.has(e.key) || !f.chooses(e.key, e.value) {
			continue
		}
		if !batch.add(e.key, e.value) {
			continue
		}
		if more, err := batch.flush(yield); err != nil || !more {
			return err
		}
	}
	_, err = batch.flush(yield)
	return err
}

// sample streams a sample of the chosen records, those whose keys have the greatest hashes, in key order.
func sample(
	ctx context.Context, rd *storage.Snapshot, keys keyShape, f *Filter,
) (iter.Seq2[entry[storage.Record], error], error) {
	best := best{limit: f.Sample}
	for e, err := range crawldb(ctx, rd, keys.begin, "") {
		if err != nil {
			return nil, err
		}
		if keys.has(e.key) && f.chooses(e.key, e.value) {
			best.offer(e.key, float64(xxh3.Hash(e.key)), 0)
		}
	}
	list := best.sorted()
	slices.SortFunc(list, func(a, b ranked) int { return strings.Compare(a.key, b.key) })
	return func(yield func(entry[storage.Record], error) bool) {
		var r storage.Record
		for _, x := range list {
			_, err := rd.Record(urlkey.Key(x.key), &r)
			if !yield(entry[storage.Record]{[]byte(x.key), &r}, err) || err != nil {
				return
			}
		}
	}, nil
}

// addOutcome finds the outcome of a single record.
func (in *Inspect) addOutcome(rd storage.Reader, r *Record) error {
	list, err := in.env.Store.SegmentList()
	if err != nil {
		return err
	}
	alone := []Record{*r}
	err = newOutcomes(rd, list).add(alone)
	r.Outcome, r.Group = alone[0].Outcome, alone[0].Group
	return err
}

// crawldb scans the records whose keys begin with a prefix.
func crawldb(
	ctx context.Context, rd storage.Reader, prefix, after string,
) iter.Seq2[entry[storage.Record], error] {
	from, to := prefixBounds([]byte(prefix))
	if after >= prefix && after != "" {
		from = append([]byte(after), 0)
	}
	return scan(ctx, rd, storage.Crawldb(), from, to, storage.DecodeRecord)
}

// TopRecords returns the n records with the highest scores, best first; of equal scores those fewer links from a seed
// come first, then those with the lesser key.
func (in *Inspect) TopRecords(ctx context.Context, n int) ([]Record, error) {
	snapshot := in.env.Store.Snapshot()
	defer snapshot.Close()
	best := best{limit: n}
	for e, err := range crawldb(ctx, snapshot, "", "") {
		if err != nil {
			return nil, err
		}
		best.offer(e.key, e.value.Score, e.value.Depth)
	}
	var list []Record
	for _, x := range best.sorted() {
		r := Record{Key: urlkey.Key(x.key)}
		if _, err := snapshot.Record(r.Key, &r.Record); err != nil {
			return nil, err
		}
		if err := in.addOutcome(snapshot, &r); err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}
