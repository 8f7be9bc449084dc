// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/seine-crawler/seine/storage/invariants"
)

// source is a sorted sequence under a Run.
type source interface {
	// next returns the next pair, valid until the call after it; ok is false at the end.
	next() (key, value []byte, ok bool, err error)
	close() error
}

// Run is a sorted sequence of (key, value) whose keys never decrease. It can be read once, by one
// goroutine at a time. The zero Run is empty.
type Run struct {
	src        source
	key, value []byte
	err        error
	pacer      Pacer
}

// Next moves to the next pair; the first call moves to the first one. It returns false at the end and on
// error; Err tells them apart.
func (r *Run) Next() bool {
	if r.err != nil || r.src == nil {
		return false
	}
	r.pacer.Step()
	key, value, ok, err := r.src.next()
	if err != nil {
		r.err = fmt.Errorf("reading a sorted run: %w", err)
	}
	if err != nil || !ok {
		r.key, r.value = nil, nil
		return false
	}
	r.key, r.value = key, value
	return true
}

// Key returns the current key, valid until the next call of Next; nil at the end.
func (r *Run) Key() []byte { return r.key }

// Value returns the current value, valid until the next call of Next; nil at the end.
func (r *Run) Value() []byte { return r.value }

// Err returns the error that ended the run early, or nil.
func (r *Run) Err() error { return r.err }

// Close releases buffers and files, and returns the first error. A second Close returns the same.
func (r *Run) Close() error {
	if r.src != nil {
		if err := r.src.close(); err != nil && r.err == nil {
			r.err = fmt.Errorf("closing a sorted run: %w", err)
		}
		r.src = nil
	}
	return r.err
}

// MergeRuns returns the pairs of several runs as one run; of equal keys, those of the earlier run come first. Closing
// it closes them, and nothing else may be done with them any more.
func MergeRuns(runs ...*Run) *Run {
	merged := &Run{}
	var sources []source
	for _, r := range runs {
		if r.src != nil {
			sources = append(sources, r.src)
		}
		merged.err = errors.Join(merged.err, r.err)
		merged.pacer.giveWay = r.pacer.giveWay
	}
	if len(sources) > 0 {
		merged.src = newMerge(sources)
	}
	return merged
}

// Pair is one element of a run.
type Pair struct{ Key, Value []byte }

// NewSliceRun returns a run over pairs, which must be in order of key. It does not copy them. For tests
// and small inputs.
func NewSliceRun(pairs []Pair) *Run {
	for i := 1; i < len(pairs); i++ {
		invariants.Assert(bytes.Compare(pairs[i-1].Key, pairs[i].Key) <= 0,
			"NewSliceRun: %q after %q", pairs[i].Key, pairs[i-1].Key)
	}
	return &Run{src: &sliceSource{pairs: pairs}}
}

type sliceSource struct{ pairs []Pair }

func (s *sliceSource) next() (key, value []byte, ok bool, err error) {
	if len(s.pairs) == 0 {
		return nil, nil, false, nil
	}
	p := s.pairs[0]
	s.pairs = s.pairs[1:]
	return p.Key, p.Value, true, nil
}

func (s *sliceSource) close() error { s.pairs = nil; return nil }

// merge is a k-way merge with a binary heap of the sources' current pairs. Of equal keys, that of the
// earlier source comes first. (A loser tree would save up to half of the comparisons, but with at most
// runFanIn sources and keys with long common prefixes, decompression costs more than the comparisons.)
type merge struct {
	heap []mergeHead // heap[0] is the least
	all  []source
	// primed is false until every source was read once. From then on heap[0] is the pair that next
	// returned last, and its source must advance before next returns another one.
	primed bool
}

type mergeHead struct {
	key, value []byte
	src        source
	order      int
}

func newMerge(sources []source) source {
	if len(sources) == 1 {
		return sources[0]
	}
	return &merge{all: sources, heap: make([]mergeHead, 0, len(sources))}
}

func (m *merge) next() (key, value []byte, ok bool, err error) {
	if !m.primed {
		m.primed = true
		if err := m.prime(); err != nil {
			return nil, nil, false, err
		}
	} else if len(m.heap) > 0 {
		h := &m.heap[0]
		if h.key, h.value, ok, err = h.src.next(); err != nil {
			return nil, nil, false, err
		}
		if !ok {
			last := len(m.heap) - 1
			m.heap[0] = m.heap[last]
			m.heap = m.heap[:last]
		}
		m.down(0)
	}
	if len(m.heap) == 0 {
		return nil, nil, false, nil
	}
	return m.heap[0].key, m.heap[0].value, true, nil
}

func (m *merge) prime() error {
	for i, src := range m.all {
		key, value, ok, err := src.next()
		if err != nil {
			return err
		}
		if ok {
			m.heap = append(m.heap, mergeHead{key, value, src, i})
		}
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
	return nil
}

func (m *merge) less(i, j int) bool {
	a, b := &m.heap[i], &m.heap[j]
	if c := bytes.Compare(a.key, b.key); c != 0 {
		return c < 0
	}
	return a.order < b.order
}

func (m *merge) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(m.heap) {
			return
		}
		if child+1 < len(m.heap) && m.less(child+1, child) {
			child++
		}
		if !m.less(child, i) {
			return
		}
		m.heap[i], m.heap[child] = m.heap[child], m.heap[i]
		i = child
	}
}

func (m *merge) close() error {
	var errs []error
	for _, src := range m.all {
		errs = append(errs, src.close())
	}
	m.all, m.heap = nil, nil
	return errors.Join(errs...)
}

// fold combines all pairs with the same key into one, with a Sorter's Combine.
type fold struct {
	src        source
	combine    func(dst, a, b []byte) []byte
	key, value []byte // the current pair
	spare      []byte // receives the next combination
	// The pair after the current group; it belongs to src and is valid until the next call of src.next.
	aheadKey, aheadValue []byte
	ahead                bool
}

func (f *fold) next() (key, value []byte, ok bool, err error) {
	if !f.ahead {
		if f.aheadKey, f.aheadValue, f.ahead, err = f.src.next(); err != nil || !f.ahead {
			return nil, nil, false, err
		}
	}
	f.key = append(f.key[:0], f.aheadKey...)
	f.value = append(f.value[:0], f.aheadValue...)
	for {
		if f.aheadKey, f.aheadValue, f.ahead, err = f.src.next(); err != nil {
			return nil, nil, false, err
		}
		if !f.ahead || !bytes.Equal(f.aheadKey, f.key) {
			return f.key, f.value, true, nil
		}
		combined := f.combine(f.spare[:0], f.value, f.aheadValue)
		f.spare, f.value = f.value, combined
	}
}

func (f *fold) close() error { return f.src.close() }
