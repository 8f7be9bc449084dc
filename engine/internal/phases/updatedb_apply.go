// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"context"
	"fmt"
	"math"

	"github.com/seine-crawler/seine/storage"
)

// apply joins the sorted inputs with crawldb and ingests the outcome.
func (u *update) apply(ctx context.Context, seg storage.Segment) error {
	sorters := make([]*storage.Sorter, len(u.collectors))
	for i, c := range u.collectors {
		sorters[i] = c.inputs
	}
	parts, err := u.p.sortParts(sorters)
	if err != nil {
		return fmt.Errorf("sorting outcomes and links: %w", err)
	}
	ing := u.p.env.Store.NewIngestion()
	defer ing.Abort()
	all, err := u.p.newRewritings(ing, parts)
	joinings := make([]*joining, len(all))
	for i := range all {
		joinings[i] = &joining{rewriting: all[i], u: u}
		defer joinings[i].close()
	}
	if err != nil {
		return err
	}
	if err := u.join(ctx, joinings, ing); err != nil {
		return err
	}
	if err := writeSignatures(ctx, u.signatures.sorter, ing); err != nil {
		return err
	}
	withheld := u.result.Withheld > 0
	if !withheld {
		if withheld, err = u.p.anyWithheld(); err != nil {
			return err
		}
	}
	if err := u.changes.WriteTo(ing, withheld); err != nil {
		return err
	}
	if seg.Batch {
		if err := ing.DeleteRange(storage.Fetchlist(u.segment)); err != nil {
			return err
		}
	}
	seg.State = storage.SegmentUpdated
	if err := ing.PutSegment(seg); err != nil {
		return err
	}
	if err := u.p.commit(StepUpdateDB, ing); err != nil {
		return err
	}
	u.sitemaps()
	for _, j := range joinings {
		u.result.Woken = append(u.result.Woken, j.hosts.woken...)
	}
	return u.changes.Commit()
}

