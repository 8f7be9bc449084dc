// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// LinksImported counts what ImportLinks did.
type LinksImported struct {
	Links   uint64 // taken over
	Refused uint64 // links whose source or target Accept refuses
	LeftOut uint64 // targets that have too many links already
}

// ImportLinks adds the links of another store to linkdb (Nutch: mergelinkdb). Of each page there, only the links of the
// version that its crawldb knows are taken. A page that this store has fetched has the links that it saw itself; none
// of the other store's are taken, and those that were taken before the fetch do not count any more.
//
//	linkdb there, by target ─▶ by source ─┐
//	crawldb there ────────────────────────┴▶ links of newest versions, by target ─┬▶ merged rows
//	linkdb here ──────────────────────────────────────────────────────────────────┘
//
// It is one ingestion. Doing it again changes nothing. Phases that write linkdb must not run beside it.
func (p *Phases) ImportLinks(
	ctx context.Context, from *storage.Store, o ImportOptions,
) (result LinksImported, err error) {
	i := importing{
		p: p, o: o, from: from, result: &result, sources: p.env.Sorter(nil), targets: p.env.Sorter(storage.FoldLast),
	}
	defer func() { err = errors.Join(err, i.sources.Close(), i.targets.Close()) }()
	for _, step := range []func(context.Context) error{i.read, i.choose, i.write} {
		if err := step(ctx); err != nil {
			return result, fmt.Errorf("taking over links: %w", err)
		}
	}
	return result, nil
}

// importing is one run of ImportLinks. The sorters keep a link as parts that end in a byte 0, which no key has.
type importing struct {
	p       *Phases
	o       ImportOptions
	from    *storage.Store
	result  *LinksImported
	sources *storage.Sorter // source → segment, target, anchor
	targets *storage.Sorter // target, 0, source, 0, anchor → nothing
	value   []byte
}

// read sorts the links of the other store by source.
func (i *importing) read(ctx context.Context) (err error) {
	begin, end := i.o.Part.Bounds() // of the targets
	rows := i.from.Scan(storage.Linkdb(), begin, end)
	defer func() { err = errors.Join(err, rows.Close()) }()
	for n := 0; rows.Next(); n++ {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := i.row(rows.Key(), rows.Value(), false); err != nil {
			return err
		}
	}
	return rows.Err()
}

// row adds the links of a row of the other store, or those of its links that it has from other stores.
func (i *importing) row(key, value []byte, foreign bool) error {
	target, under, err := storage.SplitLinkdbKey(key)
	if err != nil {
		return err
	}
	var added error
	err = storage.VisitLinks(value, under, func(from, anchor []byte, segment uint32) bool {
		if !foreign || segment == importedSegment {
			i.value = storage.AppendLinkdbKey(i.value[:0], target, segment)
			added = i.sources.Add(from, append(i.value, anchor...))
		}
		return added == nil
	})
	if err = errors.Join(err, added); err != nil {
		return fmt.Errorf("inlinks of %s: %w", target, err)
	}
	return nil
}

// RestoreLinks brings the links of other stores from a damaged store into one that was made of WARC files, which do not
// have them: those that can be read, of pages that this store has not fetched. It comes after Restore, and after meta,
// which says whether there are such links. It returns the number of damaged places.
func (p *Phases) RestoreLinks(ctx context.Context, old *storage.Store) (gaps uint64, err error) {
	if some, err := p.anyForeign(); err != nil || !some {
		return 0, err
	}
	i := importing{
		p: p, from: p.env.Store, result: &LinksImported{}, sources: p.env.Sorter(nil),
		targets: p.env.Sorter(storage.FoldLast),
	}
	defer func() { err = errors.Join(err, i.sources.Close(), i.targets.Close()) }()
	gaps, err = old.Salvage(storage.Linkdb(), storage.Beyond, func(key, value []byte) error {
		err := i.row(key, value, true)
		if errors.Is(err, storage.ErrCorrupt) {
			err = nil // no program wrote the row
		}
		return errors.Join(ctx.Err(), err)
	})
	if err == nil && i.sources.Len() > 0 {
		if err = i.choose(ctx); err == nil {
			err = i.write(ctx)
		}
	}
	if err != nil {
		err = fmt.Errorf("restoring links of other directories: %w", err)
	}
	return gaps, err
}

