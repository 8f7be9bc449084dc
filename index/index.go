// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/seine-crawler/seine/index/analysis"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// AnalyzerVersion names the terms of the index; the engine stores it with the data.
const AnalyzerVersion = analysis.Version

// The ranges of the index. Kinds are on disk.
const (
	kindSegments = 'g' // index segment → segmentInfo
	kindLocated  = 'l' // URL key → located
	kindDeletes  = 'x' // index segment → roaring bitmap

	kindTerms = 't' // in an index segment: term, 0, chunk → postings
	kindDocs  = 'd' // document → key, stamp
	kindNorms = 'n' // block of documents → field lengths
)

// Located is the range that says where each URL is indexed, for merge-joins; see DecodeLocated.
func Located() storage.Range { return storage.IndexRange(kindLocated) }

// Location says where a URL is indexed.
type Location struct {
	Segment uint32 // index segment
	Doc     uint32
	Stamp   uint64 // the document's
}

// DecodeLocated decodes a value of Located.
func DecodeLocated(b []byte) (l Location, err error) {
	if len(b) != 16 {
		return l, fmt.Errorf("%w: index directory entry of %d bytes", storage.ErrCorrupt, len(b))
	}
	return Location{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint64(b[8:])}, nil
}

func appendLocated(dst []byte, l Location) []byte {
	dst = binary.BigEndian.AppendUint32(dst, l.Segment)
	dst = binary.BigEndian.AppendUint32(dst, l.Doc)
	return binary.BigEndian.AppendUint64(dst, l.Stamp)
}

// segmentInfo is what is known of an index segment without reading it.
type segmentInfo struct {
	Docs   uint32             `json:"docs"`
	Terms  uint64             `json:"terms"`
	Totals [fieldCount]uint64 `json:"totals"` // words per field
	Fields int                `json:"fields"` // lengths of a document; 0 means oldFields
}

// Options of an Index.
type Options struct {
	MemoryBytes int64      // of a Builder; 0 means 128 MiB
	FS          storage.FS // the store's; nil means the disk
}

// Index is the index of one store.
type Index struct {
	s *storage.Store
	o Options

	mu    sync.RWMutex // searches hold it for reading, Refresh for writing
	state *state
}

// state is the index at one instant.
type state struct {
	snap     *storage.Snapshot
	segments []*segment // by number
	all      collection
}

// segment is one index segment, opened.
type segment struct {
	number  uint32
	info    segmentInfo
	lengths []lengths
	deleted *roaring.Bitmap // nil: none
}

// Open opens the index of a store.
func Open(s *storage.Store, o Options) (*Index, error) {
	if o.MemoryBytes == 0 {
		o.MemoryBytes = defaultMem
	}
	x := &Index{s: s, o: o}
	return x, x.Refresh()
}

// Close ends the index; the store stays open.
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.state == nil {
		return nil
	}
	st := x.state
	x.state = nil
	return st.snap.Close()
}

// Refresh makes what was committed since searchable.
func (x *Index) Refresh() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	st, err := x.load(x.state)
	if err != nil {
		return fmt.Errorf("opening the index: %w", err)
	}
	old := x.state
	x.state = st
	if old != nil {
		return old.snap.Close()
	}
	return nil
}

// load reads the state of now, taking from the old one what cannot have changed.
func (x *Index) load(old *state) (*state, error) {
	st := &state{snap: x.s.Snapshot()}
	sc := st.snap.Scan(storage.IndexRange(kindSegments), nil, nil)
	defer sc.Close()
	known := map[uint32]*segment{}
	if old != nil {
		for _, seg := range old.segments {
			known[seg.number] = seg
		}
	}
	for sc.Next() {
		seg := &segment{number: binary.BigEndian.Uint32(sc.Key())}
		if err := json.Unmarshal(sc.Value(), &seg.info); err != nil {
			return nil, fmt.Errorf("%w: index segment %d: %v", storage.ErrCorrupt, seg.number, err)
		}
		if was := known[seg.number]; was != nil {
			seg.lengths = was.lengths
		} else if err := seg.loadLengths(st.snap); err != nil {
			return nil, err
		}
		if err := seg.loadDeleted(st.snap); err != nil {
			return nil, err
		}
		st.segments = append(st.segments, seg)
		st.all.add(seg.live())
	}
	return st, sc.Err()
}

