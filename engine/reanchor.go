// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// reanchoring is the first part of a refresh. Of most documents that a refresh finds to be others, only what other
// pages say of them changed: the pages that link to a page are found after it was indexed. These are given their new
// anchors and static scores without being made again: their texts are neither read nor analysed.
//
//	keys to look at, in order ─▶ as it should be    ─▶ nothing to do
//	                             other anchors only ─▶ index.Reanchoring
//	                             anything else      ─▶ the keys that are left, for build
//
// It is left out where index filters may look at anchors, and while a merge runs.
type reanchoring struct {
	x    *indexing
	snap *storage.Snapshot
	to   *index.Reanchoring
	mu   sync.Mutex // guards rest
	rest *storage.Sorter
}

// reanchor does what a reanchoring can do of a refresh, and replaces x.keys. close ends the sorter that it made.
func (x *indexing) reanchor(ctx context.Context) (err error) {
	if !x.refresh || len(x.filters) > 0 {
		return nil
	}
	to, ok, err := x.index.NewReanchoring(ctx)
	if err != nil || !ok {
		return err
	}
	defer to.Abort()
	to.Meter = &x.clock.work[stageIndex]
	l := reanchoring{x: x, snap: x.store.Snapshot(), to: to, rest: x.sorter(storage.FoldLast)}
	defer l.snap.Close()
	err = l.look(ctx)
	x.keys.Close()
	x.keys = l.rest
	if err != nil {
		return err
	}
	report, err := to.Finish(ctx, func(key urlkey.Key) error { return l.rest.Add([]byte(key), nil) })
	x.report.Refreshed += report.Changed
	return err
}

// lookKeys is how many keys one of several lookers takes at once.
const lookKeys = 512

// keyBatch is keys with their values, in order.
type keyBatch struct {
	memory []byte
	ends   []int // of each key and each value in memory
}

func (b *keyBatch) add(key, value []byte) {
	b.memory = append(b.memory, key...)
	b.ends = append(b.ends, len(b.memory))
	b.memory = append(b.memory, value...)
	b.ends = append(b.ends, len(b.memory))
}

// each calls fn with all keys, until it returns an error.
func (b *keyBatch) each(fn func(key, value []byte) error) error {
	from := 0
	for i := 0; i < len(b.ends); i += 2 {
		key, value := b.memory[from:b.ends[i]], b.memory[b.ends[i]:b.ends[i+1]]
		from = b.ends[i+1]
		if err := fn(key, value); err != nil {
			return err
		}
	}
	return nil
}

// look looks at all keys, on several goroutines.
func (l *reanchoring) look(ctx context.Context) (err error) {
	run, err := l.x.keys.Sort()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	if err := l.x.compareWith(l.snap); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	batches := make(chan keyBatch)
	n := max(l.x.builders, 1)
	for range n {
		group.Go(func() error { return l.lookAt(ctx, batches, l.x.walked/n) })
	}
	group.Go(func() error {
		defer close(batches)
		var host, rule []byte // that was announced last: all who look at pages of the host need it
		for more := run.Next(); more; {
			var b keyBatch
			if host != nil && bytes.Equal(urlkey.HostKeyOf(run.Key()), host[:len(host)-1]) {
				b.add(host, rule)
			}
			for ; more && len(b.ends) < 2*lookKeys; more = run.Next() {
				if _, ok := ruledHost(run.Key()); ok {
					host, rule = bytes.Clone(run.Key()), bytes.Clone(run.Value())
				}
				b.add(run.Key(), run.Value())
			}
			select {
			case batches <- b:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return run.Err()
	})
	return group.Wait()
}

// lookAt looks at batches, which come in order, reading the texts of so many segments side by side.
func (l *reanchoring) lookAt(ctx context.Context, batches <-chan keyBatch, segments int) (err error) {
	defer l.x.clock.time(stageIndex)()
	texts := newWalks(segments, storage.ParseTextRange)
	k := looker{
		reanchoring: l, links: newTargets(l.snap), records: storage.NewFinder(l.snap, storage.Crawldb()),
		located: storage.NewFinder(l.snap, index.Located()), indexing: l.x.looker(newTitles(l.snap)),
	}
	if !l.x.changed {
		k.titles.looks(texts)
	}
	defer func() {
		err = errors.Join(err, texts.close(), k.records.Close(), k.located.Close())
		k.links.Close()
		k.titles.close()
	}()
	for b := range batches {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := b.each(k.look); err != nil {
			return err
		}
	}
	return nil
}

// looker returns what looks at pages as x does, beside others. It makes no documents.
func (x *indexing) looker(t *titles) *indexing {
	return &indexing{
		store: x.store, denied: x.denied, clock: x.clock, inlinks: x.inlinks, ranked: x.ranked,
		changed: x.changed, compared: x.compared, titles: t,
	}
}

// looker is one of the goroutines that look.
type looker struct {
	*reanchoring
	*indexing
	links   *targets
	records *storage.Finder
	located *storage.Finder
	ruled   []byte // the last host of which rest has the rule, if all hosts must come to build
}

// look looks at one key.
func (k *looker) look(key, value []byte) error {
	value, again, err := k.one(key, value)
	if err != nil || !again {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.rest.Add(key, value)
}

// one says whether build is to look at a key, and with which value.
func (k *looker) one(key, value []byte) (_ []byte, again bool, err error) {
	if host, ok := ruledHost(key); ok {
		return value, true, k.titles.announce(host, value)
	}
	var r storage.Record
	record, err := k.records.Find(key)
	if err != nil || record == nil {
		return nil, false, err
	}
	if err := storage.DecodeRecord(record, &r); err != nil {
		return nil, false, fmt.Errorf("crawldb record %s: %w", key, err)
	}
	located, err := k.located.Find(key)
	if err != nil || located == nil || !r.Findable() || !k.compared[r.Segment] {
		return nil, true, err
	}
	u, err := urlkey.Key(key).URL()
	if err != nil || k.denied(u) {
		return nil, true, err
	}
	if err := errors.Join(k.titles.peek(key), k.passRule(key), k.readAnchors(k.links, key)); err != nil {
		return nil, false, err
	}
	at, err := index.DecodeLocated(located)
	if err != nil {
		return nil, false, fmt.Errorf("index directory entry of %s: %w", key, err)
	}
	was, now := stampOf(at), stamp{own: k.ownStamp(&r), outside: k.outsideStamp(&r)}
	if now.content = was.content; was.own != now.own {
		return nil, true, nil
	}
	if was != now {
		err := k.to.Add(at, &index.Anchors{Texts: k.anchors(), Boost: k.boost(&r), Stamp: now.sum()})
		if err != nil {
			return nil, false, err
		}
	}
	return nil, false, nil
}

// passRule adds the rule of the host of a page, which was learned, to what is left: build need not learn it again.
func (k *looker) passRule(key []byte) error {
	host := urlkey.HostKeyOf(key)
	if k.changed || bytes.Equal(host, k.ruled) {
		return nil
	}
	k.ruled = append(k.ruled[:0], host...)
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.rest.Add(append(slices.Clip(host), storage.StaleHost), k.titles.rule.encode())
}
