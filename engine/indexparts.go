// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
)

// partPages is how many pages each of several goroutines has at least: fewer make an index segment that is soon merged.
// Tests lower it.
var partPages = 1024

// build decides about all keys, in order, beside crawldb, the index's directory and linkdb. Of many, several goroutines
// take a part each, from reading to the finished index segment. (With one that read and others that inverted, reading
// and making documents were more than a third of indexing, on one core of however many.)
func (x *indexing) build(ctx context.Context, ing *storage.Ingestion) (err error) {
	parts, err := storage.SortParts(max(min(x.builders, x.keys.Len()/partPages), 1), nil, x.keys)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, storage.CloseParts(parts)) }()
	snap := x.store.Snapshot()
	defer snap.Close()
	if err := x.compareWith(snap); err != nil {
		return err
	}
	rules := newTitleRules(x.sorter(storage.FoldLast), x.looks)
	defer rules.close()
	b := x.index.NewBuilder(ing)
	defer b.Abort()
	if len(parts) == 1 {
		x.docs, x.rules = b, rules
		err = x.part(ctx, snap, parts[0], nil)
	} else {
		err = x.together(ctx, snap, parts, b, rules)
	}
	if err == nil {
		err = rules.write(ing, !x.refresh)
	}
	if err != nil {
		return err
	}
	r, err := b.Finish()
	x.clock.add(stageIndex, r.CPU)
	return err
}

// together decides about several parts, on a goroutine each.
func (x *indexing) together(
	ctx context.Context, snap *storage.Snapshot, parts []storage.Part, b *index.Builder, rules *titleRules,
) error {
	to, err := b.Parts(len(parts))
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	all := make([]*indexing, len(parts))
	for i, part := range parts {
		var until []byte
		if i+1 < len(parts) {
			until = parts[i+1].From
		}
		all[i] = x.one(to[i], rules, len(parts))
		group.Go(func() error {
			defer x.clock.time(stageIndex)()
			err := all[i].part(ctx, snap, part, until)
			if err == nil {
				err = to[i].Finish()
			}
			return err
		})
	}
	err = group.Wait()
	for _, one := range all {
		x.report.add(&one.report)
	}
	return err
}

// one returns an indexing of x's pages by one of several goroutines.
func (x *indexing) one(to documents, rules *titleRules, several int) *indexing {
	return &indexing{
		store: x.store, index: x.index, filters: x.filters, denied: x.denied, leftOut: x.leftOut, clock: x.clock,
		inlinks: x.inlinks, walked: x.walked / several, refresh: x.refresh, ranked: x.ranked, changed: x.changed,
		compared: x.compared, docs: to, rules: rules,
	}
}

// part decides about the keys of a part, which ends before until; nil: it is the last.
func (x *indexing) part(ctx context.Context, snap *storage.Snapshot, part storage.Part, until []byte) (err error) {
	x.texts, x.outcomes = newWalks(x.walked, storage.ParseTextRange), newWalks(x.walked, storage.ParseLinks)
	records := storage.NewFinder(snap, storage.Crawldb())
	links := newTargets(snap)
	x.titles = newTitles(snap)
	defer func() {
		err = errors.Join(err, x.texts.close(), x.outcomes.close(), records.Close())
		links.Close()
		x.titles.close()
	}()
	if x.changed {
		err = x.titles.takes(x.rules, x.texts, part.From)
	} else {
		err = x.titles.learns(x.rules, x.texts, x.refresh, part.From, until)
	}
	if err != nil {
		return err
	}
	err = storage.MergeJoin(ctx, snap, index.Located(), part.Run, func(key []byte, values [][]byte, old []byte) error {
		if host, ok := ruledHost(key); ok {
			return x.titles.set(host, values[0])
		}
		return x.decide(snap, records, links, key, old)
	})
	if err == nil {
		err = x.titles.end()
	}
	return err
}
