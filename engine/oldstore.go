// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"strconv"
	"strings"

	"github.com/seine-crawler/seine/engine/internal/phases"
	"github.com/seine-crawler/seine/storage"
)

// oldStore is a damaged store, and what it says of the segments. Its damage may have taken it back to an earlier moment;
// what it says is then true of that moment. nil is a store of which nothing can be read.
type oldStore struct {
	*storage.Store
	updated map[uint32]bool            // segments whose outcomes crawldb has
	sealed  map[uint32]storage.Segment // segments that have all their files
	sizes   map[string]int64           // of their files, by name
	deleted map[uint32]bool            // segments that hold records of deleted pages
}

// newOldStore reads what is known of segments. Without a list of them nothing else can be relied on: the result is nil.
func newOldStore(s *storage.Store) *oldStore {
	list, err := s.SegmentList()
	if err != nil {
		return nil
	}
	o := &oldStore{
		Store: s, updated: map[uint32]bool{}, sealed: map[uint32]storage.Segment{}, sizes: map[string]int64{},
		deleted: map[uint32]bool{},
	}
	for _, seg := range list {
		if seg.State >= storage.SegmentUpdated {
			o.updated[seg.Number] = true
		}
		if seg.State >= storage.SegmentSealed {
			o.sealed[seg.Number] = seg
			for _, f := range seg.WARC {
				o.sizes[f.Name] = f.Size
			}
		}
	}
	sc := s.Scan(storage.Meta(), []byte(phases.DeletedIn), nil)
	defer sc.Close() // what cannot be read is not known
	for sc.Next() {
		rest, ok := strings.CutPrefix(string(sc.Key()), phases.DeletedIn)
		if !ok {
			break
		}
		if n, err := strconv.ParseUint(rest, 16, 32); err == nil {
			o.deleted[uint32(n)] = true
		}
	}
	return o
}

// size is the length that a file of a sealed segment had; 0: it is not known.
func (o *oldStore) size(name string) int64 {
	if o == nil {
		return 0
	}
	return o.sizes[name]
}

// stray reports whether a file is none of its sealed segment, all of whose files are there. names are the files in the
// directory, sorted.
func (o *oldStore) stray(number uint32, name string, names []string) bool {
	if o == nil {
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

// deletedFrom says which URLs of a segment were deleted; nil: none.
func (o *oldStore) deletedFrom(number uint32) func(key []byte) bool {
	if o == nil || !o.deleted[number] {
		return nil
	}
	return func(key []byte) bool {
		_, known, err := o.Get(storage.Crawldb(), key, nil)
		return err == nil && !known
	}
}
