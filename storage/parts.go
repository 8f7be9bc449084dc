// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// What one goroutine does with a sorted run, several can do with its parts: each joins its part with its part of a
// range and writes that part of the range anew. No goroutine waits for another, because parts have no key in common.
//
//	sorters ──▶ bounds, from keys here and there ──▶ from A ─▶ run ─▶ join ─▶ TableParts[0] ┐
//	                                                 from G ─▶ run ─▶ join ─▶ TableParts[1] ├─▶ one Commit
//	                                                 from S ─▶ run ─▶ join ─▶ TableParts[2] ┘

// Part is a run of the keys from one on, up to the next part. Different goroutines may read different parts.
type Part struct {
	From []byte // nil: the first part, from the beginning
	Run  *Run
}

// Froms are where parts begin, for TableParts.
func Froms(parts []Part) [][]byte {
	from := make([][]byte, len(parts))
	for i := range parts {
		from[i] = parts[i].From
	}
	return from
}

// CloseParts closes the runs of parts and returns the first error.
func CloseParts(parts []Part) error {
	var errs []error
	for _, p := range parts {
		errs = append(errs, p.Run.Close())
	}
	return errors.Join(errs...)
}

// SortParts sorts what sorters with the same Combine hold, as Sort does for one, into at most n parts of about the same
// number of bytes; of equal keys, those of an earlier sorter come first. Of the keys that begin as whole says of one of
// them, none is in another part; nil: each key is for itself. What is in memory is sorted by the goroutine that first
// reads a part.
//
// Each part reads each spilled run through buffers of its own: there are no more parts than have as much room for them
// as the sorters for pairs. It takes a few keys for each 64th of a part, so it is fast, and a part may be some percent
// larger than another. A beginning that most keys share makes one part much larger. As with Sort, close the parts
// before the sorters.
func SortParts(n int, whole func(key []byte) (length int), sorters ...*Sorter) ([]Part, error) {
	for _, t := range sorters {
		if err := t.end(); err != nil {
			return nil, err
		}
	}
	if whole == nil {
		whole = func(key []byte) int { return len(key) }
	}
	n = min(n, mostParts(sorters))
	var samples []sample
	if n > 1 {
		for _, t := range sorters {
			samples = t.samples(samples, n*partSamples)
		}
	}
	bounds := boundsOf(samples, n, whole)
	parts := make([]Part, len(bounds)+1)
	sources := make([][]source, len(parts))
	for i := range bounds {
		parts[i+1].From = bounds[i]
	}
	var err error
	for _, t := range sorters {
		if err == nil {
			err = t.cut(bounds, sources)
		}
	}
	for i := range parts {
		parts[i].Run = &Run{}
		if len(sources[i]) > 0 {
			parts[i].Run.src = sorters[0].folded(newMerge(sources[i]))
			parts[i].Run.pacer.giveWay = sorters[0].o.GiveWay
		}
	}
	if err != nil {
		return nil, errors.Join(err, CloseParts(parts))
	}
	return parts, nil
}

// mostParts is how many parts of sorters the buffers of which have room in their memory, at least one.
func mostParts(sorters []*Sorter) int {
	memory, buffers := int64(0), int64(0)
	for _, t := range sorters {
		memory += t.o.MemoryBytes
		for _, level := range t.levels {
			buffers += int64(len(level)) * 2 * runBlockBytes
		}
	}
	return int(max(memory/max(buffers, 1), 1))
}

// cut adds the sources of each part between bounds.
func (t *Sorter) cut(bounds [][]byte, to [][]source) error {
	for i := len(t.levels) - 1; i >= 0; i-- { // as in Sort
		for _, f := range t.levels[i] {
			parts, err := f.openParts(bounds)
			if err != nil {
				return t.fail(err)
			}
			for p, src := range parts {
				to[p] = append(to[p], src)
			}
		}
	}
	for p, entries := range t.partition(t.index, bounds) {
		if len(entries) > 0 {
			to[p] = append(to[p], &memorySource{index: entries, arena: &t.arena, unsorted: true})
		}
	}
	return nil
}

// boundsOfPart are the first key of a part and the first one above it; nil: there is none.
func boundsOfPart(bounds [][]byte, part int) (from, to []byte) {
	if part > 0 {
		from = bounds[part-1]
	}
	if part < len(bounds) {
		to = bounds[part]
	}
	return from, to
}

// partition puts the entries of each part together, in any order, and returns those of each.
func (t *Sorter) partition(entries []sortEntry, bounds [][]byte) [][]sortEntry {
	if len(bounds) == 0 {
		return [][]sortEntry{entries}
	}
	middle := len(bounds) / 2
	bound, word := bounds[middle], keyWord(bounds[middle])
	below := func(e sortEntry) bool {
		return e.word < word || e.word == word && bytes.Compare(t.arena.key(e.ref), bound) < 0
	}
	low, high := 0, len(entries)
	for low < high {
		if below(entries[low]) {
			low++
			continue
		}
		high--
		entries[low], entries[high] = entries[high], entries[low]
	}
	return append(t.partition(entries[:low:low], bounds[:middle]), t.partition(entries[low:], bounds[middle+1:])...)
}

