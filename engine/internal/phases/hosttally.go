// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// hostTally keeps the due range and hostdb's counts and due times equal to crawldb while a phase rewrites records.
// Records come in key order, so all changes of a host are neighbours, and both come in key order too: one host at a
// time, written as soon as the next host begins.
//
// A host's next due time comes from the due range: it is that of the first key that is not of a new URL, and needs to
// be looked up only when the host has no new URL and the record that was due first is not any more. The range is that
// before this ingestion; what the phase changed since is in changes.
//
// The keys by day come behind those of all hosts: they wait in days for the end.
type hostTally struct {
	p      *Phases
	now    int64 // ms
	w, due *storage.TableWriter
	known  *storage.Finder
	there  *storage.Finder  // counts of another store, whose costs count if they are more; nil: none
	stored *storage.Scanner // the due range before this ingestion
	value  []byte
	key    []byte
	woken  []urlkey.HostKey // hosts that changed and have something due
	earned []newlyDue       // see places
	host   []byte           // the current one
	counts storage.HostCounts
	// touched: a record was written. changed: the counts differ.
	touched, changed bool
	stale            staleNotes

	changes dueChanges
	days    dueChanges
	hadNew  bool  // before this ingestion
	lost    bool  // the record that was due first may not be due any more
	least   int64 // of the due times that records got; 0: none
}

// newHostTally returns a tally that writes into the ingestion. Call finish after the last change.
func (p *Phases) newHostTally(ing *storage.Ingestion) *hostTally {
	return p.newHostTallies(ing, [][]byte{nil})[0]
}

// newHostTallies returns a tally for each part of the keys, as in storage.Ingestion.TableParts, each for a goroutine of
// its own. No host is in two parts. Call endHost of each after its last change, and then finishDays with all.
func (p *Phases) newHostTallies(ing *storage.Ingestion, from [][]byte) []*hostTally {
	n := len(from)
	changes := dueChanges{
		limit:  p.env.TableBytes / 4 / int64(n),
		sorter: func() *storage.Sorter { return p.sorterOf(n, storage.FoldLast) },
	}
	counts, due := ing.TableParts(storage.HostCountsRange(), from), ing.TableParts(storage.Due(), from)
	tallies := make([]*hostTally, n)
	for i := range tallies {
		t := &hostTally{
			p: p, now: p.now(), w: counts[i], due: due[i],
			known:   storage.NewFinder(p.env.Store, storage.HostCountsRange()),
			stored:  p.env.Store.Scan(storage.Due(), nil, nil),
			changes: changes, days: changes,
		}
		tallies[i] = t
		ing.Then(func() { p.places.changed(t.earned) })
	}
	return tallies
}

// keepRefreshed notes in the ingestion which documents change with the records, so that the mark of a refresh stays.
// All else that the ingestion changes must be noted too.
func (t *hostTally) keepRefreshed(ing *storage.Ingestion) (err error) {
	t.stale, err = t.p.keepRefreshed(ing)
	return err
}

// change notes that the record under key became r; was is the one before, if known.
func (t *hostTally) change(key []byte, known bool, was, r *storage.Record) error {
	rest, err := t.enter(key)
	if err == nil {
		err = t.stale.record(key, known, was, r)
	}
	if err != nil {
		return err
	}
	if !known || was.Status != r.Status {
		if n := &t.counts.ByStatus[was.Status]; known && *n > 0 {
			*n--
		}
		t.counts.ByStatus[r.Status]++
		t.changed = true
	}
	if !known {
		was = &storage.Record{} // is new, and so has no key by day, and no score
	}
	if err := t.noteDay(key, was, r); err != nil {
		return err
	}
	if r.Score != was.Score {
		t.counts.Rescore(was.Score, r.Score)
		t.changed = true
	}
	if known && storage.SameDue(was, r) && was.FetchTime == r.FetchTime {
		return nil
	}
	t.gets(r)
	if known {
		t.loses(was)
		if storage.SameDue(was, r) {
			return nil
		}
		if err := t.changes.add(was, rest, false); err != nil {
			return err
		}
	}
	return t.changes.add(r, rest, true)
}

// remove notes that the record under key is gone. A host without records has no counts.
func (t *hostTally) remove(key []byte, was *storage.Record) error {
	rest, err := t.enter(key)
	if err != nil {
		return err
	}
	t.changed = true
	if n := &t.counts.ByStatus[was.Status]; *n > 0 {
		*n--
	}
	t.counts.Rescore(was.Score, 0)
	t.loses(was)
	if err := t.noteDay(key, was, &storage.Record{}); err != nil {
		return err
	}
	return t.changes.add(was, rest, false)
}

// noteDay notes which key by day a record loses and which one it gets; new records have none.
func (t *hostTally) noteDay(key []byte, was, r *storage.Record) error {
	had, has := !was.IsNew(), !r.IsNew()
	if had && has && storage.SameDueDay(was, r) {
		return nil
	}
	if had {
		if err := t.days.addDay(was, key, false); err != nil {
			return err
		}
	}
	if has {
		return t.days.addDay(r, key, true)
	}
	return nil
}

// enter makes a key's host the current one, and returns what the key has after it.
func (t *hostTally) enter(key []byte) (rest []byte, err error) {
	host := urlkey.HostKeyOf(key)
	if string(host) != string(t.host) {
		if err := t.next(host); err != nil {
			return nil, err
		}
	}
	t.touched = true
	return key[len(host):], nil
}

