// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Absorbed counts what became of records that came from elsewhere.
type Absorbed struct {
	New     uint64 // URLs that crawldb did not have
	Newer   uint64 // known ones whose newest fetch was elsewhere
	Refused uint64 // that filters refuse
}

// Rename makes URLs known by the keys that normalizers give them now: those of some keys that are to be deleted. A URL
// that is known by its new key already stays as it is; the others were never fetched by it, so they are due.
func (p *Phases) Rename(ctx context.Context, keys *Keys, accept func(key []byte) ([]byte, bool)) (uint64, error) {
	records := p.env.Sorter(foldBetter)
	defer records.Close()
	var was storage.Record
	var value []byte
	now := p.now()
	err := keys.scan(p.env.Store, storage.Crawldb(), wholeKey, func(_, key, old []byte) error {
		as, ok := accept(key)
		if !ok {
			return ctx.Err()
		}
		if err := storage.DecodeRecord(old, &was); err != nil {
			return fmt.Errorf("crawldb record %s: %w", key, err)
		}
		value = storage.AppendRecord(value[:0], &storage.Record{
			Status: storage.StatusUnfetched, Depth: was.Depth, Hops: was.Hops, Interval: was.Interval,
			Score: was.Score, FetchTime: now,
		})
		return errors.Join(ctx.Err(), records.Add(as, value))
	})
	var done Absorbed
	if err == nil && records.Len() > 0 {
		done, err = p.absorb(ctx, records, func(_, _ *storage.Record) bool { return false })
	}
	if err != nil {
		return done.New, fmt.Errorf("renaming URLs: %w", err)
	}
	return done.New, nil
}

// foldBetter keeps, of two records of one URL, the one that was fetched last, then the better one.
func foldBetter(dst, a, b []byte) []byte {
	var x, y storage.Record
	if storage.DecodeRecord(a, &x) != nil || storage.DecodeRecord(b, &y) == nil && mergesInto(&x, &y) {
		return append(dst, b...)
	}
	return append(dst, a...)
}

// mergesInto reports whether the second of two records of a URL counts: the one that was fetched last, then the one
// with the better score, then that of less depth.
func mergesInto(x, y *storage.Record) bool {
	switch {
	case x.LastFetch != y.LastFetch:
		return x.LastFetch < y.LastFetch
	case x.Score != y.Score:
		return x.Score < y.Score
	}
	return x.Depth > y.Depth
}

// absorb brings records into crawldb in one ingestion: those of new URLs as they are. Of a known one, merge changes
// the record that crawldb has by the other, and reports whether it did.
func (p *Phases) absorb(
	ctx context.Context, records *storage.Sorter, merge func(r, other *storage.Record) bool,
) (result Absorbed, err error) {
	run, err := records.Sort()
	if err != nil {
		return result, fmt.Errorf("sorting records: %w", err)
	}
	defer run.Close()
	signatures := p.env.Sorter(foldLast)
	defer signatures.Close()
	ing := p.env.Store.NewIngestion()
	defer ing.Abort()
	table, hosts, changes := ing.Table(storage.Crawldb()), p.newHostTally(ing), p.env.Admission.NewChanges()
	defer hosts.close()
	lowered := ing.Table(storage.LoweredRange())
	var was, r, other storage.Record
	var value []byte
	one := func(key []byte, values [][]byte, old []byte) error {
		if err := storage.DecodeRecord(values[0], &other); err != nil {
			return fmt.Errorf("record of %s: %w", key, err)
		}
		was, r = storage.Record{}, other
		if old != nil {
			if err := storage.DecodeRecord(old, &was); err != nil {
				return fmt.Errorf("crawldb record %s: %w", key, err)
			}
			r = was
			r.Meta = slices.Clone(was.Meta)
			fetched := r.LastFetch
			if !merge(&r, &other) {
				return nil
			}
			if r.LastFetch != fetched {
				result.Newer++
			}
			if err := noteLowered(lowered, key, &was, &r); err != nil {
				return err
			}
		} else {
			result.New++
		}
		if r.Depth == 0 && (old == nil || was.Depth != 0) {
			changes.Seed(urlkey.Key(key))
		}
		value = storage.AppendRecord(value[:0], &r)
		return errors.Join(noteSignature(signatures, key, &was, &r), hosts.change(key, old != nil, &was, &r),
			table.Set(key, value))
	}
	err = storage.MergeJoin(ctx, p.env.Store, storage.Crawldb(), run, one)
	if err == nil {
		err = hosts.finish()
	}
	if err == nil {
		err = writeSignatures(ctx, signatures, ing)
	}
	if err != nil {
		return result, err
	}
	withheld, err := p.anyWithheld()
	if err == nil {
		err = changes.WriteTo(ing, withheld)
	}
	if err == nil {
		err = ing.Commit()
	}
	if err != nil {
		return result, err
	}
	return result, changes.Commit()
}

