// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// SorterOptions of NewSorter.
type SorterOptions struct {
	// Dir is the directory for spilled runs; it is created when first needed. Use Store.SortDir, which
	// Open empties, so that a crash leaves no files.
	Dir string
	// FS is the filesystem of Dir; nil is the disk.
	FS FS
	// MemoryBytes bounds keys, values and their index in memory. 0 is DefaultSorterBytes; less than
	// SorterMinBytes counts as SorterMinBytes. A single pair may exceed it. Buffers are extra: up to
	// 128 KiB per spilled run while merging, and at most 256 KiB while sorting.
	MemoryBytes int64
	// Combine, if not nil, folds the values of equal keys: it appends the combination of a and b to dst
	// and returns it; a was added before b. It must be associative, because pairs are folded while
	// spilling and again while merging. dst overlaps neither a nor b. It runs on the goroutine that calls
	// Add, Sort or the run's Next.
	Combine func(dst, a, b []byte) []byte
	// GiveWay, if not nil, is that of a Pacer, whose steps are calls of Add, and of Next of a run, on the goroutine
	// that made them: so whoever sorts, and whoever reads what is sorted, can wait for work that is more urgent.
	GiveWay func(worked time.Duration)
}

// FoldLast is a Combine that keeps the value that was added last.
func FoldLast(dst, _, b []byte) []byte { return append(dst, b...) }

// Sorter sorts any number of (key, value) pairs in bounded memory. It collects pairs in an arena with an
// index of 16 bytes per pair. When memory is full it sorts them and writes them to disk as a run
// (runfile.go); Sort merges the runs. Pairs with equal keys keep the order in which they were added,
// unless Combine folds them. It belongs to one goroutine at a time. Make it with NewSorter; the zero
// value is not usable.
//
// Reading the pairs in sorted order from the arena waits for memory (see memorySource). Tried and dropped: huge pages
// for the arena gave two fifths fewer page faults and no less time.
type Sorter struct {
	o      SorterOptions
	arena  arena
	index  []sortEntry
	levels [][]*runFile // levels[i] holds runs made of runFanIn^i spills, oldest first
	files  int          // created so far; numbers their names
	len    int64
	bytes  int64
	ended  bool
	err    error
	pacer  Pacer
}

// NewSorter returns an empty sorter. It allocates memory and creates files only when needed. Close it.
func NewSorter(o SorterOptions) *Sorter {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.MemoryBytes == 0 {
		o.MemoryBytes = DefaultSorterBytes
	}
	o.MemoryBytes = max(o.MemoryBytes, SorterMinBytes)
	chunk := int(min(o.MemoryBytes/4, arenaChunkBytes))
	return &Sorter{o: o, arena: arena{chunkBytes: chunk}, pacer: NewPacer(o.GiveWay)}
}

// sorter returns a Sorter for what the store sorts by itself: for Verify, and for upgrades.
func (s *Store) sorter() *Sorter {
	return NewSorter(SorterOptions{Dir: s.SortDir(), FS: s.base, MemoryBytes: s.sorting})
}

// ownSorterBytes is the memory of each of the few sorters that the store has at once. With CacheBytes whoever opens it
// says what it may take; these are to take half as much together.
func ownSorterBytes(cache int64) int64 {
	return min(max(cache/(2*ownSorters), SorterMinBytes), ownSorterMost)
}

// Len returns the number of pairs added so far.
func (t *Sorter) Len() int { return int(t.len) }

// Bytes returns the size of the keys and values added so far, in bytes.
func (t *Sorter) Bytes() int64 { return t.bytes }

// Add adds a copy of a pair. After an error (a full disk, a key above KeyMaxBytes, a value above
// ValueMaxBytes) every later Add and Sort returns the same error. After Sort the error is ErrClosed.
func (t *Sorter) Add(key, value []byte) error {
	if t.err != nil {
		return t.err
	}
	if t.ended {
		return fmt.Errorf("%w: the sorter has been sorted", ErrClosed)
	}
	if len(key) > KeyMaxBytes || len(value) > ValueMaxBytes {
		return t.fail(fmt.Errorf("sorting: key of %d bytes (at most %d), value of %d (at most %d): %.100q",
			len(key), KeyMaxBytes, len(value), ValueMaxBytes, key))
	}
	need := int64(len(key)+len(value)+2*binary.MaxVarintLen32) + sortEntryBytes
	if used := t.arena.used + int64(len(t.index))*sortEntryBytes; used > 0 && used+need > t.o.MemoryBytes {
		if err := t.spill(); err != nil {
			return t.fail(err)
		}
	}
	t.pacer.Step()
	ref := t.arena.add(key, value)
	if len(t.index) == cap(t.index) {
		index := make([]sortEntry, len(t.index), len(t.index)+t.room()) // append and slices.Grow add a quarter
		copy(index, t.index)
		t.index = index
	}
	t.index = append(t.index, sortEntry{word: keyWord(key), ref: ref})
	t.len++
	t.bytes += int64(len(key) + len(value))
	return nil
}

// room is for how many more pairs the index gets room when it is full. Append alone would copy it four times over, all
// in all, into memory that is new each time. So from a quarter of the memory on there is room for all pairs that fit
// beside, if those to come are as long as those before. What is never written takes no memory.
func (t *Sorter) room() int {
	pairs := int64(len(t.index)) + 1 // with that which is in the arena already
	used := t.arena.used + pairs*sortEntryBytes
	if used < t.o.MemoryBytes/4 {
		return max(len(t.index), indexRoomMin)
	}
	return int(max(t.o.MemoryBytes-used, 0)/(used/pairs)) + len(t.index)/16 + indexRoomMin
}

