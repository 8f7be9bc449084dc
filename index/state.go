// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/seine-crawler/seine/index/analysis"
	"github.com/seine-crawler/seine/storage"
)

// state is the index at one instant. It is immutable but for its references, so readers share it without a lock.
//
//	Open, Refresh   load, swap     refs = 1: the Index's own
//	a reader        acquire        refs + 1
//	                release        refs - 1
//	Refresh, Close  swap, release  refs - 1: the Index's own
//	refs = 0                       the snapshot closes
type state struct {
	index    *Index
	snap     *storage.Snapshot
	segments []*segment // by number
	all      collection
	terms    uint64              // of all segments
	spoken   []analysis.Language // of the documents, for the forms of words
	refs     atomic.Int64        // readers, plus one while it is the Index's current state

	weigh sync.Once
	table *impactTable // of all; see weights

	forms  recent[[]string] // of words of queries; see expander
	freqs  recent[uint64]   // documents of terms of queries that are not deleted
	better recent[string]   // words that were probably meant by words of queries; see words.better
	totals recent[total]    // what queries that are not strict find; see Suggest
}

// formsBytes bounds each of the two generations of state.forms, betterBytes those of state.better, totalsBytes those of
// state.totals.
const (
	formsBytes  = 1 << 20
	betterBytes = 1 << 20
	totalsBytes = 1 << 18
)

// weights returns the weights of occurrences, which the first search computes.
func (st *state) weights() *impactTable {
	st.weigh.Do(func() { st.table = st.all.weights() })
	return st.table
}

// segment is one index segment, opened.
type segment struct {
	number  uint32
	info    segmentInfo
	norms   [fieldCount][]byte // by document
	boosts  boosts
	filter  keyFilter
	spoken  uint64          // a bit for each language of its documents
	deleted *roaring.Bitmap // nil: none
	dead    []uint64        // the same, a bit per document
	freqs   *recent[uint64] // counts of terms with these deletes

	lexicons   *lexicons
	hostTables *hostTables
	rareDocs   *rareDocs
	values     *recent[storedValue] // that searches read; the states that have the segment share them
	held       *heldWords           // of states with the averages heldOf
	heldOf     [fieldCount]float64
}

// acquire returns the current state, for release after use, or ErrClosed.
func (x *Index) acquire() (*state, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.state == nil {
		return nil, ErrClosed
	}
	x.state.refs.Add(1) // at least 1 before, because it is current
	x.held.Add(1)
	return x.state, nil
}

// release gives a reference back; the last one closes the snapshot.
func (x *Index) release(st *state) error {
	defer x.held.Done()
	if st.refs.Add(-1) > 0 {
		return nil
	}
	if err := st.snap.Close(); err != nil {
		return fmt.Errorf("closing a snapshot of the index: %w", err)
	}
	return nil
}

// releaseAfter is release for a defer: it joins its error to the caller's.
func (x *Index) releaseAfter(st *state, err *error) {
	if e := x.release(st); e != nil {
		*err = errors.Join(*err, e)
	}
}

// swap makes st, which may be nil for none, the current state, and returns the one before it, nil for none. Whoever
// calls it releases that one.
func (x *Index) swap(st *state) (old *state) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if st != nil {
		st.refs.Store(1)
		x.held.Add(1)
	}
	old, x.state = x.state, st
	x.generation.Add(1)
	return old
}

// load reads the state of now. What cannot have changed it takes from known, the segments of the state before.
func (x *Index) load(known []*segment) (*state, error) {
	st := &state{index: x, snap: x.s.Snapshot()}
	st.forms.limit(formsBytes)
	st.freqs.limit(freqCacheTerms)
	st.better.limit(betterBytes)
	st.totals.limit(totalsBytes)
	if err := x.loadSegments(st, known); err != nil {
		_ = st.snap.Close() // the error before it says more
		return nil, fmt.Errorf("loading the index: %w", err)
	}
	return st, nil
}

