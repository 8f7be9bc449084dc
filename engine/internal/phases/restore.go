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

// Restored counts what Restore took over from a damaged store.
type Restored struct {
	Records uint64 // that could be read
	Due     uint64 // of them, those whose newest page is lost: they are due
	Gaps    uint64 // damaged places between
}

// Restore brings the records of a damaged store, as far as they can be read, into one that was made of the WARC files
// alone. What the files do not say, only the old records have: injected scores, intervals and metadata, depths, and
// URLs that no page of the files links to. What the files do say of a page, its segment, signature and outcome, is
// right in the new store: the old one may name a page that is lost. Such a page is due, without validators. Where all
// records of the old store can be read, what it does not have was deleted.
//
// The new store must have been made of the segments that the old one had updated, and of no others. If that is not
// certain, nothing counts as deleted.
func (p *Phases) Restore(ctx context.Context, old *storage.Store, certain bool) (Restored, error) {
	r := restoring{p: p, now: p.now(), signatures: p.env.Sorter(storage.FoldLast), old: p.env.Sorter(storage.FoldLast)}
	defer r.signatures.Close()
	defer r.old.Close()
	err := r.read(ctx, old)
	if err == nil {
		// Which links the old store withheld says too what was deleted.
		var gaps uint64
		gaps, err = old.Salvage(storage.WithheldRange(), storage.Beyond, func(_, _ []byte) error { return ctx.Err() })
		r.result.Gaps += gaps
	}
	if err == nil && r.result.Gaps == 0 && certain {
		err = r.remove(ctx, old)
	}
	if err == nil {
		err = r.merge(ctx)
	}
	if err != nil {
		return r.result, fmt.Errorf("restoring records of the damaged store: %w", err)
	}
	return r.result, nil
}

// restoring is one run of Restore.
type restoring struct {
	p          *Phases
	now        int64
	old        *storage.Sorter // key → record
	signatures *storage.Sorter // see noteSignature
	result     Restored
	value      []byte
}

// read sorts the old records. Behind a damaged place it goes on at the next URL that the new store has.
func (r *restoring) read(ctx context.Context, old *storage.Store) error {
	known := r.p.env.Store.Scan(storage.Crawldb(), nil, nil)
	defer known.Close()
	next := func(after []byte) []byte {
		if known.SeekGE(append(append([]byte(nil), after...), 0)) {
			return known.Key()
		}
		return nil
	}
	var record storage.Record
	var err error
	r.result.Gaps, err = old.Salvage(storage.Crawldb(), next, func(key, value []byte) error {
		if r.result.Records%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if _, err := urlkey.Key(key).URL(); err != nil || storage.DecodeRecord(value, &record) != nil {
			return nil
		}
		r.result.Records++
		return r.old.Add(key, value)
	})
	return err
}

// remove removes what the old store does not have, neither as a record nor as a withheld link: the records and
// withheld links of such URLs, and the links to them. Where the scope or a filter of the old store was narrower, it
// withheld what is a record now; where it was wider, a record of the old store is withheld now.
func (r *restoring) remove(ctx context.Context, old *storage.Store) (err error) {
	ing := r.p.env.Store.NewIngestion()
	defer ing.Abort()
	gone := removing{
		r: r, ctx: ctx, ing: ing, signatures: r.p.env.Sorter(storage.FoldLast), links: r.p.env.Sorter(nil),
		known: storage.NewFinder(old, storage.Crawldb()), withheld: old.Scan(storage.WithheldRange(), nil, nil),
		linkdb: r.p.env.Store.Scan(storage.Linkdb(), nil, nil),
	}
	defer func() { err = errors.Join(err, gone.close()) }()
	if err := gone.records(); err != nil {
		return err
	}
	if err := gone.restart(old); err != nil {
		return err
	}
	if err := gone.rows(); err != nil {
		return err
	}
	if !gone.any {
		return nil
	}
	if err := writeSignatures(ctx, gone.signatures, ing); err != nil {
		return err
	}
	run, err := gone.links.Sort()
	if err != nil {
		return fmt.Errorf("sorting links: %w", err)
	}
	defer run.Close()
	if _, err := ing.RemoveInlinks(ctx, run, nil); err != nil {
		return err
	}
	return ing.Commit()
}

// removing is one run of remove. It looks keys up in their order; restart begins anew.
type removing struct {
	r          *restoring
	ctx        context.Context
	ing        *storage.Ingestion
	signatures *storage.Sorter
	links      *storage.Sorter // rows of linkdb; no value: all of it goes
	any        bool
	known      *storage.Finder  // the old records
	withheld   *storage.Scanner // of the old store
	linkdb     *storage.Scanner // of the new one
	steps      int
}

func (g *removing) close() error {
	return errors.Join(g.signatures.Close(), g.links.Close(), g.known.Close(), g.withheld.Close(), g.linkdb.Close())
}

