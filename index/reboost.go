// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// A document to which more sites link gets another static score, and mostly nothing else of it changes. Its words then
// stay where they are: its boost and its stamp are written again, in the ingestion of the Builder.
//
//	SetBoost ─▶ sorter: index segment, document → boost, stamp
//	Finish   ─▶ of each index segment the blocks of ranges b and d with such documents, with the new values
//	            registry: segmentInfo.Reboosted + 1, by which Refresh and merges notice
//
// That takes a few microseconds where indexing the document again takes some 200, and leaves no deleted document for
// merges to remove. Of a crawl without delays it is most of what its end has to refresh: pages that were indexed early
// had few links to them yet.

// errReboosted ends a step of a merge whose index segments got other boosts meanwhile: the step begins again.
var errReboosted = errors.New("boosts of the index segments have changed")

// Boost returns the boost of a document that is indexed at a place, as Located says; 1 if it has none.
func (b *Builder) Boost(key urlkey.Key, at Location) (float64, error) {
	seg, at, err := b.locate(key, at)
	if err != nil {
		return 0, err
	}
	if f, ok := seg.boosts.factor(at.Doc); ok {
		return f, nil
	}
	return 1, nil
}

// SetBoost gives a document that is indexed at a place, as Located says, another boost and another stamp; all else of
// it stays as it is. It takes the place of Add or Delete in their order. After an error only Abort is allowed.
func (b *Builder) SetBoost(key urlkey.Key, at Location, boost float64, stamp uint64) error {
	if !validBoost(boost) {
		return fmt.Errorf("BUG: index: boost %v of %q", boost, key)
	}
	seg, at, err := b.locate(key, at)
	if err == nil {
		err = b.next(key)
	}
	if err != nil {
		return err
	}
	if b.reboosts == nil {
		b.reboosts = storage.NewSorter(b.sorting(8))
	}
	if boost == 1 {
		boost = 0
	}
	var name [8]byte
	binary.BigEndian.PutUint32(name[:], seg.number)
	binary.BigEndian.PutUint32(name[4:], at.Doc)
	var value [16]byte
	binary.BigEndian.PutUint64(value[:], math.Float64bits(boost))
	binary.BigEndian.PutUint64(value[8:], stamp)
	if err := b.reboosts.Add(name[:], value[:]); err != nil {
		return err
	}
	b.report.Reboosted++
	return b.located.add(string(key), appendLocated(nil, Location{seg.number, at.Doc, stamp}))
}

// locate returns the index segment of a place, with its boosts, and the place where a merge has put it.
func (b *Builder) locate(key urlkey.Key, at Location) (*segment, Location, error) {
	if b.err != nil {
		return nil, at, b.err
	}
	at, err := b.moved.follow(string(key), at)
	if err != nil {
		return nil, at, err
	}
	seg := b.boosted[at.Segment]
	if seg == nil {
		if seg, err = b.withBoosts(at.Segment); err != nil {
			return nil, at, err
		}
		b.boosted[at.Segment] = seg
	}
	if at.Doc >= seg.info.Docs {
		return nil, at, fmt.Errorf("%w: index segment %d has no document %d", storage.ErrCorrupt, at.Segment, at.Doc)
	}
	return seg, at, nil
}

// withBoosts returns an index segment as it is committed, with its boosts: those in memory if these are the same.
func (b *Builder) withBoosts(number uint32) (*segment, error) {
	seg, err := b.x.committed(number)
	if err != nil {
		return nil, err
	}
	for _, s := range b.opened {
		if s.number == number && s.info.Reboosted == seg.info.Reboosted {
			seg.boosts = s.boosts
			return seg, nil
		}
	}
	return seg, seg.loadBoosts(b.x.s)
}

// committed returns an index segment as the registry has it, whether refreshed or not.
func (x *Index) committed(number uint32) (*segment, error) {
	value, ok, err := x.s.Get(storage.IndexRange(kindSegments), numberKey(number), nil)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%w: there is no index segment %d", storage.ErrCorrupt, number)
	}
	return registered(numberKey(number), value)
}

// requireBoosts returns errReboosted unless the index segments of a merge have the boosts with which it began. The
// writers' lock is held.
func (x *Index) requireBoosts(group ...*segment) error {
	for _, seg := range group {
		now, err := x.committed(seg.number)
		if err != nil {
			return err
		}
		if now.info.Reboosted != seg.info.Reboosted {
			return errReboosted
		}
	}
	return nil
}