// choose takes the links of newest versions and sorts them by target.
func (i *importing) choose(ctx context.Context) error {
	run, err := i.sources.Sort()
	if err != nil {
		return err
	}
	defer run.Close()
	var r storage.Record
	from := storage.Crawldb()
	return storage.MergeJoin(ctx, i.from, from, run, func(source []byte, values [][]byte, old []byte) error {
		newest := uint32(importedSegment)
		if old != nil {
			if err := storage.DecodeRecord(old, &r); err != nil {
				return fmt.Errorf("crawldb record %s: %w", source, err)
			}
			newest = r.Segment
		}
		as, ok := i.o.accept(source)
		if own, err := i.fetched(as, ok); err != nil || own {
			return err
		}
		for _, v := range values {
			at := bytes.IndexByte(v, 0)
			target, segment, err := storage.SplitLinkdbKey(v[:at+5])
			if err != nil {
				return err
			}
			if segment != newest {
				continue
			}
			to, taken := i.o.accept(target)
			if !ok || !taken {
				i.result.Refused++
				continue
			}
			i.value = append(append(append(i.value[:0], to...), 0), as...)
			if err := i.targets.Add(append(append(i.value, 0), v[at+5:]...), nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// fetched reports whether this store has fetched a page, if it is one that is accepted.
func (i *importing) fetched(key []byte, ok bool) (bool, error) {
	var r storage.Record
	if !ok {
		return false, nil
	}
	known, err := i.p.env.Store.Record(urlkey.Key(key), &r)
	return known && r.Segment != 0, err
}

// write merges the links into linkdb, target by target.
func (i *importing) write(ctx context.Context) (err error) {
	run, err := i.targets.Sort()
	if err != nil {
		return err
	}
	defer run.Close()
	ing := i.p.env.Store.NewIngestion()
	defer ing.Abort()
	rows := storage.NewFinder(i.p.env.Store, storage.Linkdb())
	defer func() { err = errors.Join(err, rows.Close()) }()
	w := linkImport{i: i, rows: rows, table: ing.Table(storage.Linkdb()), limit: int(i.p.mergedBytes())}
	for n := 0; run.Next(); n++ {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := w.link(run.Key()); err != nil {
			return err
		}
	}
	if err = errors.Join(run.Err(), w.finish()); err != nil {
		return err
	}
	if i.result.Links > 0 {
		if err := ing.Table(storage.Meta()).Set([]byte(metaForeign), nil); err != nil {
			return err
		}
	}
	return ing.Commit()
}

// linkImport gathers the new links of one target.
type linkImport struct {
	i      *importing
	rows   *storage.Finder
	table  *storage.TableWriter
	limit  int
	target []byte
	fresh  storage.LinkRow
	over   bool // there are too many for a row: none are kept
	links  uint64
	value  []byte
}

// link adds one link, as importing sorts them.
func (w *linkImport) link(key []byte) error {
	at := bytes.IndexByte(key, 0)
	target, rest := key[:at], key[at+1:]
	if !bytes.Equal(target, w.target) {
		if err := w.finish(); err != nil {
			return err
		}
		w.target = append(w.target[:0], target...)
		w.fresh.Reset(true)
		w.links, w.over = 0, false
	}
	w.links++
	if w.over {
		return nil
	}
	at = bytes.IndexByte(rest, 0)
	w.fresh.Add(rest[:at], rest[at+1:], importedSegment)
	if w.over = w.fresh.Size() > w.limit; w.over {
		w.fresh.Reset(true)
	}
	return nil
}

// finish writes the merged row of the current target.
func (w *linkImport) finish() error {
	switch {
	case w.links == 0:
		return nil
	case w.over:
		w.i.result.LeftOut++
		return nil
	}
	key := storage.AppendLinkdbKey(nil, w.target, storage.MergedSegment)
	old, err := w.rows.Find(key)
	if err != nil {
		return err
	}
	w.value = w.fresh.Append(w.value[:0])
	if len(old)+len(w.value) > w.limit {
		w.i.result.LeftOut++
		return nil
	}
	if old == nil {
		w.i.result.Links += w.links
		return w.table.Set(key, w.value)
	}
	var merge storage.LinkMerge
	if err := errors.Join(merge.Add(bytes.Clone(old), 0), merge.Add(w.value, 0)); err != nil {
		return fmt.Errorf("inlinks of %s: %w", w.target, err)
	}
	var all storage.LinkRow
	all.Reset(true)
	known := map[string]bool{} // texts of the current source that were imported
	var last []byte
	err = merge.Each(func(from, anchor []byte, segment uint32) error {
		if !bytes.Equal(from, last) {
			last = append(last[:0], from...)
			clear(known)
		}
		if segment == importedSegment && known[string(anchor)] {
			w.links-- // it was taken over before
			return nil
		}
		known[string(anchor)] = segment == importedSegment
		all.Add(from, anchor, segment)
		return nil
	})
	if err != nil {
		return fmt.Errorf("inlinks of %s: %w", w.target, err)
	}
	w.i.result.Links += w.links
	return w.table.Set(key, all.Append(nil))
}
