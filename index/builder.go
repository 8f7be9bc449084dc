// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// BuildReport counts what a Builder wrote.
type BuildReport struct {
	Added    uint32        // documents, with those that replaced another
	Replaced uint32        // documents whose URL was indexed before
	Deleted  uint32        // documents removed by Delete
	Segments int           // index segments written
	Words    uint64        // in all fields of the documents added
	CPU      time.Duration // of the goroutines that the Builder started
}

// Builder makes index segments of documents. One goroutine at a time may use it. End it with Finish or Abort.
//
// With Options.Builders above 1 it inverts on goroutines of its own, in batches: the strings and slices of a Document
// must then not change before Finish or Abort returns. Which goroutine gets a batch follows from the texts alone, so
// the same documents make the same index segments.
type Builder struct {
	intake
	in      *storage.Ingestion
	located locatedSorter
	err     error          // of NewBuilder
	number  uint32         // the first of the numbers that are reserved for new index segments; 0: none yet
	workers []*worker      // begun when they are needed
	parts   []*BuilderPart // in place of workers
}

// NewBuilder begins index segments inside an ingestion, after those that are committed, whether refreshed or not. Only
// one Builder may exist on an index, from here to the ingestion's Commit. End it with Finish or Abort, before the store
// closes. On a closed index its methods return ErrClosed.
func (x *Index) NewBuilder(in *storage.Ingestion) *Builder {
	b := &Builder{intake: intake{x: x}, in: in}
	b.located.Sorter = storage.NewSorter(b.sorting(4))
	st, err := x.acquire()
	if err != nil {
		b.err = err
		return b
	}
	own, err := newIntake(b)
	if err == nil {
		b.intake = own
	}
	b.err = errors.Join(err, x.release(st))
	return b
}

// sorting returns the options of a sorter that has a part of the memory.
func (b *Builder) sorting(part int64) storage.SorterOptions {
	return storage.SorterOptions{Dir: b.x.s.SortDir(), FS: b.x.o.FS, MemoryBytes: b.x.o.MemoryBytes / part}
}

// Abort releases what the Builder holds; what it added to the ingestion must then not be committed. After Finish, or a
// second time, it does nothing.
func (b *Builder) Abort() {
	for _, l := range b.workers {
		l.abort()
	}
	for _, p := range b.parts {
		_ = p.close() // Finish has returned its error
	}
	_ = b.close()
	b.located.Close()
}

// Delete removes a URL from the index; that it is not indexed is no error. After an error only Abort is allowed.
func (b *Builder) Delete(key urlkey.Key) error {
	if b.err != nil {
		return b.err
	}
	return b.deletes(key)
}

// Add indexes a document in place of its older version. Documents and deletions come in key order. A document that
// Check refuses is an ErrDocument and changes nothing; after any other error only Abort is allowed.
func (b *Builder) Add(d *Document) error {
	if b.err != nil {
		return b.err
	}
	if err := d.Check(); err != nil {
		return err
	}
	if err := b.takes(d.Key); err != nil {
		return err
	}
	return b.worker().put(d)
}

// Finish adds the rest to the ingestion and ends the Builder. The ingestion's Commit makes the documents durable, a
// Refresh after it makes them searchable. After an error the ingestion must not be committed.
func (b *Builder) Finish() (BuildReport, error) {
	defer b.Abort()
	if b.err != nil {
		return b.report, b.err
	}
	if err := b.finishWorkers(); err != nil {
		return b.report, err
	}
	run, err := b.located.Sort()
	if err != nil {
		return b.report, err
	}
	defer run.Close()
	w := b.in.Table(Located())
	for run.Next() {
		if len(run.Value()) == 0 {
			err = w.Delete(run.Key())
		} else {
			err = w.Set(run.Key(), run.Value())
		}
		if err != nil {
			return b.report, err
		}
	}
	if err := run.Err(); err != nil {
		return b.report, err
	}
	return b.report, writeDeletes(b.in, b.deleted)
}

// finishWorkers waits for the workers and enters their index segments, and those of parts, into the registry.
func (b *Builder) finishWorkers() (err error) {
	var all []writtenSegment
	for _, l := range b.workers {
		l.finish()
	}
	for _, l := range b.workers {
		err = errors.Join(err, l.wait())
		all = append(all, l.b.written...)
		b.report.Words += l.b.words
		b.report.CPU += l.cpu
	}
	for _, p := range b.parts {
		b.add(&p.intake)
		all = append(all, p.to.written...)
		b.report.Words += p.to.words
	}
	if err != nil {
		return err
	}
	b.report.Segments = len(all)
	slices.SortFunc(all, func(a, b writtenSegment) int { return cmp.Compare(a.number, b.number) })
	for i := range all {
		if err := registerSegment(b.in, all[i].number, &all[i].info); err != nil {
			return err
		}
	}
	return nil
}

func writeDeletes(in *storage.Ingestion, deletes map[uint32]*roaring.Bitmap) error {
	var numbers []uint32
	for n := range deletes {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	w := in.Table(storage.IndexRange(kindDeletes))
	for _, n := range numbers {
		deletes[n].RunOptimize()
		value, err := deletes[n].MarshalBinary()
		if err == nil {
			err = w.Set(numberKey(n), value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