// writeBoosts adds the new boosts and stamps to the ingestion. It comes before index segments with higher numbers are
// registered.
func (b *Builder) writeBoosts() error {
	if b.reboosts == nil {
		return nil
	}
	run, err := b.reboosts.Sort()
	if err != nil {
		return err
	}
	defer run.Close()
	for more := run.Next(); more && err == nil; {
		r := newReboosting(b, b.boosted[binary.BigEndian.Uint32(run.Key())])
		more, err = r.read(run)
		err = errors.Join(err, r.keys.Close())
	}
	return errors.Join(err, run.Err())
}

// reboosting writes the new boosts and stamps of one index segment, whose documents come in order.
type reboosting struct {
	in     *storage.Ingestion
	seg    *segment
	count  uint32 // documents with a boost
	boosts *storage.TableWriter
	of     []float64 // boosts of a block of documents, 0 for none
	block  uint32    // of them
	docs   *storage.TableWriter
	keys   *storage.Finder
	head   []byte // a value of range d as far as its stamps
	stamps keyBlock
	under  uint32 // the number of that value
	value  []byte
}

func newReboosting(b *Builder, seg *segment) *reboosting {
	table := func(kind byte) storage.Range { return storage.IndexSegmentRange(seg.number, kind) }
	return &reboosting{
		in: b.in, seg: seg, count: seg.info.Boosts, boosts: b.in.Table(table(kindBoosts)),
		docs: b.in.Table(table(kindDocs)), keys: storage.NewFinder(b.x.s, table(kindDocs)),
	}
}

// read writes what a run has of the index segment; more is false at the end of the run.
func (r *reboosting) read(run *storage.Run) (more bool, err error) {
	for more = true; more && binary.BigEndian.Uint32(run.Key()) == r.seg.number; more = run.Next() {
		boost := math.Float64frombits(binary.BigEndian.Uint64(run.Value()))
		stamp := binary.BigEndian.Uint64(run.Value()[8:])
		if err := r.set(binary.BigEndian.Uint32(run.Key()[4:]), boost, stamp); err != nil {
			return more, err
		}
	}
	return more, r.finish()
}

func (r *reboosting) set(doc uint32, boost float64, stamp uint64) error {
	if block := doc / normDocs; len(r.of) == 0 || block != r.block {
		if err := r.flushBoosts(); err != nil {
			return err
		}
		r.block = block
		for at := block * normDocs; at < min((block+1)*normDocs, r.seg.info.Docs); at++ {
			f, _ := r.seg.boosts.factor(at)
			r.of = append(r.of, f)
		}
	}
	switch was := &r.of[doc%normDocs]; {
	case *was == 0 && boost != 0:
		r.count++
	case *was != 0 && boost == 0:
		r.count--
	}
	r.of[doc%normDocs] = boost
	if under := doc / keyDocs; len(r.head) == 0 || under != r.under {
		if err := r.flushStamps(); err != nil {
			return err
		}
		value, err := r.keys.Find(numberKey(under))
		if err == nil && value == nil {
			err = fmt.Errorf("%w: index segment %d has no document %d", storage.ErrCorrupt, r.seg.number, doc)
		}
		if err == nil {
			err = r.stamps.decode(value)
		}
		if err != nil {
			return err
		}
		r.under, r.head = under, append(r.head[:0], value[:r.stamps.stampsAt]...)
	}
	r.stamps.stamps[doc%keyDocs] = stamp
	return nil
}

func (r *reboosting) flushBoosts() error {
	if len(r.of) == 0 {
		return nil
	}
	var count uint32
	r.value, count = appendBoosts(r.value[:0], r.of)
	r.of = r.of[:0]
	if count == 0 {
		return r.boosts.Delete(numberKey(r.block))
	}
	return r.boosts.Set(numberKey(r.block), r.value)
}

func (r *reboosting) flushStamps() error {
	if len(r.head) == 0 {
		return nil
	}
	r.value = appendStamps(append(r.value[:0], r.head...), r.stamps.stamps[:r.stamps.count])
	r.head = r.head[:0]
	return r.docs.Set(numberKey(r.under), r.value)
}

func (r *reboosting) finish() error {
	if err := errors.Join(r.flushBoosts(), r.flushStamps()); err != nil {
		return err
	}
	info := r.seg.info
	info.Boosts = r.count
	info.Reboosted++
	return registerSegment(r.in, r.seg.number, &info)
}