func (t *Sorter) fail(err error) error {
	t.err = err
	return err
}

// Sort returns the sorted run; no pair can be added after it. Keep the sorter open while the run is read,
// and close the run before the sorter. A second Sort fails with ErrClosed.
func (t *Sorter) Sort() (*Run, error) {
	if err := t.end(); err != nil {
		return nil, err
	}
	var sources []source
	fail := func(err error) (*Run, error) {
		for _, src := range sources {
			err = errors.Join(err, src.close())
		}
		return nil, t.fail(err)
	}
	// Older pairs first: the highest level has the oldest runs, memory the newest pairs.
	for i := len(t.levels) - 1; i >= 0; i-- {
		for _, f := range t.levels[i] {
			src, err := f.open()
			if err != nil {
				return fail(err)
			}
			sources = append(sources, src)
		}
	}
	if len(t.index) > 0 || len(sources) == 0 {
		sources = append(sources, t.memory())
	}
	return &Run{src: t.folded(newMerge(sources)), pacer: NewPacer(t.o.GiveWay)}, nil
}

// memory sorts the pairs in memory.
func (t *Sorter) memory() source {
	sortEntries(t.index, &t.arena)
	return &memorySource{index: t.index, arena: &t.arena}
}

// end notes that no pair is added any more.
func (t *Sorter) end() error {
	if t.err != nil {
		return t.err
	}
	if t.ended {
		return fmt.Errorf("%w: the sorter has been sorted", ErrClosed)
	}
	t.ended = true
	return nil
}

func (t *Sorter) folded(src source) source {
	if t.o.Combine == nil {
		return src
	}
	return &fold{src: src, combine: t.o.Combine}
}

// spill writes the pairs in memory as a run and empties the memory.
func (t *Sorter) spill() error {
	f, err := t.write(t.folded(t.memory()))
	if err != nil {
		return err
	}
	t.arena.reset()
	t.index = t.index[:0]
	return t.push(0, f)
}

// push adds a run to a level. A full level is merged into one run of the next. So every pair is written
// once per level, and no merge reads more than a few times runFanIn files.
func (t *Sorter) push(level int, f *runFile) error {
	if level == len(t.levels) {
		t.levels = append(t.levels, nil)
	}
	t.levels[level] = append(t.levels[level], f)
	if len(t.levels[level]) < runFanIn {
		return nil
	}
	var sources []source
	for _, f := range t.levels[level] {
		src, err := f.open()
		if err != nil {
			return errors.Join(err, newMerge(sources).close())
		}
		sources = append(sources, src)
	}
	merged, err := t.write(t.folded(newMerge(sources)))
	if err != nil {
		return err
	}
	for _, f := range t.levels[level] {
		if err := f.remove(); err != nil {
			return err
		}
	}
	t.levels[level] = t.levels[level][:0]
	return t.push(level+1, merged)
}

// write writes a source to a run file and closes the source.
func (t *Sorter) write(src source) (*runFile, error) {
	if t.files == 0 {
		if err := t.o.FS.MkdirAll(t.o.Dir, 0o755); err != nil {
			return nil, errors.Join(fmt.Errorf("making %s: %w", t.o.Dir, err), src.close())
		}
	}
	t.files++
	// The sorter's address keeps apart the files of sorters that share a directory.
	f := &runFile{fs: t.o.FS, name: t.o.FS.PathJoin(t.o.Dir, fmt.Sprintf("%p-%d.run", t, t.files))}
	if err := errors.Join(f.write(src), src.close()); err != nil {
		return nil, errors.Join(fmt.Errorf("writing the sorted run %s: %w", f.name, err), f.remove())
	}
	return f, nil
}

// Close removes the files and frees the memory; close the run that Sort returned first. A second Close
// does nothing.
func (t *Sorter) Close() error {
	var errs []error
	for _, level := range t.levels {
		for _, f := range level {
			errs = append(errs, f.remove())
		}
	}
	t.levels, t.index, t.arena, t.ended = nil, nil, arena{}, true
	return errors.Join(errs...)
}

// memorySource walks the sorted index. Each pair is somewhere else in memory, and waiting for it took most of the
// time of reading them one by one: so the first bytes of the next sourceAhead pairs are read together, while nothing
// waits for what they are.
type memorySource struct {
	index   []sortEntry
	arena   *arena
	touched int // pairs from index[0] on that were read ahead
	sum     byte
	// unsorted: the first call of next sorts the index.
	unsorted bool
}

const sourceAhead = 16

func (m *memorySource) next() (key, value []byte, ok bool, err error) {
	if m.unsorted {
		m.unsorted = false
		sortEntries(m.index, m.arena)
	}
	if len(m.index) == 0 {
		return nil, nil, false, nil
	}
	if m.touched == 0 {
		m.touch()
	}
	m.touched--
	key, value = m.arena.pair(m.index[0].ref)
	m.index = m.index[1:]
	return key, value, true, nil
}

// touch reads ahead.
func (m *memorySource) touch() {
	m.touched = min(sourceAhead, len(m.index))
	for _, e := range m.index[:m.touched] {
		m.sum ^= m.arena.chunks[e.ref>>32][uint32(e.ref)]
	}
}

func (m *memorySource) close() error { m.index = nil; return nil }
