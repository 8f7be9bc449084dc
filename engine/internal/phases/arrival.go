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

// What comes with the records of another store: what fetching learned of their hosts, and links that are withheld.

// ImportOptions say what of another store is taken over.
type ImportOptions struct {
	// Accept returns the key by which a URL is known here, and false if it is refused. nil takes all as they are.
	Accept func(key []byte) (as []byte, ok bool)
	// Part is what is read of the other store; the zero Part is all of it.
	Part urlkey.Part
	// Joins are the parts that the other store was made of by splits: they are at home here from now on, but for
	// MovedOn, parts that were moved on from there.
	Joins, MovedOn []urlkey.Part
}

func (o *ImportOptions) accept(key []byte) ([]byte, bool) {
	if o.Accept == nil {
		return key, true
	}
	return o.Accept(key)
}

// importedSegment is the segment of links of other stores: that of pages that this one has not fetched.
const importedSegment = 0

// factsMerge brings what fetching learned of hosts from another store.
type factsMerge struct {
	there       *storage.Scanner
	here        *storage.Finder
	table       *storage.TableWriter
	last        []byte // host
	theirs, own storage.HostFacts
}

func newFactsMerge(here, there *storage.Store, table *storage.TableWriter) *factsMerge {
	facts := storage.HostFactsRange()
	return &factsMerge{there: there.Scan(facts, nil, nil), here: storage.NewFinder(here, facts), table: table}
}

func (f *factsMerge) close() error { return errors.Join(f.there.Close(), f.here.Close()) }

// host brings what is newer there of a host. Hosts must not decrease from call to call.
func (f *factsMerge) host(host []byte) error {
	if bytes.Equal(host, f.last) {
		return nil
	}
	f.last = append(f.last[:0], host...)
	for ok := f.there.SeekGE(host); ok && bytes.HasPrefix(f.there.Key(), host); ok = f.there.Next() {
		key := f.there.Key()
		own, err := f.here.Find(key)
		if err == nil && own != nil {
			err = errors.Join(storage.DecodeHostFacts(own, &f.own),
				storage.DecodeHostFacts(f.there.Value(), &f.theirs))
			if err == nil && !newerFacts(&f.theirs, &f.own) {
				continue
			}
		}
		if err == nil {
			err = f.table.Set(key, f.there.Value())
		}
		if err != nil {
			return fmt.Errorf("hostdb facts of %s: %w", key, err)
		}
	}
	return f.there.Err()
}

// newerFacts reports whether a was learned after b, as far as facts say.
func newerFacts(a, b *storage.HostFacts) bool {
	if a.RobotsFetched != b.RobotsFetched {
		return a.RobotsFetched > b.RobotsFetched
	}
	return a.NextFetch > b.NextFetch
}

// importWithheld brings the links that another store withholds, one row for each target that crawldb does not have, and
// returns the number of rows that are other ones now.
func (p *Phases) importWithheld(
	ctx context.Context, from *storage.Store, o *ImportOptions, table *storage.TableWriter,
) (changed uint64, err error) {
	targets := p.env.Sorter(foldWithheld)
	defer targets.Close()
	if err := readWithheldOf(ctx, from, o, targets); err != nil || targets.Len() == 0 {
		return 0, err
	}
	run, err := targets.Sort()
	if err != nil {
		return 0, err
	}
	defer run.Close()
	known, rows := storage.NewFinder(p.env.Store, storage.Crawldb()),
		storage.NewFinder(p.env.Store, storage.WithheldRange())
	defer func() { err = errors.Join(err, known.Close(), rows.Close()) }()
	var w, own storage.Withheld
	for run.Next() {
		record, err := known.Find(run.Key())
		if err == nil {
			_, err = readWithheld(run.Value(), &w)
		}
		if err != nil || record != nil {
			if err != nil {
				return changed, err
			}
			continue
		}
		key := storage.AppendLinkdbKey(nil, run.Key(), importedSegment)
		old, err := rows.Find(key)
		if err == nil && old != nil {
			if err = storage.DecodeWithheld(old, &own); err == nil {
				w = mergeWithheld(&w, &own)
			}
		}
		value := storage.AppendWithheld(nil, &w)
		if err == nil && !bytes.Equal(value, old) {
			changed++
			err = table.Set(key, value)
		}
		if err != nil {
			return changed, fmt.Errorf("links to %s: %w", run.Key(), err)
		}
	}
	return changed, run.Err()
}

// readWithheldOf sorts what another store withholds by target.
func readWithheldOf(
	ctx context.Context, from *storage.Store, o *ImportOptions, to *storage.Sorter,
) (err error) {
	begin, end := o.Part.Bounds()
	sc := from.Scan(storage.WithheldRange(), begin, end)
	defer func() { err = errors.Join(err, sc.Close()) }()
	var w storage.Withheld
	var value []byte
	for n := 0; sc.Next(); n++ {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		target, _, err := storage.SplitLinkdbKey(sc.Key())
		if err == nil {
			err = storage.DecodeWithheld(sc.Value(), &w)
		}
		if err != nil {
			return fmt.Errorf("withheld links there: %w", err)
		}
		if as, ok := o.accept(target); ok {
			value = appendWithheld(value[:0], &w, false)
			if err := to.Add(as, value); err != nil {
				return err
			}
		}
	}
	return sc.Err()
}

// mergeWithheld joins what two stores say of a target, or one at two times: each says it at least once.
func mergeWithheld(a, b *storage.Withheld) storage.Withheld {
	w := storage.Withheld{
		Reason: min(a.Reason, b.Reason), Link: a.Link || b.Link, Sitemap: a.Sitemap || b.Sitemap,
		Referrers: a.Referrers | b.Referrers,
	}
	sum := sumOfWithheld(a).plus(sumOfWithheld(b)) // for the least depth and hops
	w.Depth, w.Hops, w.Score = sum.depth, sum.hops, max(a.Score, b.Score)
	return w
}
