// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"cmp"
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
// that list is used up is the host's range of crawldb read once. The read sees the store before this
// ingestion; what the phase changed since is in added and removed.
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
	// Due times of the current host that records got and lost, as they came; equal neighbours are added up.
	added, removed []storage.DueCount
}

// newHostTally returns a tally that writes into the ingestion. Call finish after the last change.
func (p *Phases) newHostTally(ing *storage.Ingestion) *hostTally {
	return &hostTally{
		p: p, now: p.now(), w: ing.Table(storage.HostCountsRange()),
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
	t.added = appendDue(t.added, due)
	if known {
		before := storage.DueAt(was.FetchTime)
		t.counts.RemoveDue(before)
		t.removed = appendDue(t.removed, before)
	}
	return nil
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
	t.removed = appendDue(t.removed, due)
	return nil
}

// appendDue notes one more record with a due time.
func appendDue(list []storage.DueCount, at int64) []storage.DueCount {
	if n := len(list); n > 0 && list[n-1].At == at {
		list[n-1].Count++
		return list
	}
	return append(list, storage.DueCount{At: at, Count: 1})
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
	t.added, t.removed = t.added[:0], t.removed[:0]
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
	if !t.counts.KnowsDue() {
		if err := t.rebuild(); err != nil {
			return fmt.Errorf("computing when %s is due: %w", t.host, err)
		}
		t.changed = true
	}
	if t.counts.NextDue != 0 && t.counts.NextDue <= t.now {
		t.woken = append(t.woken, urlkey.HostKey(t.host))
	}
	changed := t.changed
	t.touched, t.changed = false, false
	if !changed {
		return nil
	}
	if t.counts.ByStatus == ([storage.StatusCount]uint32{}) {
		return t.w.Delete(t.host)
	}
	t.value = storage.AppendHostCounts(t.value[:0], &t.counts)
	return t.w.Set(t.host, t.value)
}

// close ends the tally.
func (t *hostTally) close() { t.known.Close() }

// rebuild computes the least due times of the current host from its records before this ingestion and from
// what changed since. Each removed time takes at most one distinct time away, so as many more are read.
func (t *hostTally) rebuild() error {
	changes := netChanges(t.added, t.removed)
	due := storage.NewDueTimes(storage.SoonestMax + len(t.removed))
	sc := t.p.env.Store.Scan(storage.Crawldb(), t.host, PrefixEnd(t.host))
	defer sc.Close()
	var r storage.Record
	for sc.Next() {
		if err := storage.DecodeRecord(sc.Value(), &r); err != nil {
			return fmt.Errorf("crawldb record %s: %w", sc.Key(), err)
		}
		due.Add(storage.DueAt(r.FetchTime))
	}
	if err := sc.Err(); err != nil {
		return err
	}
	times, complete := due.Least()
	t.counts.SetDue(mergeDue(times, complete, changes), complete)
	return nil
}

// dueChange is how many more records have a due time now; fewer if negative.
type dueChange struct{ at, by int64 }

// netChanges adds up what records got and lost, by time.
func netChanges(added, removed []storage.DueCount) []dueChange {
	changes := make([]dueChange, 0, len(added)+len(removed))
	for _, d := range added {
		changes = append(changes, dueChange{d.At, int64(d.Count)})
	}
	for _, d := range removed {
		changes = append(changes, dueChange{d.At, -int64(d.Count)})
	}
	slices.SortFunc(changes, func(a, b dueChange) int { return cmp.Compare(a.at, b.at) })
	n := 0
	for i, c := range changes {
		if i > 0 && c.at == changes[n-1].at {
			changes[n-1].by += c.by
			continue
		}
		changes[n] = c
		n++
	}
	return changes[:n]
}

// mergeDue applies changes to the least due times, both in ascending order. Unless times is complete, nothing is
// known of times after its last.
func mergeDue(times []storage.DueCount, complete bool, changes []dueChange) (out []storage.DueCount) {
	for len(times)+len(changes) > 0 {
		var at, count int64
		switch {
		case len(times) == 0 && !complete:
			return out
		case len(times) == 0 || len(changes) > 0 && changes[0].at < times[0].At:
			at, count = changes[0].at, changes[0].by
			changes = changes[1:]
		default:
			at, count = times[0].At, int64(times[0].Count)
			times = times[1:]
			if len(changes) > 0 && changes[0].at == at {
				count += changes[0].by
				changes = changes[1:]
			}
		}
		if count > 0 {
			out = append(out, storage.DueCount{At: at, Count: uint32(count)})
		}
	}
	return out
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
