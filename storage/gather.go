// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// A small ingestion makes no tables. A polite crawl updates its store every few seconds with a few hundred pages: as
// tables of their own these were a dozen small files each time, all of them overlapping crawldb and linkdb, and every
// eighth time a compaction wrote both ranges again. Gathered in the memtable, they reach these ranges together when it
// is full.
//
//	Set, Delete ──▶ held by each TableWriter ──┬─ at most gatherBytes in all ──▶ one batch, one sync of the log
//	                                           └─ more ──▶ spilled into tables, and so is all that follows
//
// Which way an ingestion takes depends on its size alone, and readers cannot tell.

// heldOverhead is what a key adds to a batch and to the memtable beside its bytes and those of its value, in bytes.
const heldOverhead = 32

// gatherBytes is the most that an ingestion may write without tables, in bytes. Pebble gives a batch of more than half
// a memtable a memtable of its own, which would then be flushed alone.
func (s *Store) gatherBytes() int64 {
	return min(int64(s.popts.MemTableSize)/memTableShare, gatherMost)
}

// gather counts a key and a value of a size, and reports whether the ingestion is still small.
func (in *Ingestion) gather(size int) bool {
	if in.large.Load() {
		return false
	}
	if in.gathered.Add(int64(size+heldOverhead)) <= in.s.gatherBytes() {
		return true
	}
	in.large.Store(true)
	return false
}

// Held keys and values follow each other: uvarint length of the key, the whole key, uvarint length of the value plus
// one (0: the key is deleted), the value.

// hold keeps the last key with its value.
func (w *TableWriter) hold(value []byte, deleted bool) {
	if need := len(w.key) + len(value) + heldOverhead; cap(w.held)-len(w.held) < need {
		w.held = slices.Grow(w.held, max(need, len(w.held))) // append grows by a quarter and copies three times as much
	}
	w.held = binary.AppendUvarint(w.held, uint64(len(w.key)))
	w.held = append(w.held, w.key...)
	if deleted {
		w.held = append(w.held, 0)
		return
	}
	w.held = binary.AppendUvarint(w.held, uint64(len(value))+1)
	w.held = append(w.held, value...)
}

// pebbleWriter is a table or a batch.
type pebbleWriter struct {
	set    func(key, value []byte) error
	delete func(key []byte) error
	clear  func(from, to []byte) error
}

// release passes on what is held, in order, and forgets it.
func (w *TableWriter) release(to pebbleWriter) error {
	next := func() []byte {
		n, size := binary.Uvarint(w.held)
		b := w.held[size : size+int(n)]
		w.held = w.held[size+int(n):]
		return b
	}
	for len(w.held) > 0 {
		key := next()
		var err error
		if w.held[0] == 0 {
			w.held = w.held[1:]
			err = to.delete(key)
		} else {
			n, size := binary.Uvarint(w.held)
			value := w.held[size : size+int(n)-1]
			w.held = w.held[size+int(n)-1:]
			err = to.set(key, value)
		}
		if err != nil {
			return w.fail(err)
		}
	}
	w.held = nil
	return nil
}

// spill writes what is held into a table, if anything is: the ingestion has become large. Called with in.mu held.
func (w *TableWriter) spill() error {
	if len(w.held) == 0 || w.err != nil {
		return w.err
	}
	if err := w.open(); err != nil {
		return err
	}
	return w.release(pebbleWriter{set: w.t.Set, delete: w.t.Delete})
}

// commitGathered makes a small ingestion visible and durable as one batch. Called with in.mu held.
func (in *Ingestion) commitGathered() error {
	b := in.s.db.NewBatchWithSize(int(in.gathered.Load()))
	defer b.Close()
	for _, r := range slices.SortedFunc(maps.Keys(in.deleted), compareRanges) { // before the keys that replace theirs
		if err := b.DeleteRange(r.start(), r.end(), nil); err != nil {
			return fmt.Errorf("deleting %s: %w", r, err)
		}
	}
	to := pebbleWriter{
		set:    func(key, value []byte) error { return b.Set(key, value, nil) },
		delete: func(key []byte) error { return b.Delete(key, nil) },
		clear:  func(from, to []byte) error { return b.DeleteRange(from, to, nil) },
	}
	for _, w := range in.sortedTables() {
		if w.err != nil {
			return w.err
		}
		if err := w.release(to); err != nil {
			return err
		}
	}
	in.s.segments.Lock()
	defer in.s.segments.Unlock()
	numbers, err := in.checkSegments()
	if err != nil {
		return err
	}
	states := Segments()
	for _, n := range numbers {
		seg := in.segments[n]
		if err := b.Set(states.appendKey(nil, AppendSegmentKey(nil, n)), AppendSegment(nil, &seg), nil); err != nil {
			return err
		}
	}
	if err := in.writeMarks(func() (pebbleWriter, error) { return to, nil }); err != nil {
		return err
	}
	if b.Empty() {
		return nil
	}
	if err := in.s.db.Apply(b, pebble.Sync); err != nil {
		return err
	}
	in.s.gathered.Add(1)
	// Pebble reports a failed sync through health.Fatalf and may then return nil here.
	return in.s.health.writable()
}