func (seg *segment) loadLengths(rd storage.Reader) error {
	seg.lengths = make([]lengths, 0, seg.info.Docs)
	fields := cmp.Or(seg.info.Fields, oldFields)
	if fields < 0 || fields > fieldCount {
		return fmt.Errorf("index segment %d has %d fields, this version knows %d: it was written by a newer seine", seg.number, fields, fieldCount)
	}
	sc := rd.Scan(storage.IndexSegmentRange(seg.number, kindNorms), nil, nil)
	defer sc.Close()
	for sc.Next() {
		v := sc.Value()
		for ; len(v) >= 2*fields; v = v[2*fields:] {
			var l lengths
			for f := range fields {
				l[f] = binary.LittleEndian.Uint16(v[2*f:])
			}
			seg.lengths = append(seg.lengths, l)
		}
	}
	if err := sc.Err(); err != nil {
		return err
	}
	if len(seg.lengths) != int(seg.info.Docs) {
		return fmt.Errorf("%w: index segment %d has %d documents and %d lengths", storage.ErrCorrupt, seg.number, seg.info.Docs, len(seg.lengths))
	}
	return nil
}

func (seg *segment) loadDeleted(rd storage.Reader) (err error) {
	seg.deleted, err = readDeleted(rd, seg.number)
	return err
}

// readDeleted returns the deleted documents of an index segment, nil for none. The bitmap is a copy.
func readDeleted(rd storage.Reader, number uint32) (*roaring.Bitmap, error) {
	v, ok, err := rd.Get(storage.IndexRange(kindDeletes), numberKey(number), nil)
	if err != nil || !ok {
		return nil, err
	}
	b := roaring.New()
	if err := b.UnmarshalBinary(v); err != nil {
		return nil, fmt.Errorf("%w: deletes of index segment %d: %v", storage.ErrCorrupt, number, err)
	}
	return b, nil
}

// live are the statistics of the documents that are not deleted.
func (seg *segment) live() collection {
	c := collection{uint64(seg.info.Docs), seg.info.Totals}
	if seg.deleted == nil {
		return c
	}
	for it := seg.deleted.Iterator(); it.HasNext(); {
		doc := it.Next()
		if int(doc) >= len(seg.lengths) {
			break
		}
		c.docs--
		for f, n := range seg.lengths[doc] {
			c.totals[f] -= uint64(n)
		}
	}
	return c
}

func (seg *segment) alive(doc uint32) bool { return seg.deleted == nil || !seg.deleted.Contains(doc) }

func numberKey(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

// Stats are the numbers of the index.
type Stats struct {
	Segments  int    `json:"segments"`
	Documents uint64 `json:"documents"` // alive
	Deleted   uint64 `json:"deleted"`
	Terms     uint64 `json:"terms"` // summed over index segments
	Words     uint64 `json:"words"`
}

// Stats returns the numbers of the index as it was at the last Refresh.
func (x *Index) Stats() Stats {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var s Stats
	for _, seg := range x.state.segments {
		s.Segments++
		s.Documents += uint64(seg.info.Docs)
		s.Terms += seg.info.Terms
		if seg.deleted != nil {
			s.Deleted += seg.deleted.GetCardinality()
		}
		for _, n := range seg.info.Totals {
			s.Words += n
		}
	}
	s.Documents -= s.Deleted
	return s
}

// docKey reads the URL key and stamp of a document.
func docKey(rd storage.Reader, seg, doc uint32) (key urlkey.Key, stamp uint64, err error) {
	v, ok, err := rd.Get(storage.IndexSegmentRange(seg, kindDocs), numberKey(doc), nil)
	if err != nil {
		return "", 0, err
	}
	if !ok || len(v) < 8 {
		return "", 0, fmt.Errorf("%w: index segment %d has no document %d", storage.ErrCorrupt, seg, doc)
	}
	return urlkey.Key(v[8:]), binary.BigEndian.Uint64(v), nil
}
