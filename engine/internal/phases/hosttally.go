// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// hostTally keeps hostdb's counts and due times equal to crawldb while a phase rewrites records. Records come
// in key order, so all changes of a host are neighbours, and the hosts' new counts come in key order too: one small
// sum at a time, written as soon as the next host begins.
//
// The least due times of a host are in its counts (storage.HostCounts.Soonest), which follow most changes. Only when
// that list is used up is the host's range of crawldb read once. The read sees the store before this ingestion; what
// the phase changed since is in changes, and beyond their limit in spilled.
type hostTally struct {
	p      *Phases
	now    int64 // ms
	w      *storage.TableWriter
	known  *storage.Finder
	value  []byte
	woken  []urlkey.HostKey   // hosts that changed and have something due
	host   []byte             // the current one
	counts storage.HostCounts // its counts with the changes so far
	// touched: a record was written, if only with another score. changed: the counts differ.
	touched, changed bool

	changes dueChanges      // due times of the current host that records got and lost
	limit   int             // of changes in memory
	spilled *storage.Sorter // changes beyond, see appendDueKey; nil: none
}

// newHostTally returns a tally that writes into the ingestion. Call finish after the last change.
func (p *Phases) newHostTally(ing *storage.Ingestion) *hostTally {
	return &hostTally{
		p: p, now: p.now(), w: ing.Table(storage.HostCountsRange()),
		limit: max(int(p.env.TableBytes/dueChangeBytes/4), 1), // rebuild takes three times as much
		known: storage.NewFinder(p.env.Store, storage.HostCountsRange()),
	}
}

// change notes that the record under key became r; was is the one before, if known.
func (t *hostTally) change(key []byte, known bool, was, r *storage.Record) error {
	host := urlkey.HostKeyOf(key)
	if string(host) != string(t.host) {
		if err := t.next(host); err != nil {
			return err
		}
	}
	t.touched = true
	if !known || was.Status != r.Status {
		if n := &t.counts.ByStatus[was.Status]; known && *n > 0 {
			*n--
		}
		t.counts.ByStatus[r.Status]++
		t.changed = true
	}
	due := storage.DueAt(r.FetchTime)
	if known && storage.DueAt(was.FetchTime) == due {
		return nil
	}
	t.changed = true
	t.counts.AddDue(due) // before the removal, which might use the list up
	t.changes.add(due, 1)
	if known {
		before := storage.DueAt(was.FetchTime)
		t.counts.RemoveDue(before)
		t.changes.add(before, -1)
	}
	return t.bound()
}

// remove notes that the record under key is gone. A host without records has no counts.
func (t *hostTally) remove(key []byte, was *storage.Record) error {
	host := urlkey.HostKeyOf(key)
	if string(host) != string(t.host) {
		if err := t.next(host); err != nil {
			return err
		}
	}
	t.touched, t.changed = true, true
	if n := &t.counts.ByStatus[was.Status]; *n > 0 {
		*n--
	}
	due := storage.DueAt(was.FetchTime)
	t.counts.RemoveDue(due)
	t.changes.add(due, -1)
	return t.bound()
}

// spent adds what a fetch of the host that changed last has cost.
func (t *hostTally) spent(o *storage.FetchOutcome) {
	t.counts.Bytes += uint64(o.Bytes)
	t.counts.TookMS += uint64(o.TookMS)
	t.changed = true
}

// next ends the current host and loads another.
func (t *hostTally) next(host []byte) error {
	if err := t.finish(); err != nil {
		return err
	}
	t.host = append(t.host[:0], host...)
	t.changes = t.changes[:0]
	if t.spilled != nil {
		if err := t.spilled.Close(); err != nil {
			return fmt.Errorf("removing temporary files: %w", err)
		}
		t.spilled = nil
	}
	counts, err := t.known.Find(host)
	if err == nil && counts == nil {
		t.counts = storage.HostCounts{Soonest: t.counts.Soonest[:0], Complete: true}
	} else if err == nil {
		err = storage.DecodeHostCounts(counts, &t.counts)
	}
	if err != nil {
		return fmt.Errorf("hostdb counts of %s: %w", host, err)
	}
	return nil
}