// PartsOf returns where at most n parts of a range begin, the first with nil, as tables of the range begin: a range
// that was written in parts has the same ones, if it had no tables before. If there are fewer tables than parts, it
// looks into tables for parts of equal size, of partLeast at least. What is in the memtable has one part.
func (s *Store) PartsOf(r Range, n int) (from [][]byte, err error) {
	from = [][]byte{nil}
	if err := s.usable(); err != nil || n < 2 {
		return from, err
	}
	levels, err := s.db.SSTables(pebble.WithKeyRangeFilter(r.start(), r.end()))
	if err != nil {
		return from, fmt.Errorf("looking for tables of %s: %w", r, classified(err))
	}
	var samples []sample
	for _, level := range levels {
		for _, t := range level {
			if key := t.Smallest.UserKey; bytes.HasPrefix(key, r.start()) {
				samples = append(samples, sample{key[r.n:], int64(t.Size)})
			}
		}
	}
	from = append(from, boundsOf(samples, n, func(key []byte) int { return len(key) })...)
	if len(from) == n {
		return from, nil
	}
	cut, err := s.cut(r, n)
	if len(cut) > len(from) {
		from = cut
	}
	return from, err
}

// partLeast is the least size of a part that is cut within tables, in bytes on disk.
const partLeast = 1 << 20

// cut returns where at most n parts of about equal size of a range begin.
func (s *Store) cut(r Range, n int) (from [][]byte, err error) {
	from = [][]byte{nil}
	size, err := s.RangeBytes(r)
	if n = int(min(uint64(n), size/partLeast)); err != nil || n < 2 {
		return from, err
	}
	sc := s.Scan(r, nil, nil)
	defer sc.Close()
	part := size / uint64(n)
	for i := 1; i < n; i++ {
		place, err := s.place(r, uint64(i)*part, part/partSamples)
		if err != nil {
			return from, fmt.Errorf("cutting %s into parts: %w", r, classified(err))
		}
		if !sc.SeekGE(place) {
			break
		}
		if bytes.Compare(sc.Key(), from[len(from)-1]) > 0 {
			from = append(from, bytes.Clone(sc.Key()))
		}
	}
	return from, sc.Close()
}

// placeSteps bounds the halvings after which a place is near enough. Each byte that many keys have in common takes
// eight, of some microseconds.
const placeSteps = 8 << 10

// place returns bytes, mostly no key, before which a range has about so many bytes on disk.
func (s *Store) place(r Range, before, about uint64) ([]byte, error) {
	low, high := r.start(), r.end()
	for range placeSteps {
		middle := between(low, high)
		if bytes.Equal(middle, low) {
			break
		}
		size, err := s.db.EstimateDiskUsage(r.start(), middle)
		if err != nil {
			return nil, err
		}
		switch {
		case size+about < before:
			low = middle
		case size > before+about:
			high = middle
		default:
			return middle[r.n:], nil
		}
	}
	return low[r.n:], nil
}

// betweenBytes is how many bytes after what two keys have in common are looked at for their middle.
const betweenBytes = 4

// between returns half of the sum of two keys, as numbers of some bytes more than they have in common.
func between(low, high []byte) []byte {
	n := 0
	for n < len(low) && n < len(high) && low[n] == high[n] {
		n++
	}
	middle := make([]byte, n+betweenBytes)
	carry := 0
	for i := range slices.Backward(middle) {
		for _, key := range [][]byte{low, high} {
			if i < len(key) {
				carry += int(key[i])
			}
		}
		middle[i], carry = byte(carry), carry>>8
	}
	for i, b := range middle {
		carry = carry<<8 + int(b)
		middle[i], carry = byte(carry>>1), carry&1
	}
	return middle
}

// partSamples is the number of keys that are taken for each part to find its bounds.
const partSamples = 64

// sample is a key that stands for some bytes of pairs.
type sample struct {
	key   []byte
	bytes int64
}

// boundsOf returns where at most n parts begin, but the first: at the samples that are nearest to equal parts.
func boundsOf(samples []sample, n int, whole func([]byte) int) (bounds [][]byte) {
	slices.SortFunc(samples, func(a, b sample) int { return bytes.Compare(a.key, b.key) })
	all, before := int64(0), int64(0)
	for _, s := range samples {
		all += s.bytes
	}
	var last []byte // beginning of the part before
	for i, s := range samples {
		bound := s.key[:whole(s.key)]
		switch next := len(bounds) + 1; {
		case i == 0:
			last = bound
		case next < n && (2*before+s.bytes)*int64(n) >= 2*all*int64(next) && bytes.Compare(last, bound) < 0:
			last = bound
			bounds = append(bounds, bytes.Clone(bound))
		}
		before += s.bytes
	}
	return bounds
}

// samples adds about n keys of what is in memory, and some of each run on disk.
func (t *Sorter) samples(to []sample, n int) []sample {
	for _, level := range t.levels {
		for _, f := range level {
			for i, b := range f.starts {
				from, end := int64(0), f.size
				if i > 0 {
					from = f.starts[i-1].offset
				}
				if i+1 < len(f.starts) {
					end = f.starts[i+1].offset
				}
				to = append(to, sample{b.key, (end - from) / 2})
			}
		}
	}
	step := max(len(t.index)/n, 1)
	for i := 0; i < len(t.index); i += step {
		key, value := t.arena.pair(t.index[i].ref)
		to = append(to, sample{key, int64((len(key) + len(value)) * step)})
	}
	return to
}