// join computes all new records. What is refused for now is written beside it.
func (u *update) join(ctx context.Context, joinings []*joining, ing *storage.Ingestion) error {
	n := len(joinings)
	err := u.p.together(ctx, StepUpdateDB, n+1, func(ctx context.Context, i int) error {
		if i < n {
			return joinings[i].run(ctx)
		}
		if err := u.writeWithheld(ctx, ing); err != nil {
			return fmt.Errorf("writing withheld links: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	tallies := make([]*hostTally, n)
	for i, j := range joinings {
		tallies[i] = j.hosts
		u.result.New += j.fresh
		u.result.Linked += j.linked
		if j.refused > 0 {
			u.result.Filtered[reasonAddition] += j.refused
		}
	}
	return finishDays(tallies)
}

// joining joins a part of the inputs with crawldb. It belongs to one goroutine.
type joining struct {
	rewriting
	u    *update
	page storage.FetchOutcome

	fresh   uint64 // records made
	linked  uint64 // known URLs that were linked to
	refused uint64 // additions
}

func (j *joining) run(ctx context.Context) error {
	return j.join(ctx, func(key []byte, values [][]byte, old []byte) error {
		return j.one(key, readInput(values[0]), old)
	})
}

// one computes a URL's new record.
func (j *joining) one(key []byte, in input, old []byte) error {
	var was, r storage.Record
	p, known := j.p, old != nil
	if known {
		if err := storage.DecodeRecord(old, &was); err != nil {
			return fmt.Errorf("crawldb record %s: %w", key, err)
		}
		r = was
	} else if err := j.newRecord(&in, &r); err != nil {
		return fmt.Errorf("record of the seed %s: %w", key, err)
	}
	switch {
	case !known && !in.outcome && !in.listed && in.seed == nil && p.env.NoAdditions:
		j.refused++
		return nil
	case !known:
		j.fresh++
	case !in.outcome && in.links.any: // not only a sitemap
		j.linked++
	}
	h := in.hint
	if in.outcome {
		kept, err := j.outcome(key, in.encoded, &was, &r)
		if err != nil {
			return err
		}
		if h.every == 0 && p.env.Hints {
			h.every = kept.every
		}
	}
	if h != (hint{}) {
		if err := j.u.hinted(key, h, &r); err != nil {
			return err
		}
	}
	switch {
	case in.outcome && j.u.askedSince(&was, &j.page):
		r.FetchTime = was.FetchTime
	case in.listed && !in.outcome:
		r.FetchTime = min(r.FetchTime, j.u.now)
	}
	if in.ofSitemap && (!known || was.Depth != 0) {
		noteSitemap(&r)
	}
	p.applyLinks(in.links, &r, known, in.sitemap)
	if in.shownAs != "" {
		noteShownAs(&r, in.shownAs)
	}
	if err := j.u.signatures.note(key, &was, &r); err != nil {
		return err
	}
	told := was
	if !known {
		told.Depth = math.MaxUint16 // as its links were told, if it has any: see collector.collect
	}
	if err := noteLowered(j.lowered, key, &told, &r); err != nil {
		return err
	}
	if err := j.hosts.change(key, known, &was, &r); err != nil {
		return err
	}
	if in.outcome {
		j.hosts.spent(key, &j.page)
	}
	j.value = storage.AppendRecord(j.value[:0], &r)
	if bytes.Equal(j.value, old) { // a page that is fetched again gives its links nothing that they did not have
		return nil
	}
	return j.records.Set(key, j.value)
}

// newRecord makes the record of a URL that was not known.
func (j *joining) newRecord(in *input, r *storage.Record) error {
	if in.seed != nil {
		err := storage.DecodeRecord(in.seed, r)
		r.FetchTime = j.u.now
		return err
	}
	*r = j.p.newRecord(in.links, in.sitemap, j.u.now)
	if (in.outcome || in.listed) && !in.links.any && !in.sitemap { // nothing says that it is a seed
		r.Depth = math.MaxUint16
	}
	return nil
}

// outcome makes a record what it becomes by the fetch; was is the one before. It returns the hint that waited for the
// fetch. One that a newer fetch came before changes nothing else than addContent says.
func (j *joining) outcome(key, encoded []byte, was, r *storage.Record) (kept hint, err error) {
	if err := storage.DecodeFetchOutcome(encoded, &j.page); err != nil {
		return hint{}, fmt.Errorf("outcome of %s: %w", key, err)
	}
	if outdated(was, &j.page, j.u.now) {
		addContent(r, &j.page, j.u.segment)
		return hint{}, nil
	}
	p := j.p
	if r.Interval == 0 {
		r.Interval = p.interval
	}
	s, err := p.scheduleOf(key, was, &j.page)
	if err != nil {
		return hint{}, err
	}
	// What is gone keeps the interval that it has grown to; the first failure of a page begins with its own.
	if s.own > 0 && (answered(&j.page) || was.LastFetch == 0) {
		r.Interval = min(s.own, p.maxInterval)
	}
	transition(r, &j.page, j.u.segment, s.schedule, p.maxInterval)
	noteBefore(was, r, &j.page)
	if j.page.Truncated != "" && r.Segment != j.u.segment { // the content is that of an earlier fetch
		err = p.untilUnavailable(key, r)
	}
	return keptHint(r), err
}

// outdated reports whether a fetch was before the one that a record tells of: fetchlists may have URLs in common, and
// are fetched and updated in any order. What a clock that was ahead has left does not count.
func outdated(r *storage.Record, o *storage.FetchOutcome, now int64) bool {
	return o.Time < r.LastFetch && r.LastFetch <= now
}

// addContent gives a record the content of a fetch that a newer one came before, if it has none: the newer one failed,
// or another store made it.
func addContent(r *storage.Record, o *storage.FetchOutcome, segment uint32) {
	if r.Segment != 0 || o.Status != storage.FetchSuccess || o.Truncated != "" {
		return
	}
	r.Signature, r.SimHash, r.Segment, r.Voted = o.Signature, o.SimHash, segment, true
	r.ETag, r.LastModified, r.ModifiedTime = o.ETag, o.LastModified, o.Time
	fetchWhenUnavailable(r, o)
}

// writeWithheld writes what is refused for now, one entry for each target. A page that is fetched again mostly has
// the links it had: what is withheld already is left out, and a score that is given again is added to an entry that
// is there, so that the range does not grow with each round of fetches.
func (u *update) writeWithheld(ctx context.Context, ing *storage.Ingestion) error {
	run, err := u.sortWithheld()
	if err != nil {
		return err
	}
	defer run.Close()
	earlier := u.p.env.Store.Scan(storage.WithheldRange(), nil, nil)
	defer earlier.Close()
	w := ing.Table(storage.WithheldRange())
	var entry storage.Withheld
	var key, value []byte
	for n := 0; run.Next(); n++ {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		again, err := readWithheld(run.Value(), &entry)
		if err != nil {
			return err
		}
		segment := u.segment
		if entry.Score == 0 || again { // only then: a seek takes 1 to 2 µs
			first, known, err := findWithheld(earlier, run.Key(), &entry)
			if err != nil {
				return err
			}
			if known && entry.Score == 0 {
				continue
			}
			if known {
				first.Score += entry.Score
				segment, entry = first.segment, first.Withheld
			}
		}
		key = storage.AppendLinkdbKey(key[:0], run.Key(), segment)
		value = storage.AppendWithheld(value[:0], &entry)
		if err := w.Set(key, value); err != nil {
			return err
		}
		u.result.Withheld++
	}
	return run.Err()
}

// sortWithheld sorts what all collectors withhold.
func (u *update) sortWithheld() (*storage.Run, error) {
	sorters := make([]*storage.Sorter, len(u.collectors))
	for i, c := range u.collectors {
		sorters[i] = c.withheld
	}
	parts, err := storage.SortParts(1, nil, sorters...)
	if err != nil {
		return nil, err
	}
	return parts[0].Run, nil
}
