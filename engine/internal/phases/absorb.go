// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Absorbed counts what became of records that came from elsewhere.
type Absorbed struct {
	New     uint64 // URLs that crawldb did not have
	Newer   uint64 // known ones whose newest fetch was elsewhere
	Refused uint64 // that filters refuse
	// Withheld are the targets of links that are withheld here because they were elsewhere.
	Withheld uint64
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
		r := storage.Record{
			Status: storage.StatusUnfetched, Depth: was.Depth, Hops: was.Hops, Interval: was.Interval,
			Score: was.Score, FetchTime: now, Meta: lineMeta(&was),
		}
		if was.IsSitemap() {
			noteSitemap(&r)
		}
		if was.SchemeAssumed() {
			r.Meta = append(r.Meta, storage.Field{Name: storage.MetaScheme, Value: storage.SchemeAssumed})
		}
		value = storage.AppendRecord(value[:0], &r)
		return errors.Join(ctx.Err(), records.Add(as, value))
	})
	var done Absorbed
	if err == nil && records.Len() > 0 {
		ing := p.env.Store.NewIngestion()
		defer ing.Abort()
		done, err = p.absorb(ctx, ing, records, &arrival{changes: p.env.Admission.NewChanges()})
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

// arrival says how records come in.
type arrival struct {
	changes *admission.Changes
	// merge changes the record that crawldb has by another one of the URL, and reports whether it did; nil: known
	// records stay as they are.
	merge func(r, other *storage.Record) bool
	from  *storage.Store // that has them, and what is known of their hosts; nil: this one
}

// absorb brings records into crawldb with an ingestion, which it commits: those of new URLs as they are, and those of
// known ones merged. What is no page any more leaves the index.
func (p *Phases) absorb(
	ctx context.Context, ing *storage.Ingestion, records *storage.Sorter, how *arrival,
) (result Absorbed, err error) {
	run, err := records.Sort()
	if err != nil {
		return result, fmt.Errorf("sorting records: %w", err)
	}
	defer run.Close()
	a := absorbing{
		p: p, table: ing.Table(storage.Crawldb()), lowered: ing.Table(storage.LoweredRange()),
		hosts: p.newHostTally(ing), changes: how.changes, signatures: p.env.Sorter(storage.FoldLast),
		merge: how.merge, result: &result,
	}
	defer a.signatures.Close()
	defer a.hosts.close()
	if how.merge != nil {
		a.documents = p.env.Deletes(ing)
		defer a.documents.Abort()
	}
	if how.from != nil {
		a.facts = newFactsMerge(p.env.Store, how.from, ing.Table(storage.HostFactsRange()))
		a.hosts.there = storage.NewFinder(how.from, storage.HostCountsRange())
		defer func() { err = errors.Join(err, a.facts.close(), a.hosts.there.Close()) }()
	}
	err = storage.MergeJoin(ctx, p.env.Store, storage.Crawldb(), run, a.record)
	if err == nil {
		err = a.hosts.finish()
	}
	if err == nil {
		err = writeSignatures(ctx, a.signatures, ing)
	}
	if err == nil && a.documents != nil {
		_, err = a.documents.Finish()
	}
	if err != nil {
		return result, err
	}
	withheld, err := p.anyWithheld()
	if withheld = withheld || ing.Table(storage.WithheldRange()).Count() > 0; err == nil {
		err = a.changes.WriteTo(ing, withheld)
	}
	if err == nil {
		err = ing.Commit()
	}
	if err != nil {
		return result, err
	}
	return result, a.changes.Commit()
}

// absorbing is one run of absorb.
type absorbing struct {
	p              *Phases
	table, lowered *storage.TableWriter
	hosts          *hostTally
	changes        *admission.Changes
	signatures     *storage.Sorter
	documents      Deletes     // nil: none can go
	facts          *factsMerge // nil: none come
	merge          func(r, other *storage.Record) bool
	result         *Absorbed
	was, other     storage.Record
	value          []byte
}

// record brings in one record; old is that of crawldb, nil if it has none.
func (a *absorbing) record(key []byte, values [][]byte, old []byte) error {
	if err := storage.DecodeRecord(values[0], &a.other); err != nil {
		return fmt.Errorf("record of %s: %w", key, err)
	}
	if a.facts != nil {
		if err := a.facts.host(urlkey.HostKeyOf(key)); err != nil {
			return err
		}
	}
	a.was = storage.Record{}
	r, known := a.other, old != nil
	if known {
		if err := storage.DecodeRecord(old, &a.was); err != nil {
			return fmt.Errorf("crawldb record %s: %w", key, err)
		}
		r = a.was
		r.Meta = slices.Clone(a.was.Meta)
		if a.merge == nil || !a.merge(&r, &a.other) {
			_, err := a.hosts.enter(key) // fetching the host may have cost more there all the same
			return err
		}
		if err := a.merged(key, &r); err != nil {
			return err
		}
	} else {
		a.result.New++
	}
	a.p.scoreByDepth(&r)
	if r.Depth == 0 && !r.IsSitemap() && (!known || a.was.Depth != 0 || a.was.IsSitemap()) {
		a.changes.Seed(urlkey.Key(key))
	}
	a.value = storage.AppendRecord(a.value[:0], &r)
	return errors.Join(noteSignature(a.signatures, key, &a.was, &r), a.hosts.change(key, known, &a.was, &r),
		a.table.Set(key, a.value))
}

// merged notes that a known record became r.
func (a *absorbing) merged(key []byte, r *storage.Record) error {
	if r.LastFetch != a.was.LastFetch {
		a.result.Newer++
	}
	if a.was.Findable() && !r.Findable() {
		if err := a.documents.Delete(urlkey.Key(key)); err != nil {
			return fmt.Errorf("removing %s from the index: %w", key, err)
		}
	}
	return noteLowered(a.lowered, key, &a.was, r)
}

// ImportRecords merges the records of another store into crawldb (Nutch: mergedb). Of a URL that both have, the record
// that was fetched last counts, or, if both were then, the one that is due later: with its status, score, times and
// failures. Depth and redirects are the least of both, metadata is that of both, and that of the record that counts
// where both have a field. Content stays where it is: what only the other store has fetched has its status and its date
// here, but no signature and no validators, so the next fetch brings it; what this store has fetched keeps them, and
// leaves the index if it is gone since.
//
// Of the hosts of these records, hostdb gets what fetching has cost where that is more there, and what it learned where
// that is newer there. Links that the other store withholds are withheld here too, unless their target is known here.
//
//	crawldb there ─▶ accepted, by key ─┬▶ records, host counts, due range, signatures
//	crawldb here ──────────────────────┤
//	hostdb, withheld links there ──────┴▶ hosts' costs and facts, withheld links
//
// It is one ingestion. Doing it again changes nothing.
func (p *Phases) ImportRecords(
	ctx context.Context, from *storage.Store, o ImportOptions,
) (result Absorbed, err error) {
	ing := p.env.Store.NewIngestion()
	defer ing.Abort()
	how := arrival{changes: p.env.Admission.NewChanges(), merge: mergeRecord, from: from}
	for _, part := range o.Joins {
		how.changes.Join(part, o.MovedOn)
	}
	withheld, err := p.importWithheld(ctx, from, &o, ing.Table(storage.WithheldRange()))
	if withheld > 0 {
		how.changes.Ask()
	}
	records := p.env.Sorter(foldBetter)
	defer records.Close()
	refused := uint64(0)
	if err == nil {
		refused, err = p.readRecords(ctx, from, &o, records)
	}
	if err == nil {
		result, err = p.absorb(ctx, ing, records, &how)
	}
	if result.Refused, result.Withheld = refused, withheld; err != nil {
		return result, fmt.Errorf("merging records: %w", err)
	}
	return result, nil
}

// readRecords sorts the records of another store by the keys by which they are known here.
func (p *Phases) readRecords(
	ctx context.Context, from *storage.Store, o *ImportOptions, records *storage.Sorter,
) (refused uint64, err error) {
	begin, end := o.Part.Bounds()
	sc := from.Scan(storage.Crawldb(), begin, end)
	defer func() { err = errors.Join(err, sc.Close()) }()
	var r storage.Record
	var value []byte
	for n := 0; sc.Next(); n++ {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return refused, ctx.Err()
		}
		as, ok := o.accept(sc.Key())
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
		r.Voted = voted(&r)
		r.Segment, r.Signature, r.SimHash, r.Truncated = 0, storage.Signature{}, 0, false
		r.ETag, r.LastModified = "", ""
		r.Meta = slices.DeleteFunc(r.Meta, isUnlinked) // by the links there
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
	seed, before := r.IsSeed() || other.IsSeed(), other.Before()
	if newer {
		if r.Segment != 0 && !r.Findable() && before == "" {
			before = cmp.Or(r.Before(), r.Status.String())
		}
		content := r.Segment != 0 && hasContent(r.Status) && hasContent(other.Status)
		if !content {
			r.Status = other.Status
		}
		r.Score, r.Interval, r.Retries, r.HTTPStatus = other.Score, other.Interval, other.Retries, other.HTTPStatus
		r.LastFetch, r.FetchTime = other.LastFetch, other.FetchTime
	}
	if other.Voted && !voted(r) {
		r.Voted, changed = true, true
	}
	if other.Depth < r.Depth || other.Hops < r.Hops {
		r.Depth, r.Hops, changed = min(r.Depth, other.Depth), min(r.Hops, other.Hops), true
	}
	if seed && r.IsSitemap() {
		endSitemap(r)
		changed = true
	}
	for _, f := range other.Meta {
		if seed && f.Name == storage.MetaSitemap || f.Name == storage.MetaBefore {
			continue
		}
		i := slices.IndexFunc(r.Meta, func(g storage.Field) bool { return g.Name == f.Name })
		switch {
		case i < 0 && len(r.Meta) < storage.MetaFieldsMax:
			r.Meta, changed = append(r.Meta, f), true
		case i >= 0 && newer:
			r.Meta[i] = f
		}
	}
	if newer {
		if r.Status != storage.StatusUnfetched {
			before = ""
		}
		setBefore(r, before)
	}
	return changed || newer
}