func (g *removing) restart(old *storage.Store) error {
	err := errors.Join(g.known.Close(), g.withheld.Close(), g.linkdb.Close())
	g.known, g.withheld = storage.NewFinder(old, storage.Crawldb()), old.Scan(storage.WithheldRange(), nil, nil)
	g.linkdb = g.r.p.env.Store.Scan(storage.Linkdb(), nil, nil)
	return err
}

// deleted reports whether the old store does not have a URL.
func (g *removing) deleted(key []byte) (bool, error) {
	if g.steps++; g.steps%ctxCheckKeys == 1 && g.ctx.Err() != nil {
		return false, g.ctx.Err()
	}
	value, err := g.known.Find(key)
	if err != nil || value != nil {
		return false, err
	}
	kept, err := hasTarget(g.withheld, key)
	return !kept, err
}

// records removes records, and notes the links to them.
func (g *removing) records() (err error) {
	records, hosts := g.ing.Table(storage.Crawldb()), g.r.p.newHostTally(g.ing)
	defer hosts.close()
	sc := g.r.p.env.Store.Scan(storage.Crawldb(), nil, nil)
	defer func() { err = errors.Join(err, sc.Close()) }()
	var was storage.Record
	for sc.Next() {
		gone, err := g.deleted(sc.Key())
		if err == nil && gone {
			g.any = true
			if err = storage.DecodeRecord(sc.Value(), &was); err == nil {
				err = errors.Join(noteSignature(g.signatures, sc.Key(), &was, &storage.Record{}),
					hosts.remove(sc.Key(), &was), records.Delete(sc.Key()), g.linksTo(sc.Key()))
			}
		}
		if err != nil {
			return err
		}
	}
	if !g.any {
		return nil
	}
	return hosts.finish()
}

