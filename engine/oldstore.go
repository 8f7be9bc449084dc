// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"maps"
	"slices"

	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/warc"
)

// oldStore is a damaged store, and what it says of the segments. Its damage may have taken it back to an earlier
// moment; what it says is then true of that moment. nil is a store of which nothing can be read.
type oldStore struct {
	*storage.Store
	updated map[uint32]bool            // segments whose outcomes crawldb has
	sealed  map[uint32]storage.Segment // segments that have all their files
	sizes   map[string]int64           // where the last of them ends in a file, by name
	deleted map[uint32]bool            // segments that hold records of deleted pages
	lists   []storage.Segment          // open segments that have a fetchlist
}

// newOldStore reads what is known of segments. Without a list of them nothing else can be relied on: the result is nil.
func newOldStore(s *storage.Store) *oldStore {
	list, err := s.SegmentList()
	if err != nil {
		return nil
	}
	o := &oldStore{
		Store: s, updated: map[uint32]bool{}, sealed: map[uint32]storage.Segment{}, sizes: map[string]int64{},
	}
	for _, seg := range list {
		if seg.State >= storage.SegmentUpdated {
			o.updated[seg.Number] = true
		}
		if seg.State == storage.SegmentOpen && seg.Batch {
			o.lists = append(o.lists, seg)
		}
		if seg.State >= storage.SegmentSealed {
			o.sealed[seg.Number] = seg
			for _, f := range seg.WARC {
				o.sizes[f.Name] = max(o.sizes[f.Name], f.End())
			}
		}
	}
	o.deleted, _ = s.DeletedIn() // what cannot be read is not known
	return o
}

// size is where the last sealed segment ends in a file; 0: none is in it.
func (o *oldStore) size(name string) int64 {
	if o == nil {
		return 0
	}
	return o.sizes[name]
}

// isJunk reports whether something follows the last sealed segment in a file that is no other segment. known is where
// that ends. What cannot be read there may have another segment behind it, and is left to warc.Mend.
func (o *oldStore) isJunk(fsys warc.FS, path string, known, size int64) (_ bool, err error) {
	if known == 0 || known >= size {
		return false, nil
	}
	f, err := fsys.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	next, readable := segment.BeginsAt(f, size, known)
	_, sealed := o.sealed[next]
	return readable && (next == 0 || sealed), nil
}

// stray reports whether a file is of no sealed segment, though the one in its name is sealed and all of its files are
// there. names are the files in the
// directory, sorted.
func (o *oldStore) stray(number uint32, name string, names []string) bool {
	if o.size(name) > 0 || o == nil {
		return false
	}
	seg, ok := o.sealed[number]
	for _, f := range seg.WARC {
		if _, there := slices.BinarySearch(names, f.Name); f.Name == name || !there {
			return false
		}
	}
	return ok
}

// again says how to seal a segment again. Without an old store only its WARC files say something of it.
func (o *oldStore) again(number uint32) *segment.Again {
	if o == nil {
		return &segment.Again{}
	}
	return &segment.Again{Left: o.deletedFrom(number), Sealed: o.sealed[number].Sealed}
}

// segments are the sealed segments, as they were when they began, except those of which files are lost and none is
// left. names are the files in the directory, sorted.
func (o *oldStore) segments(names []string) (list []storage.Segment) {
	for _, number := range slices.Sorted(maps.Keys(o.sealed)) {
		seg := o.sealed[number]
		left := slices.ContainsFunc(seg.WARC, func(f storage.WARCFile) bool {
			_, there := slices.BinarySearch(names, f.Name)
			return there
		})
		if left || len(seg.WARC) == 0 {
			list = append(list, storage.Segment{
				Number: number, State: storage.SegmentOpen, Batch: seg.Batch, Created: seg.Created,
				Counts: storage.SegmentCounts{Generated: seg.Counts.Generated},
			})
		}
	}
	return list
}

// deletedFrom says which URLs of a segment were deleted; nil: none.
func (o *oldStore) deletedFrom(number uint32) func(key []byte) bool {
	if !o.deleted[number] {
		return nil
	}
	return func(key []byte) bool {
		_, known, err := o.Get(storage.Crawldb(), key, nil)
		return err == nil && !known
	}
}
