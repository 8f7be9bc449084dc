// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"context"
	"fmt"

	"github.com/seine-crawler/seine/storage"
)

// lowerWriter writes what a round of lower found out.
type lowerWriter struct {
	l                         *lowering
	records, withheld, queued *storage.TableWriter
	known                     *storage.Finder
	hosts                     *hostTally
	now                       int64
}

// write ingests the round.
func (l *lowering) write(ctx context.Context) error {
	store := l.p.env.Store
	ing := store.NewIngestion()
	defer ing.Abort()
	w := lowerWriter{
		l: l, now: l.p.now(),
		records: ing.Table(storage.Crawldb()), withheld: ing.Table(storage.WithheldRange()),
		queued: ing.Table(storage.LoweredRange()),
		known:  storage.NewFinder(store, storage.Crawldb()), hosts: l.p.newHostTally(ing),
	}
	defer w.known.Close()
	defer w.hosts.close()
	if err := w.hosts.keepRefreshed(ing); err != nil {
		return err
	}
	var numbers []int
	for n := range l.nodes {
		if x := &l.nodes[n]; x.changed || x.rowsChanged || x.queued || x.due {
			numbers = append(numbers, n)
		}
	}
	l.sort(numbers)
	for i, n := range numbers {
		if i%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := w.node(n); err != nil {
			return err
		}
	}
	if err := w.hosts.finish(); err != nil {
		return err
	}
	any, err := l.p.anyWithheld()
	if err != nil {
		return err
	}
	if err := l.changes.WriteTo(ing, any); err != nil {
		return err
	}
	if err := ing.Commit(); err != nil {
		return err
	}
	l.result.Woken = mergeHosts(l.result.Woken, w.hosts.woken)
	return l.changes.Commit()
}

// node writes what changed of one URL.
func (w *lowerWriter) node(n int) error {
	x, key := &w.l.nodes[n], w.l.keys.Key(n)
	if x.changed {
		if err := w.record(n); err != nil {
			return err
		}
	}
	if x.rowsChanged {
		if err := w.row(n); err != nil {
			return fmt.Errorf("links to %s: %w", key, err)
		}
	}
	switch {
	case x.due:
		return w.queued.Set(key, []byte{x.toldHops})
	case x.queued:
		return w.queued.Delete(key)
	}
	return nil
}

// record writes a record with its depth and hops.
func (w *lowerWriter) record(n int) error {
	l, x, key := w.l, &w.l.nodes[n], w.l.keys.Key(n)
	old, err := w.known.Find(key)
	if err != nil {
		return err
	}
	var was, r storage.Record
	if old != nil {
		if err := storage.DecodeRecord(old, &was); err != nil {
			return fmt.Errorf("crawldb record %s: %w", key, err)
		}
		r = was
	} else {
		sum := l.created[n].sum
		r = l.p.newRecord(sum, false, w.now)
		l.p.applyLinks(sum, &r, false, false)
		l.result.New++
	}
	r.Depth, r.Hops = x.depth, x.hops
	l.p.scoreByDepth(&r)
	if err := w.hosts.change(key, old != nil, &was, &r); err != nil {
		return err
	}
	l.value = storage.AppendRecord(l.value[:0], &r)
	return w.records.Set(key, l.value)
}

// row writes the first of the withheld links to a URL with the least depth and hops. Without any, it withholds one.
func (w *lowerWriter) row(n int) error {
	l, x, target := w.l, &w.l.nodes[n], w.l.keys.Key(n)
	create := l.created[n]
	row := storage.Withheld{Reason: create.reason, Score: create.sum.score, Link: true}
	key := storage.AppendLinkdbKey(nil, target, create.segment)
	l.key = storage.AppendLinkdbKey(l.key[:0], target, 0)
	for ok := l.withheld.SeekGE(l.key); ok; ok = l.withheld.Next() {
		of, _, err := storage.SplitLinkdbKey(l.withheld.Key())
		if err != nil {
			return err
		}
		if !bytes.Equal(of, target) {
			break
		}
		key = append(key[:0], l.withheld.Key()...)
		if err := storage.DecodeWithheld(l.withheld.Value(), &row); err != nil {
			return err
		}
		if row.Link {
			break
		}
	}
	if err := l.withheld.Err(); err != nil {
		return err
	}
	row.Depth, row.Hops = x.rowDepth, x.rowHops
	l.value = storage.AppendWithheld(l.value[:0], &row)
	return w.withheld.Set(key, l.value)
}
