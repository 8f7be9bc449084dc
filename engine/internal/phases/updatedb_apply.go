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
	run, err := u.inputs.Sort()
	if err != nil {
		return fmt.Errorf("sorting outcomes and links: %w", err)
	}
	defer run.Close()
	store := u.p.env.Store
	ing := store.NewIngestion()
	defer ing.Abort()
	records, hosts := ing.Table(storage.Crawldb()), u.p.newHostTally(ing)
	defer hosts.close()
	if err := hosts.keepRefreshed(ing); err != nil {
		return err
	}
	u.lowered = ing.Table(storage.LoweredRange())
	err = storage.MergeJoin(ctx, store, storage.Crawldb(), run, func(key []byte, values [][]byte, old []byte) error {
		return u.one(records, hosts, key, readInput(values[0]), old)
	})
	if err != nil {
		return err
	}
	if err := hosts.finish(); err != nil {
		return err
	}
	if err := writeSignatures(ctx, u.signatures, ing); err != nil {
		return err
	}
	if err := u.writeWithheld(ctx, ing); err != nil {
		return fmt.Errorf("writing withheld links: %w", err)
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
	if err := ing.Commit(); err != nil {
		return err
	}
	u.result.Woken = hosts.woken
	return u.changes.Commit()
}

// one computes a URL's new record.
func (u *update) one(w *storage.TableWriter, hosts *hostTally, key []byte, in input, old []byte) error {
	var was, r storage.Record
	known := old != nil
	if known {
		if err := storage.DecodeRecord(old, &was); err != nil {
			return fmt.Errorf("crawldb record %s: %w", key, err)
		}
		r = was
	} else {
		r = u.p.newRecord(in.links, in.sitemap, u.now)
		if in.outcome && !in.links.any && !in.sitemap { // its record is lost: nothing says that it is a seed
			r.Depth = math.MaxUint16
		}
	}
	switch {
	case !known && !in.outcome && u.p.env.NoAdditions:
		u.result.Filtered[reasonAddition]++
		return nil
	case !known:
		u.result.New++
	case !in.outcome && !in.links.any: // a sitemap that is known
		if was.Depth == 0 && was.Hops == 0 {
			return nil
		}
	case !in.outcome:
		u.result.Linked++
	}
	if in.outcome {
		if err := u.outcome(key, in.encoded, &was, &r); err != nil {
			return err
		}
	}
	if in.hint != (hint{}) {
		if err := u.hinted(key, in.hint, &r); err != nil {
			return err
		}
	}
	u.p.applyLinks(in.links, &r, known, in.sitemap)
	if in.shownAs != "" {
		noteShownAs(&r, in.shownAs)
	}
	if err := noteSignature(u.signatures, key, &was, &r); err != nil {
		return err
	}
	if known {
		if err := noteLowered(u.lowered, key, &was, &r); err != nil {
			return err
		}
	}
	if err := hosts.change(key, known, &was, &r); err != nil {
		return err
	}
	if in.outcome {
		hosts.spent(key, &u.page)
	}
	u.value = storage.AppendRecord(u.value[:0], &r)
	if bytes.Equal(u.value, old) { // a page that is fetched again gives its links nothing that they did not have
		return nil
	}
	return w.Set(key, u.value)
}

// outcome makes a record what it becomes by the fetch; was is the one before.
func (u *update) outcome(key, encoded []byte, was, r *storage.Record) error {
	if err := storage.DecodeFetchOutcome(encoded, &u.page); err != nil {
		return fmt.Errorf("outcome of %s: %w", key, err)
	}
	if r.Interval == 0 {
		r.Interval = u.p.interval
	}
	s, err := u.p.scheduleOf(key, was, &u.page)
	if err != nil {
		return err
	}
	if s.own > 0 && answered(&u.page) { // what is gone keeps the interval that it has grown to
		r.Interval = min(s.own, u.p.maxInterval)
	}
	transition(r, &u.page, u.segment, s.schedule, u.p.maxInterval)
	return nil
}

// writeWithheld writes what is refused for now, one entry for each target. A page that is fetched again mostly has
// the links it had: what is withheld already is left out, and a score that is given again is added to an entry that
// is there, so that the range does not grow with each round of fetches.
func (u *update) writeWithheld(ctx context.Context, ing *storage.Ingestion) error {
	run, err := u.withheld.Sort()
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