// gets counts the due time of a record that comes.
func (t *hostTally) gets(r *storage.Record) {
	t.changed = true
	if r.IsNew() {
		t.counts.New++
	}
	if at := storage.DueAt(r.FetchTime); t.least == 0 || at < t.least {
		t.least = at
	}
}

// loses counts that of a record that goes.
func (t *hostTally) loses(was *storage.Record) {
	if was.IsNew() && t.counts.New > 0 {
		t.counts.New--
	}
	t.lost = t.lost || storage.DueAt(was.FetchTime) <= t.counts.NextDue
}

// spent adds what a fetch of the URL that changed last, of the key given, has cost and found.
func (t *hostTally) spent(key []byte, o *storage.FetchOutcome) {
	t.counts.Spent(urlkey.SchemeOf(key), o)
	t.changed = true
}

// next ends the current host and loads another.
func (t *hostTally) next(host []byte) error {
	if err := t.endHost(); err != nil {
		return err
	}
	t.host = append(t.host[:0], host...)
	t.lost, t.least = false, 0
	counts, err := t.known.Find(host)
	if err == nil && counts == nil {
		t.counts = storage.HostCounts{}
	} else if err == nil {
		err = storage.DecodeHostCounts(counts, &t.counts)
	}
	if err != nil {
		return fmt.Errorf("hostdb counts of %s: %w", host, err)
	}
	t.hadNew = t.counts.New > 0
	if t.there == nil {
		return nil
	}
	var there storage.HostCounts
	if counts, err = t.there.Find(host); err == nil && counts != nil {
		err = storage.DecodeHostCounts(counts, &there)
	}
	if err != nil {
		return fmt.Errorf("hostdb counts of %s there: %w", host, err)
	}
	t.changed = t.counts.MergeSpent(&there)
	return nil
}

// finish writes what is left after the last change. It is called once.
func (t *hostTally) finish() error {
	if err := t.endHost(); err != nil {
		return err
	}
	return finishDays([]*hostTally{t})
}

// finishDays writes the keys by day of all parts, which come behind those of all hosts. It is called once.
func finishDays(tallies []*hostTally) error {
	last := tallies[len(tallies)-1]
	for _, t := range tallies[:len(tallies)-1] {
		if err := t.days.each(last.days.addKey); err != nil {
			return err
		}
	}
	return last.days.each(func(key []byte, comes bool) error {
		if comes {
			return last.due.Set(key, nil)
		}
		return last.due.Delete(key)
	})
}

// endHost writes what is due of the current host, and its counts, if they changed.
func (t *hostTally) endHost() error {
	if !t.touched {
		return nil
	}
	changed := t.changed
	t.touched, t.changed = false, false
	if !changed {
		t.wake()
		return nil
	}
	search := t.counts.New == 0 && (t.hadNew || t.lost)
	first, err := t.writeDue(search)
	if err != nil {
		return err
	}
	if t.counts.ByStatus == [storage.StatusCount]uint32{} {
		return t.w.Delete(t.host)
	}
	if search {
		t.counts.NextDue = first
	}
	if t.least != 0 && (t.counts.NextDue == 0 || t.least < t.counts.NextDue) {
		t.counts.NextDue = t.least
	}
	t.wake()
	t.value = storage.AppendHostCounts(t.value[:0], &t.counts)
	return t.w.Set(t.host, t.value)
}

// wake notes the current host if it has something due.
func (t *hostTally) wake() {
	if t.counts.NextDue != 0 && t.counts.NextDue <= t.now {
		t.woken = append(t.woken, urlkey.HostKey(t.host))
	}
}

// writeDue writes the changes of the current host. If search is set, first is the least due time of its URLs that were
// fetched before and do not change; 0: there is none.
func (t *hostTally) writeDue(search bool) (first int64, err error) {
	stays := false // stored is at a key that does not change
	at := func(ok bool) bool { return ok && bytes.HasPrefix(t.stored.Key(), t.host) }
	more := search && at(t.stored.SeekGE(storage.AppendDueAt(bytes.Clone(t.host), 0)))
	var earned newlyDue
	err = t.changes.each(func(key []byte, comes bool) error {
		t.key = append(append(t.key[:0], t.host...), key...)
		if comes {
			earned.add(key)
			return t.due.Set(t.key, nil)
		}
		for more && !stays {
			order := bytes.Compare(t.stored.Key(), t.key)
			if stays = order < 0; order >= 0 {
				if order == 0 {
					more = at(t.stored.Next())
				}
				break
			}
		}
		return t.due.Delete(t.key)
	})
	if err == nil && more {
		var e storage.DueEntry
		e, err = storage.SplitDueKey(t.stored.Key())
		first = e.At
	}
	if earned != (newlyDue{}) {
		earned.host = urlkey.HostKey(t.host)
		t.earned = append(t.earned, earned)
	}
	if err := t.stored.Err(); err != nil {
		return 0, fmt.Errorf("looking up when %s is due: %w", t.host, err)
	}
	return first, err
}

// close ends the tally.
func (t *hostTally) close() {
	t.known.Close()
	t.stored.Close()
	_, _ = t.changes.close(), t.days.close() // of what an error left; the next start removes it otherwise
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