func (x *Index) loadSegments(st *state, known []*segment) error {
	sc := st.snap.Scan(storage.IndexRange(kindSegments), nil, nil)
	defer sc.Close()
	before := map[uint32]*segment{}
	for _, seg := range known {
		before[seg.number] = seg
	}
	for sc.Next() {
		if x.loading != nil {
			if err := x.loading(); err != nil {
				return err
			}
		}
		seg, err := registered(sc.Key(), sc.Value())
		if err != nil {
			return err
		}
		if seg.info.Format != format {
			return fmt.Errorf(`%w: index segment %d has format %d, this version reads %d; run "seine index --rebuild"`,
				ErrFormat, seg.number, cmp.Or(seg.info.Format, 1), format)
		}
		if slices.Min(seg.info.Averages[:]) < 0 {
			return fmt.Errorf("%w: index segment %d: lengths %v", storage.ErrCorrupt, seg.number, seg.info.Averages)
		}
		if was := before[seg.number]; was != nil {
			seg.norms, seg.boosts, seg.filter, seg.lexicons = was.norms, was.boosts, was.filter, was.lexicons
			seg.hostTables, seg.rareDocs, seg.values = was.hostTables, was.rareDocs, was.values
		} else if err := seg.load(st.snap); err != nil {
			return err
		}
		if err := seg.loadDeleted(st.snap); err != nil {
			return err
		}
		seg.spreadDeleted(before[seg.number])
		st.segments = append(st.segments, seg)
		st.all.add(seg.live())
		st.terms += seg.info.Terms
	}
	docs := 0.0
	for _, seg := range st.segments {
		docs += float64(seg.info.Docs)
	}
	for _, seg := range st.segments {
		seg.heldOf = st.all.averages()
		switch was := before[seg.number]; {
		case was == nil:
			seg.held = newHeldWords(&x.heldBytes)
		case was.heldOf == seg.heldOf && seg.sameDeleted(was):
			seg.held = was.held
		default:
			seg.held = was.held.withoutWords()
		}
		seg.held.give(float64(seg.info.Docs) / docs)
	}
	st.spoken = st.languages()
	st.share(x.o.MemoryBytes)
	return sc.Err()
}

// registered returns an index segment as a row of the registry says.
func registered(key, value []byte) (*segment, error) {
	if len(key) != 4 {
		return nil, fmt.Errorf("%w: %x names no index segment", storage.ErrCorrupt, key)
	}
	seg := &segment{
		number: binary.BigEndian.Uint32(key), lexicons: &lexicons{}, hostTables: &hostTables{},
		rareDocs: &rareDocs{}, values: &recent[storedValue]{},
	}
	if err := json.Unmarshal(value, &seg.info); err != nil {
		return nil, fmt.Errorf("%w: index segment %d: %v", storage.ErrCorrupt, seg.number, err)
	}
	for code := range seg.info.Languages {
		d := Document{Language: code}
		seg.spoken |= 1 << (d.language() & 63)
	}
	return seg, nil
}

// load reads what searches of the segment always need.
func (seg *segment) load(rd storage.Reader) error {
	return errors.Join(seg.loadNorms(rd), seg.loadBoosts(rd), seg.loadFilter(rd))
}

func (seg *segment) loadDeleted(rd storage.Reader) (err error) {
	seg.deleted, err = readDeleted(rd, seg.number)
	return err
}

// spreadDeleted makes of the deletes what searches use. A segment that was known with the same deletes, which only
// grow, lends it.
func (seg *segment) spreadDeleted(was *segment) {
	if seg.deleted == nil || seg.deleted.IsEmpty() {
		return
	}
	if was != nil && was.dead != nil && seg.sameDeleted(was) {
		seg.dead, seg.freqs = was.dead, was.freqs
		return
	}
	seg.dead, seg.freqs = make([]uint64, (seg.info.Docs+63)/64), newFreqCache()
	for it := seg.deleted.Iterator(); it.HasNext(); {
		if doc := it.Next(); doc < seg.info.Docs {
			seg.dead[doc>>6] |= 1 << (doc & 63)
		}
	}
}

// sameDeleted reports whether a segment of an earlier state has the same deletes, which only grow.
func (seg *segment) sameDeleted(was *segment) bool {
	count := func(b *roaring.Bitmap) uint64 {
		if b == nil {
			return 0
		}
		return b.GetCardinality()
	}
	return count(seg.deleted) == count(was.deleted)
}

// readDeleted returns the deleted documents of an index segment, nil for none. The bitmap is a copy.
func readDeleted(rd storage.Reader, number uint32) (*roaring.Bitmap, error) {
	v, ok, err := rd.Get(storage.IndexRange(kindDeletes), numberKey(number), nil)
	if err != nil || !ok {
		return nil, err
	}
	b := roaring.New()
	if err = b.UnmarshalBinary(v); err == nil {
		err = b.Validate()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: deletes of index segment %d: %v", storage.ErrCorrupt, number, err)
	}
	return b, nil
}

// live returns the statistics of the documents that are not deleted.
func (seg *segment) live() collection {
	c := collection{uint64(seg.info.Docs), seg.info.Totals}
	if seg.deleted == nil {
		return c
	}
	for it := seg.deleted.Iterator(); it.HasNext(); {
		doc := it.Next()
		if doc >= seg.info.Docs {
			break
		}
		c.docs--
		for f, code := range seg.normsOf(doc) {
			c.totals[f] -= uint64(normLength[code])
		}
	}
	return c
}

// languages collects the languages of the documents.
func (st *state) languages() []analysis.Language {
	var seen uint64
	for _, seg := range st.segments {
		seen |= seg.spoken
	}
	var list []analysis.Language
	for seen &^= 1; seen != 0; seen &= seen - 1 {
		list = append(list, analysis.Language(bits.TrailingZeros64(seen)))
	}
	return list
}

func (seg *segment) alive(doc uint32) bool {
	return seg.dead == nil || seg.dead[doc>>6]&(1<<(doc&63)) == 0
}
