// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Anchors is what other pages say of a document: the texts of links to it, and its static score. They change long after
// the document does, with every page that is found to link to it.
type Anchors struct {
	Texts []string // as Document.Anchors
	Boost float64  // as Document.Boost
	Stamp uint64   // as Document.Stamp
}

// Reanchoring gives documents other anchors and leaves all else of them as it is, without their texts. An index segment
// of which many documents change is copied, as a merge copies several into one; the lists of anchors' words come from
// the new texts. That takes a small part of the time that analysing whole pages takes.
//
//	Add     place of a document, its anchors ─▶ sorted by place
//	Finish  for each index segment with enough of them:
//	        documents          ─▶ copied; those that change with new stamps, boosts and lengths
//	        anchors            ─▶ inverted, and sorted by term where memory is full
//	        lists of all terms ─▶ merged with these, without the old anchors of the documents that change
//
// What it leaves alone, Finish names: the caller adds those documents anew. A crash leaves each index segment as it
// was, or as it is to be. End it with Finish or Abort.
type Reanchoring struct {
	// Meter, if not nil, measures the goroutines that Finish starts, while they run.
	Meter *storage.CPUMeter

	x  *Index
	st *state

	mu       sync.Mutex               // in Add: guards changes; in Finish: held for each exchange, and to call left
	changes  map[uint32]*anchorChange // by index segment
	memory   int64                    // of each of their sorters
	finished ReanchorReport
}

// anchorChange is what changes of one index segment.
type anchorChange struct {
	seg    *segment
	count  uint64          // documents
	sorter *storage.Sorter // document → Anchors
}

// ReanchorReport counts what Finish did.
type ReanchorReport struct {
	Changed  uint64 // documents that have their new anchors
	Left     uint64 // documents that the caller was told to add anew
	Segments int    // index segments that were written
}

// reanchorPart: an index segment is copied if one in so many of its documents changes. Copying takes about a tenth of
// the time of indexing, for each document that is there.
const reanchorPart = 6

// NewReanchoring begins. Its caller holds Writing until Finish or Abort returns; no merge may run meanwhile, and
// ok is false, and r nil, if one does. Where a Location names a document, what Located says is meant from here on. What
// is left of a merge that was cut short after its exchange is done first. (A crawl cuts merges short at its end; ok was
// false then, and all documents were made anew.)
func (x *Index) NewReanchoring(ctx context.Context) (r *Reanchoring, ok bool, err error) {
	if !x.merging.TryLock() { // to wait would be to wait for each other: a merge takes merging before Writing
		return nil, false, nil
	}
	defer func() {
		if !ok {
			x.merging.Unlock()
		}
	}()
	if err := errors.Join(x.Refresh(), x.redirectAll(ctx)); err != nil {
		return nil, false, err
	}
	st, err := x.acquire()
	if err != nil {
		return nil, false, err
	}
	r = &Reanchoring{
		x: x, st: st, changes: map[uint32]*anchorChange{},
		memory: x.o.MemoryBytes / 4 / int64(max(len(st.segments), 1)),
	}
	for _, seg := range st.segments {
		r.changes[seg.number] = &anchorChange{seg: seg}
	}
	return r, true, nil
}

// Abort ends it, with what is done. After Finish, or a second time, it does nothing.
func (r *Reanchoring) Abort() {
	if r.st == nil {
		return
	}
	for _, c := range r.changes {
		if c.sorter != nil {
			c.sorter.Close()
		}
	}
	_ = r.x.release(r.st) // it held a snapshot for reading
	r.st = nil
	r.x.merging.Unlock()
}

// Add adds a document, in any order. Any goroutine may call it. After an error only Abort is allowed.
func (r *Reanchoring) Add(at Location, a *Anchors) error {
	value := appendAnchors(nil, a)
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.changes[at.Segment]
	if c == nil || at.Doc >= c.seg.info.Docs {
		return fmt.Errorf("%w: the index directory names document %d of index segment %d, which does not exist",
			storage.ErrCorrupt, at.Doc, at.Segment)
	}
	if c.sorter == nil {
		c.sorter = storage.NewSorter(storage.SorterOptions{
			Dir: r.x.s.SortDir(), FS: r.x.o.FS, MemoryBytes: r.memory,
		})
	}
	c.count++
	return c.sorter.Add(numberKey(at.Doc), value)
}

