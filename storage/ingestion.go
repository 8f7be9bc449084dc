// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Ingestion is how phases write: sorted tables for any number of ranges, whole ranges to delete, and the
// segments' new states. All of it becomes visible at once and is durable when Commit returns nil, or
// none of it is.
//
//	Table(crawldb)  ──▶ 000001.sst 000002.sst …  ┐
//	Table(cdx)      ──▶ 000003.sst               │  written and synced in STORE/tmp-ingest
//	DeleteRange     ──▶ 000004.sst               │
//	PutSegment      ──▶ 000005.sst               ┘
//	                       └── one Ingest: linked into the store, one MANIFEST record, synced
//
// A crash before the MANIFEST record is synced leaves files in tmp-ingest; the next Open deletes them.
// What is small goes into the memtable instead, as one batch with one sync of the log: see gather.go.
// Different goroutines may write the tables of different ranges, or of different parts of one; the
// ingestion's own methods are safe for concurrent use. Make it with Store.NewIngestion; the zero value is not usable.
//
// The idiom:
//
//	in := store.NewIngestion()
//	defer in.Abort() // harmless after Commit
type Ingestion struct {
	s *Store

	mu       sync.Mutex
	tables   map[Range][]*TableWriter // of parts that follow one another; mostly one
	deleted  map[Range]bool
	segments map[uint32]Segment
	purged   map[uint32]bool // segments that stay in their state
	first    map[Range]bool  // whether the store had nothing of a range before
	files    []string        // finished tables, with an extra one while it is being written
	then     []func()
	marks    []mark
	keeps    bool // the mark of a refresh stays
	drops    bool // it goes
	ended    bool

	gathered atomic.Int64 // bytes that writers hold
	large    atomic.Bool  // too many for the memtable: writers make tables
}

// NewIngestion begins an ingestion. It writes nothing yet. End it with Commit or Abort.
func (s *Store) NewIngestion() *Ingestion {
	return &Ingestion{
		s:        s,
		tables:   map[Range][]*TableWriter{},
		deleted:  map[Range]bool{},
		segments: map[uint32]Segment{},
		purged:   map[uint32]bool{},
		first:    map[Range]bool{},
	}
}

// Table returns the ingestion's writer for a range, the same one at every call. A writer that receives
// no key makes no table.
func (in *Ingestion) Table(r Range) *TableWriter {
	return in.TableParts(r, [][]byte{nil})[0]
}

// TableParts returns a writer for each part of a range, for a goroutine each: the first key of a part is not below that
// which from has for it, and its last one below the next part's. from ascends, and begins with nil: all that comes
// before the second part. At every call for a range the parts must be the same, else all writers fail.
func (in *Ingestion) TableParts(r Range, from [][]byte) []*TableWriter {
	in.mu.Lock()
	defer in.mu.Unlock()
	if parts, ok := in.tables[r]; ok {
		same := func(w *TableWriter, least []byte) bool { return bytes.Equal(w.least, least) }
		if !slices.EqualFunc(parts, from, same) {
			for _, w := range parts {
				_ = w.fail(errors.New("BUG: storage: other parts of a range"))
			}
		}
		return parts
	}
	parts := make([]*TableWriter, len(from))
	for i := range parts {
		parts[i] = &TableWriter{in: in, r: r, least: from[i]}
		if i+1 < len(from) {
			parts[i].bound = from[i+1]
		}
	}
	in.tables[r] = parts
	return parts
}

// written is the number of keys of a range so far. Called with in.mu held, while nobody writes it.
func (in *Ingestion) written(r Range) (n uint64) {
	for _, w := range in.tables[r] {
		n += w.count
	}
	return n
}

