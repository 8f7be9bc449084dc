// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
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
	known   map[uint32]bool            // segments of which something can be read
	gaps    uint64                     // damaged places between them
}

// newOldStore reads what is known of segments, as far as that can be read.
func newOldStore(s *storage.Store) (*oldStore, error) {
	o := &oldStore{
		Store: s, updated: map[uint32]bool{}, sealed: map[uint32]storage.Segment{}, sizes: map[string]int64{},
		known: map[uint32]bool{},
	}
	list, gaps, err := s.SalvageSegments()
	if o.gaps = gaps; err != nil {
		return nil, err
	}
	for _, seg := range list {
		o.known[seg.Number] = true
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
	return o, nil
}

// hasUpdated reports whether crawldb has the outcomes of a segment, or may have them: where it has not, those of the
// WARC files count as later ones.
func (o *oldStore) hasUpdated(number uint32) bool {
	return o.updated[number] || o.gaps > 0 && !o.known[number]
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
	if _, sealed := o.sealed[next]; !readable || next != 0 && !sealed {
		return false, nil
	}
	moved, err := o.moved(f, path, size)
	return !moved, err
}

// moved reports whether segments begin in a file at other places than those that the store knows: an earlier repair,
// which was interrupted, has mended the file, and before that has split what was to be split.
func (o *oldStore) moved(in warc.File, path string, size int64) (moved bool, err error) {
	file := filepath.Base(path)
	known, starts := o.size(file), map[int64]bool{0: true}
	for _, seg := range o.sealed {
		for _, f := range seg.WARC {
			if f.Name == file {
				starts[f.Start] = true
			}
		}
	}
	err = warc.ScanPart(in, path, 0, size, func(rec *warc.Record) error {
		moved = moved || rec.Type == warc.TypeWarcinfo && rec.Offset < known && !starts[rec.Offset]
		return nil
	}, func(warc.Fault) error { return nil })
	return moved, err
}

// split makes files of their own of what begins in the middle of a file with a record that cannot be read and that
// should say which segment it is of: it would count as more of the segment before. A sealed segment gets a file by its
// number, what follows the last one a file of a new segment. names are the files in the directory. It returns the new
// files, whole or not. Of a crash in between the next repair finds the whole file, and beside it one that is a stray.
func (o *oldStore) split(fsys warc.FS, path string, size int64, names []string) (made []string, err error) {
	begins := o.begins(filepath.Base(path), names)
	if len(begins) == 0 {
		return nil, nil
	}
	in, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	for _, begin := range begins {
		if begin.at >= size {
			continue
		}
		if _, readable := segment.BeginsAt(in, size, begin.at); readable {
			continue
		}
		records := 0
		err := warc.ScanPart(in, path, begin.at, size, func(*warc.Record) error { records++; return nil },
			func(warc.Fault) error { return nil })
		if err != nil {
			return made, err
		}
		if records == 0 {
			continue // warc.Mend cuts it off
		}
		if moved, err := o.moved(in, path, size); moved || err != nil {
			return made, err
		}
		own := segment.FileName(begin.segment, 0)
		for n := 1; slices.Contains(names, own) || slices.Contains(made, own); n++ {
			own = segment.FileName(begin.segment, n)
		}
		made = append(made, own)
		if err := moveTail(fsys, in, path, own, begin.at, size); err != nil {
			return made, err
		}
		size = begin.at
	}
	return made, nil
}

// begin is where a segment begins in a file.
type begin struct {
	at      int64
	segment uint32
}

// begins are the places in a file, beyond its begin, where segments begin: sealed ones, and what follows the last of
// these as a new one. They are in the order from the last to the first.
func (o *oldStore) begins(file string, names []string) (list []begin) {
	known := o.size(file)
	if known == 0 {
		return nil
	}
	next := uint32(0)
	for number, seg := range o.sealed {
		next = max(next, number)
		for _, f := range seg.WARC {
			if f.Name == file && f.Start > 0 {
				list = append(list, begin{f.Start, number})
			}
		}
	}
	for _, name := range names {
		if number, ok := segment.NumberOf(name); ok {
			next = max(next, number)
		}
	}
	list = append(list, begin{known, next + 1})
	slices.SortFunc(list, func(a, b begin) int { return cmp.Compare(b.at, a.at) })
	return list
}

// moveTail moves what a file has from an offset on into a new one beside it.
func moveTail(fsys warc.FS, in warc.File, path, own string, at, size int64) error {
	dir := filepath.Dir(path)
	out, err := fsys.Create(filepath.Join(dir, own))
	if err != nil {
		return fmt.Errorf("a file for what follows byte %d of %s: %w", at, path, err)
	}
	_, err = io.Copy(out, io.NewSectionReader(in, at, size-at))
	if err = errors.Join(err, out.Sync(), out.Close()); err == nil {
		err = fsys.SyncDir(dir)
	}
	if err != nil { // each repair would leave one more on a disk that is full
		err = errors.Join(err, fsys.Remove(filepath.Join(dir, own)))
	} else {
		err = warc.Cut(fsys, path, at)
	}
	if err != nil {
		return fmt.Errorf("move what follows byte %d of %s to %s: %w", at, path, own, err)
	}
	return nil
}

// stray reports whether a file is of no sealed segment, though the one in its name is sealed and all of its files are
// there. One to which an earlier repair, which was interrupted, has moved the end of these is none: see split. names
// are the files in the directory, sorted.
func (o *oldStore) stray(fsys warc.FS, path string, number uint32, names []string) (_ bool, err error) {
	name := filepath.Base(path)
	if o.size(name) > 0 || o == nil {
		return false, nil
	}
	seg, ok := o.sealed[number]
	whole := true
	for _, f := range seg.WARC {
		if _, there := slices.BinarySearch(names, f.Name); f.Name == name || !there {
			return false, nil
		}
		size, err := fsys.Size(filepath.Join(filepath.Dir(path), f.Name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		whole = whole && err == nil && f.End() <= size
	}
	if !ok || whole {
		return ok, nil
	}
	size, err := fsys.Size(path)
	if err != nil {
		return false, err
	}
	f, err := fsys.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	begins, _ := segment.BeginsAt(f, size, 0)
	return begins == number, nil
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