// rows removes withheld links, and notes those in linkdb to the same URLs.
func (g *removing) rows() (err error) {
	table := g.ing.Table(storage.WithheldRange())
	sc := g.r.p.env.Store.Scan(storage.WithheldRange(), nil, nil)
	defer func() { err = errors.Join(err, sc.Close()) }()
	var last []byte
	gone := false
	for sc.Next() {
		target, _, err := storage.SplitLinkdbKey(sc.Key())
		if err == nil && !bytes.Equal(target, last) {
			last = append(last[:0], target...)
			if gone, err = g.deleted(target); err == nil && gone {
				g.any = true
				err = g.linksTo(target)
			}
		}
		if err == nil && gone {
			err = table.Delete(sc.Key())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// linksTo notes the rows of linkdb of a target.
func (g *removing) linksTo(target []byte) error {
	for ok := g.linkdb.SeekGE(storage.AppendLinkdbKey(nil, target, 0)); ok; ok = g.linkdb.Next() {
		found, _, err := storage.SplitLinkdbKey(g.linkdb.Key())
		if err != nil || !bytes.Equal(found, target) {
			return err
		}
		if err := g.links.Add(g.linkdb.Key(), nil); err != nil {
			return fmt.Errorf("sorting links: %w", err)
		}
	}
	return g.linkdb.Err()
}

// hasTarget reports whether a range with the keys of linkdb has an entry of a target.
func hasTarget(sc *storage.Scanner, target []byte) (bool, error) {
	if !sc.SeekGE(storage.AppendLinkdbKey(nil, target, 0)) {
		return false, sc.Err()
	}
	found, _, err := storage.SplitLinkdbKey(sc.Key())
	return bytes.Equal(found, target), err
}

// merge joins the old records with the new ones and ingests what differs.
func (r *restoring) merge(ctx context.Context) error {
	run, err := r.old.Sort()
	if err != nil {
		return err
	}
	defer run.Close()
	store := r.p.env.Store
	ing := store.NewIngestion()
	defer ing.Abort()
	records, hosts := ing.Table(storage.Crawldb()), r.p.newHostTally(ing)
	defer hosts.close()
	lowered := ing.Table(storage.LoweredRange())
	err = storage.MergeJoin(ctx, store, storage.Crawldb(), run, func(key []byte, values [][]byte, now []byte) error {
		return r.one(records, lowered, hosts, key, values[len(values)-1], now)
	})
	if err != nil {
		return err
	}
	if err := hosts.finish(); err != nil {
		return err
	}
	if err := writeSignatures(ctx, r.signatures, ing); err != nil {
		return err
	}
	return ing.Commit()
}

// one joins the records of one URL. The replay may have told a page's links that they are deep where only the old store
// knows that it is not, a seed for example, and knows the links no more.
func (r *restoring) one(w, lowered *storage.TableWriter, hosts *hostTally, key, old, now []byte) error {
	var before, rebuilt storage.Record
	if err := storage.DecodeRecord(old, &before); err != nil {
		return err
	}
	known := now != nil
	if known {
		if err := storage.DecodeRecord(now, &rebuilt); err != nil {
			return fmt.Errorf("crawldb record %s: %w", key, err)
		}
	}
	record, due := restored(before, rebuilt, r.now)
	if due {
		r.result.Due++
	}
	if known {
		if err := noteLowered(lowered, key, &rebuilt, &record); err != nil {
			return err
		}
	}
	if err := noteSignature(r.signatures, key, &rebuilt, &record); err != nil {
		return err
	}
	if err := hosts.change(key, known, &rebuilt, &record); err != nil {
		return err
	}
	r.value = storage.AppendRecord(r.value[:0], &record)
	return w.Set(key, r.value)
}

// restored is the record of a URL of which the damaged store had old and the WARC files say rebuilt (the zero Record:
// nothing). due says that the newest outcome that old has is lost.
func restored(old, rebuilt storage.Record, now int64) (r storage.Record, due bool) {
	switch {
	case rebuilt.LastFetch > old.LastFetch: // the old store had not taken the outcome in yet
		r = rebuilt
		r.Score, r.Meta = max(old.Score, rebuilt.Score), old.Meta
		setBefore(&r, rebuilt.Before())
		r.Depth, r.Voted = min(old.Depth, rebuilt.Depth), voted(&old) || voted(&rebuilt)
		if rebuilt.IsSitemap() && old.Depth != 0 {
			noteSitemap(&r)
		}
		return r, false
	case rebuilt.LastFetch == old.LastFetch:
		r = old
		r.Voted = voted(&old)
		if old.Status == storage.StatusDuplicate {
			r.Status = rebuilt.Status // dedup decides again
		}
		r.Segment, r.Signature, r.SimHash = rebuilt.Segment, rebuilt.Signature, rebuilt.SimHash
		return r, false
	}
	r = old // with LastFetch: see lost
	r.Status, r.Retries, r.FetchTime, r.Voted = storage.StatusUnfetched, 0, now, voted(&old)
	if !r.Voted {
		r.LastFetch = 0
	}
	r.Segment, r.Signature, r.ETag, r.LastModified = rebuilt.Segment, rebuilt.Signature, "", ""
	r.SimHash = rebuilt.SimHash
	if old.Status != storage.StatusUnfetched && !hasContent(old.Status) {
		setBefore(&r, old.Status.String())
	}
	return r, true
}

// voted reports whether a page has given to others what it gives once. Records of before format 14 say so by their
// segment or status.
func voted(r *storage.Record) bool {
	return r.Voted || r.Segment != 0 || r.Status == storage.StatusRedirTemp || r.Status == storage.StatusRedirPerm ||
		lost(r)
}

// lost reports whether a record of before format 14 is one that Restore made due because its page is lost. Its links
// have had their votes, which are in the records of their targets, so they have none when it is fetched again. Other
// unfetched records without a segment either were never fetched or count a retry.
func lost(r *storage.Record) bool {
	return r.Status == storage.StatusUnfetched && r.Segment == 0 && r.LastFetch != 0 && r.Retries == 0
}

// RestoreCosts brings what fetching hosts has cost from a damaged store into one that was made of WARC files, which
// have less of it: purges removed some, and other directories spent some. It comes after Restore. What cannot be read
// stays what it is by the files.
func (p *Phases) RestoreCosts(ctx context.Context, old *storage.Store) (err error) {
	hosts := storage.HostCountsRange()
	ing, known := p.env.Store.NewIngestion(), storage.NewFinder(p.env.Store, hosts)
	defer ing.Abort()
	defer func() { err = errors.Join(err, known.Close()) }()
	var there, counts storage.HostCounts
	_, err = old.Salvage(hosts, storage.Beyond, func(host, value []byte) error {
		now, err := known.Find(host)
		if err != nil || now == nil || storage.DecodeHostCounts(value, &there) != nil {
			return errors.Join(ctx.Err(), err)
		}
		if err := storage.DecodeHostCounts(now, &counts); err != nil || !counts.MergeSpent(&there) {
			return errors.Join(ctx.Err(), err)
		}
		return ing.Table(hosts).Set(host, storage.AppendHostCounts(nil, &counts))
	})
	if err == nil {
		err = ing.Commit()
	}
	if err != nil {
		return fmt.Errorf("restoring what hosts have cost: %w", err)
	}
	return nil
}

// Unknown returns the URLs whose outcomes a sealed segment has and crawldb does not know. In a crawl every URL is known
// before it is fetched; when a store is made of WARC files alone, those were injected: seeds.
func (p *Phases) Unknown(ctx context.Context, segment uint32) (urls []string, err error) {
	sc := p.env.Store.Scan(storage.ParseLinks(segment), nil, nil)
	defer sc.Close()
	known := storage.NewFinder(p.env.Store, storage.Crawldb())
	defer known.Close()
	for n := 0; sc.Next(); n++ {
		if n%ctxCheckPages == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		record, err := known.Find(sc.Key())
		if err != nil {
			return nil, err
		}
		if record != nil {
			continue
		}
		u, err := urlkey.Key(sc.Key()).URL()
		if err != nil {
			return nil, err
		}
		urls = append(urls, u.String())
	}
	return urls, sc.Err()
}