func appendAnchors(dst []byte, a *Anchors) []byte {
	dst = binary.BigEndian.AppendUint64(dst, a.Stamp)
	dst = binary.BigEndian.AppendUint64(dst, math.Float64bits((&Document{Boost: a.Boost}).boost()))
	for _, text := range a.Texts {
		dst = appendText(dst, text)
	}
	return dst
}

// anchorsRows walks the documents of an index segment that change.
type anchorsRows struct {
	run   *storage.Run
	more  bool
	doc   uint32
	stamp uint64
	boost float64
	texts []byte // as appendAnchors has them
}

func (a *anchorsRows) step() error {
	if a.more = a.run.Next(); !a.more {
		return a.run.Err()
	}
	value := a.run.Value()
	a.doc, a.stamp = binary.BigEndian.Uint32(a.run.Key()), binary.BigEndian.Uint64(value)
	a.boost, a.texts = math.Float64frombits(binary.BigEndian.Uint64(value[8:])), value[16:]
	return nil
}

// Finish changes the documents, calls left with the key of each that is to be added anew, one at a time, and ends. The
// changes are durable and searchable. It works on up to Options.Builders index segments at once. After an error, or
// when ctx is canceled, some documents have changed and others have not.
func (r *Reanchoring) Finish(ctx context.Context, left func(key urlkey.Key) error) (ReanchorReport, error) {
	defer r.Abort()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var list []*anchorChange
	for _, c := range r.changes {
		if c.count > 0 {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *anchorChange) int { // the largest first: it takes longest
		return cmp.Or(cmp.Compare(b.seg.info.Docs, a.seg.info.Docs), cmp.Compare(a.seg.number, b.seg.number))
	})
	workers := min(max(r.x.o.Builders, 1), len(list))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			if r.Meter != nil {
				defer r.Meter.Start()()
			}
			for i := int(next.Add(1)) - 1; i < len(list); i = int(next.Add(1)) - 1 {
				if err := r.change(ctx, list[i], workers, left); err != nil {
					cancel(fmt.Errorf("new anchors in index segment %d: %w", list[i].seg.number, err))
					return
				}
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return r.finished, context.Cause(ctx)
	}
	return r.finished, nil
}

// change changes documents of an index segment, or leaves them. It is one of several.
func (r *Reanchoring) change(
	ctx context.Context, c *anchorChange, several int, left func(key urlkey.Key) error,
) (err error) {
	run, err := c.sorter.Sort()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	rows := &anchorsRows{run: run}
	if err := rows.step(); err != nil {
		return err
	}
	p := r.x.newPace(ctx, 0)
	if c.count*reanchorPart < uint64(c.seg.info.Docs) {
		return r.leave(p, c, rows, left)
	}
	return r.rewrite(ctx, p, c, rows, several)
}

// leave names the documents of an index segment that is not written.
func (r *Reanchoring) leave(p *pace, c *anchorChange, rows *anchorsRows, left func(key urlkey.Key) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	keys := newKeyReader(r.st.snap, c.seg)
	for ; rows.more; r.finished.Left++ {
		if err := p.step(docUnits); err != nil {
			return err
		}
		key, _, err := keys.key(rows.doc)
		if err == nil {
			err = left(urlkey.Key(key))
		}
		if err == nil {
			err = rows.step()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rewrite writes an index segment again.
func (r *Reanchoring) rewrite(ctx context.Context, p *pace, c *anchorChange, rows *anchorsRows, several int) error {
	x := r.x
	ing := x.s.NewIngestion()
	defer ing.Abort()
	to := newAnchorCopy(x, r.st.snap, c.seg, ing, x.o.MemoryBytes/int64(several))
	defer to.close()
	sources, err := to.write(p, rows)
	if err != nil {
		return err
	}
	if err := x.merged("written"); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := x.exchange(ing, []*segment{c.seg}, sources, to.docs); err != nil {
		return err
	}
	if err := x.Refresh(); err != nil {
		return err
	}
	r.finished.Changed += c.count
	r.finished.Segments++
	return x.redirectAll(ctx) // at once: what Located says of stamps is what refreshes go by
}
