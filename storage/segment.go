// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/seine-crawler/seine/storage/warc"
)

// SegmentState is how far a segment has been processed. It only moves forward. The zero SegmentState
// means that there is no such segment.
type SegmentState uint8

// The states, in order. A phase writes its tables and the segment's next state in one ingestion, so the
// state determines which data exists. The numbers are stored: never change one.
const (
	// SegmentOpen: pages are being fetched into its WARC files, or its fetchlist is not fetched yet.
	SegmentOpen SegmentState = iota + 1
	// SegmentSealed: the WARC files are complete; parse records and cdx are in the store.
	SegmentSealed
	// SegmentUpdated: crawldb, hostdb and signatures contain the outcomes.
	SegmentUpdated
	// SegmentLinked: linkdb contains the links.
	SegmentLinked
	// SegmentIndexed: searches find the pages. This is the last state.
	SegmentIndexed
)

// String returns the state's name: open, sealed, updated, linked, indexed.
func (s SegmentState) String() string {
	switch s {
	case SegmentOpen:
		return "open"
	case SegmentSealed:
		return "sealed"
	case SegmentUpdated:
		return "updated"
	case SegmentLinked:
		return "linked"
	case SegmentIndexed:
		return "indexed"
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// CanBecome reports whether a segment in state s may be written with state next. A segment may stay open
// or sealed: the counts of an open segment change, and a sealed one can be parsed again.
func (s SegmentState) CanBecome(next SegmentState) bool {
	switch s {
	case 0: // no such segment yet
		return next == SegmentOpen
	case SegmentOpen:
		return next == SegmentOpen || next == SegmentSealed
	case SegmentSealed:
		return next == SegmentSealed || next == SegmentUpdated
	case SegmentUpdated:
		return next == SegmentLinked
	case SegmentLinked:
		return next == SegmentIndexed
	}
	return false
}

// WARCFile is the part of one WARC file that belongs to a segment, as it was when the segment was sealed. Other parts
// of the file may belong to others.
type WARCFile struct {
	Name    string `json:"name"`    // base name
	Start   int64  `json:"start"`   // where the part begins, in bytes
	Size    int64  `json:"size"`    // of the part, in bytes
	Records uint64 `json:"records"` // warcinfo included
}

// End is where the part ends, in bytes from the beginning of the file.
func (f *WARCFile) End() int64 { return f.Start + f.Size }

// Holds reports whether the part contains a record as a whole.
func (f *WARCFile) Holds(l warc.Location) bool {
	return f.Name == l.File && f.Start <= l.Offset && l.Offset <= f.End()-l.Length
}

// SegmentCounts are the numbers of URLs of a segment by outcome, and of their links and bytes.
type SegmentCounts struct {
	Generated    uint64 `json:"generated"`
	Fetched      uint64 `json:"fetched"`
	Failed       uint64 `json:"failed"`
	Redirected   uint64 `json:"redirected"`
	Gone         uint64 `json:"gone"` // of Failed
	NotModified  uint64 `json:"not_modified"`
	RobotsDenied uint64 `json:"robots_denied"`
	Links        uint64 `json:"links"`
	Bytes        uint64 `json:"bytes"`
}

// Attempts is the number of fetches. Of an open segment it is 0 until its whole fetchlist was fetched.
func (c *SegmentCounts) Attempts() uint64 {
	return c.Fetched + c.Failed + c.Redirected + c.NotModified + c.RobotsDenied
}

// list returns the counts in stored order. Append at the end only: older records have fewer.
func (c *SegmentCounts) list() [9]*uint64 {
	return [...]*uint64{&c.Generated, &c.Fetched, &c.Failed, &c.Redirected, &c.Gone, &c.NotModified,
		&c.RobotsDenied, &c.Links, &c.Bytes}
}

// Segment is one batch of fetched pages. (Nutch: a directory under segments/.)
type Segment struct {
	Number  uint32 // from 1
	State   SegmentState
	Batch   bool      // made by generate: it has a fetchlist
	Created time.Time // stored to the millisecond, in UTC
	Sealed  time.Time // likewise; zero while open
	WARC    []WARCFile
	Counts  SegmentCounts
}

// Layout of a segment's value; its number is the key.
//
//	1 byte   version 2
//	1 byte   state
//	1 byte   1 = batch
//	varint   created, ms since 1970 (a zero time is the least int64)
//	varint   sealed
//	uvarint  number of counts, then each a uvarint
//	uvarint  number of WARC files, then each: name, uvarint start, uvarint size, uvarint records
//
// Version 1 is without start: the files are whole.
const (
	segmentVersion      = 2
	segmentVersionWhole = 1
)

// AppendSegment appends the encoding of seg to dst, without its number.
func AppendSegment(dst []byte, seg *Segment) []byte {
	batch := byte(0)
	if seg.Batch {
		batch = 1
	}
	dst = append(dst, segmentVersion, byte(seg.State), batch)
	dst = binary.AppendVarint(dst, timeMS(seg.Created))
	dst = binary.AppendVarint(dst, timeMS(seg.Sealed))
	counts := seg.Counts.list()
	dst = binary.AppendUvarint(dst, uint64(len(counts)))
	for _, n := range counts {
		dst = binary.AppendUvarint(dst, *n)
	}
	dst = binary.AppendUvarint(dst, uint64(len(seg.WARC)))
	for _, f := range seg.WARC {
		dst = appendText(dst, f.Name)
		dst = binary.AppendUvarint(dst, uint64(f.Start))
		dst = binary.AppendUvarint(dst, uint64(f.Size))
		dst = binary.AppendUvarint(dst, f.Records)
	}
	return dst
}

// DecodeSegment decodes a segment's value; the number comes from its key. The error is ErrCorrupt if
// AppendSegment did not make b.
func DecodeSegment(number uint32, b []byte) (Segment, error) {
	d := decoder{b: b}
	seg := Segment{Number: number}
	version := d.byte()
	seg.State = SegmentState(d.byte())
	batch := d.byte()
	seg.Batch = batch == 1
	seg.Created, seg.Sealed = msTime(d.varint()), msTime(d.varint())
	counts := seg.Counts.list()
	n := d.uint(uint64(len(counts)))
	for _, c := range counts[:n] {
		*c = d.uvarint()
	}
	const fileMin = 3 // bytes
	files := d.uint(uint64(len(d.b)) / fileMin)
	for range files {
		f := WARCFile{Name: d.text()}
		if version == segmentVersion {
			f.Start = int64(d.uint(1<<63 - 1))
		}
		f.Size = int64(d.uint(1<<63 - 1 - uint64(f.Start)))
		f.Records = d.uvarint()
		seg.WARC = append(seg.WARC, f)
	}
	known := version == segmentVersion || version == segmentVersionWhole
	if !d.done() || !known || batch > 1 || seg.State < SegmentOpen || seg.State > SegmentIndexed {
		return Segment{}, corrupt("record of segment %d", number)
	}
	return seg, nil
}

// noTime stands for the zero time.Time, which is no useful number of milliseconds.
const noTime = -1 << 63

func timeMS(t time.Time) int64 {
	if t.IsZero() {
		return noTime
	}
	return t.UnixMilli()
}

func msTime(ms int64) time.Time {
	if ms == noTime {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// Segment returns the segment with a number, and whether there is one. The errors are those of Get.
func (v *reads) Segment(number uint32) (Segment, bool, error) {
	value, ok, err := v.Get(Segments(), AppendSegmentKey(nil, number), nil)
	if err != nil || !ok {
		return Segment{}, false, err
	}
	seg, err := DecodeSegment(number, value)
	return seg, err == nil, err
}

// SegmentList returns all segments in order of number, nil if there are none.
func (v *reads) SegmentList() ([]Segment, error) {
	var list []Segment
	sc := v.Scan(Segments(), nil, nil)
	defer sc.Close()
	for sc.Next() {
		if len(sc.Key()) != 4 {
			return nil, corrupt("segments key %q", sc.Key())
		}
		seg, err := DecodeSegment(binary.BigEndian.Uint32(sc.Key()), sc.Value())
		if err != nil {
			return nil, err
		}
		list = append(list, seg)
	}
	return list, sc.Err()
}

// SalvageSegments returns the segments of a damaged store that can be read, in order of number, and the number of
// damaged places between them.
func (s *Store) SalvageSegments() (list []Segment, gaps uint64, err error) {
	step := uint32(0) // from a segment that can be read, farther each time
	next := func(after []byte) []byte {
		number := uint32(0)
		if len(after) == 4 {
			number = binary.BigEndian.Uint32(after)
		}
		if step = max(2*step, 1); number > math.MaxUint32-step {
			return nil
		}
		return AppendSegmentKey(nil, number+step)
	}
	gaps, err = s.Salvage(Segments(), next, func(key, value []byte) error {
		step = 0
		if len(key) != 4 {
			return nil
		}
		if seg, err := DecodeSegment(binary.BigEndian.Uint32(key), value); err == nil {
			list = append(list, seg)
		}
		return nil
	})
	return list, gaps, err
}

// NextSegmentNumber returns the number after the highest in use, 1 in an empty store. It reserves
// nothing: callers get the same number until one of them writes it, and PutSegment can't detect that.
// So only one goroutine should create segments.
func (v *reads) NextSegmentNumber() (uint32, error) {
	list, err := v.SegmentList()
	if err != nil || len(list) == 0 {
		return 1, err
	}
	last := list[len(list)-1].Number
	if last == 1<<32-1 {
		return 0, fmt.Errorf("numbering a segment: all %d numbers are used", uint32(last))
	}
	return last + 1, nil
}

// PutSegment writes only a segment, durably: to open one, or to change its counts. Use
// Ingestion.PutSegment for a state that needs data. The error is ErrTransition if the stored state can't
// become the given one; otherwise the errors are those of Apply.
func (s *Store) PutSegment(seg Segment) error {
	if err := s.mayWrite(); err != nil {
		return err
	}
	s.segments.Lock()
	defer s.segments.Unlock()
	if err := s.checkTransition(&seg); err != nil {
		return err
	}
	return s.Apply(func(b *Batch) error {
		return b.Set(Segments(), AppendSegmentKey(nil, seg.Number), AppendSegment(nil, &seg))
	})
}

// checkTransition compares a new segment with the stored one. The caller holds s.segments.
func (s *Store) checkTransition(seg *Segment) error {
	old, _, err := s.Segment(seg.Number)
	if err != nil {
		return err
	}
	if seg.Number == 0 {
		return fmt.Errorf("%w: segment numbers begin at 1", ErrTransition)
	}
	if old.State.CanBecome(seg.State) {
		return nil
	}
	if old.State == 0 {
		return fmt.Errorf("%w: segment %d does not exist and must begin as %s, not %s",
			ErrTransition, seg.Number, SegmentOpen, seg.State)
	}
	return fmt.Errorf("%w: segment %d is %s and can't become %s", ErrTransition, seg.Number, old.State, seg.State)
}

// checkState refuses a segment that is stored in another state, or not at all. The caller holds s.segments.
func (s *Store) checkState(seg *Segment) error {
	old, ok, err := s.Segment(seg.Number)
	if err == nil && (!ok || old.State != seg.State) {
		err = fmt.Errorf("%w: segment %d is %s, not %s", ErrTransition, seg.Number, old.State, seg.State)
	}
	return err
}

// deletedIn begins the keys of meta that name segments; the number follows, in hexadecimal.
const deletedIn = "deleted-in/"

// AppendDeletedInKey appends the key of the row of Meta which says that WARC files of a segment hold pages that were
// deleted.
func AppendDeletedInKey(dst []byte, segment uint32) []byte {
	return fmt.Appendf(dst, "%s%08x", deletedIn, segment)
}

// DeletedIn returns the segments of which AppendDeletedInKey's row exists, with an error those read until then.
func (v *reads) DeletedIn() (map[uint32]bool, error) {
	marked := map[uint32]bool{}
	sc := v.Scan(Meta(), []byte(deletedIn), keyAfterPrefix([]byte(deletedIn)))
	defer sc.Close()
	for sc.Next() {
		number, err := strconv.ParseUint(string(sc.Key()[len(deletedIn):]), 16, 32)
		if err != nil {
			return marked, corrupt("meta key %q", sc.Key())
		}
		marked[uint32(number)] = true
	}
	return marked, sc.Err()
}