// finish writes the counts of the current host, if they changed.
func (t *hostTally) finish() error {
	if !t.touched {
		return nil
	}
	none := t.counts.ByStatus == [storage.StatusCount]uint32{}
	if !none && !t.counts.KnowsDue() {
		if err := t.rebuild(); err != nil {
			return fmt.Errorf("computing when %s is due: %w", t.host, err)
		}
		t.changed = true
	}
	if !none && t.counts.NextDue != 0 && t.counts.NextDue <= t.now {
		t.woken = append(t.woken, urlkey.HostKey(t.host))
	}
	changed := t.changed
	t.touched, t.changed = false, false
	if !changed {
		return nil
	}
	if none {
		return t.w.Delete(t.host)
	}
	t.value = storage.AppendHostCounts(t.value[:0], &t.counts)
	return t.w.Set(t.host, t.value)
}

// close ends the tally.
func (t *hostTally) close() {
	t.known.Close()
	if t.spilled != nil {
		t.spilled.Close()
	}
}

// bound keeps the changes of a host with very many records out of memory.
func (t *hostTally) bound() error {
	if len(t.changes) < t.limit {
		return nil
	}
	if t.changes.net(); len(t.changes) <= t.limit/2 {
		return nil
	}
	return t.spill()
}

// spill moves the changes to the sorter.
func (t *hostTally) spill() error {
	if t.spilled == nil {
		t.spilled = t.p.env.Sorter(foldDue)
	}
	for _, c := range t.changes {
		if err := t.spilled.Add(appendDueKey(nil, c.at), binary.AppendVarint(nil, c.by)); err != nil {
			return fmt.Errorf("sorting due times: %w", err)
		}
	}
	t.changes = t.changes[:0]
	return nil
}

// rebuild computes the least due times of the current host from its records before this ingestion and from
// what changed since.
func (t *hostTally) rebuild() error {
	if t.spilled != nil {
		return t.rebuildSorted()
	}
	t.changes.net()
	// Each time that records lost takes at most one distinct time away, so as many more are read.
	due := storage.NewDueTimes(storage.SoonestMax + t.changes.lost())
	if err := t.before(func(at int64) error { due.Add(at); return nil }); err != nil {
		return err
	}
	times, complete := due.Least()
	t.counts.SetDue(mergeDue(times, complete, t.changes), complete)
	return nil
}

// rebuildSorted is rebuild where there are many changes: it sorts them together with what was before.
func (t *hostTally) rebuildSorted() error {
	if err := t.spill(); err != nil {
		return err
	}
	one := binary.AppendVarint(nil, 1)
	var key []byte
	err := t.before(func(at int64) error {
		key = appendDueKey(key[:0], at)
		return t.spilled.Add(key, one)
	})
	if err != nil {
		return err
	}
	run, err := t.spilled.Sort()
	if err != nil {
		return fmt.Errorf("sorting due times: %w", err)
	}
	defer run.Close()
	var times []storage.DueCount
	for run.Next() {
		if n, _ := binary.Varint(run.Value()); n > 0 {
			times = append(times, storage.DueCount{At: dueOfKey(run.Key()), Count: uint32(n)})
		}
		if len(times) > storage.SoonestMax {
			break
		}
	}
	t.counts.SetDue(times, true) // those beyond what it keeps make it incomplete
	return run.Err()
}

// before calls fn with the due time of each of the current host's records before this ingestion.
func (t *hostTally) before(fn func(at int64) error) error {
	sc := t.p.env.Store.Scan(storage.Crawldb(), t.host, PrefixEnd(t.host))
	defer sc.Close()
	var r storage.Record
	for sc.Next() {
		err := storage.DecodeRecord(sc.Value(), &r)
		if err != nil {
			return fmt.Errorf("crawldb record %s: %w", sc.Key(), err)
		}
		if err := fn(storage.DueAt(r.FetchTime)); err != nil {
			return err
		}
	}
	return sc.Err()
}

// mergeHosts returns the hosts of two ascending lists, each once, in order.
func mergeHosts(a, b []urlkey.HostKey) []urlkey.HostKey {
	if len(b) == 0 {
		return a
	}
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}
