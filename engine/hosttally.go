// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// hostTally keeps hostdb's counts true while a phase rewrites records. Records come in key order,
// so all changes of a host are neighbours: one small sum at a time, one sorted run at the end.
type hostTally struct {
	e      *Engine
	sorter *storage.Sorter
	host   []byte
	now    storage.HostCounts // the host's counts with the changes so far
	value  []byte
	dirty  bool
	known  *storage.Finder
	due    func(host []byte) // told of each host that has something due, may be nil
}

func newHostTally(e *Engine) *hostTally {
	return &hostTally{e: e, sorter: e.newSorter(nil), known: storage.NewFinder(e.store, storage.HostCountsRange())}
}

// change notes that the record under key became r; was is the one before, if known.
func (t *hostTally) change(key []byte, known bool, was, r *storage.Record) error {
	host := urlkey.HostKeyOf(key)
	if string(host) != string(t.host) {
		if err := t.next(host); err != nil {
			return err
		}
	}
	if known {
		if n := &t.now.ByStatus[was.Status]; *n > 0 {
			*n--
		}
	}
	t.now.ByStatus[r.Status]++
	if t.now.NextDue == 0 || r.FetchTime < t.now.NextDue {
		t.now.NextDue = max(r.FetchTime, 1)
	}
	t.dirty = true
	return nil
}

// spent adds what a fetch of the host that changed last has cost.
func (t *hostTally) spent(o *storage.FetchOutcome) {
	t.now.Bytes += uint64(o.Bytes)
	t.now.TookMS += uint64(o.TookMS)
}

// next finishes the host at hand and loads another.
func (t *hostTally) next(host []byte) error {
	if err := t.finish(); err != nil {
		return err
	}
	t.host = append(t.host[:0], host...)
	t.now = storage.HostCounts{}
	if len(host) == 0 {
		return nil
	}
	counts, err := t.known.Find(host)
	if err == nil && counts != nil {
		err = storage.DecodeHostCounts(counts, &t.now)
	}
	if err != nil {
		return fmt.Errorf("hostdb counts of %s: %w", host, err)
	}
	return nil
}

func (t *hostTally) finish() error {
	if !t.dirty {
		return nil
	}
	t.dirty = false
	if t.due != nil && t.now.NextDue <= t.e.nowMS() {
		t.due(t.host)
	}
	t.value = storage.AppendHostCounts(t.value[:0], &t.now)
	return t.sorter.Add(t.host, t.value)
}

// close ends the tally.
func (t *hostTally) close() {
	t.sorter.Close()
	t.known.Close()
}

// writeTo writes the changed hosts as a table of the ingestion.
func (t *hostTally) writeTo(ctx context.Context, ing *storage.Ingestion) error {
	if err := t.next(nil); err != nil {
		return err
	}
	return writeRun(ctx, t.sorter, ing.Table(storage.HostCountsRange()))
}

// writeRun sorts and writes all of a sorter into a table.
func writeRun(ctx context.Context, s *storage.Sorter, w *storage.TableWriter) error {
	run, err := s.Sort()
	if err != nil {
		return err
	}
	defer run.Close()
	for n := 0; run.Next(); n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := w.Set(run.Key(), run.Value()); err != nil {
			return err
		}
	}
	return run.Err()
}