// ImportRecords merges the records of another store into crawldb (Nutch: mergedb). Of a URL that both have, the record
// that was fetched last counts, or, if both were then, the one that is due later: with its status, score, times and
// failures. Depth and redirects are the least of both, metadata is that of both, and that of the record that counts
// where both have a field. Content stays where it is: what only the other store has fetched has its status and its date
// here, but no signature and no validators, so the next fetch brings it; what this store has fetched keeps them.
//
//	crawldb there ─▶ accepted, by key ─┬▶ records, host counts, due range, signatures
//	crawldb here ──────────────────────┘
//
// It is one ingestion. Doing it again changes nothing.
func (p *Phases) ImportRecords(
	ctx context.Context, from *storage.Store, accept func(key []byte) (as []byte, ok bool),
) (result Absorbed, err error) {
	records := p.env.Sorter(foldBetter)
	defer records.Close()
	refused, err := p.readRecords(ctx, from, accept, records)
	if err == nil {
		result, err = p.absorb(ctx, records, mergeRecord)
	}
	if result.Refused = refused; err != nil {
		return result, fmt.Errorf("merging records: %w", err)
	}
	return result, nil
}

// readRecords sorts the records of another store by the keys by which they are known here.
func (p *Phases) readRecords(
	ctx context.Context, from *storage.Store, accept func([]byte) ([]byte, bool), records *storage.Sorter,
) (refused uint64, err error) {
	sc := from.Scan(storage.Crawldb(), nil, nil)
	defer func() { err = errors.Join(err, sc.Close()) }()
	var r storage.Record
	var value []byte
	for n := 0; sc.Next(); n++ {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return refused, ctx.Err()
		}
		as, ok := sc.Key(), true
		if accept != nil {
			as, ok = accept(sc.Key())
		}
		if !ok {
			refused++
			continue
		}
		if err := storage.DecodeRecord(sc.Value(), &r); err != nil {
			return refused, fmt.Errorf("crawldb record %s there: %w", sc.Key(), err)
		}
		if r.Status == storage.StatusDuplicate { // of a page there
			r.Status = storage.StatusFetched
		}
		r.Segment, r.Signature, r.SimHash, r.Truncated = 0, storage.Signature{}, 0, false
		r.ETag, r.LastModified = "", ""
		value = storage.AppendRecord(value[:0], &r)
		if err := records.Add(as, value); err != nil {
			return refused, err
		}
	}
	return refused, sc.Err()
}

// mergeRecord merges the record of another store into r and reports whether that changed it.
func mergeRecord(r, other *storage.Record) (changed bool) {
	newer := other.LastFetch > r.LastFetch || other.LastFetch == r.LastFetch && other.FetchTime > r.FetchTime
	if newer {
		content := r.Segment != 0 && hasContent(r.Status) && hasContent(other.Status)
		if !content {
			r.Status = other.Status
		}
		r.Score, r.Interval, r.Retries, r.HTTPStatus = other.Score, other.Interval, other.Retries, other.HTTPStatus
		r.LastFetch, r.FetchTime = other.LastFetch, other.FetchTime
	}
	if other.Depth < r.Depth || other.Hops < r.Hops {
		r.Depth, r.Hops, changed = min(r.Depth, other.Depth), min(r.Hops, other.Hops), true
	}
	for _, f := range other.Meta {
		i := slices.IndexFunc(r.Meta, func(g storage.Field) bool { return g.Name == f.Name })
		switch {
		case i < 0 && len(r.Meta) < storage.MetaFieldsMax:
			r.Meta, changed = append(r.Meta, f), true
		case i >= 0 && newer:
			r.Meta[i] = f
		}
	}
	return changed || newer
}

// hasContent reports whether a status says that content was fetched and stands.
func hasContent(s storage.Status) bool {
	return s == storage.StatusFetched || s == storage.StatusNotModified || s == storage.StatusDuplicate
}