// DeleteRange deletes everything in a range at the cost of one tombstone. If the ingestion also writes
// the range, its keys replace the deleted ones. DeleteRange must then precede the first key, because
// tables are written as keys arrive; otherwise it returns an error and deletes nothing.
func (in *Ingestion) DeleteRange(r Range) error {
	if r.IsZero() {
		return errors.New("BUG: storage: DeleteRange of the zero range")
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.written(r) > 0 {
		return fmt.Errorf("BUG: storage: DeleteRange of %s after its first key", r)
	}
	in.deleted[r] = true
	return nil
}

// DeleteParsed deletes the parse records of a segment from one key on up to another, nil for the end. Segments must
// ascend from call to call: all of it is one table, however many segments there are. The ingestion must not write parse
// records otherwise.
func (in *Ingestion) DeleteParsed(segment uint32, from, until []byte) error {
	w := in.Table(plainRange(tagParse))
	for _, r := range []Range{ParseLinks(segment), ParseTextRange(segment)} {
		end := r.end()
		if until != nil {
			end = r.appendKey(nil, until)
		}
		if err := w.DeleteRange(r.appendKey(nil, from)[1:], end[1:]); err != nil {
			return err
		}
	}
	return nil
}

// PutSegment makes a segment's new state part of the ingestion. It checks the transition now, and Commit
// checks it again against the state stored by then. The error is ErrTransition if the stored state can't
// become the given one, or ErrClosed, ErrReadOnly, ErrFatal or ErrCorrupt.
func (in *Ingestion) PutSegment(seg Segment) error {
	if err := in.s.mayWrite(); err != nil {
		return err
	}
	in.s.segments.Lock()
	err := in.s.checkTransition(&seg)
	in.s.segments.Unlock()
	if err != nil {
		return err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.segments[seg.Number] = seg
	return nil
}

// PutPurged makes other WARC files of a segment part of the ingestion, in the state that it has: a purge replaces
// files of segments that every phase is done with. The errors are those of PutSegment.
func (in *Ingestion) PutPurged(seg Segment) error {
	if err := in.s.mayWrite(); err != nil {
		return err
	}
	in.s.segments.Lock()
	err := in.s.checkState(&seg)
	in.s.segments.Unlock()
	if err != nil {
		return err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.segments[seg.Number], in.purged[seg.Number] = seg, true
	return nil
}

// Commit makes everything visible and durable. It ends the ingestion, also on error, and then nothing is
// visible (after ErrFatal only opening the store again shows whether it is). An empty ingestion commits
// without touching the store. It must not run at the same time as a TableWriter of this ingestion.
//
// Errors: ErrTransition, ErrOrder, ErrClosed, ErrReadOnly, ErrFatal, ErrCorrupt, and errors of the disk.
func (in *Ingestion) Commit() error {
	return in.CommitBy(func(n int, finish func(int) error) error {
		for i := range n {
			if err := finish(i); err != nil {
				return err
			}
		}
		return nil
	})
}

// CommitBy is Commit, of which goroutines can share what takes long: writing what is held, closing tables and syncing
// them. together calls finish for each number below n, in any order and at the same time if it likes, and returns an
// error of any when all calls have returned. It is called again and again, or not at all.
func (in *Ingestion) CommitBy(together func(n int, finish func(i int) error) error) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended {
		return fmt.Errorf("%w: the ingestion has ended", ErrClosed)
	}
	err := in.commit(together)
	if err != nil {
		err = fmt.Errorf("ingesting into the store in %s: %w", in.s.dir, classified(err))
	}
	in.end()
	for _, fn := range in.then {
		if err == nil {
			fn()
		}
	}
	return err
}

// Then makes Commit call fn, on its goroutine, once everything is visible and durable. fn must not use the ingestion.
func (in *Ingestion) Then(fn func()) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.then = append(in.then, fn)
}

// commitFiles is the number of files that a commit has open at the same time.
const commitFiles = 64

func (in *Ingestion) commit(together func(n int, finish func(i int) error) error) error {
	if err := in.s.mayWrite(); err != nil {
		return err
	}
	if err := in.checkDisjoint(); err != nil {
		return err
	}
	if !in.large.Load() {
		return in.commitGathered()
	}
	for some := range slices.Chunk(in.sortedTables(), commitFiles) {
		for _, w := range some {
			if err := w.ready(); err != nil {
				return err
			}
		}
		if err := together(len(some), func(i int) error { return some[i].complete() }); err != nil {
			return err
		}
	}
	if err := in.writeDeletions(); err != nil {
		return err
	}
	in.s.segments.Lock()
	defer in.s.segments.Unlock()
	if err := in.writeSegments(); err != nil {
		return err
	}
	if err := in.writeMarkTable(); err != nil {
		return err
	}
	if len(in.files) == 0 {
		return nil
	}
	// No caller's context: half of the steps inside can't be undone.
	if err := in.s.db.Ingest(context.Background(), in.files); err != nil {
		return err
	}
	in.files = nil // Pebble removed them
	return in.s.health.writable()
}

// sortedTables returns the writers in key order, so that equal ingestions make equal files.
func (in *Ingestion) sortedTables() []*TableWriter {
	list := make([]*TableWriter, 0, len(in.tables))
	for _, r := range slices.SortedFunc(maps.Keys(in.tables), compareRanges) {
		list = append(list, in.tables[r]...)
	}
	return list
}

func compareRanges(a, b Range) int {
	return cmp.Or(bytes.Compare(a.prefix[:a.n], b.prefix[:b.n]), cmp.Compare(a.n, b.n))
}

// checkDisjoint refuses to delete a range and write a part of it, or to write a range and delete a part
// of it. Their tables would overlap, and tables of one ingestion have no order in time.
func (in *Ingestion) checkDisjoint() error {
	for d := range in.deleted {
		for r := range in.tables {
			if in.written(r) == 0 || r == d {
				continue
			}
			if bytes.HasPrefix(r.start(), d.start()) || bytes.HasPrefix(d.start(), r.start()) {
				return fmt.Errorf("BUG: storage: one ingestion deletes %s and writes %s", d, r)
			}
		}
		for other := range in.deleted {
			if other != d && bytes.HasPrefix(other.start(), d.start()) {
				return fmt.Errorf("BUG: storage: one ingestion deletes %s and %s within it", d, other)
			}
		}
	}
	if in.written(Segments()) > 0 {
		return errors.New("BUG: storage: segments are written through PutSegment only")
	}
	return nil
}

// writeDeletions makes one table for each deleted range, or for several with nothing between them: a table covers
// everything between its first and last key, and tables of an ingestion must not overlap. Ranges that are also written
// have the tombstones in their own tables.
func (in *Ingestion) writeDeletions() error {
	deleted := slices.SortedFunc(maps.Keys(in.deleted), compareRanges)
	deleted = slices.DeleteFunc(deleted, func(r Range) bool { return in.written(r) > 0 })
	for i := 0; i < len(deleted); {
		first, last := deleted[i], deleted[i]
		for i++; i < len(deleted) && bytes.Equal(deleted[i].start(), last.end()); i++ {
			last = deleted[i]
		}
		t, err := in.newTable(first)
		if err != nil {
			return err
		}
		if err := errors.Join(t.DeleteRange(first.start(), last.end()), t.Close()); err != nil {
			return fmt.Errorf("deleting %s to %s: %w", first, last, err)
		}
	}
	return nil
}

// checkSegments checks the segments' states against the stored ones, and returns their numbers in order. Called with
// the store's segments lock.
func (in *Ingestion) checkSegments() ([]uint32, error) {
	numbers := make([]uint32, 0, len(in.segments))
	for n, seg := range in.segments {
		check := in.s.checkTransition
		if in.purged[n] {
			check = in.s.checkState
		}
		if err := check(&seg); err != nil {
			return nil, err
		}
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return numbers, nil
}

// writeSegments makes the table of the segments' states. Called with the store's segments lock.
func (in *Ingestion) writeSegments() error {
	numbers, err := in.checkSegments()
	if err != nil || len(numbers) == 0 {
		return err
	}
	t, err := in.newTable(Segments())
	if err != nil {
		return err
	}
	w := TableWriter{in: in, r: Segments(), t: t, check: tableSizeCheckKeys}
	defer w.abandon()
	for _, n := range numbers {
		seg := in.segments[n]
		if err := w.Set(AppendSegmentKey(nil, n), AppendSegment(nil, &seg)); err != nil {
			return err
		}
	}
	return w.finish(nil)
}

// writeMarkTable makes the table of the marks that change. Called with the store's segments lock.
func (in *Ingestion) writeMarkTable() error {
	var t *sstable.Writer
	err := in.writeMarks(func() (pebbleWriter, error) {
		var err error
		if t, err = in.newTable(Marks()); err != nil {
			return pebbleWriter{}, err
		}
		return pebbleWriter{t.Set, t.Delete, t.DeleteRange}, nil
	})
	if t != nil {
		err = errors.Join(err, t.Close())
	}
	return err
}

// Abort ends the ingestion and removes its files. After Commit or an earlier Abort it does nothing. It
// must not run at the same time as a TableWriter of this ingestion.
func (in *Ingestion) Abort() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended {
		return
	}
	in.end()
}

// end closes and removes the remaining files. If removing a file fails, the next Open removes it.
func (in *Ingestion) end() {
	in.ended = true
	for _, parts := range in.tables {
		for _, w := range parts {
			w.abandon()
		}
	}
	for _, name := range in.files {
		if err := in.s.fs.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			in.s.health.Errorf("removing a temporary table: %v", err)
		}
	}
	in.files = nil
}

// newTable opens the next temporary file and adds it to the list. Called with in.mu held.
func (in *Ingestion) newTable(r Range) (*sstable.Writer, error) {
	if err := in.s.mayWrite(); err != nil {
		return nil, err
	}
	dir := in.s.fs.PathJoin(in.s.dir, ingestDir)
	if err := in.s.fs.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making %s: %w", dir, err)
	}
	name := in.s.fs.PathJoin(dir, fmt.Sprintf("%06d.sst", in.s.tables.Add(1)))
	f, err := in.s.fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, fmt.Errorf("creating a table of %s: %w", r, err)
	}
	in.files = append(in.files, name)
	first, err := in.isFirst(r)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	// The writable syncs the file when the table is finished. Its entry in this directory need not be
	// durable: Pebble links the file into its own directory and syncs that.
	return sstable.NewWriter(objstorageprovider.NewFileWritable(f), in.s.tableOptions(r, first)), nil
}

// isFirst reports whether the store had nothing of r when the first table of r was begun. Called with in.mu held.
func (in *Ingestion) isFirst(r Range) (bool, error) {
	if r.n > 1 { // a part of a kind of range: see tableOptions
		return false, nil
	}
	first, known := in.first[r]
	if !known {
		sc := in.s.Scan(r, nil, nil)
		first = !sc.Next()
		if err := sc.Close(); err != nil {
			return false, fmt.Errorf("looking into %s: %w", r, err)
		}
		in.first[r] = first
	}
	return first, nil
}
